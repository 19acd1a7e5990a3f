package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"isovet/internal/slice"
)

// errHolds says that the operations to be refuted have an order.
var errHolds = errors.New("it has an order")

// refutes is the second opinion on a "no". It returns nil if the operations have no order, and errHolds if they have
// one. It walks through time with all possible states of the object. Other operations take effect only when one is
// about to return that has not.
//
// Source: Lowe, "Testing for linearizability" (2017), §5: just-in-time linearization. It shares only the model with
// search.
func (m *Model[S]) refutes(ctx context.Context, ops []Op, most int) error {
	if m.foresee != nil {
		m = m.foresee(ops)
	}
	w := &sweep[S]{m: m, ops: ops, most: most}
	w.now.add(m, moment[S]{state: m.Init()})
	type event struct {
		at      int64
		end, op int // end: 1, and 0 for a call
	}
	var events []event
	for i := range ops {
		events = append(events, event{ops[i].Call, 0, i})
		if !ops[i].Maybe || ops[i].ghost {
			events = append(events, event{ops[i].Return, 1, i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), a.end-b.end) })
	for _, e := range events {
		switch {
		case e.end == 0:
			w.open = append(w.open, e.op)
			continue
		case ops[e.op].ghost:
			w.expires(e.op)
			continue
		}
		if err := w.returns(ctx, e.op); err != nil {
			return err
		}
		if len(w.now.list) == 0 {
			return nil
		}
	}
	return errHolds
}

// moment is a state, and which of the running operations took effect.
type moment[S any] struct {
	state S
	done  []int // sorted
}

type moments[S any] struct {
	list []moment[S]
	at   map[string][]int
}

func (s *moments[S]) add(m *Model[S], x moment[S]) bool {
	slice.MakeMap(&s.at)
	key := fmt.Sprint(x.done)
	for _, i := range s.at[key] {
		if m.equal(s.list[i].state, x.state) {
			return false
		}
	}
	s.at[key] = append(s.at[key], len(s.list))
	s.list = append(s.list, x)
	return true
}

type sweep[S any] struct {
	m    *Model[S]
	ops  []Op
	open []int // called, and not returned
	now  moments[S]
	most int
}

// expires drops an operation that took effect before its end, or never does.
func (w *sweep[S]) expires(end int) {
	var kept moments[S]
	for _, x := range w.now.list {
		if i, is := slices.BinarySearch(x.done, end); is {
			x.done = slices.Delete(slices.Clone(x.done), i, i+1)
		}
		kept.add(w.m, x)
	}
	w.now = kept
	w.open = slices.DeleteFunc(w.open, func(op int) bool { return op == end })
}

// returns keeps the moments in which an operation took effect, and drops the operation.
func (w *sweep[S]) returns(ctx context.Context, end int) error {
	var reached, kept moments[S]
	for _, x := range w.now.list {
		reached.add(w.m, x)
	}
	for n := 0; n < len(reached.list); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x := reached.list[n]
		if len(reached.list) > w.most/weight(x.state) {
			return errBudget
		}
		if i, is := slices.BinarySearch(x.done, end); is {
			kept.add(w.m, moment[S]{x.state, slices.Delete(slices.Clone(x.done), i, i+1)})
			continue
		}
		for _, op := range w.open {
			at, is := slices.BinarySearch(x.done, op)
			if is {
				continue
			}
			for _, to := range w.m.next(x.state, &w.ops[op]) {
				if w.ops[op].Maybe && w.m.equal(to, x.state) {
					continue
				}
				reached.add(w.m, moment[S]{to, slices.Insert(slices.Clone(x.done), at, op)})
			}
		}
	}
	w.now = kept
	w.open = slices.DeleteFunc(w.open, func(op int) bool { return op == end })
	return nil
}
