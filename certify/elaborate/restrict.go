package elaborate

import (
	"maps"
	"slices"

	"isovet/certify/kernel"
	"isovet/history"
)

func (s *scene) history() *kernel.History {
	h := s.h
	out := &kernel.History{Init: map[uint32]kernel.Cell{}}
	keys := map[uint32]bool{}
	s.Heads(func(head *kernel.Txn) bool {
		t := head.ID - 1
		if !s.txns[t] {
			return true
		}
		x := *head
		for op := range h.EachOp(t) {
			x.Ops = s.operation(x.Ops, t, op)
		}
		for i := range x.Ops {
			if x.Ops[i].Kind != kernel.Search {
				keys[x.Ops[i].Key] = true
			}
		}
		out.Txns = append(out.Txns, x)
		return true
	})
	for a := range s.reads {
		keys[number(a.k)] = true
	}
	for key := range keys {
		if c := s.filter(key-1, s.Init(key)); len(c) > 0 {
			out.Init[key] = c
		}
	}
	return out
}

// operation appends the part of an operation that is in the scene.
func (s *scene) operation(to []kernel.Op, t, op uint32) []kernel.Op {
	h := s.h
	switch kind := h.Ops.Kind[op]; kind {
	case history.PredRead, history.PredWrite:
		if !s.weak {
			if m := s.match(t, op); m != nil {
				to = append(to, kernel.Op{Kind: kernel.Search, Match: m})
			}
		}
		all := len(to)
		to = s.rows(to, op, func(k uint32) bool { return s.reads[access{t, k}] || s.writes[access{t, k}] })
		out := to[:all]
		for _, o := range to[all:] {
			if o.Kind == kernel.Write || s.reads[access{t, o.Key - 1}] {
				out = append(out, o)
			}
		}
		return out
	default:
		k := h.OpKey(op)
		a := access{t, k}
		if !s.reads[a] && (!s.writes[a] || kind == history.Read || kind == history.ReadList) ||
			kind == history.Append && !s.elements[k][h.Ops.Ver[op]] {
			return to
		}
		to = s.terms.operation(to, op)
		if kind == history.ReadList {
			o := &to[len(to)-1]
			o.Cell = s.filter(k, o.Cell)
		}
	}
	return to
}

// filter returns the elements of a list that are in the scene.
func (s *scene) filter(k uint32, c kernel.Cell) kernel.Cell {
	if !s.isList(k) {
		return c
	}
	var out kernel.Cell
	for _, e := range c {
		if s.elements[k][e-1] {
			out = append(out, e)
		}
	}
	return out
}

// match restricts a predicate operation to the keys that its transaction reads in the scene, and its predicate to the
// versions there. It returns nil if no such key is left.
func (s *scene) match(t, op uint32) *kernel.Match {
	h := s.h
	i := h.Ops.Ver[op]
	var m *kernel.Match
	for _, k := range s.readBy[t] {
		a := access{t, k}
		if m == nil {
			m = &kernel.Match{Pred: s.searches.newPred()}
		}
		key := number(a.k)
		if s.found(op, a.k) {
			m.Keys = append(m.Keys, key)
		}
		done := map[uint32]bool{}
		add := func(v uint32, c kernel.Cell) {
			if !done[v] {
				s.searches.holds(m.Pred, i, key, v, c)
			}
			done[v] = true
		}
		if v := h.InitVer[a.k]; v != history.None {
			add(v, s.cell(v))
		} else {
			add(v, s.Init(key))
		}
		for _, w := range s.keys[a.k].writers {
			if s.writes[access{w.t, a.k}] || w.t == t {
				add(w.v, s.cell(w.v))
			}
		}
		for own, v := range h.EachOp(t) {
			switch h.Ops.Kind[own] {
			case history.Read, history.Write:
				if h.VerKey[v] == a.k {
					add(v, s.cell(v))
				}
			default:
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					if h.RowKey(r) == a.k {
						for _, w := range [...]uint32{h.Preds.Old[r], h.Preds.New[r]} {
							if w != history.None {
								add(w, s.cell(w))
							}
						}
					}
				}
			}
		}
	}
	return m
}

// widen adds all operations of the scene's transactions, and the elements that they and all other readers of the
// scene's lists saw.
func (s *scene) widen() {
	for _, t := range slices.Sorted(maps.Keys(s.txns)) {
		s.accesses(t, func(k uint32) {
			s.appends(t, k)
			s.write(t, k)
		})
		s.readsOf(t, func(k uint32) { s.read(t, k) })
		s.shown(t)
	}
	s.allReaders()
}

// few bounds the transactions that until adds.
const few = 32

// until adds all operations on a register by transactions that began before the end of op's transaction, if they are
// few. No order explains op, and the evidence does not say which of them matter.
func (s *scene) until(op, key uint32) {
	h := s.h
	end := h.End(h.TxnOf(op))
	if int(key) >= h.NumKeys() || s.isList(key) || end == history.NoTime {
		return
	}
	var ts []uint32
	for t := range uint32(h.NumTxns()) {
		if !s.takesPart(t) || h.Start(t) != history.NoTime && unsigned(h.Start(t)) > unsigned(end)+s.skew {
			continue
		}
		if ts = append(ts, t); len(ts) > few {
			return
		}
	}
	for _, t := range ts {
		s.write(t, key)
		s.read(t, key)
	}
}

// readsOf calls f with the key of each of a transaction's reads.
func (s *scene) readsOf(t uint32, f func(k uint32)) {
	h := s.h
	for op := range h.EachOp(t) {
		switch i := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.Read, history.ReadList, history.Append: // an append may count as a read of its list
			f(h.OpKey(op))
		case history.PredRead, history.PredWrite:
			for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
				f(h.RowKey(r))
			}
		}
	}
}
