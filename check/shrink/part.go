package shrink

import (
	"slices"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/predicates"
)

// whole is the history to be cut down, with indices that say which cuts go together.
type whole struct {
	h     *history.History
	level level.Level
	skew  int64

	txnOf  []uint32 // of each operation
	pos    []uint32 // of each transaction: its place in its session
	final  []bool   // of each operation: a write that no later one of its transaction overwrites
	isList []bool   // of each key
	preds  []uint32 // predicate operations
	predAt []uint32 // of each operation: its place in preds
	rowKey []uint32 // of each row of a predicate operation: its key
	rowAt  map[[2]uint32]uint32
	truths *predicates.Index // nil: no predicates

	// Version v was written by the operations writers[writeOff[v]:writeOff[v+1]], and read as a register by readers
	// likewise. readRow is the row if the reader is a predicate operation, else None.
	writeOff, readOff []uint32
	writers, readers  []uint32
	readRow           []uint32
}

// manyWriters is the number of a version's writers past which every read of it may have seen each.
const manyWriters = 64

func newWhole(h *history.History, l level.Level, skew int64) (*whole, error) {
	w := &whole{h: h, level: l, skew: skew, txnOf: make([]uint32, h.NumOps()), pos: h.SessionPlaces(),
		final: make([]bool, h.NumOps()), isList: make([]bool, h.NumKeys())}
	if h.HasPredicates() {
		x, err := predicates.NewIndex(h)
		if err != nil {
			return nil, err
		}
		w.truths = x
		w.rowKey, w.rowAt = make([]uint32, len(h.Preds.Old)), map[[2]uint32]uint32{}
		w.predAt = make([]uint32, h.NumOps())
	}
	for _, k := range h.Lists.Key {
		w.isList[k] = true
	}
	last := make([]uint32, h.NumKeys()) // 1 + the transaction that overwrites the key
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := hi; op > lo; op-- {
			o := op - 1
			w.txnOf[o], w.final[o] = t, true
			switch h.Ops.Kind[o] {
			case history.Append:
				w.isList[h.OpKey(o)] = true
			case history.Write:
				k := h.OpKey(o)
				w.final[o] = last[k] != t+1
				last[k] = t + 1
			case history.PredRead, history.PredWrite:
				w.predAt[o] = uint32(len(w.preds))
				w.preds = append(w.preds, o)
			}
		}
	}
	w.index()
	return w, nil
}

// index fills writers and readers.
func (w *whole) index() {
	h := w.h
	w.writeOff, w.readOff = make([]uint32, h.NumVersions()+1), make([]uint32, h.NumVersions()+1)
	count := func(off []uint32) func(v, op, row uint32) { return func(v, _, _ uint32) { off[v+1]++ } }
	w.each(count(w.writeOff), count(w.readOff))
	for v := range h.NumVersions() {
		w.writeOff[v+1] += w.writeOff[v]
		w.readOff[v+1] += w.readOff[v]
	}
	w.writers = make([]uint32, w.writeOff[h.NumVersions()])
	w.readers = make([]uint32, w.readOff[h.NumVersions()])
	w.readRow = make([]uint32, len(w.readers))
	next, nextRead := append([]uint32(nil), w.writeOff...), append([]uint32(nil), w.readOff...)
	w.each(func(v, op, _ uint32) {
		w.writers[next[v]] = op
		next[v]++
	}, func(v, op, row uint32) {
		w.readers[nextRead[v]], w.readRow[nextRead[v]] = op, row
		nextRead[v]++
	})
}

// each calls wrote for every version that an operation writes, and read for every version that it reads as a register.
func (w *whole) each(wrote, read func(v, op, row uint32)) {
	h := w.h
	for op := range uint32(h.NumOps()) {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			read(v, op, history.None)
		case history.Write, history.Append:
			wrote(v, op, history.None)
		case history.PredRead, history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				k := history.None
				if old := h.Preds.Old[j]; old != history.None {
					read(old, op, j)
					k = h.VerKey[old]
				}
				if repl := h.Preds.New[j]; repl != history.None {
					wrote(repl, op, j)
					k = h.VerKey[repl]
				}
				w.rowKey[j] = k
				w.rowAt[[2]uint32{op, k}] = j
			}
		}
	}
}

// state says what is left of the whole.
type state struct {
	op []bool
	// For each row of a predicate operation: whether the predicate still ranges over its key, and whether the write of
	// a predicate write to it is left.
	matched, written []bool
	gone             []bool // version → an element removed from all list reads
	// beyond has, for each predicate operation, the keys without rows over which it no longer ranges, as bits, or nil.
	// States share these until they change them: own says which belong to this state.
	beyond [][]uint64
	own    []bool

	lost  []lost
	preds []uint32
}

type lost struct{ op, ver uint32 }

func (w *whole) all() *state {
	s := &state{op: fill(w.h.NumOps()), matched: fill(len(w.rowKey)), written: make([]bool, len(w.rowKey)),
		gone: make([]bool, w.h.NumVersions()), beyond: make([][]uint64, len(w.preds)), own: make([]bool, len(w.preds))}
	for j := range s.written {
		s.written[j] = w.h.Preds.New[j] != history.None
	}
	return s
}

func fill(n int) []bool { return slices.Repeat([]bool{true}, n) }

func (s *state) clone() *state {
	clear(s.own) // both states share these from now on
	return &state{op: slices.Clone(s.op), matched: slices.Clone(s.matched), written: slices.Clone(s.written),
		gone: slices.Clone(s.gone), beyond: slices.Clone(s.beyond), own: make([]bool, len(s.own))}
}

// isBeyond reports whether a predicate operation, given by its place in preds, no longer ranges over a key without a
// row.
func (s *state) isBeyond(at, k uint32) bool {
	b := s.beyond[at]
	return b != nil && b[k/64]>>(k%64)&1 != 0
}

func (s *state) setBeyond(at, k uint32, keys int) {
	if !s.own[at] {
		s.own[at] = true
		b := make([]uint64, (keys+63)/64)
		copy(b, s.beyond[at])
		s.beyond[at] = b
	}
	s.beyond[at][k/64] |= 1 << (k % 64)
}

// take removes an operation; settle then removes everything that depends on it.
func (w *whole) take(s *state, op uint32) {
	if !s.op[op] {
		return
	}
	s.op[op] = false
	v := w.h.Ops.Ver[op]
	switch w.h.Ops.Kind[op] {
	case history.Write, history.Append:
		s.lost = append(s.lost, lost{op, v})
	case history.PredWrite:
		for j := w.h.Preds.Off[v]; j < w.h.Preds.Off[v+1]; j++ {
			w.takeWritten(s, op, j)
		}
	}
}

// takeWritten removes the write of a predicate write to a row.
func (w *whole) takeWritten(s *state, op, j uint32) {
	if s.written[j] {
		s.written[j] = false
		s.lost = append(s.lost, lost{op, w.h.Preds.New[j]})
	}
}

// takeElement removes an element from a list: its appends, and its place in every read.
func (w *whole) takeElement(s *state, v uint32) {
	if s.gone[v] {
		return
	}
	s.gone[v] = true
	for _, op := range w.writers[w.writeOff[v]:w.writeOff[v+1]] {
		w.take(s, op)
	}
}

// settle removes what depends on removed writes, so that every order that explains the whole also explains the rest:
// register reads that may have seen such a write; the element from all list reads; and the key from the range of a
// predicate operation that may have missed it at that version. So the rest violates the level only if the whole does
// (history.Restrict). Cost: linear in what is removed, times the predicate operations left.
func (w *whole) settle(s *state) {
	s.preds = slices.DeleteFunc(append(s.preds[:0], w.preds...), func(op uint32) bool { return !s.op[op] })
	for len(s.lost) > 0 {
		l := s.lost[len(s.lost)-1]
		s.lost = s.lost[:len(s.lost)-1]
		if w.isList[w.h.VerKey[l.ver]] {
			w.takeElement(s, l.ver)
			continue
		}
		for i := w.readOff[l.ver]; i < w.readOff[l.ver+1]; i++ {
			r, j := w.readers[i], w.readRow[i]
			switch {
			case !s.op[r] || j != history.None && !s.matched[j] || !w.mayHaveSeen(r, l):
			case j == history.None:
				w.take(s, r)
			default:
				s.matched[j] = false
			}
		}
		w.missed(s, l)
	}
}

// mayHaveSeen reports whether read r may have seen the removed write l. It did not if another write can explain r and l
// cannot. If no write can explain r, each of them is part of the anomaly.
func (w *whole) mayHaveSeen(r uint32, l lost) bool {
	all := w.writers[w.writeOff[l.ver]:w.writeOff[l.ver+1]]
	if len(all) == 1 || len(all) > manyWriters || w.explains(l.op, r) {
		return true
	}
	return !slices.ContainsFunc(all, func(op uint32) bool { return w.explains(op, r) })
}

// explains reports whether read r can have seen write op in a history that satisfies the level.
func (w *whole) explains(op, r uint32) bool {
	h := w.h
	from, to := w.txnOf[op], w.txnOf[r]
	switch {
	case from == to:
		return op < r
	case h.Txns.Status[from] == history.Aborted, !w.final[op]:
		return false
	case from == h.Init:
		return true
	case w.level.Sessions() && h.Txns.Sess[from] == h.Txns.Sess[to] && w.pos[from] > w.pos[to]:
		return false
	case w.level.RealTime():
		start, _ := h.Window(from, w.skew)
		_, end := h.Window(to, w.skew)
		return end >= start
	}
	return true
}

// missed removes the key of a removed write from the range of predicate operations that may have seen its version.
func (w *whole) missed(s *state, l lost) {
	h := w.h
	if len(s.preds) == 0 || h.Txns.Status[w.txnOf[l.op]] == history.Aborted {
		return
	}
	k := h.VerKey[l.ver]
	for _, op := range s.preds {
		if !s.op[op] || op == l.op || s.isBeyond(w.predAt[op], k) {
			continue
		}
		if j, ok := w.rowAt[[2]uint32{op, k}]; ok {
			if s.matched[j] && h.Preds.Old[j] == history.None {
				s.matched[j] = false
			}
			continue
		}
		if w.truths.Truth(h.Ops.Ver[op], k, l.ver) != predicates.True {
			s.setBeyond(w.predAt[op], k, h.NumKeys())
		}
	}
}

// size counts the transactions that are left, without the initial one, and the operations that are left.
func (w *whole) size(s *state) (z Size) {
	for t := range uint32(w.h.NumTxns()) {
		if n := w.left(s, t); n > 0 {
			z.Ops += n
			if t != w.h.Init {
				z.Txns++
			}
		}
	}
	return z
}

// left counts the remaining operations of a transaction, with elements and rows.
func (w *whole) left(s *state, t uint32) (n int) {
	for op := range w.h.EachOp(t) {
		if !s.op[op] {
			continue
		}
		n++
		v := w.h.Ops.Ver[op]
		switch w.h.Ops.Kind[op] {
		case history.ReadList:
			n += slice.Count(w.h.Elems(v), func(e uint32) bool { return !s.gone[e] })
		case history.PredRead, history.PredWrite:
			for j := w.h.Preds.Off[v]; j < w.h.Preds.Off[v+1]; j++ {
				if s.matched[j] {
					n++
				}
				if s.written[j] {
					n++
				}
			}
		}
	}
	return n
}
