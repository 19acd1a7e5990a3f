package certify

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"isovet/history"
	"isovet/internal/safego"
	"isovet/predicates"
)

// maxColumns bounds the columns that are kept sorted; predicates of others look at every row.
var maxColumns = 16

// ranges spares the replay of an order from looking at every row for every predicate operation, and from evaluating its
// predicate: predicate q is true only of rows that lie in each of the ranges of sorted columns spans[off[q]:off[q+1]].
// Its plain twin is nil, which knows nothing.
//
// Memory: 4 bytes for each version and column, and as much again for each version that may become current.
type ranges struct {
	h        *history.History
	versions uint32
	columns  []*column
	off      []uint32
	spans    []span
	exact    []bool   // predicate → its one span says all of a row that has a place in the column
	cur      []uint32 // key → its current item: the version, or after the versions the key's own initial value
	places   []uint32
}

// span is a range of places of a column.
type span struct{ col, lo, hi uint32 }

// column has the items that may become current, sorted by what they hold there: booleans, integers, strings. A range of
// values is a range of places, and a mark tells which places are current.
type column struct {
	place []uint32          // item → place; None: it never is current, or holds nothing there
	item  []uint32          // place → item
	of    [history.Row]span // kind → its places
	nums  []int64           // place → the number that is there, of places before the strings'
	// Integers n with (n - low) >> shift = m are at the places from marks[m] up to marks[m+1].
	marks []uint32
	low   int64
	shift uint
	strs  []string // and of those the string
	live  []uint64 // bit set of places
	some  []uint32 // how many of each 64 words
	seen  []uint64 // bit set of places: scratch of exactly
}

// newRanges sorts the columns of what the transactions of an order install, and of what is there before them.
// Cost: a decoding of each row, and a sort a column; on all cores.
func newRanges(h *history.History, truths *predicates.Truths, takesPart func(t uint32) bool) *ranges {
	s := &ranges{h: h, versions: uint32(h.NumVersions())}
	n := min(len(truths.Columns()), maxColumns)
	items := int(s.versions) + h.NumKeys()
	for range n {
		s.columns = append(s.columns, &column{place: nowhere(items)})
	}
	found := s.holdings(truths, s.mayBe(takesPart), items)
	var g safego.Group
	for i, c := range s.columns {
		g.Go(func() {
			c.fill(&found[i])
			found[i] = holdings{}
		})
	}
	g.Wait()
	s.cur = make([]uint32, h.NumKeys())
	for k, v := range h.InitVer {
		s.cur[k] = s.itemOf(uint32(k), v)
		for _, c := range s.columns {
			c.mark(c.place[s.cur[k]], true)
		}
	}
	s.compile(h, truths, takesPart)
	return s
}

// itemOf returns the item of a key's version.
func (s *ranges) itemOf(key, ver uint32) uint32 {
	if ver == history.None {
		return s.versions + key
	}
	return ver
}

// keyOf returns the key of an item.
func (s *ranges) keyOf(item uint32) uint32 {
	if item >= s.versions {
		return item - s.versions
	}
	return s.h.VerKey[item]
}

// compile finds the spans of the predicates of the transactions that take part.
func (s *ranges) compile(h *history.History, truths *predicates.Truths, takesPart func(t uint32) bool) {
	n := len(h.Preds.Pred)
	asked := make([]bool, n)
	for t := range uint32(h.NumTxns()) {
		if !takesPart(t) {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if k := h.Ops.Kind[op]; k == history.PredRead || k == history.PredWrite {
				asked[h.Ops.Ver[op]] = true
			}
		}
	}
	s.off, s.exact = make([]uint32, n+1), make([]bool, n)
	workers := cores(n)
	from := func(w int) int { return n * w / workers }
	parts := make([][]span, workers)
	var g safego.Group
	for w := range workers {
		g.Go(func() { parts[w] = s.spansOf(from(w), from(w+1), truths.Fork(), asked) })
	}
	g.Wait()
	s.spans = parts[0]
	for w := 1; w < workers; w++ {
		before := uint32(len(s.spans))
		s.spans = append(s.spans, parts[w]...)
		for q := from(w); q < from(w+1); q++ {
			s.off[q+1] += before
		}
	}
}

// spansOf finds the spans of the predicates from lo up to hi, and where those of each end among them.
func (s *ranges) spansOf(lo, hi int, truths *predicates.Truths, asked []bool) []span {
	spans := make([]span, 0, hi-lo)
	var some []predicates.Range
	for q := lo; q < hi; q++ {
		some = some[:0]
		if asked[q] {
			some, s.exact[q] = truths.Ranges(uint32(q), some)
		}
		for i := range some {
			col := slices.Index(truths.Columns(), some[i].Column)
			if col >= len(s.columns) {
				s.exact[q] = false
				continue
			}
			lo, hi := s.columns[col].find(&some[i])
			spans = append(spans, span{uint32(col), lo, hi})
		}
		s.off[q+1] = uint32(len(spans))
	}
	return spans
}

// find returns the places of the values in a range.
// Cost: two binary searches, of integers see from.
func (c *column) find(r *predicates.Range) (lo, hi uint32) {
	first, end := c.of[r.Kind].lo, c.of[r.Kind].hi
	switch {
	case r.Kind == history.String:
		value := func(at int) predicates.Scalar { return predicates.Scalar{Kind: r.Kind, S: c.strs[at]} }
		n := int(end - first)
		lo = first + uint32(sort.Search(n, func(at int) bool { return !r.Below(value(at)) }))
		hi = first + uint32(sort.Search(n, func(at int) bool { return r.Above(value(at)) }))
	case r.Kind == history.Bool:
		at, _ := slices.BinarySearch(c.nums[first:end], r.Lo.N)
		n, _ := slices.BinarySearch(c.nums[first:end], r.Hi.N+1)
		lo, hi = first+uint32(at), first+uint32(n)
	case r.Lo.N > r.Hi.N:
		return first, first
	default:
		lo, hi = c.from(r.Lo.N, first, end), end
		if r.Hi.N < math.MaxInt64 {
			hi = c.from(r.Hi.N+1, lo, end)
		}
	}
	return lo, max(lo, hi)
}

// landmarks makes marks, of the integers, which begin at a place: one for eight of them, evenly spaced.
func (c *column) landmarks(first uint32) {
	nums := c.nums[first:]
	if len(nums) == 0 {
		return
	}
	c.low = nums[0]
	n := len(nums)/8 + 1
	for (uint64(nums[len(nums)-1])-uint64(c.low))>>c.shift >= uint64(n) {
		c.shift++
	}
	c.marks = make([]uint32, 1, n+1)
	c.marks[0] = first
	for i, x := range nums {
		for m := int((uint64(x) - uint64(c.low)) >> c.shift); len(c.marks) <= m; {
			c.marks = append(c.marks, first+uint32(i))
		}
	}
	c.marks = append(c.marks, uint32(len(c.nums)))
}

// from returns the first place, of those of integers from first up to end, of one that is n or above; end if there is
// none. Cost: if they are evenly spread, a look at eight; at most a binary search.
func (c *column) from(n int64, first, end uint32) uint32 {
	if first == end || n <= c.low {
		return first
	}
	m := (uint64(n) - uint64(c.low)) >> c.shift
	if m >= uint64(len(c.marks)-1) {
		return end
	}
	lo, hi := max(first, c.marks[m]), max(first, c.marks[m+1])
	at, _ := slices.BinarySearch(c.nums[lo:hi], n)
	return lo + uint32(at)
}

// mark says whether a place is current.
func (c *column) mark(at uint32, is bool) {
	switch {
	case at == history.None:
	case is:
		c.live[at>>6] |= 1 << (at & 63)
		c.some[at>>12]++
	default:
		c.live[at>>6] &^= 1 << (at & 63)
		c.some[at>>12]--
	}
}

// count counts the current places from lo up to hi.
// Cost: one step for 64 places, at most 128 and one for 4096.
func (c *column) count(lo, hi uint32) (n uint32) {
	for lo < hi {
		switch {
		case lo&4095 == 0 && lo+4096 <= hi:
			n += c.some[lo>>12]
			lo += 4096
		case lo&63 == 0 && lo+64 <= hi:
			n += uint32(bits.OnesCount64(c.live[lo>>6]))
			lo += 64
		default:
			end := min(hi, lo&^63+64)
			n += uint32(bits.OnesCount64(c.live[lo>>6] & part(lo, end)))
			lo = end
		}
	}
	return n
}

// part has the bits of places lo up to hi of one word.
func part(lo, hi uint32) uint64 { return ^uint64(0) << (lo & 63) & (^uint64(0) >> (63 - (hi-1)&63)) }

// set says that a version is current.
func (s *ranges) set(k, v uint32) {
	if s == nil {
		return
	}
	old, item := s.cur[k], s.itemOf(k, v)
	s.cur[k] = item
	for _, c := range s.columns {
		c.mark(c.place[old], false)
		c.mark(c.place[item], true)
	}
}

// truth is that of predicate q of the current version of k.
func (s *ranges) truth(q, k uint32) (truth predicates.Truth, known bool) {
	if s == nil || !s.exact[q] {
		return 0, false
	}
	r := s.spans[s.off[q]]
	at := s.columns[r.col].place[s.cur[k]]
	if at == history.None {
		return 0, false
	}
	if r.lo <= at && at < r.hi {
		return predicates.True, true
	}
	return predicates.False, true
}

// exactly reports whether an operation matched exactly the rows of which its predicate is true now, at the versions
// that they have; false may mean that this is not known. Cost: its rows, and a step for 64 versions of which the
// predicate is true.
func (s *ranges) exactly(q uint32, matched []uint32) bool {
	if s == nil || !s.exact[q] {
		return false
	}
	r := s.spans[s.off[q]]
	c := s.columns[r.col]
	if c.count(r.lo, r.hi) != uint32(len(matched)) {
		return false
	}
	// As many places as are current in the range: it is they if all are, and none is there twice.
	s.places = s.places[:0]
	for _, v := range matched {
		if v == history.None {
			break
		}
		at := c.place[v]
		if at < r.lo || at >= r.hi {
			break
		}
		bit := uint64(1) << (at & 63)
		if c.live[at>>6]&bit == 0 || c.seen[at>>6]&bit != 0 {
			break
		}
		c.seen[at>>6] |= bit
		s.places = append(s.places, at)
	}
	for _, at := range s.places {
		c.seen[at>>6] = 0
	}
	return len(s.places) == len(matched)
}

// each calls f for the keys in whose current version predicate q may be true, until it returns an error; f may not
// change the state. Cost: the current versions in the range of q that has the fewest, and a step for 64 others.
func (s *ranges) each(q uint32, f func(k uint32) error) (err error, known bool) {
	if s == nil || s.off[q] == s.off[q+1] {
		return nil, false
	}
	var best span
	fewest := ^uint32(0)
	for _, r := range s.spans[s.off[q]:s.off[q+1]] {
		if n := s.columns[r.col].count(r.lo, r.hi); n < fewest {
			best, fewest = r, n
		}
	}
	if fewest == 0 {
		return nil, true
	}
	c := s.columns[best.col]
	for lo := best.lo; lo < best.hi; lo = lo&^63 + 64 {
		for word := c.live[lo>>6] & part(lo, min(best.hi, lo&^63+64)); word != 0; word &= word - 1 {
			item := c.item[lo&^63+uint32(bits.TrailingZeros64(word))]
			if err := f(s.keyOf(item)); err != nil {
				return err, true
			}
		}
	}
	return nil, true
}
