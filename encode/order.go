package encode

import (
	"slices"

	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
)

// EagerClauses returns the number of transitivity clauses that MakeEager would add.
func EagerClauses(q *Problem) int {
	if q.Eager {
		return 0
	}
	comp, n := q.P.Components(q.edges())
	size := make([]int, n)
	for v := range q.P.N {
		size[comp[v]]++
	}
	total := 0
	for _, s := range size {
		total += s * (s - 1) * (s - 2) / 3
	}
	return total
}

func (q *Problem) edges() []polygraph.Edge {
	return slice.Map(q.Guards, func(g Guard) polygraph.Edge { return g.Edge })
}

// Order is Vbox's encoding with all transitivity clauses.
//
// Source:  errata V26: the paper's MiniSat baseline forbids two-cycles only, which accepts longer ones; with
// transitivity it is right, and cubic.
func Order(p *polygraph.Polygraph) *Problem { return MakeEager(Vbox(p)) }

// Before is the meaning of a variable of MakeEager: that the first node precedes the second.
type Before struct {
	Var  solver.Var
	U, V int32
}

// MakeEager returns the problem extended by a variable "u before v" for each pair of nodes that a cycle could pass
// through, with the clauses of transitivity, so that any SAT solver can decide it. The known graph becomes facts about
// those nodes. The variables and guards of q keep their numbers.
//
// Cost: with n nodes in cycles of known and possible edges: n²/2 variables, n³/3 clauses.
func MakeEager(q *Problem) *Problem {
	if q.Eager {
		return q
	}
	p := q.P
	r := *q
	r.Eager, r.Reach, r.Guards, r.Befores = true, nil, nil, nil
	r.Phase, r.Clauses = slices.Clone(q.Phase), slices.Clone(q.Clauses)
	r.eagerly(p, q.edges(), q.Guards)
	return &r
}

func (q *Problem) eagerly(p *polygraph.Polygraph, extra []polygraph.Edge, guards []Guard) {
	// Only nodes of a strongly connected component of all known and possible edges can lie on a cycle.
	comp, _ := p.Components(extra)
	count := make(map[int32]int)
	for v := range p.N {
		count[comp[v]]++
	}
	groups := make(map[int32][]int32)
	for v := range int32(p.N) {
		if count[comp[v]] > 1 {
			groups[comp[v]] = append(groups[comp[v]], v)
		}
	}
	index := make([]int32, p.N)
	var inOrder [][]int32 // groups by first node: no map's order decides numbers and clauses
	base := make(map[int32]solver.Var)
	before := func(u, v int32) solver.Lit { // u ≠ v are of one group
		g := groups[comp[u]]
		i, j := int(index[u]), int(index[v])
		if i < j {
			return solver.Pos(base[comp[u]] + solver.Var(i*(2*len(g)-i-1)/2+j-i-1))
		}
		return solver.Neg(base[comp[u]] + solver.Var(j*(2*len(g)-j-1)/2+i-j-1))
	}
	for v := range int32(p.N) {
		g := groups[comp[v]]
		if len(g) == 0 || g[0] != v {
			continue
		}
		inOrder = append(inOrder, g)
		base[comp[v]] = solver.Var(q.Vars)
		for i, u := range g {
			index[u] = int32(i)
			for _, v := range g[i+1:] {
				q.Befores = append(q.Befores, Before{q.newVar(true), u, v})
			}
		}
		for i, a := range g {
			for j, b := range g[i+1:] {
				for _, c := range g[i+j+2:] {
					ab, bc, ac := before(a, b), before(b, c), before(a, c)
					q.Clauses = append(q.Clauses, []solver.Lit{ab.Not(), bc.Not(), ac}, []solver.Lit{ab, bc, ac.Not()})
				}
			}
		}
	}
	f := p.NewFinder(nil)
	for _, g := range inOrder {
		for _, u := range g {
			for _, v := range f.Reached(u, g) {
				q.Clauses = append(q.Clauses, []solver.Lit{before(u, v)})
			}
		}
	}
	for _, g := range guards {
		e := g.Edge
		switch {
		case e.From == e.To:
			q.Clauses = append(q.Clauses, []solver.Lit{g.Lit.Not()})
		case comp[e.From] == comp[e.To]:
			q.Clauses = append(q.Clauses, []solver.Lit{g.Lit.Not(), before(e.From, e.To)})
		}
		q.put(g.Lit, e)
	}
}
