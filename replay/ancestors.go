package replay

import (
	"isovet/graph"
)

// maxClocks bounds the entries of the clocks: nodes × sessions.
const maxClocks = 1 << 25

// ancestry guesses the order where no times tell it: a transaction with a ancestors and d descendants among the known edges
// stands at a/(a+d). It counts them exactly, by a clock entry a session, where the session edges are known and there is room;
// otherwise by levels from the front and the back. It fills rank and reports whether it could: not if the known edges have a cycle.
//
// Cost: (nodes + known edges) × sessions, or linear.
func (e *engine) ancestry(rank []int64) bool {
	n := len(rank)
	g := graph.BuildFunc(n, func(emit func(u, v int32)) { e.known(emit) })
	topo, ok := graph.TopologicalBy(g, rank)
	if !ok {
		return false
	}
	k := e.h.NumSessions()
	before, after := make([]uint32, n), make([]uint32, n)
	if e.sessions && k > 0 && n*k <= maxClocks {
		e.clocks(g, topo, k, before, after)
	} else {
		levels(g, topo, before, after)
	}
	for i := range rank {
		a, d := int64(before[i]), int64(after[i])
		rank[i] = (a<<40 + 1) / (a + d + 1)
	}
	return true
}

// clocks counts the transactions before and after each node.
func (e *engine) clocks(g *graph.CSR, topo []int32, k int, before, after []uint32) {
	n := g.N()
	// chain and place of a node: its session, and one more than its place among the session's nodes.
	chain, place := make([]int32, n), make([]uint32, n)
	length := make([]uint32, k)
	for s := range k {
		chainOf := int32(s)
		for _, t := range e.h.SessTxn[e.h.SessOff[s]:e.h.SessOff[s+1]] {
			if i := e.node[t]; i >= 0 {
				length[s]++
				chain[e.begin(i)], chain[e.commit(i)] = chainOf, chainOf
				place[e.begin(i)], place[e.commit(i)] = length[s], length[s]
			}
		}
	}
	clk := make([]uint32, n*k)
	for _, x := range topo {
		row := clk[int(x)*k:][:k]
		row[chain[x]] = max(row[chain[x]], place[x])
		sum := uint32(0)
		for _, c := range row {
			sum += c
		}
		before[x] = sum - 1
		for _, y := range g.Succ(x) {
			to := clk[int(y)*k:][:k]
			for s, c := range row {
				to[s] = max(to[s], c)
			}
		}
	}
	clear(clk)
	for i := len(topo) - 1; i >= 0; i-- {
		x := topo[i]
		row := clk[int(x)*k:][:k]
		for _, y := range g.Succ(x) {
			from := clk[int(y)*k:][:k]
			for s, c := range from {
				row[s] = max(row[s], c)
			}
		}
		own := length[chain[x]] - place[x] + 1
		row[chain[x]] = max(row[chain[x]], own)
		sum := uint32(0)
		for _, c := range row {
			sum += c
		}
		after[x] = sum - 1
	}
}

// levels fills the longest paths to and from each node.
func levels(g *graph.CSR, topo []int32, before, after []uint32) {
	for _, x := range topo {
		for _, y := range g.Succ(x) {
			before[y] = max(before[y], before[x]+1)
		}
	}
	for i := len(topo) - 1; i >= 0; i-- {
		x := topo[i]
		for _, y := range g.Succ(x) {
			after[x] = max(after[x], after[y]+1)
		}
	}
}
