package spill

import (
	"context"
	"fmt"
	"math"
	"slices"

	"isovet/check/spill/plan"
)

// slicing is the state of a stretch that is too large for one window and is solved slice by slice. Each slice gets an
// order. Its first part is then fixed. Its last part is also in the next slice, because transactions after a slice may
// belong before its end.
type slicing struct {
	e       *engine
	a       *Answer
	span    plan.Span
	misfits []plan.Misfit // those whose last version before them is in the stretch, in the order of these versions
	open    []plan.Misfit // those whose reader comes after the slice, in the order of their readers
	touched *keySet
	state   map[plan.Value]plan.Value // values of keys after the transactions that stay
	floor   *plan.Pos                 // position of the last transaction that stays
	carried []*plan.Txn
	spots   []past // stretches from the begin to the commit of a moved transaction
}

// stateBytes estimates the memory for a key's value.
const stateBytes = 200

// solveSlices solves a stretch slice by slice. Unlike a round's windows, it always knows the values of keys before a
// slice. It reports whether it reached the end. If it did not, the transactions that it placed are in an order as good
// as before. A slice without an order may violate the level by itself.
func (e *engine) solveSlices(ctx context.Context, a *Answer, s plan.Span, misfits []plan.Misfit,
	state map[plan.Value]plan.Value, touched *keySet) (bool, error) {
	x := &slicing{e: e, a: a, span: s, misfits: misfits, touched: touched, state: state}
	slices.SortStableFunc(x.misfits, func(a, b plan.Misfit) int { return a.From.Compare(b.From) })
	e.unkept = true // or the whole stretch would be stored again
	defer func() { e.unkept = false }()
	g := e.gathering()
	most := e.o.MaxWindow
	all := e.count(s)
	for from := s.From; ; {
		part := plan.Span{From: from, To: s.To}
		n := float64(max(most/2-len(x.carried), most/8, 1)) // at least this many, so that it advances
		last := e.count(part) <= n
		if !last {
			part.To = e.density.ahead(from, n)
			last = !part.To.Less(s.To)
		}
		if last {
			part.To = s.To
		}
		g.Spans = []plan.Span{part}
		in, _, err := e.gather(ctx, g)
		if err != nil {
			return false, err
		}
		e.progress("solving a stretch", int64(all-e.count(plan.Span{From: from, To: s.To})), int64(all))
		ok, err := x.slice(ctx, append(x.carried, in[0]...), part.To, last)
		if err == nil && ok && last {
			// Reads that still contradict the order there make new windows. No window may have only a part of a moved
			// transaction's stretch.
			e.solved = slices.DeleteFunc(e.solved, func(p past) bool { return s.Has(p.From) && s.Has(p.To) })
			e.solved = joined(append(e.solved, x.spots...))
		}
		if err != nil || !ok || last {
			return ok, err
		}
		from = part.To.Next()
	}
}

// maxSliced bounds the rounds that solve stretches slice by slice.
const maxSliced = 5

// slices solves slice by slice the windows that are too large, and returns those that it could not solve.
func (e *engine) slices(ctx context.Context, a *Answer, ws []window, misfits []plan.Misfit, causes []plan.Cause,
	touched *keySet) (left []window, err error) {
	if len(ws) == 0 || e.sliced == maxSliced {
		return ws, nil
	}
	e.sliced++
	// These are values from before a stretch that its readers need, so that another stretch must be mended first.
	before := make([]map[plan.Value]plan.Value, len(ws))
	found := make([][]plan.Misfit, len(ws))
	for i := range before {
		before[i] = map[plan.Value]plan.Value{}
	}
	for i, m := range misfits {
		if causes[i].Case != plan.InReach {
			continue
		}
		if j := at(ws, m.From); j >= 0 {
			found[j] = append(found[j], m)
		}
		if j := at(ws, m.At); j >= 0 && m.From.Less(ws[j].span.From) && causes[i].Saw.Pos.Less(ws[j].span.From) {
			before[j][m.Key] = m.Want
		}
	}
	for i, w := range ws {
		ok, err := e.solveSlices(ctx, a, w.span, found[i], before[i], touched)
		if err != nil {
			return nil, err
		}
		if !ok {
			left = append(left, w)
		}
	}
	return left, nil
}

// slice solves the next slice.
func (x *slicing) slice(ctx context.Context, txns []*plan.Txn, to plan.Pos, last bool) (bool, error) {
	e := x.e
	e.stats.Windows++
	e.stats.Largest = max(e.stats.Largest, len(txns))
	if len(txns) > e.o.MaxWindow+few {
		return false, nil
	}
	if err := x.know(ctx, txns); err != nil {
		return false, err
	}
	if len(x.state)*stateBytes > int(e.o.Memory/4) || len(e.ids)*stateBytes > int(e.o.Memory/4) {
		return false, nil
	}
	later := []*plan.Txn(nil)
	if !last {
		txns, later = plan.Split(txns, x.state, e.o.Level)
		if len(later) > len(txns) {
			return false, nil
		}
	}
	var order []int32
	if len(txns) > 0 {
		w := Solving{Txns: txns, Known: true, Last: last && x.span.To.T >= e.total.MaxT, Open: !last,
			Options: plan.Options{Level: e.o.Level, Skew: e.o.Skew, Conflicts: 20_000}}
		wish := x.wishes(to)
		asked := map[plan.Value]bool{}
		for _, t := range txns {
			t.External(func(op *plan.Op) {
				if !asked[op.Key] {
					asked[op.Key] = true
					w.State = append(w.State, plan.Want{Key: op.Key, Value: x.state[op.Key]})
				}
			}, func(op *plan.Op) {
				if v, is := wish[op.Key]; is && v == op.Value {
					w.Wish = append(w.Wish, plan.Want{Key: op.Key, Value: v})
				}
			})
		}
		got, err := e.solveOne(ctx, &w)
		if err == nil && got.Answer == plan.Unsolved {
			_, err = e.refute(ctx, x.a, [][]*plan.Txn{txns})
		}
		if err != nil || got.Answer != plan.Solved {
			return false, err
		}
		order = got.Order
	}
	stay := order
	if !last {
		stay = plan.Prefix(txns, order, len(txns)-min(len(txns)/2, max(len(txns)/8, 600, 4*len(later))))
		if len(stay) < len(order)/4 {
			return false, nil
		}
	}
	return true, x.place(txns, stay, later)
}

// wishes returns the values that the first readers after a slice need and the slice does not provide.
func (x *slicing) wishes(to plan.Pos) map[plan.Value]plan.Value {
	n := 0
	for n < len(x.misfits) && !to.Less(x.misfits[n].From) {
		n++
	}
	x.open, x.misfits = append(x.open, x.misfits[:n]...), x.misfits[n:]
	x.open = slices.DeleteFunc(x.open, func(m plan.Misfit) bool { return !to.Less(m.At) })
	sortMisfits(x.open)
	wish := make(map[plan.Value]plan.Value, len(x.open))
	for _, m := range x.open {
		if _, is := wish[m.Key]; !is {
			wish[m.Key] = m.Want
		}
	}
	return wish
}

// know finds the values, before the stretch, of keys that are new to it.
func (x *slicing) know(ctx context.Context, txns []*plan.Txn) error {
	var at []plan.At
	asked := map[plan.Value]bool{}
	for _, t := range txns {
		t.External(func(op *plan.Op) {
			if _, is := x.state[op.Key]; !is && !asked[op.Key] {
				asked[op.Key] = true
				at = append(at, plan.At{Key: op.Key, Before: x.span.From})
			}
		}, func(*plan.Op) {})
	}
	if len(at) == 0 {
		return nil
	}
	holds, err := x.e.states(ctx, at)
	for a, v := range holds {
		x.state[a.Key] = v
	}
	return err
}

// place fixes the transactions of the events in their order, after the fixed ones.
func (x *slicing) place(txns []*plan.Txn, stay []int32, later []*plan.Txn) error {
	e := x.e
	staying := make([]*plan.Txn, 0, len(stay)/2)
	index := slices.Repeat([]int32{-1}, len(txns))
	for _, ev := range stay {
		if index[ev>>1] < 0 {
			index[ev>>1] = 0
		}
	}
	x.carried = later
	for i, t := range txns {
		if index[i] < 0 {
			if t.TakesPart() {
				x.carried = append(x.carried, t)
			}
			continue
		}
		index[i] = int32(len(staying))
		staying = append(staying, t)
	}
	slices.SortFunc(x.carried, byNow)
	order := make([]int32, len(stay))
	for i, ev := range stay {
		order[i] = index[ev>>1]<<1 | ev&1
		if ev&1 == 1 {
			staying[order[i]>>1].External(func(*plan.Op) {}, func(op *plan.Op) { x.state[op.Key] = op.Value })
		}
	}
	moved, changed, floor := replace(staying, order, x.floor)
	x.floor = &floor
	for _, t := range changed {
		x.touched.addTxn(t)
		e.stand(t)
	}
	for _, t := range staying {
		if e.moves.Moved(t.Place) {
			from, to := t.Now.Begin, t.Now.Commit
			from.Sub, to.Sub = 0, math.MaxUint32
			x.spots = append(x.spots, past{Span: plan.Span{From: from, To: to}})
		}
	}
	return e.write(moved)
}

// stand records a transaction's current position.
func (e *engine) stand(x *plan.Txn) {
	if x.Now.Commit == x.Rule && x.Now.Begin == x.Rule && !x.Counts {
		e.moves.Unset(x.Place)
		return
	}
	x.Now.Round = e.stats.Rounds
	e.moves.Set(x.Place, x.Now)
	e.ids[x.Place] = named(x)
}

// solveOne solves a window by itself.
func (e *engine) solveOne(ctx context.Context, w *Solving) (Solution, error) {
	if e.o.Backend == nil {
		return SolveWindow(ctx, w)
	}
	got, err := e.o.Backend.Solve(ctx, []Solving{*w})
	if err == nil && len(got) != 1 {
		err = fmt.Errorf("%d windows were solved; expected one", len(got))
	}
	if err != nil {
		return Solution{}, err
	}
	return got[0], nil
}
