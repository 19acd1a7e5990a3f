package order

import "fmt"

// CheckIntegrity verifies the invariant of the order and of its linked lists.
//
// Cost: O(n+m).
func (o *Order) CheckIntegrity() error {
	n := int32(len(o.pos))
	at := make([]bool, n)
	for v, p := range o.pos {
		if p < 0 || p >= n || at[p] {
			return fmt.Errorf("order: node %d stands at position %d, which is outside or taken", v, p)
		}
		at[p] = true
	}
	if o.base != nil {
		for u := range int32(o.base.N()) {
			for _, v := range o.base.Succ(u) {
				if o.pos[u] >= o.pos[v] {
					return fmt.Errorf("order: base edge %d → %d goes from position %d to %d", u, v, o.pos[u], o.pos[v])
				}
			}
		}
	}
	out, in := 0, 0
	for v := range n {
		last := int32(len(o.edges))
		for i := o.out(int32(v)); i != none; i = o.edges[i].nextOut {
			e := o.edges[i]
			if i >= last || e.from != v || o.pos[v] >= o.pos[e.to] {
				return fmt.Errorf("order: edge %d, %d → %d, in the list of edges leaving %d", i, e.from, e.to, v)
			}
			last = i
			out++
		}
		last = int32(len(o.edges))
		for i := o.in(int32(v)); i != none; i = o.edges[i].nextIn {
			e := o.edges[i]
			if i >= last || e.to != v {
				return fmt.Errorf("order: edge %d, %d → %d, in the list of edges entering %d", i, e.from, e.to, v)
			}
			last = i
			in++
		}
	}
	if out != len(o.edges) || in != len(o.edges) {
		return fmt.Errorf("order: %d edges, %d in lists by source, %d by target", len(o.edges), out, in)
	}
	return nil
}
