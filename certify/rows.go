package certify

import (
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// grid finds the keys whose current row holds an integer of a range in a column: they lie in buckets by that integer, the buckets'
// bounds being values of versions picked evenly, so that no bucket has many unless many rows hold the same. It spares the replay of
// an order from looking at every row for every predicate operation.
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

// flat reads a row that consists of integers under names without escapes, as most do; false: it does not.
func (c *cells) flat(text []byte) bool {
	clear(c.has)
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	for i := 1; i < len(text); {
		if text[i] != '"' {
			return text[i] == '}' && i == 1
		}
		name := i + 1
		for i = name; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' {
				return false
			}
		}
		end := i
		if i+2 >= len(text) || text[i+1] != ':' {
			return false
		}
		i += 2
		negative := text[i] == '-'
		if negative {
			i++
		}
		n, digits := int64(0), 0
		for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			n = 10*n + int64(text[i]-'0')
			digits++
		}
		if digits == 0 || digits > 18 || i >= len(text) || text[i] != ',' && text[i] != '}' {
			return false
		}
		if negative {
			n = -n
		}
		for j, column := range c.columns {
			if column == string(text[name:end]) {
				c.n[j], c.has[j] = n, true
			}
		}
		if text[i] == '}' {
			return i == len(text)-1
		}
		i++
	}
	return false
}
