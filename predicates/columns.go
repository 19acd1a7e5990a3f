package predicates

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"isovet/history"
)

// column has what all items hold in one column. An item is a version, or the initial value of a key if no operation
// names it. The different values are ranked: rank 0 means that the row exists but the column is missing or null; then
// follow booleans, integers and strings, each kind in its order. So the values that satisfy a comparison with a
// constant are a range of ranks, and the items of a range of ranks are a range of order.
type column struct {
	name  string
	rank  []uint32 // item → rank; None: there is no row
	order []uint32 // items with a row, by rank
	pos   []uint32 // item → place in order; None: there is no row
	start []uint32 // rank → its first place in order, and at last the length of order

	// The different values by rank, from rank 1 on. kinds has the first rank of each kind, 0 for Null.
	nums  []int64
	strs  []string // of rank kinds[String] and above
	kinds [history.Row + 1]uint32
}

func (c *column) ranks() uint32 { return uint32(len(c.start) - 1) }

// cells are the values of a column before they are ranked, one for each item that is a row, in the order of items.
type cells struct {
	name string
	kind []history.ValueKind
	n    []uint64 // an integer, a boolean, or an index of the decoder's strings
}

// decoder turns rows into cells. Several decoders may fill the same cells, for different items; each numbers its own
// strings.
type decoder struct {
	h     *history.History
	cols  []cells
	strs  []string
	strID map[string]int64
	ints  intRows
}

func (d *decoder) str(b []byte) int64 {
	id, ok := d.strID[string(b)]
	if !ok {
		id = int64(len(d.strs))
		d.strs = append(d.strs, string(b))
		d.strID[d.strs[id]] = id
	}
	return id
}

// decode reads the columns that predicates use of a row, given as a key and a value that is not null, into the cells at
// its place.
func (d *decoder) decode(row, key uint32, v history.Value) {
	if v.Kind == history.Row {
		if cols, cells := d.ints.read(d.h.Texts, uint32(v.N), d.column); cells != nil {
			for i, at := range cols {
				if at >= 0 {
					c := &d.cols[at]
					c.kind[row], c.n[row] = history.Int, uint64(cells[i])
				}
			}
		} else if text := d.h.Texts.Text(uint32(v.N)); !d.scan(text, row) {
			d.row(row, key, v)
		}
	}
	for i := range d.cols {
		switch c := &d.cols[i]; {
		case c.name == "key":
			d.set(c, row, d.h.Keys[key])
		case c.name == "" && v.Kind != history.Row:
			d.set(c, row, v)
		}
	}
}

// column returns the column for a member of rows, -1 if no predicate uses it.
func (d *decoder) column(name string) int {
	return slices.IndexFunc(d.cols, func(c cells) bool { return c.name == name })
}

// set stores a scalar in a cell.
func (d *decoder) set(c *cells, row uint32, v history.Value) {
	if v.Kind == history.String {
		v.N = d.str(d.h.Texts.Text(uint32(v.N)))
	}
	c.kind[row], c.n[row] = v.Kind, uint64(v.N)
}

// row decodes a row as its definition says, slowly.
func (d *decoder) row(at, key uint32, v history.Value) {
	row, _ := RowOfValue(d.h, key, v)
	for i := range d.cols {
		c := &d.cols[i]
		s := row[c.name]
		if c.kind[at], c.n[at] = s.Kind, uint64(s.N); s.Kind == history.String {
			c.n[at] = uint64(d.str([]byte(s.S)))
		}
	}
}

// scan decodes a row that is canonical JSON without escapes, as nearly all are; false: it is not.
func (d *decoder) scan(s []byte, row uint32) bool {
	if len(s) < 2 || s[0] != '{' {
		return false
	}
	if s = s[1:]; s[0] == '}' {
		return len(s) == 1
	}
	for {
		name, rest, ok := quoted(s)
		if !ok || len(rest) < 2 || rest[0] != ':' {
			return false
		}
		s = rest[1:]
		kind, n := history.Null, int64(0)
		switch s[0] {
		case '"':
			var text []byte
			if text, s, ok = quoted(s); !ok {
				return false
			}
			kind, n = history.String, d.str(text)
		default:
			end := 0
			for end < len(s) && s[end] != ',' && s[end] != '}' {
				end++
			}
			if end == len(s) {
				return false
			}
			if i, is := integer(s[:end]); is {
				kind, n = history.Int, i
				s = s[end:]
				break
			}
			switch string(s[:end]) {
			case "null":
			case "true":
				kind, n = history.Bool, 1
			case "false":
				kind = history.Bool
			default:
				var err error
				if n, err = strconv.ParseInt(string(s[:end]), 10, 64); err != nil {
					return false
				}
				kind = history.Int
			}
			s = s[end:]
		}
		for i := range d.cols {
			if c := &d.cols[i]; c.name == string(name) {
				c.kind[row], c.n[row] = kind, uint64(n)
			}
		}
		if len(s) == 0 {
			return false
		}
		if s[0] == '}' {
			return len(s) == 1
		}
		if s[0] != ',' {
			return false
		}
		s = s[1:]
	}
}

// integer parses an integer of at most 18 digits.
func integer(s []byte) (n int64, ok bool) {
	digits := s
	if len(s) > 0 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, true
}

// quoted splits a string without escapes off the front.
func quoted(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(s[1:], '"')
	if end < 0 || bytes.IndexByte(s[1:1+end], '\\') >= 0 {
		return nil, nil, false
	}
	return s[1 : 1+end], s[2+end:], true
}

// rank makes a column from cells, which it overwrites; there says which items are rows, and rows is their number. Cost:
// a sort of the items.
func (d *decoder) rank(from *cells, there []bool, rows int) column {
	c := column{name: from.name, pos: slices.Repeat([]uint32{history.None}, len(there)), order: make([]uint32, 0, rows)}
	var count [history.Row + 1]int
	for _, k := range from.kind {
		count[k]++
	}
	if count[history.Int] == rows && rows >= minNarrow {
		if low, span := bounds(from.n); span < 1<<32 {
			words := from.n // in place: there are millions
			row := 0
			for item, is := range there {
				if is {
					words[row] = (words[row]-uint64(low))<<32 | uint64(item)
					row++
				}
			}
			from.n, from.kind = nil, nil
			c.narrow(sortWords(words, span), low)
			return c
		}
	}
	ids, place := d.sortedStrings(count[history.String] > 0)
	var kinds [history.Row + 1][]cell
	all := make([]cell, rows)
	for k, n := range count {
		kinds[k], all = all[:0:n], all[n:]
	}
	row := -1
	for item, is := range there {
		if !is {
			continue
		}
		row++
		k, n := from.kind[row], int64(from.n[row])
		if k == history.String {
			n = place[n]
		}
		kinds[k] = append(kinds[k], cell{n, uint32(item)})
	}
	c.start = append(make([]uint32, 0, rows+2), 0) // of rank 0, whether anything has it or not
	c.nums = make([]int64, 0, rows)
	for _, k := range []history.ValueKind{history.Null, history.Bool, history.Int, history.String} {
		if k != history.Null {
			c.kinds[k] = uint32(len(c.start))
			kinds[k] = sortCells(kinds[k])
		}
		for i, x := range kinds[k] {
			at := uint32(len(c.order))
			if k != history.Null && (i == 0 || x.n != kinds[k][i-1].n) {
				c.start = append(c.start, at)
				c.nums = append(c.nums, x.n)
				if k == history.String {
					c.strs = append(c.strs, d.strs[ids[x.n]])
				}
			}
			c.order = append(c.order, x.item)
			c.pos[x.item] = at
		}
	}
	c.kinds[history.Row] = uint32(len(c.start)) // of which there is none
	c.start = append(c.start, uint32(len(c.order)))
	c.rankAll()
	return c
}

// rankAll computes rank from start and order.
func (c *column) rankAll() {
	c.rank = slices.Repeat([]uint32{history.None}, len(c.pos))
	for r := range c.ranks() {
		for _, item := range c.order[c.start[r]:c.start[r+1]] {
			c.rank[item] = r
		}
	}
}

// sortedStrings returns the strings' numbers in the strings' order, and for each string its place there; nothing if not
// wanted.
func (d *decoder) sortedStrings(wanted bool) (ids []uint32, place []int64) {
	if !wanted {
		return nil, nil
	}
	ids, place = make([]uint32, len(d.strs)), make([]int64, len(d.strs))
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(d.strs[a], d.strs[b]) })
	for i, id := range ids {
		place[id] = int64(i)
	}
	return ids, place
}

// present fills the column of "there is a row", which has rank 1 for rows.
func (c *column) present(there []bool) {
	c.rank, c.pos = make([]uint32, len(there)), make([]uint32, len(there))
	c.order = make([]uint32, 0, c.start[2])
	for item, is := range there {
		c.rank[item], c.pos[item] = history.None, history.None
		if is {
			c.rank[item], c.pos[item] = 1, uint32(len(c.order))
			c.order = append(c.order, uint32(item))
		}
	}
}

// cell is an item's value while the column is sorted.
type cell struct {
	n    int64
	item uint32
}

// sortCells returns cells sorted by value, those of one value by item. They must come in the order of items, and are
// overwritten. Cost: a pass for each 11 bits in which the values differ.
func sortCells(cells []cell) []cell {
	if len(cells) == 0 {
		return cells
	}
	low, high, sorted := cells[0].n, cells[0].n, true
	for i, x := range cells {
		sorted = sorted && (i == 0 || cells[i-1].n <= x.n)
		low, high = min(low, x.n), max(high, x.n)
	}
	if sorted {
		return cells
	}
	if len(cells) < 64 {
		for i := range cells {
			for x := cells[i]; i > 0 && cells[i-1].n > x.n; i-- {
				cells[i-1], cells[i] = x, cells[i-1]
			}
		}
		return cells
	}
	const bits = 11
	from, to := cells, make([]cell, len(cells))
	for shift := 0; shift < 64 && (uint64(high)-uint64(low))>>shift > 0; shift += bits {
		var count [1<<bits + 1]uint32
		for _, x := range from {
			count[(uint64(x.n)-uint64(low))>>shift&(1<<bits-1)+1]++
		}
		for d := range 1 << bits {
			count[d+1] += count[d]
		}
		for _, x := range from {
			d := (uint64(x.n) - uint64(low)) >> shift & (1<<bits - 1)
			to[count[d]] = x
			count[d]++
		}
		from, to = to, from
	}
	return from
}

// find returns the ranks of a constant's kind, kindLo:kindHi, and among them the rank of the value equal to it, lo:hi,
// empty if there is none. Cost: a binary search.
func (c *column) find(s Scalar) (kindLo, lo, hi, kindHi uint32) {
	following := [...]history.ValueKind{history.Bool: history.Int, history.Int: history.String,
		history.String: history.Row}
	kindLo, kindHi = c.kinds[s.Kind], c.kinds[following[s.Kind]]
	var at int
	var found bool
	switch s.Kind {
	case history.String:
		at, found = slices.BinarySearch(c.strs, s.S)
	default:
		at, found = slices.BinarySearch(c.nums[kindLo-1:kindHi-1], s.N)
	}
	lo = kindLo + uint32(at)
	hi = lo
	if found {
		hi++
	}
	return kindLo, lo, hi, kindHi
}
