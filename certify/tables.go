package certify

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// tables is a state of the database: what is current at every key, and what the transaction at hand has written over
// it.
type tables struct {
	h      *history.History
	truths *predicates.Truths // nil: no predicate operations
	cur    []uint32           // register → its version
	list   [][]uint32         // list → its elements
	mine   []uint32           // key → transaction whose write own is; history.None: nobody's
	own    []uint32
	added  map[uint32][]uint32 // list → what the transaction at hand appended
	wrote  []uint32            // registers that the transaction at hand has written
	match  []uint32            // key → one more than the operation that matched it last
	ranges *ranges             // what spares looking at every row; nil: nothing does
}

func newTables(h *history.History) (*tables, error) {
	n := h.NumKeys()
	s := &tables{h: h, cur: slices.Clone(h.InitVer), list: make([][]uint32, n), mine: make([]uint32, n),
		own: make([]uint32, n), match: make([]uint32, n)}
	for k := range s.mine {
		s.mine[k] = history.None
	}
	if h.HasLists() {
		s.added = make(map[uint32][]uint32)
	}
	if h.HasPredicates() {
		if h.HasLists() {
			return nil, &Unsupported{"an order for a history with lists and predicates"}
		}
		var err error
		if s.truths, err = predicates.NewTruths(h); err != nil {
			return nil, err
		}
		s.ranges = newRanges(h, s.truths)
	}
	if h.Init != history.None {
		lo, hi := h.TxnOps(h.Init)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Append {
				s.set(h.Ops.Ver[op], true)
			}
		}
	}
	return s, nil
}

// set makes a version current.
func (s *tables) set(v uint32, appended bool) {
	k := s.h.VerKey[v]
	if appended {
		s.list[k] = append(s.list[k], v)
		return
	}
	s.cur[k] = v
	s.ranges.set(k, v)
}

// at returns the version of k that t sees now.
func (s *tables) at(t, k uint32) uint32 {
	if s.mine[k] == t {
		return s.own[k]
	}
	return s.cur[k]
}

// truth is that of predicate q of what t sees at k.
func (s *tables) truth(t, q, k uint32) predicates.Truth {
	if truth, known := s.ranges.truth(q, k, s.mine[k] == t); known {
		return truth
	}
	return s.truths.Of(q, k, s.at(t, k))
}

func (s *tables) write(t, v uint32) {
	k := s.h.VerKey[v]
	if s.mine[k] != t {
		s.wrote = append(s.wrote, k)
	}
	s.mine[k], s.own[k] = t, v
	s.ranges.write(k, v)
}

// run executes t on the state: every read must see what is there. Its writes are not current yet.
func (s *tables) run(t uint32) error {
	h := s.h
	s.wrote = s.wrote[:0]
	clear(s.added)
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			if c := s.at(t, h.VerKey[v]); c != v {
				return wrongRead(h, op, t, c)
			}
		case history.Write:
			s.write(t, v)
		case history.Append:
			s.added[h.VerKey[v]] = append(s.added[h.VerKey[v]], v)
		case history.ReadList:
			k, got := h.Lists.Key[v], elems(h, v)
			n := len(s.list[k])
			if len(got) < n || !slices.Equal(got[:n], s.list[k]) || !slices.Equal(got[n:], s.added[k]) {
				return wrongList(h, op, t)
			}
		case history.PredRead, history.PredWrite:
			if err := s.predicate(t, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// predicate demands that an operation matched exactly the rows of which its predicate is true now, but for those of
// which it is unknown, at the versions that they have; and performs a predicate write.
func (s *tables) predicate(t, op uint32) error {
	h := s.h
	q := h.Ops.Ver[op]
	lo, hi := h.Preds.Off[q], h.Preds.Off[q+1]
	for r := lo; r < hi; r++ {
		k := rowKey(h, r)
		c := s.at(t, k)
		if old := h.Preds.Old[r]; old != history.None && old != c {
			return fmt.Errorf("%s matched %s = %s where the order makes it %s",
				name(h, t), h.KeyString(k), h.ValueString(old), valueString(h, c))
		}
		if s.truth(t, q, k) == predicates.False {
			return fmt.Errorf("%s matched %s, which the order makes %s, of which its predicate is false",
				name(h, t), h.KeyString(k), valueString(h, c))
		}
		s.match[k] = op + 1
	}
	missed := func(k uint32) error {
		if s.match[k] == op+1 || s.truth(t, q, k) != predicates.True {
			return nil
		}
		return fmt.Errorf("%s did not match %s, which the order makes %s, of which its predicate is true",
			name(h, t), h.KeyString(k), valueString(h, s.at(t, k)))
	}
	for _, k := range s.wrote {
		if err := missed(k); err != nil {
			return err
		}
	}
	err, known := s.ranges.each(q, func(k uint32) error {
		if s.mine[k] == t {
			return nil
		}
		return missed(k)
	})
	for k := uint32(0); !known && err == nil && int(k) < len(s.cur); k++ {
		err = missed(k)
	}
	if err == nil {
		wrote(h, op, func(v uint32) { s.write(t, v) })
	}
	return err
}

// replaySerial executes the transactions in order, each at once.
func replaySerial(h *history.History, order []uint32) error {
	s, err := newTables(h)
	if err != nil {
		return err
	}
	for _, t := range order {
		if err := s.run(t); err != nil {
			return err
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			appended := h.Ops.Kind[op] == history.Append
			wrote(h, op, func(v uint32) { s.set(v, appended) })
		}
	}
	return nil
}

// replaySnapshot goes through begin and commit events (t<<1, t<<1|1). At its begin all that a transaction reads is
// compared with what is current, or its own writes; at its commit no key that it writes may have been committed since
// its begin, and its writes become current.
func replaySnapshot(h *history.History, events, begin []uint32) error {
	s, err := newTables(h)
	if err != nil {
		return err
	}
	at := make([]uint32, h.NumKeys()) // place of the last commit of the key, plus one
	for i, e := range events {
		t := e >> 1
		if e&1 == 0 {
			if err := s.run(t); err != nil {
				return err
			}
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			appended := h.Ops.Kind[op] == history.Append
			wrote(h, op, func(v uint32) {
				k := h.VerKey[v]
				if a := at[k]; a > begin[t]+1 && a != uint32(i)+1 && err == nil {
					err = conflict(h, t, k, events[a-1]>>1)
				}
				at[k] = uint32(i) + 1
				s.set(v, appended)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func wrongRead(h *history.History, op, t, cur uint32) error {
	return fmt.Errorf("%s reads %s = %s where the order makes it %s",
		name(h, t), h.KeyString(h.OpKey(op)), h.ValueString(h.Ops.Ver[op]), valueString(h, cur))
}

func wrongList(h *history.History, op, t uint32) error {
	return fmt.Errorf("%s reads a list of %d elements at %s that is not what the order makes it",
		name(h, t), len(elems(h, h.Ops.Ver[op])), h.KeyString(h.OpKey(op)))
}

func conflict(h *history.History, t, k, other uint32) error {
	return fmt.Errorf("%s writes %s, which %s committed between its begin and its commit",
		name(h, t), h.KeyString(k), name(h, other))
}
