package closure

import "isovet/internal/graph"

// Purdom builds the full closure by merging, in reverse topological order, the row of each successor into the row of
// each node.
//
// Source:  Purdom, A transitive closure algorithm, BIT 10 (1970), as described in Vbox §4.4.
// Differs: the Θ(n²) time edges are replaced by a chain of auxiliary nodes (graph.TimeChain). The chain is passed from
// its end to its start, so that one growing row serves all its nodes.
// Cost:    O((n+m)·n/64), n²/8 bytes.
func Purdom(in Input, opt Options) (*Matrix, []Step, error) {
	p, _, cycle, err := ordered(in)
	if err != nil || cycle != nil {
		return nil, cycle, err
	}
	m, err := newMatrix(p, opt)
	if err != nil {
		return nil, nil, err
	}
	aux, chain := graph.TimeChain(p.start, p.due)
	g := graph.BuildFunc(p.n+aux, func(emit func(u, v int32)) {
		for u := range int32(p.n) {
			for _, v := range p.known.Succ(u) {
				emit(u, v)
			}
		}
		for _, e := range chain {
			emit(e.From, e.To)
		}
	})
	topo, ok := graph.Topological(g)
	if !ok {
		panic("closure: the time chain has a cycle where the time lemma has none")
	}
	n := int32(p.n)
	back := g.Reverse()
	below := make([]uint64, m.width) // what the chain's last passed node reaches
	for i := len(topo) - 1; i >= 0; i-- {
		u := topo[i]
		if i&4095 == 0 && opt.Stop != nil && opt.Stop() {
			return nil, nil, ErrStopped
		}
		if u < n {
			for _, v := range p.known.Succ(u) {
				m.merge(u, v)
			}
			continue
		}
		for _, v := range g.Succ(u) {
			if v < n {
				for i, w := range m.row(v) {
					below[i] |= w
				}
			}
		}
		// Nodes that end here come later in this loop; they take the chain's row now, before it grows.
		for _, v := range back.Succ(u) {
			if v < n {
				to := m.row(v)
				for i, w := range below {
					to[i] |= w
				}
			}
		}
	}
	return m, nil, nil
}
