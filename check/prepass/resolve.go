package prepass

import "slices"

// Resolve returns a view without choices: each ambiguous read i of a counting transaction saw the write pick(i), one of
// its candidates, and the open transactions with counts(t) committed; the others are left out. It shares unchanged
// parts with v. Cost: linear.
func (v *View) Resolve(pick func(i int) uint32, counts func(t uint32) bool) *View {
	out := *v
	out.Amb, out.CandOff, out.Cand, out.Open, out.keys = nil, []uint32{0}, nil, nil, nil
	out.Counts, out.RW = slices.Clone(v.Counts), slices.Clone(v.RW)
	left := false
	for _, t := range v.Open {
		if counts(t) {
			out.Counts[t] = true
			out.NumCounts++
			continue
		}
		left = true
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			out.RW[r] = none
		}
	}
	for i, r := range v.Amb {
		if out.Counts[v.Reader(r)] {
			out.RW[r] = pick(i)
		}
	}
	if !left {
		return &out
	}
	// Drop the writes of the transactions that do not count, and renumber the rest.
	id := make([]uint32, len(v.WKey))
	out.WKey, out.WTxn, out.WVer = make([]uint32, 0, len(id)), make([]uint32, 0, len(id)), make([]uint32, 0, len(id))
	for w, t := range v.WTxn {
		id[w] = uint32(len(out.WKey))
		if t == none || out.Counts[t] {
			out.WKey, out.WTxn, out.WVer = append(out.WKey, v.WKey[w]), append(out.WTxn, t), append(out.WVer, v.WVer[w])
		}
	}
	out.WOff = make([]uint32, len(v.WOff))
	for t, w := range v.WOff {
		if out.WOff[t] = uint32(len(out.WKey)); int(w) < len(id) {
			out.WOff[t] = id[w]
		}
	}
	for r, w := range out.RW {
		if w != none {
			out.RW[r] = id[w]
		}
	}
	return &out
}
