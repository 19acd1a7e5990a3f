package predicates

import (
	"slices"

	"isovet/history"
	"isovet/internal/sorts"
)

// span is a range of ranks or of places, from lo up to hi.
type span struct{ lo, hi uint32 }

// spans are sorted, disjoint, non-empty spans.
type spans []span

func (a spans) has(r uint32) bool {
	for _, s := range a {
		if r < s.hi {
			return r >= s.lo
		}
	}
	return false
}

// except returns the ranks below n that are not in a.
func (a spans) except(n uint32) spans {
	var out spans
	at := uint32(0)
	for _, s := range a {
		if s.lo > at {
			out = append(out, span{at, s.lo})
		}
		at = s.hi
	}
	if at < n {
		out = append(out, span{at, n})
	}
	return out
}

func (a spans) union(b spans) spans {
	all := slices.Concat(a, b)
	sorts.Func(all, func(x, y span) int { return int(int64(x.lo) - int64(y.lo)) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else if s.lo < s.hi {
			out = append(out, s)
		}
	}
	return out
}

func (a spans) intersect(b spans) spans {
	var out spans
	for _, s := range a {
		for _, t := range b {
			if lo, hi := max(s.lo, t.lo), min(s.hi, t.hi); lo < hi {
				out = append(out, span{lo, hi})
			}
		}
	}
	return out
}

// cond is a predicate during compilation: the ranks of one column for which it is true, and those for which it is false
// (it is unknown for the rest); or, with parts, "and" or "or" of these. There is no negation: it is pushed down to the
// columns, where it swaps true and false.
type cond struct {
	col     int
	yes, no spans
	parts   []cond
	any     bool // "or"
}

// compiler turns parsed predicates into conds. Column 0 is "there is a row", with rank 1 for every row: what is true or
// false of every row becomes a condition on it.
type compiler struct {
	cols  []column
	index map[string]int
}

// compile returns the cond of a node, or of its negation. A part on one column becomes ranges of ranks, so that no
// "not" is left, and only "and" and "or" of different columns. Cost: the predicate's size, squared if many parts are on
// one column.
func (m *compiler) compile(n *node, negate bool) cond {
	var c cond
	switch n.op {
	case "not":
		return m.compile(&n.parts[0], !negate)
	case "and", "or":
		c = cond{any: (n.op == "or") != negate}
		for i := range n.parts {
			c.add(m.compile(&n.parts[i], negate))
		}
		return c.simple()
	}
	c.col = m.index[n.column]
	c.yes, c.no = m.cols[c.col].ranges(n)
	if negate {
		c.yes, c.no = c.no, c.yes
	}
	return c
}

// add adds a part, merging it into the part of the same column if there is one.
func (c *cond) add(p cond) {
	if p.parts != nil && p.any == c.any {
		for _, q := range p.parts {
			c.add(q)
		}
		return
	}
	if p.parts == nil {
		for i := range c.parts {
			q := &c.parts[i]
			if q.parts != nil || q.col != p.col {
				continue
			}
			if c.any {
				q.yes, q.no = q.yes.union(p.yes), q.no.intersect(p.no)
			} else {
				q.yes, q.no = q.yes.intersect(p.yes), q.no.union(p.no)
			}
			return
		}
	}
	c.parts = append(c.parts, p)
}

// constant returns the cond that is true, or false, of every row.
func constant(is bool) cond {
	all := spans{{1, 2}}
	if is {
		return cond{yes: all}
	}
	return cond{no: all}
}

// simple simplifies constants away, and a cond with one part to that part.
func (c *cond) simple() cond {
	for i := 0; i < len(c.parts); {
		p := &c.parts[i]
		if p.parts != nil || p.col != 0 {
			i++
			continue
		}
		if is := len(p.yes) > 0; is == c.any {
			return constant(is)
		}
		c.parts = slices.Delete(c.parts, i, i+1)
	}
	switch len(c.parts) {
	case 0:
		return constant(!c.any)
	case 1:
		return c.parts[0]
	}
	return *c
}

// ranges returns the ranks for which a comparison is true, and those for which it is false.
func (c *column) ranges(n *node) (yes, no spans) {
	null := false
	for _, s := range n.values {
		if s.Kind == history.Null {
			null = true
			continue
		}
		kindLo, lo, hi, kindHi := c.find(s)
		var one spans
		switch op := n.op; {
		case op == "=" || op == "in":
			one = spans{{lo, hi}}
		case op == "!=":
			one = spans{{kindLo, lo}, {hi, kindHi}}
		case s.Kind == history.Bool: // no order
		case op == "<":
			one = spans{{kindLo, lo}}
		case op == "<=":
			one = spans{{kindLo, hi}}
		case op == ">":
			one = spans{{hi, kindHi}}
		default:
			one = spans{{lo, kindHi}}
		}
		yes = yes.union(one)
	}
	if !null { // else what is not true is unknown
		no = spans{{0, 1}}.union(yes).except(c.ranks())
	}
	return yes, no
}

// part is a piece of a compiled predicate in the flat form of the index: a leaf, or "and" or "or" of the parts that
// follow it up to end, where each next part begins at the end of the one before.
type part struct {
	kind partKind
	col  uint32
	end  uint32
	// A leaf is true of the ranks of spans[yes:maybe], unknown of those of spans[maybe:no], and false of all others.
	yes, maybe, no uint32
}

type partKind uint8

const (
	leaf partKind = iota
	allOf
	anyOf
)

// put appends a cond to the index's parts.
func (x *Index) put(c *cond) {
	at := len(x.parts)
	x.parts = append(x.parts, part{})
	p := part{col: uint32(c.col)}
	if c.parts == nil {
		p.yes = uint32(len(x.spans))
		x.spans = append(x.spans, c.yes...)
		p.maybe = uint32(len(x.spans))
		x.spans = append(x.spans, c.yes.union(c.no).except(x.cols[c.col].ranks())...)
		p.no = uint32(len(x.spans))
	} else {
		p.kind = allOf
		if c.any {
			p.kind = anyOf
		}
		for i := range c.parts {
			x.put(&c.parts[i])
		}
	}
	p.end = uint32(len(x.parts))
	x.parts[at] = p
}

// cover appends leaves such that one of them is true wherever part i is, and returns how many versions they are true
// of. For "and" it takes the most selective part, for "or" all parts.
func (x *Index) cover(i uint32, to []uint32) (leaves []uint32, cost int) {
	p := &x.parts[i]
	switch p.kind {
	case leaf:
		start := x.cols[p.col].start
		for _, s := range x.ranges(p) {
			cost += int(start[s.hi] - start[s.lo])
		}
		return append(to, i), cost
	case anyOf:
		for q := i + 1; q < p.end; q = x.parts[q].end {
			var n int
			to, n = x.cover(q, to)
			cost += n
		}
		return to, cost
	}
	var best []uint32
	for q := i + 1; q < p.end; q = x.parts[q].end {
		if l, n := x.cover(q, nil); best == nil || n < cost {
			best, cost = l, n
		}
	}
	return append(to, best...), cost
}
