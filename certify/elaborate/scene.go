package elaborate

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// access is a transaction and a key, by index.
type access struct{ t, k uint32 }

// version is a version of a key that a transaction left there or saw first.
type version struct{ t, v uint32 }

// traffic lists the accesses to a key. For a register: each transaction's last write, and its first read before it
// wrote the key. For a list: the elements appended, and the operations that read them.
type traffic struct{ writers, readers []version }

// scene is the part of a history that a refutation of an anomaly needs; see the package comment.
type scene struct {
	*terms
	keys     map[uint32]*traffic
	txns     map[uint32]bool
	reads    map[access]bool
	readBy   map[uint32][]uint32 // transaction → the keys of its reads
	writes   map[access]bool
	elements map[uint32]map[uint32]bool // list → its elements that are in the scene
	pairs    [][3]uint32                // two writers of a key that the evidence orders, and the key
	paired   map[[3]uint32]bool
	pending  []access // reads whose writers are yet to be found
	unknown  []uint32 // transactions of unknown outcome whose readers are yet to be found
	weak     bool     // a transaction may see several versions of a key
}

const maxScene = 400_000

func (s *scene) isList(k uint32) bool {
	_, is := s.inits[number(k)]
	return is
}

func (s *scene) txn(t uint32) bool {
	if int(t) >= s.h.NumTxns() || !s.takesPart(t) {
		return false
	}
	if !s.txns[t] {
		s.txns[t] = true
		if s.h.Txns.Status[t] == history.Unknown {
			s.unknown = append(s.unknown, t)
		}
	}
	return true
}

func (s *scene) read(t, k uint32) {
	if a := (access{t, k}); k != history.None && !s.reads[a] && s.txn(t) {
		s.reads[a] = true
		s.readBy[t] = append(s.readBy[t], k)
		s.pending = append(s.pending, a)
	}
}

func (s *scene) write(t, k uint32) {
	if a := (access{t, k}); k != history.None && !s.writes[a] && s.txn(t) {
		s.writes[a] = true
	}
}

// pair notes that the order of two writers of a key matters. A read of one writer by the other may settle it.
func (s *scene) pair(a, b, k uint32) {
	s.write(a, k)
	s.write(b, k)
	if a > b {
		a, b = b, a
	}
	if p := [3]uint32{a, b, k}; !s.paired[p] && s.txns[a] && s.txns[b] {
		s.paired[p] = true
		s.pairs = append(s.pairs, p)
	}
}

// anomaly adds the transactions and operations that an anomaly names.
func (s *scene) anomaly(a *evidence.Anomaly) {
	s.cycle(a.Cycle)
	for _, c := range a.Cycles {
		s.cycle(c)
	}
	whole := len(a.Cycle) == 0 && len(a.Cycles) == 0
	s.operations(a.Ops, a.Key, whole)
	for _, ops := range a.Dead {
		s.operations(ops, a.Key, whole)
	}
	if a.Kind == level.NonLinearizable && len(a.Ops) > 0 {
		s.until(a.Ops[0], a.Key)
	}
}

func (s *scene) cycle(c []evidence.Edge) {
	for i := range c {
		e := &c[i]
		s.txn(e.From)
		s.txn(e.To)
		switch e.Dep {
		case evidence.WR, evidence.PWR:
			s.read(e.To, e.Key)
			s.write(e.From, e.Key)
		case evidence.WW:
			s.pair(e.From, e.To, e.Key)
		case evidence.RW, evidence.PRW:
			s.read(e.From, e.Key)
			s.write(e.To, e.Key)
			if e.Writer != history.None && e.Writer != s.h.Init && !s.isList(e.Key) {
				s.pair(e.Writer, e.To, e.Key)
			}
		}
		if e.Key != history.None && s.isList(e.Key) {
			s.appends(e.From, e.Key)
			s.appends(e.To, e.Key)
		}
	}
}

// operations adds the operations of an anomaly about reads. Of a list it adds the elements that show the anomaly, or
// all if they are few.
func (s *scene) operations(ops []uint32, key uint32, whole bool) {
	h := s.h
	for _, op := range ops {
		t := h.TxnOf(op)
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			if int(key) < h.NumKeys() {
				s.read(t, key)
			}
			for r := h.Preds.Off[h.Ops.Ver[op]]; r < h.Preds.Off[h.Ops.Ver[op]+1]; r++ {
				s.read(t, h.RowKey(r))
			}
		case history.ReadList:
			k := h.OpKey(op)
			for _, other := range ops {
				s.appends(h.TxnOf(other), k)
			}
			i := h.Ops.Ver[op]
			s.want([]uint32{k})
			live := map[uint32]bool{}
			for _, w := range s.keys[k].writers {
				live[w.v] = true
			}
			all := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
			nobody := false
			for _, v := range all {
				if !live[v] { // it was not appended, or is an initial element
					s.element(k, v)
					nobody = nobody || !slices.Contains(s.inits[number(k)], number(v))
				}
			}
			if len(ops) > 2 || len(s.elements[k]) == 0 || whole && !nobody && len(all) <= shortList {
				for _, v := range all {
					s.element(k, v)
				}
			}
			s.read(t, k)
		default:
			s.read(t, h.OpKey(op))
		}
	}
}

// want collects the traffic of keys, in one pass over the history if some keys are new.
func (s *scene) want(ks []uint32) {
	h := s.h
	fresh := map[uint32]*traffic{}
	for _, k := range ks {
		if s.keys[k] == nil {
			s.keys[k] = &traffic{}
			fresh[k] = s.keys[k]
		}
	}
	if len(fresh) == 0 {
		return
	}
	wanted := make([]*traffic, h.NumKeys())
	for k, x := range fresh {
		wanted[k] = x
	}
	last := func(vs []version, t uint32) bool { return len(vs) > 0 && vs[len(vs)-1].t == t }
	saw := func(t, v uint32) {
		if x := wanted[h.VerKey[v]]; x != nil && !last(x.writers, t) && (s.weak || !last(x.readers, t)) {
			x.readers = append(x.readers, version{t, v})
		}
	}
	wrote := func(t, v uint32) {
		x := wanted[h.VerKey[v]]
		switch {
		case x == nil:
		case last(x.writers, t):
			x.writers[len(x.writers)-1].v = v
		default:
			x.writers = append(x.writers, version{t, v})
		}
	}
	for t := range uint32(h.NumTxns()) {
		if !s.takesPart(t) {
			continue
		}
		for op, v := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Read:
				saw(t, v)
			case history.Write:
				wrote(t, v)
			case history.Append:
				if x := wanted[h.VerKey[v]]; x != nil {
					x.writers = append(x.writers, version{t, v})
				}
			case history.ReadList:
				if x := wanted[h.Lists.Key[v]]; x != nil {
					x.readers = append(x.readers, version{t, op})
				}
			default:
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					if old := h.Preds.Old[r]; old != history.None {
						saw(t, old)
					}
					if w := h.Preds.New[r]; h.Ops.Kind[op] == history.PredWrite {
						wrote(t, w)
					}
				}
			}
		}
	}
}

// close completes the scene. It adds the possible writers of each version read, the reads that settle the order of
// pairs, and the readers of transactions of unknown outcome, since a reader makes its writer count.
func (s *scene) close() error {
	settled := 0
	for len(s.pending)+len(s.unknown) > 0 || settled < len(s.pairs) || s.appenders() {
		if len(s.reads)+len(s.writes) > maxScene {
			return &Unsupported{"a proof that needs so many operations"}
		}
		for ; settled < len(s.pairs); settled++ {
			p := s.pairs[settled]
			if s.isList(p[2]) {
				s.listOrder(p[0], p[1], p[2])
				s.listOrder(p[1], p[0], p[2])
			}
			s.readBetween(p[0], p[1])
			s.readBetween(p[1], p[0])
		}
		unknown := s.unknown
		s.unknown = nil
		for _, u := range unknown {
			s.readsOf(u, func(k uint32) { s.read(u, k) })
		}
		pending := s.pending
		s.pending = nil
		keys := make([]uint32, 0, len(pending))
		for _, a := range pending {
			keys = append(keys, a.k)
		}
		for _, u := range unknown {
			s.accesses(u, func(k uint32) { keys = append(keys, k) })
		}
		s.want(keys)
		by := s.writersOf(pending)
		for _, a := range pending {
			s.sources(a, by)
		}
		for _, u := range unknown {
			s.readersOf(u)
		}
	}
	return nil
}

// accesses calls f with each key that a transaction's operations access.
func (s *scene) accesses(t uint32, f func(k uint32)) {
	h := s.h
	for op := range h.EachOp(t) {
		if k := h.OpKey(op); k != history.None {
			f(k)
			continue
		}
		i := h.Ops.Ver[op]
		for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
			f(h.RowKey(r))
		}
	}
}

// readBetween adds the reads by b of versions that a wrote.
func (s *scene) readBetween(a, b uint32) {
	h := s.h
	if a == b {
		return
	}
	lo, hi := h.TxnOps(b)
	from, to := h.TxnOps(a)
	if uint64(hi-lo)*uint64(to-from) > 1<<16 {
		return
	}
	reads := func(v uint32) {
		for op := from; op < to; op++ {
			switch w := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Write, history.Append:
				if v == w {
					s.read(b, h.VerKey[v])
					s.write(a, h.VerKey[v])
				}
			case history.PredWrite:
				for _, n := range h.Preds.New[h.Preds.Off[w]:h.Preds.Off[w+1]] {
					if n == v {
						s.read(b, h.VerKey[v])
						s.write(a, h.VerKey[v])
					}
				}
			}
		}
	}
	for op := lo; op < hi; op++ {
		switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.Read:
			reads(v)
		case history.PredRead, history.PredWrite:
			for _, old := range h.Preds.Old[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				if old != history.None {
					reads(old)
				}
			}
		case history.ReadList:
			k := h.Lists.Key[v]
			for _, w := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				if s.elements[k][w] {
					reads(w)
				}
			}
		}
	}
}

// writersOf finds the writers of each version that the keys of these accesses have.
func (s *scene) writersOf(as []access) map[uint32][]uint32 {
	by := map[uint32][]uint32{}
	done := map[uint32]bool{}
	for _, a := range as {
		if done[a.k] {
			continue
		}
		done[a.k] = true
		for _, w := range s.keys[a.k].writers {
			by[w.v] = append(by[w.v], w.t)
		}
	}
	return by
}

// sources adds the possible writers of the version of a register that a transaction read first.
func (s *scene) sources(a access, by map[uint32][]uint32) {
	h := s.h
	if s.isList(a.k) { // see appenders
		return
	}
	if s.weak {
		s.allSources(a, by)
		return
	}
	lo, hi := h.TxnOps(a.t)
	var searches []uint32
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch kind := h.Ops.Kind[op]; kind {
		case history.Read, history.Write:
			if h.VerKey[v] == a.k {
				if kind == history.Read {
					s.writtenBy(a, by[v])
					return
				}
				s.agreeing(a, searches)
				return
			}
		case history.PredRead, history.PredWrite:
			searches = append(searches, op)
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				if h.RowKey(r) != a.k {
					continue
				}
				if old := h.Preds.Old[r]; old != history.None {
					s.writtenBy(a, by[old])
					return
				}
				if kind == history.PredWrite {
					s.agreeing(a, searches)
					return
				}
			}
		}
	}
	s.agreeing(a, searches)
}

func (s *scene) writtenBy(a access, ts []uint32) {
	for _, t := range ts {
		if t != a.t {
			s.write(t, a.k)
		}
	}
}

// agreeing adds the writers of a key whose version agrees with the results of all these searches.
func (s *scene) agreeing(a access, searches []uint32) {
	if len(searches) == 0 {
		return
	}
	found := make([]bool, len(searches))
	for i, op := range searches {
		found[i] = s.found(op, a.k)
	}
writers:
	for _, w := range s.keys[a.k].writers {
		if w.t == a.t {
			continue
		}
		for i, op := range searches {
			if t := s.searches.truths.Of(s.h.Ops.Ver[op], a.k, w.v); t == predicates.True && !found[i] ||
				t == predicates.False && found[i] {
				continue writers
			}
		}
		s.write(w.t, a.k)
	}
}

// found reports whether a predicate operation matched a key.
func (s *scene) found(op, k uint32) bool {
	i := s.h.Ops.Ver[op]
	for r := s.h.Preds.Off[i]; r < s.h.Preds.Off[i+1]; r++ {
		if s.h.RowKey(r) == k {
			return true
		}
	}
	return false
}

// readersOf adds the reads of what a transaction of unknown outcome wrote.
func (s *scene) readersOf(u uint32) {
	left := map[uint32]bool{}
	s.accesses(u, func(k uint32) {
		if left[k] {
			return
		}
		left[k] = true
		if s.isList(k) {
			s.listReader(u, k)
			return
		}
		for _, w := range s.keys[k].writers {
			if w.t != u {
				continue
			}
			s.write(u, k)
			for _, r := range s.keys[k].readers {
				if r.v == w.v && r.t != u {
					s.read(r.t, k)
				}
			}
		}
	})
}
