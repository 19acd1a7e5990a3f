package certify

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// tables is a state of the database: the current version of every key, with the writes of the running transaction.
type tables struct {
	h     *history.History
	rows  *predicates.State   // the same, to find rows of which a predicate is true; nil: no predicates
	cur   []uint32            // register → its version
	list  [][]uint32          // list → its elements
	added map[uint32][]uint32 // list → what the transaction at hand appended
	match []uint32            // key → one more than the operation that matched it last
	undo  []overwritten       // the writes of the running transaction, with the versions that they replaced
	o     Options
	work  int // steps since o.Stop was last asked
}

// overwritten is a register with the version that a write replaced.
type overwritten struct{ key, ver uint32 }

func newTables(h *history.History, o Options) (*tables, error) {
	n := h.NumKeys()
	s := &tables{h: h, cur: slices.Clone(h.InitVer), list: make([][]uint32, n), match: make([]uint32, n), o: o}
	if h.HasLists() {
		s.added = make(map[uint32][]uint32)
	}
	if h.HasPredicates() {
		if h.HasLists() {
			return nil, &Unsupported{"an order for a history with lists and predicates"}
		}
		index, err := predicates.NewIndex(h)
		if err != nil {
			return nil, err
		}
		s.rows = index.NewState()
	}
	if h.Init != history.None {
		for op := range h.EachOp(h.Init) {
			if h.Ops.Kind[op] == history.Append {
				s.set(h.Ops.Ver[op], true)
			}
		}
	}
	return s, nil
}

// set makes version v current, or appends it to its list.
func (s *tables) set(v uint32, appended bool) {
	k := s.h.VerKey[v]
	if appended {
		s.list[k] = append(s.list[k], v)
		return
	}
	s.put(k, v)
}

// put makes a version of a register current.
func (s *tables) put(k, v uint32) {
	s.cur[k] = v
	if s.rows != nil {
		s.rows.Set(k, v)
	}
}

// write makes a write of the running transaction current.
func (s *tables) write(v uint32) {
	k := s.h.VerKey[v]
	s.undo = append(s.undo, overwritten{k, s.cur[k]})
	s.put(k, v)
}

// takeBack undoes the writes of the running transaction.
func (s *tables) takeBack() {
	for i := len(s.undo); i > 0; i-- {
		u := s.undo[i-1]
		s.put(u.key, u.ver)
	}
	s.undo = s.undo[:0]
}

// stopped polls o.Stop after every few thousand operations.
func (s *tables) stopped(work int) bool {
	if s.work += work + 1; s.work < 1<<12 || s.o.Stop == nil {
		return false
	}
	s.work = 0
	return s.o.Stop()
}

// run executes t on the state: every read must see what is there. Its writes to registers become current, but its
// appends do not yet.
func (s *tables) run(t uint32) error {
	h := s.h
	clear(s.added)
	lo, hi := h.TxnOps(t)
	if s.stopped(int(hi - lo)) {
		return ErrStopped
	}
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			if c := s.cur[h.VerKey[v]]; c != v {
				return wrongRead(h, op, t, c)
			}
		case history.Write:
			s.write(v)
		case history.Append:
			s.added[h.VerKey[v]] = append(s.added[h.VerKey[v]], v)
		case history.ReadList:
			k, got := h.Lists.Key[v], h.Elems(v)
			n := len(s.list[k])
			if len(got) < n || !slices.Equal(got[:n], s.list[k]) || !slices.Equal(got[n:], s.added[k]) {
				return fmt.Errorf("%s reads a list of %d elements at %s, but in this order the list is different",
					name(h, t), len(got), h.KeyString(k))
			}
		case history.PredRead, history.PredWrite:
			if err := s.predicate(t, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// predicate demands that an operation matched exactly the rows for which its predicate is true now, at their current
// versions; where the predicate is unknown, either is right. It then performs a predicate write.
func (s *tables) predicate(t, op uint32) error {
	h := s.h
	q := h.Ops.Ver[op]
	lo, hi := h.Preds.Off[q], h.Preds.Off[q+1]
	matched := 0 // keys of which the predicate is true
	for r := lo; r < hi; r++ {
		k := h.RowKey(r)
		c := s.cur[k]
		if old := h.Preds.Old[r]; old != history.None && old != c {
			return fmt.Errorf("%s matched %s = %s, but in this order it is %s",
				name(h, t), h.KeyString(k), h.ValueString(old), h.ValueString(c))
		}
		truth := s.rows.Truth(q, k, c)
		if truth == predicates.False {
			return fmt.Errorf("%s matched %s, but in this order the row is %s, and the predicate is false of this "+
				"value", name(h, t), h.KeyString(k), h.ValueString(c))
		}
		if truth == predicates.True && s.match[k] != op+1 {
			matched++
		}
		s.match[k] = op + 1
	}
	if s.rows.Count(q) != matched {
		var err error
		s.rows.Each(q, func(k uint32) {
			if s.match[k] != op+1 {
				err = fmt.Errorf("%s did not match %s, but in this order the row is %s, and the predicate is true "+
					"of this value", name(h, t), h.KeyString(k), h.ValueString(s.cur[k]))
			}
		})
		if err != nil {
			return err
		}
	}
	if s.stopped(int(hi - lo)) {
		return ErrStopped
	}
	if h.Ops.Kind[op] == history.PredWrite {
		for _, v := range h.Preds.New[lo:hi] {
			s.write(v)
		}
	}
	return nil
}

// replay walks begin and commit events (t<<1, t<<1|1). At its begin, a transaction's reads must see what is
// current or its own writes, unless its level is weak. At its commit, its writes become current. If its level is a
// snapshot level, no other transaction may have committed one of these keys since its begin.
func replay(h *history.History, events, begin []uint32, at func(t uint32) level.Level, o Options) error {
	s, err := newTables(h, o)
	if err != nil {
		return err
	}
	last := make([]uint32, h.NumKeys()) // place of the last commit of the key, plus one
	for i, e := range events {
		t := e >> 1
		if e&1 == 0 {
			if !weak(at(t)) {
				if err := s.run(t); err != nil {
					return err
				}
				s.takeBack()
			}
			continue
		}
		for op := range h.EachOp(t) {
			appended := h.Ops.Kind[op] == history.Append
			wrote(h, op, func(v uint32) {
				k := h.VerKey[v]
				if a := last[k]; a > begin[t]+1 && a != uint32(i)+1 && err == nil && at(t).Snapshot() {
					err = fmt.Errorf("%s writes %s, and so does %s, which commits between its begin and its commit",
						name(h, t), h.KeyString(k), name(h, events[a-1]>>1))
				}
				last[k] = uint32(i) + 1
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
	return fmt.Errorf("%s reads %s = %s, but in this order it is %s",
		name(h, t), h.KeyString(h.OpKey(op)), h.ValueString(h.Ops.Ver[op]), h.ValueString(cur))
}
