package explain

import (
	"maps"
	"slices"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/predicates"
	"isovet/solver"
)

// ownKeys calls f with each predicate operation of t, and the keys that t has written before it.
func ownKeys(h *history.History, t uint32, f func(op uint32, own map[uint32]bool)) {
	own := make(map[uint32]bool)
	for op, at := range h.EachOp(t) {
		switch h.Ops.Kind[op] {
		case history.Write:
			own[h.VerKey[at]] = true
		case history.PredRead:
			f(op, own)
		case history.PredWrite:
			f(op, own)
			for j := h.Preds.Off[at]; j < h.Preds.Off[at+1]; j++ {
				own[h.RowKey(j)] = true
			}
		}
	}
}

// scopes says over which keys the predicate operations of some transactions range in a part of the history: the keys
// for which the part has all versions that the operation may have seen.
type scopes struct {
	v *prepass.View
	// known: operation → the keys that it matched at a known version.
	known map[uint32][]uint32
	// of: operation → the other keys that it says something about, because it missed or overwrote them.
	of map[uint32][]scope
}

// scope is a key of a predicate operation, and the transactions whose version of it the operation may have seen.
type scope struct {
	key  uint32
	base []uint32
}

// newScopes examines the predicate operations of txns and the keys that txns write. Cost: predicate operations × writes
// of txns, and for those that match one, the writes of its key.
func newScopes(v *prepass.View, txns []uint32) (*scopes, error) {
	h := v.H
	truths, err := predicates.NewTruths(h)
	if err != nil {
		return nil, err
	}
	s := &scopes{v: v, known: make(map[uint32][]uint32), of: make(map[uint32][]scope)}
	written := make(map[uint32][]uint32) // key → its writes
	for _, t := range txns {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			written[v.WKey[w]] = nil
		}
	}
	for w, k := range v.WKey {
		if _, ok := written[k]; ok {
			written[k] = append(written[k], uint32(w))
		}
	}
	keys := slices.Sorted(maps.Keys(written))
	in := slice.Set(txns)
	for _, t := range txns {
		ownKeys(h, t, func(op uint32, own map[uint32]bool) {
			q := h.Ops.Ver[op]
			matched, vague := make(map[uint32]bool), make(map[uint32]bool)
			for j := h.Preds.Off[q]; j < h.Preds.Off[q+1]; j++ {
				k := h.RowKey(j)
				matched[k] = true
				if own[k] {
					continue
				}
				if h.Preds.Old[j] == history.None {
					vague[k] = true
				} else {
					s.known[op] = append(s.known[op], k)
				}
			}
			for _, k := range keys {
				if own[k] || matched[k] && !vague[k] {
					continue
				}
				wrong := predicates.True
				if vague[k] {
					wrong = predicates.False
				}
				matters := false
				for _, w := range written[k] {
					u := v.WTxn[w]
					matters = matters || (u == history.None || in[u]) && u != t && truths.Of(q, k, v.WVer[w]) == wrong
				}
				for _, ver := range v.LeftOutVersions(k) { // it may have been based on a version of these
					matters = matters && truths.Of(q, k, ver) == wrong
				}
				if !matters {
					continue
				}
				x := scope{key: k}
				any := false
				for _, w := range written[k] {
					if u := v.WTxn[w]; u != t && truths.Of(q, k, v.WVer[w]) != wrong {
						any = true
						if u != history.None {
							x.base = append(x.base, u)
						}
					}
				}
				if any || !v.Counts[t] { // otherwise it is a predicate-mismatch and needs no cycle
					s.of[op] = append(s.of[op], x)
				}
			}
		})
	}
	return s, nil
}

// writers returns the transactions whose version of the key an operation may have seen.
func (s *scopes) writers(op, key uint32) []uint32 {
	for _, x := range s.of[op] {
		if x.key == key {
			return x.base
		}
	}
	return nil
}

// keys returns the keys over which an operation ranges in the part with the transactions in. unread are keys that a
// transaction read from a dropped one; these are left out. See history.RestrictKeys.
func (s *scopes) keys(op uint32, in map[uint32]bool, unread map[[2]uint32]bool) (ks []uint32, some bool) {
	t := s.v.H.TxnOf(op)
	ks = append(ks, slice.Filter(s.known[op], func(k uint32) bool { return !unread[[2]uint32{t, k}] })...)
	for _, x := range s.of[op] {
		whole := !unread[[2]uint32{t, x.key}]
		for _, u := range x.base {
			whole = whole && in[u]
		}
		if whole {
			ks = append(ks, x.key)
		}
	}
	slices.Sort(ks)
	return ks, true
}

// based returns the literal "predicate operation op of transaction t, which missed or overwrote key, saw writer's
// version" (None: the initial one). Its first call for a key adds the clauses that it saw one of the versions, and that
// the writer counts.
func (c *core) based(op, key, t, writer uint32) solver.Lit {
	h, v := c.v.H, c.v
	if writer == h.Init {
		writer = history.None
	}
	at := [3]uint32{op, key, writer}
	if x, ok := c.base[at]; ok {
		return solver.Pos(x)
	}
	if c.preds == nil {
		var err error
		if c.preds, err = predicates.NewTruths(h); err != nil {
			panic("explain: " + err.Error()) // cannot happen: the predicates were parsed before
		}
	}
	q := h.Ops.Ver[op]
	wrong := predicates.True
	for j := h.Preds.Off[q]; j < h.Preds.Off[q+1]; j++ {
		if h.RowKey(j) == key {
			wrong = predicates.False
		}
	}
	var some []solver.Lit
	if l, open := c.counts(t); open {
		some = append(some, l.Not())
	}
	hidden := c.hidden(t, key)
	for w, k := range v.WKey {
		u := v.WTxn[w]
		if k != key || u == t || c.preds.Of(q, key, v.WVer[w]) == wrong {
			continue
		}
		x := c.s.NewVar()
		c.base[[3]uint32{op, key, u}] = x
		some = append(some, solver.Pos(x))
		if hidden(uint32(w)) {
			c.s.AddClause(solver.Neg(x))
		}
		if u != history.None {
			if l, open := c.counts(u); open {
				c.s.AddClause(solver.Neg(x), l)
			}
		}
	}
	c.s.AddClause(some...)
	x, ok := c.base[at]
	if !ok {
		panic("explain: a proof assumes a base that there is not")
	}
	return solver.Pos(x)
}

// hidden returns a function that reports whether real time excludes that t saw a write of key. At levels with real time
// these are the writes by transactions that began after t's end, and those that ended before another write of the key
// began which ended before t began.
func (c *core) hidden(t, key uint32) func(w uint32) bool {
	if !c.l.RealTime() {
		return func(uint32) bool { return false }
	}
	h, v := c.v.H, c.v
	start, end := h.Window(t, c.skew)
	latest, some := int64(0), false
	for _, w := range v.Writes(key) {
		if b := v.WTxn[w]; b != t && h.Txns.Status[b] == history.Committed {
			if s, e := h.Window(b, c.skew); e < start && (!some || s > latest) {
				latest, some = s, true
			}
		}
	}
	return func(w uint32) bool {
		b := v.WTxn[w]
		if b == history.None {
			return some
		}
		s, e := h.Window(b, c.skew)
		return end < s || some && e < latest
	}
}
