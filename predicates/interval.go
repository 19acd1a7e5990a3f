package predicates

import (
	"math"

	"isovet/history"
)

// Interval is a range lo ≤ Column ≤ hi of integers.
type Interval struct {
	Column string
	Lo, Hi int64
	// Exact: of a row that holds an integer in Column the predicate is true if and only if it lies in the range, else
	// false.
	Exact bool
}

// Interval returns a range outside which the predicate is true of no row; false if its comparisons give none.
// Cost: the predicate's size.
func (p *Predicate) Interval() (Interval, bool) {
	var all []*node
	conjuncts(&p.root, &all)
	in := Interval{Lo: math.MinInt64, Hi: math.MaxInt64, Exact: true}
	found := false
	for _, n := range all {
		lo, hi, ok := n.bounds()
		if !ok || found && n.column != in.Column {
			in.Exact = false
			continue
		}
		in.Column, found = n.column, true
		in.Lo, in.Hi = max(in.Lo, lo), min(in.Hi, hi)
	}
	return in, found
}

// conjuncts lists the parts all of which must hold.
func conjuncts(n *node, to *[]*node) {
	if n.op != "and" {
		*to = append(*to, n)
		return
	}
	for i := range n.parts {
		conjuncts(&n.parts[i], to)
	}
}

// bounds is the range of integers of which a comparison with one integer is true.
func (n *node) bounds() (lo, hi int64, ok bool) {
	if len(n.values) != 1 || n.values[0].Kind != history.Int {
		return 0, 0, false
	}
	lo, hi = math.MinInt64, math.MaxInt64
	v := n.values[0].N
	switch n.op {
	case "=", "in":
		return v, v, true
	case "<=":
		return lo, v, true
	case ">=":
		return v, hi, true
	case "<":
		if v == lo {
			return 1, 0, true
		}
		return lo, v - 1, true
	case ">":
		if v == hi {
			return 1, 0, true
		}
		return v + 1, hi, true
	}
	return 0, 0, false
}
