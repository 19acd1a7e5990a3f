package predicates

import (
	"bytes"
	"runtime"

	"isovet/history"
	"isovet/internal/safego"
)

// interval is a predicate of the commonest form, comparisons of one column with one or two integers:
// {"c":{">=":1,"<":9}}. It is parsed and compiled without making a tree.
type interval struct {
	col int // of the index
	n   int
	cmp [2]bound
}

// bound is a comparison with an integer.
type bound struct {
	op byte // '<' and '>', 'l' and 'g' with equality, '='
	n  int64
}

// scanInterval parses a predicate of that form without spaces and escapes, and returns its column's name; ok is false
// for any other text.
func scanInterval(s []byte) (name []byte, x interval, ok bool) {
	if len(s) == 0 || s[0] != '{' {
		return nil, x, false
	}
	name, s, ok = quoted(s[1:])
	if !ok || len(s) < 2 || s[0] != ':' || s[1] != '{' || string(name) == "and" || string(name) == "or" ||
		string(name) == "not" {
		return nil, x, false
	}
	for s = s[1:]; ; {
		var op []byte
		if op, s, ok = quoted(s[1:]); !ok || x.n == len(x.cmp) || len(s) == 0 || s[0] != ':' {
			return nil, x, false
		}
		b := &x.cmp[x.n]
		switch string(op) {
		case "<", ">", "=":
			b.op = op[0]
		case "<=":
			b.op = 'l'
		case ">=":
			b.op = 'g'
		default:
			return nil, x, false
		}
		if x.n == 1 && b.op == x.cmp[0].op {
			return nil, x, false // the same member twice: the last counts, or it is an error
		}
		s = s[1:]
		end := bytes.IndexByte(s, '}')
		if comma := bytes.IndexByte(s, ','); comma >= 0 && comma < end {
			end = comma
		}
		if end < 0 {
			return nil, x, false
		}
		if b.n, ok = integer(s[:end]); !ok || s[0] == '0' && end > 1 || s[0] == '-' {
			return nil, x, false
		}
		x.n++
		if s = s[end:]; s[0] == '}' {
			return name, x, string(s) == "}}"
		}
	}
}

// ranksOf looks up the ranks of intervals, on all cores; parsed[i] is nil if predicate i is an interval.
func (x *Index) ranksOf(simple []interval, parsed []*Predicate) []span {
	ranks := make([]span, len(simple))
	workers := max(min(runtime.GOMAXPROCS(0), len(simple)/minItems), 1)
	var g safego.Group
	for w := range workers {
		g.Go(func() {
			for i := len(simple) * w / workers; i < len(simple)*(w+1)/workers; i++ {
				if parsed[i] == nil {
					ranks[i] = x.cols[simple[i].col].interval(&simple[i])
				}
			}
		})
	}
	g.Wait()
	return ranks
}

// interval returns the ranks for which an interval is true.
func (c *column) interval(p *interval) span {
	lo, hi := c.kinds[history.Int], c.kinds[history.String]
	for _, b := range p.cmp[:p.n] {
		_, from, to, _ := c.find(Scalar{Kind: history.Int, N: b.n})
		switch b.op {
		case '<':
			hi = min(hi, from)
		case 'l':
			hi = min(hi, to)
		case '>':
			lo = max(lo, to)
		case 'g':
			lo = max(lo, from)
		case '=':
			lo, hi = max(lo, from), min(hi, to)
		}
	}
	return span{lo, hi}
}

// putInterval appends an interval to the index's parts: true of one range of ranks, unknown of rank 0, where the column
// is missing. It returns the interval's short form.
func (x *Index) putInterval(col int, is span) quick {
	c, lo, hi := &x.cols[col], is.lo, is.hi
	l := part{kind: leaf, col: uint32(col), end: uint32(len(x.parts)) + 1, yes: uint32(len(x.spans))}
	if lo < hi {
		x.spans = append(x.spans, span{lo, hi})
	}
	l.maybe = uint32(len(x.spans))
	x.spans = append(x.spans, span{0, 1})
	l.no = uint32(len(x.spans))
	x.parts = append(x.parts, l)
	if lo >= hi {
		return quick{col: l.col}
	}
	from, to := c.start[lo], c.start[hi]
	return quick{l.col, from, to - from}
}
