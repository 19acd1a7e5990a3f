package certify

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// This file checks predicate operations at read-atomic and causal. A transaction sees one version of each key. If no
// read of it shows the version, that is the last visible one: by the axiom, an earlier version would have to come after
// all visible ones. So an order explains a predicate operation iff its predicate is not true for the last
// visible version of each key that it did not match, and not false for the rows that it overwrote blindly. Visibility
// follows from reads and sessions, and from the evidence, which may say that a predicate operation sees a transaction.
// A claim of too much visibility does no harm, because it only adds demands.

// sees records that, by the evidence, a predicate operation sees a writer of a key that it shows no version of.
func (x *commitOrder) sees(s evidence.Source) error {
	h, t := x.h, x.h.TxnOf(s.Op)
	p := x.pos[t]
	switch {
	case p == history.None:
		return fmt.Errorf("the certificate names a writer for an operation of %s, which is not in the order",
			name(h, t))
	case s.Writer == history.None || s.Writer == h.Init:
		return nil
	case x.pos[s.Writer] == history.None || x.pos[s.Writer] >= p:
		return fmt.Errorf("%s sees %s, which does not precede it in the order", name(h, t), name(h, s.Writer))
	}
	if op, _ := finalWrite(h, s.Writer, s.Key); op == history.None {
		return fmt.Errorf("%s does not write %s", name(h, s.Writer), h.KeyString(s.Key))
	}
	x.seen[p] = append(x.seen[p], x.pos[s.Writer])
	return nil
}

// rowsOnce records, above read-committed, the rows that predicate operation op of t, at place p, matched at a known
// version.
func (r *resolver) rowsOnce(t, p, op uint32) error {
	h, x := r.x.h, r.x
	q := h.Ops.Ver[op]
	for row := h.Preds.Off[q]; row < h.Preds.Off[q+1]; row++ {
		k, v := h.RowKey(row), h.Preds.Old[row]
		if v == history.None {
			continue
		}
		if x.truths.Of(q, k, v) == predicates.False {
			return fmt.Errorf("%s matched %s = %s, but its predicate is false of this value", name(h, t),
				h.KeyString(k), h.ValueString(v))
		}
		if x.stamp[k] == p {
			if r.own[k] != v {
				return fmt.Errorf("%s matched %s = %s, but had seen it as %s before", name(h, t), h.KeyString(k),
					h.ValueString(v), h.ValueString(r.own[k]))
			}
		} else if err := r.read(t, p, op, v); err != nil {
			return err
		}
	}
	wrote(h, op, func(v uint32) {
		k := h.VerKey[v]
		x.stamp[k], r.own[k], r.wrote[k] = p, v, true
	})
	return nil
}

// predicateReplay checks the predicate operations of an order, one transaction after the other.
type predicateReplay struct {
	x     *commitOrder
	index *predicates.Index
	c     *clocks // at causal
	lone  *lone   // at causal; nil if there are too many, so that visible walks the past
	near  *near   // at read-atomic
	// last: key → 1 + the place in keys of its last write so far. older: place in keys → the same, of the write before.
	// writer: place in keys → the transaction's place.
	last, older, writer []uint32
	// key → the place whose transaction read it from others, or wrote it; ver and own: the version
	known, wrote []uint32
	ver, own     []uint32
	match, tried []uint32 // key → 1 + the operation that matched or tried it
	from         []uint32 // place → the place that read from it last
	past         []uint32 // place → the last walked place whose past contains it
	walked       uint32   // the place whose past was walked
	stack        []uint32
	// At causal: the current versions, and the writers' places so far, by session and without a clock.
	state    *predicates.State
	sessions [][]uint32
	alone    []uint32
	// few says that only few transactions so far are invisible to the current one; unseen are the keys that they wrote.
	few    bool
	unseen []uint32
	mine   []uint32 // keys that the current transaction reads or writes
}

// predicates checks the predicate operations of the order, at causal or at read-atomic.
func (x *commitOrder) predicates(causal bool, o Options) error {
	h := x.h
	index, err := predicates.NewIndex(h)
	if err != nil {
		return err
	}
	keys := func() []uint32 { return make([]uint32, h.NumKeys()) }
	n := len(x.order) + 1
	s := &predicateReplay{x: x, index: index, last: keys(), older: make([]uint32, len(x.keys)), writer: make([]uint32,
		len(x.keys)), known: keys(), wrote: keys(), ver: keys(), own: keys(), match: keys(), tried: keys(),
		from: make([]uint32, n), past: make([]uint32, n)}
	if causal {
		s.c = x.newClocks()
		s.lone = s.c.newLone()
		s.state, s.sessions = index.NewState(), make([][]uint32, s.c.n)
	} else {
		s.near = &near{x: x, bySession: make(map[uint32]map[uint32]uint32), readAt: keys(), readFrom: keys()}
	}
	for p := uint32(1); int(p) < n; p++ {
		if o.Stop != nil && o.Stop() {
			return ErrStopped
		}
		if causal {
			s.c.enter(p)
			if s.lone != nil {
				s.lone.enter(p)
			}
		}
		if err := s.txn(p); err != nil {
			return err
		}
		if causal {
			s.c.leave(p)
		}
		for i := x.wOff[p]; i < x.wOff[p+1]; i++ {
			k := x.keys[i]
			s.writer[i], s.older[i], s.last[k] = p, s.last[k], i+1
			if causal {
				_, v := finalWrite(h, x.order[p-1], k)
				s.state.Set(k, v)
			}
		}
		if !causal {
			s.near.leave(p)
		}
		if causal && x.wOff[p] < x.wOff[p+1] {
			if c := s.c.session[p]; c != history.None {
				s.sessions[c] = append(s.sessions[c], p)
			} else {
				s.alone = append(s.alone, p)
			}
		}
	}
	return nil
}

// fewUnseen bounds the invisible transactions whose writes hide examines.
var fewUnseen = 256

// hide finds what the transactions wrote that place p does not see, if they are few. A predicate is true for the last
// visible version of a key only if it is true for the current version, or if an invisible transaction wrote the key.
func (s *predicateReplay) hide(p uint32) {
	s.unseen, s.few = s.unseen[:0], s.c != nil && len(s.alone) <= fewUnseen
	if !s.few {
		return
	}
	n := 0
	hidden := func(w uint32) {
		if n++; n <= fewUnseen {
			s.unseen = append(s.unseen, s.x.wrote(w)...)
		}
	}
	for c, places := range s.sessions {
		for i := len(places); i > 0 && places[i-1] > s.c.now[c] && n <= fewUnseen; i-- {
			hidden(places[i-1])
		}
	}
	for _, w := range s.alone {
		if n <= fewUnseen && !s.visible(p, w) {
			hidden(w)
		}
	}
	s.few = n <= fewUnseen
}

// txn checks the predicate operations of the transaction at place p.
func (s *predicateReplay) txn(p uint32) error {
	x, h := s.x, s.x.h
	t := x.order[p-1]
	lo, hi := h.TxnOps(t)
	any := false
	for op := lo; op < hi && !any; op++ {
		any = h.Ops.Kind[op].Predicate()
	}
	if !any {
		return nil
	}
	for _, r := range x.readsOf(p) {
		s.from[r.from] = p
	}
	for _, u := range x.seen[p] {
		s.from[u] = p
	}
	wrote := s.wrote
	s.mine = s.mine[:0]
	for a := range accesses(h, t) { // all its reads of others, even those after the operation
		if a.saw != history.None && wrote[a.key] != p {
			s.known[a.key], s.ver[a.key] = p, a.saw
		}
		if a.wrote != history.None {
			wrote[a.key] = p
		}
	}
	for a := range accesses(h, t) {
		wrote[a.key] = 0
		s.mine = append(s.mine, a.key)
	}
	s.hide(p)
	if s.near != nil {
		s.near.enter(p)
	}
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op].Predicate() {
			if err := s.op(p, t, op); err != nil {
				return err
			}
		}
		for v := range writesOf(h, op) {
			k := h.VerKey[v]
			wrote[k], s.own[k] = p, v
		}
	}
	return nil
}

// op checks one predicate operation.
func (s *predicateReplay) op(p, t, op uint32) (err error) {
	h := s.x.h
	q := h.Ops.Ver[op]
	for row := h.Preds.Off[q]; row < h.Preds.Off[q+1]; row++ {
		k := h.RowKey(row)
		s.match[k] = op + 1
		if h.Preds.Old[row] == history.None && s.x.truths.Of(q, k, s.found(p, t, k)) == predicates.False {
			return fmt.Errorf("%s matched %s, but its predicate is false of the version %s that it saw", name(h, t),
				h.KeyString(k), h.ValueString(s.found(p, t, k)))
		}
	}
	missed := func(k uint32) {
		if err != nil || s.match[k] == op+1 || s.tried[k] == op+1 {
			return
		}
		s.tried[k] = op + 1
		if v := s.found(p, t, k); s.x.truths.Of(q, k, v) == predicates.True {
			err = fmt.Errorf("%s did not match %s, but its predicate is true of the version %s that it saw", name(h, t),
				h.KeyString(k), h.ValueString(v))
		}
	}
	if !s.few {
		s.index.Each(q, func(k, _ uint32) { missed(k) })
		return err
	}
	s.state.Each(q, missed)
	for _, k := range s.unseen {
		missed(k)
	}
	for _, k := range s.mine {
		missed(k)
	}
	return err
}

// found returns the version of k that t, at place p, sees before the current operation.
func (s *predicateReplay) found(p, t, k uint32) uint32 {
	x := s.x
	if s.wrote[k] == p {
		return s.own[k]
	}
	if s.known[k] == p {
		return s.ver[k]
	}
	w := s.lastVisible(p, k)
	if w == 0 {
		return x.h.InitVer[k]
	}
	_, v := finalWrite(x.h, x.order[w-1], k)
	return v
}

// lastVisible returns the last place before p that wrote k and is visible to the transaction at p, or 0.
func (s *predicateReplay) lastVisible(p, k uint32) (w uint32) {
	if s.near != nil && s.near.brief {
		return s.near.last(p, k)
	}
	for i := s.last[k]; i > 0; i = s.older[i-1] {
		if w := s.writer[i-1]; s.visible(p, w) {
			return w
		}
	}
	return 0
}

// visible reports whether the transaction at place w is visible to the current one, at place p.
func (s *predicateReplay) visible(p, w uint32) bool {
	x := s.x
	if s.c == nil {
		h, t, u := x.h, x.order[p-1], x.order[w-1]
		return s.from[w] == p || h.Txns.Sess[t] == h.Txns.Sess[u] && h.Txns.Status[u] == history.Committed &&
			s.before(u, t)
	}
	if s.c.session[w] != history.None {
		return s.c.sees(w)
	}
	if s.lone != nil {
		return s.lone.sees(p, w)
	}
	if s.walked != p { // walk its whole past once
		s.walked = p
		s.stack = append(s.stack[:0], p)
		look := func(u uint32) {
			if u > 0 && s.past[u] != p {
				s.past[u] = p
				s.stack = append(s.stack, u)
			}
		}
		for len(s.stack) > 0 {
			u := s.stack[len(s.stack)-1]
			s.stack = s.stack[:len(s.stack)-1]
			look(s.c.before[u])
			for _, r := range x.readsOf(u) {
				look(r.from)
			}
			for _, w := range x.seen[u] {
				look(w)
			}
		}
	}
	return s.past[w] == p
}

// before reports whether u comes before t in their session; the order keeps sessions.
func (s *predicateReplay) before(u, t uint32) bool { return s.x.pos[u] < s.x.pos[t] }

// weakRules demands the axiom of read-atomic or causal, and checks the predicate operations.
func (x *commitOrder) weakRules(l level.Level, o Options) error {
	err := x.axiom(l, o)
	if err == nil && x.truths != nil {
		err = x.predicates(l == level.Causal, o)
	}
	return err
}

// axiom demands the axiom of read-atomic or causal.
func (x *commitOrder) axiom(l level.Level, o Options) error {
	if l == level.Causal {
		return x.causal(o)
	}
	clear(x.stamp)
	if err := x.readAtomic(); err != nil {
		return err
	}
	return x.sessionsAtomic()
}

func (x *commitOrder) named(s evidence.Source) error {
	h := x.h
	if int(s.Op) >= h.NumOps() || int(s.Key) >= h.NumKeys() || s.Writer != history.None &&
		int(s.Writer) >= h.NumTxns() {
		return fmt.Errorf("the history has no operation %d, transaction index %d or key %d", s.Op, s.Writer, s.Key)
	}
	switch row := uint32(0); {
	case h.Ops.Kind[s.Op] == history.Read && h.OpKey(s.Op) == s.Key:
	case !h.Ops.Kind[s.Op].Predicate():
		return fmt.Errorf("operation %d does not read %s", s.Op, h.KeyString(s.Key))
	default:
		if row = rowOf(h, s.Op, s.Key); row == history.None || h.Preds.Old[row] == history.None {
			return x.sees(s)
		}
	}
	x.sources[[2]uint32{s.Op, s.Key}] = s.Writer
	return nil
}
