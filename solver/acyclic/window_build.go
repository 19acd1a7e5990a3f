package acyclic

import (
	"isovet/internal/graph"
)

// halfRows are rows of bits, each for the words [lo, hi) of ranks, cut from slabs that do not move as more are added.
type halfRows struct {
	rows   [][]uint64
	slab   []uint64
	words  int
	most   int // words in all
	lo, hi []int32
}

const slabWords = 1 << 16

func newHalfRows(n, most int) *halfRows {
	return &halfRows{most: most, rows: make([][]uint64, n), lo: make([]int32, n), hi: make([]int32, n)}
}

// open begins row r, for the words [lo, hi), with its own bit set.
func (h *halfRows) open(r, lo, hi int32) (row []uint64, ok bool) {
	n := int(hi - lo)
	if h.words+n > h.most {
		return nil, false
	}
	if len(h.slab) < n {
		h.slab = make([]uint64, max(n, slabWords))
	}
	row = h.slab[:n]
	row[r>>6-lo] |= 1 << (r & 63)
	return row, true
}

// keep ends row r, keeping only the words [lo, hi).
func (h *halfRows) keep(r, lo, hi int32, row []uint64) {
	h.lo[r], h.hi[r] = lo, hi
	h.rows[r] = row[: hi-lo : hi-lo]
	h.slab = h.slab[hi-lo:]
	h.words += int(hi - lo)
}

// descendants computes what each rank reaches, up to the word from which on it reaches everything.
func (t *Window) descendants() (h *halfRows, ok bool) {
	n := int32(len(t.node))
	h = newHalfRows(int(n), t.most)
	words := (n + 63) / 64
	for r := n - 1; r >= 0; r-- {
		lo, hi := r>>6, words
		next := t.base.Succ(t.node[r])
		for _, v := range next {
			hi = min(hi, h.hi[t.rank[v]])
		}
		row, ok := h.open(r, lo, hi)
		if !ok || r&4095 == 0 && t.stop != nil && t.stop() {
			return nil, false
		}
		for _, v := range next {
			s := t.rank[v]
			from := h.lo[s]
			for w, x := range h.rows[s][:max(0, hi-from)] {
				row[from-lo+int32(w)] |= x
			}
		}
		for hi > lo+1 && (row[hi-1-lo] == ^uint64(0) || hi == words && n&63 != 0 && row[hi-1-lo] == 1<<(n&63)-1) {
			hi--
			row[hi-lo] = 0 // the next row begins here
		}
		h.keep(r, lo, hi, row)
	}
	return h, true
}

// ancestors computes what reaches each rank, down to the word below which everything does.
func (t *Window) ancestors(back *graph.CSR) (h *halfRows, ok bool) {
	n := int32(len(t.node))
	h = newHalfRows(int(n), t.most)
	for r := range n {
		lo, hi := int32(0), r>>6+1
		next := back.Succ(t.node[r])
		for _, v := range next {
			lo = max(lo, h.lo[t.rank[v]])
		}
		row, ok := h.open(r, lo, hi)
		if !ok || r&4095 == 0 && t.stop != nil && t.stop() {
			return nil, false
		}
		for _, v := range next {
			s := t.rank[v]
			from := h.lo[s]
			if lo >= h.hi[s] {
				continue
			}
			for w, x := range h.rows[s][lo-from:] {
				row[w] |= x
			}
		}
		full := int32(0)
		for lo+full < r>>6 && row[full] == ^uint64(0) {
			full++
		}
		copy(row, row[full:])
		clear(row[len(row)-int(full):])
		h.keep(r, lo+full, hi, row)
	}
	return h, true
}
