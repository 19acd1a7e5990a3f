package acyclic

import (
	"isovet/closure"
	"isovet/solver"
)

// ClosureOptions change how [Closure] works, never its answers. The zero value is the default.
type ClosureOptions struct {
	// NoPropagate makes the theory only find conflicts.
	NoPropagate bool
}

// Closure keeps guarded edges acyclic by reachability. It makes every literal false that has an edge which would close
// a cycle.
//
// Source: Vbox (arXiv:2503.05163) §4.6, "Propagation" and "Analysis".
// Differs: the closure is undone by its trail, which the paper leaves open (errata V25), and paths are searched, not
// read off the matrix P, so that they have the fewest literals.
type Closure struct {
	theory
	dyn     closure.Dynamic
	opts    ClosureOptions
	changed bool // since the last scan of Propagate some pair became reachable
	// After each scan that finds nothing, twice as many calls as before are skipped before the next, up to 63; a find
	// or a conflict resets that. Where the guesses are right, scanning at each call would take quadratic time in the
	// choices for nothing.
	idle, skip int

	// open holds the guards whose variables have not been told, in any order; place gives a guard's index in it, or -1.
	open  []int32
	place []int32
}

// NewClosure makes the theory of the guards for s and attaches it. dyn holds the known edges; from here on only the
// theory may use it. Edges added to dyn before must have negative tags; they count as known.
func NewClosure(s *solver.Solver, dyn closure.Dynamic, guards []Guard, opts ClosureOptions) *Closure {
	t := &Closure{dyn: dyn, opts: opts}
	t.init(s, closureGraph{t})
	if !opts.NoPropagate {
		t.onTold = func(v solver.Var) { t.both(v, t.leave) }
		t.onForgot = func(v solver.Var) { t.both(v, t.enter) }
	}
	s.SetTheory(t)
	t.Add(guards...)
	return t
}

// Add adds guards, between calls of Solve. Their variables must exist. It returns nil or, if facts of level 0 already
// close a cycle with them, a clause that says so, which the caller must add to the solver.
func (t *Closure) Add(guards ...Guard) (conflict []solver.Lit) {
	first := len(t.guards)
	for _, e := range guards {
		i := t.guard(e)
		t.place = append(t.place, -1)
		if !t.opts.NoPropagate && t.value[e.Lit.Var()] == 0 {
			t.enter(i)
		}
	}
	t.changed = true
	return t.settle(first)
}

func (t *Closure) both(v solver.Var, do func(int32)) {
	for i := t.head[solver.Pos(v)]; i >= 0; i = t.next[i] {
		do(i)
	}
	for i := t.head[solver.Neg(v)]; i >= 0; i = t.next[i] {
		do(i)
	}
}

func (t *Closure) enter(i int32) {
	t.place[i] = int32(len(t.open))
	t.open = append(t.open, i)
}

func (t *Closure) leave(i int32) {
	p := t.place[i]
	last := t.open[len(t.open)-1]
	t.open[p] = last
	t.place[last] = p
	t.open = t.open[:len(t.open)-1]
	t.place[i] = -1
}

// Propagate returns the negations of the untold literals one of whose edges would close a cycle; some calls are
// skipped, see skip. See solver.Theory.
//
// Cost: a look-up for each guard of an untold variable, if anything became reachable since the last scan.
func (t *Closure) Propagate() []solver.Lit {
	t.out = t.out[:0]
	if t.opts.NoPropagate || !t.changed {
		return nil
	}
	if t.skip > 0 {
		t.skip--
		return nil
	}
	t.changed = false
	for _, i := range t.open {
		e := &t.guards[i]
		if t.dyn.Reaches(e.To, e.From) {
			t.propagate(i)
		}
	}
	if len(t.out) > 0 {
		t.idle = 0
	} else {
		t.idle = min(t.idle+1, 6)
		t.skip = 1<<t.idle - 1
	}
	return t.out
}

// Backtrack undoes levels. See solver.Theory.
func (t *Closure) Backtrack(level int) {
	t.idle, t.skip = 0, 0
	t.theory.Backtrack(level)
}

// closureGraph is the closure as the grapher of the shared part.
type closureGraph struct{ t *Closure }

func (g closureGraph) mark() int  { return g.t.dyn.Mark() }
func (g closureGraph) undo(m int) { g.t.dyn.Undo(m) }

func (g closureGraph) add(u, v, tag int32) bool {
	changed, cycle := g.t.dyn.AddEdge(u, v, tag)
	g.t.changed = g.t.changed || changed
	return cycle
}

func (g closureGraph) path(u, v int32, cost func(int32) int8, tags []int32) []int32 {
	p, ok := g.t.dyn.Path(u, v, cost)
	if !ok {
		panic("acyclic: no path where the closure found a cycle")
	}
	for _, e := range p {
		if e.Kind == closure.Added && e.Tag >= 0 {
			tags = append(tags, e.Tag)
		}
	}
	return tags
}
