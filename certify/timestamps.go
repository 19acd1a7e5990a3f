package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// stamps is what the database's timestamps say of a history: where each transaction stands, and for the keys that anomalies name who
// installed what, in the order of the commits.
type stamps struct {
	h           *history.History
	l           level.Level
	readsAtOnce bool // ReadOnlyAtStart
	// installs of a key by those that take part, and by the initial transaction (first), by commit timestamp.
	installs map[uint32][]stamped
	keys     map[uint32]bool
	wanted   map[uint32][]stamped // version → all its writes, of whomever
	truths   *predicates.Truths
}

// stamped is a write of a version.
type stamped struct {
	op, txn, ver uint32
	final        bool
}

// takesPart reports whether timestamps say that t took effect: it has a commit timestamp and did not abort.
func takesPart(h *history.History, t uint32) bool {
	return t != h.Init && h.Txns.Status[t] != history.Aborted && h.CommitTS(t) != history.NoTime
}

func installs(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	found := false
	for op := lo; op < hi && !found; op++ {
		wrote(h, op, func(uint32) { found = true })
	}
	return found
}

// span is when t begins and ends; at the serializable levels both are its one moment.
func (s *stamps) span(t uint32) (begin, end int64) {
	end = s.h.CommitTS(t)
	switch {
	case !s.l.Serial():
		begin = s.h.StartTS(t)
	case s.readsAtOnce && !installs(s.h, t):
		begin = s.h.StartTS(t)
		end = begin
	default:
		begin = end
	}
	return begin, end
}

// checkStampedOrder proves that an order, which has been replayed, is the one that the timestamps give: of events begin and commit at
// the snapshot levels, of transactions at the serializable ones. At equal timestamps what installs comes first (errata C2); of two
// that install, none may be equal (C3).
func checkStampedOrder(r *evidence.Result) error {
	h := r.H
	s := &stamps{h: h, l: r.Level, readsAtOnce: r.ReadOnlyAtStart}
	part := 0
	for t := range uint32(h.NumTxns()) {
		if takesPart(h, t) {
			part++
		} else if h.Txns.Status[t] == history.Committed && t != h.Init {
			return fmt.Errorf("%s committed and has no commit timestamp", name(h, t))
		}
	}
	want := part
	if r.Level.Snapshot() {
		want *= 2
	}
	if len(r.Order) != want {
		return fmt.Errorf("the order has %d entries; the timestamps place %d", len(r.Order), want)
	}
	last, installed, looked := int64(history.NoTime), false, false // at last
	for i, e := range r.Order {
		t, at, is, looks := e, int64(0), false, false
		if r.Level.Snapshot() {
			t = e >> 1
		}
		if !takesPart(h, t) {
			return fmt.Errorf("the order has %s, which did not commit by its timestamps", name(h, t))
		}
		begin, end := s.span(t)
		if begin == history.NoTime || begin > end {
			return fmt.Errorf("%s starts at no time, or after its commit", name(h, t))
		}
		w := installs(h, t)
		switch {
		case r.Level.Snapshot() && e&1 == 0:
			at, looks = begin, true
		case r.Level.Snapshot():
			at, is = end, w
			if w && begin == end {
				return fmt.Errorf("%s writes and takes no time", name(h, t))
			}
		default:
			at, is, looks = begin, w, !w
		}
		if i == 0 || at != last {
			installed, looked = false, false
		}
		if is && installed {
			return fmt.Errorf("%s commits at %d, as another writer does", name(h, t), at)
		}
		if i > 0 && at < last || is && looked {
			return fmt.Errorf("the order's entry %d, of %s, is at %d, before the one in front of it, at %d", i, name(h, t), at, last)
		}
		last, installed, looked = at, installed || is, looked || looks
	}
	return s.keepsSessions()
}

// keepsSessions demands that each transaction of a session that takes part starts when the one before it is over. Here those of unknown
// outcome count, for a commit timestamp says that they committed.
func (s *stamps) keepsSessions() error {
	h := s.h
	if !s.l.Sessions() {
		return nil
	}
	for i := range h.NumSessions() {
		last := history.None
		for _, t := range h.SessTxn[h.SessOff[i]:h.SessOff[i+1]] {
			if !takesPart(h, t) {
				continue
			}
			if last != history.None && !s.follows(t, last) {
				return fmt.Errorf("%s starts before %s, which is earlier in its session, is over", name(h, t), name(h, last))
			}
			last = t
		}
	}
	return nil
}

// follows reports whether t starts when u is over. At one moment of a serial order what installs comes first.
func (s *stamps) follows(t, u uint32) bool {
	begin, _ := s.span(t)
	_, end := s.span(u)
	return begin > end || begin == end && !(s.l.Serial() && installs(s.h, t) && !installs(s.h, u))
}

// checkStampedAnomalies derives each violation of an axiom again, from the history and the timestamps.
func checkStampedAnomalies(r *evidence.Result) error {
	h := r.H
	s := &stamps{h: h, l: r.Level, readsAtOnce: r.ReadOnlyAtStart, installs: map[uint32][]stamped{}, keys: map[uint32]bool{}, wanted: map[uint32][]stamped{}}
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
	if err := s.scan(); err != nil {
		return err
	}
	for i := range r.Anomalies {
		if err := s.check(&r.Anomalies[i]); err != nil {
			return fmt.Errorf("anomaly %d (%s): %w", i, r.Anomalies[i].Kind, err)
		}
	}
	return nil
}

// want notes which keys and versions an anomaly is about, and that its form is right.
func (s *stamps) want(a *evidence.Anomaly) error {
	h := s.h
	if len(a.Cycle)+len(a.Cycles)+len(a.Dead) > 0 {
		return fmt.Errorf("a violation of timestamps with a cycle")
	}
	if len(a.Txns) == 0 {
		return fmt.Errorf("it names no transaction")
	}
	for _, t := range a.Txns {
		if int(t) >= h.NumTxns() {
			return fmt.Errorf("transaction index %d of %d", t, h.NumTxns())
		}
	}
	if a.Kind == level.NoConflict {
		if int(a.Key) >= h.NumKeys() {
			return fmt.Errorf("key %d of %d", a.Key, h.NumKeys())
		}
		return nil
	}
	if a.Kind != level.Int && a.Kind != level.Ext {
		return nil
	}
	if len(a.Ops) != 1 || int(a.Ops[0]) >= h.NumOps() || evidence.TxnOf(h, a.Ops[0]) != a.Txns[0] {
		return fmt.Errorf("it names no read of its first transaction")
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
		for _, e := range elems(h, v) {
			s.wanted[e] = nil
		}
	case history.PredRead, history.PredWrite:
		if int(k) >= h.NumKeys() {
			return fmt.Errorf("key %d of %d", k, h.NumKeys())
		}
		for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
			if old := h.Preds.Old[r]; old != history.None && rowKey(h, r) == k {
				s.wanted[old] = nil
			}
		}
	default:
		return fmt.Errorf("operation %d is no read", op)
	}
	s.keys[k] = true
	return nil
}

// scan finds the writes of those keys and versions.
func (s *stamps) scan() error {
	h := s.h
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			wrote(h, op, func(v uint32) {
				k := h.VerKey[v]
				w := stamped{op, t, v, h.Ops.Kind[op] == history.Append || isFinal(h, k, op, hi)}
				if _, ok := s.wanted[v]; ok {
					s.wanted[v] = append(s.wanted[v], w)
				}
				if s.keys[k] && (takesPart(h, t) || t == h.Init) {
					s.installs[k] = append(s.installs[k], w)
				}
			})
		}
	}
	for _, in := range s.installs {
		at := func(w stamped) int64 {
			if w.txn == h.Init {
				return history.NoTime
			}
			return h.CommitTS(w.txn)
		}
		slices.SortStableFunc(in, func(a, b stamped) int {
			switch x, y := at(a), at(b); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	return nil
}

// sees reports whether t's snapshot holds what u installed.
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

// current is the version of a register in t's snapshot.
func (s *stamps) current(t, k uint32) uint32 {
	v := s.h.InitVer[k]
	for _, w := range s.installs[k] {
		if s.sees(t, w.txn) {
			v = w.ver
		}
	}
	return v
}

// list is the list in t's snapshot.
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
	if !takesPart(h, t) {
		return fmt.Errorf("%s did not commit by its timestamps", name(h, t))
	}
	begin, end := s.span(t)
	if a.Kind == level.Timestamps {
		if begin == history.NoTime || begin <= end {
			return fmt.Errorf("%s starts no later than it commits", name(h, t))
		}
		return nil
	}
	if begin == history.NoTime || begin > end {
		return fmt.Errorf("%s starts at no time, or after its commit", name(h, t))
	}
	switch a.Kind {
	case level.Session:
		return s.checkSession(a, t)
	case level.NoConflict:
		return s.checkConflict(a, t)
	case level.Int, level.Ext:
		why, err := s.wrong(a.Kind, t, a.Ops[0], a.Key)
		if err == nil && why != a.Why {
			err = fmt.Errorf("the read is wrong in another way: %q, not %q", why, a.Why)
		}
		return err
	}
	return fmt.Errorf("%q is no axiom of timestamps", a.Kind)
}

func (s *stamps) checkSession(a *evidence.Anomaly, t uint32) error {
	h := s.h
	if !s.l.Sessions() {
		return fmt.Errorf("%s does not ask for session order", s.l)
	}
	if len(a.Txns) != 2 {
		return fmt.Errorf("%d transactions; expected 2", len(a.Txns))
	}
	u := a.Txns[1]
	if !takesPart(h, u) || h.Txns.Sess[t] != h.Txns.Sess[u] {
		return fmt.Errorf("%s did not commit, or not in the same session", name(h, u))
	}
	in := h.SessTxn[h.SessOff[h.Txns.Sess[t]]:h.SessOff[h.Txns.Sess[t]+1]]
	if slices.Index(in, u) >= slices.Index(in, t) {
		return fmt.Errorf("%s is not earlier in the session", name(h, u))
	}
	begin, _ := s.span(t)
	if from, end := s.span(u); from > end || s.follows(t, u) {
		return fmt.Errorf("%s starts at %d, not before %s is over at %d", name(h, t), begin, name(h, u), end)
	}
	return nil
}

func (s *stamps) checkConflict(a *evidence.Anomaly, t uint32) error {
	h := s.h
	if !s.l.Snapshot() {
		return fmt.Errorf("%s has no such axiom", s.l)
	}
	if len(a.Txns) != 2 {
		return fmt.Errorf("%d transactions; expected 2", len(a.Txns))
	}
	u := a.Txns[1]
	begin, end := s.span(t)
	from, c := s.span(u)
	switch {
	case u == t || !takesPart(h, u) || from > c:
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

// wrong proves that t's read op violates the axiom, and says why an external one does.
func (s *stamps) wrong(kind level.Anomaly, t, op, k uint32) (why string, err error) {
	h := s.h
	v := h.Ops.Ver[op]
	lo, _ := h.TxnOps(t)
	fails := func(internal bool) error {
		if internal != (kind == level.Int) {
			return fmt.Errorf("whether an own operation comes before the read is said wrongly")
		}
		return nil
	}
	switch h.Ops.Kind[op] {
	case history.Read:
		k := h.VerKey[v]
		if own, ok := lastTouch(h, t, k, op); ok {
			if own == v {
				return "", fmt.Errorf("the read agrees with the own operation before it")
			}
			return "", fails(true)
		}
		if s.current(t, k) == v {
			return "", fmt.Errorf("the read is of the version in the snapshot")
		}
		return s.why(t, v), fails(false)
	case history.ReadList:
		return s.wrongList(t, op, lo, fails)
	}
	// A predicate operation, about k.
	want, mine := s.current(t, k), false
	if w, ver := lastWrite(h, t, k, op); w != history.None {
		want, mine = ver, true
	}
	truth := s.truths.Of(v, k, want)
	any := false
	for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
		if rowKey(h, r) != k {
			continue
		}
		any = true
		old := h.Preds.Old[r]
		switch {
		case old != history.None && old != want:
			why = s.why(t, old)
		case truth == predicates.False:
			why = "phantom"
		default:
			continue
		}
		if mine {
			why = ""
		}
		return why, fails(mine)
	}
	if any {
		return "", fmt.Errorf("the row is there, at the version of the snapshot")
	}
	if truth != predicates.True {
		return "", fmt.Errorf("the predicate is not true of the row that is missed")
	}
	if mine {
		return "", fails(true)
	}
	return "phantom", fails(false)
}

// lastTouch returns the version that t's last operation on register k before op wrote or saw.
func lastTouch(h *history.History, t, k, op uint32) (ver uint32, ok bool) {
	lo, _ := h.TxnOps(t)
	for o := op; o > lo; o-- {
		v := h.Ops.Ver[o-1]
		switch h.Ops.Kind[o-1] {
		case history.Read, history.Write:
			if h.VerKey[v] == k {
				return v, true
			}
		case history.PredRead, history.PredWrite:
			for r := h.Preds.Off[v+1]; r > h.Preds.Off[v]; r-- {
				if rowKey(h, r-1) != k {
					continue
				}
				if h.Ops.Kind[o-1] == history.PredWrite {
					return h.Preds.New[r-1], true
				}
				return h.Preds.Old[r-1], true
			}
		}
	}
	return history.None, false
}

// wrongList is wrong for a list: behind an own read of it, it is that and the own appends since; else what was committed and the own
// appends.
func (s *stamps) wrongList(t, op, lo uint32, fails func(internal bool) error) (why string, err error) {
	h := s.h
	k := h.OpKey(op)
	got := elems(h, h.Ops.Ver[op])
	for o := op; o > lo; o-- {
		if h.OpKey(o-1) != k {
			continue
		}
		if h.Ops.Kind[o-1] == history.Append {
			if len(got) == 0 || got[len(got)-1] != h.Ops.Ver[o-1] {
				return "", fails(true)
			}
			got = got[:len(got)-1]
			continue
		}
		if slices.Equal(got, elems(h, h.Ops.Ver[o-1])) {
			return "", fmt.Errorf("the list agrees with the own operations before it")
		}
		return "", fails(true)
	}
	committed := s.list(t, k)
	if slices.Equal(got, committed) {
		return "", fmt.Errorf("the list is that of the snapshot")
	}
	for i, e := range got {
		if i >= len(committed) || committed[i] != e {
			if why := s.why(t, e); why != "before" {
				return why, fails(false)
			}
		}
	}
	return "before", fails(false)
}

// why says what is wrong with an external read of a version. Of several writers the one that would be the least wrong counts.
func (s *stamps) why(t, v uint32) string {
	h := s.h
	begin, _ := s.span(t)
	if h.InitVer[h.VerKey[v]] == v {
		return "before"
	}
	worst := []string{"never written", "own", "aborted", "intermediate", "before", "uncommitted", "after"}
	best := 0
	for _, w := range s.wanted[v] {
		n := 0
		switch c := h.CommitTS(w.txn); {
		case w.txn == t:
			n = 1
		case w.txn == h.Init:
			n = 4
		case !takesPart(h, w.txn) || h.StartTS(w.txn) > c:
			n = 2
		case !w.final:
			n = 3
		case c <= begin:
			n = 4
		case h.StartTS(w.txn) <= begin:
			n = 5
		default:
			n = 6
		}
		best = max(best, n)
	}
	return worst[best]
}
