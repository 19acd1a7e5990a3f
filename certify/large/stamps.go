package large

import (
	"context"
	"slices"

	"isovet/history"
)

// stamped says whether the verdict is about the database's timestamps, and how these are to be read.
type stamped struct {
	on              bool
	readOnlyAtStart bool
}

func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	return slices.Contains(h.Ops.Kind[lo:hi], history.Write)
}

// span returns the timestamps at which a transaction reads and commits.
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

// stampedTxn is txn for an order by timestamps. At one timestamp, versions are installed before reads. To find two
// transactions that install at one timestamp, each counts as a writer of a key with the timestamp as its name.
func (p *pass) stampedTxn(h *history.History, t uint32, place int64) error {
	id := h.Txns.ID[t]
	if t == h.Init {
		return p.initialTxn(h, t)
	}
	if !h.TimestampsCommit(t) {
		if h.Txns.Status[t] == history.Committed {
			return refute("transaction %d committed, but has no commit timestamp", id)
		}
		return nil
	}
	from, until := p.span(h, t)
	w := writes(h, t)
	switch {
	case from == history.NoTime:
		return refute("transaction %d has no start timestamp", id)
	case from > h.CommitTS(t):
		return refute("transaction %d commits before it starts", id)
	case from == until && w && !p.level.Serial():
		return refute("transaction %d writes, but commits at its start", id)
	}
	if err := p.inSession(h.SessName[h.Txns.Sess[t]], id, at{t: from}, at{t: until}, w, true); err != nil {
		return err
	}
	begin, commit := at{t: from, n: uint64(place) + 1}, at{t: until}
	if w {
		if p.level.Serial() {
			begin = commit
		}
		if err := p.keys.commit(commit, id); err != nil {
			return err
		}
	}
	return p.keys.txn(h, t, begin, commit, -1)
}

// read is a read of a version of a key. stamped is set if the transaction takes part in the timestamp order, in which
// it reads at a time or just before it.
type read struct {
	key, value value
	stamped    bool
	at         int64
	before     bool
}

// reads returns what some transactions read.
func (v *verifier) reads(ctx context.Context, ids map[int64]bool) (reads []read, err error) {
	err = v.each(ctx, "reading the violation's transactions", func(h *history.History, _ int64) error {
		for t, id := range h.Txns.ID {
			if !ids[id] {
				continue
			}
			r := read{stamped: v.stamps.on && h.TimestampsCommit(uint32(t))}
			if r.stamped {
				r.at, _ = v.span(h, uint32(t))
				r.before = v.level.Serial() && writes(h, uint32(t))
			}
			for op := range h.EachOp(uint32(t)) {
				if h.Ops.Kind[op] == history.Read {
					ver := h.Ops.Ver[op]
					r.key, r.value = h.Own(h.Keys[h.VerKey[ver]]), h.Own(h.VerValue(ver))
					reads = append(reads, r)
				}
			}
		}
		return nil
	})
	return reads, err
}

// install is a transaction that committed a write and the time of its commit; at is history.NoTime if there is none.
type install struct{ id, at int64 }

// installs returns, for each read, the install that it should have seen: the last one committed by its time. It passes
// over transactions in ids.
func (v *verifier) installs(ctx context.Context, ids map[int64]bool, reads []read) ([]install, error) {
	byKey := map[value][]int{}
	numbers := map[int64]bool{} // of integer keys, to pass most others over at once
	last := make([]install, len(reads))
	for i := range reads {
		last[i].at = history.NoTime
		if k := reads[i].key; reads[i].stamped {
			byKey[k] = append(byKey[k], i)
			numbers[k.N] = numbers[k.N] || k.Kind == history.Int
		}
	}
	err := v.each(ctx, "looking for the expected versions", func(h *history.History, _ int64) error {
		for t := range uint32(h.NumTxns()) {
			if !h.TimestampsCommit(t) || ids[h.Txns.ID[t]] {
				continue
			}
			begin, c := v.span(h, t)
			if begin > c {
				continue
			}
			for op := range h.EachOp(t) {
				k := h.Keys[h.VerKey[h.Ops.Ver[op]]]
				if h.Ops.Kind[op] != history.Write || k.Kind == history.Int && !numbers[k.N] {
					continue
				}
				for _, i := range byKey[h.Own(k)] {
					if r := &reads[i]; c > last[i].at && (c < r.at || c == r.at && !r.before) {
						last[i] = install{h.Txns.ID[t], c}
					}
				}
			}
		}
		return nil
	})
	return last, err
}
