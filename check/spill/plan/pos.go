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
	switch {
	case p.T != q.T:
		return cmp.Compare(p.T, q.T)
	case p.N != q.N:
		return cmp.Compare(p.N, q.N)
	}
	return cmp.Compare(p.Sub, q.Sub)
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

// Value is a value or key that means the same in every batch. Text is the content of a string or row.
type Value struct {
	N    int64
	Kind history.ValueKind
	Text string
}

// ValueOf returns a value of a batch.
func ValueOf(h *history.History, v history.Value) Value {
	if v.Kind == history.String || v.Kind == history.Row {
		return Value{Kind: v.Kind, Text: string(h.Texts.Text(uint32(v.N)))}
	}
	return Value{Kind: v.Kind, N: v.N}
}

// In adds the value to a builder.
func (v Value) In(b *history.Builder) history.Value {
	switch v.Kind {
	case history.String:
		return b.StringValue([]byte(v.Text))
	case history.Row:
		return b.RowValue([]byte(v.Text))
	}
	return history.Value{Kind: v.Kind, N: v.N}
}

// compare orders values, arbitrarily but consistently.
func (v Value) compare(w Value) int {
	return cmp.Or(cmp.Compare(v.Kind, w.Kind), cmp.Compare(v.N, w.N), cmp.Compare(v.Text, w.Text))
}

// String is the value as JSON.
func (v Value) String() string {
	var t history.Texts
	w := history.Value{Kind: v.Kind, N: v.N}
	if v.Kind == history.String || v.Kind == history.Row {
		w.N = int64(t.Intern([]byte(v.Text)))
	}
	return string(t.AppendValue(nil, w))
}
