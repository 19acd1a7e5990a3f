package mechanism

// attached is what is known of the time before the traces began (Options.Attach).
type attached struct {
	begun      bool
	first, max int64    // the end of the first transaction, the latest end
	lag        [2]int64 // the two greatest distances by which an end came behind a later one
}

// arrived notes that a transaction has come that ended at t, its commit's answer included.
func (x *attached) arrived(t int64) {
	if !x.begun {
		x.begun, x.first, x.max = true, t, t
	}
	if t >= x.max {
		x.max = t
		return
	}
	if lag := later(-t, x.max); lag > x.lag[0] {
		x.lag[0], x.lag[1] = lag, x.lag[0]
	} else {
		x.lag[1] = max(x.lag[1], lag)
	}
}

// horizon is when the last of the transactions ended that came before the first one, at the latest: they came in the
// order of their ends, but for what is usual in the stream.
func (x *attached) horizon() int64 { return later(x.first, later(x.lag[1], x.lag[1])) }

// older reports whether what r has read, which nobody in the stream has written, may have been written before the
// stream began.
func (v *Verifier) older(p *pending, r *Trace, k *keyState) bool {
	h := v.attached.horizon()
	a := min(p.a, r.Bef)
	if a <= h {
		return true // by one of several transactions, perhaps
	}
	for i := range k.vers {
		if w := &k.vers[i]; w.txn != none && !w.open && w.c > h && w.d < a {
			return false // it has been overwritten since
		}
	}
	if !k.isHeld {
		k.held, k.isHeld = r.Val, true
	}
	return k.held == r.Val
}

// Attach says that the traces begin in the midst (Options.Attach). It comes before them.
func (x *Online) Attach() {
	if !x.o.Attach {
		x.o.Attach = true
		x.v.o.Attach = true
	}
}

// Foreign takes a transaction of which nobody can say when it was: what it wrote can be read at any time, and nothing
// is deduced from it. It may change the traces.
func (x *Online) Foreign(traces []Trace) {
	traces = append([]Trace(nil), traces...)
	for i := range traces {
		traces[i].Bef, traces[i].Aft = -Forever, Forever
	}
	end := &traces[len(traces)-1]
	if end.Kind != Abort {
		end.Kind = Unknown
	}
	x.v.Late(traces)
}

// Suspects is where reads have got that wait for a writer, for Convict.
func (x *Online) Suspects() int { return int(x.v.stage + 1) }

// Convict ends the waiting of those reads that still wait and did when Suspects said so: nobody wrote what they read.
func (x *Online) Convict(since int) { x.v.convictFirst(uint64(since)) }
