// Package bcgraph decides snapshot isolation if the version order of each key is known. It uses the graph of begins and
// commits, which is acyclic iff the history is snapshot isolated, and Adya's start-ordered serialization graph, in
// which some cycles are allowed. With begin and commit joined, the first graph decides serializability.
//
// # Version orders
//
// [Chains] derives them from read-modify-writes: a transaction that read a version and then wrote the key wrote the
// next version. [Guess] completes them by commit timestamps or client times, which is an assumption: a "valid" under it
// is right, but a "violation" is not.
//
// # The two graphs
//
//	                              BC-graph                  Adya
//	j reads i's version           commit(i) → begin(j)      i wr j
//	j writes the next version     commit(i) → begin(j)      i ww j
//	j overwrites what i read      begin(i) → commit(j)      i rw j
//	i before j in session, time   commit(i) → begin(j)      i → j (start)
//	                              begin(i) → commit(i)
//
// The first must have no cycle, which takes linear time. The second must have no cycle without two adjacent
// anti-dependencies. For that, simple cycles are searched one by one, exponential in the worst case.
//
// # One graph for all levels
//
// The graphs of the six levels share edges. They differ in sessions, in time, and in whether begin and commit are one
// node. [Whole] adds a history's transactions one by one to a single graph, which decides all these levels.
//
// Source: [BCGraphs] Definitions 4 and 6, Theorem 8, §5; errata B1 to B6.
//
// # Files
//
//   - orders.go: version orders
//   - graph.go: the edges, for both graphs
//   - bc.go: the BC-graph; adya.go: the start-ordered serialization graph
//   - whole.go: a history in one graph; growing.go: one graph as those of several levels; chains.go: its version orders
//
// Experimental: this package may still change.
package bcgraph

import (
	"cmp"
	"slices"

	"isovet/check/prepass"
	"isovet/history"
)

const none = history.None

// Orders has the versions of each key in order.
type Orders struct {
	// Next[w] is the write after w of its key, None after the last one. The initial version of key k is write k.
	Next []uint32
}

// Chains derives version orders from read-modify-writes. If two transactions read one version and overwrote it, fork
// has the two writes, which snapshot isolation cannot order. If the order of a key is open, because some write read no
// earlier one, open is that write. If a key has only one blind write and no chain at its initial version, that write
// comes first. Cost: linear.
func Chains(v *prepass.View) (o Orders, fork [2]uint32, open uint32) {
	fork, open = [2]uint32{none, none}, none
	o.Next = slices.Repeat([]uint32{none}, len(v.WKey))
	nk := uint32(v.H.NumKeys())
	mine := make([]uint32, nk)
	stamp := make([]uint32, nk)
	blind := slices.Repeat([]uint32{none}, int(nk)) // key → its first write that read no earlier version
	for t := range uint32(v.H.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			mine[v.RKey[r]], stamp[v.RKey[r]] = v.RW[r], t+1
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			switch {
			case stamp[k] == t+1 && o.Next[mine[k]] == none:
				o.Next[mine[k]] = w
			case stamp[k] == t+1:
				if fork[0] == none {
					fork = [2]uint32{o.Next[mine[k]], w}
				}
			case blind[k] == none:
				blind[k] = w
			case open == none:
				open = w
			}
		}
	}
	for k, w := range blind {
		switch {
		case w == none:
		case o.Next[k] == none:
			o.Next[k] = w
		case open == none:
			open = w // another chain begins at the initial version
		}
	}
	return o, fork, open
}

// Guess completes the orders of [Chains]: the chains of a key follow each other by the commit timestamps of their first
// writers, if all have one, else by their clients' ends, else in the order of the file. An order of begins and commits
// under this guess is right, but if there is none, that proves nothing. by names the guess. Cost: a sort of the chains.
func Guess(v *prepass.View) (o Orders, by string) {
	o, _, _ = Chains(v)
	h := v.H
	nk := uint32(h.NumKeys())
	inner := make([]bool, len(v.WKey)) // has a predecessor
	for w, next := range o.Next {
		if next != none {
			inner[next] = true
		}
		if uint32(w) >= nk || next == none {
			continue
		}
		if t := v.WTxn[next]; !slices.Contains(v.RW[v.ROff[t]:v.ROff[t+1]], uint32(w)) {
			inner[next], o.Next[w] = false, none // the blind write that Chains puts first
		}
	}
	time, by := h.CommitTS, "commit timestamps"
	for t, c := range v.Counts {
		if c && v.WOff[t] < v.WOff[t+1] && h.CommitTS(uint32(t)) == history.NoTime {
			time, by = h.End, "client times"
		}
	}
	var heads []uint32
	for w := nk; int(w) < len(v.WKey); w++ {
		if !inner[w] {
			heads = append(heads, w)
		}
	}
	slices.SortStableFunc(heads, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(v.WKey[a], v.WKey[b]), cmp.Compare(time(v.WTxn[a]), time(v.WTxn[b])))
	})
	tail := func(w uint32) uint32 {
		for range v.WKey { // read-modify-writes may run in a circle
			if o.Next[w] == none {
				break
			}
			w = o.Next[w]
		}
		return w
	}
	last := none
	for i, w := range heads {
		if i == 0 || v.WKey[heads[i-1]] != v.WKey[w] {
			last = tail(v.WKey[w])
		}
		next := tail(w)
		o.Next[last] = w
		last = next
	}
	return o, by
}
