package keystore

import (
	"slices"

	"isovet/internal/bounds"
	"isovet/internal/saved"
)

// fewNumbers is the number of numbers up to which a table is never compacted. Beyond it, it is compacted if at most
// one in takenOf is in use.
var (
	fewNumbers = 1 << 12
	takenOf    = 4
)

// Tests set both to 1.
func init() {
	bounds.Register("keystore.fewNumbers", &fewNumbers)
	bounds.Register("keystore.takenOf", &takenOf)
}

// Sparse reports whether so many numbers are free that Compact would do something.
func (t *Table) Sparse() bool {
	return t.store != nil && len(t.names) > fewNumbers && takenOf*t.live < len(t.names)
}

// Compact reduces the numbers if most of them are free, so that arrays indexed by them can be shortened. Texts with
// the greatest numbers get the least free ones, until one is pinned. save and drop are as for Evict. have is called
// with the new number of a text and the state from save. It reports whether there are fewer numbers. As for Evict, it
// may be called only between two batches, and numbers returned before become invalid. Cost: small if there is nothing
// to do, otherwise linear in the removed numbers.
func (t *Table) Compact(save func(n uint32, buf []byte) (state []byte, pinned bool), drop func(n uint32),
	have func(n uint32, state []byte) error) (fewer bool, err error) {
	if !t.Sparse() {
		return false, nil
	}
	n, low := len(t.names), uint32(0)
	for ; n > 0; n-- {
		from := uint32(n - 1)
		if t.state[from] == vacant {
			continue
		}
		for low < from && t.state[low] != vacant {
			low++
		}
		if low == from {
			break
		}
		state, pinned := save(from, t.buf[:0])
		if pinned {
			break
		}
		t.buf = state
		drop(from)
		t.move(from, low)
		if err := have(low, state); err != nil {
			return true, err
		}
	}
	if n == len(t.names) {
		return false, nil
	}
	t.names, t.sums = saved.Shorter(t.names, n), saved.Shorter(t.sums, n)
	t.was, t.state = saved.Shorter(t.was, n), saved.Shorter(t.state, n)
	if cap(t.free) > 2*n {
		t.free = t.free[:0]
		for i, s := range slices.Backward(t.state) {
			if s == vacant {
				t.free = append(t.free, uint32(i))
			}
		}
		t.free = slices.Clone(t.free)
	}
	if len(t.index) > 64 && len(t.index) > 16*t.live {
		t.Thawed()
	}
	return true, nil
}

// move gives a text another, free number. That stays in the list of free numbers.
func (t *Table) move(from, to uint32) {
	t.index[t.placeOf(from)] = to + 1
	t.names[to], t.sums[to], t.was[to], t.state[to] = t.names[from], t.sums[from], t.was[from], t.state[from]
	t.names[from], t.state[from] = "", vacant
}

// reuse returns a free number, or false. The list may contain numbers twice, and numbers that are in use or no longer
// exist.
func (t *Table) reuse() (uint32, bool) {
	for k := len(t.free); k > 0; k = len(t.free) {
		n := t.free[k-1]
		t.free = t.free[:k-1]
		if int(n) < len(t.names) && t.state[n] == vacant {
			return n, true
		}
	}
	return 0, false
}
