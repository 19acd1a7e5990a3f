package certify

import (
	"fmt"

	"isovet/history"
)

// replaySnapshot goes through begin and commit events (t<<1, t<<1|1) and returns the place of each transaction's two events,
// history.None for those that take no part. At its begin all reads of a transaction are compared with what is current, or its
// own writes; at its commit no key that it writes may have been committed since its begin, and its writes become current.
func replaySnapshot(h *history.History, events []uint32) (begin, commit []uint32, err error) {
	n := uint32(h.NumTxns())
	begin, commit = make([]uint32, n), make([]uint32, n)
	for t := range begin {
		begin[t], commit[t] = history.None, history.None
	}
	s := newStore(h)
	keys := h.NumKeys()
	var (
		at    = make([]uint32, keys) // place of the last commit of the key, plus one
		mine  = make([]uint32, keys) // whose own write own is; a transaction begins once, so no mark is ever stale
		own   = make([]uint32, keys)
		lists map[uint32][]uint32 // own appends of the one that begins
	)
	for k := range mine {
		mine[k] = history.None
	}
	hasLists := h.HasLists()
	for i, e := range events {
		t := e >> 1
		if t >= n {
			return nil, nil, fmt.Errorf("the order's entry %d names transaction index %d of %d", i, t, n)
		}
		lo, hi := h.TxnOps(t)
		if e&1 == 0 {
			if err := mayTakePart(h, t); err != nil {
				return nil, nil, err
			}
			if begin[t] != history.None {
				return nil, nil, fmt.Errorf("%s begins twice", name(h, t))
			}
			begin[t] = uint32(i)
			if hasLists {
				lists = make(map[uint32][]uint32)
			}
			for op := lo; op < hi; op++ {
				v := h.Ops.Ver[op]
				switch h.Ops.Kind[op] {
				case history.Read:
					k := h.VerKey[v]
					c := s.cur[k]
					if mine[k] == t {
						c = own[k]
					}
					if c != v {
						return nil, nil, wrongRead(h, op, t, c)
					}
				case history.Write:
					k := h.VerKey[v]
					mine[k], own[k] = t, v
				case history.Append:
					k := h.VerKey[v]
					lists[k] = append(lists[k], v)
				case history.ReadList:
					k := h.Lists.Key[v]
					if !s.reads(elems(h, v), k, lists[k]) {
						return nil, nil, wrongList(h, op, t)
					}
				}
			}
			continue
		}
		if begin[t] == history.None {
			return nil, nil, fmt.Errorf("%s commits before it begins", name(h, t))
		}
		if commit[t] != history.None {
			return nil, nil, fmt.Errorf("%s commits twice", name(h, t))
		}
		commit[t] = uint32(i)
		for op := lo; op < hi; op++ {
			kind := h.Ops.Kind[op]
			if kind != history.Write && kind != history.Append {
				continue
			}
			v := h.Ops.Ver[op]
			k := h.VerKey[v]
			if a := at[k]; a > begin[t]+1 && a != uint32(i)+1 {
				return nil, nil, fmt.Errorf("%s writes %s, which %s committed between its begin and its commit", name(h, t), h.KeyString(k), name(h, events[a-1]>>1))
			}
			at[k] = uint32(i) + 1
			if kind == history.Write {
				s.cur[k] = v
			} else {
				s.list[k] = append(s.list[k], v)
			}
		}
	}
	for t := range begin {
		if begin[t] != history.None && commit[t] == history.None {
			return nil, nil, fmt.Errorf("%s begins and does not commit", name(h, uint32(t)))
		}
		if begin[t] == history.None && h.Txns.Status[t] == history.Committed && uint32(t) != h.Init {
			return nil, nil, fmt.Errorf("the order lacks %s, which committed", name(h, uint32(t)))
		}
	}
	return begin, commit, nil
}

// snapshotSessions demands that each transaction begins after the committed ones before it in its session committed.
func snapshotSessions(h *history.History, begin, commit []uint32) error {
	for s := range h.NumSessions() {
		last, lastCommit := history.None, uint32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if begin[t] == history.None {
				continue
			}
			if last != history.None && begin[t] < lastCommit {
				return fmt.Errorf("%s begins before %s, which is earlier in its session, commits", name(h, t), name(h, last))
			}
			if h.Txns.Status[t] == history.Committed {
				last, lastCommit = t, commit[t]
			}
		}
	}
	return nil
}

// snapshotTime demands that no transaction commits after the begin of one that began, in real time, after its end.
func snapshotTime(h *history.History, events []uint32, skew int64) error {
	late, start := history.None, int64(history.NoTime)
	for _, e := range events {
		t := e >> 1
		if e&1 == 0 {
			if err := hasTimes(h, t); err != nil {
				return err
			}
			if s := h.Start(t); s > start {
				late, start = t, s
			}
		} else if inTime(endOf(h, t), start, skew) {
			return fmt.Errorf("%s commits after %s begins, which began after its end", name(h, t), name(h, late))
		}
	}
	return nil
}
