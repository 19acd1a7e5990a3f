package predicates

import (
	"cmp"
	"math"

	"isovet/history"
)

// Range is what some comparisons of one column with constants of one kind leave: the values of that kind from Lo to Hi,
// with both, but for strings that Open says to leave out. Nothing is left where Lo is above Hi.
type Range struct {
	Column string
	Kind   history.ValueKind // Bool, Int or String
	Lo, Hi Scalar
	// Endless: strings have no greatest, so there Hi is none. LoOpen, HiOpen: of strings, the end itself is out.
	Endless, LoOpen, HiOpen bool
}

// Below reports whether a value of the range's kind lies below it, and Above whether it lies above it.
func (r *Range) Below(v Scalar) bool {
	c := scalarOrder(v, r.Lo)
	return c < 0 || c == 0 && r.LoOpen
}

// Above is described at Below.
func (r *Range) Above(v Scalar) bool {
	c := scalarOrder(v, r.Hi)
	return !r.Endless && (c > 0 || c == 0 && r.HiOpen)
}

// scalarOrder compares two values of one kind.
func scalarOrder(a, b Scalar) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.S, b.S)) }

// Ranges appends ranges to out, of a column each, outside of any of which the predicate is true of no row. exact: there
// is one, and of a row that holds any value but null in its column the predicate is true if and only if that lies in
// the range, else false. Cost: the predicate's size, and its columns squared.
func (p *Predicate) Ranges(out []Range) (ranges []Range, exact bool) {
	first, exact := len(out), true
	conjuncts(&p.root, func(n *node) {
		r, whole := n.bounds()
		exact = exact && whole
		if r.Kind == history.Null {
			return
		}
		for i := range out[first:] {
			if q := &out[first+i]; q.Column == r.Column {
				q.meet(&r)
				return
			}
		}
		out = append(out, r)
	})
	return out, exact && len(out) == first+1
}

// conjuncts calls f for the parts all of which must hold.
func conjuncts(n *node, f func(n *node)) {
	if n.op != "and" {
		f(n)
		return
	}
	for i := range n.parts {
		conjuncts(&n.parts[i], f)
	}
}

// meet leaves of a range what is in another of its column too.
func (r *Range) meet(q *Range) {
	if r.Kind != q.Kind { // a value is of one kind
		*r = Range{Column: r.Column, Kind: history.Int, Lo: Scalar{history.Int, 1, ""}, Hi: Scalar{history.Int, 0, ""}}
		return
	}
	switch c := scalarOrder(q.Lo, r.Lo); {
	case c > 0:
		r.Lo, r.LoOpen = q.Lo, q.LoOpen
	case c == 0:
		r.LoOpen = r.LoOpen || q.LoOpen
	}
	if q.Endless {
		return
	}
	switch c := scalarOrder(q.Hi, r.Hi); {
	case r.Endless || c < 0:
		r.Hi, r.HiOpen, r.Endless = q.Hi, q.HiOpen, false
	case c == 0:
		r.HiOpen = r.HiOpen || q.HiOpen
	}
}

// bounds is the range of values of which a comparison can be true, of kind Null if it is none; whole: it is true of
// each of them, and false of all others but null.
func (n *node) bounds() (r Range, whole bool) {
	if n.op == "and" || n.op == "or" || n.op == "not" || len(n.values) == 0 {
		return r, false
	}
	v := n.values[0]
	r = Range{Column: n.column, Kind: v.Kind, Lo: v, Hi: v}
	switch {
	case n.op == "=" && v.Kind != history.Null:
		return r, true
	case n.op == "in":
		for _, w := range n.values {
			if w.Kind != v.Kind || v.Kind == history.Null {
				return Range{}, false
			}
			if scalarOrder(w, r.Lo) < 0 {
				r.Lo = w
			}
			if scalarOrder(w, r.Hi) > 0 {
				r.Hi = w
			}
		}
		return r, len(n.values) == 1
	case n.op == "!=", v.Kind != history.Int && v.Kind != history.String: // booleans have no order
		return Range{}, false
	}
	down := n.op == "<" || n.op == "<="
	switch {
	case down && v.Kind == history.Int:
		r.Lo.N = math.MinInt64
	case down:
		r.Lo.S = ""
	case v.Kind == history.Int:
		r.Hi.N = math.MaxInt64
	default:
		r.Endless = true
	}
	switch {
	case n.op == "<" && v.Kind == history.Int && v.N == math.MinInt64, n.op == ">" && v.Kind == history.Int &&
		v.N == math.MaxInt64:
		r.Lo.N, r.Hi.N = 1, 0
	case n.op == "<" && v.Kind == history.Int:
		r.Hi.N--
	case n.op == ">" && v.Kind == history.Int:
		r.Lo.N++
	case n.op == "<":
		r.HiOpen = true
	case n.op == ">":
		r.LoOpen = true
	}
	return r, true
}
