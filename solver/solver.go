package solver

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Solver is a CDCL(T) solver. Make one with [New]. It is not safe for concurrent use.
type Solver struct {
	opts  Options
	stats Stats

	ok        bool            // false: unsatisfiable without assumptions
	exhausted bool            // the arena is full: no answer any more
	done      <-chan struct{} // ends the present Solve
	steps     steps
	cut       bool // fixpoint found that Solve must end

	// The assignment; see doc.go.
	vals     []int8
	vars     []varData
	trail    []Lit
	trailLim []int32
	qhead    int // trail[:qhead] has been propagated
	clauseBase
	decisions
	analysis

	restart restarter
	reducer reducer
	told

	addBuf []Lit
	model  []bool
	failed []Lit
}

// told is what the theory has been told and has answered. Invariant: trail[:theoryHead] has been told to it, except for
// the literals in late.
type told struct {
	theory     Theory
	completer  Completer
	observed   []bool
	theoryHead int
	late       []Lit // facts of level 0 about variables observed later
	lemma      []Lit
	explained  []Lit
	propagated []Lit
	lemmaFlat  []Lit
	lemmaEnds  []int
	openScan   int // the clause that was last seen to fail under a completion
	openBin    int // likewise for binary clauses: the literal of their list
}

// decisions is what the choice of the next decision needs.
type decisions struct {
	heap    varHeap
	inc     float64 // what a bump adds
	phase   []bool  // what a decision tries first
	dormant []bool  // not to be decided
	rng     *rand.Rand
	assume  []Lit
}

// clauseBase stores the clauses; see doc.go.
type clauseBase struct {
	arena   arena
	wasted  int // arena words of garbage
	clauses []clauseRef
	learned []clauseRef
	reasons []clauseRef // explanations of the theory
	watches [][]watch
	bins    [][]Lit
}

// New returns a solver with no variables and no clauses.
func New(o Options) *Solver {
	s := &Solver{opts: o.withDefaults(), ok: true}
	s.inc, s.arena = 1, make(arena, 1, 128)
	if o.Seed != 0 {
		s.rng = rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15))
	}
	s.stamps = append(s.stamps, 0)
	s.restart.opts = &s.opts
	s.reducer.step, s.reducer.next = int64(s.opts.ReduceFirst), int64(s.opts.ReduceFirst)
	return s
}

// NewVar makes a variable.
func (s *Solver) NewVar() Var { return s.NewVars(1) }

// NewVars makes n variables, numbered consecutively, and returns the first.
func (s *Solver) NewVars(n int) Var {
	first := len(s.vars)
	s.vals = append(s.vals, make([]int8, 2*n)...)
	s.vars = append(s.vars, make([]varData, n)...)
	s.watches = append(s.watches, make([][]watch, 2*n)...)
	s.bins = append(s.bins, make([][]Lit, 2*n)...)
	s.phase = append(s.phase, make([]bool, n)...)
	s.dormant = append(s.dormant, make([]bool, n)...)
	s.seen = append(s.seen, make([]uint8, n)...)
	s.marked = append(s.marked, make([]bool, 2*n)...)
	s.observed = append(s.observed, make([]bool, n)...)
	s.heap.activity = append(s.heap.activity, make([]float64, n)...)
	s.heap.pos = append(s.heap.pos, slices.Repeat([]int32{-1}, n)...)
	for v := first; v < first+n; v++ {
		switch {
		case s.opts.Heuristic == HeuristicStatic:
			s.heap.activity[v] = -float64(v)
		case s.rng != nil:
			s.heap.activity[v] = s.rng.Float64() * 1e-3
		}
		s.heap.push(Var(v))
	}
	s.trail = slices.Grow(s.trail, len(s.vars)-len(s.trail))
	return Var(first)
}

// SetPhase sets which value a decision on v tries first. Phase saving replaces it by v's last value. The phase of a new
// variable is false. Phase saving makes no large difference on random 3-SAT (142,852 conflicts with it, 133,091
// without) and pigeonhole 8 (22,130 and 21,650; BenchmarkTechniques); encoded histories set phases, by client times or
// by a guessed order.
func (s *Solver) SetPhase(v Var, positive bool) { s.phase[v] = positive }

// Phase returns the value that a decision on v would try first.
func (s *Solver) Phase(v Var) bool { return s.phase[v] }

// NumVars returns the number of variables.
func (s *Solver) NumVars() int { return len(s.vars) }

// Stats returns the counters.
func (s *Solver) Stats() Stats { return s.stats }

// AddClause adds the clause of the given literals; there may be any number, repetitions and both signs of a variable.
// It returns false if the formula is now known to be unsatisfiable, without asking the theory. It may be called between
// calls of Solve, not during one.
func (s *Solver) AddClause(lits ...Lit) bool {
	if !s.ok {
		return false
	}
	if s.opts.Proof != nil {
		s.opts.Proof.Input(lits)
	}
	c, holds := s.normalize(lits)
	if holds {
		return true
	}
	switch len(c) {
	case 0:
		s.learnEmpty()
		return false
	case 1:
		s.assign(c[0], reasonNone)
		if s.propagate() != nil {
			s.learnEmpty()
			return false
		}
	default:
		s.attach(c)
	}
	return true
}

// normalize sorts a clause, drops repeated literals and those false at level 0, and reports whether it is always true.
// The result is valid until the next call.
func (s *Solver) normalize(lits []Lit) (c []Lit, holds bool) {
	c = append(s.addBuf[:0], lits...)
	s.addBuf = c
	slices.Sort(c)
	kept := c[:0]
	last := LitUndef
	for _, l := range c {
		if int(l>>1) >= len(s.vars) {
			panic("solver: literal of a variable that was never made: " + l.String())
		}
		if l == last {
			continue
		}
		if last != LitUndef && l == last^1 {
			return nil, true
		}
		last = l
		if s.vars[l>>1].level == 0 {
			if s.vals[l] > 0 {
				return nil, true
			}
			if s.vals[l] < 0 {
				continue
			}
		}
		kept = append(kept, l)
	}
	if s.opts.Proof != nil && len(kept) > 0 && len(kept) < len(lits) {
		s.opts.Proof.Learn(kept)
	}
	return kept, false
}

func (s *Solver) learnEmpty() {
	if s.ok && s.opts.Proof != nil {
		s.opts.Proof.Learn(nil)
	}
	s.ok = false
}

// Solve looks for a model of the clauses that the theory accepts and in which the assumptions are true. It returns
// Unknown if ctx ended (it looks once per conflict, once every 16 decisions, and once for each reason that a proof asks
// for at level 0), if the conflict budget was used up, if Options.Enough said so, or if the solver is exhausted. What
// was learned is kept for the next call.
func (s *Solver) Solve(ctx context.Context, assumptions ...Lit) Status {
	s.model = s.model[:0]
	s.failed = s.failed[:0]
	if !s.ok {
		return Unsat
	}
	if s.exhausted || ctx.Err() != nil {
		return Unknown
	}
	s.assume = append(s.assume[:0], assumptions...)
	s.done, s.cut = ctx.Done(), false
	s.steps.meter, _ = ctx.Value(meterKey{}).(*meter)
	status := s.search()
	s.pay()
	s.backtrack(0)
	if status != Sat {
		s.model = s.model[:0]
	}
	return status
}

// Value returns v's value in the model of the last Solve; meaningful only after Sat.
func (s *Solver) Value(v Var) bool {
	return int(v) < len(s.model) && s.model[v]
}

// Failed returns, after Unsat, assumptions that cannot be true together, not necessarily a smallest set. It is empty if
// there is no model at all. The slice is valid until the next Solve.
func (s *Solver) Failed() []Lit { return s.failed }

// Exhausted reports whether a clause was lost for lack of room ([Options].MaxArena). From then on Solve always returns
// Unknown.
func (s *Solver) Exhausted() bool { return s.exhausted }

func (s *Solver) search() Status {
	budget := int64(1<<63 - 1)
	if s.opts.ConflictBudget > 0 {
		budget = s.stats.Conflicts + s.opts.ConflictBudget
	}
	s.restart.start(s.stats.Conflicts)
	polls := 0
	for {
		if c := s.fixpoint(); c != nil {
			s.stats.Conflicts++
			if len(s.trailLim) == 0 {
				s.learnEmpty()
				return Unsat
			}
			s.learn(c)
			if s.exhausted || s.stats.Conflicts >= budget || s.ended() ||
				s.opts.Enough != nil && s.opts.Enough(s.stats.Conflicts) {
				return Unknown
			}
			continue
		}
		if s.cut {
			return Unknown
		}
		if !s.opts.NoRestarts && s.restart.due(s.stats.Conflicts) && len(s.trailLim) > len(s.assume) {
			s.stats.Restarts++
			s.restart.done(s.stats.Conflicts)
			s.backtrack(s.restartLevel())
			continue
		}
		if s.reducer.due(s) {
			s.reduce()
		}
		next, status := s.pick()
		if status != Unknown {
			return status
		}
		if next == LitUndef {
			if s.exhausted {
				return Unknown
			}
			continue
		}
		s.newLevel()
		s.assign(next, reasonNone)
		if polls++; polls&15 == 0 && s.ended() {
			return Unknown
		}
	}
}

// pick returns the next literal to decide: an assumption, the theory's choice, or the solver's. If nothing is left to
// decide it returns a status instead; if the theory added lemmas meanwhile, neither.
func (s *Solver) pick() (Lit, Status) {
	for len(s.trailLim) < len(s.assume) {
		a := s.assume[len(s.trailLim)]
		if int(a>>1) >= len(s.vars) {
			panic("solver: assumption of a variable that was never made: " + a.String())
		}
		if s.vals[a] == 0 {
			return a, Unknown
		}
		if s.vals[a] < 0 {
			s.analyzeFinal(a)
			return LitUndef, Unsat
		}
		s.newLevel() // already true, but one level per assumption keeps the count right
	}
	open := false
	if s.theory != nil {
		switch l := s.theory.Decide(); l {
		case LitUndef:
		case LitNone:
			open = true
		default:
			if s.vals[l] != 0 {
				panic("solver: the theory decides a literal that has a value: " + l.String())
			}
			s.stats.Decisions++
			return l, Unknown
		}
	}
	if !open {
		if v, ok := s.nextVar(); ok {
			s.stats.Decisions++
			return MkLit(v, !s.phase[v]), Unknown
		}
		open = len(s.trail) < len(s.vars)
	}
	if open {
		if l := s.uncovered(); l != LitUndef {
			s.stats.Decisions++
			return l, Unknown
		}
	}
	if s.theory != nil {
		if lemmas := s.theory.FinalCheck(); len(lemmas) > 0 {
			if !s.addLemmas(lemmas) {
				return LitUndef, Unsat
			}
			return LitUndef, Unknown
		}
	}
	s.complete()
	return LitUndef, Sat
}

// complete stores the model, asking the theory for the values of the don't-cares.
func (s *Solver) complete() {
	n := len(s.vars)
	s.model = slices.Grow(s.model[:0], n)[:n]
	for v := range s.model {
		s.model[v] = s.completed(Var(v))
	}
}

// completed returns a variable's value or, if it is open, its value in the theory's completion.
func (s *Solver) completed(v Var) bool {
	val := s.vals[Pos(v)]
	switch {
	case val != 0:
		return val > 0
	case s.completer != nil && s.observed[v]:
		return s.completer.Complete(v)
	default:
		return s.phase[v]
	}
}

// holds reports whether a literal is true in the completion.
func (s *Solver) holds(l Lit) bool { return s.completed(l.Var()) != l.IsNeg() }

// uncovered tests the clauses under the theory's completion. It returns LitUndef if all are true, else an open literal
// of a clause that is not. The search starts at the clause that failed last, and only literals that it meets are
// completed: between two conflicts many decisions are made, each because of the next such clause.
//
// Cost: linear in the clauses up to the next that fails.
func (s *Solver) uncovered() Lit {
	n := len(s.clauses)
	for i := range n {
		at := s.openScan + i
		if at >= n {
			at %= n
		}
		if l := s.openLit(s.arena.lits(s.clauses[at])); l != LitUndef {
			s.openScan = at
			return l
		}
	}
	n = len(s.bins)
	for i := range n {
		p := s.openBin + i
		if p >= n {
			p %= n
		}
		if len(s.bins[p]) == 0 || !s.holds(Lit(p)) {
			continue
		}
		for _, q := range s.bins[p] {
			if !s.holds(q) {
				pair := [2]Lit{Lit(p) ^ 1, q}
				if l := s.openLit(pair[:]); l != LitUndef {
					s.openBin = p
					return l
				}
			}
		}
	}
	return LitUndef
}

// openLit returns LitUndef if c is true under the completion, else its most active open literal.
func (s *Solver) openLit(c []Lit) Lit {
	best := LitUndef
	for _, l := range c {
		if s.holds(l) {
			return LitUndef
		}
		if s.vals[l] == 0 && (best == LitUndef || s.heap.activity[l>>1] > s.heap.activity[best>>1]) {
			best = l
		}
	}
	if best == LitUndef {
		panic("solver: a clause is false after propagation")
	}
	return best
}

func (s *Solver) newLevel() {
	s.trailLim = append(s.trailLim, int32(len(s.trail)))
	if len(s.trailLim) >= len(s.stamps) {
		s.stamps = append(s.stamps, 0)
	}
	if s.theory != nil {
		s.theory.NewLevel()
	}
}

// backtrack undoes all levels above level.
func (s *Solver) backtrack(level int) {
	if len(s.trailLim) <= level {
		return
	}
	to := int(s.trailLim[level])
	for i := len(s.trail) - 1; i >= to; i-- {
		l := s.trail[i]
		s.vals[l] = 0
		s.vals[l^1] = 0
		v := Var(l >> 1)
		if !s.opts.NoPhaseSaving {
			s.phase[v] = l&1 == 0
		}
		if s.heap.pos[v] < 0 && !s.dormant[v] {
			s.heap.push(v)
		}
	}
	s.trail = s.trail[:to]
	s.trailLim = s.trailLim[:level]
	s.qhead = to
	if s.theory != nil {
		s.theoryHead = min(s.theoryHead, to)
		s.theory.Backtrack(level)
	}
}
