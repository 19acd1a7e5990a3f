package replay

import "isovet/internal/slice"

// A failure is a contradiction found in a replay. Read r (an index of the view's reads) should have found write w, but
// found another. With read = none, write w was installed although found had been installed since its transaction began.
type failure struct{ read, w, found uint32 }

// replay replays an order of graph nodes and appends the failures. counts says which open transactions count, and may
// be nil if there are none. Cost: one look-up a read and a write.
func (e *engine) replay(order []int32, counts func(i int32) bool, out []failure) []failure {
	v := e.v
	nk := e.h.NumKeys()
	cur := slice.Numbers[uint32](nk) // key → its present write
	n := int32(len(e.txn))
	if !e.si {
		for _, i := range order {
			if i >= n || e.open[i] && !counts(i) {
				continue
			}
			t := e.txn[i]
			out = e.reads(t, cur, out)
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				cur[v.WKey[w]] = w
			}
		}
		return out
	}
	began := make([]int32, n)
	when := make([]int32, nk) // key → the place in order of its last commit
	for at, x := range order {
		if x >= 2*n {
			continue
		}
		i := x >> 1
		if e.open[i] && !counts(i) {
			continue
		}
		t := e.txn[i]
		if x&1 == 0 {
			began[i] = int32(at)
			out = e.reads(t, cur, out)
			continue
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			if when[k] > began[i] {
				out = append(out, failure{none, w, cur[k]})
			}
			cur[k], when[k] = w, int32(at)
		}
	}
	return out
}

// reads compares the reads of transaction t with the current versions.
func (e *engine) reads(t uint32, cur []uint32, out []failure) []failure {
	v := e.v
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		w := v.RW[r]
		if c := cur[e.v.RKey[r]]; c != w && (w != none || v.WVer[c] != v.RVer(r)) {
			out = append(out, failure{r, w, c})
		}
	}
	return out
}
