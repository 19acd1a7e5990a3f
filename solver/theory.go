package solver

// Theory is the second half of CDCL(T): it is told how the assignment grows and shrinks, and answers in clauses.
// [Solver.SetTheory] attaches it; it is told only of variables given to [Solver.Observe].
//
// Every slice that a method returns belongs to the theory, which may use it again in its next call; the solver copies
// what it keeps. A method must not call Solve, AddClause or SetTheory; FinalCheck may call NewVar and Observe.
//
// Source: the division of labour follows K. Fazekas et al., IPASIR-UP: User Propagators for CDCL, SAT 2023 (CaDiCaL's
// ExternalPropagator).
type Theory interface {
	// Assign tells that l became true at the current level. It is called once for every observed literal until
	// Backtrack takes it back, in trail order, after the clauses have been propagated.
	//
	// It returns nil, or a conflict: a clause that the theory implies and all of whose literals are false now. The
	// clause may be a unit, or consist of facts of level 0 only, or be empty but not nil; the latter two end the search
	// with Unsat. After a conflict the next call is Backtrack, or none at all.
	Assign(l Lit) (conflict []Lit)

	// NewLevel tells that a decision level begins. Levels are counted from 1; everything assigned before the first call
	// is at level 0. All earlier assignments have been told by then.
	NewLevel()

	// Backtrack tells that all levels above level are undone. The theory must forget what it was told there, in
	// particular what it was told in a call that it answered with a conflict.
	Backtrack(level int)

	// Propagate returns literals that follow from the assignments told so far. It is called when clauses and Assign
	// yield nothing more, and again until it returns nothing new. Literals already true are ignored; one that is false
	// is a conflict, explained by Explain at once. If Solve ends meanwhile, some may be forgotten: the theory must
	// refuse their negations, by Assign or FinalCheck, all the same.
	Propagate() []Lit

	// Explain returns the reason of a literal that Propagate returned: a clause that the theory implies, which contains
	// l and whose other literals are false and became so before l became true (or, if l is false, are false now). It is
	// called lazily, while l is assigned, at most once for every propagation; at level 0 only when a proof is written.
	Explain(l Lit) []Lit

	// Decide is called when a decision is needed and all assumptions are true. It returns an open literal to make true,
	// LitUndef to let the solver choose, or LitNone if the theory accepts every completion given by its Completer, so
	// that open variables need no decisions. The solver then tests the clauses under that completion and decides only
	// where one fails.
	Decide() Lit

	// FinalCheck is called when every variable has a value or is a don't-care. It returns clauses that the theory
	// implies, to be added to stay. None accepts the model; otherwise at least one must be false under the assignment
	// or have an unassigned or new variable, or the search would not end.
	FinalCheck() [][]Lit
}

// Completer is implemented by a [Theory] that answers LitNone; it gives the values of open variables. Without it they
// get their saved phase.
type Completer interface {
	// Complete returns the value of v, which has none, in the model about to be accepted. It is called only between a
	// LitNone and the next Backtrack.
	Complete(v Var) bool
}

// TheoryBase does nothing. Embed it to write only the methods that a theory needs: at least its own Assign or
// FinalCheck, and its own Explain if it has Propagate.
type TheoryBase struct{}

// Assign accepts every assignment.
func (TheoryBase) Assign(Lit) []Lit { return nil }

// NewLevel ignores the level.
func (TheoryBase) NewLevel() {}

// Backtrack has nothing to forget.
func (TheoryBase) Backtrack(int) {}

// Propagate propagates nothing.
func (TheoryBase) Propagate() []Lit { return nil }

// Explain is never called, since Propagate returns nothing.
func (TheoryBase) Explain(l Lit) []Lit {
	panic("solver: a Theory that propagates must explain")
}

// Decide leaves the choice to the solver.
func (TheoryBase) Decide() Lit { return LitUndef }

// FinalCheck accepts every model.
func (TheoryBase) FinalCheck() [][]Lit { return nil }

// SetTheory attaches t, replacing an earlier theory. At the next Solve the new theory is told the facts of level 0
// about the variables observed so far.
func (s *Solver) SetTheory(t Theory) {
	s.theory = t
	s.completer, _ = t.(Completer)
	s.steps.theory, _ = t.(Worker)
	s.theoryHead = 0
	s.late = s.late[:0]
}

// Observe makes the solver tell the theory of v. A value that v already has at level 0 is told later. It must not be
// called for a variable with a value at a higher level.
func (s *Solver) Observe(v Var) {
	if s.observed[v] {
		return
	}
	s.observed[v] = true
	l := Pos(v)
	if s.vals[l] < 0 {
		l ^= 1
	}
	if s.vals[l] == 0 {
		return
	}
	if s.vars[v].level > 0 {
		panic("solver: Observe of a variable with a value above level 0")
	}
	for _, told := range s.trail[:s.theoryHead] {
		if told == l {
			s.late = append(s.late, l)
			return
		}
	}
}

// fixpoint propagates clauses and theory until nothing follows. It returns a false clause, or nil.
func (s *Solver) fixpoint() []Lit {
	for {
		if c := s.propagate(); c != nil {
			return c
		}
		if s.theory == nil {
			return nil
		}
		if c := s.tellTheory(); c != nil {
			return c
		}
		before := len(s.trail)
		s.propagated = append(s.propagated[:0], s.theory.Propagate()...)
		for _, l := range s.propagated {
			v := s.vals[l]
			if v > 0 {
				continue
			}
			if v < 0 {
				return s.theoryConflict(s.theory.Explain(l))
			}
			if len(s.trailLim) == 0 && s.opts.Proof != nil {
				if s.ended() { // a reason may take a long search; literals left out show up as conflicts
					s.cut = true
					return nil
				}
				s.opts.Proof.Lemma(s.theory.Explain(l))
			}
			s.assign(l, reasonTheory)
		}
		if len(s.trail) == before {
			return nil
		}
	}
}

// tellTheory tells the theory the new part of the trail, and returns its conflict, if any.
func (s *Solver) tellTheory() []Lit {
	for len(s.late) > 0 && len(s.trailLim) == 0 {
		l := s.late[len(s.late)-1]
		s.late = s.late[:len(s.late)-1]
		if c := s.theory.Assign(l); c != nil {
			return s.theoryConflict(c)
		}
	}
	for s.theoryHead < len(s.trail) {
		l := s.trail[s.theoryHead]
		s.theoryHead++
		if !s.observed[l>>1] {
			continue
		}
		if c := s.theory.Assign(l); c != nil {
			return s.theoryConflict(c)
		}
	}
	return nil
}

// theoryConflict copies a conflict of the theory and goes back to the highest level of its literals, so that at least
// one of them is of the current level.
func (s *Solver) theoryConflict(c []Lit) []Lit {
	s.conflictRef = 0
	s.lemma = append(s.lemma[:0], c...)
	if s.lemma == nil {
		s.lemma = []Lit{} // empty, not nil: a conflict without literals
	}
	if s.opts.Proof != nil {
		s.opts.Proof.Lemma(s.lemma)
	}
	top := int32(0)
	for _, l := range s.lemma {
		if s.vals[l] >= 0 {
			panic("solver: the theory's conflict has a literal that is not false: " + l.String())
		}
		top = max(top, s.vars[l>>1].level)
	}
	s.backtrack(int(top))
	return s.lemma
}

// explain asks the theory for the reason of the true literal l and stores it as l's reason clause, unless the arena is
// full.
func (s *Solver) explain(l Lit) {
	c := s.theory.Explain(l)
	s.explained = append(s.explained[:0], l)
	for _, q := range c {
		if q == l {
			continue
		}
		if s.vals[q] >= 0 {
			panic("solver: the theory's reason has a literal that is not false: " + q.String())
		}
		s.explained = append(s.explained, q)
	}
	if s.opts.Proof != nil {
		s.opts.Proof.Lemma(s.explained)
	}
	if len(s.explained) == 2 {
		s.vars[l>>1].reason = uint32(s.explained[1])<<reasonShift | reasonBinary
		return
	}
	ref := s.alloc(s.explained, flagReason, 0)
	if ref == 0 {
		return
	}
	s.reasons = append(s.reasons, ref)
	s.vars[l>>1].reason = ref<<reasonShift | reasonClause
}

// sweepReasons marks as garbage the explanations that are no longer reasons.
func (s *Solver) sweepReasons() {
	for _, c := range s.reasons {
		l := s.arena.lits(c)[0]
		if s.vals[l] > 0 && s.vars[l>>1].reason == c<<reasonShift|reasonClause {
			continue
		}
		s.markGarbage(c)
	}
}

// addLemmas adds the clauses of FinalCheck, whatever the values of their literals. It returns false if the formula is
// unsatisfiable.
func (s *Solver) addLemmas(lemmas [][]Lit) bool {
	// The theory may use its slices again as soon as we backtrack.
	flat, ends := s.lemmaFlat[:0], s.lemmaEnds[:0]
	for _, c := range lemmas {
		flat = append(flat, c...)
		ends = append(ends, len(flat))
	}
	s.lemmaFlat, s.lemmaEnds = flat, ends
	from := 0
	for _, to := range ends {
		c := flat[from:to]
		from = to
		if s.opts.Proof != nil {
			s.opts.Proof.Lemma(c)
		}
		if !s.addLemma(c) {
			return false
		}
	}
	return true
}

// addLemma adds one clause at any level: it goes back as far as is needed for the clause to be a conflict of the
// current level, or to propagate at the level where it became unit.
func (s *Solver) addLemma(c []Lit) bool {
	c, holds := s.normalize(c)
	if holds {
		return true
	}
	// Prefer to watch literals that are not false, then those of higher levels.
	rank := func(l Lit) int {
		if s.vals[l] >= 0 {
			return 1 << 31
		}
		return int(s.vars[l>>1].level)
	}
	for i := 0; i < min(2, len(c)); i++ {
		best := i
		for k := i + 1; k < len(c); k++ {
			if rank(c[k]) > rank(c[best]) {
				best = k
			}
		}
		c[i], c[best] = c[best], c[i]
	}
	if len(c) == 0 {
		s.learnEmpty()
		return false
	}
	if s.vals[c[0]] < 0 {
		s.backtrack(int(s.vars[c[0]>>1].level))
	}
	if len(c) == 1 {
		s.backtrack(0)
		s.assign(c[0], reasonNone)
		return true
	}
	reason, ref := s.attach(c)
	if s.exhausted {
		return true
	}
	switch {
	case s.vals[c[0]] < 0 && s.vars[c[1]>>1].level == int32(len(s.trailLim)):
		s.stats.Conflicts++
		s.conflictRef = ref
		s.lemma = append(s.lemma[:0], c...)
		s.learn(s.lemma)
	case s.vals[c[0]] <= 0 && s.vals[c[1]] < 0:
		s.backtrack(int(s.vars[c[1]>>1].level))
		s.assign(c[0], reason)
	}
	return true
}

// attach stores a clause of at least two literals to stay, watches the first two, and returns the clause as a reason
// for its first literal, should that be propagated.
func (s *Solver) attach(c []Lit) (reason uint32, ref clauseRef) {
	if len(c) == 2 {
		s.watchBinary(c[0], c[1])
		return uint32(c[1])<<reasonShift | reasonBinary, 0
	}
	ref = s.alloc(c, 0, 0)
	if ref == 0 {
		return 0, 0
	}
	s.clauses = append(s.clauses, ref)
	s.watchClause(ref)
	return ref<<reasonShift | reasonClause, ref
}
