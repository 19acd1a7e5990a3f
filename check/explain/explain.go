// Package explain turns a checker's "no" into a proof that a person can follow: a minimal set of transactions whose
// part of the history still violates the level, and cycles that show it, one for each order of the open writes.
//
// A part of a history that violates the level proves that the whole does (see history.Restrict). So explain takes the
// transactions of the checker's own cycles, drops as many as possible (ddmin of Zeller and Hildebrandt), and proves the
// violation again for the rest. Few violations need more than four transactions.
//
// Experimental: this package may still change.
package explain

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
	"isovet/solver"
)

// ErrHolds says that the given transactions do not violate the level: a fault of the checker.
var ErrHolds = errors.New("explain: these transactions do not violate the level")

// Refuter returns cycles that prove that a view violates a level, or none if it satisfies it. Read as clauses "not all
// assumptions of this cycle hold", they contradict the view. skew is in ns.
type Refuter func(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([][]evidence.Edge, error)

// Minimizer returns a minimal set of transactions of a view that violate a level by themselves, or none if it cannot
// tell. It may be wrong if outcomes are unknown or session order contradicts times, so a Refuter checks its answer.
type Minimizer func(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([]uint32, error)

// maxSearch is the number of transactions up to which a minimizer gets the whole seed: its clauses are reads times
// writers.
var maxSearch = 200

// Violation explains why the view's history violates l. seed are transactions that violate it by themselves, such as
// those of a checker's cycles; refute decides small parts. If they violate the level without real time too, or without
// sessions, the proof does not use these. A minimizer, if not nil, saves most of the refutations. The anomaly's
// Complete sets its kind and text later. Cost: for s = len(seed), O(s²) refutations of at most s transactions in the
// worst case, mostly O(s).
func Violation(ctx context.Context, v *prepass.View, l level.Level, skew int64, seed []uint32, refute Refuter,
	minimize Minimizer) (evidence.Anomaly, error) {
	x := &explainer{ctx: ctx, v: v, h: v.H, l: l, skew: skew, refuter: refute}
	keep := x.sorted(seed)
	if v.H.HasPredicates() {
		var err error
		if x.preds, err = newScopes(v, keep); err != nil {
			return evidence.Anomaly{}, err
		}
	}
	if v, err := x.violates(keep); err != nil || !v {
		return evidence.Anomaly{}, cmp.Or(err, ErrHolds)
	}
	if minimize == nil || len(keep) > maxSearch {
		keep = x.shrink(keep)
	}
	for _, weaker := range l.Relaxed() { // a proof that needs fewer orders proves more
		x.l = weaker
		if v, err := x.violates(keep); err == nil && v {
			break
		}
		x.l = l
	}
	if minimize != nil {
		if least, ok := x.minimized(keep, minimize); ok {
			return x.prove(least)
		}
	}
	return x.prove(x.minimize(x.shrink(keep)))
}

// minimized asks a minimizer. ok says that its answer violates the level.
func (x *explainer) minimized(keep []uint32, minimize Minimizer) (least []uint32, ok bool) {
	part, v := x.part(keep)
	least, err := minimize(x.ctx, v, x.l, x.skew)
	if err != nil || len(least) == 0 {
		return nil, false
	}
	for i, t := range least {
		least[i] = part.Txn[t]
	}
	least = x.sorted(least)
	ok, err = x.violates(least)
	return least, ok && err == nil
}

// shrink keeps only the transactions of a proof, and repeats that as long as their number decreases. It takes a few
// refutations, where minimize would need one for each transaction.
func (x *explainer) shrink(keep []uint32) []uint32 {
	for {
		part, v, proof, err := x.refute(keep)
		if err != nil || len(proof) == 0 {
			return keep
		}
		var named []uint32
		for _, e := range slices.Concat(Core(x.ctx, proof, v, x.l, x.skew)...) {
			named = append(named, part.Txn[e.From])
			if e.Writer != history.None {
				named = append(named, part.Txn[e.Writer])
			}
			if e.Predicate() {
				named = append(named, x.preds.writers(part.Op[e.Op], part.Key[e.Key])...)
			}
		}
		slices.Sort(named)
		next := x.sorted(slices.Compact(named))
		if len(next) >= len(keep) {
			return keep
		}
		if v, err := x.violates(next); err != nil || !v {
			return keep // a transaction may count only because of one that no cycle names
		}
		keep = next
	}
}

// Part restricts a view's history to some transactions, without the reads that a transaction left out could have
// explained. If the part violates a level, so does the history. It is not for histories with predicates.
func Part(v *prepass.View, txns []uint32) (*history.Part, *prepass.View) {
	x := &explainer{v: v, h: v.H}
	return x.part(x.sorted(txns))
}

type explainer struct {
	ctx     context.Context
	v       *prepass.View
	h       *history.History
	l       level.Level
	skew    int64
	refuter Refuter
	pos     map[uint32]int
	preds   *scopes // nil: the history has no predicate operations
}

// sorted sorts transactions by session, in session order.
func (x *explainer) sorted(txns []uint32) []uint32 {
	h := x.h
	x.pos = make(map[uint32]int)
	for _, t := range txns {
		x.pos[t] = 0
	}
	sessions := make(map[uint32]bool)
	for _, t := range txns {
		sessions[h.Txns.Sess[t]] = true
	}
	for s := range sessions {
		for i, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if _, ok := x.pos[t]; ok {
				x.pos[t] = i
			}
		}
	}
	out := slices.Clone(txns)
	sorts.Func(out, func(a, b uint32) int {
		if h.Txns.Sess[a] == h.Txns.Sess[b] {
			return cmp.Compare(x.pos[a], x.pos[b])
		}
		return cmp.Compare(h.Txns.Sess[a], h.Txns.Sess[b])
	})
	return slices.Compact(out)
}

// part restricts the history to some transactions, without reads that a dropped transaction could have explained.
func (x *explainer) part(keep []uint32) (*history.Part, *prepass.View) {
	h, v := x.h, x.v
	in := slice.Set(keep)
	var unread map[[2]uint32]bool // (transaction, key) → it read the key from a transaction left out
	if x.preds != nil {
		unread = make(map[[2]uint32]bool)
	}
	kept := func(w uint32) bool { return v.WTxn[w] == history.None || in[v.WTxn[w]] }
	drop := make(map[uint32]bool)
	for _, t := range keep {
		at, _ := slices.BinarySearch(v.Amb, v.ROff[t])
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			whole := true
			if w := v.RW[r]; w != history.None {
				whole = kept(w)
			} else {
				for _, w := range v.Cand[v.CandOff[at]:v.CandOff[at+1]] {
					whole = whole && kept(w)
				}
				at++
			}
			if whole {
				continue
			}
			if unread != nil {
				unread[[2]uint32{t, v.RKey[r]}] = true
			}
			for op := range h.EachOp(t) { // the read, and its repetitions
				if h.Ops.Kind[op] == history.Read && h.Ops.Ver[op] == v.RVer(r) {
					drop[op] = true
				}
			}
		}
	}
	some := func(op uint32) bool { return !drop[op] }
	if x.preds == nil {
		p := history.Restrict(h, keep, some)
		return p, prepass.RunWith(p.H, prepass.Options{Closed: v.Asked.Closed, Mixed: v.Asked.Mixed})
	}
	p := history.RestrictKeys(h, keep, some, func(op uint32) ([]uint32, bool) { return x.preds.keys(op, in, unread) })
	return p, prepass.RunWith(p.H, prepass.Options{Closed: v.Asked.Closed, Mixed: v.Asked.Mixed})
}

func (x *explainer) refute(keep []uint32) (*history.Part, *prepass.View, [][]evidence.Edge, error) {
	part, v := x.part(keep)
	if len(v.Anomalies) > 0 {
		// A single read may look impossible without the transaction that explained it. Such a part proves nothing.
		return part, v, nil, nil
	}
	cycles, err := x.refuter(x.ctx, v, x.l, x.skew)
	return part, v, cycles, err
}

func (x *explainer) violates(keep []uint32) (bool, error) {
	_, _, cycles, err := x.refute(keep)
	return len(cycles) > 0, err
}

// minimize drops transactions while the rest violates the level: first in chunks, then one by one, until none can go.
func (x *explainer) minimize(keep []uint32) []uint32 {
	for chunk := len(keep) / 2; chunk >= 1; {
		dropped := false
		for i := 0; i < len(keep) && len(keep) > 2; {
			end := min(i+chunk, len(keep))
			rest := slices.Concat(keep[:i], keep[end:])
			if v, err := x.violates(rest); err != nil {
				return keep
			} else if v {
				keep = rest
				dropped = true
			} else {
				i = end
			}
		}
		if !dropped || chunk > 1 {
			chunk /= 2
		}
	}
	return keep
}

// prove returns the anomaly of a minimal part.
func (x *explainer) prove(keep []uint32) (evidence.Anomaly, error) {
	part, v, proof, err := x.refute(keep)
	if err != nil {
		return evidence.Anomaly{}, err
	}
	if len(proof) == 0 {
		return evidence.Anomaly{}, ErrHolds
	}
	proof = Core(x.ctx, proof, v, x.l, x.skew)
	for _, c := range proof {
		for _, e := range slice.Refs(c) {
			e.From, e.To = part.Txn[e.From], part.Txn[e.To]
			if e.Key != history.None {
				e.Key = part.Key[e.Key]
			}
			if e.Ver != history.None {
				e.Ver = part.Ver[e.Ver]
			}
			if e.Writer != history.None {
				e.Writer = part.Txn[e.Writer]
			}
			if e.Predicate() {
				e.Op = part.Op[e.Op]
				if e.Ver == history.None {
					e.Ver = x.h.InitVer[e.Key] // an operation outside the part may name it
				}
			}
		}
	}
	return Anomaly(proof), nil
}

// Anomaly turns a minimal proof into an anomaly. If the orders that one cycle assumes follow step by step from the
// others, that cycle is the anomaly and the others are its reasons. Else each cycle is a case.
func Anomaly(proof [][]evidence.Edge) evidence.Anomaly {
	sorts.Stable(proof, func(a, b []evidence.Edge) int { return cmp.Compare(len(a), len(b)) })
	if len(proof) == 1 {
		return evidence.Anomaly{Cycle: proof[0]}
	}
	main := -1
	for i, c := range proof {
		if len(orders(c)) > 1 && follows(proof, i) && (main < 0 || len(orders(c)) > len(orders(proof[main]))) {
			main = i
		}
	}
	if main < 0 {
		return evidence.Anomaly{Cycles: proof}
	}
	return evidence.Anomaly{Cycle: proof[main], Cycles: slices.Concat(proof[:main], proof[main+1:])}
}

// orders returns the orders of writers that a cycle assumes, as pairs (first, second).
func orders(c []evidence.Edge) (out [][2]uint32) {
	for _, e := range c {
		switch {
		case e.Dep == evidence.WW:
			out = append(out, [2]uint32{e.From, e.To})
		case (e.Dep == evidence.RW || e.Dep == evidence.PRW) && e.Writer != history.None:
			out = append(out, [2]uint32{e.Writer, e.To})
		}
	}
	return out
}

// follows reports whether unit propagation over the other cycles forces all orders that cycle i assumes.
func follows(proof [][]evidence.Edge, i int) bool {
	forced := make(map[[2]uint32]bool)
	for changed := true; changed; {
		changed = false
		for j, c := range proof {
			if j == i {
				continue
			}
			var open [][2]uint32
			for _, o := range orders(c) {
				if !forced[o] && !slices.Contains(open, o) {
					open = append(open, o)
				}
			}
			if len(open) == 1 {
				if o := [2]uint32{open[0][1], open[0][0]}; !forced[o] {
					forced[o] = true
					changed = true
				}
			}
		}
	}
	return !slices.ContainsFunc(orders(proof[i]), func(o [2]uint32) bool { return !forced[o] })
}

// failed returns the assumptions of live that the last refutation used, in the order of live.
func failed(s *solver.Solver, live []solver.Lit) []solver.Lit {
	f := s.Failed()
	return slice.Filter(live, func(l solver.Lit) bool { return slices.Contains(f, l) || slices.Contains(f, l.Not()) })
}
