// Package census finds the anomalies of a history that violates a level, beside those that prove it: of each kind that
// the level forbids how many, and the smallest of them.
//
// Single reads are counted by the pre-pass. The others are cycles, in the graph of what the history shows without
// search: read-from edges, the order of the elements of lists, read-modify-writes, sessions, and real time. Of each
// strongly connected component there is one cycle of each class at most (only writes, with reads, with one
// anti-dependency, with several that are not adjacent, with any), without sessions and time, with sessions, and with
// time, as Elle finds them; and of each version that several overwrote, one lost update.
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
	"isovet/internal/sorts"
	"isovet/level"
)

const none = history.None

// Of returns anomalies of a history that the level forbids, without names and texts for cycles, and how many anomalies
// of single reads there are by kind. Where ctx ends it returns those found by then. Cost: that of the pre-pass, the
// components of the graph, and a bounded search in each.
func Of(ctx context.Context, h *history.History, l level.Level, skew int64) (found []evidence.Anomaly,
	reads map[level.Anomaly]int) {
	if !l.Serial() && !l.Snapshot() && l != level.RepeatableRead || h.HasPredicates() {
		return nil, nil
	}
	v := prepass.Run(h)
	found, reads = v.Anomalies, v.Kinds
	if h.HasLists() {
		v := lists.Read(h)
		for _, a := range v.Anomalies {
			if len(a.Ops) > 0 {
				found = append(found, a)
			}
		}
		if reads == nil {
			reads = map[level.Anomaly]int{}
		}
		for k, n := range v.Kinds {
			reads[k] += n
		}
	}
	g := newGraph(h, l, skew, v.Counts)
	found = append(found, g.forks()...)
	found = append(found, g.cycles(ctx)...)
	return found, reads
}

// Sorted puts anomalies in the order of their size, and then of the transactions' places.
func Sorted(as []evidence.Anomaly) {
	size := func(a *evidence.Anomaly) int {
		n := len(a.Ops) + len(a.Cycle)
		for _, c := range a.Cycles {
			n += len(c)
		}
		return n
	}
	sorts.Stable(as, func(a, b evidence.Anomaly) int {
		return cmp.Or(cmp.Compare(size(&a), size(&b)), slices.Compare(a.Txns, b.Txns))
	})
}
