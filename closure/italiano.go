package closure

import "isovet/internal/graph"

// Italiano builds the full closure by adding the known edges one by one to real-time order, which is its own closure.
// The known edges are settled: they have no tag and cannot be undone.
//
// Source: Italiano (1986), as used for comparison in Vbox §5.4; see [Matrix.AddEdge].
// Cost:   O(n²/64) for real-time order, then [Matrix.AddEdge] for each known edge; n²/8 bytes.
func Italiano(in Input, opt Options) (*Matrix, []Step, error) {
	p, topo, cycle, err := ordered(in)
	if err != nil || cycle != nil {
		return nil, cycle, err
	}
	m, err := newMatrix(p, opt)
	if err != nil {
		return nil, nil, err
	}
	m.fillTime(p)
	for _, u := range topo {
		for _, v := range p.known.Succ(u) {
			if !m.Reaches(u, v) {
				m.insert(u, v)
				m.trail = m.trail[:0]
			}
		}
	}
	m.trail = nil
	return m, nil, nil
}

// fillTime sets the rows to real-time order: from the last end to the first, each with all that starts after it.
func (m *Matrix) fillTime(p *problem) {
	starts, ends := graph.SortIndex(p.start), graph.SortIndex(p.due)
	behind := make([]uint64, m.width)
	s := len(starts) - 1
	for e := len(ends) - 1; e >= 0; e-- {
		u := ends[e]
		for ; s >= 0 && p.before(u, starts[s]); s-- {
			v := starts[s]
			behind[v>>6] |= 1 << (uint(v) & 63)
		}
		to := m.row(u)
		for i, w := range behind {
			to[i] |= w
		}
	}
}
