package certify

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// tables is a state of the database for histories with predicates: what is current at every key, and what the transaction at
// hand has written over it.
type tables struct {
	h      *history.History
	truths *predicates.Truths
	cur    []uint32
	mine   []uint32 // key → transaction whose write own is; history.None: nobody's
	own    []uint32
	wrote  []uint32 // keys that the transaction at hand has written
	match  []uint32 // key → one more than the operation that matched it last

	// What spares looking at every row: for predicate q the range ranges[q] of the column of grids[of[q]], if of[q] ≥ 0.
	grids  []*grid
	cells  *cells
	of     []int32
	ranges []predicates.Interval
}

func newTables(h *history.History) (*tables, error) {
	truths, err := predicates.NewTruths(h)
	if err != nil {
		return nil, err
	}
	n := h.NumKeys()
	s := &tables{h: h, truths: truths, cur: append([]uint32(nil), h.InitVer...), mine: make([]uint32, n), own: make([]uint32, n), match: make([]uint32, n),
		of: make([]int32, len(h.Preds.Pred)), ranges: make([]predicates.Interval, len(h.Preds.Pred))}
	for k := range s.mine {
		s.mine[k] = history.None
	}
	var columns []string
	for q := range s.of {
		s.of[q] = -1
		if in, ok := truths.Predicate(uint32(q)).Interval(); ok {
			at := slices.Index(columns, in.Column)
			if at < 0 && len(columns) < maxGrids {
				at = len(columns)
				columns = append(columns, in.Column)
			}
			s.of[q], s.ranges[q] = int32(at), in
		}
	}
	s.grids, s.cells = newGrids(h, columns), newCells(h, columns)
	for k, v := range s.cur {
		s.put(uint32(k), v)
	}
	return s, nil
}

// maxGrids bounds the columns that have a grid; predicates of others look at every row.
const maxGrids = 16

// put makes a version current.
func (s *tables) put(k, v uint32) {
	s.cur[k] = v
	if len(s.grids) == 0 {
		return
	}
	s.cells.decode(k, v)
	for i, g := range s.grids {
		g.set(k, s.cells.n[i], s.cells.has[i])
	}
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
	if i := s.of[q]; i >= 0 && s.ranges[q].Exact {
		g := s.grids[i]
		n, has := g.value[k], g.at[k] > 0
		if s.mine[k] == t {
			n, has = g.own[k], g.ownHas[k]
		}
		if has && s.ranges[q].Lo <= n && n <= s.ranges[q].Hi {
			return predicates.True
		} else if has {
			return predicates.False
		}
	}
	return s.truths.Of(q, k, s.at(t, k))
}

func (s *tables) write(t, v uint32) {
	k := s.h.VerKey[v]
	if s.mine[k] != t {
		s.wrote = append(s.wrote, k)
	}
	s.mine[k], s.own[k] = t, v
	if len(s.grids) > 0 {
		s.cells.decode(k, v)
		for i, g := range s.grids {
			g.own[k], g.ownHas[k] = s.cells.n[i], s.cells.has[i]
		}
	}
}

// run executes t on the state: every read must see what is there. Its writes are left in own.
func (s *tables) run(t uint32) error {
	h := s.h
	s.wrote = s.wrote[:0]
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
		case history.PredRead, history.PredWrite:
			if err := s.predicate(t, op); err != nil {
				return err
			}
		default:
			return &Unsupported{"an order for a history with lists and predicates"}
		}
	}
	return nil
}

// predicate demands that an operation matched exactly the rows of which its predicate is true now, but for those of which it
// is unknown, at the versions that they have; and performs a predicate write.
func (s *tables) predicate(t, op uint32) error {
	h := s.h
	q := h.Ops.Ver[op]
	lo, hi := h.Preds.Off[q], h.Preds.Off[q+1]
	for r := lo; r < hi; r++ {
		k := rowKey(h, r)
		c := s.at(t, k)
		if old := h.Preds.Old[r]; old != history.None && old != c {
			return fmt.Errorf("%s matched %s = %s where the order makes it %s", name(h, t), h.KeyString(k), h.ValueString(old), valueString(h, c))
		}
		if s.truth(t, q, k) == predicates.False {
			return fmt.Errorf("%s matched %s, which the order makes %s, of which its predicate is false", name(h, t), h.KeyString(k), valueString(h, c))
		}
		s.match[k] = op + 1
	}
	missed := func(k uint32) error {
		if s.match[k] == op+1 || s.truth(t, q, k) != predicates.True {
			return nil
		}
		return fmt.Errorf("%s did not match %s, which the order makes %s, of which its predicate is true", name(h, t), h.KeyString(k), valueString(h, s.at(t, k)))
	}
	for _, k := range s.wrote {
		if err := missed(k); err != nil {
			return err
		}
	}
	if i := s.of[q]; i >= 0 {
		err := s.grids[i].each(s.ranges[q].Lo, s.ranges[q].Hi, func(k uint32) error {
			if s.mine[k] == t {
				return nil
			}
			return missed(k)
		})
		if err != nil {
			return err
		}
	} else {
		for k := range uint32(len(s.cur)) {
			if err := missed(k); err != nil {
				return err
			}
		}
	}
	if h.Ops.Kind[op] == history.PredWrite {
		for r := lo; r < hi; r++ {
			s.write(t, h.Preds.New[r])
		}
	}
	return nil
}

// replaySerialPredicates is replaySerial for histories with predicates.
func replaySerialPredicates(h *history.History, order []uint32) (pos []uint32, err error) {
	pos, err = places(h, order)
	if err != nil {
		return nil, err
	}
	s, err := newTables(h)
	if err != nil {
		return nil, err
	}
	for _, t := range order {
		if err := s.run(t); err != nil {
			return nil, err
		}
		for _, k := range s.wrote {
			s.put(k, s.own[k])
		}
	}
	return pos, nil
}

// replaySnapshotPredicates is replaySnapshot for histories with predicates: all that a transaction reads, by predicates too, is
// of the state at its begin event and its own writes.
func replaySnapshotPredicates(h *history.History, events []uint32) (begin, commit []uint32, err error) {
	n := uint32(h.NumTxns())
	begin, commit = make([]uint32, n), make([]uint32, n)
	for t := range begin {
		begin[t], commit[t] = history.None, history.None
	}
	s, err := newTables(h)
	if err != nil {
		return nil, nil, err
	}
	at := make([]uint32, h.NumKeys()) // place of the last commit of the key, plus one
	var open [][]uint32               // versions that the transactions under way write; entry of t is slot[t]
	var free []uint32
	slot := make([]uint32, n)
	for i, e := range events {
		t := e >> 1
		if t >= n {
			return nil, nil, fmt.Errorf("the order's entry %d names transaction index %d of %d", i, t, n)
		}
		if e&1 == 0 {
			if err := mayTakePart(h, t); err != nil {
				return nil, nil, err
			}
			if begin[t] != history.None {
				return nil, nil, fmt.Errorf("%s begins twice", name(h, t))
			}
			begin[t] = uint32(i)
			if err := s.run(t); err != nil {
				return nil, nil, err
			}
			if len(free) == 0 {
				free = append(free, uint32(len(open)))
				open = append(open, nil)
			}
			slot[t] = free[len(free)-1]
			free = free[:len(free)-1]
			w := open[slot[t]][:0]
			for _, k := range s.wrote {
				w = append(w, s.own[k])
			}
			open[slot[t]] = w
			continue
		}
		if begin[t] == history.None {
			return nil, nil, fmt.Errorf("%s commits before it begins", name(h, t))
		}
		if commit[t] != history.None {
			return nil, nil, fmt.Errorf("%s commits twice", name(h, t))
		}
		commit[t] = uint32(i)
		for _, v := range open[slot[t]] {
			k := h.VerKey[v]
			if a := at[k]; a > begin[t]+1 {
				return nil, nil, fmt.Errorf("%s writes %s, which %s committed between its begin and its commit", name(h, t), h.KeyString(k), name(h, events[a-1]>>1))
			}
			at[k] = uint32(i) + 1
			s.put(k, v)
		}
		free = append(free, slot[t])
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
