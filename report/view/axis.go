package view

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"isovet/history"
	"isovet/internal/heap"
)

// axis has the times and the row of each transaction.
type axis struct {
	h *history.History
	// Kind is "time" (nanoseconds from the first begin), "timestamps", or "places": without times, a transaction is
	// drawn at its place in its session or in the file.
	kind, label string
	zero, span  int64 // the first moment, and the last one counted from it
	// start and end count from zero. A transaction of unknown outcome has no end; it is drawn up to the next one in
	// its row.
	start, end []int64
	rows       []row
	rowOf      []uint32
	untimed    int // transactions that have no time where others have one
}

// row is a row of the figure: a session, or some transactions without a session.
type row struct {
	name string
	txns []uint32 // by start
	// last[i] is the greatest end of the first i+1 transactions. It finds those that reach into a window.
	last []int64
}

// looseRows bounds the rows for transactions without a session.
const looseRows = 256

// newAxis finds the axis of a history. Cost: linear if sessions are in the order of time; 24 bytes a transaction.
func newAxis(h *history.History) *axis {
	x := &axis{h: h}
	x.times()
	x.sessions()
	x.open()
	for i := range x.rows {
		r := &x.rows[i]
		r.last = make([]int64, len(r.txns))
		last := int64(0)
		for j, t := range r.txns {
			last = max(last, x.end[t])
			r.last[j] = last
		}
	}
	return x
}

// unknown reports whether no entry of a column is known.
func unknown(col []int64) bool {
	return !slices.ContainsFunc(col, func(at int64) bool { return at != history.NoTime })
}

func (x *axis) times() {
	h, n := x.h, x.h.NumTxns()
	x.start, x.end = make([]int64, n), make([]int64, n)
	begin, end := h.Txns.Start, h.Txns.End
	x.kind, x.label = "time", "time since the first transaction began"
	if h.Positions {
		x.kind, x.label = "places", "place in the file"
	}
	if unknown(begin) {
		begin, end = h.Txns.StartTS, h.Txns.CommitTS
		x.kind, x.label = "timestamps", "the database's timestamps"
	}
	if unknown(begin) {
		x.places()
		return
	}
	first := true
	for t, at := range begin {
		if at != history.NoTime && uint32(t) != h.Init && (first || at < x.zero) {
			x.zero, first = at, false
		}
	}
	before := x.zero
	for t := range x.start {
		if uint32(t) == h.Init {
			continue
		}
		at := begin[t]
		if at == history.NoTime { // it stands where those beside it do
			at = before
			x.untimed++
		}
		before = at
		x.start[t] = at - x.zero
		x.end[t] = x.start[t]
		if end != nil && end[t] != history.NoTime {
			x.end[t] = max(x.start[t], end[t]-x.zero)
		} else if x.kind == "time" {
			x.end[t] = max(x.start[t], x.lastKnown(uint32(t)))
		}
		x.span = max(x.span, x.end[t])
	}
	x.span = max(x.span, 1)
}

// lastKnown returns the last moment at which a transaction without a known end was certainly open.
func (x *axis) lastKnown(t uint32) int64 {
	h := x.h
	last := max(h.Start(t), h.Commit(t))
	if h.Ops.End != nil {
		if lo, hi := h.TxnOps(t); hi > lo {
			last = max(last, h.OpEnd(hi-1))
		}
	}
	if last == history.NoTime {
		return 0
	}
	return last - x.zero
}

// places sets the times of a history without any: the place in the session or, without sessions, in the file.
func (x *axis) places() {
	h := x.h
	x.kind, x.label = "places", "place in the session"
	if slices.Contains(h.SessName, history.NoTime) {
		x.label = "place in the file"
	}
	at := int64(0)
	for t := range x.start {
		if uint32(t) == h.Init {
			continue
		}
		x.start[t], x.end[t] = 10*at, 10*at+9
		at++
	}
	if x.label == "place in the session" {
		for s := range h.NumSessions() {
			at := int64(0)
			for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				if t != h.Init {
					x.start[t], x.end[t] = 10*at, 10*at+9
					at++
				}
			}
		}
	}
	x.span = 1
	for _, e := range x.end {
		x.span = max(x.span, e)
	}
}

// sessions makes a row for each session, by number, and packs the transactions without a session into rows.
func (x *axis) sessions() {
	h := x.h
	x.rowOf = make([]uint32, h.NumTxns())
	var named, loose []uint32
	for s := range h.NumSessions() {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		switch {
		case len(txns) == 1 && txns[0] == h.Init:
		case h.SessName[s] == history.NoTime:
			loose = append(loose, txns...)
		default:
			named = append(named, uint32(s))
		}
	}
	slices.SortFunc(named, func(a, b uint32) int { return cmp.Compare(h.SessName[a], h.SessName[b]) })
	for _, s := range named {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		if h.Init != history.None && h.Txns.Sess[h.Init] == s {
			txns = slices.DeleteFunc(slices.Clone(txns), func(t uint32) bool { return t == h.Init })
		}
		x.add(fmt.Sprintf("session %d", h.SessName[s]), x.byStart(txns))
	}
	x.pack(x.byStart(loose))
}

// byStart returns transactions sorted by time. It copies the slice only if it is not sorted.
func (x *axis) byStart(txns []uint32) []uint32 {
	less := func(a, b uint32) int { return cmp.Compare(x.start[a], x.start[b]) }
	if slices.IsSortedFunc(txns, less) {
		return txns
	}
	txns = slices.Clone(txns)
	slices.SortStableFunc(txns, less)
	return txns
}

func (x *axis) add(name string, txns []uint32) {
	for _, t := range txns {
		x.rowOf[t] = uint32(len(x.rows))
	}
	x.rows = append(x.rows, row{name: name, txns: txns})
}

// pack puts transactions without a session into the fewest rows in which none overlap, but at most looseRows.
func (x *axis) pack(txns []uint32) {
	if len(txns) == 0 {
		return
	}
	var rows [][]uint32
	var free heap.Heap[int64, uint32] // when a row is free again
	for _, t := range txns {
		at := len(rows)
		if len(rows) > 0 {
			if until, r := free.Top(); until < x.start[t] || len(rows) == looseRows {
				free.Pop()
				at = int(r)
			}
		}
		if at == len(rows) {
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], t)
		free.Push(x.end[t], uint32(at))
	}
	for i, r := range rows {
		x.add(fmt.Sprintf("no session, %d", i+1), r)
	}
}

// open gives each transaction of unknown outcome an end: the begin of the next one in its row.
func (x *axis) open() {
	for i := range x.rows {
		txns := x.rows[i].txns
		for j, t := range txns {
			if !x.isOpen(t) {
				continue
			}
			until := x.span
			if j+1 < len(txns) {
				until = x.start[txns[j+1]] - 1
			}
			x.end[t] = max(x.end[t], until)
		}
	}
}

// isOpen reports whether a transaction has no known end.
func (x *axis) isOpen(t uint32) bool {
	return x.h.Txns.Status[t] == history.Unknown && x.label != "place in the session"
}

// within returns a range of a row's transactions that includes all that overlap a window. Some may end before it.
func (x *axis) within(r *row, from, to int64) (lo, hi int) {
	lo = sort.Search(len(r.txns), func(i int) bool { return r.last[i] >= from })
	hi = lo + sort.Search(len(r.txns)-lo, func(i int) bool { return x.start[r.txns[lo+i]] > to })
	return lo, hi
}
