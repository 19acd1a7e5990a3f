package oracle

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
)

// cycle finds a forbidden cycle of a world's graph that is cheapest by cost, preferably without real-time edges, then
// without session edges.
func (x *explainer) cycle(model []bool) []arc {
	for _, limit := range [...]evidence.Dep{evidence.WR, evidence.SO, evidence.RT} {
		n := 2 * len(x.txns)
		out := make([][]int, n)
		var arcs []arc
		to := []int{}
		add := func(u, v int, a arc) {
			out[u] = append(out[u], len(arcs))
			arcs, to = append(arcs, a), append(to, v)
		}
		// Node 2i is the begin of transaction i and 2i+1 its commit; at the serializable levels both are one, 2i.
		commit := 1
		if x.o.Level.Serial() {
			commit = 0
		}
		if commit == 1 {
			for i := range x.txns {
				add(2*i, 2*i+1, arc{Edge: evidence.Edge{From: history.None}})
			}
		}
		for _, a := range x.arcs {
			if limit == evidence.WR && a.Dep < evidence.WR || limit == evidence.SO && a.Dep == evidence.RT {
				continue
			}
			holds := true
			for _, l := range a.needs {
				holds = holds && value(model, l)
			}
			if !holds {
				continue
			}
			i, j := x.txnOf[a.From], x.txnOf[a.To]
			if a.Dep == evidence.RW {
				add(2*i, 2*j+commit, a)
			} else {
				add(2*i+commit, 2*j, a)
			}
		}
		if c := shortest(n, out, to, arcs); c != nil {
			return c
		}
	}
	return nil
}

// cost ranks cycles for people: first those that assume little, then those with few anti-dependencies, then the short
// ones.
func (a *arc) cost() int {
	switch {
	case a.From == history.None:
		return 0
	case a.Dep == evidence.RW:
		return 101 + 10000*len(a.needs)
	}
	return 1 + 10000*len(a.needs)
}

// shortest finds a cheapest cycle and returns its edges that are not a transaction's own begin to commit.
func shortest(n int, out [][]int, to []int, arcs []arc) []arc {
	var best []arc
	bestCost := 0
	for s := range n {
		by := make([]int, n) // the edge that reached the node
		from := make([]int, n)
		cost := make([]int, n)
		done := make([]bool, n)
		for i := range by {
			by[i] = -1
		}
		reach := func(u int) {
			for _, e := range out[u] {
				if v, c := to[e], cost[u]+arcs[e].cost(); !done[v] && (by[v] == -1 || c < cost[v]) {
					by[v], from[v], cost[v] = e, u, c
				}
			}
		}
		for reach(s); ; {
			u := -1
			for v := range n {
				if !done[v] && by[v] != -1 && (u == -1 || cost[v] < cost[u]) {
					u = v
				}
			}
			if u == -1 || u == s {
				break
			}
			done[u] = true
			reach(u)
		}
		if by[s] == -1 || best != nil && cost[s] >= bestCost {
			continue
		}
		var c []arc
		for u := s; ; {
			if a := arcs[by[u]]; a.From != history.None {
				c = append(c, a)
			}
			if u = from[u]; u == s {
				break
			}
		}
		slices.Reverse(c)
		best, bestCost = c, cost[s]
	}
	return best
}
