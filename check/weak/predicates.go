package weak

import (
	"context"
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/predicates"
	"isovet/solver"
)

// predicated decides read-atomic and causal for histories with predicate operations. A predicate operation reads every
// key: of a key that it did not match, it saw some version for which its predicate is not true. predicated first finds
// a commit order for the reads whose versions are known. Mostly that order explains the missed keys too: the predicate
// is not true for the last visible version. For each missed key where it is true, predicated adds an implied read. Its
// possible writers are all transactions that left a version for which the predicate is not true. It then looks for a
// commit order again, until all missed keys are explained. A violation by some of the reads is a violation by all of
// them.
//
// An implied read may be of any version that fits. Which one it is only matters because its writer becomes visible: if
// a later fitting version is visible too, the reader may have seen that one. So demand never orders a fitting version.
//
// Cost: for each predicate operation the versions for which its predicate is true, and the visible-version searches of
// their keys; and the cost of the choices.
func predicated(ctx context.Context, v *prepass.View, l level.Level, o Options) Answer {
	keys := func() []uint32 { return make([]uint32, v.H.NumKeys()) }
	x := &seeker{v: v, causal: l == level.Causal, known: keys(), wrote: keys(), matched: keys(), tried: keys(),
		from: make([]uint32, v.H.NumTxns()), only: o.Only, work: o.Work}
	if o.Work <= 0 {
		x.work = math.MaxInt
	}
	x.told(o.Seen)
	sum := Answer{}
	for {
		seen := v
		if len(x.implied) > 0 {
			seen = v.WithImpliedReads(x.implied)
		}
		var a Answer
		var c *checker
		if seen.Ambiguous() {
			a, c = choose(ctx, seen, l, o)
		} else {
			c = newChecker(ctx, seen, l, o)
			a = c.run()
		}
		a.Rounds, a.Choices = a.Rounds+sum.Rounds, a.Choices+sum.Choices
		if sum = a; a.Status != Holds {
			return a
		}
		before := len(x.implied)
		switch impossible := x.look(c, a.Order); {
		case c.stopped:
			sum.Status = Stopped
			return sum
		case x.work < 0:
			sum.Status, sum.Reason = GaveUp, "too many versions may be what predicate operations saw"
			return sum
		case impossible != nil:
			sum.Status, sum.Order, sum.Sources, sum.Anomaly = Violated, nil, nil, *impossible
			return sum
		case len(x.implied) == before:
			return sum
		}
	}
}

// seeker finds the missed keys, and the keys of blind predicate writes, whose last visible version the operation cannot
// have seen.
type seeker struct {
	v       *prepass.View
	causal  bool
	implied []prepass.ImpliedRead
	only    map[uint32]bool
	work    int // steps left

	known, wrote, matched, tried []uint32 // key → 1 + transaction that read, or wrote it; 1 + operation
	from                         []uint32 // transaction → 1 + the one that read from it last
}

// told adds implied reads from the sources that the evidence names for predicate operations.
func (x *seeker) told(sources []evidence.Source) {
	v, reader := x.v, none
	for _, s := range sources { // the sources of a transaction are adjacent
		switch v.H.Ops.Kind[s.Op] {
		case history.PredRead, history.PredWrite:
		default:
			continue // an item read, whose writers are known
		}
		t := v.H.TxnOf(s.Op)
		if t != reader {
			reader = t
			for _, k := range v.RKey[v.ROff[t]:v.ROff[t+1]] {
				x.known[k] = t + 1
			}
		}
		if s.Writer == none || x.known[s.Key] == t+1 {
			continue // nothing to add: from no transaction, or the read is known
		}
		ops := openAt(v, t, s.Key)
		for w := v.WOff[s.Writer]; w < v.WOff[s.Writer+1] && len(ops) > 0; w++ {
			if v.WKey[w] == s.Key {
				x.implied = append(x.implied, prepass.ImpliedRead{Txn: t, Key: s.Key, Op: ops[0].op, From: []uint32{w}})
				break
			}
		}
	}
}

// look walks a commit order and adds implied reads. It returns an anomaly if no version explains an operation.
func (x *seeker) look(c *checker, order []uint32) (impossible *evidence.Anomaly) {
	for _, marks := range [][]uint32{x.known, x.wrote, x.matched, x.tried, x.from} {
		clear(marks)
	}
	c.sources()
	p := newPast(c)
	topo := slice.Map(order, func(t uint32) int32 { return int32(t) })
	p.order(topo)
	if x.causal {
		p.startClocks()
	}
	for _, t := range topo {
		if c.ctx.Err() != nil {
			c.stopped = true
			return nil
		}
		if x.causal {
			p.tick(t)
		}
		if x.work < 0 {
			return nil
		}
		if x.v.POff[t] < x.v.POff[t+1] && (x.only == nil || x.only[uint32(t)]) {
			if impossible = x.txn(p, uint32(t)); impossible != nil {
				return impossible
			}
		}
		p.install(t)
		if x.causal {
			p.keep(t)
		}
	}
	return nil
}

// txn adds implied reads for the predicate operations of t.
func (x *seeker) txn(p *past, t uint32) *evidence.Anomaly {
	v, h := p.v, x.v.H
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		x.known[v.RKey[r]] = t + 1
		if u := p.src[r]; u >= 0 {
			x.from[u] = t + 1
		}
	}
	var wrong []uint32
	for op := range h.EachOp(t) {
		switch q := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.Write:
			x.wrote[h.VerKey[q]] = t + 1
		case history.PredRead, history.PredWrite:
			from, to := h.Preds.Off[q], h.Preds.Off[q+1]
			for r := from; r < to; r++ {
				k := h.RowKey(r)
				x.matched[k] = op + 1
				if h.Preds.Old[r] == none && x.known[k] != t+1 && x.wrote[k] != t+1 &&
					v.Index.Truth(q, k, x.last(p, t, k)) == predicates.False {
					wrong = append(wrong, k)
					x.known[k] = t + 1
				}
			}
			v.Index.Each(q, func(k, _ uint32) {
				if x.work--; x.known[k] == t+1 || x.wrote[k] == t+1 || x.matched[k] == op+1 || x.tried[k] == op+1 {
					return
				}
				if x.tried[k] = op + 1; v.Index.Truth(q, k, x.last(p, t, k)) == predicates.True {
					wrong = append(wrong, k)
					x.known[k] = t + 1
				}
			})
			for r := from; r < to && h.Ops.Kind[op] == history.PredWrite; r++ {
				x.wrote[h.RowKey(r)] = t + 1
			}
		}
	}
	for _, k := range wrong {
		s := x.impliedRead(t, k)
		x.work -= 16 * len(s.From) // each possible writer is a choice
		if len(s.From) == 0 && x.v.Counts[t] {
			return new(mismatch(t, s.Op, k))
		}
		x.implied = append(x.implied, s)
	}
	return nil
}

func mismatch(t, op, k uint32) evidence.Anomaly {
	return evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{t}, Ops: []uint32{op}, Key: k}
}

// unseen returns the anomaly of an implied read that no version explains. All its possible writers have an unknown
// outcome, and none can have committed, because each has a read that no version explains, and so on. If the read where
// this search ends is not implied, unseen follows the chain back to one that is.
func (x *choice) unseen() (a evidence.Anomaly, ok bool) {
	v := x.v
	dead := make(map[uint32]int) // transaction of unknown outcome → its read in v.Amb that has no possible writer
	for grown := true; grown; {
		grown = false
		for i, r := range v.Amb {
			t := v.Reader(r)
			if _, is := dead[t]; is || slices.ContainsFunc(v.Cand[v.CandOff[i]:v.CandOff[i+1]], func(w uint32) bool {
				_, is := dead[v.WTxn[w]]
				return !is
			}) {
				continue
			}
			if x.counts[t] != solver.LitUndef {
				dead[t], grown = i, true
				continue
			}
			for !v.IsImplied(r) { // a read has writers
				i = dead[v.WTxn[v.Cand[v.CandOff[i]]]]
				r = v.Amb[i]
			}
			return mismatch(v.Reader(r), v.ROp(r), v.RKey[r]), true
		}
	}
	return a, false
}

// last returns the last version of k that is visible to t. The walk of the order is at t.
func (x *seeker) last(p *past, t, k uint32) (ver uint32) {
	w := p.cur[k]
	for ; !p.v.Initial(w); w = p.older[w] {
		x.work--
		u := p.v.WTxn[w]
		if x.causal && p.sees(int32(t), int32(u)) || !x.causal && (x.from[u] == t+1 || p.follows(int32(t), int32(u))) {
			break
		}
	}
	return p.v.WVer[w]
}

// impliedRead returns the implied read of key k by t. Its possible writes agree with all predicate operations of t that
// come before t's own write of k.
func (x *seeker) impliedRead(t, k uint32) prepass.ImpliedRead {
	v := x.v
	s := prepass.ImpliedRead{Txn: t, Key: k}
	ops := openAt(v, t, k)
	s.Op = ops[0].op
	offer := func(w uint32) {
		if v.WTxn[w] != t && !slices.ContainsFunc(ops, func(o openOp) bool { return !o.fits(v, k, v.WVer[w]) }) {
			s.From = append(s.From, w)
		}
	}
	offer(k)
	for _, w := range v.Writes(k) {
		offer(w)
	}
	return s
}

// openOp is a predicate operation that shows of a key only whether its predicate is true there, and no version.
type openOp struct {
	op     uint32
	missed bool
}

func (o openOp) fits(v *prepass.View, k, ver uint32) bool {
	return v.Fits(prepass.Miss{Op: o.op, Key: k}, ver, o.missed)
}

// openAt returns the predicate operations of t before its first write of k, a key that t does not read.
func openAt(v *prepass.View, t, k uint32) (ops []openOp) {
	h := v.H
	for op := range h.EachOp(t) {
		switch q := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.Write:
			if h.VerKey[q] == k {
				return ops
			}
		case history.PredRead, history.PredWrite:
			missed := v.Missed(prepass.Miss{Op: op, Key: k})
			if ops = append(ops, openOp{op, missed}); !missed && h.Ops.Kind[op] == history.PredWrite {
				return ops
			}
		}
	}
	return ops
}

// fits reports whether the implied read r may have seen write w.
func (c *checker) fits(w, r uint32) bool {
	i := c.ambAt[r] - 1
	_, is := slices.BinarySearch(c.v.Cand[c.v.CandOff[i]:c.v.CandOff[i+1]], w)
	return is
}

// against returns an operation of the implied read's transaction that cannot have seen the version that u wrote.
func (c *checker) against(r uint32, u int32) uint32 {
	v, k := c.v, c.v.RKey[r]
	for w := v.WOff[u]; w < v.WOff[u+1]; w++ {
		if v.WKey[w] != k {
			continue
		}
		for _, o := range openAt(v, v.Reader(r), k) {
			if !o.fits(v, k, v.WVer[w]) {
				return o.op
			}
		}
	}
	return v.ROp(r)
}
