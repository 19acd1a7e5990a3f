package certify

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// checkStampedAnomalies derives each violation of an axiom again, from the history and the timestamps.
func checkStampedAnomalies(r *evidence.Result) error {
	h := r.H
	s := &stamps{h: h, l: r.Level, readsAtOnce: r.ReadOnlyAtStart, installs: map[uint32][]install{},
		keys: map[uint32]bool{}, wanted: map[uint32][]stamped{}}
	if h.HasPredicates() {
		var err error
		if s.truths, err = predicates.NewTruths(h); err != nil {
			return err
		}
	}
	for i := range r.Anomalies {
		if err := s.want(&r.Anomalies[i]); err != nil {
			return fmt.Errorf("anomaly %d (%s): %w", i, r.Anomalies[i].Kind, err)
		}
	}
	s.scan()
	for i := range r.Anomalies {
		if err := s.check(&r.Anomalies[i]); err != nil {
			return fmt.Errorf("anomaly %d (%s): %w", i, r.Anomalies[i].Kind, err)
		}
	}
	return nil
}

// want records the keys and versions that an anomaly is about, and checks its form.
func (s *stamps) want(a *evidence.Anomaly) error {
	h := s.h
	if len(a.Cycle)+len(a.Cycles)+len(a.Dead) > 0 {
		return fmt.Errorf("a violation of timestamps has a cycle; expected none")
	}
	if len(a.Txns) == 0 {
		return fmt.Errorf("the anomaly names no transaction")
	}
	for _, t := range a.Txns {
		if int(t) >= h.NumTxns() {
			return fmt.Errorf("there is no transaction index %d: the number of transactions is %d", t, h.NumTxns())
		}
	}
	if a.Kind == level.NoConflict {
		if int(a.Key) >= h.NumKeys() {
			return fmt.Errorf("there is no key index %d: the number of keys is %d", a.Key, h.NumKeys())
		}
		return nil
	}
	if a.Kind != level.Int && a.Kind != level.Ext {
		return nil
	}
	if len(a.Ops) != 1 || int(a.Ops[0]) >= h.NumOps() || h.TxnOf(a.Ops[0]) != a.Txns[0] {
		return fmt.Errorf("the anomaly names no read of its first transaction")
	}
	op := a.Ops[0]
	k := a.Key
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		k = h.VerKey[v]
		s.wanted[v] = nil
	case history.ReadList:
		k = h.Lists.Key[v]
		for _, e := range h.Elems(v) {
			s.wanted[e] = nil
		}
	case history.PredRead, history.PredWrite:
		if int(k) >= h.NumKeys() {
			return fmt.Errorf("there is no key index %d: the number of keys is %d", k, h.NumKeys())
		}
		for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
			if old := h.Preds.Old[r]; old != history.None && h.RowKey(r) == k {
				s.wanted[old] = nil
			}
		}
	default:
		return fmt.Errorf("operation %d is not a read", op)
	}
	s.keys[k] = true
	return nil
}

// scan finds the writes of the keys and versions that want recorded.
func (s *stamps) scan() {
	h := s.h
	last := finals{h: h}
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			wrote(h, op, func(v uint32) {
				k := h.VerKey[v]
				if _, ok := s.wanted[v]; ok {
					s.wanted[v] = append(s.wanted[v], stamped{t, h.Ops.Kind[op] == history.Append || last.is(t, k, op)})
				}
				if s.keys[k] && (h.TimestampsCommit(t) || t == h.Init) {
					s.installs[k] = append(s.installs[k], install{t, v})
				}
			})
		}
	}
	for _, in := range s.installs {
		at := func(w install) int64 {
			if w.txn == h.Init {
				return history.NoTime
			}
			return h.CommitTS(w.txn)
		}
		slices.SortStableFunc(in, func(a, b install) int { return cmp.Compare(at(a), at(b)) })
	}
}

// sees reports whether t's snapshot has what u installed.
func (s *stamps) sees(t, u uint32) bool {
	if u == s.h.Init {
		return true
	}
	begin, _ := s.span(t)
	c := s.h.CommitTS(u)
	if u == t || s.h.StartTS(u) > c && !s.l.Serial() {
		return false
	}
	if s.l.Serial() {
		return c < begin || c == begin && !installs(s.h, t)
	}
	return c <= begin
}

// current returns the version of register k in t's snapshot.
func (s *stamps) current(t, k uint32) uint32 {
	v := s.h.InitVer[k]
	for _, w := range s.installs[k] {
		if s.sees(t, w.txn) {
			v = w.ver
		}
	}
	return v
}

func (s *stamps) list(t, k uint32) []uint32 {
	var out []uint32
	for _, w := range s.installs[k] {
		if s.sees(t, w.txn) {
			out = append(out, w.ver)
		}
	}
	return out
}

func (s *stamps) check(a *evidence.Anomaly) error {
	h := s.h
	t := a.Txns[0]
	if !h.TimestampsCommit(t) {
		return fmt.Errorf("%s did not commit by its timestamps", name(h, t))
	}
	begin, end := s.span(t)
	if a.Kind == level.Timestamps {
		if begin == history.NoTime || begin <= end {
			return fmt.Errorf("%s does not start after its commit", name(h, t))
		}
		return nil
	}
	if begin == history.NoTime || begin > end {
		return fmt.Errorf("%s has no start timestamp, or one after its commit", name(h, t))
	}
	switch a.Kind {
	case level.Session:
		return s.checkSession(a, t)
	case level.NoConflict:
		return s.checkConflict(a, t)
	case level.Int, level.Ext:
		why, err := s.wrong(a.Kind, t, a.Ops[0], a.Key, a.Why)
		if err == nil && why != a.Why {
			err = fmt.Errorf("the read violates the snapshot in another way: %q, not %q", why, a.Why)
		}
		return err
	}
	return fmt.Errorf("%q is not an axiom of timestamps", a.Kind)
}

func (s *stamps) checkSession(a *evidence.Anomaly, t uint32) error {
	h := s.h
	if !s.l.Sessions() {
		return fmt.Errorf("%s does not demand session order", s.l)
	}
	if len(a.Txns) != 2 {
		return fmt.Errorf("the number of transactions is %d; expected 2", len(a.Txns))
	}
	u := a.Txns[1]
	if !h.TimestampsCommit(u) || h.Txns.Sess[t] != h.Txns.Sess[u] {
		return fmt.Errorf("%s did not commit, or belongs to another session", name(h, u))
	}
	in := h.SessTxn[h.SessOff[h.Txns.Sess[t]]:h.SessOff[h.Txns.Sess[t]+1]]
	if slices.Index(in, u) >= slices.Index(in, t) {
		return fmt.Errorf("%s is not earlier in the session", name(h, u))
	}
	begin, _ := s.span(t)
	if from, end := s.span(u); from > end || s.follows(t, u) {
		return fmt.Errorf("%s starts at %d, after %s ended at %d", name(h, t), begin, name(h, u), end)
	}
	return nil
}

func (s *stamps) checkConflict(a *evidence.Anomaly, t uint32) error {
	h := s.h
	if !s.l.Snapshot() {
		return fmt.Errorf("%s has no such axiom", s.l)
	}
	if len(a.Txns) != 2 {
		return fmt.Errorf("the number of transactions is %d; expected 2", len(a.Txns))
	}
	u := a.Txns[1]
	begin, end := s.span(t)
	from, c := s.span(u)
	switch {
	case u == t || !h.TimestampsCommit(u) || from > c:
		return fmt.Errorf("%s did not commit by its timestamps", name(h, u))
	case !(begin < c && c < end):
		return fmt.Errorf("%s commits at %d, not between %d and %d", name(h, u), c, begin, end)
	}
	for _, x := range []uint32{t, u} {
		if op, _ := finalWrite(h, x, a.Key); op == history.None {
			return fmt.Errorf("%s does not write %s", name(h, x), h.KeyString(a.Key))
		}
	}
	return nil
}
