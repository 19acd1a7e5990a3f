package bcgraph

import (
	"cmp"
	"slices"
	"sort"

	"isovet/check/events"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/level"
)

// Input is what both graphs are built from.
type Input struct {
	V      *prepass.View
	Level  level.Level // a snapshot level; for a BC also a serializable one
	Skew   int64       // ns
	Orders Orders
}

// edge is a dependency of transaction to on transaction from. w is the write that was read (wr, rw), or that to
// installs (ww).
type edge struct {
	from, to uint32
	w        uint32
	dep      evidence.Dep
}

// dependencies calls f for each edge of reads, overwrites and anti-dependencies to the next version. Edges to later
// versions follow.
func (in *Input) dependencies(f func(e edge)) {
	v := in.V
	for t := range uint32(v.H.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			w := v.RW[r]
			if u := v.WTxn[w]; u != none {
				f(edge{u, t, w, evidence.WR})
			}
			next := in.Orders.Next[w]
			if next != none && v.WTxn[next] == t {
				// The transaction itself overwrote the version. The next overwriter comes after its commit, which says
				// more.
				next = none
			}
			if next != none {
				f(edge{t, v.WTxn[next], w, evidence.RW})
			}
		}
	}
	for w, next := range in.Orders.Next {
		if next != none && v.WTxn[w] != none {
			f(edge{v.WTxn[w], v.WTxn[next], next, evidence.WW})
		}
	}
}

// sessions calls f with an edge to each transaction from the one before it in its session or, with all, from every
// earlier one.
func (in *Input) sessions(all bool, f func(e edge)) {
	if in.Level.Sessions() {
		events.Sessions(in.V.H, in.V.Counts, all, func(t, u uint32) { f(edge{t, u, none, evidence.SO}) })
	}
}

// realTime calls f for each transaction with the transactions that begin after its end. If reduced is set, it leaves
// out of these the ones that begin after the first of them to end.
func (in *Input) realTime(reduced bool, f func(t uint32, after []uint32)) {
	txns := slice.Places[uint32](in.V.Counts, func(counts bool) bool { return counts })
	start := func(t uint32) int64 { s, _ := in.V.H.Window(t, in.Skew); return s }
	end := func(t uint32) int64 { _, e := in.V.H.Window(t, in.Skew); return e }
	slices.SortFunc(txns, func(x, y uint32) int { return cmp.Compare(start(x), start(y)) })
	first := make([]int64, len(txns)+1) // the first end among txns[i:]
	first[len(txns)] = graph.NoEnd
	for i := len(txns) - 1; i >= 0; i-- {
		first[i] = min(first[i+1], end(txns[i]))
	}
	later := func(than int64) int { // the first that begins later
		return sort.Search(len(txns), func(i int) bool { return start(txns[i]) > than })
	}
	for _, t := range txns {
		from, until := later(end(t)), len(txns)
		if reduced {
			until = later(first[from])
		}
		f(t, txns[from:max(from, until)])
	}
}

// start calls f for the edges of session order and real time: for each pair or, reduced, only for pairs with no third
// transaction between.
func (in *Input) start(reduced bool, f func(e edge)) {
	in.sessions(!reduced, f)
	if in.Level.RealTime() {
		in.realTime(reduced, func(t uint32, after []uint32) {
			for _, u := range after {
				f(edge{t, u, none, evidence.RT})
			}
		})
	}
}

// FullBytes and AdyaBytes are about the memory of a start edge in NewFullBC and in NewAdya, whose list grows.
const (
	FullBytes = 4
	AdyaBytes = 56
)

// StartEdges counts the start edges of NewAdya, or unless reduced of NewFullBC; it may count a few more of sessions.
// Cost: a sort.
func (in *Input) StartEdges(reduced bool) (n int) {
	if in.Level.Sessions() {
		h := in.V.H
		for s := range h.NumSessions() {
			m := int(h.SessOff[s+1] - h.SessOff[s])
			if reduced {
				n += m
			} else {
				n += m * (m - 1) / 2
			}
		}
	}
	if in.Level.RealTime() {
		in.realTime(reduced, func(_ uint32, after []uint32) { n += len(after) })
	}
	return n
}

// evidence turns an edge into evidence.
func (in *Input) evidence(e edge) evidence.Edge {
	v := in.V
	out := evidence.Edge{From: e.from, To: e.to, Key: none, Ver: none, Writer: none, Dep: e.dep}
	if e.w == none {
		return out
	}
	out.Key, out.Ver = v.WKey[e.w], v.WVer[e.w]
	if e.dep == evidence.RW {
		out.Writer = v.WTxn[e.w]
	}
	return out
}
