package prepass

import (
	"slices"

	"isovet/history"
	"isovet/internal/sorts"
)

// Sight says that transaction Txn, whose predicate operation Op says of Key only whether its predicate holds, saw one
// of the writes From, ascending, of that key: some transaction's or the initial one.
type Sight struct {
	Txn, Key, Op uint32
	From         []uint32
}

// WithSights returns the view with further reads, each in Amb even where it is of one write; a transaction has at most
// one of a key, and none of a key that it reads. Their version is that of the write (RVer), once RW has it. Cost:
// linear.
func (v *View) WithSights(sights []Sight) *View {
	sights = slices.Clone(sights)
	sorts.Stable(sights, func(a, b Sight) int { return int(a.Txn) - int(b.Txn) })
	n := len(v.RW) + len(sights)
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
		for ; len(sights) > 0 && sights[0].Txn == t; sights = sights[1:] {
			may(sights[0].From)
			add(none, sights[0].Key, none, sights[0].Op)
		}
		x.ROff = append(x.ROff, uint32(len(x.RW)))
	}
	return &x
}

// IsSight reports whether a read is one that WithSights added.
func (v *View) IsSight(r uint32) bool { return v.rVer != nil && v.rVer[r] == history.None }
