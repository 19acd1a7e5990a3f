package closure

// Matrix is a full transitive closure, with a bit for each pair of nodes.
type Matrix struct {
	n     int
	width int      // words a row
	bits  []uint64 // Invariant: u reaches v iff bit v of row u is set

	list  edgeList
	trail []change
	paths pathFinder
}

var _ Dynamic = (*Matrix)(nil)

// newMatrix returns the matrix in which every node reaches only itself.
func newMatrix(p *problem, opt Options) (*Matrix, error) {
	m := &Matrix{n: p.n, width: (p.n + 63) / 64}
	if err := checkSize(8*int64(p.n)*int64(m.width), opt); err != nil {
		return nil, err
	}
	m.bits = make([]uint64, p.n*m.width)
	m.paths = pathFinder{p: p, list: &m.list}
	for v := range int32(p.n) {
		m.set(v, v)
	}
	return m, nil
}

func (m *Matrix) row(u int32) []uint64 { return m.bits[int(u)*m.width : (int(u)+1)*m.width] }

func (m *Matrix) set(u, v int32) { m.bits[int(u)*m.width+int(v>>6)] |= 1 << (uint(v) & 63) }

// merge makes u reach what v reaches, without a trail.
func (m *Matrix) merge(u, v int32) {
	to := m.row(u)
	for i, w := range m.row(v) {
		to[i] |= w
	}
}

// Reaches implements [Index]. Cost: one load.
func (m *Matrix) Reaches(u, v int32) bool {
	return m.bits[int(u)*m.width+int(v>>6)]>>(uint(v)&63)&1 != 0
}

// AddEdge implements [Dynamic].
//
// Source: Italiano, Amortized efficiency of a path retrieval data structure (1986), with rows merged a word at a time;
// the affected u are those that reach the source and not the target (Vbox Eq. 6).
// Cost:   O(n) to find them, O(n/64) for each.
func (m *Matrix) AddEdge(u, v, tag int32) (changed, cycle bool) {
	if m.Reaches(v, u) {
		return false, true
	}
	m.list.push(m.n, u, v, tag, len(m.trail))
	if m.Reaches(u, v) {
		return false, false
	}
	m.insert(u, v)
	return true, false
}

func (m *Matrix) insert(u, v int32) {
	src := m.row(v)
	for x := range int32(m.n) {
		if !m.Reaches(x, u) || m.Reaches(x, v) {
			continue
		}
		base := int(x) * m.width
		for i, w := range src {
			if old := m.bits[base+i]; old|w != old {
				m.trail = append(m.trail, change{base + i, old})
				m.bits[base+i] = old | w
			}
		}
	}
}

// Mark implements [Dynamic].
func (m *Matrix) Mark() int { return len(m.list.edges) }

// Undo implements [Dynamic]. Cost: O(words changed since the mark).
func (m *Matrix) Undo(mark int) {
	to := m.list.pop(mark)
	if to < 0 {
		return
	}
	for i := len(m.trail) - 1; i >= to; i-- {
		m.bits[m.trail[i].at] = m.trail[i].old
	}
	m.trail = m.trail[:to]
}

// Settle implements [Dynamic].
func (m *Matrix) Settle() { m.list.floor, m.trail = len(m.list.edges), nil }

// Path implements [Dynamic].
func (m *Matrix) Path(u, v int32, cost func(tag int32) int8) ([]Step, bool) {
	return m.paths.find(m, u, v, cost)
}
