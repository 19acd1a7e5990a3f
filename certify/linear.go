package certify

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// oneKeyEach demands what linearizability needs: each transaction is on one key, and if there are predicate operations,
// the history has only one key.
func oneKeyEach(h *history.History) error {
	if h.HasPredicates() && h.NumKeys() > 1 {
		return &Unsupported{"predicate operations on several keys at level linearizable"}
	}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || h.Txns.Status[t] == history.Aborted {
			continue
		}
		for op := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Append, history.ReadList:
				return &Unsupported{"lists at level linearizable"}
			case history.Read, history.Write:
				if h.OpKey(op) != keyOf(h, t) {
					return &Unsupported{fmt.Sprintf("%s, which has operations on several keys, at level linearizable",
						name(h, t))}
				}
			}
		}
	}
	return nil
}

// keyOf returns the key of a transaction on one key, or history.None if it has no operations. A predicate operation is
// on the history's only key, or, in a history without keys, on none.
func keyOf(h *history.History, t uint32) uint32 {
	lo, hi := h.TxnOps(t)
	switch {
	case lo == hi, h.NumKeys() == 0: // no operations, or predicate operations without rows
		return history.None
	case h.OpKey(lo) == history.None:
		return 0
	}
	return h.OpKey(lo)
}

// checkLinear replays an order and demands real time for each key separately: linearizability is local (Herlihy and
// Wing, "Linearizability: a correctness condition for concurrent objects", 1990, Theorem 1).
func checkLinear(h *history.History, order []uint32, o Options) error {
	if err := oneKeyEach(h); err != nil {
		return err
	}
	if _, _, _, err := replayed(h, order, level.Linearizable, o); err != nil {
		return err
	}
	late := slices.Repeat([]int64{history.NoTime}, h.NumKeys()) // the latest start so far
	for _, t := range order {
		if err := hasTimes(h, t); err != nil {
			return err
		}
		k := keyOf(h, t)
		if k == history.None {
			continue
		}
		if history.InTime(endOf(h, t), late[k], o.ClockSkew) {
			return fmt.Errorf("%s comes after an operation on %s, but ended before it began", name(h, t),
				h.KeyString(k))
		}
		late[k] = max(late[k], h.Start(t))
	}
	return nil
}

// linear is the proof that the operations on a key which began by a certain time have no order. Those that ended by
// that time must take effect. Later operations come after all of those and do not matter.
type linear struct {
	x    *index
	key  uint32
	skew int64
	// live are operations that must take effect, by their starts. class[i] are operations that may take effect and all
	// do the same. If core is not nil, live has all operations instead: each of core takes effect once at most, and
	// must if it ends in time; any other may take effect any number of times while it runs.
	live  []uint32
	class [][]uint32
	core  map[uint32]bool
	work  int
	o     Options
}

// state is a possible state at some time: the current version, how many operations of each class took effect, and which
// of the live ones did.
type state struct {
	cur  uint32
	used []uint16
	done []uint32 // ascending
}

func (s *state) key() string {
	k := binary.LittleEndian.AppendUint32(nil, s.cur)
	for _, n := range s.used {
		k = binary.LittleEndian.AppendUint16(k, n)
	}
	for _, t := range s.done {
		k = binary.LittleEndian.AppendUint32(k, t)
	}
	return string(k)
}

// checkNoOrder proves a violation of linearizability again. It follows the operations on a key through time, with all
// possible states, until there is none. The first operation of the anomaly belongs to the transaction at whose end no
// state is left.
func (x *index) checkNoOrder(a *evidence.Anomaly, l level.Level, o Options) error {
	h := x.h
	if l != level.Linearizable && l != level.StrictSerializable { // implied, with one key per transaction
		return &Unsupported{fmt.Sprintf("%s at level %s", a.Kind, l)}
	}
	if err := oneKeyEach(h); err != nil {
		return err
	}
	if len(a.Cycle)+len(a.Cycles)+len(a.Dead) > 0 || len(a.Ops) == 0 || int(a.Key) >= h.NumKeys() {
		return fmt.Errorf("the anomaly has more than operations; expected only operations, on one key")
	}
	for _, op := range a.Ops {
		if int(op) >= h.NumOps() {
			return fmt.Errorf("there is no operation %d: the number of operations is %d", op, h.NumOps())
		}
	}
	p := &linear{x: x, key: a.Key, skew: o.ClockSkew, o: o}
	if a.ByThemselves(h) {
		p.core = map[uint32]bool{}
	}
	end := int64(history.NoTime)
	for i, op := range a.Ops {
		t := h.TxnOf(op)
		if t == h.Init || h.Txns.Status[t] == history.Aborted || keyOf(h, t) != a.Key {
			return fmt.Errorf("%s has no operation on %s that took effect", name(h, t), h.KeyString(a.Key))
		}
		if i == 0 {
			if end = endOf(h, t); end == history.NoTime {
				return fmt.Errorf("%s has no end", name(h, t))
			}
		}
		if history.InTime(end, h.Start(t), o.ClockSkew) {
			return fmt.Errorf("%s had not begun by %d", name(h, t), end)
		}
		if p.core != nil {
			p.core[t] = true
		}
	}
	p.o.MaxConflicts = cmp.Or(p.o.MaxConflicts, defaultConflicts)
	return p.run(end)
}

// run proves that the operations which began by end have no order.
func (p *linear) run(end int64) error {
	h := p.x.h
	classes := map[string]int{}
	var began []uint32
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || h.Txns.Status[t] == history.Aborted || keyOf(h, t) != p.key ||
			history.InTime(end, h.Start(t), p.skew) {
			continue
		}
		if err := hasTimes(h, t); err != nil {
			return err
		}
		began = append(began, t)
	}
	slices.SortStableFunc(began, func(a, b uint32) int { return cmp.Compare(h.Start(a), h.Start(b)) })
	of := map[uint32]int{} // class
	ended := func(t uint32) bool { return endOf(h, t) != history.NoTime && endOf(h, t) <= end }
	var ends []uint32
	for _, t := range began {
		if ended(t) {
			ends = append(ends, t)
		}
		if ended(t) || p.core != nil {
			continue
		}
		lo, hi := h.TxnOps(t)
		var k []byte
		for op := lo; op < hi; op++ {
			k = binary.LittleEndian.AppendUint32(append(k, byte(h.Ops.Kind[op])), h.Ops.Ver[op])
		}
		c, ok := classes[string(k)]
		if !ok {
			c = len(p.class)
			classes[string(k)] = c
			p.class = append(p.class, nil)
		}
		of[t] = c
	}
	slices.SortStableFunc(ends, func(a, b uint32) int { return cmp.Compare(endOf(h, a), endOf(h, b)) })
	states := []*state{{cur: h.InitVer[p.key], used: make([]uint16, len(p.class))}}
	next := 0
	for _, t := range ends {
		for ; next < len(began) && !history.InTime(endOf(h, t), h.Start(began[next]), p.skew); next++ {
			if u := began[next]; ended(u) || p.core != nil {
				p.live = append(p.live, u)
			} else {
				p.class[of[u]] = append(p.class[of[u]], u)
			}
		}
		var err error
		if states, err = p.ended(states, t); err != nil {
			return err
		}
		if len(states) == 0 {
			return nil
		}
		p.live = slices.DeleteFunc(p.live, func(u uint32) bool { return u == t })
	}
	return fmt.Errorf("the operations on %s that began by %d have an order", h.KeyString(p.key), end)
}

// free reports whether an operation may take effect any number of times.
func (p *linear) free(t uint32) bool { return p.core != nil && !p.core[t] }

// ended returns the states after the end of t: those reachable from the given ones with t done, if it must be.
func (p *linear) ended(states []*state, t uint32) (out []*state, err error) {
	seen := map[string]bool{}
	var work []*state
	add := func(s *state) {
		p.settle(s)
		if k := s.key(); !seen[k] {
			seen[k] = true
			work = append(work, s)
		}
	}
	for _, s := range states {
		add(s)
	}
	after := map[string]bool{}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if p.work++; p.work > p.o.MaxConflicts {
			return nil, ErrGaveUp
		}
		if p.o.Stop != nil && p.work%256 == 0 && p.o.Stop() {
			return nil, ErrStopped
		}
		if at, ok := slices.BinarySearch(s.done, t); ok {
			n := &state{s.cur, s.used, slices.Delete(slices.Clone(s.done), at, at+1)}
			if k := n.key(); !after[k] {
				after[k] = true
				out = append(out, n)
			}
			continue
		}
		if p.free(t) {
			out = append(out, s)
		}
		for _, u := range p.live {
			at, ok := slices.BinarySearch(s.done, u)
			if ok {
				continue
			}
			if cur, ok := p.exec(u, s.cur); ok && p.free(u) {
				if cur != s.cur {
					add(&state{cur, s.used, s.done})
				}
			} else if ok {
				add(&state{cur, s.used, slices.Insert(slices.Clone(s.done), at, u)})
			}
		}
		for c, all := range p.class {
			if int(s.used[c]) == len(all) {
				continue
			}
			if cur, ok := p.exec(all[0], s.cur); ok && cur != s.cur {
				used := slices.Clone(s.used)
				used[c]++
				add(&state{cur, used, s.done})
			}
		}
	}
	return out, nil
}

// settle lets all operations take effect that can now and that write nothing. That excludes no order.
func (p *linear) settle(s *state) {
	h := p.x.h
	for _, t := range p.live {
		lo, hi := h.TxnOps(t)
		writes := false
		for op := lo; op < hi; op++ {
			writes = writes || h.Ops.Kind[op] == history.Write || h.Ops.Kind[op] == history.PredWrite
		}
		if writes || p.free(t) {
			continue
		}
		at, done := slices.BinarySearch(s.done, t)
		if done {
			continue
		}
		if _, ok := p.exec(t, s.cur); ok {
			s.done = slices.Insert(slices.Clone(s.done), at, t)
		}
	}
}

// exec executes a transaction on the register. ok is false if the transaction saw another version.
func (p *linear) exec(t, cur uint32) (next uint32, ok bool) {
	h := p.x.h
	for op, v := range h.EachOp(t) {
		switch h.Ops.Kind[op] {
		case history.Read:
			if cur != v {
				return cur, false
			}
		case history.Write:
			cur = v
		case history.PredRead, history.PredWrite:
			truth := p.x.truths.Of(v, p.key, cur)
			first := h.Preds.Off[v]
			if first == h.Preds.Off[v+1] {
				if truth == predicates.True {
					return cur, false
				}
				continue
			}
			if truth == predicates.False || h.Preds.Old[first] != history.None && h.Preds.Old[first] != cur {
				return cur, false
			}
			if w := h.Preds.New[first]; w != history.None {
				cur = w
			}
		}
	}
	return cur, true
}
