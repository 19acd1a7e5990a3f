package acyclic

import "isovet/solver"

// Guard says that the edge From → To is in the graph while Lit is true. A guard's number is its index in the slice
// given to [NewPK] or [NewClosure].
type Guard struct {
	Lit      solver.Lit
	From, To int32
}

// grapher is the graph under the theory, which is kept differently in each of the ways. tag is the number of a guard.
type grapher interface {
	add(u, v, tag int32) (cycle bool)
	mark() int
	undo(mark int)
	// path appends the tags of those edges of a cheapest path from u to v that are guards. Edges that were there before
	// have negative tags.
	path(u, v int32, cost func(tag int32) int8, tags []int32) []int32
}

// theory is the part that the ways share. It implements solver.Theory except Propagate and Decide.
type theory struct {
	s      *solver.Solver
	g      grapher
	base   int // edges in the graph that are not ours
	guards []Guard
	head   []int32 // literal → its newest guard, -1: none
	next   []int32 // guard → the next older one of the same literal

	// The assignment as the theory was told it.
	value []int8       // variable → 1 true, -1 false, 0 not told
	told  []solver.Lit // in the order told
	added []int32      // guard → the mark before its edge was added; meaningful while it is in
	level []levelMark

	// Propagation.
	since  []int32 // literal → the mark when it was found to close a cycle
	why    []int32 // literal → the guard of its negation that would close one
	out    []solver.Lit
	clause []solver.Lit
	tags   []int32
	inNow  []uint32 // literal → stamp: is in the clause
	stamp  uint32

	// Parameters of the cost functions, which are methods so that no closures are allocated.
	own     solver.Lit
	newest  int32
	fewest  func(tag int32) int8
	oldOnly func(tag int32) int8

	// onTold and onForgot, if not nil, are called for variables that get and lose a value.
	onTold, onForgot func(v solver.Var)
}

type levelMark struct {
	told int
	edge int
}

func (t *theory) init(s *solver.Solver, g grapher) {
	t.s, t.g, t.base = s, g, g.mark()
	t.fewest = t.costFewest
	t.oldOnly = t.costOldOnly
}

// guard adds one guard and returns its number. Its edge goes into the graph when its literal is told to be true.
func (t *theory) guard(e Guard) int32 {
	for len(t.value) < t.s.NumVars() {
		t.value = append(t.value, 0)
		t.head = append(t.head, -1, -1)
		t.since = append(t.since, 0, 0)
		t.why = append(t.why, 0, 0)
		t.inNow = append(t.inNow, 0, 0)
	}
	i := int32(len(t.guards))
	t.guards = append(t.guards, e)
	t.next = append(t.next, t.head[e.Lit])
	t.head[e.Lit] = i
	t.added = append(t.added, 0)
	t.s.Observe(e.Lit.Var())
	return i
}

// settle adds the edges of new guards whose literals had been told at level 0.
func (t *theory) settle(first int) (conflict []solver.Lit) {
	for i := first; i < len(t.guards); i++ {
		l := t.guards[i].Lit
		if t.holds(l) {
			if c := t.insert(int32(i)); c != nil {
				return c
			}
		}
	}
	return nil
}

// holds reports whether l was told to be true.
func (t *theory) holds(l solver.Lit) bool {
	if l.IsNeg() {
		return t.value[l.Var()] < 0
	}
	return t.value[l.Var()] > 0
}

// costFewest gives an edge the cost 1 if its literal would lengthen the clause by one that is not true at level 0.
func (t *theory) costFewest(tag int32) int8 {
	if tag < 0 || t.guards[tag].Lit == t.own || len(t.level) == 0 || int(t.added[tag]) < t.level[0].edge {
		return 0
	}
	return 1
}

// costOldOnly gives an edge the cost 1 if it is too new to explain what was propagated at the mark newest.
func (t *theory) costOldOnly(tag int32) int8 {
	if tag < 0 || t.added[tag] < t.newest {
		return 0
	}
	return 1
}

// Assign adds the edges of l. See solver.Theory.
func (t *theory) Assign(l solver.Lit) []solver.Lit {
	v := l.Var()
	t.value[v] = 1
	if l.IsNeg() {
		t.value[v] = -1
	}
	t.told = append(t.told, l)
	if t.onTold != nil {
		t.onTold(v)
	}
	for i := t.head[l]; i >= 0; i = t.next[i] {
		if c := t.insert(i); c != nil {
			return c
		}
	}
	return nil
}

// insert adds the edge of guard i, or returns the clause that forbids it.
func (t *theory) insert(i int32) (conflict []solver.Lit) {
	e := &t.guards[i]
	t.added[i] = int32(t.g.mark())
	if !t.g.add(e.From, e.To, i) {
		return nil
	}
	t.own = e.Lit
	t.tags = t.g.path(e.To, e.From, t.fewest, t.tags[:0])
	return t.clauseOf(e.Lit.Not(), t.tags)
}

// clauseOf returns the clause of first and the negations of the guards' literals, without repetition.
func (t *theory) clauseOf(first solver.Lit, tags []int32) []solver.Lit {
	t.stamp++
	if t.stamp == 0 {
		clear(t.inNow)
		t.stamp = 1
	}
	t.inNow[first] = t.stamp
	c := append(t.clause[:0], first)
	for _, i := range tags {
		l := t.guards[i].Lit.Not()
		if t.inNow[l] != t.stamp {
			t.inNow[l] = t.stamp
			c = append(c, l)
		}
	}
	t.clause = c
	return c
}

// NewLevel begins a level. See solver.Theory.
func (t *theory) NewLevel() {
	t.level = append(t.level, levelMark{len(t.told), t.g.mark()})
}

// Backtrack undoes levels. See solver.Theory.
func (t *theory) Backtrack(level int) {
	m := t.level[level]
	t.level = t.level[:level]
	t.g.undo(m.edge)
	for i := len(t.told) - 1; i >= m.told; i-- {
		v := t.told[i].Var()
		t.value[v] = 0
		if t.onForgot != nil {
			t.onForgot(v)
		}
	}
	t.told = t.told[:m.told]
}

// propagate records that guard i, of an untold literal, would close a cycle.
func (t *theory) propagate(i int32) {
	l := t.guards[i].Lit
	if t.value[l.Var()] != 0 {
		return
	}
	t.since[l.Not()] = int32(t.g.mark())
	t.why[l.Not()] = i
	t.out = append(t.out, l.Not())
}

// Explain returns the clause of the cycle that l would have closed. By now there may be newer edges, and a path through
// them would be no reason. The path with the fewest literals usually has none of them; if it has, the path is searched
// by age alone, and since there was one when l was propagated, the cheapest costs nothing.
//
// Errata V20: propagated literals need reasons too.
func (t *theory) Explain(l solver.Lit) []solver.Lit {
	e := &t.guards[t.why[l]]
	t.own = solver.LitUndef
	t.tags = t.g.path(e.To, e.From, t.fewest, t.tags[:0])
	t.newest = t.since[l]
	for _, i := range t.tags {
		if t.added[i] >= t.newest {
			t.tags = t.g.path(e.To, e.From, t.oldOnly, t.tags[:0])
			break
		}
	}
	return t.clauseOf(l, t.tags)
}

// Decide leaves the choice to the solver. See solver.Theory.
func (t *theory) Decide() solver.Lit { return solver.LitUndef }

// FinalCheck accepts, since the edges of all true literals are in the acyclic graph. See solver.Theory.
func (t *theory) FinalCheck() [][]solver.Lit { return nil }

// Lemma reports whether a clause follows from the guards and the known edges: whether the edges of its negated literals
// close a cycle. It must be called at level 0, and is for checking proofs.
//
// Cost: the edges of the literals, added and undone.
func (t *theory) Lemma(c []solver.Lit) bool {
	defer t.g.undo(t.g.mark())
	for _, l := range c {
		for i := t.head[l.Not()]; i >= 0; i = t.next[i] {
			if t.g.add(t.guards[i].From, t.guards[i].To, i) {
				return true
			}
		}
	}
	return false
}

// Guards returns all guards, by index. The slice must not be changed.
func (t *theory) Guards() []Guard { return t.guards }
