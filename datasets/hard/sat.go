package hard

import (
	"fmt"
	"math/rand/v2"

	"isovet/history"
)

// Formula is a formula in conjunctive normal form: variables 1..Vars, literals v and -v as in DIMACS.
type Formula struct {
	Vars    int
	Clauses [][]int
}

// RandomFormula returns uniform random 3-SAT: each clause has three distinct variables (fewer if vars < 3) with random
// signs. With 4.26 clauses for each variable about half of the formulas are satisfiable, and these are the hardest. If
// planted is set, a hidden assignment satisfies every clause.
func RandomFormula(seed uint64, vars, clauses int, planted bool) Formula {
	rng := rand.New(rand.NewPCG(seed, 0x3547))
	hidden := make([]bool, vars)
	for v := range hidden {
		hidden[v] = rng.IntN(2) == 0
	}
	f := Formula{Vars: vars}
	for len(f.Clauses) < clauses {
		var c []int
		good := !planted
		for _, v := range rng.Perm(vars)[:min(3, vars)] {
			l := v + 1
			if rng.IntN(2) == 0 {
				l = -l
			}
			good = good || hidden[v] == (l > 0)
			c = append(c, l)
		}
		if good {
			f.Clauses = append(f.Clauses, c)
		}
	}
	return f
}

// FromFormula returns a history that is serializable iff the formula is satisfiable. It has no times, and every
// transaction has its own session. Its reads are consistent by themselves; only the order of blind writes is
// difficult. The seed shuffles the transactions.
//
// # The construction
//
// A switch is a key with two blind writers, A and B, and readers of either. The readers of the first writer precede
// the second writer. So the switch is on (A first), and every reader of A precedes B, or it is off (B first), and
// every reader of B precedes A. A known edge u→v is a key of its own that u writes and v reads.
//
// Each variable has a switch; on means true. Each occurrence of a literal in a clause has a switch too, its copy,
// which can be on only if the literal is true. For a literal x, these edges would close a cycle if x's switch were off
// and the copy on:
//
//	reader of x's B → x's A          (x off)
//	x's A → reader of the copy's A   (known)
//	reader of the copy's A → copy's B (copy on)
//	copy's B → reader of x's B       (known)
//
// This occurrence has a reader of its own in x's switch. For ¬x, x's A and B are exchanged. In each clause, known
// edges link the copies' "off" edges to a ring: copy i's A → a reader of copy i+1's B. If all copies are off, the ring
// is a cycle.
//
// If the formula is unsatisfiable: any serial order sets the variables' switches; some clause has only false literals,
// so that all its copies are off, and its ring is a cycle. If it is satisfiable: set each variable's switch by a
// satisfying assignment and each copy to its literal's value. A path that enters a reader of the second writer ends
// there, since this reader has no outgoing edge. Other paths go from variables to copies that are on and end at such
// readers of variables, or they go from copies that are off along a ring to a copy that is on, or into a variable and
// to readers of second writers. So there is no cycle, and a topological order is a serial order.
//
// Size: two transactions for each variable and five for each occurrence (four, and the reader in the variable's
// switch).
func FromFormula(f Formula, seed uint64) (*history.History, error) {
	g := gadgets{}
	type sw struct{ key, a, b int }
	newSwitch := func() sw {
		s := sw{g.keys, g.txn(), g.txn()}
		g.keys++
		g.write(s.a, s.key, 1)
		g.write(s.b, s.key, 2)
		return s
	}
	reader := func(s sw, of int) int {
		r := g.txn()
		if of == s.a {
			g.read(r, s.key, 1)
		} else {
			g.read(r, s.key, 2)
		}
		return r
	}
	vars := make([]sw, f.Vars)
	for v := range vars {
		vars[v] = newSwitch()
	}
	for i, c := range f.Clauses {
		if len(c) == 0 {
			return nil, fmt.Errorf("clause %d is empty; expected at least one literal", i+1)
		}
		copies := make([]sw, len(c))
		ring := make([]int, len(c)) // reader of the copy's B
		for j, l := range c {
			v := l
			if v < 0 {
				v = -v
			}
			if v < 1 || v > f.Vars {
				return nil, fmt.Errorf("clause %d has literal %d; expected a variable from 1 to %d", i+1, l, f.Vars)
			}
			x := vars[v-1]
			if l < 0 {
				x.a, x.b = x.b, x.a
			}
			val := reader(vars[v-1], x.b)
			cp := newSwitch()
			on := reader(cp, cp.a)
			g.edge(x.a, on)
			g.edge(cp.b, val)
			copies[j], ring[j] = cp, reader(cp, cp.b)
		}
		for j := range copies {
			g.edge(copies[j].a, ring[(j+1)%len(ring)])
		}
	}
	return g.build(seed, fmt.Sprintf("sat-%d-%d", f.Vars, len(f.Clauses)))
}

// gadgets collects the transactions and keys of the construction.
type gadgets struct {
	keys int
	ops  [][]gadgetOp
}

type gadgetOp struct {
	key   int
	val   int64
	write bool
}

func (g *gadgets) txn() int {
	g.ops = append(g.ops, nil)
	return len(g.ops) - 1
}

func (g *gadgets) write(t, key int, val int64) {
	g.ops[t] = append(g.ops[t], gadgetOp{key, val, true})
}

func (g *gadgets) read(t, key int, val int64) {
	g.ops[t] = append(g.ops[t], gadgetOp{key, val, false})
}

func (g *gadgets) edge(u, v int) {
	g.write(u, g.keys, 1)
	g.read(v, g.keys, 1)
	g.keys++
}

// build shuffles the transactions. In each, reads precede writes; none reads a version of its own.
func (g *gadgets) build(seed uint64, name string) (*history.History, error) {
	rng := rand.New(rand.NewPCG(seed, 0x6ad6e7))
	b := history.NewBuilder()
	b.Meta.Name = name
	for i, t := range rng.Perm(len(g.ops)) {
		for _, write := range []bool{false, true} {
			for _, op := range g.ops[t] {
				switch k := b.Key(history.IntValue(int64(op.key))); {
				case op.write != write:
				case write:
					b.Write(k, history.IntValue(op.val))
				default:
					b.Read(k, history.IntValue(op.val))
				}
			}
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(i), true
		b.EndTxn(head)
	}
	return b.Build()
}
