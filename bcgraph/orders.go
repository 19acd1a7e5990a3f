// Package bcgraph decides snapshot isolation where the order of each key's versions is known: by the graph of begins and commits,
// which is acyclic iff the history is snapshot isolated, and by Adya's start-ordered serialization graph, in which some cycles are
// allowed.
//
// # Version orders
//
// [Chains] reads them off read-modify-writes: who read a version and wrote the next one is its successor. [ByCommits] takes them from
// the database's commit timestamps, which is an assumption: a "valid" under it is one, a "violation" is none.
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
// The first must have no cycle, which is linear; the second none without two anti-dependencies in a row, for which simple cycles are
// searched one by one, exponential in the worst case.
//
// Source: [BCGraphs] Definitions 4 and 6, Theorem 8, §5; errata B1 to B6.
//
// # Files
//
//   - orders.go: version orders
//   - graph.go: the edges, told once for both
//   - bc.go: the BC-graph; adya.go: the start-ordered serialization graph
package bcgraph

import (
	"cmp"
	"slices"

	"isovet/history"
	"isovet/prepass"
)

const none = history.None

// Orders are the versions of each key in order.
type Orders struct {
	// Next[w] is the write after w of its key, None after the last. The initial version of key k is write k.
	Next []uint32
}

// Chains reads version orders off read-modify-writes. Where two transactions read one version and overwrote it, fork names the two
// writes: snapshot isolation has no order of them. Where the order of a key is open, because some write read no earlier one, open is
// that write; blind writes of the only chain of a key come first. Cost: linear.
func Chains(v *prepass.View) (o Orders, fork [2]uint32, open uint32) {
	fork, open = [2]uint32{none, none}, none
	o.Next = make([]uint32, len(v.WKey))
	for w := range o.Next {
		o.Next[w] = none
	}
	nk := uint32(v.H.NumKeys())
	mine := make([]uint32, nk)
	stamp := make([]uint32, nk)
	blind := make([]uint32, nk) // key → its first write that read no earlier version
	for k := range blind {
		blind[k] = none
	}
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

// ByCommits orders versions by the commit timestamps of their transactions. false: one that counts has none, or two writers of a key
// have the same. Cost: a sort.
func ByCommits(v *prepass.View) (o Orders, ok bool) {
	h := v.H
	o.Next = make([]uint32, len(v.WKey))
	for w := range o.Next {
		o.Next[w] = none
	}
	nk := uint32(h.NumKeys())
	ws := make([]uint32, 0, len(v.WKey)-int(nk))
	for w := nk; int(w) < len(v.WKey); w++ {
		if h.CommitTS(v.WTxn[w]) == history.NoTime {
			return o, false
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(v.WKey[a], v.WKey[b]), cmp.Compare(h.CommitTS(v.WTxn[a]), h.CommitTS(v.WTxn[b])))
	})
	for i, w := range ws {
		last := v.WKey[w]
		if i > 0 && v.WKey[ws[i-1]] == last {
			if last = ws[i-1]; h.CommitTS(v.WTxn[last]) == h.CommitTS(v.WTxn[w]) {
				return o, false
			}
		}
		o.Next[last] = w
	}
	return o, true
}
