package timestamp

import (
	"isovet/history"
	"isovet/predicates"
)

// modified are the keys that the current transaction wrote before a predicate operation, with their new versions.
type modified struct {
	keys, vers []uint32
	matched    []uint32
}

// predicate checks INT and EXT of a predicate operation: each row that it matched was current, and no other row
// matches. It counts matching rows, and lists the missing ones only if the count is wrong. If the predicate is unknown
// for a row, the row may match or not. If the client does not know a row's old version, the predicate must not be false
// for the current one. For rows that the transaction itself wrote before, its own versions count (INT).
func (s *sweep) predicate(t, op uint32, now int64) {
	h := s.h
	p := h.Ops.Ver[op]
	s.own(t, op)
	matched := s.mod.matched[:0]
	surely := 0 // rows matched of which the predicate is true
	for row := h.Preds.Off[p]; row < h.Preds.Off[p+1]; row++ {
		got, key := h.Preds.Old[row], rowKey(h, row)
		matched = append(matched, key)
		want, mine := s.current(key)
		if got != history.None && got != want {
			s.row(t, op, key, got, want, mine, now)
			continue
		}
		switch s.rows.Truth(p, key, want) {
		case predicates.False:
			s.row(t, op, key, want, want, mine, now)
		case predicates.True:
			surely++
		}
	}
	s.mod.matched = matched

	// Does the right number of rows match, with the transaction's own versions?
	match := s.rows.Count(p)
	for i, k := range s.mod.keys {
		if s.rows.Truth(p, k, s.keys[k].ver) == predicates.True {
			match--
		}
		if s.rows.Truth(p, k, s.mod.vers[i]) == predicates.True {
			match++
		}
	}
	if match != surely {
		s.missed(t, op, p, matched)
	}
	for row := h.Preds.Off[p]; row < h.Preds.Off[p+1]; row++ {
		e := &s.keys[rowKey(h, row)]
		e.mine = t + 1
		switch {
		case h.Ops.Kind[op] == history.PredWrite:
			e.own = h.Preds.New[row]
		case h.Preds.Old[row] != history.None:
			e.own = h.Preds.Old[row]
		default:
			e.own = e.ver
		}
	}
}

// missed reports the rows that match and were not returned.
func (s *sweep) missed(t, op, p uint32, matched []uint32) {
	seen := make(map[uint32]struct{}, len(matched)+len(s.mod.keys))
	for _, k := range matched {
		seen[k] = struct{}{}
	}
	for i, k := range s.mod.keys {
		if _, ok := seen[k]; !ok && s.rows.Truth(p, k, s.mod.vers[i]) == predicates.True {
			s.out.add(Violation{Axiom: INT, Txn: t, Other: history.None, Key: k, Op: op, Got: history.None,
				Want: s.mod.vers[i]})
		}
		seen[k] = struct{}{}
	}
	s.rows.Each(p, func(k uint32) {
		if _, ok := seen[k]; !ok {
			e := &s.keys[k]
			s.out.add(Violation{Axiom: EXT, Kind: Phantom, Txn: t, Other: e.by, Key: k, Op: op, Got: history.None,
				Want: e.ver})
		}
	})
}

// row reports a row that should not have been matched, or not at this version.
func (s *sweep) row(t, op, key, got, want uint32, mine bool, now int64) {
	x := Violation{Axiom: INT, Txn: t, Other: history.None, Key: key, Op: op, Got: got, Want: want}
	if !mine {
		x.Axiom, x.Kind, x.Other = EXT, Phantom, s.keys[key].by
		if got != want {
			x.Kind = s.kind(t, got, now)
		}
	}
	s.out.add(x)
}

func rowKey(h *history.History, row uint32) uint32 {
	if v := h.Preds.Old[row]; v != history.None {
		return h.VerKey[v]
	}
	return h.VerKey[h.Preds.New[row]]
}

// own collects the transaction's writes before op.
func (s *sweep) own(t, op uint32) {
	h := s.h
	m := &s.mod
	m.keys, m.vers = m.keys[:0], m.vers[:0]
	lo, _ := h.TxnOps(t)
	set := func(k, v uint32) {
		for i, x := range m.keys {
			if x == k {
				m.vers[i] = v
				return
			}
		}
		m.keys, m.vers = append(m.keys, k), append(m.vers, v)
	}
	for o := lo; o < op; o++ {
		v := h.Ops.Ver[o]
		switch h.Ops.Kind[o] {
		case history.Write:
			set(h.VerKey[v], v)
		case history.PredWrite:
			for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				set(h.VerKey[n], n)
			}
		}
	}
}

// current returns the version of a key that the transaction sees: its own, or the one committed last.
func (s *sweep) current(key uint32) (ver uint32, mine bool) {
	for i, k := range s.mod.keys {
		if k == key {
			return s.mod.vers[i], true
		}
	}
	return s.keys[key].ver, false
}
