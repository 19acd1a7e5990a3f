package polygraph

import "isovet/internal/graph"

// Order returns a topological order of the known graph and the extra edges, real time included, as transactions, with
// split nodes as events (evidence.Result.Order); false if there is a cycle. It leaves out transactions that may not
// have committed (MayCount), unless an edge shows that others read from them. Cost: linear, two sorts with times.
func (p *Polygraph) Order(extra []Edge) ([]uint32, bool) {
	g := p.FullGraph(extra)
	// The smallest free node comes first: that keeps the order close to time.
	topo, ok := graph.Topological(g)
	if !ok {
		return nil, false
	}
	seen := p.seen(extra)
	out := make([]uint32, 0, p.N)
	for _, v := range topo {
		switch {
		case int(v) >= p.N || seen != nil && p.MayCount(v) && !seen[p.Txn[v]]:
		case p.Split:
			out = append(out, p.Txn[v]<<1|uint32(v)&1)
		default:
			out = append(out, p.Txn[v])
		}
	}
	return out, true
}

// FullGraph returns the known graph with extra edges. With times it has the auxiliary nodes of the time chain too,
// numbered from N (graph.TimeChain).
func (p *Polygraph) FullGraph(extra []Edge) *graph.CSR {
	n, chain := p.N, []graph.Edge(nil)
	if p.Start != nil {
		aux, edges := graph.TimeChain(p.Start, p.End)
		n, chain = n+aux, edges
	}
	b := graph.NewBuilder(n)
	each := func(do func(u, v int32)) {
		for _, e := range p.Known {
			if !p.Before(e.From, e.To) {
				do(e.From, e.To)
			}
		}
		for _, e := range extra {
			do(e.From, e.To)
		}
		for _, e := range chain {
			do(e.From, e.To)
		}
	}
	each(func(u, _ int32) { b.Count(u) })
	b.Fill()
	each(func(u, v int32) { b.Add(u, v) })
	return b.CSR()
}

// Components returns the strongly connected components of the known graph with extra edges, time included. comp maps
// nodes to components.
func (p *Polygraph) Components(extra []Edge) (comp []int32, n int) {
	comp, n = graph.Components(p.FullGraph(extra))
	return comp, n
}
