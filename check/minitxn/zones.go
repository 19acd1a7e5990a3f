package minitxn

import (
	"cmp"
	"isovet/internal/sorts"
	"slices"
)

// cluster is a chain of versions, each overwritten by a transaction that read it, with all their readers. Every order
// of the register keeps them together.
type cluster struct {
	ops        []int32 // in their order
	first      int     // its operation that ends first
	last       int     // its operation that begins last
	minF, maxS int64   // their end and begin
}

// Zones decides a register whose versions have one writer each. It returns an order of its operations. If there is
// none, it returns the operations of two clusters that would each have to come before the other (or of one cluster that
// contradicts itself, or of the initial one and another). All operations must take effect; the caller leaves out those
// of unknown outcome that need not.
//
// Source:  Gibbons and Korach, "Testing shared memories", SIAM J. Comput. 26(4), 1997, §4: zones. Differs:
// compare-and-sets join clusters. A cluster must come before another if one of its operations ended before one of the
// other's began, minF < maxS. If no two must come before each other, the order by (min(minF, maxS), maxS) is right:
// from A before B, minF(A) < maxS(B) and maxS(A) ≤ minF(B), follows that A's pair is the smaller. So one order is
// tried, with a running maximum of starts. Cost: O(n log n).
func Zones(reg *Register) (order []uint32, ok bool, conflict []uint32) {
	n := len(reg.Ops)
	writer := make(map[uint32]int32, n)
	for i := range reg.Ops {
		if op := &reg.Ops[i]; op.Sets != none && op.Sets != op.Need {
			writer[op.Sets] = int32(i)
		}
	}
	// next: writer → the transaction that overwrote its version, and its readers; n is the initial version
	next := make([]int32, n+1)
	first, more := make([]int32, n+1), make([]int32, n)
	for i := range next {
		next[i], first[i] = -1, -1
	}
	var roots []int32
	for i := n - 1; i >= 0; i-- { // so that lists are in the order of starts
		op := &reg.Ops[i]
		if op.Need == none {
			roots = append(roots, int32(i))
			continue
		}
		w, ok := writer[op.Need]
		switch {
		case op.Need == reg.Initial:
			w = int32(n)
		case !ok: // only compare-and-sets that read it wrote it
			return nil, false, nil
		}
		switch {
		case op.Sets == none || op.Sets == op.Need: // a compare-and-set that changes nothing is a read
			more[i], first[w] = first[w], int32(i)
		case next[w] >= 0:
			return nil, false, []uint32{op.Txn, reg.Ops[next[w]].Txn} // both overwrote what both read
		default:
			next[w] = int32(i)
		}
	}
	clusters := make([]*cluster, 0, len(roots)+1)
	placed := 0
	var clash *cluster
	collect := func(at int32) {
		c := &cluster{first: -1, minF: 1<<63 - 1, maxS: -1 << 63}
		since := int64(-1 << 63) // the latest start so far
		add := func(i int32) {
			op := &reg.Ops[i]
			c.ops = append(c.ops, i)
			if clash == nil && since > op.Until {
				clash = c
			}
			if op.Until < c.minF || c.first < 0 {
				c.minF, c.first = op.Until, int(i)
			}
			if op.From > c.maxS {
				c.maxS, c.last = op.From, int(i)
			}
			placed++
		}
		for ; at >= 0; at = next[at] {
			if int(at) < n {
				add(at)
				since = max(since, reg.Ops[at].From)
			}
			for r := first[at]; r >= 0; r = more[r] {
				add(r)
			}
			since = max(since, c.maxS)
		}
		if len(c.ops) > 0 {
			clusters = append(clusters, c)
		}
	}
	collect(int32(n))
	initial := len(clusters)
	for _, r := range roots {
		collect(r)
	}
	if clash != nil {
		return nil, false, conflicting(reg, clash)
	}
	if placed < n {
		return nil, false, nil // compare-and-sets that read from each other in a circle
	}
	sorts.Stable(clusters[initial:], func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(min(a.minF, a.maxS), min(b.minF, b.maxS)), cmp.Compare(a.maxS, b.maxS))
	})
	var late *cluster // of the clusters before, the one with the latest start
	for _, c := range clusters {
		if late != nil && late.maxS > c.minF {
			return nil, false, conflicting(reg, c, late)
		}
		if late == nil || c.maxS > late.maxS {
			late = c
		}
		for _, i := range c.ops {
			order = append(order, reg.Ops[i].Txn)
		}
	}
	return order, true, nil
}

// maxConflict bounds the operations of a conflict that Zones returns.
var maxConflict = 40

// conflicting returns the operations at the bounds of clusters, then others of these clusters.
func conflicting(reg *Register, cs ...*cluster) []uint32 {
	var out []uint32
	add := func(i int) {
		if t := reg.Ops[i].Txn; len(out) < maxConflict && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, c := range cs {
		add(c.first)
		add(c.last)
		add(int(c.ops[0]))
	}
	for _, c := range cs {
		for _, i := range c.ops {
			add(int(i))
		}
	}
	return out
}
