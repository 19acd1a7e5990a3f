package spill

import (
	"context"
	"maps"
	"slices"

	"isovet/check/spill/plan"
	"isovet/history"
	"isovet/internal/slice"
)

// farWindow is the number of transactions between a contradicting read and its writer from which far examines the read
// before it makes a window. Tests set it to 1.
var farWindow = 256

// aside is the Sub of the positions of readers that moved far back; it is large, so that they come after all others of
// a place.
const aside = 3 << 30

// far examines contradicting reads that span many transactions, once for each reader. The read's own transactions may
// violate the level. If they do not, the reader writes nothing, and the level does not demand real time, the reader may
// move back to the last place where its version was current. acted says that one of these happened.
func (e *engine) far(ctx context.Context, a *Answer, t *trouble, causes []plan.Cause) (acted bool, err error) {
	sets := map[uint64]map[uint64]bool{} // reader → transactions of its contradicting reads
	saw := map[uint64]plan.Pos{}         // reader → the last version that it saw
	var all []uint64
	for i := range t.misfits {
		m, c := &t.misfits[i], &causes[i]
		if c.Case != plan.InReach || e.tried[m.Reader] || e.count(c.Span) < float64(min(farWindow, e.o.MaxWindow/4)) {
			continue
		}
		if sets[m.Reader] == nil {
			sets[m.Reader] = map[uint64]bool{}
			saw[m.Reader] = plan.First
		}
		for _, p := range c.Txns {
			sets[m.Reader][p] = true
		}
		all = append(all, c.Txns...)
		if p := c.Saw.Pos; saw[m.Reader].Less(p) {
			saw[m.Reader] = p
		}
	}
	if len(sets) == 0 {
		return false, nil
	}
	by, err := e.txnsAt(ctx, all)
	if err != nil {
		return false, err
	}
	readers := slices.Sorted(maps.Keys(sets))
	txns := make([][]*plan.Txn, len(readers))
	for i, r := range readers {
		e.tried[r] = true
		txns[i] = slice.Map(slices.Sorted(maps.Keys(sets[r])), func(p uint64) *plan.Txn { return by[p] })
	}
	found, err := e.refute(ctx, a, txns)
	if err != nil {
		return false, err
	}
	touched := newKeys()
	var events []plan.Event
	for i, r := range readers {
		x := by[r]
		switch {
		case found[i]:
			e.settledTxn[r], acted = true, true
			continue
		case e.o.Level.RealTime() || !saw[r].Less(x.Now.Begin):
			continue
		case slices.ContainsFunc(x.Ops, func(op plan.Op) bool { return op.Kind != history.Read }):
			continue
		}
		e.bringBack(x, saw[r])
		touched.addTxn(x)
		events = append(events, plan.Event{At: x.Rule, Txn: x, Reads: true})
	}
	if len(events) == 0 {
		return acted, nil
	}
	if err := e.write(events); err != nil {
		return false, err
	}
	return true, e.again(ctx, t, touched)
}

// bringBack moves a reader right after a place.
func (e *engine) bringBack(x *plan.Txn, to plan.Pos) {
	e.aside++
	if to.T == plan.First.T {
		to = plan.Pos{T: plan.First.T + 1, N: x.Place}
	} else {
		to.Sub = aside + e.aside
	}
	e.standAt(x, to)
}
