package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/solver"
)

// Part makes a history from some transactions of the whole that violates a level only if the whole does. It has all
// operations of members, except reads of versions whose writers are not all known; and of the writers of the versions
// that members read, the writes of those keys. writers must have every version that members read.
//
// Part leaves out transactions together with the reads of their writes, and writes that none of its reads saw. So an
// order of the whole, restricted to the part, is an order of the part.
func Part(members []*Txn, writers map[Want][]Writer, others map[uint64]*Txn, initial Value) (*history.History, error) {
	in := make(map[uint64]bool, len(members))
	for _, x := range members {
		in[x.Place] = true
	}
	type write struct {
		place uint64
		key   Value
	}
	keep := make(map[write]bool)
	places := make(map[uint64]bool)
	known := func(w Want) bool {
		l, ok := writers[w]
		return ok && len(l) < MaxWriters && !slices.ContainsFunc(l, func(x Writer) bool {
			return x.Place != NoPlace && !in[x.Place] && others[x.Place] == nil
		})
	}
	for _, x := range members {
		for _, op := range x.Ops {
			if op.Kind != history.Read || !known(Want{op.Key, op.Value}) {
				continue
			}
			for _, w := range writers[Want{op.Key, op.Value}] {
				if w.Place != NoPlace && !in[w.Place] {
					keep[write{w.Place, op.Key}] = true
					places[w.Place] = true
				}
			}
		}
	}
	all := slices.Clone(members)
	for p := range places {
		all = append(all, others[p])
	}
	slices.SortFunc(all, func(a, b *Txn) int { return cmp.Compare(a.Place, b.Place) })
	b := history.NewBuilder()
	b.Initial = initial.In(b)
	for _, x := range all {
		for i := range x.Ops {
			op := &x.Ops[i]
			if op.Kind == history.Read && in[x.Place] && known(Want{op.Key, op.Value}) ||
				op.Kind != history.Read && (in[x.Place] || keep[write{x.Place, op.Key}]) {
				op.add(b)
			}
		}
		b.EndTxn(x.head())
	}
	return b.Build()
}

// Whole returns the history of all transactions, in their order.
func Whole(txns []*Txn, initial Value) (*history.History, error) {
	b := history.NewBuilder()
	b.Initial = initial.In(b)
	for _, x := range txns {
		for i := range x.Ops {
			x.Ops[i].add(b)
		}
		b.EndTxn(x.head())
	}
	return b.Build()
}

// Wants lists the versions that transactions read.
func Wants(txns []*Txn) (wants []Want) {
	seen := make(map[Want]bool)
	for _, x := range txns {
		for _, op := range x.Ops {
			if w := (Want{op.Key, op.Value}); op.Kind == history.Read && !seen[w] {
				seen[w] = true
				wants = append(wants, w)
			}
		}
	}
	return wants
}

// Order returns an order of all transactions of a history at a level, as numbers in txns; nil: none was found.
func Order(ctx context.Context, txns []*Txn, initial Value, o Options) ([]uint32, error) {
	l, sessions := o.order()
	all := txns
	if !sessions {
		all = nil
		for _, x := range txns {
			y := *x
			y.Session = history.NoTime
			all = append(all, &y)
		}
	}
	h, err := Whole(all, initial)
	if err != nil {
		return nil, err
	}
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return nil, nil
	}
	a, err := replay.Run(ctx, v, replay.Options{Level: l, Skew: o.Skew, GiveUpAfter: o.Conflicts})
	if errors.Is(err, replay.ErrNoRoom) || a.Status != solver.Sat {
		return nil, nil
	}
	return a.Order, err
}

// Refuted reports whether a history has no order at the level. It returns false if it has one, or if the allowed
// conflicts were too few.
func Refuted(ctx context.Context, h *history.History, o Options) (bool, error) {
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return true, nil
	}
	a, err := replay.Run(ctx, v, replay.Options{Level: o.Level, Skew: o.Skew, GiveUpAfter: o.Conflicts})
	if errors.Is(err, replay.ErrNoRoom) {
		return false, nil
	}
	return a.Status == solver.Unsat, err
}
