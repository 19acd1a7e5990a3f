package mechanism

// attached is what is known, with Options.Attach, of the time before the traces began.
type attached struct {
	begun      bool
	first, max int64    // the end of the first transaction, the latest end
	lag        [2]int64 // the two greatest distances by which an end arrived after a later one
}

// arrived records the end t, with the commit's answer, of a transaction that has arrived.
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

// horizon returns the latest possible end of the transactions that were sent before the stream began. They came in the
// order of their ends, up to the stream's usual disorder.
func (v *Verifier) horizon() int64 {
	return later(later(later(v.attached.first, v.o.Within), later(v.attached.lag[1], v.attached.lag[1])), v.o.Skew)
}

// Early reports whether a transaction that is lost, or was sent before the stream began, may have ended at t or later.
func (x *Online) Early(t int64) bool { return x.v.lost || x.o.Attach && t <= x.v.horizon() }

// deleted reports whether r, a read of no value, may show the delete of such a transaction.
func (v *Verifier) deleted(p *pending, r *Trace, k *keyState) bool {
	if r.Val != Nothing || !v.lost && !v.o.Attach {
		return false
	}
	h := v.horizon()
	return v.lost || min(p.a, r.Bef) <= h || len(k.vers) > 1 && k.vers[1].c <= h
}

// older reports whether a value that r read and nobody in the stream wrote may have been written before the stream
// began.
func (v *Verifier) older(p *pending, r *Trace, k *keyState) bool {
	h, a := v.horizon(), min(p.a, r.Bef)
	if a <= h {
		return true // by one of several transactions, perhaps
	}
	for i := range k.vers {
		if w := &k.vers[i]; w.txn != none && !w.open && w.c > h && w.d < a {
			return false // a known write has overwritten it
		}
	}
	if !k.isHeld {
		k.held, k.isHeld = r.Val, true
	}
	return k.held == r.Val
}

// Attach says that the traces begin in the middle of the stream (Options.Attach). It is called before the first trace.
func (x *Online) Attach() {
	x.o.Attach, x.v.o.Attach = true, true
}

// Foreign adds a transaction whose time is unknown: others may read its writes at any time, and nothing is deduced from
// it. It may change the traces.
func (x *Online) Foreign(traces []Trace) {
	traces = append([]Trace(nil), traces...)
	for i := range traces {
		traces[i].Bef, traces[i].Aft = -Forever, Forever
	}
	if end := &traces[len(traces)-1]; end.Kind != Abort {
		end.Kind = Unknown
	}
	x.v.Late(traces)
}

// Lost says that traces before the next ones are lost. From now on reads of values without a writer are not judged.
func (x *Online) Lost() { x.v.lost = true }

// WaitMark returns a mark for Convict: it covers the reads that wait for a writer now.
func (x *Online) WaitMark() int { return int(x.v.stage + 1) }

// Convict reports the reads that waited at the mark and still wait: nobody wrote their values.
func (x *Online) Convict(since int) { x.v.convictFirst(uint64(since)) }
