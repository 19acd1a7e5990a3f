package closure

// Warshall builds the full closure from all edges, with the time edges listed one by one: the plainest of all, for
// comparison on small graphs.
//
// Source: Warshall's algorithm, as [11] of Vbox §4.4, with the inner loop on words.
// Cost:   O(n³/64), n²/8 bytes.
func Warshall(in Input, opt Options) (*Matrix, []Step, error) {
	p, _, cycle, err := ordered(in)
	if err != nil || cycle != nil {
		return nil, cycle, err
	}
	m, err := newMatrix(p, opt)
	if err != nil {
		return nil, nil, err
	}
	n := int32(p.n)
	for u := range n {
		for _, v := range p.known.Succ(u) {
			m.set(u, v)
		}
		for v := range n {
			if p.before(u, v) {
				m.set(u, v)
			}
		}
	}
	for k := range n {
		if k&63 == 0 && opt.Stop != nil && opt.Stop() {
			return nil, nil, ErrStopped
		}
		for u := range n {
			if u != k && m.Reaches(u, k) {
				m.merge(u, k)
			}
		}
	}
	return m, nil, nil
}
