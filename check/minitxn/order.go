package minitxn

import (
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/level"
)

// Answer is a verdict with its proof.
type Answer struct {
	Holds bool
	// Order proves Holds, in the form of evidence.Result.
	Order []uint32
	// Anomaly proves a violation. The caller's Complete sets its kind and text.
	Anomaly evidence.Anomaly
	// Edges is the number of edges of the graph.
	Edges int
}

// Check decides a history of mini-transactions at a serializable or snapshot level. [Outside] must have returned "" for
// the history. Check also decides linearizability if [MultiKey] has found no transaction on several keys: then it
// demands what strict-serializable does, without session order.
//
// Source:  [MTC] Algorithm 1 and §IV-D.
// Differs: divergence is found with the overwriters, and reported only if the other edges close no cycle with a more
// telling name; T ≠ S at lines 14 and 15 (errata M1); RW? (errata M2); real time follows from two integers for each
// transaction (errata M3; see [graph.Windows]) in place of an edge for each pair; at the snapshot levels the graph is
// that of begin and commit events.
// Cost: O(transactions + operations) at every level; a violation adds the search for a short cycle among the
// transactions that are on cycles.
func Check(v *prepass.View, l level.Level, skew int64) Answer {
	d := build(v, l, skew)
	k := kahn{d: d}
	k.run()
	want := v.NumCounts
	if d.Split {
		want *= 2
	}
	if d.div != nil || len(k.order) < want || k.disagrees {
		return Answer{Anomaly: d.violation(l), Edges: d.size}
	}
	if d.timed {
		// The result respects real time, because a transaction that ended before another began has the smaller number,
		// and the graph, because numbers never decrease along an edge.
		k.order = slice.Pick(k.order, graph.SortIndex(k.number))
	}
	return Answer{Holds: true, Order: k.order, Edges: d.size}
}

// kahn lists the nodes of the counting transactions in topological order, first in first out, until a cycle stops it.
type kahn struct {
	d     *dependencies
	waits []uint32 // edges that enter a node from nodes that are not out yet
	order []uint32
	// With real time, latest[node] is the latest start among the nodes before it in the graph and itself; number[i] is
	// that of order[i]. If a node ended before that, the graph contradicts real time.
	latest, number []int64
	disagrees      bool
}

// free removes an edge to a node from one whose latest start is m.
func (k *kahn) free(node int32, m int64) {
	if k.waits[node]--; k.waits[node] == 0 {
		k.order = append(k.order, uint32(node))
	}
	if k.latest != nil && k.latest[node] < m {
		k.latest[node] = m
	}
}

func (k *kahn) run() {
	d := k.d
	v, h := d.v, d.H
	n := uint32(h.NumTxns())
	nodes := v.NumCounts
	if d.Split {
		nodes *= 2
	}
	k.waits = d.waits
	k.order = make([]uint32, 0, nodes)
	var until []int64
	if d.timed {
		k.number = make([]int64, 0, nodes)
		k.latest, until = make([]int64, d.Base), make([]int64, n)
		for t := range n {
			k.latest[d.Begin(t)], until[t] = h.Window(t, d.Skew)
			k.latest[d.Commit(t)] = k.latest[d.Begin(t)]
		}
	}
	for t := range n {
		if b := d.Begin(t); v.Counts[t] && k.waits[b] == 0 {
			k.order = append(k.order, uint32(b))
		}
	}
	for head := 0; head < len(k.order); head++ {
		node := k.order[head]
		t := d.Txn(int32(node))
		begin, commit := !d.Split || node&1 == 0, !d.Split || node&1 == 1
		m := int64(history.NoTime)
		if k.latest != nil {
			m = k.latest[node]
			k.number = append(k.number, m)
			k.disagrees = k.disagrees || commit && m > until[t]
		}
		if begin {
			for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
				if u := d.next(w); u != none && u != t {
					k.free(d.Commit(u), m)
				}
			}
		}
		if commit {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				for r := d.versions[w].first; r > 0; {
					x := d.reads[r-1]
					k.free(d.Begin(x.txn), m)
					r = x.more
				}
			}
			d.followers(t, func(u uint32) { k.free(d.Begin(u), m) })
		} else {
			k.free(int32(node|1), m)
		}
	}
}
