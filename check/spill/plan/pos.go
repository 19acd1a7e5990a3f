package plan

import (
	"cmp"
	"math"

	"isovet/history"
)

// Pos is a place in the order. Without exceptions a transaction is at (its end, its place in the history, 0). A moved
// transaction has the T and N of its predecessor, and a Sub.
type Pos struct {
	T   int64
	N   uint64
	Sub uint32
}

// First is the place of the initial state, before every transaction.
var First = Pos{T: math.MinInt64}

// Last is after every transaction.
var Last = Pos{T: math.MaxInt64, N: math.MaxUint64, Sub: math.MaxUint32}

// Compare orders places.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.T, q.T), cmp.Compare(p.N, q.N), cmp.Compare(p.Sub, q.Sub))
}

// Less reports whether p is before q.
func (p Pos) Less(q Pos) bool {
	if p.T != q.T {
		return p.T < q.T
	}
	if p.N != q.N {
		return p.N < q.N
	}
	return p.Sub < q.Sub
}

// Next returns the place right after p.
func (p Pos) Next() Pos {
	switch {
	case p.Sub < math.MaxUint32:
		p.Sub++
	case p.N < math.MaxUint64:
		p.N, p.Sub = p.N+1, 0
	default:
		p = Pos{T: p.T + 1}
	}
	return p
}

// Value is a value or key that means the same in every batch.
type Value = history.Owned
