package closure

import "fmt"

// invariantNodes bounds the graphs that the tag "invariants" checks after every change.
const invariantNodes = 64

func mustBeSound(d Dynamic, n int) {
	if n > invariantNodes {
		return
	}
	if err := d.CheckIntegrity(); err != nil {
		panic(err)
	}
}

// CheckIntegrity implements [Dynamic]. Cost: O(n³).
func (m *Matrix) CheckIntegrity() error { return checkClosed(m, &m.paths) }

// CheckIntegrity implements [Dynamic]. Cost: O(n³).
func (c *Compact) CheckIntegrity() error {
	for u := range c.rows {
		if r := c.rows[u]; r.hi > r.lo && (r.lo < c.stragglers || int(r.hi) > len(c.rows)) {
			return fmt.Errorf("closure: row %d spans [%d, %d) with %d stragglers among %d", u, r.lo, r.hi, c.stragglers,
				len(c.rows))
		}
	}
	return checkClosed(c, &c.paths)
}

// checkClosed verifies that the relation is reflexive, has no cycle, holds every edge, and is closed
// under putting an edge in front.
func checkClosed(d Index, f *pathFinder) error {
	n := int32(f.p.n)
	for u := range n {
		if !d.Reaches(u, u) {
			return fmt.Errorf("closure: %d does not reach itself", u)
		}
		closed := func(v int32, kind StepKind) error {
			for x := range n {
				if d.Reaches(v, x) && !d.Reaches(u, x) {
					return fmt.Errorf("closure: %s edge %d → %d and %d reaches %d, but %d does not", kind, u, v, v, x,
						u)
				}
			}
			return nil
		}
		for _, v := range f.p.known.Succ(u) {
			if err := closed(v, Known); err != nil {
				return err
			}
		}
		if f.list.outHead != nil {
			for i := f.list.outHead[u]; i != none; i = f.list.edges[i].nextOut {
				if err := closed(f.list.edges[i].to, Added); err != nil {
					return err
				}
			}
		}
		for v := range n {
			if f.p.before(u, v) {
				if err := closed(v, Time); err != nil {
					return err
				}
			}
			if u != v && d.Reaches(u, v) && d.Reaches(v, u) {
				return fmt.Errorf("closure: %d and %d reach each other", u, v)
			}
		}
	}
	return nil
}
