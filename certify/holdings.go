package certify

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"

	"isovet/history"
	"isovet/internal/safego"
	"isovet/predicates"
)

// mayBe returns, as a bit set, the items that may become current.
func (s *ranges) mayBe(takesPart func(t uint32) bool) []uint64 {
	h := s.h
	is := make([]uint64, (int(s.versions)+h.NumKeys())/64+1)
	for k, v := range h.InitVer {
		item := s.itemOf(uint32(k), v)
		is[item>>6] |= 1 << (item & 63)
	}
	for t := range uint32(h.NumTxns()) {
		if !takesPart(t) {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Write:
				is[v>>6] |= 1 << (v & 63)
			case history.PredWrite:
				for _, v := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
					is[v>>6] |= 1 << (v & 63)
				}
			}
		}
	}
	return is
}

// minItems is how many items, or predicates, a core is worth at least.
var minItems = 1 << 13

// cores is on how many cores to work at n items or predicates.
func cores(n int) int { return max(1, min(runtime.GOMAXPROCS(0), n/minItems)) }

// holdings returns what items hold in each column, in their order, and marks in the columns which hold anything.
func (s *ranges) holdings(truths *predicates.Truths, is []uint64, items int) []holdings {
	workers := cores(items)
	from := func(w int) int { return len(is) * w / workers } // words of is
	at := make([]int, workers+1)
	for w := range workers {
		at[w+1] = at[w]
		for _, word := range is[from(w):from(w+1)] {
			at[w+1] += bits.OnesCount64(word)
		}
	}
	ints := make([][]holding, len(s.columns))
	for i := range ints {
		ints[i] = make([]holding, at[workers])
	}
	parts := make([][]holdings, workers)
	var g safego.Group
	for w := range workers {
		g.Go(func() {
			mine, truths := make([]holdings, len(s.columns)), truths.Fork()
			for i := range mine {
				mine[i].ints = ints[i][at[w]:at[w]:at[w+1]]
			}
			row := make([]predicates.Scalar, len(truths.Columns()))
			for i := from(w); i < from(w+1); i++ {
				for word := is[i]; word != 0; word &= word - 1 {
					item := uint32(i<<6 + bits.TrailingZeros64(word))
					ver := item
					if item >= s.versions {
						ver = history.None
					}
					if !truths.Row(s.keyOf(item), ver, row) {
						continue
					}
					for i, c := range s.columns {
						if row[i].Kind != history.Null {
							c.place[item] = 0
							mine[i].add(item, row[i])
						}
					}
				}
			}
			parts[w] = mine
		})
	}
	g.Wait()
	found := make([]holdings, len(s.columns))
	for i := range found {
		all := &found[i]
		all.ints = ints[i][:0] // which what follows never overtakes
		for w := range parts {
			all.ints = append(all.ints, parts[w][i].ints...)
			all.bools = append(all.bools, parts[w][i].bools...)
			all.strs = append(all.strs, parts[w][i].strs...)
		}
	}
	return found
}

// holding is a boolean or an integer that an item holds, and saying a string.
type (
	holding struct {
		n    int64
		item uint32
	}
	saying struct {
		s    string
		item uint32
	}
)

// holdings are those of a column.
type holdings struct {
	bools, ints []holding
	strs        []saying
}

func (a *holdings) add(item uint32, v predicates.Scalar) {
	switch v.Kind {
	case history.Bool:
		a.bools = append(a.bools, holding{v.N, item})
	case history.Int:
		a.ints = append(a.ints, holding{v.N, item})
	default:
		a.strs = append(a.strs, saying{v.S, item})
	}
}

// fill puts the items of a column at their places.
func (c *column) fill(a *holdings) {
	numbers := len(a.bools) + len(a.ints)
	n := numbers + len(a.strs)
	c.item, c.nums, c.strs = make([]uint32, 0, n), make([]int64, 0, numbers), make([]string, 0, len(a.strs))
	put := func(item uint32) {
		c.place[item] = uint32(len(c.item))
		c.item = append(c.item, item)
	}
	for _, all := range [][]holding{sorted(a.bools), sorted(a.ints)} {
		for _, x := range all {
			put(x.item)
			c.nums = append(c.nums, x.n)
		}
	}
	c.landmarks(uint32(len(a.bools)))
	slices.SortFunc(a.strs, func(x, y saying) int { return cmp.Compare(x.s, y.s) })
	for _, x := range a.strs {
		put(x.item)
		c.strs = append(c.strs, x.s)
	}
	c.of[history.Bool] = span{hi: uint32(len(a.bools))}
	c.of[history.Int] = span{lo: uint32(len(a.bools)), hi: uint32(numbers)}
	c.of[history.String] = span{lo: uint32(numbers), hi: uint32(n)}
	words := n/64 + 1
	c.live, c.seen, c.some = make([]uint64, words), make([]uint64, words), make([]uint32, words/64+1)
}

// sorted sorts by the numbers, digit by digit from the last; what it was given is lost.
func sorted(all []holding) []holding {
	if len(all) < 512 {
		slices.SortFunc(all, func(x, y holding) int { return cmp.Compare(x.n, y.n) })
		return all
	}
	least, most := all[0].n, all[0].n
	for _, x := range all {
		least, most = min(least, x.n), max(most, x.n)
	}
	if uint64(most)-uint64(least) < 1<<32 {
		return sortedNarrow(all, least, uint64(most)-uint64(least))
	}
	const digit = 12
	var next [1 << digit]uint32
	to := make([]holding, len(all))
	for shift := 0; shift < 64 && (uint64(most)-uint64(least))>>shift > 0; shift += digit {
		of := func(n int64) uint64 { return (uint64(n) - uint64(least)) >> shift & (1<<digit - 1) }
		clear(next[:])
		for _, x := range all {
			next[of(x.n)]++
		}
		at := uint32(0)
		for d, n := range next {
			next[d] = at
			at += n
		}
		for _, x := range all {
			d := of(x.n)
			to[next[d]] = x
			next[d]++
		}
		all, to = to, all
	}
	return all
}

// sortedNarrow is sorted where the numbers are least plus at most span, below 2^32: one and its item are a word.
func sortedNarrow(all []holding, least int64, span uint64) []holding {
	const digit = 11
	var next [1 << digit]uint32
	words, to := make([]uint64, len(all)), make([]uint64, len(all))
	for i, x := range all {
		words[i] = (uint64(x.n)-uint64(least))<<32 | uint64(x.item)
	}
	for shift := 32; shift < 64 && span>>(shift-32) > 0; shift += digit {
		clear(next[:])
		for _, x := range words {
			next[x>>shift&(1<<digit-1)]++
		}
		at := uint32(0)
		for d, n := range next {
			next[d] = at
			at += n
		}
		for _, x := range words {
			d := x >> shift & (1<<digit - 1)
			to[next[d]] = x
			next[d]++
		}
		words, to = to, words
	}
	for i, x := range words {
		all[i] = holding{least + int64(x>>32), uint32(x)}
	}
	return all
}
