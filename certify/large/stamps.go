package large

import (
	"context"
	"math"

	"isovet/history"
)

// stamped is a verdict by the database's timestamps.
type stamped struct {
	on              bool
	readOnlyAtStart bool
	writer          map[int64]bool // of the last transaction of a session
}

// takesPart reports whether timestamps say that a transaction took effect.
func takesPart(h *history.History, t uint32) bool {
	return t != h.Init && h.Txns.Status[t] != history.Aborted && h.CommitTS(t) != history.NoTime
}

func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Write {
			return true
		}
	}
	return false
}

// span is when a transaction reads and when it commits.
func (v *verifier) span(h *history.History, t uint32) (begin, end int64) {
	begin, end = h.StartTS(t), h.CommitTS(t)
	switch {
	case !v.level.Serial():
	case v.stamps.readOnlyAtStart && !writes(h, t):
		end = begin
	default:
		begin = end
	}
	return begin, end
}

// stampedTxn is txn where the order is that of timestamps. What is installed at a timestamp stands before what is read
// there. That no two transactions install at one is checked as if each wrote a key of that name.
func (v *verifier) stampedTxn(h *history.History, t uint32, place int64) error {
	id := h.Txns.ID[t]
	if t == h.Init {
		if v.hasInit {
			return refute("there are two initial transactions")
		}
		v.hasInit = true
		return v.keys.txn(h, t, at{t: math.MinInt64}, at{t: math.MinInt64}, -1)
	}
	if !takesPart(h, t) {
		if h.Txns.Status[t] == history.Committed {
			return refute("transaction %d committed and has no commit timestamp", id)
		}
		return nil
	}
	from, until := v.span(h, t)
	w := writes(h, t)
	switch {
	case from == history.NoTime:
		return refute("transaction %d has no start timestamp", id)
	case from > h.CommitTS(t):
		return refute("transaction %d commits before it starts", id)
	case from == until && w && !v.level.Serial():
		return refute("transaction %d writes and takes no time", id)
	}
	if s := h.SessName[h.Txns.Sess[t]]; s != history.NoTime && v.level.Sessions() {
		last, ok := v.sessions[s]
		if ok && (from < last.t || v.level.Serial() && from == last.t && w && !v.stamps.writer[s]) {
			return refute("transaction %d starts before an earlier one of session %d is over", id, s)
		}
		v.sessions[s], v.stamps.writer[s] = at{t: until}, w
	}
	begin, commit := at{t: from, n: uint64(place) + 1}, at{t: until}
	if w {
		if v.level.Serial() {
			begin = commit
		}
		if err := v.keys.commit(commit, id); err != nil {
			return err
		}
	}
	return v.keys.txn(h, t, begin, commit, -1)
}

// read is of a key at a time, or just before it.
type read struct {
	key    value
	at     int64
	before bool
}

// snapshots are the keys that some transactions read, and who installed what they should have seen: of each key the
// last that committed by then.
type snapshots struct {
	keys map[value]bool
	by   map[int64]map[value]bool // transaction → keys
}

// snapshots finds them. Cost: two passes.
func (v *verifier) snapshots(ctx context.Context, ids map[int64]bool) (*snapshots, error) {
	s := &snapshots{map[value]bool{}, map[int64]map[value]bool{}}
	var reads []read
	byKey := map[value][]int{}
	numbers := map[int64]bool{} // of integer keys, to pass most others over at once
	err := v.s.Each(ctx, func(h *history.History, first int64) error {
		for t, id := range h.Txns.ID {
			if !ids[id] || !takesPart(h, uint32(t)) {
				continue
			}
			begin, _ := v.span(h, uint32(t))
			before := v.level.Serial() && writes(h, uint32(t))
			lo, hi := h.TxnOps(uint32(t))
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Read {
					k := h.Keys[h.VerKey[h.Ops.Ver[op]]]
					key := valueOf(h, k)
					byKey[key] = append(byKey[key], len(reads))
					reads = append(reads, read{key, begin, before})
					s.keys[key] = true
					numbers[k.N] = numbers[k.N] || k.Kind == history.Int
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	type install struct{ id, at int64 }
	last := make([]install, len(reads))
	for i := range last {
		last[i].at = history.NoTime
	}
	err = v.s.Each(ctx, func(h *history.History, first int64) error {
		for t := range uint32(h.NumTxns()) {
			if !takesPart(h, t) || ids[h.Txns.ID[t]] {
				continue
			}
			begin, c := v.span(h, t)
			if begin > c {
				continue
			}
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
				k := h.Keys[h.VerKey[h.Ops.Ver[op]]]
				if h.Ops.Kind[op] != history.Write || k.Kind == history.Int && !numbers[k.N] {
					continue
				}
				for _, i := range byKey[valueOf(h, k)] {
					if r := &reads[i]; c > last[i].at && (c < r.at || c == r.at && !r.before) {
						last[i] = install{h.Txns.ID[t], c}
					}
				}
			}
		}
		return nil
	})
	for i, x := range last {
		if x.at != history.NoTime {
			if s.by[x.id] == nil {
				s.by[x.id] = map[value]bool{}
			}
			s.by[x.id][reads[i].key] = true
		}
	}
	return s, err
}
