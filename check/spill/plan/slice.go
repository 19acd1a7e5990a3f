package plan

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// Split removes the transactions from a slice of the order that belong after it. These read a version that neither
// exists before the slice nor is installed by a staying transaction; or they follow such a transaction in their session
// or in real time, if the level demands that. txns are in their current order, and so are both results. Cost: a pass
// over the operations, and one more for each pass that removed some; usually two.
func Split(txns []*Txn, state map[Value]Value, l level.Level) (stay, later []*Txn) {
	installs := make(map[Want]int) // by the number of staying transactions that install it
	for _, x := range txns {
		if x.TakesPart() {
			x.External(func(*Op) {}, func(op *Op) { installs[Want{op.Key, op.Value}]++ })
		}
	}
	gone := make([]bool, len(txns))
	first := make(map[int64]uint64) // session → place of its first transaction that left
	ended := int64(behindAll)       // earliest end of a transaction that left
	for more := true; more; {
		more = false
		for i, x := range txns {
			if gone[i] || !x.TakesPart() {
				continue
			}
			out := l.RealTime() && x.Start != history.NoTime && x.Start > ended
			if p, is := first[x.Session]; is && l.Sessions() && x.Session != history.NoTime && p < x.Place {
				out = true
			}
			if !out {
				x.External(func(op *Op) {
					if v, is := state[op.Key]; (!is || v != op.Value) && installs[Want{op.Key, op.Value}] == 0 {
						out = true
					}
				}, func(*Op) {})
			}
			if !out {
				continue
			}
			gone[i], more = true, true
			x.External(func(*Op) {}, func(op *Op) { installs[Want{op.Key, op.Value}]-- })
			if p, is := first[x.Session]; !is || x.Place < p {
				first[x.Session] = x.Place
			}
			if x.Status == history.Committed && x.End != history.NoTime {
				ended = min(ended, x.End)
			}
		}
	}
	for i, x := range txns {
		if gone[i] {
			later = append(later, x)
		} else {
			stay = append(stay, x)
		}
	}
	return stay, later
}

// Prefix returns the longest prefix of a slice's order that has only whole transactions below n.
func Prefix(txns []*Txn, events []int32, n int) []int32 {
	q := slices.IndexFunc(events, func(e int32) bool { return int(e>>1) >= n })
	if q < 0 {
		q = len(events)
	}
	begun := make([]int, len(txns))
	for p, e := range events {
		if e&1 == 0 {
			begun[e>>1] = p
		}
	}
	for p := len(events) - 1; p >= 0; p-- { // what commits after it also begins after it
		if e := events[p]; e&1 == 1 && p >= q {
			q = min(q, begun[e>>1])
		}
	}
	return events[:q]
}
