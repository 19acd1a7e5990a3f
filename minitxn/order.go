package minitxn

import (
	"isovet/evidence"
	"isovet/graph"
	"isovet/history"
	"isovet/level"
	"isovet/prepass"
)

// Answer is a verdict with what proves it.
type Answer struct {
	Holds bool
	// Order proves Holds, as evidence.Result has it.
	Order []uint32
	// Anomaly is else the violation; its kind and text are left to its Complete.
	Anomaly evidence.Anomaly
	// Edges is how many edges the graph has.
	Edges int
}

// Check decides a history of mini-transactions, one of which [Outside] says nothing, at one of the serializable or snapshot levels, or
// at linearizable where [MultiKey] finds nothing: there as at strict-serializable, without session order.
//
// Source:  [MTC] Algorithm 1 and §IV-D.
// Differs: divergence is noted as the overwriters are found, and reported where no cycle among the others tells more; T ≠ S at lines 14 and 15 (errata M1); RW? (M2); real time by the lemma of two integers (M3; see [graph.Windows]) in place of an edge for each pair;
// at the snapshot levels the graph is that of begin and commit events.
// Cost: O(transactions + operations), whatever the level; a violation adds the search for a short cycle among what is on cycles.
func Check(v *prepass.View, l level.Level, skew int64) Answer {
	d := build(v, l, skew)
	order, edges := d.topological()
	want := v.NumCounts
	if d.split {
		want *= 2
	}
	ok := d.div == nil && len(order) == want
	if ok && d.from != nil {
		var latest []int64
		if latest, ok = d.latest(order); ok {
			order = sortBy(order, latest)
		}
	}
	if !ok {
		return Answer{Anomaly: d.violation(l), Edges: edges}
	}
	return Answer{Holds: true, Order: order, Edges: edges}
}

// topological lists the nodes of the transactions that count, first in first out, as far as no cycle stops it (Kahn); edges counts the edges of
// the graph.
func (d *dependencies) topological() (order []uint32, edges int) {
	v, h := d.v, d.h
	n := uint32(h.NumTxns())
	waits := make([]uint32, d.nodes())
	d.indegrees(waits)
	nodes := v.NumCounts
	if d.split {
		nodes *= 2
	}
	order = make([]uint32, 0, nodes)
	for t := range n {
		if b := d.begins(t); v.Counts[t] && waits[b] == 0 {
			order = append(order, b)
		}
	}
	for _, w := range waits {
		edges += int(w)
	}
	free := func(b uint32) {
		if waits[b]--; waits[b] == 0 {
			order = append(order, b)
		}
	}
	for head := 0; head < len(order); head++ {
		node := order[head]
		t := d.txn(node)
		begin, commit := !d.split || node&1 == 0, !d.split || node&1 == 1
		if begin {
			for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
				if u := d.next[w]; u != none && u != t {
					free(d.ends(u))
				}
			}
		}
		if commit {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				for r := d.first[w]; r != none; r = d.more[r] {
					free(d.begins(d.reader[r]))
				}
			}
			if d.place != nil {
				d.followers(t, func(u uint32) { free(d.begins(u)) })
			}
		} else {
			free(node | 1)
		}
	}
	return order, edges
}

// indegrees counts the edges that enter each node.
func (d *dependencies) indegrees(waits []uint32) {
	v, h := d.v, d.h
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		if d.split {
			waits[t<<1|1]++
		}
		b := d.begins(t)
		for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
			if v.WTxn[w] != none {
				waits[b]++
			}
			if u := d.next[w]; u != none && u != t {
				waits[d.ends(u)]++
			}
		}
	}
	if d.place == nil {
		return
	}
	for s := range h.NumSessions() {
		before := false
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if !v.Counts[t] {
				continue
			}
			if before {
				waits[d.begins(t)]++
			}
			before = before || h.Txns.Status[t] == history.Committed
		}
	}
}

// latest gives each place of the order the latest start among what the graph puts before it, itself included; ok is
// false if a node ended before that: then real time and the graph disagree.
func (d *dependencies) latest(order []uint32) (byPlace []int64, ok bool) {
	v := d.v
	late := make([]int64, d.nodes())
	for t, from := range d.from {
		late[d.begins(uint32(t))] = from
		if d.split {
			late[t<<1|1] = from
		}
	}
	byPlace = make([]int64, len(order))
	for i, node := range order {
		m := late[node]
		byPlace[i] = m
		t := d.txn(node)
		begin, commit := !d.split || node&1 == 0, !d.split || node&1 == 1
		if commit && m > d.until[t] {
			return nil, false
		}
		if begin {
			for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
				if u := d.next[w]; u != none && u != t {
					if e := d.ends(u); late[e] < m {
						late[e] = m
					}
				}
			}
		}
		if commit {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				for r := d.first[w]; r != none; r = d.more[r] {
					if b := d.begins(d.reader[r]); late[b] < m {
						late[b] = m
					}
				}
			}
			if d.place != nil {
				d.followers(t, func(u uint32) {
					if b := d.begins(u); late[b] < m {
						late[b] = m
					}
				})
			}
		} else if late[node|1] < m {
			late[node|1] = m
		}
	}
	return byPlace, true
}

// sortBy sorts an order by its numbers, stably. What ended before another began has the smaller number, and an edge goes to one that is
// no smaller: so the result respects both.
func sortBy(order []uint32, number []int64) []uint32 {
	out := make([]uint32, len(order))
	for i, at := range graph.SortIndex(number) {
		out[i] = order[at]
	}
	return out
}
