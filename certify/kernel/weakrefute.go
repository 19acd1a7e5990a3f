package kernel

// Link is a reason for visibility: W comes before T in a session, or T's I-th read is from W (Weak.v, link).
type Link struct {
	Read    bool
	T, I, W uint32
}

// WeakRefuter knows a history's tables at a weak level (Weak.v, Section Kernel). K of a step, an edge or an atom
// numbers a transaction's reads of other transactions' versions, from 1.
type WeakRefuter struct {
	*Refuter
	v     Weak
	reads [][]Op // by place in the history: reads of other transactions' versions
}

// NewWeakRefuter makes the tables. It returns false if two transactions share a number, or an operation is neither a
// read nor a write.
func NewWeakRefuter(v Weak, h *History) (*WeakRefuter, bool) {
	r, ok := NewRefuter(Level{Serial: true, Sessions: true}, h)
	if !ok {
		return nil, false
	}
	w := &WeakRefuter{Refuter: r, v: v, reads: make([][]Op, len(h.Txns))}
	for i := range h.Txns {
		for j := range h.Txns[i].Ops {
			if k := h.Txns[i].Ops[j].Kind; k != Read && k != Write {
				return nil, false
			}
		}
		w.reads[i], _ = External(h.Txns[i].Ops)
	}
	return w, true
}

// External returns the reads of other transactions' versions, in order. own says whether the reads of the transaction's
// own writes saw them (Weak.v, external, own_reads).
func External(ops []Op) (reads []Op, own bool) {
	mine := map[uint32]Cell{}
	own = true
	for i := range ops {
		o := &ops[i]
		if o.Kind == Write {
			mine[o.Key] = o.Cell
			continue
		}
		if y, wrote := mine[o.Key]; !wrote {
			reads = append(reads, *o)
		} else if !equal(y, o.Cell) {
			own = false
		}
	}
	return reads, own
}

// readAt returns t's i-th read of another transaction's version, from 1; nil if there is none.
func (r *WeakRefuter) readAt(t, i uint32) *Op {
	p, ok := r.place[t]
	if !ok || i == 0 || int(i) > len(r.reads[p]) {
		return nil
	}
	return &r.reads[p][i-1]
}

// A tie says that one transaction comes before another (Weak.v, tie).
type tie struct {
	from, into uint32
	needs      []Atom
}

func (r *WeakRefuter) sessionTie(i, j uint32) (e tie, ok bool) {
	t, u := r.Txn(i), r.Txn(j)
	if t == nil || u == nil || !r.must(t, u) {
		return e, false
	}
	return tie{i, j, append(participates(t), participates(u)...)}, true
}

func (r *WeakRefuter) readTie(t, i, w uint32) (e tie, ok bool) {
	if r.readAt(t, i) == nil || w == 0 {
		return e, false
	}
	return tie{w, t, []Atom{{Reads, t, i, w}}}, true
}

// chain returns the atoms that must be true so that the links lead from u to t.
func (r *WeakRefuter) chain(u uint32, ls []Link, t uint32) (needs []Atom, ok bool) {
	for _, l := range ls {
		var e tie
		if l.Read {
			e, ok = r.readTie(l.T, l.I, l.W)
		} else {
			e, ok = r.sessionTie(l.T, l.W)
		}
		if !ok || e.from != u {
			return nil, false
		}
		u, needs = e.into, append(needs, e.needs...)
	}
	return needs, len(ls) > 0 && u == t
}

// sight returns the atoms that must hold so that the links make u visible to the i-th read of t.
func (r *WeakRefuter) sight(t, i, u uint32, ls []Link) ([]Atom, bool) {
	switch {
	case r.v == Causal:
	case len(ls) != 1:
		return nil, false
	case r.v == ReadCommitted && (!ls[0].Read || ls[0].T != t || ls[0].W != u || ls[0].I >= i):
		return nil, false
	}
	return r.chain(u, ls, t)
}

// seenByRead is sight for a u that writes the key read.
func (r *WeakRefuter) seenByRead(t, i, u uint32, ls []Link) ([]Atom, bool) {
	x, y := r.readAt(t, i), r.Txn(u)
	if x == nil || y == nil || !Writes(x.Key, y.Ops) {
		return nil, false
	}
	return r.sight(t, i, u, ls)
}

func (r *WeakRefuter) tieOf(e *Edge) (tie, bool) {
	switch e.Kind {
	case JSession:
		return r.sessionTie(e.T, e.U)
	case JBefore:
		return tie{e.T, e.U, []Atom{{Kind: Before, T: e.T, W: e.U}}}, e.T != 0 && e.U != 0
	case JRead:
		return r.readTie(e.T, e.K, e.W)
	case JSeen:
		needs, ok := r.seenByRead(e.T, e.K, e.U, e.Links)
		return tie{e.U, e.W, append(needs, Atom{Reads, e.T, e.K, e.W})}, ok && e.U != e.W && e.W != 0
	}
	return tie{}, false
}

func (r *WeakRefuter) cycle(edges []Edge) (Clause, bool) {
	var first, last uint32
	var needs []Atom
	for i := range edges {
		e, ok := r.tieOf(&edges[i])
		if !ok || i > 0 && e.from != last {
			return nil, false
		}
		if i == 0 {
			first = e.from
		}
		last, needs = e.into, append(needs, e.needs...)
	}
	return deny(needs), len(edges) > 0 && first == last
}

// candidates returns the writers whose version a read of t may have seen; 0 is the initial version (Weak.v, sources).
func (r *WeakRefuter) candidates(t *Txn, read *Op) (ws []uint32) {
	if equal(r.h.Init[read.Key], read.Cell) {
		ws = append(ws, 0)
	}
	for _, u := range r.writers[read.Key] {
		if y := symEffect(read.Key, u.Ops, sym{keep: true}); u.ID != t.ID && equal(y.cell, read.Cell) {
			ws = append(ws, u.ID)
		}
	}
	return ws
}

// Clause returns the clause of a step, given the clauses of the steps before; false if the step is wrong (Weak.v,
// wclause_of).
func (r *WeakRefuter) Clause(s *Step, before []Clause) (Clause, bool) {
	t, u := r.Txn(s.T), r.Txn(s.U)
	switch s.Kind {
	case Cycle:
		return r.cycle(s.Edges)
	case Source:
		read := r.readAt(s.T, s.K)
		if read == nil || len(s.Via) > 0 {
			return nil, false
		}
		cl := deny(participates(t))
		for _, w := range r.candidates(t, read) {
			cl = append(cl, Lit{Atom: Atom{Reads, s.T, s.K, w}})
		}
		return cl, true
	case Total:
		if t == nil || u == nil || s.T == s.U {
			return nil, false
		}
		first, second := Atom{Kind: Before, T: s.T, W: s.U}, Atom{Kind: Before, T: s.U, W: s.T}
		return append(deny(append(participates(t), participates(u)...)), Lit{Atom: first}, Lit{Atom: second}), true
	case Initial:
		needs, ok := r.seenByRead(s.T, s.K, s.U, s.Links)
		return deny(append(needs, Atom{Reads, s.T, s.K, 0})), ok
	case Own:
		if t == nil {
			return nil, false
		}
		_, own := External(t.Ops)
		return deny(participates(t)), !own
	case Once, Takes, RUP:
		return r.Refuter.Clause(s, before)
	}
	return nil, false
}

// Refutes reports whether the steps prove that the level does not hold (Weak.v, wrefutes). If not, it returns the
// number of the first step that fails, from 1.
func (r *WeakRefuter) Refutes(steps []Step) (int, bool) { return refutes(steps, r.Clause) }
