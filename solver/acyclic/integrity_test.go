package acyclic

import (
	"fmt"
	"slices"

	"isovet/internal/graph"
)

// CheckIntegrity verifies that the graph is sound and holds the edges of the literals told, and, for
// PK, that the counts of backward edges are right. It must not be called between a conflict and the
// backtracking that follows.
//
// Cost: at least linear in everything.
func (t *theory) CheckIntegrity() error {
	if g, ok := t.g.(interface{ check() error }); ok {
		if err := g.check(); err != nil {
			return err
		}
	}
	edges := t.base
	for _, l := range t.told {
		if !t.holds(l) {
			return fmt.Errorf("acyclic: literal %v was told but its value is %d", l, t.value[l.Var()])
		}
		for i := t.head[l]; i >= 0; i = t.next[i] {
			edges++
		}
	}
	if m := t.g.mark(); m != edges {
		return fmt.Errorf("acyclic: %d edges in the graph, %d told", m, edges)
	}
	return nil
}

func (g pkGraph) check() error {
	t := g.t
	back := make([]int32, len(t.back))
	for i, e := range t.guards {
		b := !t.ord.Less(e.From, e.To)
		if b != t.isBack[i] {
			return fmt.Errorf("acyclic: guard %d: backward is %v", i, b)
		}
		if b {
			back[e.Lit]++
		}
	}
	if !slices.Equal(back, t.back) {
		return fmt.Errorf("acyclic: backward edges are %v, counted %v", back, t.back)
	}
	return nil
}

// check compares rows and columns with a closure made anew.
func (g windowGraph) check() error {
	t := g.t
	n := len(t.node)
	var edges []graph.Edge
	for u := range int32(n) {
		for _, v := range t.base.Succ(u) {
			edges = append(edges, graph.Edge{From: u, To: v})
		}
	}
	for _, e := range t.edges {
		edges = append(edges, graph.Edge{From: e.from, To: e.to})
	}
	c := graph.Build(n, edges)
	topo, ok := graph.Topological(c)
	if !ok {
		return fmt.Errorf("acyclic: the graph has a cycle")
	}
	words := (n + 63) / 64
	full := make([]uint64, n*words)
	for _, u := range slices.Backward(topo) {
		to := full[int(u)*words:][:words]
		to[u>>6] |= 1 << (u & 63)
		for _, v := range c.Succ(u) {
			for w, x := range full[int(v)*words:][:words] {
				to[w] |= x
			}
		}
	}
	for u := range int32(n) {
		for v := range int32(n) {
			want := full[int(u)*words+int(v>>6)]>>(v&63)&1 != 0
			if t.Reaches(u, v) != want {
				return fmt.Errorf("acyclic: %d reaches %d: %v, expected %v", u, v, !want, want)
			}
			r, s := t.rank[u], t.rank[v]
			if w := r >> 6; w >= t.lo[s] && w < t.hi[s] && t.col[t.at[s]+w]>>(r&63)&1 != 0 != want {
				return fmt.Errorf("acyclic: %d is reached by %d: %v, expected %v", v, u, !want, want)
			}
		}
	}
	return nil
}
