package prepass

import (
	"slices"

	"isovet/history"
	"isovet/internal/sorts"
)

// ImpliedRead says that transaction Txn saw one of the writes From of Key, perhaps the initial one. Its predicate
// operation Op only shows whether the predicate holds for the key. From is ascending.
type ImpliedRead struct {
	Txn, Key, Op uint32
	From         []uint32
}

// WithImpliedReads returns the view with further reads. Each is in Amb, even if only one write explains it. A
// transaction has at most one implied read of a key, and none of a key that it reads otherwise. Once RW names the
// write, RVer returns its version. Cost: linear.
func (v *View) WithImpliedReads(implied []ImpliedRead) *View {
	implied = slices.Clone(implied)
	sorts.Stable(implied, func(a, b ImpliedRead) int { return int(a.Txn) - int(b.Txn) })
	n := len(v.RW) + len(implied)
	x := *v
	x.RW, x.RKey, x.rVer = make([]uint32, 0, n), make([]uint32, 0, n), make([]uint32, 0, n)
	x.rFar, x.rNear = make([]uint32, 0, n), nil
	x.ROff = make([]uint32, 1, len(v.ROff))
	x.Amb, x.CandOff, x.Cand = nil, []uint32{0}, nil
	may := func(from []uint32) {
		x.Amb = append(x.Amb, uint32(len(x.RW)))
		x.Cand = append(x.Cand, from...)
		x.CandOff = append(x.CandOff, uint32(len(x.Cand)))
	}
	add := func(w, k, ver, op uint32) {
		x.RW, x.RKey = append(x.RW, w), append(x.RKey, k)
		x.rVer, x.rFar = append(x.rVer, ver), append(x.rFar, op)
	}
	amb := 0
	for t := range uint32(len(v.ROff) - 1) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if amb < len(v.Amb) && v.Amb[amb] == r {
				may(v.Cand[v.CandOff[amb]:v.CandOff[amb+1]])
				amb++
			}
			op := v.H.Txns.OpOff[t]
			if v.rFar != nil {
				op = v.rFar[r]
			} else {
				op += uint32(v.rNear[r])
			}
			add(v.RW[r], v.RKey[r], v.RVer(r), op)
		}
		for ; len(implied) > 0 && implied[0].Txn == t; implied = implied[1:] {
			may(implied[0].From)
			add(none, implied[0].Key, none, implied[0].Op)
		}
		x.ROff = append(x.ROff, uint32(len(x.RW)))
	}
	return &x
}

// IsImplied reports whether WithImpliedReads added a read.
func (v *View) IsImplied(r uint32) bool { return v.rVer != nil && v.rVer[r] == history.None }
