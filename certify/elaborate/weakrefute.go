package elaborate

import (
	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/history"
)

// weakRefuter looks for the refutation of a scene at a weak level. The sources of the reads decide what is visible, and
// with the sessions they decide the order. If all outcomes are known and each read has one source, one cycle is the
// refutation. Otherwise the search assumes sources and outcomes, and the cycles of their graph exclude these
// assumptions.
type weakRefuter struct {
	*search
	*scene
	k       *kernel.WeakRefuter
	v       kernel.Weak
	h       *kernel.History
	g       *graph
	reads   [][]kernel.Op          // by place in the scene: its reads of other transactions' versions
	writers map[uint32][]uint32    // key → its writers
	wrote   map[access]bool        // transaction and key
	prior   []uint32               // place → the committed transaction before it in its session, 0: none
	saw     [][]reading            // of an assignment: place → its reads
	from    map[uint32]kernel.Link // result of the last back: visible transaction → the first link to the next one
	stopped func() bool
}

// reading says that the i-th read is from w; 0 is the initial version.
type reading struct{ i, w uint32 }

// maxVisible bounds the links that back follows, over all transactions.
const maxVisible = 1 << 27

func newWeakRefuter(s *scene, v kernel.Weak, stopped func() bool) (*weakRefuter, error) {
	if err := s.registers(); err != nil {
		return nil, err
	}
	h := s.history()
	k, ok := kernel.NewWeakRefuter(v, h)
	if !ok {
		return nil, &Unsupported{"transactions that share a number"}
	}
	r := &weakRefuter{search: newSearch(), scene: s, k: k, v: v, h: h, stopped: stopped,
		g: newGraph(kernel.Level{Serial: true, Sessions: true}, h), reads: make([][]kernel.Op, len(h.Txns)),
		writers: map[uint32][]uint32{}, wrote: map[access]bool{}, prior: make([]uint32, len(h.Txns)),
		saw: make([][]reading, len(h.Txns))}
	last := map[uint32]uint32{}
	for i := range h.Txns {
		t := &h.Txns[i]
		r.reads[i], _ = kernel.External(t.Ops)
		r.prior[i] = last[t.Session]
		if t.Committed {
			last[t.Session] = t.ID
		}
		for j := range t.Ops {
			if o := &t.Ops[j]; o.Kind == kernel.Write && !r.wrote[access{t.ID, o.Key}] {
				r.wrote[access{t.ID, o.Key}] = true
				r.writers[o.Key] = append(r.writers[o.Key], t.ID)
			}
		}
	}
	return r, nil
}

// registers returns an error unless plain reads and writes express the scene. A predicate operation reads its rows in
// no order; with several rows the scene would claim one.
func (s *scene) registers() error {
	if len(s.elements) > 0 {
		return &Unsupported{"violations with lists at " + s.l.String()}
	}
	for a := range s.reads {
		if s.isList(a.k) {
			return &Unsupported{"violations with lists at " + s.l.String()}
		}
	}
	h := s.h
	for t := range s.txns {
		for op := range h.EachOp(t) {
			if k := h.Ops.Kind[op]; k != history.PredRead && k != history.PredWrite {
				continue
			}
			rows, i := 0, h.Ops.Ver[op]
			for row := h.Preds.Off[i]; row < h.Preds.Off[i+1]; row++ {
				if s.reads[access{t, h.RowKey(row)}] {
					rows++
				}
			}
			if rows > 1 {
				return &Unsupported{"violations with several rows of a predicate operation at " + s.l.String()}
			}
		}
	}
	return nil
}

// allSources adds the possible writers of all versions of a register that a transaction read before it wrote the
// register.
func (s *scene) allSources(a access, by map[uint32][]uint32) {
	h := s.h
	for op, v := range h.EachOp(a.t) {
		switch kind := h.Ops.Kind[op]; kind {
		case history.Read:
			if h.VerKey[v] == a.k {
				s.writtenBy(a, by[v])
			}
		case history.Write:
			if h.VerKey[v] == a.k {
				return
			}
		case history.PredRead, history.PredWrite:
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				if h.RowKey(r) != a.k {
					continue
				}
				if old := h.Preds.Old[r]; old != history.None {
					s.writtenBy(a, by[old])
				}
				if kind == history.PredWrite {
					return
				}
			}
		}
	}
}

func (r *weakRefuter) found() (*kernel.History, []kernel.Step) { return r.h, r.proof() }

func (r *weakRefuter) judge(h *kernel.History, steps []kernel.Step) (int, bool) {
	k, ok := kernel.NewWeakRefuter(r.v, h)
	if !ok {
		return 0, false
	}
	return k.Refutes(steps)
}

func (r *weakRefuter) step(s kernel.Step) (kernel.Clause, bool) {
	cl, ok := r.k.Clause(&s, nil)
	if ok {
		r.add(s, cl)
	}
	return cl, ok
}

func (r *weakRefuter) refute(_ *evidence.Anomaly, left *int) (bool, error) {
	if err := r.sources(); err != nil {
		return false, err
	}
	return r.refuteBy(left, r.stopped, func() (bool, error) {
		steps, err := r.look()
		if err != nil {
			return false, err
		}
		r.Undo()
		for _, s := range steps {
			if _, ok := r.step(s); !ok {
				return false, &Unsupported{"proofs of the cycles that the search found"}
			}
		}
		return len(steps) > 0, nil
	})
}

// sources adds the steps that name the possible sources of each read, and those that make a source of unknown outcome
// count.
func (r *weakRefuter) sources() error {
	work := 0
	for i := range r.h.Txns {
		t := r.h.Txns[i].ID
		r.step(kernel.Step{Kind: kernel.Own, T: t})
		for j := range r.reads[i] {
			if work += len(r.writers[r.reads[i][j].Key]); work > maxLooks {
				return &Unsupported{"a proof of a version with so many possible writers"}
			}
			cl, _ := r.step(kernel.Step{Kind: kernel.Source, T: t, K: uint32(j) + 1})
			for _, l := range cl {
				if l.Kind != kernel.Reads || l.W == 0 {
					continue
				}
				if w := r.k.Txn(l.W); !w.Committed {
					r.step(kernel.Step{Kind: kernel.Takes, Atom: l.Atom, T: l.W})
				}
			}
		}
	}
	return nil
}

func (r *weakRefuter) counts(t *kernel.Txn) bool {
	return t.Committed || r.isTrue(kernel.Atom{Kind: kernel.Counts, T: t.ID})
}

// look builds the graph of an assignment and returns steps that exclude it: cycles, and reads of an initial version
// that was visibly overwritten. Without such steps the assignment explains the scene.
func (r *weakRefuter) look() (steps []kernel.Step, err error) {
	g := r.g
	g.assume(r.counts)
	for i := range r.saw {
		r.saw[i] = r.saw[i][:0]
	}
	links := len(r.h.Txns)
	for _, l := range r.Trail() {
		a := r.atoms[l/2]
		if l&1 == 1 || a.Kind != kernel.Reads || !r.counts(r.k.Txn(a.T)) {
			continue
		}
		links++
		place := g.place[a.T]
		r.saw[place] = append(r.saw[place], reading{a.K, a.W})
		if a.W != 0 {
			g.add(true, a.W, true, a.T, kernel.Edge{Kind: kernel.JRead, T: a.T, K: a.K, W: a.W})
		}
	}
	if r.v == kernel.Causal && links*len(r.h.Txns) > maxVisible {
		return nil, &Unsupported{"a proof that needs so many operations"}
	}
	for i := range r.h.Txns {
		t := &r.h.Txns[i]
		if len(r.saw[i]) == 0 || !r.counts(t) {
			continue
		}
		if r.v == kernel.Causal {
			r.back(t.ID)
		}
		for _, seen := range r.saw[i] {
			for _, u := range r.writers[r.reads[i][seen.i-1].Key] {
				if u == seen.w || u == t.ID || !r.visible(t, seen.i, u) {
					continue
				}
				if seen.w != 0 {
					g.add(true, u, true, seen.w, kernel.Edge{Kind: kernel.JSeen, T: t.ID, K: seen.i, W: seen.w, U: u})
				} else if len(steps) < most {
					steps = append(steps, kernel.Step{Kind: kernel.Initial, T: t.ID, K: seen.i, U: u,
						Links: r.links(t, seen.i, u)})
				}
			}
		}
	}
	for _, c := range g.cycles() {
		for i := range c {
			switch e := &c[i]; e.Kind {
			case kernel.JMust:
				e.Kind = kernel.JSession
			case kernel.JSeen:
				if r.v == kernel.Causal {
					r.back(e.T)
				}
				e.Links = r.links(r.k.Txn(e.T), e.K, e.U)
			}
		}
		steps = append(steps, kernel.Step{Kind: kernel.Cycle, Edges: c})
	}
	return steps, nil
}

// back finds the transactions visible to t at causal, each with a shortest chain of links.
func (r *weakRefuter) back(t uint32) {
	r.from = map[uint32]kernel.Link{}
	queue := []uint32{t}
	for n := 0; n < len(queue); n++ {
		at := queue[n]
		reach := func(u uint32, l kernel.Link) {
			if _, there := r.from[u]; !there {
				r.from[u] = l
				queue = append(queue, u)
			}
		}
		place := r.g.place[at]
		for _, seen := range r.saw[place] {
			if seen.w != 0 {
				reach(seen.w, kernel.Link{Read: true, T: at, I: seen.i, W: seen.w})
			}
		}
		if u := r.prior[place]; u != 0 {
			reach(u, kernel.Link{T: u, W: at})
		}
	}
}

// visible reports whether u is visible to the i-th read of t.
func (r *weakRefuter) visible(t *kernel.Txn, i, u uint32) bool {
	if r.v == kernel.Causal {
		_, is := r.from[u]
		return is
	}
	return len(r.links(t, i, u)) > 0
}

// links returns the links that make u visible to the i-th read of t; none if it is not visible.
func (r *weakRefuter) links(t *kernel.Txn, i, u uint32) (out []kernel.Link) {
	if r.v == kernel.Causal {
		for at := u; len(out) == 0 || at != t.ID; {
			l := r.from[at]
			out = append(out, l)
			if at = l.T; !l.Read {
				at = l.W
			}
		}
		return out
	}
	for _, seen := range r.saw[r.g.place[t.ID]] {
		if seen.w == u && (r.v == kernel.ReadAtomic || seen.i < i) {
			return []kernel.Link{{Read: true, T: t.ID, I: seen.i, W: u}}
		}
	}
	if x := r.k.Txn(u); r.v == kernel.ReadAtomic && x.Committed && x.Session == t.Session &&
		r.g.place[u] < r.g.place[t.ID] {
		return []kernel.Link{{T: u, W: t.ID}}
	}
	return nil
}
