package spill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// tooLarge examines the contradicting reads of stretches that are too large for a window: their transactions may
// violate the level by themselves.
func (e *engine) tooLarge(ctx context.Context, a *Answer, ws []window, misfits []plan.Misfit,
	causes []plan.Cause) error {
	if len(ws) == 0 {
		return nil
	}
	var places []uint64
	var of, in []int // contradicting reads, and their windows
	for i := range misfits {
		if j := at(ws, misfits[i].At); j >= 0 && causes[i].Case == plan.InReach {
			of, in = append(of, i), append(in, j)
			places = append(places, causes[i].Txns...)
		}
	}
	by, err := e.txnsAt(ctx, places)
	if err != nil {
		return err
	}
	sets := slice.Map(of, func(i int) []*plan.Txn {
		return slice.Map(causes[i].Txns, func(p uint64) *plan.Txn { return by[p] })
	})
	found, err := e.refute(ctx, a, sets)
	if err != nil {
		return err
	}
	open, shown := make([]bool, len(ws)), make([]bool, len(ws))
	for j, is := range found {
		if shown[in[j]] = true; is {
			e.settledTxn[misfits[of[j]].Reader] = true
		} else {
			open[in[j]] = true
		}
	}
	for j := range ws {
		if open[j] || !shown[j] {
			e.leave(a, ws[j].span, fmt.Sprintf("it has about %.0f transactions, more than a window may hold "+
				"(--memory, --max-window)", e.count(ws[j].span)))
		}
	}
	return nil
}

// refuteEach examines single transactions with reads that nothing explains.
func (e *engine) refuteEach(ctx context.Context, a *Answer, places []uint64, why string) error {
	by, err := e.txnsAt(ctx, places)
	if err != nil {
		return err
	}
	sets := slice.Map(places, func(p uint64) []*plan.Txn { return []*plan.Txn{by[p]} })
	found, err := e.refute(ctx, a, sets)
	if err != nil {
		return err
	}
	for i, p := range places {
		if e.settledTxn[p] = true; !found[i] {
			at := by[p].Now.Commit
			e.leave(a, plan.Span{From: at, To: at}, fmt.Sprintf("transaction %d: %s, but this read alone proves "+
				"nothing", by[p].ID, why))
		}
	}
	return nil
}

// refuteConflicts bounds the search in one of many sets of transactions. If it finds nothing, the stretch grows or
// stays open.
const refuteConflicts = 5000

// proofTime bounds the proof of a refutation.
const proofTime = time.Minute

// refute finds the sets of transactions that, with the writers of their reads, violate the level by themselves.
func (e *engine) refute(ctx context.Context, a *Answer, sets [][]*plan.Txn) (found []bool, err error) {
	found = make([]bool, len(sets))
	if len(sets) == 0 {
		return found, nil
	}
	all := slices.Concat(sets...)
	by, others, err := e.sources(ctx, all)
	if err != nil {
		return nil, err
	}
	// By their own reads, these writers of unknown outcome cannot have committed; the proof needs them.
	var dead []*plan.Txn
	for _, p := range slices.Sorted(maps.Keys(others)) {
		if x := others[p]; x.Status == history.Unknown && !x.Counts && x.Contradicts() {
			dead = append(dead, x)
		}
	}
	if len(dead) > 0 {
		if by, others, err = e.sources(ctx, append(all, dead...)); err != nil {
			return nil, err
		}
		for i := range sets {
			sets[i] = withWriters(sets[i], dead, by)
		}
	}
	seen := map[int64]*plan.Txn{}
	for _, x := range slices.Concat(dead, all, slices.Collect(maps.Values(others))) {
		seen[x.ID] = x
	}
	results := make([]*evidence.Result, len(sets))
	err = parallel(ctx, e.o.Workers, len(sets), func(ctx context.Context, i int) error {
		members := slices.Clone(sets[i])
		slices.SortFunc(members, func(a, b *plan.Txn) int { return cmp.Compare(a.Place, b.Place) })
		h, err := plan.Part(members, by, others, e.in.Initial)
		if err != nil {
			return err
		}
		h.File = e.in.Name
		results[i], err = e.violated(ctx, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if r == nil {
			continue
		}
		found[i] = true
		if name := nameOf(r); !e.named[name] {
			e.named[name] = true
			a.Found = append(a.Found, r)
			for _, t := range r.Anomalies[0].Txns {
				id := r.H.Txns.ID[t]
				e.seen[id] = seen[id]
			}
			if r.Anomalies[0].Kind == level.NonLinearizable { // it concerns all operations on the key
				for _, id := range r.H.Txns.ID {
					e.forced[id], e.seen[id] = true, seen[id]
				}
			}
			e.force(r, sets[i])
		}
	}
	return found, nil
}

// withWriters adds, from some transactions, the writers of a set's reads.
func withWriters(set, some []*plan.Txn, by map[plan.Want][]plan.Writer) []*plan.Txn {
	wrote := map[uint64]bool{}
	for _, w := range plan.Wants(set) {
		for _, x := range by[w] {
			wrote[x.Place] = true
		}
	}
	for _, x := range set {
		wrote[x.Place] = false
	}
	set = slices.Clip(set)
	return append(set, slice.Filter(some, func(x *plan.Txn) bool { return wrote[x.Place] })...)
}

// wroteBytes estimates the memory for a version's writers.
const wroteBytes = 400

// sources finds the writers of the transactions' reads, and reads them.
func (e *engine) sources(ctx context.Context, txns []*plan.Txn) (by map[plan.Want][]plan.Writer,
	others map[uint64]*plan.Txn, err error) {
	wants := plan.Wants(txns)
	by = make(map[plan.Want][]plan.Writer, len(wants))
	var ask []plan.Want
	for _, w := range wants {
		if l, is := e.wrote[w]; is {
			by[w] = l
		} else {
			ask = append(ask, w)
		}
	}
	if len(ask) > 0 {
		got, err := e.writers(ctx, ask, true)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(by, got)
		if int64(len(e.wrote)+len(got)) < e.o.Memory/32/wroteBytes { // later proofs ask for the same
			maps.Copy(e.wrote, got)
		}
	}
	var places []uint64
	for _, l := range by {
		for _, w := range l {
			if w.Place != plan.NoPlace && len(l) < plan.MaxWriters {
				places = append(places, w.Place)
			}
		}
	}
	others, err = e.txnsAt(ctx, places)
	return by, others, err
}

// nameOf identifies a proof by the ids of its transactions.
func nameOf(r *evidence.Result) string {
	ids := slice.Pick(r.H.Txns.ID, r.Anomalies[0].Txns)
	slices.Sort(ids)
	return fmt.Sprint(r.Anomalies[0].Kind, ids)
}
