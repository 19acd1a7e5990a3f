// Package census finds all anomalies of a history that violates a level: how many there are of each kind that the level
// forbids, and the smallest of each.
//
// The pre-pass counts anomalies of single reads. The others are cycles in the graph of what the history shows without a
// search: read-from edges, the order of elements in lists, read-modify-writes, sessions, and real time. In each
// strongly connected component it finds, as Elle does, at most one cycle of each class: only writes; with reads; with
// one anti-dependency; with several that are not adjacent; with any. It searches without sessions and time, with
// sessions, and with time. If several transactions overwrote one version, it also finds one lost update for that
// version.
//
// The caller certifies the cycles. A cycle that needs more than the history's own edges is not counted.
//
// Source: Elle, elle.txn (Kingsbury and Alvaro 2020); Adya 1999 for the classes.
//
// Experimental: this package may still change.
package census

import (
	"cmp"
	"context"
	"slices"

	"isovet/check/lists"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

const none = history.None

// Of returns anomalies of a history that the level forbids, without names and texts for cycles, and the number of
// anomalies of single reads by kind. If ctx or a bound of the search ends it, Of returns those found so far, and cut is
// set. Cost: that of the pre-pass, the components of the graph, and a bounded search in each.
func Of(ctx context.Context, h *history.History, l level.Level, skew int64) (
	found []evidence.Anomaly, reads map[level.Anomaly]int, cut bool) {
	if !l.Serial() && !l.Snapshot() && l != level.RepeatableRead || h.HasPredicates() {
		return nil, nil, false
	}
	v := prepass.Run(h)
	found, reads = v.Anomalies, v.Kinds
	if reads[level.NonRepeatableRead] > 0 {
		each := prepass.RunWith(h, prepass.Options{EachRead: true})
		found = append(found, laterReads(found, each.Anomalies)...)
	}
	if h.HasLists() {
		counts, v := v.Counts, lists.Read(h)
		for t := range counts { // a read of a list may show that a transaction of unknown outcome committed
			lo, hi := h.TxnOps(uint32(t))
			counts[t] = counts[t] || v.Counts[t] && !slices.Contains(h.Ops.Kind[lo:hi], history.ReadList)
		}
		found = append(found, slice.Filter(v.Anomalies, func(a evidence.Anomaly) bool { return len(a.Ops) > 0 })...)
		if v.Kinds[level.NonRepeatableRead] > 0 {
			each := lists.ReadWith(h, lists.Options{EachRead: true})
			found = append(found, laterReads(v.Anomalies, each.Anomalies)...)
		}
		slice.MakeMap(&reads)
		for k, n := range v.Kinds {
			reads[k] += n
		}
	}
	bury(v)
	g := newGraph(v, l, skew)
	cycles := g.cycles(ctx)
	return append(g.forks(found, len(cycles)), cycles...), reads, g.cut
}

// laterReads returns those of the anomalies in each that are about a second read which already differs from the first,
// as found says, or about two orders of a list. Such a read may also show what aborted, or never was, or another order.
func laterReads(found, each []evidence.Anomaly) (out []evidence.Anomaly) {
	later := map[uint32]bool{}
	for _, a := range found {
		if a.Kind == level.NonRepeatableRead {
			later[a.Ops[1]] = true
		}
	}
	return slice.Filter(each, func(a evidence.Anomaly) bool { return len(a.Ops) == 0 || later[a.Ops[0]] })
}

// bury takes out the transactions of unknown outcome that cannot have committed, and those that read from them.
func bury(v *prepass.View) {
	if v.Impossible == nil {
		return
	}
	gone := slices.Clone(v.Impossible)
	readers := map[uint32][]uint32{} // transaction → those of unknown outcome that read from it
	for t := range uint32(len(v.Counts)) {
		if !v.Counts[t] {
			gone = append(gone, t)
		}
		for r := v.ROff[t]; r < v.ROff[t+1] && v.H.Txns.Status[t] == history.Unknown; r++ {
			if w := v.RW[r]; w != none && !v.Initial(w) {
				readers[v.WTxn[w]] = append(readers[v.WTxn[w]], t)
			}
		}
	}
	for ; len(gone) > 0; gone = gone[1:] {
		v.Counts[gone[0]] = false
		for _, t := range readers[gone[0]] {
			if v.Counts[t] {
				v.Counts[t] = false
				gone = append(gone, t)
			}
		}
	}
}

// Sorted returns the anomalies' places, sorted by the anomalies' size and then by the places of their transactions.
func Sorted(as []evidence.Anomaly) []int {
	places, size := make([]int, len(as)), make([]int, len(as))
	for i, a := range as {
		places[i], size[i] = i, len(a.Ops)+len(a.Cycle)
		for _, c := range a.Cycles {
			size[i] += len(c)
		}
	}
	slices.SortFunc(places, func(i, j int) int {
		return cmp.Or(size[i]-size[j], slices.Compare(as[i].Txns, as[j].Txns), i-j)
	})
	return places
}
