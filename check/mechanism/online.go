package mechanism

import "cmp"

// OnlineOptions are the parameters of NewOnline.
type OnlineOptions struct {
	Options
	// Lateness is the number of ns by which a transaction may begin before the latest end seen without being late.
	// Forever: only Advance moves the watermark.
	Lateness int64
}

// Online verifies whole transactions that arrive one after the other, each after its end, in nearly the order of their
// ends.
//
// The verifier needs the ends of transactions in the order of their Bef, and must know every open transaction. So
// arrivals wait until the watermark has passed their end. The watermark is a moment before which no transaction begins
// that has yet to arrive. The watermark is Lateness before the latest end seen, or what Advance says. A transaction
// that begins before the watermark is late: it is not judged, and makes nobody else look wrong (suspects.go).
// Everything is a function of the calls, in their order.
//
// Cost: log2 of the waiting transactions, besides the verifier's. Memory: the transactions that end within Lateness of
// the latest end, 40 bytes a trace.
type Online struct {
	v     *Verifier
	o     OnlineOptions
	wait  []waiting // a heap by end
	lanes int
	idle  []int32 // lanes without a waiting transaction
	pool  [][]Trace
	begun bool
	// The number of waiting traces.
	traces int
	mark   int64
	max    int64
	stats  OnlineStats
}

// waiting is a transaction whose end the watermark has not passed.
type waiting struct {
	end    int64
	lane   int32
	traces []Trace // after its begin
}

// OnlineStats has the counts of an Online.
type OnlineStats struct {
	Txns, Late int64 // arrived; late among these
	Waiting    int   // not dispatched yet
	Suspects   int   // reads that wait for a writer
	Watermark  int64
	Latest     int64 // end
	Begun      bool
	Versions   int // remembered
	Locks      int
}

// NewOnline returns an Online. It sets Options.Late and Duplicates, since nobody knows what will arrive.
func NewOnline(o OnlineOptions) *Online {
	o.Options.Late, o.Duplicates = true, true
	o.MaxViolations = cmp.Or(o.MaxViolations, 1<<40)
	return &Online{v: NewVerifier(0, o.Options), o: o, mark: -Forever, max: -Forever}
}

// Add takes a transaction with begin and end, and reports whether it is late. traces are copied.
func (x *Online) Add(traces []Trace) (late bool) {
	x.stats.Txns++
	end := &traces[len(traces)-1]
	begin := traces[0].Bef
	latest := end.Aft
	if latest == Forever {
		latest = end.Bef
	}
	if x.o.Attach && begin >= x.mark {
		x.v.attached.arrived(latest)
	}
	if begin < x.mark {
		x.stats.Late++
		x.v.Late(traces)
		return true
	}
	w := waiting{end: end.Bef}
	if n := len(x.idle); n > 0 {
		w.lane, x.idle = x.idle[n-1], x.idle[:n-1]
	} else {
		w.lane = int32(x.lanes)
		x.lanes++
	}
	if n := len(x.pool); n > 0 {
		w.traces, x.pool = x.pool[n-1], x.pool[:n-1]
	}
	w.traces = append(w.traces[:0], traces[1:]...)
	x.traces += len(w.traces)
	x.v.Dispatch(int(w.lane), []Trace{{Kind: Begin, Bef: begin, Aft: begin}})
	x.push(w)
	x.begun, x.max = true, max(x.max, latest)
	if x.o.Lateness < Forever {
		x.Advance(earlier(x.max, x.o.Lateness))
	}
	return false
}

// Advance says that no transaction that begins before t will arrive any more.
func (x *Online) Advance(t int64) {
	if t <= x.mark {
		return
	}
	x.mark = t
	for len(x.wait) > 0 && x.wait[0].end < t {
		w := x.pop()
		x.dispatch(&w)
		x.idle = append(x.idle, w.lane)
	}
	x.v.Advance(t)
}

// dispatch passes on a transaction whose begin was passed on before.
func (x *Online) dispatch(w *waiting) {
	x.traces -= len(w.traces)
	x.v.Dispatch(int(w.lane), w.traces)
	if cap(w.traces) <= 1<<12 { // more memory is not used again
		x.pool = append(x.pool, w.traces)
	}
}

// Quiet returns a watermark that makes all arrived transactions final.
func (x *Online) Quiet() int64 { return later(later(later(x.max, x.o.Skew), x.o.Skew), 1) }

// Settle makes all arrived transactions final, also reads whose writer may still arrive. The stream may go on.
func (x *Online) Settle() {
	if x.begun {
		x.Advance(x.Quiet())
	}
	x.v.verify(Forever)
	x.v.convict()
}

// Close ends the stream.
func (x *Online) Close() *Report {
	x.Advance(Forever)
	for len(x.wait) > 0 { // transactions without an answer to the client come last
		w := x.pop()
		x.dispatch(&w)
	}
	return x.v.Close()
}

// Take returns the findings since its last call.
func (x *Online) Take() ([]Violation, []Unjudged) { return x.v.Take() }

// Stats returns the counts.
func (x *Online) Stats() OnlineStats {
	s := x.stats
	s.Waiting, s.Watermark, s.Latest, s.Begun = len(x.wait), x.mark, x.max, x.begun
	s.Suspects, s.Versions, s.Locks = x.v.suspects.n, x.v.versions, x.v.locks
	return s
}

func (x *Online) push(w waiting) {
	x.wait = append(x.wait, w)
	h := x.wait
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if h[p].end <= h[i].end {
			break
		}
		h[p], h[i] = h[i], h[p]
		i = p
	}
}

func (x *Online) pop() waiting {
	h := x.wait
	w := h[0]
	n := len(h) - 1
	h[0], h[n] = h[n], waiting{}
	h = h[:n]
	for i := 0; ; {
		j := 2*i + 1
		if j >= n {
			break
		}
		if j+1 < n && h[j+1].end < h[j].end {
			j++
		}
		if h[i].end <= h[j].end {
			break
		}
		h[i], h[j] = h[j], h[i]
		i = j
	}
	x.wait = h
	return w
}
