package spill

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"isovet/check/spill/plan"
)

// gather reads the transactions with a position in a window, and those at given places.
func (e *engine) gather(ctx context.Context, ws []plan.Span, places map[uint64]bool) (in [][]*plan.Txn,
	by map[uint64]*plan.Txn, err error) {
	g := e.gathering()
	g.Spans, g.Places = ws, slices.Sorted(maps.Keys(places))
	return e.gatherBy(ctx, g)
}

// gathering returns a request without transactions, for the current order.
func (e *engine) gathering() *Gathering {
	g := &Gathering{Rule: e.rule, Only: e.only, Moved: movedOf(e.moves)}
	for _, p := range slices.Sorted(maps.Keys(e.counted)) {
		g.Counted = append(g.Counted, Counted{p, e.counted[p]})
	}
	return g
}

func (e *engine) gatherBy(ctx context.Context, g *Gathering) (in [][]*plan.Txn, by map[uint64]*plan.Txn, err error) {
	in = make([][]*plan.Txn, len(g.Spans))
	by = make(map[uint64]*plan.Txn, len(g.Places))
	special := slices.Sorted(maps.Keys(g.special()))
	var from []int // groups that may have some of them
	var pieces [][]Piece
	for i, t := range e.tasks {
		if p := t.narrow(g, special); len(p) > 0 {
			from, pieces = append(from, i), append(pieces, p)
		}
	}
	got := make([][]Found, len(from))
	if e.o.Backend != nil {
		got, err = e.o.Backend.Gather(ctx, g, from)
	} else {
		s, stop := e.step("gather", g)
		if stop != nil {
			return nil, nil, stop
		}
		err = parallel(ctx, e.readers(), len(from), func(ctx context.Context, i int) (err error) {
			got[i], err = answer(e, s, i, func() ([]Found, error) { return GatherPieces(ctx, pieces[i], g) }, nil)
			return err
		})
	}
	if err != nil {
		return nil, nil, err
	}
	for _, l := range got {
		for _, f := range l {
			if f.At >= 0 {
				in[f.At] = append(in[f.At], f.Txn)
			}
			if _, is := slices.BinarySearch(g.Places, f.Txn.Place); is {
				by[f.Txn.Place] = f.Txn
			}
		}
	}
	for _, w := range in {
		slices.SortFunc(w, byNow)
	}
	return in, by, nil
}

// byNow compares transactions by their current positions.
func byNow(a, b *plan.Txn) int {
	return cmp.Or(a.Now.Commit.Compare(b.Now.Commit), cmp.Compare(a.Place, b.Place))
}
