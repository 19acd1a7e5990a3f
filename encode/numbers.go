package encode

import (
	"math/bits"
	"slices"

	"isovet/internal/bounds"
	"isovet/internal/graph"
	"isovet/solver"
)

// Bit is the meaning of a variable of MakeNumbered: that a bit of a node's number is set. Nodes from the polygraph's N
// on are those of the time chain (polygraph.Polygraph.FullGraph).
type Bit struct {
	Var  solver.Var
	Node int32
	Bit  int
}

// numbered has the nodes that may lie on a cycle, by strongly connected component, and the edges between them.
type numbered struct {
	width []int   // bits of a node's number; 0: it lies on no cycle
	known []edge  // edges of the known graph
	open  []guard // sorted by their edges, those of one edge next to each other
	self  []solver.Lit
}

type edge struct{ u, v int32 }

type guard struct {
	edge
	lit solver.Lit
}

// NumberedClauses estimates the clauses that MakeNumbered would add.
func NumberedClauses(q *Problem) int {
	if q.Eager {
		return 0
	}
	x := q.numbered()
	total := len(x.open)
	for _, e := range x.known {
		total += 3 * x.width[e.u]
	}
	for i, g := range x.open {
		if i == 0 || x.open[i-1].edge != g.edge {
			total += 3 * x.width[g.u]
		}
	}
	return total
}

func (q *Problem) numbered() *numbered {
	full := q.P.FullGraph(q.edges())
	comp, n := graph.Components(full)
	size := make([]int, n)
	for _, c := range comp {
		size[c]++
	}
	x := &numbered{width: make([]int, full.N())}
	for v, c := range comp {
		if size[c] > 1 {
			x.width[v] = bits.Len(uint(size[c] - 1))
		}
	}
	bare := q.P.FullGraph(nil)
	for u := range int32(bare.N()) {
		for _, v := range bare.Succ(u) {
			if x.width[u] > 0 && comp[u] == comp[v] {
				x.known = append(x.known, edge{u, v})
			}
		}
	}
	for _, g := range q.Guards {
		switch e := (edge{g.Edge.From, g.Edge.To}); {
		case e.u == e.v:
			x.self = append(x.self, g.Lit)
		case comp[e.u] == comp[e.v]:
			x.open = append(x.open, guard{e, g.Lit})
		}
	}
	slices.SortFunc(x.open, func(a, b guard) int {
		switch {
		case a.u != b.u:
			return int(a.u) - int(b.u)
		case a.v != b.v:
			return int(a.v) - int(b.v)
		}
		return int(a.lit) - int(b.lit)
	})
	return x
}

// MakeNumbered returns the problem extended by a binary number for each node that a cycle could pass through, with
// clauses by which each edge leads to a larger number, so that any SAT solver can decide it. It is far smaller than
// MakeEager's where many nodes could lie on cycles, but a solver deduces less from it by unit propagation. The
// variables and guards of q keep their numbers.
//
// Cost: with n nodes in such a component and m known and possible edges between them: (n+m)·log n variables, 3·m·log n
// clauses.
func MakeNumbered(q *Problem) *Problem {
	if q.Eager {
		return q
	}
	x := q.numbered()
	r := *q
	r.Eager, r.Reach = true, nil
	r.Phase, r.Clauses = slices.Clone(q.Phase), slices.Clone(q.Clauses)
	base := make([]solver.Var, len(x.width))
	for v, w := range x.width {
		base[v] = solver.Var(r.Vars)
		for i := range w {
			r.Bits = append(r.Bits, Bit{r.newVar(false), int32(v), i})
		}
	}
	// less adds clauses for: if l, the number formed by u's lowest bits up to i is less than v's.
	less := func(l []solver.Lit, e edge) {
		for i := x.width[e.u] - 1; i >= 0; i-- {
			a, b := solver.Pos(base[e.u]+solver.Var(i)), solver.Pos(base[e.v]+solver.Var(i))
			add := func(more ...solver.Lit) { r.Clauses = append(r.Clauses, append(slices.Clone(l), more...)) }
			if i == 0 {
				add(a.Not())
				add(b)
				return
			}
			rest := solver.Pos(r.newVar(false))
			add(a.Not(), b)
			add(a.Not(), rest)
			add(b, rest)
			l = []solver.Lit{rest.Not()}
		}
	}
	for _, e := range x.known {
		less(nil, e)
	}
	for i := 0; i < len(x.open); {
		j := i + 1
		for j < len(x.open) && x.open[j].edge == x.open[i].edge {
			j++
		}
		there := x.open[i].lit
		if j > i+1 {
			there = solver.Pos(r.newVar(false))
			for _, g := range x.open[i:j] {
				r.Clauses = append(r.Clauses, []solver.Lit{g.lit.Not(), there})
			}
		}
		less([]solver.Lit{there.Not()}, x.open[i].edge)
		i = j
	}
	for _, l := range x.self {
		r.Clauses = append(r.Clauses, []solver.Lit{l.Not()})
	}
	return &r
}

// maxTransitive is the number of transitivity clauses up to which MakeAcyclic uses MakeEager.
var maxTransitive = 2_000_000

func init() { bounds.Register("encode.max-transitive", &maxTransitive) }

// MakeAcyclic is MakeEager if that adds few clauses, else MakeNumbered.
func MakeAcyclic(q *Problem) *Problem {
	if EagerClauses(q) <= maxTransitive {
		return MakeEager(q)
	}
	return MakeNumbered(q)
}

// AcyclicClauses estimates the clauses that MakeAcyclic would add.
func AcyclicClauses(q *Problem) int {
	if n := EagerClauses(q); n <= maxTransitive {
		return n
	}
	return NumberedClauses(q)
}
