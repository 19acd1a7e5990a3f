package certify

import (
	"bytes"
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// maxGrids bounds the columns that have a grid; predicates of others look at every row.
var maxGrids = 16

// ranges spares the replay of an order from looking at every row for every predicate operation, and from evaluating its
// predicate: for predicate q the range in[q] of the column of grids[of[q]], if of[q] ≥ 0. Its plain twin is nil, which
// knows nothing.
type ranges struct {
	grids []*grid
	cells *cells
	of    []int32
	in    []predicates.Interval
}

func newRanges(h *history.History, truths *predicates.Truths) *ranges {
	n := len(h.Preds.Pred)
	s := &ranges{of: make([]int32, n), in: make([]predicates.Interval, n)}
	var columns []string
	for q := range s.of {
		s.of[q] = -1
		if in, ok := truths.Predicate(uint32(q)).Interval(); ok {
			at := slices.Index(columns, in.Column)
			if at < 0 && len(columns) < maxGrids {
				at = len(columns)
				columns = append(columns, in.Column)
			}
			s.of[q], s.in[q] = int32(at), in
		}
	}
	if len(columns) == 0 {
		return nil
	}
	s.grids, s.cells = newGrids(h, columns), newCells(h, columns)
	for k, v := range h.InitVer {
		s.set(uint32(k), v)
	}
	return s
}

// set says that a version is current.
func (s *ranges) set(k, v uint32) {
	if s == nil {
		return
	}
	s.cells.decode(k, v)
	for i, g := range s.grids {
		g.set(k, s.cells.n[i], s.cells.has[i])
	}
}

// write says that the transaction at hand made a version.
func (s *ranges) write(k, v uint32) {
	if s == nil {
		return
	}
	s.cells.decode(k, v)
	for i, g := range s.grids {
		g.own[k], g.ownHas[k] = s.cells.n[i], s.cells.has[i]
	}
}

// truth is that of predicate q of the current version of k, or of what the transaction at hand made of it.
func (s *ranges) truth(q, k uint32, own bool) (truth predicates.Truth, known bool) {
	if s == nil || s.of[q] < 0 || !s.in[q].Exact {
		return 0, false
	}
	g := s.grids[s.of[q]]
	n, has := g.value[k], g.at[k] > 0
	if own {
		n, has = g.own[k], g.ownHas[k]
	}
	if s.in[q].Lo <= n && n <= s.in[q].Hi {
		return predicates.True, has
	}
	return predicates.False, has
}

// each calls f for the keys in whose current version predicate q may be true, until it returns an error.
func (s *ranges) each(q uint32, f func(k uint32) error) (err error, known bool) {
	if s == nil || s.of[q] < 0 {
		return nil, false
	}
	return s.grids[s.of[q]].each(s.in[q].Lo, s.in[q].Hi, f), true
}

// grid finds the keys whose current row holds an integer of a range in a column: they lie in buckets by that integer,
// the buckets' bounds being values of versions picked evenly, so that no bucket has many unless many rows hold the
// same.
type grid struct {
	column string
	bounds []int64    // bucket b has the integers from bounds[b-1] on and below bounds[b]
	bucket [][]uint32 // keys
	at     []uint32   // key → 1 + its bucket; 0: its row holds no integer here
	place  []uint32   // key → place in its bucket
	value  []int64    // key → the integer
	own    []int64    // key → the integer that the transaction at hand wrote there, if ownHas
	ownHas []bool
}

// newGrids makes empty grids of the columns.
func newGrids(h *history.History, columns []string) []*grid {
	var out []*grid
	n := h.NumKeys()
	for _, c := range columns {
		out = append(out, &grid{column: c, at: make([]uint32, n), place: make([]uint32, n), value: make([]int64, n),
			own: make([]int64, n), ownHas: make([]bool, n)})
	}
	const samples = 4096
	cells := newCells(h, columns)
	step := max(h.NumVersions()/samples, 1)
	for v := 0; v < h.NumVersions(); v += step {
		cells.decode(h.VerKey[v], uint32(v))
		for i, g := range out {
			if cells.has[i] {
				g.bounds = append(g.bounds, cells.n[i])
			}
		}
	}
	for _, g := range out {
		slices.Sort(g.bounds)
		g.bounds = slices.Compact(g.bounds)
		g.bucket = make([][]uint32, len(g.bounds)+1)
	}
	return out
}

// find returns the bucket of an integer.
func (g *grid) find(n int64) int {
	b, _ := slices.BinarySearchFunc(g.bounds, n, func(bound, n int64) int {
		if bound <= n {
			return -1
		}
		return 1
	})
	return b
}

// set puts a key at an integer, or nowhere.
func (g *grid) set(k uint32, n int64, has bool) {
	if b := g.at[k]; b > 0 {
		keys := g.bucket[b-1]
		last := keys[len(keys)-1]
		keys[g.place[k]] = last
		g.place[last] = g.place[k]
		g.bucket[b-1] = keys[:len(keys)-1]
		g.at[k] = 0
	}
	if !has {
		return
	}
	b := g.find(n)
	g.at[k], g.place[k], g.value[k] = uint32(b)+1, uint32(len(g.bucket[b])), n
	g.bucket[b] = append(g.bucket[b], k)
}

// each calls f for the keys in lo … hi, until it returns an error.
func (g *grid) each(lo, hi int64, f func(k uint32) error) error {
	if lo > hi {
		return nil
	}
	for b, end := g.find(lo), g.find(hi); b <= end; b++ {
		for _, k := range g.bucket[b] {
			if n := g.value[k]; lo <= n && n <= hi {
				if err := f(k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cells are the integers that one version holds in some columns.
type cells struct {
	h       *history.History
	columns []string
	n       []int64
	has     []bool
}

func newCells(h *history.History, columns []string) *cells {
	return &cells{h: h, columns: columns, n: make([]int64, len(columns)), has: make([]bool, len(columns))}
}

// decode reads a key's version, None being its initial value that no operation names.
func (c *cells) decode(k, ver uint32) {
	v := c.h.Initial
	if ver != history.None {
		v = c.h.VerValue(ver)
	}
	clear(c.has)
	if v.Kind == history.Null {
		return
	}
	if v.Kind == history.Row && c.flat(c.h.Texts.Text(uint32(v.N))) {
		for i, name := range c.columns {
			if key := c.h.Keys[k]; name == "key" && key.Kind == history.Int {
				c.n[i], c.has[i] = key.N, true
			} else if name == "key" {
				c.has[i] = false
			}
		}
		return
	}
	row, _ := predicates.RowOfValue(c.h, k, v)
	for i, name := range c.columns {
		x, ok := row[name]
		c.n[i], c.has[i] = x.N, ok && x.Kind == history.Int
	}
}

// flat reads a row that consists of integers under names without escapes, as most do; false: it does not. Its plain
// twin is predicates.RowOfValue.
func (c *cells) flat(text []byte) bool {
	clear(c.has)
	if string(text) == "{}" {
		return true
	}
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	for i := 1; i < len(text); i++ {
		name, n, end := field(text, i)
		if end < 0 || text[end] != ',' && text[end] != '}' {
			return false
		}
		for j, column := range c.columns {
			if column == string(name) {
				c.n[j], c.has[j] = n, true
			}
		}
		if i = end; text[i] == '}' {
			return i == len(text)-1
		}
	}
	return false
}

// field reads "name":integer at i, and returns where it ends, before the end of the text; -1: it is something else.
func field(text []byte, i int) (name []byte, n int64, end int) {
	colon := bytes.Index(text[i:], []byte(`":`))
	if text[i] != '"' || colon < 1 || bytes.ContainsAny(text[i+1:i+colon], `"\\`) {
		return nil, 0, -1
	}
	name = text[i+1 : i+colon]
	i += colon + 2
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = 10*n + int64(text[i]-'0')
	}
	if i == first || i-first > 18 || i == len(text) {
		return nil, 0, -1
	}
	if negative {
		n = -n
	}
	return name, n, i
}
