package spill

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"isovet/check/spill/plan"
	"isovet/internal/slice"
)

// within reads the transactions with a position in each of some spans.
func (e *engine) within(ctx context.Context, spans []plan.Span) ([][]*plan.Txn, error) {
	g := e.gathering()
	g.Spans = spans
	in, _, err := e.gather(ctx, g)
	return in, err
}

// txnsAt reads the transactions at some places, and returns them by place.
func (e *engine) txnsAt(ctx context.Context, places []uint64) (map[uint64]*plan.Txn, error) {
	g := e.gathering()
	g.Places = slices.Compact(slices.Sorted(slices.Values(places)))
	_, by, err := e.gather(ctx, g)
	return by, err
}

// gathering returns a request without transactions, for the current order.
func (e *engine) gathering() *Gathering {
	counted := slices.Sorted(maps.Keys(e.counted))
	return &Gathering{Rule: e.rule, Only: e.only, Moved: movedOf(e.moves),
		Counted: slice.Map(counted, func(p uint64) Counted { return Counted{p, e.counted[p]} })}
}

func (e *engine) gather(ctx context.Context, g *Gathering) (in [][]*plan.Txn, by map[uint64]*plan.Txn, err error) {
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
	var got [][]Found
	if e.o.Backend != nil {
		got, err = e.o.Backend.Gather(ctx, g, from)
	} else {
		got, err = answers(ctx, e, "gather", g, e.readers(), len(from),
			func(ctx context.Context, i int) ([]Found, error) { return GatherPieces(ctx, pieces[i], g) })
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
