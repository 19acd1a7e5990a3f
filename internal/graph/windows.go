package graph

import "slices"

// The times of missing events: a node with start NoStart follows nothing in real time; one with end NoEnd precedes
// nothing.
const (
	NoStart = -1 << 63
	NoEnd   = 1<<63 - 1
)

// Windows decides whether g and real-time order together are acyclic, without the edges of that order. Node v has the
// window [rel(v), dl(v)], and u precedes v in real time iff dl(u) < rel(v), strictly. topo is a topological order of
// g. If the union has a cycle, ok is false, and path is a path of g (with at least one node) whose last node precedes
// its first in real time: with this edge the path is the cycle.
//
// Lemma:  g ∪ RT is acyclic iff g is and rel(v) ≤ dl(u) for every path v ⇝ u of g, v = u included. Proof:  a violated
// inequality is an RT edge that closes its path. Conversely let a cycle use the RT edges (u₁,v₁) … (u_q,v_q) with vᵢ ⇝
// uᵢ₊₁ in g; then dl(uᵢ) < rel(vᵢ) ≤ dl(uᵢ₊₁) all the way round, which is impossible; with q = 0 the cycle is in g.
//
// Cost: O(n+m), 12 bytes a node.
func Windows(g *CSR, topo []int32, rel, dl []int64) (path []int32, ok bool) {
	n := g.N()
	latest := make([]int64, n) // max rel over ancestors, the node itself included
	copy(latest, rel[:n])
	from := slices.Repeat([]int32{-1}, n) // the predecessor that set it, or −1
	for _, u := range topo {
		m := latest[u]
		if m > dl[u] {
			for v := u; v >= 0; v = from[v] {
				path = append(path, v)
			}
			slices.Reverse(path)
			return path, false
		}
		for _, v := range g.Succ(u) {
			if latest[v] < m {
				latest[v] = m
				from[v] = u
			}
		}
	}
	return nil, true
}
