package bcgraph

import (
	"isovet/check/events"
	"isovet/evidence"
	"isovet/level"
	"isovet/prepass"
)

// Input is what both graphs are made of.
type Input struct {
	V      *prepass.View
	Level  level.Level // of the snapshot levels
	Skew   int64       // ns
	Orders Orders
}

// edge is a dependency of transaction to on transaction from; w is the write that was read (wr, rw) or that to installs
// (ww).
type edge struct {
	from, to uint32
	w        uint32
	dep      evidence.Dep
}

// dependencies calls f for each edge of reads, overwrites and anti-dependencies, the next version only: what is later
// follows.
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
				// The transaction overwrote what it read. Who overwrote that is after its commit, which says more.
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

// sessions calls f for each transaction and, unless all is set, the one before it in its session; else each earlier
// one.
func (in *Input) sessions(all bool, f func(e edge)) {
	if in.Level.Sessions() {
		events.Sessions(in.V.H, in.V.Counts, all, func(t, u uint32) { f(edge{t, u, none, evidence.SO}) })
	}
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
