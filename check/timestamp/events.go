package timestamp

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"isovet/history"
	"isovet/internal/sorts"
)

// A moment is a transaction's start or commit: t<<1, or t<<1|1 for the commit.
type moment = uint32

// timeline is a history in the order of its timestamps.
type timeline struct {
	h *history.History
	// in says which transactions take part.
	in []bool
	// writer says which transactions install versions.
	writer []bool
	o      Options
	// backwards are the transactions that commit before they start.
	backwards []uint32
	// bySession says that some session's order is not that of the file, so that ties must follow sessions.
	bySession bool
	moments   []moment
}

// commitTS returns the timestamp at which t took effect, or NoTime if it did not.
func commitTS(h *history.History, t uint32) int64 {
	if t == h.Init || h.Txns.Status[t] == history.Aborted {
		return history.NoTime
	}
	return h.CommitTS(t)
}

// newTimeline sorts the starts and commits; at the serializable levels only the commits, and the starts of transactions
// that are placed there. Errors: *Missing for a committed transaction without timestamps, and *history.InputError for
// writers that tie. Cost: radix sort, linear.
func newTimeline(h *history.History, o Options) (*timeline, error) {
	starts := !o.Level.Serial()
	n := h.NumTxns()
	l := &timeline{h: h, o: o, in: make([]bool, n), writer: make([]bool, n), bySession: scrambled(h)}
	fail := func(t uint32, field, format string, args ...any) error {
		return &history.InputError{File: h.File, Line: int(h.Txns.Line[t]), Off: -1, Field: field,
			Msg: fmt.Sprintf(format, args...)}
	}
	// There are two runs, so that a stable sort puts ties in the right order: first moments that install versions, then
	// the others. A transaction that starts where it commits installs nothing. Its two moments are adjacent, so that it
	// is over when the next one of its session starts.
	early, begin := make([]stamp, 0, 2*n), make([]stamp, 0, n)
	for i := range uint32(n) {
		t := i
		if l.bySession {
			t = h.SessTxn[i]
		}
		c := commitTS(h, t)
		if c == history.NoTime {
			if t != h.Init && h.Txns.Status[t] == history.Committed {
				return nil, &Missing{h.Txns.ID[t], "commit_ts"}
			}
			continue
		}
		write := writes(h, t)
		atStart := !starts && o.ReadOnlyAtStart && !write
		s := h.StartTS(t)
		if starts || atStart {
			switch {
			case s == history.NoTime:
				return nil, &Missing{h.Txns.ID[t], "start_ts"}
			case s > c:
				l.backwards = append(l.backwards, t)
				continue
			case s == c && write:
				return nil, fail(t, "commit_ts", "transaction %d writes, but commits at its start, %d; expected a "+
					"later commit timestamp", h.Txns.ID[t], c)
			}
		}
		l.in[t], l.writer[t] = true, write
		switch {
		case atStart:
			begin = append(begin, stamp{s, t << 1})
		case !starts && write:
			early = append(early, stamp{c, t<<1 | 1})
		case !starts:
			begin = append(begin, stamp{c, t<<1 | 1})
		case s == c:
			begin = append(begin, stamp{s, t << 1}, stamp{c, t<<1 | 1})
		default:
			begin = append(begin, stamp{s, t << 1})
			early = append(early, stamp{c, t<<1 | 1})
		}
	}
	l.moments = sortStamps(append(early, begin...), 2*uint64(n))
	// Writers that commit at one timestamp are adjacent, except for commits without writes.
	last, lastTS := history.None, int64(0)
	for _, m := range l.moments {
		if t := m >> 1; m&1 == 1 && l.writer[t] {
			if c := h.Txns.CommitTS[t]; last != history.None && c == lastTS {
				return nil, fail(t, "commit_ts", "transactions %d and %d both write and commit at %d; expected "+
					"different timestamps", h.Txns.ID[last], h.Txns.ID[t], c)
			}
			last, lastTS = t, h.Txns.CommitTS[t]
		}
	}
	return l, nil
}

// scrambled reports whether a session's order differs from that of the transactions' numbers.
func scrambled(h *history.History) bool {
	for n := range h.NumSessions() {
		if !slices.IsSorted(h.SessTxn[h.SessOff[n]:h.SessOff[n+1]]) {
			return true
		}
	}
	return false
}

// writes reports whether a transaction installs anything.
func writes(h *history.History, t uint32) bool {
	for op := range h.EachOp(t) {
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

// Missing says that a committed transaction has no timestamp. The file is correct, but timestamps then decide nothing.
type Missing struct {
	Txn   int64 // id in the file
	Field string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("transaction %d has no %s; every committed transaction needs its timestamps", m.Txn, m.Field)
}

// begin and end return the timestamps between which t runs, at the serializable levels one and the same.
func (l *timeline) begin(t uint32) int64 {
	if l.o.Level.Serial() && !(l.o.ReadOnlyAtStart && !l.writer[t]) {
		return l.h.Txns.CommitTS[t]
	}
	return l.h.Txns.StartTS[t]
}

func (l *timeline) end(t uint32) int64 {
	if l.o.Level.Serial() {
		return l.begin(t)
	}
	return l.h.Txns.CommitTS[t]
}

// at returns the timestamp of a moment.
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

// stamp is a moment and its timestamp.
type stamp struct {
	ts int64
	m  moment
}

// sortStamps sorts moments, all below limit, by timestamp, stably. It is a radix sort of one word a moment over digits
// of 11 bits, as many as the largest difference has. If timestamps are too far apart to fit beside the moment, it sorts
// by comparison.
func sortStamps(in []stamp, limit uint64) []moment {
	out := make([]moment, len(in))
	if len(in) == 0 {
		return out
	}
	least, most := in[0].ts, in[0].ts
	for i := range in {
		least, most = min(least, in[i].ts), max(most, in[i].ts)
	}
	span, low := uint64(most)-uint64(least), bits.Len64(limit)
	if bits.Len64(span)+low > 64 {
		sorts.Stable(in, func(a, b stamp) int { return cmp.Compare(a.ts, b.ts) })
		for i := range in {
			out[i] = in[i].m
		}
		return out
	}
	a, b := make([]uint64, len(in)), make([]uint64, len(in))
	for i := range in {
		a[i] = (uint64(in[i].ts)-uint64(least))<<low | uint64(in[i].m)
	}
	var count [buckets]uint32
	for shift := low; shift < 64 && span>>(shift-low) > 0; shift += digit {
		clear(count[:])
		for _, x := range a {
			count[x>>shift&(buckets-1)]++
		}
		sum := uint32(0)
		for d, c := range count {
			count[d] = sum
			sum += c
		}
		for _, x := range a {
			d := x >> shift & (buckets - 1)
			b[count[d]] = x
			count[d]++
		}
		a, b = b, a
	}
	for i, x := range a {
		out[i] = moment(x & (1<<low - 1))
	}
	return out
}
