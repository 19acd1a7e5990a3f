package replay

import (
	"cmp"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/predicates"
	"isovet/solver"
)

// predReads has the predicate operations of the nodes. Each reads every key that its own transaction has not written
// before. The view has reads of the keys that it matched, so what is left to check is that no other row matched. In the
// replay of an order, set has the current version of each key, and one count shows whether other rows match. Only if it
// differs are their keys looked up, and each becomes a read with several possible writers: the versions that do not
// match.
type predReads struct {
	e   *engine
	set matcher

	// Node i has the operations off[i]:off[i+1]; number q of these is op[q] of the history.
	off []uint32
	op  []uint32
	// rows[rowOff[q]:rowOff[q+1]] are the keys that operation q matched, in versions of other transactions.
	rowOff, rows []uint32
	// vague[vagueOff[q]:vagueOff[q+1]] are those of rows matched at a version that the client does not know. sure[q]
	// counts those of the others whose matched version surely matches.
	vagueOff, vague []uint32
	sure            []uint32
	// own[ownOff[i]:ownEnd[q]] are the keys that node i's transaction wrote before operation q.
	own, ownOff, ownEnd []uint32

	// asked are failed reads of one key by predicate operations. Their numbers follow those of the view's reads.
	known map[[2]uint32]uint32 // (operation, key) → the read
	asked []keyRead
	// mismatch are reads that no version explains. made has the constraints: a read, and the first write of the run
	// that it cannot have seen.
	mismatch []prepass.Miss
	made     map[[2]uint32]bool
	// next[w] is the write by a transaction that read w and replaced it, and prev the inverse. Built on first use.
	next, prev []uint32
	// The writes of key k are byKey[keyOff[k]:keyOff[k+1]], in the order of the view. Built on first use.
	byKey, keyOff []uint32

	askers []*asker // see replay
}

// keyRead is predicate operation q of node i as a read of one key. It did not match the key, or it overwrote the key
// and the client does not know which version it matched.
type keyRead struct {
	q, key  uint32
	i       int32
	matched bool
}

// newPredReads collects the predicate operations of the nodes. Cost: linear in their rows and in the writes of their
// transactions.
func newPredReads(e *engine, m matcher) *predReads {
	h := e.h
	p := &predReads{e: e, set: m, known: make(map[[2]uint32]uint32)}
	stamp, turn := make([]uint32, h.NumKeys()), uint32(0) // key → the node that wrote it last, from 1 on
	p.off = make([]uint32, len(e.txn)+1)
	p.ownOff = make([]uint32, len(e.txn)+1)
	ops := 0
	for _, t := range e.txn {
		ops += int(e.v.POff[t+1] - e.v.POff[t])
	}
	for _, s := range []*[]uint32{&p.op, &p.rowOff, &p.vagueOff, &p.sure, &p.ownEnd} {
		*s = make([]uint32, 0, ops+1)
	}
	p.rowOff, p.vagueOff = append(p.rowOff, 0), append(p.vagueOff, 0)
	p.rows, p.own = make([]uint32, 0, len(e.v.RW)), make([]uint32, 0, len(e.v.WKey))
	for i, t := range e.txn {
		turn++
		wrote := func(k uint32) {
			if stamp[k] != turn {
				stamp[k] = turn
				p.own = append(p.own, k)
			}
		}
		for op, at := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Write:
				wrote(h.VerKey[at])
				continue
			case history.PredRead, history.PredWrite:
			default:
				continue
			}
			sure := uint32(0)
			for j := h.Preds.Off[at]; j < h.Preds.Off[at+1]; j++ {
				k := p.rowKey(j)
				if stamp[k] == turn {
					continue
				}
				p.rows = append(p.rows, k)
				if old := h.Preds.Old[j]; old == none {
					p.vague = append(p.vague, k)
				} else if m.Truth(at, k, old) == predicates.True {
					sure++
				}
			}
			p.op = append(p.op, op)
			p.rowOff = append(p.rowOff, uint32(len(p.rows)))
			p.vagueOff = append(p.vagueOff, uint32(len(p.vague)))
			p.sure = append(p.sure, sure)
			p.ownEnd = append(p.ownEnd, uint32(len(p.own)))
			if h.Ops.Kind[op] == history.PredWrite {
				for j := h.Preds.Off[at]; j < h.Preds.Off[at+1]; j++ {
					wrote(p.rowKey(j))
				}
			}
		}
		p.off[i+1], p.ownOff[i+1] = uint32(len(p.op)), uint32(len(p.own))
	}
	return p
}

func (p *predReads) rowKey(j uint32) uint32 {
	h := p.e.h
	if v := h.Preds.Old[j]; v != none {
		return h.VerKey[v]
	}
	return h.VerKey[h.Preds.New[j]]
}

// truth returns the truth of operation op's predicate for write w.
func (p *predReads) truth(op, w uint32) predicates.Truth {
	v := p.e.v
	return p.set.Truth(p.e.h.Ops.Ver[op], v.WKey[w], v.WVer[w])
}

// whenBegun decides by trial whether the hint places a transaction's begin at its start or at its commit. The latter is
// right for a database that locks what it reads. A wrong guess makes nearly every predicate operation fail. Cost: two
// orders and two replays.
func (p *predReads) whenBegun() {
	e := p.e
	none := func(int32) bool { return false }
	fails := func(atCommit bool) int {
		e.atCommit = atCommit
		if e.firstOrder() != nil {
			return 0 // a cycle, whatever the hint
		}
		return len(p.replay(e.ord.Topological(), none, nil))
	}
	if n := fails(true); n > 0 {
		e.atCommit = n < fails(false)
	}
}

// read returns the number of a read of one key, and gives it one if it is new.
func (p *predReads) read(k keyRead) uint32 {
	at := [2]uint32{k.q, k.key}
	r, ok := p.known[at]
	if !ok {
		r = uint32(len(p.e.v.RW) + len(p.asked))
		p.known[at] = r
		p.asked = append(p.asked, k)
	}
	return r
}

// ofKey returns the writes of a key, the initial one first.
func (p *predReads) ofKey(k uint32) []uint32 {
	if p.keyOff == nil {
		p.keyOff, p.byKey = graph.Group(p.e.v.WKey, p.e.h.NumKeys())
	}
	return p.byKey[p.keyOff[k]:p.keyOff[k+1]]
}

// bases returns the writes of other transactions that a read of one key may have seen. For a miss these are the ones
// that do not surely match, with absent rows, initial or deleted, among them. For a match they are the ones that may
// match (errata V5, V13, V16).
func (p *predReads) bases(k keyRead) []uint32 {
	return slice.Filter(p.ofKey(k.key), func(w uint32) bool { return p.e.writer(w) != k.i && p.fits(k, w) })
}

// fits reports whether keyRead k may have seen write w.
func (p *predReads) fits(k keyRead, w uint32) bool {
	t := p.truth(p.op[k.q], w)
	if k.matched {
		return t != predicates.False
	}
	return t != predicates.True
}

// chain fills next and prev. If a transaction reads a version and replaces it, no other version comes between the two,
// under serializability and snapshot isolation alike. So writes form chains.
func (p *predReads) chain() {
	v := p.e.v
	p.next, p.prev = make([]uint32, len(v.WKey)), make([]uint32, len(v.WKey))
	for w := range p.next {
		p.next[w], p.prev[w] = none, none
	}
	mine := make([]uint32, p.e.h.NumKeys()) // key → 1 + the transaction's write
	for i, t := range p.e.txn {
		lo, hi := v.WOff[t], v.WOff[t+1]
		if p.e.open[i] || lo == hi {
			continue
		}
		for w := lo; w < hi; w++ {
			mine[v.WKey[w]] = w + 1
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if a, w := v.RW[r], mine[v.RKey[r]]; a != none && w != 0 && p.next[a] == none {
				p.next[a], p.prev[w-1] = w-1, a
			}
		}
		for w := lo; w < hi; w++ {
			mine[v.WKey[w]] = 0
		}
	}
}

// constrain makes the constraint that a failed read of one key violates. The read found a write that it cannot have
// seen, in a run of such writes that begins at first. So the read is before first; or after the next write of the chain
// that it may have seen; or after such a write of another chain that is later than this one as a whole.
func (p *predReads) constrain(f failure) {
	e, v := p.e, p.e.v
	k := p.asked[f.read-uint32(len(v.RW))]
	t := e.txn[k.i]
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		if v.RKey[r] == k.key {
			return // the transaction's read of the key fails too, and shows more
		}
	}
	if p.next == nil {
		p.chain()
	}
	first := f.found
	for p.prev[first] != none && !p.fits(k, p.prev[first]) {
		first = p.prev[first]
	}
	if p.made[[2]uint32{f.read, first}] {
		return
	}
	slice.MakeMap(&p.made)
	p.made[[2]uint32{f.read, first}] = true
	// clause has the negated conditions under which this read counts.
	var clause []solver.Lit
	if e.open[k.i] {
		clause = append(clause, solver.Neg(e.counts[k.i]))
	}
	if u := e.writer(f.found); u >= 0 && e.open[u] {
		clause = append(clause, solver.Neg(e.counts[u]))
	}
	after := p.after(k, first)
	if u := e.writer(first); e.v.Counts[t] && len(p.bases(k)) == 0 {
		p.mismatch = append(p.mismatch, prepass.Miss{Op: p.op[k.q], Key: k.key})
		return
	} else if u >= 0 && len(after) <= 1 && len(clause) == 0 && (len(after) == 0 || after[0].under == none &&
		!e.open[e.writer(after[0].w)]) {
		// With at most two ways, one variable or none is enough.
		l := solver.Pos(e.top)
		if len(after) == 1 {
			l = solver.Pos(e.s.NewVar())
			p.guard(l.Not(), f.read, e.commit(e.writer(after[0].w)), e.begin(k.i), after[0].w, after[0].w)
		}
		e.s.SetPhase(l.Var(), true)
		p.guard(l, f.read, e.begin(k.i), e.commit(u), first, first)
		return
	} else if u >= 0 {
		l := solver.Pos(e.s.NewVar())
		e.s.SetPhase(l.Var(), false)
		p.guard(l, f.read, e.begin(k.i), e.commit(u), first, first)
		clause = append(clause, l)
	}
	for _, a := range after {
		l := solver.Pos(e.s.NewVar())
		e.s.SetPhase(l.Var(), false)
		u := e.writer(a.w)
		p.guard(l, f.read, e.commit(u), e.begin(k.i), a.w, a.w)
		if e.open[u] {
			e.s.AddClause(l.Not(), solver.Pos(e.counts[u]))
		}
		if a.under != none {
			e.s.AddClause(l.Not(), e.before(a.under, a.w))
		}
		clause = append(clause, l)
	}
	e.log.read = f.read
	e.s.AddClause(clause...)
	e.log.read = none
}

func (p *predReads) guard(l solver.Lit, r uint32, u, v int32, a, b uint32) {
	p.e.guard(l, u, v, a, b)
	p.e.about[len(p.e.about)-1].read = r
}

// story appends the transactions that an explanation of a keyRead needs: its own, and all writers of the key. For other
// reads, or a nil p, it appends none.
func (p *predReads) story(r uint32, out []uint32) []uint32 {
	if p == nil || r == none || r < uint32(len(p.e.v.RW)) {
		return out
	}
	k := p.asked[r-uint32(len(p.e.v.RW))]
	out = append(out, p.e.txn[k.i])
	for _, w := range p.ofKey(k.key) {
		if t := p.e.v.WTxn[w]; t != none {
			out = append(out, t)
		}
	}
	return out
}

// later is a write w that a read may have seen instead of another, if w is before the read, and (unless it is none)
// under before w.
type later struct{ w, under uint32 }

// after returns the writes after which a read of one key no longer sees the run of writes that begins at first. Cost:
// the writes of the key.
func (p *predReads) after(k keyRead, first uint32) (out []later) {
	e := p.e
	head := first
	for p.prev[head] != none {
		head = p.prev[head]
	}
	for w := p.next[first]; w != none; w = p.next[w] {
		if p.fits(k, w) {
			if e.writer(w) != k.i {
				out = append(out, later{w, none})
			}
			break
		}
	}
	for _, h := range p.ofKey(k.key) {
		if p.prev[h] != none || h == head || e.v.Initial(h) || e.writer(h) == k.i {
			continue // not a chain's head, this chain, the first of all, or the reader's own
		}
		for w := h; w != none; w = p.next[w] {
			if p.fits(k, w) {
				x := later{w, first}
				if e.v.Initial(head) {
					x.under = none
				}
				out = append(out, x)
				break
			}
		}
	}
	// The solver tries the first literal first, so the nearest write in the current order comes first.
	far := func(x later) int32 {
		d := e.ord.Pos(e.commit(e.writer(x.w))) - e.ord.Pos(e.begin(k.i))
		return max(d, -d)
	}
	sorts.Func(out, func(a, b later) int { return cmp.Compare(far(a), far(b)) })
	return out
}
