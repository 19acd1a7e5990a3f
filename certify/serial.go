package certify

import (
	"fmt"

	"isovet/history"
)

// replaySerial executes the transactions in order, each at once, and returns each one's place, history.None for those that
// take no part.
// Cost: two dependent loads an operation, VerKey and the key's current version; no allocation but the arrays.
func replaySerial(h *history.History, order []uint32) (pos []uint32, err error) {
	pos, err = places(h, order)
	if err != nil {
		return nil, err
	}
	if h.HasLists() {
		return pos, replayLists(h, order)
	}
	cur := append([]uint32(nil), h.InitVer...)
	kind, ver, verKey, off := h.Ops.Kind, h.Ops.Ver, h.VerKey, h.Txns.OpOff
	for _, t := range order {
		lo, hi := off[t], off[t+1]
		vs := ver[lo:hi]
		for i, k := range kind[lo:hi] {
			v := vs[i]
			c := &cur[verKey[v]]
			if k == history.Read {
				if *c != v {
					return nil, wrongRead(h, lo+uint32(i), t, *c)
				}
			} else {
				*c = v
			}
		}
	}
	return pos, nil
}

// places checks that the order has each committed transaction but the initial one exactly once, and no aborted one.
func places(h *history.History, order []uint32) ([]uint32, error) {
	n := uint32(h.NumTxns())
	pos := make([]uint32, n)
	for t := range pos {
		pos[t] = history.None
	}
	for i, t := range order {
		if t >= n {
			return nil, fmt.Errorf("the order's entry %d names transaction index %d of %d", i, t, n)
		}
		if err := mayTakePart(h, t); err != nil {
			return nil, err
		}
		if pos[t] != history.None {
			return nil, fmt.Errorf("the order has %s twice", name(h, t))
		}
		pos[t] = uint32(i)
	}
	for t, p := range pos {
		if p == history.None && h.Txns.Status[t] == history.Committed && uint32(t) != h.Init {
			return nil, fmt.Errorf("the order lacks %s, which committed", name(h, uint32(t)))
		}
	}
	return pos, nil
}

func mayTakePart(h *history.History, t uint32) error {
	if t == h.Init {
		return fmt.Errorf("the order has %s, the initial one, which precedes it", name(h, t))
	}
	if h.Txns.Status[t] == history.Aborted {
		return fmt.Errorf("the order has %s, which aborted", name(h, t))
	}
	return nil
}

func wrongRead(h *history.History, op, t, cur uint32) error {
	return fmt.Errorf("%s reads %s = %s where the order makes it %s", name(h, t), h.KeyString(h.OpKey(op)), h.ValueString(h.Ops.Ver[op]), valueString(h, cur))
}

// replayLists is replaySerial for histories with lists, perhaps beside registers.
func replayLists(h *history.History, order []uint32) error {
	s := newStore(h)
	for _, t := range order {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			k, v := h.OpKey(op), h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read:
				if s.cur[k] != v {
					return wrongRead(h, op, t, s.cur[k])
				}
			case history.Write:
				s.cur[k] = v
			case history.Append:
				s.list[k] = append(s.list[k], v)
			case history.ReadList:
				if !s.reads(elems(h, v), k, nil) {
					return wrongList(h, op, t)
				}
			}
		}
	}
	return nil
}

// store is the current state of registers and lists.
type store struct {
	cur  []uint32
	list [][]uint32
}

func newStore(h *history.History) *store {
	s := &store{cur: append([]uint32(nil), h.InitVer...), list: make([][]uint32, h.NumKeys())}
	if h.Init != history.None {
		lo, hi := h.TxnOps(h.Init)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Append {
				k := h.OpKey(op)
				s.list[k] = append(s.list[k], h.Ops.Ver[op])
			}
		}
	}
	return s
}

// reads reports whether a list is what is current at k, followed by own.
func (s *store) reads(list []uint32, k uint32, own []uint32) bool {
	cur := s.list[k]
	if len(list) != len(cur)+len(own) {
		return false
	}
	for i, e := range cur {
		if list[i] != e {
			return false
		}
	}
	for i, e := range own {
		if list[len(cur)+i] != e {
			return false
		}
	}
	return true
}

// elems returns the elements of list read i.
func elems(h *history.History, i uint32) []uint32 {
	return h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
}

func wrongList(h *history.History, op, t uint32) error {
	return fmt.Errorf("%s reads a list of %d elements at %s that is not what the order makes it", name(h, t), len(elems(h, h.Ops.Ver[op])), h.KeyString(h.OpKey(op)))
}

// serialSessions demands that each transaction comes after the committed ones before it in its session.
func serialSessions(h *history.History, pos []uint32) error {
	for s := range h.NumSessions() {
		last, lastPos := history.None, uint32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			p := pos[t]
			if p == history.None {
				continue
			}
			if last != history.None && p < lastPos {
				return fmt.Errorf("%s comes before %s, which is earlier in its session", name(h, t), name(h, last))
			}
			if h.Txns.Status[t] == history.Committed {
				last, lastPos = t, p
			}
		}
	}
	return nil
}

// serialTime demands that no transaction stands after one that began after its end: the latest start so far decides.
func serialTime(h *history.History, order []uint32, skew int64) error {
	late := history.None // the one with the latest start so far
	start := int64(history.NoTime)
	for _, t := range order {
		if err := hasTimes(h, t); err != nil {
			return err
		}
		if inTime(endOf(h, t), start, skew) {
			return fmt.Errorf("%s comes after %s, which began after its end", name(h, t), name(h, late))
		}
		if s := h.Start(t); s > start {
			late, start = t, s
		}
	}
	return nil
}
