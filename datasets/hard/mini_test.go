package hard

import (
	"math/rand/v2"
	"testing"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// movesOf is what a transaction of MiniFormula reads and writes.
func movesOf(t testing.TB, h *history.History) [][]miniMove {
	t.Helper()
	var out [][]miniMove
	for txn := range uint32(h.NumTxns()) {
		if txn == h.Init {
			continue
		}
		lo, hi := h.TxnOps(txn)
		if hi-lo != 2 && hi-lo != 4 {
			t.Fatalf("a transaction of %d operations", hi-lo)
		}
		var moves []miniMove
		for op := lo; op < hi; op += 2 {
			r, w := h.Ops.Ver[op], h.Ops.Ver[op+1]
			if h.Ops.Kind[op] != history.Read || h.Ops.Kind[op+1] != history.Write || h.VerKey[r] != h.VerKey[w] {
				t.Fatal("a write is not of what was read before it")
			}
			moves = append(moves, miniMove{int(h.VerKey[r]), h.VerN[r], h.VerN[w]})
		}
		out = append(out, moves)
	}
	return out
}

// serialOrder looks for a serial order that explains every read, by trying all: what is left to do follows from which
// transactions have run, and is looked at once.
func serialOrder(txns [][]miniMove, keys int) bool {
	now := make([]int64, keys)
	done := make([]byte, len(txns))
	dead := map[string]bool{}
	var run func(left int) bool
	run = func(left int) bool {
		if left == 0 {
			return true
		}
		at := string(done)
		if dead[at] {
			return false
		}
	next:
		for i, moves := range txns {
			if done[i] != 0 {
				continue
			}
			for _, m := range moves {
				if now[m.key] != m.from {
					continue next
				}
			}
			for _, m := range moves {
				now[m.key] = m.to
			}
			done[i] = 1
			if run(left - 1) {
				return true
			}
			done[i] = 0
			for _, m := range moves {
				now[m.key] = m.from
			}
		}
		dead[at] = true
		return false
	}
	return run(len(txns))
}

// smallFormula is a random formula of at most so many literals.
func smallFormula(rng *rand.Rand, vars, literals int) Formula {
	f := Formula{Vars: 1 + rng.IntN(vars)}
	for n := 0; ; {
		c := slice.Map(rng.Perm(f.Vars)[:1+rng.IntN(f.Vars)], func(v int) int { return (v + 1) * (1 - 2*rng.IntN(2)) })
		if n += len(c); n > literals {
			return f
		}
		f.Clauses = append(f.Clauses, c)
	}
}

// TestMiniFormula: there is a serial order iff the formula is satisfiable, by a search through all orders.
func TestMiniFormula(t *testing.T) {
	answers := map[bool]int{}
	randtest.Seeds(t, 60, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 17))
		f := smallFormula(rng, 2, 3)
		h := must.Get(MiniFormula(f, seed))(t)
		want := satisfiable(f)
		must.Equal(t, serialOrder(movesOf(t, h), h.NumKeys()), want, "seed %d: %v", seed, f)
		answers[want]++
	})
	if randtest.Whole() && (answers[true] < 10 || answers[false] < 10) {
		t.Errorf("%v: one answer is hardly tested", answers)
	}
	for _, f := range []Formula{{Vars: 1, Clauses: [][]int{{}}}, {Vars: 1, Clauses: [][]int{{2}}}} {
		if _, err := MiniFormula(f, 1); err == nil {
			t.Errorf("%v has a history", f)
		}
	}
}

// TestAppendixCAsPrinted: [MTC] Appendix C, Theorem 8 makes all values that are read and written one. Then any order
// that respects the sessions explains every read, and the sessions it asks for are acyclic: the history of an
// unsatisfiable formula is serializable, hence snapshot isolated (errata M9).
func TestAppendixCAsPrinted(t *testing.T) {
	f := Formula{Vars: 1, Clauses: [][]int{{1}, {-1}}}
	if satisfiable(f) {
		t.Fatal("the formula is satisfiable")
	}
	before := map[string][]string{} // session order: who comes after
	txns := map[string][]miniMove{} // empty: a_k and b_k read and write nothing
	name := func(what string, i, j int) string { return what + string(rune('0'+i)) + string(rune('0'+j)) }
	for k := range f.Vars {
		txns[name("a", k, 0)], txns[name("b", k, 0)] = nil, nil
	}
	for i, c := range f.Clauses {
		for j, l := range c {
			y, z, w := name("y", i, j), name("z", i, j), name("w", i, j)
			v := len(txns) // a key of the three's own, all values of which are 0
			txns[y], txns[z], txns[w] = []miniMove{{v, 0, 0}}, []miniMove{{v, 0, 0}}, []miniMove{{v, 0, 0}}
			before[z] = append(before[z], name("y", i, (j+1)%len(c)))
			a, b := name("a", max(l, -l)-1, 0), name("b", max(l, -l)-1, 0)
			if l < 0 { // Figure 16b
				a, b = b, a
			}
			before[y] = append(before[y], a)
			before[b] = append(before[b], w)
		}
	}
	var order []string
	mark := map[string]int{}
	var visit func(string)
	visit = func(n string) {
		if mark[n] == 1 {
			t.Fatal("the sessions themselves are cyclic")
		}
		if mark[n] != 0 {
			return
		}
		mark[n] = 1
		for _, x := range before[n] {
			visit(x)
		}
		mark[n] = 2
		order = append([]string{n}, order...)
	}
	for n := range txns {
		visit(n)
	}
	now := map[int]int64{}
	for _, n := range order {
		for _, m := range txns[n] {
			must.Hold(t, now[m.key] == m.from, "%s reads %d, which is not there", n, m.from)
			now[m.key] = m.to
		}
	}
	must.Equal(t, len(order), 8, "transactions")
}
