package elaborate

import (
	"encoding/binary"
	"maps"
	"slices"

	"isovet/certify/kernel"
	"isovet/certify/unsat"
	"isovet/evidence"
	"isovet/history"
)

// strongRefuter looks for the refutation of a scene at the six levels.
type strongRefuter struct {
	*search
	*scene
	k       *kernel.Refuter
	h       *kernel.History
	g       *graph
	sourced map[access]bool // in the kernel's numbers
	totals  map[[3]uint32]bool
	writers map[uint32][]*kernel.Txn
	known   map[string]bool // clauses of cycles
	stopped func() bool
}

func newStrongRefuter(s *scene, l kernel.Level, stopped func() bool) (*strongRefuter, error) {
	h := s.history()
	k, ok := kernel.NewRefuter(l, h)
	if !ok {
		return nil, &Unsupported{"transactions that share a number"}
	}
	r := &strongRefuter{search: newSearch(), scene: s, k: k, h: h, g: newGraph(l, h), sourced: map[access]bool{},
		totals: map[[3]uint32]bool{}, writers: map[uint32][]*kernel.Txn{}, known: map[string]bool{}, stopped: stopped}
	for i := range h.Txns {
		t := &h.Txns[i]
		for j := range t.Ops {
			if o := &t.Ops[j]; o.Kind >= kernel.Write {
				if ws := r.writers[o.Key]; len(ws) == 0 || ws[len(ws)-1] != t {
					r.writers[o.Key] = append(ws, t)
				}
			}
		}
	}
	return r, nil
}

func (r *strongRefuter) found() (*kernel.History, []kernel.Step) { return r.h, r.proof() }

func (r *strongRefuter) judge(h *kernel.History, steps []kernel.Step) (int, bool) {
	k, ok := kernel.NewRefuter(r.g.l, h)
	if !ok {
		return 0, false
	}
	return k.Refutes(steps)
}

// step adds a step; it returns false if the kernel would not accept it.
func (r *strongRefuter) step(s kernel.Step) bool {
	cl, ok := r.k.Clause(&s, nil)
	if ok {
		r.add(s, cl)
	}
	return ok
}

// refute looks for the empty clause; the evidence's cycles come first. It returns false if the scene does not show that
// no order exists.
func (r *strongRefuter) refute(a *evidence.Anomaly, left *int) (bool, error) {
	if err := r.sources(); err != nil {
		return false, err
	}
	if len(a.Cycle) > 0 {
		r.evidence(a.Cycle)
	}
	for _, c := range a.Cycles {
		r.evidence(c)
	}
	for _, p := range r.pairs {
		r.total(number(p[0]), number(p[1]), number(p[2]))
	}
	r.lists()
	back := newChains(r)
	return r.refuteBy(left, r.stopped, func() (bool, error) {
		cycles, totals := r.look()
		var further []kernel.Step
		if len(cycles) == 0 {
			further = back.next()
		}
		r.Undo()
		some := false
		for _, c := range cycles {
			isNew, ok := r.cycle(c)
			if !ok {
				return false, &Unsupported{"proofs of the cycles that the search found"}
			}
			some = some || isNew
		}
		for _, s := range further {
			some = back.add(s) || some
		}
		if some {
			return true, nil
		}
		for _, p := range totals {
			some = r.total(p[0], p[1], p[2]) || some
		}
		return some, nil
	})
}

// cycle adds the step of a cycle unless its clause is known. ok is false if the kernel would not accept it.
func (r *strongRefuter) cycle(edges []kernel.Edge) (isNew, ok bool) {
	s := kernel.Step{Kind: kernel.Cycle, Edges: edges}
	cl, ok := r.k.Clause(&s, nil)
	if !ok {
		return false, false
	}
	ls := make([]unsat.Lit, 0, len(cl))
	for _, l := range cl {
		ls = append(ls, r.lit(l))
	}
	slices.Sort(ls)
	name := make([]byte, 0, 4*len(ls))
	for _, l := range slices.Compact(ls) {
		name = binary.LittleEndian.AppendUint32(name, uint32(l))
	}
	if r.known[string(name)] {
		return false, true
	}
	r.known[string(name)] = true
	r.add(s, cl)
	return true, true
}

// sources adds the steps that name the possible writers of each version read, and those that make a writer of unknown
// outcome count.
func (r *strongRefuter) sources() error {
	work := 0
	for i := range r.h.Txns {
		t := &r.h.Txns[i]
		for _, k := range r.readBy[t.ID-1] {
			if work += len(r.writers[number(k)]); work > maxLooks {
				return &Unsupported{"a proof of a version with so many possible writers"}
			}
			r.source(t, number(k))
		}
	}
	return nil
}

// maxLooks bounds the possible writers that sources looks at, over all reads of a scene.
const maxLooks = 5_000_000

// maxSources bounds the possible writers of one read of a list.
const maxSources = 1 << 8

func (r *strongRefuter) source(t *kernel.Txn, k uint32) {
	a := access{t.ID, k}
	if r.sourced[a] || r.isList(k-1) && len(r.writers[k]) > maxSources {
		return
	}
	r.sourced[a] = true
	s := kernel.Step{Kind: kernel.Source, T: t.ID, K: k}
	cl, ok := r.k.Clause(&s, nil)
	if !ok {
		return
	}
	r.add(s, cl)
	for _, l := range cl {
		r.takes(l)
	}
}

// takes adds the step that a writer of unknown outcome counts if its version is read.
func (r *strongRefuter) takes(l kernel.Lit) {
	if l.Kind != kernel.Reads || l.W == 0 {
		return
	}
	if w := r.k.Txn(l.W); w != nil && !w.Committed {
		r.step(kernel.Step{Kind: kernel.Takes, Atom: l.Atom, T: l.W})
	}
}

// total adds the steps that one of two writers of a key comes first, and what the history says about their order. It
// returns false if the steps exist.
func (r *strongRefuter) total(a, b, k uint32) bool {
	if a > b {
		a, b = b, a
	}
	if r.totals[[3]uint32{a, b}] { // the step is about transactions, whatever the key
		return false
	}
	if !r.step(kernel.Step{Kind: kernel.Total, T: a, U: b, K: k}) {
		return false
	}
	r.totals[[3]uint32{a, b}] = true
	for _, p := range [][2]uint32{{a, b}, {b, a}} {
		x, y := p[0], p[1]
		back := kernel.Edge{Kind: kernel.JBefore, T: y, U: x}
		r.step(kernel.Step{Kind: kernel.Cycle, Edges: []kernel.Edge{back, {Kind: kernel.JMust, T: x, U: y}}})
		for _, key := range r.readBy[y-1] {
			if !r.isList(key) && r.scene.writes[access{x - 1, key}] {
				read := kernel.Atom{Kind: kernel.Reads, T: y, K: number(key), W: x}
				if _, may := r.number[read]; may {
					r.step(kernel.Step{Kind: kernel.Cycle, Edges: []kernel.Edge{back,
						{Kind: kernel.JRead, T: y, K: number(key), W: x}}})
				}
			}
		}
	}
	return true
}

// evidence adds the step of a cycle of the evidence, if the kernel accepts it. Otherwise the graph will find cycles.
func (r *strongRefuter) evidence(c []evidence.Edge) {
	edges := make([]kernel.Edge, 0, len(c))
	for i := range c {
		e := &c[i]
		x, ok := r.edge(e)
		if !ok {
			return
		}
		edges = append(edges, x)
	}
	r.step(kernel.Step{Kind: kernel.Cycle, Edges: edges})
}

func (r *strongRefuter) edge(e *evidence.Edge) (kernel.Edge, bool) {
	from, to, key := number(e.From), number(e.To), number(e.Key)
	if e.Dep == evidence.SO || e.Dep == evidence.RT {
		return kernel.Edge{Kind: kernel.JMust, T: from, U: to}, true
	}
	if r.isList(e.Key) {
		return kernel.Edge{}, false
	}
	switch e.Dep {
	case evidence.WR, evidence.PWR:
		return kernel.Edge{Kind: kernel.JRead, T: to, K: key, W: from}, true
	case evidence.WW:
		return kernel.Edge{Kind: kernel.JBefore, T: from, U: to}, true
	case evidence.RW, evidence.PRW:
		w := uint32(0)
		if e.Writer != history.None && e.Writer != r.scene.h.Init {
			w = number(e.Writer)
		}
		return kernel.Edge{Kind: kernel.JAnti, T: from, K: key, W: w, U: to}, true
	}
	return kernel.Edge{}, false
}

// maxMissing bounds the edges from a list's readers to the writers whose elements they did not see.
const maxMissing = 2_000_000

// lists adds the edges to the graph that reads of lists show under every assumption.
func (r *strongRefuter) lists() {
	for i := range r.h.Txns {
		t := &r.h.Txns[i]
		for _, k := range r.readBy[t.ID-1] {
			if r.isList(k) {
				r.list(t, number(k))
			}
		}
	}
}

// list adds the edges that t's read of a list shows. Each element whose appender is certain gives an edge from the
// appender to t, and one from the appender of the certain element before it. Edges lead from t to the writers whose
// elements it did not see.
func (r *strongRefuter) list(t *kernel.Txn, k uint32) {
	cell, seen := kernel.Observed(k, t.Ops)
	if !seen {
		return
	}
	by := map[uint32]uint32{} // element → its appender; 0: several
	own := false
	for _, w := range r.writers[k] {
		own = own || w == t
		for i := range w.Ops {
			if o := &w.Ops[i]; o.Kind == kernel.Append && o.Key == k {
				if u, there := by[o.Elem]; there && u != w.ID {
					by[o.Elem] = 0
				} else {
					by[o.Elem] = w.ID
				}
			}
		}
	}
	for _, e := range r.h.Init[k] {
		by[e] = 0
	}
	there := make(map[uint32]bool, len(cell))
	var last, lastBy uint32
	for _, e := range cell {
		there[e] = true
		w := by[e]
		if w == 0 {
			continue
		}
		if lastBy != 0 && lastBy != w {
			shown := kernel.Edge{Kind: kernel.JOrder, T: t.ID, K: k, E: last, W: lastBy, F: e, U: w}
			r.fix(shown, true, lastBy, false, w)
		}
		shown := kernel.Edge{Kind: kernel.JElem, T: t.ID, K: k, E: e, W: w}
		if w != t.ID {
			r.fix(shown, true, w, false, t.ID)
		} else { // t saw an element before it appended it
			r.step(kernel.Step{Kind: kernel.Cycle, Edges: []kernel.Edge{shown}})
		}
		last, lastBy = e, w
	}
	if len(by)*len(r.readBy) > maxMissing {
		return
	}
	for _, u := range r.writers[k] {
		for i := range u.Ops {
			if o := &u.Ops[i]; u != t && o.Kind == kernel.Append && o.Key == k && !there[o.Elem] {
				r.fix(kernel.Edge{Kind: kernel.JMiss, T: t.ID, K: k, E: o.Elem, U: u.ID}, own, t.ID, !own, u.ID)
				break
			}
		}
	}
}

// fix adds an edge whose only assumption is that transactions of unknown outcome count.
func (r *strongRefuter) fix(e kernel.Edge, fromCommit bool, from uint32, toCommit bool, to uint32) {
	r.g.fix(fromCommit, from, toCommit, to, e)
}

// counts reports whether a transaction takes part under the assignment.
func (r *strongRefuter) counts(t *kernel.Txn) bool {
	return t.Committed || r.isTrue(kernel.Atom{Kind: kernel.Counts, T: t.ID})
}

// look builds the graph of an assignment and returns its cycles. If it has none, look returns the pairs of writers
// whose order the assignment leaves open.
func (r *strongRefuter) look() (cycles [][]kernel.Edge, totals [][3]uint32) {
	g := r.g
	g.assume(r.counts)
	for _, l := range r.Trail() {
		a := r.atoms[l/2]
		if l&1 == 1 || a.Kind == kernel.Counts {
			continue
		}
		if a.Kind == kernel.Before {
			if !r.counts(r.k.Txn(a.T)) || !r.counts(r.k.Txn(a.W)) {
				continue
			}
			g.add(true, a.T, false, a.W, kernel.Edge{Kind: kernel.JBefore, T: a.T, U: a.W})
			continue
		}
		t := r.k.Txn(a.T)
		if !r.counts(t) {
			continue
		}
		if a.W != 0 {
			g.add(true, a.W, false, a.T, kernel.Edge{Kind: kernel.JRead, T: a.T, K: a.K, W: a.W})
		}
		own := kernel.Writes(a.K, t.Ops)
		for _, u := range r.writers[a.K] {
			if u == t || u.ID == a.W || !r.counts(u) {
				continue
			}
			if a.W == 0 || r.isTrue(kernel.Atom{Kind: kernel.Before, T: a.W, W: u.ID}) {
				g.add(own, a.T, !own, u.ID, kernel.Edge{Kind: kernel.JAnti, T: a.T, K: a.K, W: a.W, U: u.ID})
			} else if !r.isTrue(kernel.Atom{Kind: kernel.Before, T: u.ID, W: a.W}) {
				totals = append(totals, [3]uint32{a.W, u.ID, a.K})
			}
		}
	}
	if cycles = g.cycles(); len(cycles) > 0 {
		return cycles, nil
	}
	if len(totals) == 0 {
		totals = r.allTotals()
	}
	return nil, totals
}

// maxTotals bounds the pairs of writers that no read asks for.
const maxTotals = 20_000

// allTotals returns all pairs of writers of each key, except keys with too many.
func (r *strongRefuter) allTotals() (out [][3]uint32) {
	for _, k := range slices.Sorted(maps.Keys(r.writers)) {
		ws := r.writers[k]
		if len(ws)*len(ws)+len(out) > maxTotals {
			continue
		}
		for i, a := range ws {
			for _, b := range ws[:i] {
				out = append(out, [3]uint32{a.ID, b.ID, k})
			}
		}
	}
	return out
}
