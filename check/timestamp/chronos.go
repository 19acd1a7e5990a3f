package timestamp

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/predicates"
)

// Options are the parameters of Chronos, Aion and Emme. The zero value checks serializability.
type Options struct {
	// Level is one of Levels(). If it has session order, SESSION is checked.
	Level level.Level
	// ReadOnlyAtStart, at the serializable levels, places transactions without writes at their start timestamp.
	ReadOnlyAtStart bool
	// Hash makes Aion's hashes of lists; nil: a key is drawn.
	Hash *keyed.Key
	// After, if set, is called by Chronos after each Every transactions: measurements call the collector there.
	After func()
	Every int
}

// Levels are the levels that timestamps decide: CHRONOS-SER and CHRONOS, each with and without its axiom SESSION. The
// paper's are session-serializable and session-snapshot-isolation, since its SESSION belongs to the strong session
// variants (Definition 4).
func Levels() []level.Level {
	return []level.Level{level.Serializable, level.SessionSerializable, level.SnapshotIsolation,
		level.SessionSnapshotIsolation}
}

func (o Options) check() error {
	if !slices.Contains(Levels(), o.Level) {
		return fmt.Errorf("timestamps do not decide %s", o.Level)
	}
	return nil
}

// entry is the sweep's state of a key: the version committed last and its time, and what the current transaction did to
// it.
type entry struct {
	cts  int64
	ver  uint32
	by   uint32 // the transaction that committed it; None: the initial version
	own  uint32 // by the operations of stamp's transaction so far
	mine uint32 // 1 + the transaction that own belongs to
}

// sweep is the state of Chronos at one moment.
type sweep struct {
	h      *history.History
	o      Options
	serial bool
	keys   []entry
	lists  [][]uint32 // elements committed, by key; nil where the history has none
	rows   *predicates.State
	w      *writers
	out    Report
	// conflicted are the keys with a failed NOCONFLICT, whose pairs are listed at the end.
	conflicted map[uint32]struct{}
	mod        modified
}

// Chronos checks all axioms in one sweep over the starts and commits in the order of their timestamps, and reports
// every violation.
//
// Source: CHRONOS (Algorithm 2) with errata C1 to C9 and C19. NOCONFLICT needs no sets of running transactions: a
// conflict shows at T's commit, by a version of its key committed after T's start, and all pairs of such keys are
// listed afterwards. Predicate reads use counts. Errors: *history.InputError for missing or impossible timestamps, and
// ctx's. Cost: a radix sort and one pass over the operations, 40 bytes a key; each violation costs its transaction's
// operations.
func Chronos(ctx context.Context, h *history.History, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	l, err := newTimeline(h, o)
	if err != nil {
		return nil, err
	}
	sorted := time.Now()
	s, err := newSweep(h, o)
	if err != nil {
		return nil, err
	}
	for _, t := range l.backwards {
		s.out.add(broken(TIMESTAMPS, t, history.None, history.None))
	}
	if o.Level.Sessions() {
		s.session(l)
	}
	pause, step := o.pauses(len(l.moments))
	for i, m := range l.moments {
		if i&0xffff == 0xffff && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if i == pause {
			o.After()
			pause += step
		}
		s.at(l, m)
	}
	s.conflicts(l)
	s.out.Order = l.moments
	if s.serial {
		s.out.Order = l.entries()
	}
	s.out.finish()
	s.out.w, s.out.Begin = s.w, l.begin
	s.out.Stages = map[string]time.Duration{"sorting": sorted.Sub(began), "checking": time.Since(sorted)}
	return &s.out, nil
}

// at does what happens at a moment: reads at a start, writes at a commit.
func (s *sweep) at(l *timeline, m moment) {
	t := m >> 1
	if s.serial || m&1 == 0 {
		s.start(t, l.at(m))
	}
	if l.writer[t] && (s.serial || m&1 == 1) {
		s.commit(t)
	}
}

// newSweep returns a sweep in the initial state.
func newSweep(h *history.History, o Options) (*sweep, error) {
	s := &sweep{h: h, o: o, serial: o.Level.Serial(), keys: make([]entry, h.NumKeys())}
	for k := range s.keys {
		s.keys[k] = entry{cts: history.NoTime, ver: h.InitVer[k], by: history.None}
	}
	if h.HasLists() {
		s.lists = make([][]uint32, h.NumKeys())
	}
	if h.HasPredicates() {
		x, err := predicates.NewIndex(h)
		if err != nil {
			return nil, err
		}
		s.rows = x.NewState()
	}
	if h.Init != history.None && s.lists != nil {
		for op := range h.EachOp(h.Init) {
			if h.Ops.Kind[op] == history.Append {
				v := h.Ops.Ver[op]
				s.lists[h.VerKey[v]] = append(s.lists[h.VerKey[v]], v)
			}
		}
	}
	return s, nil
}

// pauses returns the number of moments before the first call of After, and between later calls.
func (o Options) pauses(moments int) (first, step int) {
	if o.After == nil || o.Every <= 0 {
		return moments, 0
	}
	step = min(o.Every, moments) // a transaction has one moment, or a start and a commit
	if !o.Level.Serial() {
		step *= 2
	}
	return step, step
}

func (r *Report) add(v Violation) { r.Violations = append(r.Violations, v) }

// session checks the axiom SESSION. It skips transactions that take no part, because they did not commit or have
// impossible timestamps. Equal timestamps are in order (errata C4), except for a writer after a reader if everything
// happens at one moment: then the reader comes after the writer.
func (s *sweep) session(l *timeline) {
	h := s.h
	for n := range h.NumSessions() {
		last, lastTS := history.None, int64(0)
		for _, t := range h.SessTxn[h.SessOff[n]:h.SessOff[n+1]] {
			if !l.in[t] {
				continue
			}
			if last != history.None && (l.begin(t) < lastTS || s.serial && l.begin(t) == lastTS && l.writer[t] &&
				!l.writer[last]) {
				s.out.add(broken(SESSION, t, last, history.None))
			}
			last, lastTS = t, l.end(t)
		}
	}
}

// start reads: INT and EXT of every operation, in program order.
func (s *sweep) start(t uint32, now int64) {
	h := s.h
	lo, hi := h.TxnOps(t)
	stamp := t + 1
	vers, keys, verKey := h.Ops.Ver[lo:hi], s.keys, h.VerKey
	for i, kind := range h.Ops.Kind[lo:hi] {
		v := vers[i]
		op := lo + uint32(i)
		switch kind {
		case history.Read:
			e := &keys[verKey[v]]
			if e.mine == stamp {
				if e.own != v {
					s.int_(t, op, v, e.own)
				}
			} else if e.ver != v {
				s.ext(t, op, v, e, now)
			}
			e.own, e.mine = v, stamp
		case history.Write:
			e := &keys[verKey[v]]
			e.own, e.mine = v, stamp
		case history.Append:
			s.keys[h.VerKey[v]].mine = stamp
		case history.ReadList:
			s.readList(t, op, now)
			s.keys[h.Lists.Key[v]].mine = stamp
		case history.PredRead, history.PredWrite:
			s.predicate(t, op, now)
		}
	}
}

// commit installs the last version of each key written, and checks NOCONFLICT.
func (s *sweep) commit(t uint32) {
	h := s.h
	lo, hi := h.TxnOps(t)
	vers := h.Ops.Ver[lo:hi]
	for i, kind := range h.Ops.Kind[lo:hi] {
		v := vers[i]
		switch kind {
		case history.Write:
			s.install(t, h.VerKey[v], v)
		case history.Append:
			k := h.VerKey[v]
			s.lists[k] = append(s.lists[k], v)
			s.install(t, k, v)
		case history.PredWrite:
			for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				s.install(t, h.VerKey[n], n)
			}
		}
	}
}

// install makes v the current version of its key. If a transaction writes a key several times, the last write stays.
func (s *sweep) install(t, key, v uint32) {
	e := &s.keys[key]
	if e.by != t {
		s.noConflict(t, key, e)
	}
	e.ver, e.by, e.cts = v, t, s.h.Txns.CommitTS[t]
	if s.rows != nil {
		s.rows.Set(key, v)
	}
}

// int_ reports a failure of axiom INT: a read disagrees with an own earlier operation on its key.
func (s *sweep) int_(t, op, got, want uint32) {
	s.out.add(Violation{Axiom: INT, Txn: t, Other: history.None, Key: s.h.OpKey(op), Op: op, Got: got, Want: want})
}

// ext reports a failure of axiom EXT: a read does not see the version committed last.
func (s *sweep) ext(t, op, got uint32, e *entry, now int64) {
	s.out.add(Violation{Axiom: EXT, Kind: s.kind(t, got, now), Txn: t, Other: e.by, Key: s.h.OpKey(op), Op: op,
		Got: got, Want: e.ver})
}

func (s *sweep) kind(t, got uint32, now int64) Kind {
	if s.w == nil {
		s.w = newWriters(s.h)
	}
	return s.w.kind(t, got, now)
}

// noConflict reports a failure of axiom NOCONFLICT at t's commit: the key's last version was committed after t's start.
// There may be more such writers; conflicts lists the pairs after the sweep.
func (s *sweep) noConflict(t, key uint32, e *entry) {
	if s.serial || e.cts == history.NoTime || e.cts <= s.h.Txns.StartTS[t] {
		return
	}
	slice.MakeMap(&s.conflicted)
	s.conflicted[key] = struct{}{}
}

// conflicts lists every pair of overlapping writers of the conflicted keys. Cost: a pass over the operations if there
// are any, and the pairs.
func (s *sweep) conflicts(l *timeline) {
	if s.conflicted == nil {
		return
	}
	h := s.h
	writers := make(map[uint32][]uint32, len(s.conflicted)) // in the order of commits
	for _, m := range l.moments {
		t := m >> 1
		if m&1 == 0 {
			continue
		}
		eachWritten(h, t, func(k uint32) {
			if _, ok := s.conflicted[k]; !ok {
				return
			}
			of := writers[k]
			if n := len(of); n > 0 && of[n-1] == t {
				return
			}
			for i := len(of) - 1; i >= 0 && h.Txns.CommitTS[of[i]] > h.Txns.StartTS[t]; i-- {
				s.out.add(broken(NOCONFLICT, t, of[i], k))
			}
			writers[k] = append(of, t)
		})
	}
}

// eachWritten calls f with the key of each write of t, once for each write.
func eachWritten(h *history.History, t uint32, f func(key uint32)) {
	for op, v := range h.EachOp(t) {
		switch h.Ops.Kind[op] {
		case history.Write, history.Append:
			f(h.VerKey[v])
		case history.PredWrite:
			for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				f(h.VerKey[n])
			}
		}
	}
}

// readList checks INT and EXT of a list read. Own appends must be the end of the list (INT), after the committed
// elements (EXT). After an own read of the list, it must be that with the own appends since (INT). Errata C19.
func (s *sweep) readList(t, op uint32, now int64) {
	h := s.h
	v := h.Ops.Ver[op]
	k := h.Lists.Key[v]
	got := h.Elems(v)
	committed := s.lists[k]
	fails := func(a Axiom) {
		x := broken(a, t, history.None, k)
		if x.Op = op; a == EXT {
			x.Other = s.keys[k].by
			x.Kind = s.listKind(t, got, committed, now)
		}
		s.out.add(x)
	}
	if s.keys[k].mine == t+1 {
		// Walk own operations on the key backwards: appends, up to a read or the beginning.
		lo, _ := h.TxnOps(t)
		for before := op; before > lo; {
			before--
			switch h.Ops.Kind[before] {
			case history.Append:
				if e := h.Ops.Ver[before]; h.VerKey[e] == k {
					if len(got) == 0 || got[len(got)-1] != e {
						fails(INT)
						return
					}
					got = got[:len(got)-1]
				}
			case history.ReadList:
				if p := h.Ops.Ver[before]; h.Lists.Key[p] == k {
					if !slices.Equal(got, h.Elems(p)) {
						fails(INT)
					}
					return
				}
			}
		}
	}
	if !slices.Equal(got, committed) {
		fails(EXT)
	}
}

// listKind says how a list that was read differs from the committed one, by its first wrong element, or Before if it is
// only too short.
func (s *sweep) listKind(t uint32, got, committed []uint32, now int64) Kind {
	for i, e := range got {
		if i >= len(committed) || committed[i] != e {
			if k := s.kind(t, e, now); k != Before {
				return k
			}
		}
	}
	return Before
}
