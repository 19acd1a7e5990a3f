package spill

import (
	"context"
	"slices"

	"isovet/check/spill/plan"
	"isovet/internal/slice"
)

// solveAll solves windows, moves the transactions that solutions move, and refutes the windows that have no order.
func (e *engine) solveAll(ctx context.Context, a *Answer, ws []window, t *trouble, touched *keySet) error {
	var stuck []*window
	for lo := 0; lo < len(ws); {
		hi, n := lo, 0.0
		for ; hi < len(ws) && (hi == lo || n < e.held()); hi++ {
			n += e.count(ws[hi].span)
		}
		in, err := e.within(ctx, slice.Map(ws[lo:hi], func(w window) plan.Span { return w.span }))
		if err != nil {
			return err
		}
		for _, txns := range in {
			e.stats.Largest = max(e.stats.Largest, len(txns))
		}
		e.progress("solving windows", int64(lo), int64(len(ws)))
		solved, err := e.solve(ctx, ws[lo:hi], in, nil)
		if err == nil {
			err = e.solveKnowing(ctx, ws[lo:hi], in, solved)
		}
		if err != nil {
			return err
		}
		var events []plan.Event
		for i, s := range solved {
			if s.Answer != plan.Solved {
				stuck = append(stuck, &ws[lo+i])
				continue
			}
			moved, changed, _ := replace(in[i], s.Order, nil)
			for _, x := range changed {
				touched.addTxn(x)
				e.stand(x)
			}
			events = append(events, moved...)
		}
		if err := e.write(events); err != nil {
			return err
		}
		lo = hi
	}
	// Only now do the chunks have all new positions, so that windows without an order can be refuted.
	for len(stuck) > 0 {
		var spans []plan.Span
		for n := 0.0; len(spans) < len(stuck) && (len(spans) == 0 || n < e.held()); {
			w := stuck[len(spans)]
			n += e.count(w.span)
			spans = append(spans, w.span)
		}
		in, err := e.within(ctx, spans)
		if err != nil {
			return err
		}
		found, err := e.refute(ctx, a, in)
		if err != nil {
			return err
		}
		for i := range spans {
			e.stuck(a, stuck[i], found[i], t)
		}
		stuck = stuck[len(spans):]
	}
	return nil
}

// held bounds the transactions of windows in memory.
func (e *engine) held() float64 { return float64(e.o.Memory / 8 / e.txnBytes()) }

// txnBytes estimates the memory of a transaction that was read (plan.Txn.Size) and its position.
func (e *engine) txnBytes() int64 { return 250 + 80*e.total.Ops/max(e.total.Txns, 1) }

// solveKnowing solves windows again that had no solution, with the true values of keys before them.
func (e *engine) solveKnowing(ctx context.Context, ws []window, in [][]*plan.Txn, solved []Solution) error {
	var again []window
	var txns [][]*plan.Txn
	var of []int
	var at []plan.At
	asked := map[plan.At]bool{}
	for i := range ws {
		if len(in[i]) == 0 || solved[i].Answer == plan.Solved && e.stats.Rounds < 3 {
			continue
		}
		again, txns, of = append(again, ws[i]), append(txns, in[i]), append(of, i)
		for _, x := range in[i] {
			x.External(func(op *plan.Op) {
				if a := (plan.At{Key: op.Key, Before: ws[i].span.From}); !asked[a] {
					asked[a] = true
					at = append(at, a)
				}
			}, func(*plan.Op) {})
		}
	}
	if len(again) == 0 {
		return nil
	}
	holds, err := e.states(ctx, at)
	if err != nil {
		return err
	}
	got, err := e.solve(ctx, again, txns, holds)
	if err != nil {
		return err
	}
	for i, s := range got {
		solved[of[i]] = s
	}
	return nil
}

// solve solves windows. holds, if not nil, has the values of keys before them.
func (e *engine) solve(ctx context.Context, ws []window, in [][]*plan.Txn, holds map[plan.At]plan.Value) ([]Solution,
	error) {
	solved := make([]Solution, len(ws))
	var todo []Solving
	var of []int
	for i := range ws {
		solved[i].Answer = plan.Unsolved
		if len(in[i]) == 0 {
			continue
		}
		s := Solving{Txns: in[i], Last: ws[i].span.To.T >= e.total.MaxT,
			Options: plan.Options{Level: e.o.Level, Skew: e.o.Skew, Conflicts: 20_000}}
		if s.Known = holds != nil; s.Known {
			known := map[plan.Value]bool{}
			for _, x := range in[i] {
				x.External(func(op *plan.Op) {
					if !known[op.Key] {
						known[op.Key] = true
						v := holds[plan.At{Key: op.Key, Before: ws[i].span.From}]
						s.State = append(s.State, plan.Want{Key: op.Key, Value: v})
					}
				}, func(*plan.Op) {})
			}
		}
		for k, v := range ws[i].wish {
			s.Wish = append(s.Wish, plan.Want{Key: k, Value: v})
		}
		slices.SortFunc(s.Wish, func(a, b plan.Want) int { return a.Key.Compare(b.Key) })
		todo, of = append(todo, s), append(of, i)
	}
	got, err := e.solveEach(ctx, todo)
	for i, s := range got {
		solved[of[i]] = s
	}
	return solved, err
}

// solveEach solves windows with the backend, or on this machine, which stores the answers of several at once.
func (e *engine) solveEach(ctx context.Context, todo []Solving) ([]Solution, error) {
	if e.o.Backend != nil {
		return e.o.Backend.Solve(ctx, todo)
	}
	groups := min(len(todo), 64*e.o.Workers)
	got, err := answers(ctx, e, "solve", todo, e.o.Workers, groups,
		func(ctx context.Context, g int) (out []Solution, err error) {
			for i := len(todo) * g / groups; i < len(todo)*(g+1)/groups && err == nil; i++ {
				var s Solution
				s, err = SolveWindow(ctx, &todo[i])
				out = append(out, s)
			}
			return out, err
		})
	return slices.Concat(got...), err
}

// replace moves a window's transactions to their new order, after the floor if there is one. changed are those whose
// position changed, last is the place of the last event.
func replace(txns []*plan.Txn, order []int32, floor *plan.Pos) (events []plan.Event, changed []*plan.Txn,
	last plan.Pos) {
	was := make([]plan.Move, len(txns))
	for i, x := range txns {
		was[i] = x.Now
		was[i].Round = 0
		x.Now = plan.Move{Begin: x.Rule, Commit: x.Rule}
	}
	placed, last := plan.Place(txns, order, floor)
	events = slices.Concat(slice.Map(placed, eventsOf)...)
	moved := make(map[*plan.Txn]bool, len(events))
	for _, ev := range events {
		moved[ev.Txn] = true
	}
	for i, x := range txns {
		if moved[x] || was[i] != x.Now {
			changed = append(changed, x)
		}
	}
	return events, changed, last
}

// eventsOf returns the places of a moved transaction.
func eventsOf(x *plan.Txn) []plan.Event {
	if x.Now.Begin == x.Now.Commit {
		return []plan.Event{{At: x.Now.Commit, Txn: x, Reads: true, Writes: true}}
	}
	return []plan.Event{{At: x.Now.Begin, Txn: x, Reads: true}, {At: x.Now.Commit, Txn: x, Writes: true}}
}

// stuck handles a window without an order: it grows, unless its transactions violate the level by themselves.
func (e *engine) stuck(a *Answer, w *window, found bool, t *trouble) {
	switch {
	case found:
		e.settled = plan.Join(append(e.settled, w.span))
	case w.span.From.T <= e.total.MinT && w.span.To.T >= e.total.MaxT:
		e.leave(a, w.span, "no order was found")
	default:
		t.spans = append(t.spans, w.span)
	}
}

// keySet is a set of keys, by hashes; it may have a few more keys.
type keySet struct {
	bits []uint64
	n    int
}

func newKeys() *keySet { return &keySet{bits: make([]uint64, 1<<16)} }

func (k *keySet) slot(h uint64) (w *uint64, bit uint64) {
	h *= 0x9e3779b97f4a7c15
	return &k.bits[h>>48], 1 << (h >> 42 & 63)
}

func (k *keySet) has(h uint64) bool {
	w, bit := k.slot(h)
	return *w&bit != 0
}

func (k *keySet) addTxn(x *plan.Txn) {
	for _, op := range x.Ops {
		k.add(op.Key)
	}
}

func (k *keySet) add(key plan.Value) {
	w, bit := k.slot(plan.HashOf(key))
	*w |= bit
	k.n++
}
