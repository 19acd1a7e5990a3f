package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// brute decides by all orders of all that must come and of any others.
func brute[S any](m *Model[S], ops []Op, state S, placed []bool) bool {
	left := false
	for i := range ops {
		left = left || !placed[i] && !ops[i].Maybe
	}
	if !left {
		return true
	}
next:
	for i := range ops {
		if placed[i] {
			continue
		}
		for j := range ops {
			if !placed[j] && !ops[j].Maybe && ops[j].Return < ops[i].Call {
				continue next
			}
		}
		for _, to := range m.next(state, &ops[i]) {
			placed[i] = true
			ok := brute(m, ops, to, placed)
			placed[i] = false
			if ok {
				return true
			}
		}
	}
	return false
}

// none reports whether some part of the operations has no order.
func none[S any](m *Model[S], all []Op) bool {
	parts := [][]Op{all}
	if m.Partition != nil {
		parts = nil
		for _, p := range m.Partition(all) {
			parts = append(parts, slice.Pick(all, p))
		}
	}
	for _, ops := range parts {
		if !brute(m, ops, m.Init(), make([]bool, len(ops))) {
			return true
		}
	}
	return false
}

// shown reports whether a core has no order, whatever the others did, and after they returned if need be.
func shown[S any](m *Model[S], ops []Op, a *Answer) bool {
	if m.proves != nil {
		return m.refutes(context.Background(), m.relaxed(ops, a), defaultStates) == nil
	}
	return none(m, m.relaxed(ops, a))
}

// twin compares the answers on random histories with brute force. draw gives an action, and all outputs that it may
// have.
func twin[S any](t *testing.T, name string, m *Model[S], first decider,
	draw func(r *rand.Rand, n int) (Action, []any)) {
	t.Run(name, func(t *testing.T) {
		bad, good, sure := 0, 0, 0
		randtest.Seeds(t, 6000, func(t testing.TB, seed uint64) {
			ops := drawn(rand.New(rand.NewPCG(seed, 7)), m, draw)
			text := func() string {
				var b strings.Builder
				for i := range ops {
					fmt.Fprintf(&b, "\n%d: [%d, %d] maybe %t %s", i, ops[i].Call, ops[i].Return, ops[i].Maybe,
						m.Text(&ops[i]))
				}
				return b.String()
			}
			want := none(m, ops)
			if m.narrow != nil && !want && none(m, m.narrow(ops)) {
				t.Fatalf("what is narrowed has no order: %v%s", m.narrow(ops), text())
			}
			a, err := m.check(context.Background(), ops, Options{}, first)
			if err != nil || a.Verdict == evidence.Unknown || want != (a.Verdict == evidence.Violated) {
				t.Fatalf("%v %v, brute force says violation: %t%s", a, err, want, text())
			}
			if first != nil {
				if b, known := first(func() bool { return false }, ops); known {
					if sure++; (b.Verdict == evidence.Violated) != want {
						t.Fatalf("the conditions say %v%s", b, text())
					}
					if !want && m.replay(ops, b.Order) != nil {
						t.Fatalf("the conditions' order %v: %v%s", b.Order, m.replay(ops, b.Order), text())
					}
					if want && !shown(m, ops, &b) {
						t.Fatalf("the conditions' core %v has an order%s", b.Core, text())
					}
				}
			}
			if !want {
				good++
				return
			}
			bad++
			if len(a.Core) == 0 || !shown(m, ops, &a) {
				t.Fatalf("the core %v has an order%s", a.Core, text())
			}
		})
		if bad == 0 || good == 0 || first != nil && sure == 0 {
			t.Fatalf("%d violate, %d do not, the conditions decide %d: the histories say nothing", bad, good, sure)
		}
		t.Logf("%d violate, %d do not, conditions %d", bad, good, sure)
	})
}

// drawn is a history of an object that mostly keeps its model: the operations take effect at the middle of their time.
func drawn[S any](r *rand.Rand, m *Model[S], draw func(r *rand.Rand, n int) (Action, []any)) []Op {
	n := 2 + r.IntN(5)
	ops := make([]Op, n)
	state := m.Init()
	for i := range ops {
		a, outs := draw(r, i)
		at := int64(3 * i)
		op := Op{Client: int64(i), Input: a, Call: at - r.Int64N(5), Return: at + r.Int64N(5), Maybe: r.IntN(5) == 0}
		var fit []any
		for _, out := range outs {
			op.Output = out
			try := op
			try.Maybe = false
			if len(m.next(state, &try)) > 0 {
				fit = append(fit, out)
			}
		}
		if len(fit) > 0 {
			op.Output = fit[r.IntN(len(fit))]
			took := op
			took.Maybe = false
			if to := m.next(state, &took); !op.Maybe || r.IntN(2) == 0 {
				state = to[r.IntN(len(to))]
			}
		}
		if len(fit) == 0 || r.IntN(8) == 0 {
			op.Output = outs[r.IntN(len(outs))]
		}
		ops[i] = op
	}
	r.Shuffle(n, func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return ops
}

var few = []string{"a", "b", "c"}

func value(r *rand.Rand) string { return few[r.IntN(len(few))] }

func TestModels(t *testing.T) {
	values := []any{"a", "b", "c", ""}
	registers := func(cas bool) func(r *rand.Rand, n int) (Action, []any) {
		return func(r *rand.Rand, n int) (Action, []any) {
			k := few[r.IntN(2)]
			switch {
			case cas && r.IntN(3) == 0:
				return Action{F: "cas", Key: k, Old: value(r), Value: value(r)}, []any{nil, false}
			case r.IntN(2) == 0:
				return Action{F: "write", Key: k, Value: value(r)}, []any{nil}
			}
			return Action{F: "read", Key: k}, values
		}
	}
	twin(t, "register", plainRegister(), nil, registers(false))
	twin(t, "cas-register", Register("a"), nil, registers(true))
	twin(t, "multi-register", MultiRegister(), nil, func(r *rand.Rand, n int) (Action, []any) {
		a := Action{F: "txn", Txn: []Access{{r.IntN(2) == 0, few[r.IntN(2)], value(r)},
			{r.IntN(2) == 0, "z", value(r)}}}
		outs := []any{nil}
		for _, v := range values {
			for _, w := range values {
				outs = append(outs, []any{v, w})
			}
		}
		return a, outs
	})
	twin(t, "counter", Counter(), bounds, func(r *rand.Rand, n int) (Action, []any) {
		if r.IntN(2) == 0 {
			return Action{F: "add", N: r.Int64N(3) - 1}, []any{nil}
		}
		return Action{F: "read"}, []any{int64(0), int64(1), int64(2), int64(3)}
	})
	for n := 1; n <= 2; n++ {
		twin(t, fmt.Sprint("semaphore", n), Semaphore(n), permits(n), func(r *rand.Rand, _ int) (Action, []any) {
			return Action{F: []string{"acquire", "release"}[r.IntN(2)]}, []any{nil}
		})
	}
	twin(t, "kv", KV(), nil, func(r *rand.Rand, n int) (Action, []any) {
		switch r.IntN(4) {
		case 0:
			return Action{F: "put", Key: few[r.IntN(2)], Value: value(r)}, []any{nil}
		case 1:
			return Action{F: "append", Key: few[r.IntN(2)], Value: value(r)}, []any{nil}
		}
		return Action{F: "get", Key: few[r.IntN(2)]}, []any{"", "a", "b", "ab", "ba", "aa"}
	})
	twin(t, "set", Set(), members, func(r *rand.Rand, n int) (Action, []any) {
		switch r.IntN(4) {
		case 0:
			return Action{F: "add", Value: value(r)}, []any{nil, true, false}
		case 1:
			return Action{F: "remove", Value: value(r)}, []any{nil, true, false}
		case 2:
			return Action{F: "contains", Value: value(r)}, []any{true, false}
		}
		return Action{F: "read"}, []any{List(nil), List{"a"}, List{"b"}, List{"a", "b"}}
	})
	twin(t, "log", Log(), nil, func(r *rand.Rand, n int) (Action, []any) {
		switch r.IntN(4) {
		case 0:
			return Action{F: "read"}, []any{List(nil), List{"a"}, List{"b", "a"}, List{"a", "b"}}
		case 1:
			return Action{F: "get", N: r.Int64N(2)}, []any{"a", "b", Empty}
		}
		return Action{F: "append", Value: few[r.IntN(2)]}, []any{nil, int64(0), int64(1)}
	})
}

// TestCollections has queues, stacks and bags of distinct values and of values that repeat.
func TestCollections(t *testing.T) {
	kinds := []struct {
		name, put, take string
		m               *Model[[]string]
		first           decider
	}{{"queue", "enqueue", "dequeue", Queue(), fifo}, {"stack", "push", "pop", Stack(), lifo},
		{"bag", "enqueue", "dequeue", Bag(), nil}}
	for _, k := range kinds {
		for _, distinct := range []bool{true, false} {
			name := fmt.Sprint(k.name, " distinct=", distinct)
			twin(t, name, k.m, k.first, func(r *rand.Rand, n int) (Action, []any) {
				outs := []any{"v0", "v1", "v2", "v3", "v4", "v5"}
				if r.IntN(4) == 0 {
					outs = append(outs, Empty)
				}
				if r.IntN(2) == 0 {
					return Action{F: k.take}, outs
				}
				v := n
				if !distinct {
					v = r.IntN(3)
				}
				return Action{F: k.put, Value: fmt.Sprint("v", v)}, []any{nil}
			})
		}
	}
}

// TestDeep: a decider's cost for values that all are in at once is not quadratic, neither in time nor in memory.
func TestDeep(t *testing.T) {
	const n = 10_000
	for _, o := range Objects() {
		names := map[string][2]string{"queue": {"enqueue", "dequeue"}, "stack": {"push", "pop"}}[o.Name]
		if names[0] == "" {
			continue
		}
		var ops []Op
		for i := range 2 * n {
			op := Op{Input: Action{F: names[0], Value: fmt.Sprint(i)}, Call: int64(4 * i), Return: int64(4*i + 6)}
			if v := i - n; i >= n {
				if o.Name == "stack" {
					v = 2*n - 1 - i
				}
				op.Input, op.Output = Action{F: names[1]}, fmt.Sprint(v)
			}
			ops = append(ops, op)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := must.Get(o.Check(t.Context(), ops, Options{}))(t)
		runtime.ReadMemStats(&after)
		bytes := after.TotalAlloc - before.TotalAlloc
		must.Hold(t, a.Verdict == evidence.Holds && bytes < 5_000*n, "%s: %v (%s), %d bytes", o.Name, a.Verdict,
			a.Reason, bytes)
	}
}

// TestGrowing has sets of distinct values that are only added to and read as a whole.
func TestGrowing(t *testing.T) {
	twin(t, "growing", Set(), growing, func(r *rand.Rand, n int) (Action, []any) {
		if r.IntN(2) == 0 {
			return Action{F: "add", Value: fmt.Sprint("v", n)}, []any{nil, true}
		}
		var outs []any
		for range 4 {
			list := List{}
			for v := range n {
				if r.IntN(3) > 0 {
					list = append(list, fmt.Sprint("v", v))
				}
			}
			outs = append(outs, list)
		}
		for _, n := range []int{n, n / 2, 0} { // those that may be in
			list := List{}
			for v := range n {
				list = append(list, fmt.Sprint("v", v))
			}
			outs = append(outs, list)
		}
		return Action{F: "read"}, outs
	})
}

// TestPeel: what is stuck of a stack's values is what is left where each that can lie at the bottom is taken away in
// turn, by all instants.
func TestPeel(t *testing.T) {
	stuck, free := 0, 0
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		var values []span
		for i := range 2 + r.IntN(12) {
			s := span{put: 2 * i, take: 2*i + 1, putCall: r.Int64N(30)}
			s.putRet = s.putCall + r.Int64N(6)
			s.takeCall = s.putRet + 1 + r.Int64N(12)
			if s.takeRt = s.takeCall + r.Int64N(6); r.IntN(5) == 0 {
				s.take, s.takeCall, s.takeRt = -1, never, never
			}
			values = append(values, s)
		}
		left := slices.Clone(values)
		bottom := func(v span) bool {
			has := func(from, to int64) bool {
				for at := from; at <= to; at++ {
					if !slices.ContainsFunc(left, func(o span) bool {
						return o.put != v.put && o.putRet < at && at < o.takeCall
					}) {
						return true
					}
				}
				return false
			}
			return has(v.putCall, v.putRet) && (v.take < 0 || has(v.takeCall, v.takeRt))
		}
		for n := -1; n != len(left); {
			n = len(left)
			if i := slices.IndexFunc(left, bottom); i >= 0 {
				left = slices.Delete(left, i, i+1)
			}
		}
		_, got := peel(values)
		must.Hold(t, slices.Equal(got, left), "stuck are %v; expected %v of %v", got, left, values)
		if len(left) > 0 {
			stuck++
		} else {
			free++
		}
	})
	must.Hold(t, stuck != 0 && free != 0, "%d stuck, %d not: the values say nothing", stuck, free)
}

// TestBytes: a search whose states are large remembers fewer, and ends.
func TestBytes(t *testing.T) {
	const most = 2000
	m := Stack()
	var ops []Op
	for i := range 400 {
		ops = append(ops, Op{Input: Action{F: "push", Value: few[i%2]}, Call: int64(i), Return: int64(i + 6)})
		if i%4 == 0 {
			ops = append(ops, Op{Input: Action{F: "pop"}, Call: int64(i), Maybe: true})
		}
	}
	ops = append(ops, Op{Input: Action{F: "pop"}, Output: "c", Call: 500, Return: 501})
	s := m.newSearch(ops, most)
	if ok, err := s.run(context.Background()); ok || err != errBudget {
		t.Fatalf("the search ends with %t, %v; expected that it gives up", ok, err)
	}
	bytes := 0
	for _, at := range s.seen {
		for _, v := range at {
			bytes += 16*len(v.state) + 8*len(v.taken)
		}
	}
	for _, f := range s.frames {
		for _, w := range f.left {
			bytes += 16 * len(w.to)
		}
	}
	must.Hold(t, bytes <= 3*most*stateBytes, "%d bytes are remembered for %d states", bytes, most)
	if a, err := Check(t.Context(), m, ops, Options{MaxStates: most}); err != nil || a.Verdict != evidence.Unknown {
		t.Fatalf("%v %v; expected unknown", a, err)
	}
}

// TestNarrow: the operations on one value alone confirm a set's violation by it, and a read shows a log's order.
func TestNarrow(t *testing.T) {
	var ops, log []Op
	list := List{}
	for i := range 300 {
		v := fmt.Sprintf("v%03d", i)
		list = append(list[:len(list):len(list)], v)
		log = append(log, Op{Input: Action{F: "append", Value: v}, Return: int64(300 - i)})
		at := int64(10 * i)
		ops = append(ops, Op{Input: Action{F: "add", Value: v}, Call: at, Return: at + 12},
			Op{Input: Action{F: "read"}, Output: list, Call: at + 13, Return: at + 14})
	}
	ops = append(ops, Op{Input: Action{F: "read"}, Output: list[1:], Call: 9000, Return: 9001})
	_, ok, err := Log().search(t.Context(), append(log, Op{Input: Action{F: "read"}, Output: list, Return: 301}), 100)
	a, known := members(nil, ops)
	m := Set()
	relaxed := m.relaxed(ops, &a)
	if small := m.narrow(relaxed); !known || len(small) > 4 || m.refutes(t.Context(), small, 100) != nil || !ok {
		t.Fatalf("%v: %d of %d operations matter; the log: %v", a, len(small), len(relaxed), err)
	}
}

// TestPermits: the conditions decide every semaphore as the search does, and each violation has its window.
func TestPermits(t *testing.T) {
	violated := 0
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 38))
		n := 1 + r.IntN(3)
		m := Semaphore(n)
		var ops []Op
		for i := range 6 + r.Int64N(12) {
			at := 3 * i
			ops = append(ops, Op{Input: Action{F: []string{"acquire", "release"}[(int(i)+r.IntN(7)/6)%2]},
				Call: at - r.Int64N(12), Return: at + r.Int64N(12), Maybe: r.IntN(6) == 0})
		}
		a, known := permits(n)(nil, ops)
		_, ok, err := m.search(t.Context(), ops, defaultStates)
		switch bad := a.Verdict == evidence.Violated; {
		case err != nil || !known || ok == bad || bad && !shown(m, ops, &a) || !bad && m.replay(ops, a.Order) != nil:
			t.Fatalf("%v %t, the search says %t %v\n%v", a, known, ok, err, ops)
		case bad:
			violated++
		}
	})
	randtest.Mix(t, violated < 300, "%d violate: the histories say little", violated)
}
