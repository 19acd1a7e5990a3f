package kernel

// Atom is a statement that may be true or false in an order (Refutation.v, atom).
type Atom struct {
	Kind    AtomKind
	T, K, W uint32 // Counts: T; Before: T, W; Reads: T, K, W, which is 0 for the initial version
}

// AtomKind is the kind of an atom.
type AtomKind uint8

const (
	Counts AtomKind = iota // T takes part
	Before                 // T and W take part, T commits before W begins
	Reads                  // T takes part and sees W's version of K
)

// Lit is an atom or its negation.
type Lit struct {
	Atom
	Not bool
}

// Clause is a list of literals, at least one of which is true.
type Clause []Lit

// EdgeKind is the reason of an edge (Refutation.v, just).
type EdgeKind uint8

const (
	JMust    EdgeKind = iota // T, U: session order, real time
	JBefore                  // T, U: assumed
	JRead                    // T, K, W: W before T, which sees its version
	JAnti                    // T, K, W, U: T sees W's version, U writes the key later
	JElem                    // T, K, E, W: T read a list with E, which only W appends
	JMiss                    // T, K, E, U: T read a list without E, which U appends
	JOrder                   // T, K, E, W, F, U: T's list has E, which only W appends, before F, which only U does
	JSession                 // T, U: session order, at the weak levels
	JSeen                    // T, K, W, U, Links: T's K-th read is from W and can see U, so U is before W
)

// Edge is an edge with its reason.
type Edge struct {
	Kind             EdgeKind
	T, K, W, U, E, F uint32
	Links            []Link
}

// StepKind is the kind of a step.
type StepKind uint8

const (
	Cycle   StepKind = iota // Edges
	Source                  // T, K, Via
	Total                   // T, U, K, which is 0 at the weak levels
	Once                    // T, K, W, U
	Takes                   // Atom, T
	RUP                     // Clause, Hints
	Initial                 // T, K, U, Links
	Own                     // T
)

// Step is a step of a refutation.
type Step struct {
	Kind       StepKind
	Edges      []Edge
	T, U, K, W uint32
	Via        []uint32 // the writer of the version of K that T sees, then the writer that this one sees, and so on
	Atom       Atom
	Clause     Clause
	Hints      []int // numbers of steps, from 1
	Links      []Link
}

// Refuter knows a history's tables (Table.v).
type Refuter struct {
	l       Level
	h       *History
	place   map[uint32]int
	writers map[uint32][]*Txn
}

// NewRefuter makes the tables; it returns false if two transactions have one number. Cost: one pass.
func NewRefuter(l Level, h *History) (*Refuter, bool) {
	r := &Refuter{l: l, h: h, place: make(map[uint32]int, len(h.Txns)), writers: map[uint32][]*Txn{}}
	for i := range h.Txns {
		t := &h.Txns[i]
		if _, twice := r.place[t.ID]; twice {
			return nil, false
		}
		r.place[t.ID] = i
		for j := range t.Ops {
			o := &t.Ops[j]
			if o.Kind < Write {
				continue
			}
			if w := r.writers[o.Key]; len(w) == 0 || w[len(w)-1] != t {
				r.writers[o.Key] = append(w, t)
			}
		}
	}
	return r, true
}

// Txn returns the transaction of a number, nil if there is none.
func (r *Refuter) Txn(i uint32) *Txn {
	if p, ok := r.place[i]; ok {
		return &r.h.Txns[p]
	}
	return nil
}

func participates(t *Txn) []Atom {
	if t.Committed {
		return nil
	}
	return []Atom{{Kind: Counts, T: t.ID}}
}

func (r *Refuter) must(t, u *Txn) bool {
	return t.Committed && t != u &&
		(r.l.Sessions && t.Session == u.Session && r.place[t.ID] < r.place[u.ID] ||
			r.l.RealTime && !t.NoEnd && t.Ended < u.Began)
}

// strip removes the elements p from the end of x; false if x does not end with them.
func strip(p, x Cell) (Cell, bool) {
	n := len(x) - len(p)
	if n < 0 || !equal(p, x[n:]) {
		return nil, false
	}
	return x[:n], true
}

// contradicts reports whether the operations cannot have found the content y of k (Refutation.v).
func contradicts(k uint32, ops []Op, y sym) bool {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case Read:
			if o.Key != k {
				continue
			}
			if !y.keep {
				if !equal(y.cell, o.Cell) {
					return true
				}
				continue
			}
			if _, ok := strip(y.cell, o.Cell); !ok {
				return true
			}
			y = sym{false, o.Cell}
		case Search:
			if y.keep {
				continue
			}
			if p, found := o.Match.Pred, mem(k, o.Match.Keys); found && !p.possible(k, y.cell) ||
				!found && p.certain(k, y.cell) {
				return true
			}
		case Write:
			if o.Key == k {
				y = sym{false, o.Cell}
			}
		case Append:
			if o.Key == k {
				y = push(o.Elem, y)
			}
		}
	}
	return false
}

// Observed returns the snapshot's content of k, as the first read of the key shows it.
func Observed(k uint32, ops []Op) (Cell, bool) {
	var p Cell
	for i := range ops {
		o := &ops[i]
		if o.Key != k || o.Kind == Search {
			continue
		}
		switch o.Kind {
		case Read:
			return strip(p, o.Cell)
		case Write:
			return nil, false
		case Append:
			p = append(p, o.Elem)
		}
	}
	return nil, false
}

func appended(k uint32, t *Txn) (Cell, bool) {
	y := symEffect(k, t.Ops, sym{keep: true})
	return y.cell, y.keep
}

func (r *Refuter) sole(k, e, i uint32) bool {
	if mem(e, r.h.Init[k]) {
		return false
	}
	for _, t := range r.writers[k] {
		p, ok := appended(k, t)
		if !ok || t.ID != i && mem(e, p) {
			return false
		}
	}
	return true
}

func (r *Refuter) listKey(k uint32) bool {
	for _, t := range r.writers[k] {
		if _, ok := appended(k, t); !ok {
			return false
		}
	}
	return true
}

// newer reports whether a comes after b in x.
func newer(x Cell, a, b uint32) bool {
	for i, e := range x {
		if e == b && mem(a, x[i+1:]) {
			return true
		}
	}
	return false
}

type point struct {
	commit bool
	t      uint32
}

func (r *Refuter) edge(e Edge) (from, into point, needs []Atom, ok bool) {
	t, u, w := r.Txn(e.T), r.Txn(e.U), r.Txn(e.W)
	switch e.Kind {
	case JMust:
		if t == nil || u == nil || !r.must(t, u) {
			return
		}
		return point{true, e.T}, point{false, e.U}, append(participates(t), participates(u)...), true
	case JBefore:
		if e.T == 0 || e.U == 0 {
			return
		}
		return point{true, e.T}, point{false, e.U}, []Atom{{Kind: Before, T: e.T, W: e.U}}, true
	case JRead:
		if e.W == 0 {
			return
		}
		return point{true, e.W}, point{false, e.T}, []Atom{{Reads, e.T, e.K, e.W}}, true
	case JAnti:
		if t == nil || u == nil || !Writes(e.K, u.Ops) || t == u || e.W == e.U {
			return
		}
		needs = append([]Atom{{Reads, e.T, e.K, e.W}}, participates(u)...)
		if e.W != 0 {
			needs = append(needs, Atom{Kind: Before, T: e.W, W: e.U})
		}
		own := Writes(e.K, t.Ops)
		return point{own, e.T}, point{!own, e.U}, needs, true
	case JElem:
		if t == nil || w == nil {
			return
		}
		if x, seen := Observed(e.K, t.Ops); !seen || !mem(e.E, x) || !r.listKey(e.K) || !r.sole(e.K, e.E, e.W) {
			return
		}
		return point{true, e.W}, point{false, e.T}, participates(t), true
	case JMiss:
		if t == nil || u == nil || t == u {
			return
		}
		x, seen := Observed(e.K, t.Ops)
		p, list := appended(e.K, u)
		if !seen || !list || mem(e.E, x) || !mem(e.E, p) || !r.listKey(e.K) {
			return
		}
		own := Writes(e.K, t.Ops)
		return point{own, e.T}, point{!own, e.U}, append(participates(t), participates(u)...), true
	case JOrder:
		if t == nil || u == nil || w == nil || e.W == e.U {
			return
		}
		x, seen := Observed(e.K, t.Ops)
		if !seen || !newer(x, e.F, e.E) || !r.listKey(e.K) || !r.sole(e.K, e.E, e.W) || !r.sole(e.K, e.F, e.U) {
			return
		}
		return point{true, e.W}, point{false, e.U}, participates(t), true
	}
	return
}

func (r *Refuter) joins(p, q point) bool {
	return p.t == q.t && (r.l.Serial || p.commit == q.commit || !p.commit)
}

func deny(atoms []Atom) Clause {
	cl := make(Clause, 0, len(atoms))
	for _, a := range atoms {
		cl = append(cl, Lit{a, true})
	}
	return cl
}

func (r *Refuter) cycle(edges []Edge) (Clause, bool) {
	var first, last point
	var needs []Atom
	for i, e := range edges {
		from, into, n, ok := r.edge(e)
		if !ok || i > 0 && !r.joins(last, from) {
			return nil, false
		}
		if i == 0 {
			first = from
		}
		last, needs = into, append(needs, n...)
	}
	return deny(needs), len(edges) > 0 && r.joins(last, first)
}

// candidates returns the writers whose version of k t's operations may have seen; 0 is the initial version.
func (r *Refuter) candidates(k uint32, t *Txn, ops []Op) (ws []uint32) {
	if !contradicts(k, ops, sym{cell: r.h.Init[k]}) {
		ws = append(ws, 0)
	}
	for _, u := range r.writers[k] {
		if u != t && !contradicts(k, ops, symEffect(k, u.Ops, sym{keep: true})) {
			ws = append(ws, u.ID)
		}
	}
	return ws
}

// source returns the clause that t sees the version of one of the candidates. With via it returns: if t sees the
// version of via[0], then via[0] sees a version with the rest of the list, without the elements that via[0] appended;
// and so on.
func (r *Refuter) source(k uint32, t *Txn, via []uint32) (cl Clause, ok bool) {
	ops := t.Ops
	for _, w := range via {
		u := r.Txn(w)
		x, seen := Observed(k, ops)
		if u == nil || !seen {
			return nil, false
		}
		p, list := appended(k, u)
		y, fits := strip(p, x)
		if !list || !fits {
			return nil, false
		}
		cl = append(cl, Lit{Atom{Reads, t.ID, k, w}, true})
		t, ops = u, append([]Op{{Kind: Read, Key: k, Cell: y}}, u.Ops...)
	}
	for _, w := range r.candidates(k, t, ops) {
		cl = append(cl, Lit{Atom: Atom{Reads, t.ID, k, w}})
	}
	return cl, true
}

// Clause returns the clause of a step, given the clauses of the steps before; false if the step is wrong (Refutation.v,
// clause_of).
func (r *Refuter) Clause(s *Step, before []Clause) (Clause, bool) {
	switch s.Kind {
	case Cycle:
		return r.cycle(s.Edges)
	case Source:
		t := r.Txn(s.T)
		if t == nil {
			return nil, false
		}
		cl, ok := r.source(s.K, t, s.Via)
		return append(deny(participates(t)), cl...), ok
	case Total:
		t, u := r.Txn(s.T), r.Txn(s.U)
		if t == nil || u == nil || t == u || !Writes(s.K, t.Ops) || !Writes(s.K, u.Ops) {
			return nil, false
		}
		cl := deny(append(participates(t), participates(u)...))
		first, second := Atom{Kind: Before, T: s.T, W: s.U}, Atom{Kind: Before, T: s.U, W: s.T}
		return append(cl, Lit{Atom: first}, Lit{Atom: second}), true
	case Once:
		return Clause{{Atom{Reads, s.T, s.K, s.W}, true}, {Atom{Reads, s.T, s.K, s.U}, true}}, s.W != s.U
	case Takes:
		a := s.Atom
		ok := a.T == s.T || a.Kind != Counts && a.W == s.T && s.T != 0
		return Clause{{a, true}, {Atom: Atom{Kind: Counts, T: s.T}}}, ok
	case RUP:
		return s.Clause, follows(s.Clause, s.Hints, before)
	}
	return nil, false
}

// follows reports whether the clause follows by unit propagation from the hinted clauses, in their order.
func follows(cl Clause, hints []int, before []Clause) bool {
	values := make(map[Atom]bool, len(cl)+len(hints))
	for _, l := range cl {
		values[l.Atom] = l.Not
	}
	for _, n := range hints {
		if n < 1 || n > len(before) {
			return false
		}
		var unit *Lit
		for i := range before[n-1] {
			l := &before[n-1][i]
			if v, known := values[l.Atom]; known {
				if v != l.Not {
					return false
				}
				continue
			}
			if unit != nil && *unit != *l {
				return false
			}
			unit = l
		}
		if unit == nil {
			return true
		}
		values[unit.Atom] = !unit.Not
	}
	return false
}

// Refutes reports whether the steps prove that the level does not hold (Refutation.v, refutes). If not, it returns the
// number of the first step that fails, from 1.
func (r *Refuter) Refutes(steps []Step) (int, bool) { return refutes(steps, r.Clause) }

func refutes(steps []Step, clause func(s *Step, before []Clause) (Clause, bool)) (int, bool) {
	var db []Clause
	for i := range steps {
		cl, ok := clause(&steps[i], db)
		if !ok {
			return i + 1, false
		}
		if len(cl) == 0 {
			return 0, true
		}
		db = append(db, cl)
	}
	return len(steps) + 1, false
}
