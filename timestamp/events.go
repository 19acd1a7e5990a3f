package timestamp

import (
	"fmt"

	"isovet/history"
)

// A moment is a transaction's start or commit: t<<1, or t<<1|1 for the commit.
type moment = uint32

// timeline is a history in the order of its timestamps.
type timeline struct {
	h *history.History
	// in says which transactions take part.
	in []bool
	// backwards are those that commit before they start.
	backwards []uint32
	moments   []moment
}

// commitTS is the timestamp at which t took effect, or NoTime where it did not.
func commitTS(h *history.History, t uint32) int64 {
	if t == h.Init || h.Txns.Status[t] == history.Aborted {
		return history.NoTime
	}
	return h.CommitTS(t)
}

// newTimeline sorts the starts and commits; without starts only the commits, where atStart picks transactions that are placed at
// their start instead. Errors are *history.InputError: a committed transaction without timestamps, writers that tie.
// Cost: radix sort, linear.
func newTimeline(h *history.History, starts bool, atStart func(t uint32) bool) (*timeline, error) {
	n := h.NumTxns()
	l := &timeline{h: h, in: make([]bool, n)}
	fail := func(t uint32, field, format string, args ...any) error {
		return &history.InputError{File: h.File, Line: int(h.Txns.Line[t]), Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	// Three runs, so that a stable sort leaves ties as they must be: commits, starts, commits of those that start where they commit.
	var early, begin, late []moment
	for t := range uint32(n) {
		c := commitTS(h, t)
		if c == history.NoTime {
			if t != h.Init && h.Txns.Status[t] == history.Committed {
				return nil, fail(t, "commit_ts", "transaction %d has none; expected the database's timestamps on every committed transaction", h.Txns.ID[t])
			}
			continue
		}
		s := h.StartTS(t)
		if s == history.NoTime {
			return nil, fail(t, "start_ts", "transaction %d has none; expected the database's timestamps on every committed transaction", h.Txns.ID[t])
		}
		if s > c {
			l.backwards = append(l.backwards, t)
			continue
		}
		if s == c && writes(h, t) {
			return nil, fail(t, "commit_ts", "transaction %d writes and commits where it starts, at %d; expected a later timestamp", h.Txns.ID[t], c)
		}
		l.in[t] = true
		switch {
		case !starts && atStart(t):
			begin = append(begin, t<<1)
		case s == c && starts:
			begin = append(begin, t<<1)
			late = append(late, t<<1|1)
		default:
			if starts {
				begin = append(begin, t<<1)
			}
			early = append(early, t<<1|1)
		}
	}
	l.moments = append(append(early, begin...), late...)
	l.sort()
	// Writers that commit at one timestamp stand next to each other, but for commits that install nothing.
	last, lastTS := history.None, int64(0)
	for _, m := range l.moments {
		if t := m >> 1; m&1 == 1 && writes(h, t) {
			if c := h.Txns.CommitTS[t]; last != history.None && c == lastTS {
				return nil, fail(t, "commit_ts", "transactions %d and %d both write and commit at %d; expected different timestamps", h.Txns.ID[last], h.Txns.ID[t], c)
			}
			last, lastTS = t, h.Txns.CommitTS[t]
		}
	}
	return l, nil
}

// writes reports whether a transaction installs anything.
func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Write, history.Append:
			return true
		case history.PredWrite:
			if p := h.Ops.Ver[op]; h.Preds.Off[p] < h.Preds.Off[p+1] {
				return true
			}
		}
	}
	return false
}

// at is the timestamp of a moment.
func (l *timeline) at(m moment) int64 {
	if m&1 == 1 {
		return l.h.Txns.CommitTS[m>>1]
	}
	return l.h.Txns.StartTS[m>>1]
}

const (
	digit   = 11
	buckets = 1 << digit
)

// sort sorts the moments by timestamp, stably: radix sort over digits of 11 bits, those above the largest difference left out.
func (l *timeline) sort() {
	if len(l.moments) == 0 {
		return
	}
	type entry struct {
		key uint64
		m   moment
	}
	a, b := make([]entry, len(l.moments)), make([]entry, len(l.moments))
	least := l.at(l.moments[0])
	for _, m := range l.moments {
		least = min(least, l.at(m))
	}
	most := uint64(0)
	for i, m := range l.moments {
		k := uint64(l.at(m)) - uint64(least)
		most = max(most, k)
		a[i] = entry{k, m}
	}
	var count [buckets]uint32
	for shift := 0; shift < 64 && most>>shift > 0; shift += digit {
		clear(count[:])
		for i := range a {
			count[a[i].key>>shift&(buckets-1)]++
		}
		sum := uint32(0)
		for d, c := range count {
			count[d] = sum
			sum += c
		}
		for i := range a {
			d := a[i].key >> shift & (buckets - 1)
			b[count[d]] = a[i]
			count[d]++
		}
		a, b = b, a
	}
	for i := range a {
		l.moments[i] = a[i].m
	}
}
