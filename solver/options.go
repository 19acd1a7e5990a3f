package solver

import "cmp"

// RestartKind chooses when the search starts again from level 0.
type RestartKind uint8

const (
	// RestartLuby restarts after unit·luby(i) conflicts.
	//
	// Source: M. Luby, A. Sinclair, D. Zuckerman, Optimal speedup of Las Vegas algorithms, 1993.
	RestartLuby RestartKind = iota
	// RestartGlue restarts when the glue of recently learned clauses is worse than the average.
	//
	// Source: G. Audemard, L. Simon, Refining restarts strategies for SAT and UNSAT, CP 2012; the exponential averages
	// are those of A. Biere, A. Fröhlich, POS 2015.
	RestartGlue
)

// HeuristicKind chooses which open variable is decided next if the theory leaves it to the solver.
type HeuristicKind uint8

const (
	// HeuristicVSIDS decides the variable most active in recent conflicts.
	HeuristicVSIDS HeuristicKind = iota
	// HeuristicStatic decides the open variable with the lowest number.
	HeuristicStatic
)

// Options change how a [Solver] searches, never its answer. The zero value is the default.
type Options struct {
	NoMinimize       bool // do not remove implied literals from learned clauses
	NoBinaryMinimize bool // do not shorten learned clauses of low glue with binary clauses
	NoPhaseSaving    bool // decide the initial phase, not the last value
	NoRestarts       bool // never restart
	NoReuseTrail     bool // restart from the root even where the same decisions would follow
	NoReduce         bool // keep every learned clause
	NoSimplify       bool // keep clauses that are true at level 0

	Restart      RestartKind
	LubyUnit     int // conflicts of the shortest Luby run; 0 = default
	Heuristic    HeuristicKind
	VarDecay     float64 // VSIDS: activity shrinks by this factor a conflict, in (0,1); 0 = default
	ReduceFirst  int     // conflicts before the first reduction; 0 = default
	ReduceGrowth int     // how many more conflicts each later reduction waits; 0 = default

	// Seed, if not 0, shuffles the initial order of the variables. Equal seeds give equal runs.
	Seed uint64
	// ConflictBudget, if greater than 0, bounds the conflicts of each call of Solve, which then returns Unknown.
	ConflictBudget int64
	// Enough, if not nil, is asked after each conflict with the number of conflicts in the solver's life; if it returns
	// true, Solve returns Unknown.
	Enough func(conflicts int64) bool
	// MaxArena bounds the memory of clauses of three and more literals, in words of 4 bytes; 2^30, the default, is the
	// most. See [Solver.Exhausted].
	MaxArena int
	// Proof, if not nil, receives every clause that is added, learned or deleted.
	Proof Proof
}

const (
	defaultLubyUnit     = 128
	defaultVarDecay     = 0.95
	defaultReduceFirst  = 1000
	defaultReduceGrowth = 30
)

func (o Options) withDefaults() Options {
	if o.MaxArena <= 0 || o.MaxArena > maxArena {
		o.MaxArena = maxArena
	}
	o.LubyUnit = cmp.Or(max(o.LubyUnit, 0), defaultLubyUnit)
	o.ReduceFirst = cmp.Or(max(o.ReduceFirst, 0), defaultReduceFirst)
	o.ReduceGrowth = cmp.Or(max(o.ReduceGrowth, 0), defaultReduceGrowth)
	if o.VarDecay <= 0 || o.VarDecay >= 1 {
		o.VarDecay = defaultVarDecay
	}
	return o
}

// Proof receives the clauses of a run in the order needed to check them. The slices belong to the solver and are valid
// during the call only. internal/test/solvertest/proof has a text form and a checker.
//
// After Solve returned Unsat the last learned clause is the empty one, or, under assumptions, the clause of the
// negations of [Solver.Failed].
type Proof interface {
	// Input: the caller added this clause.
	Input(lits []Lit)
	// Lemma: the theory implies this clause (a conflict, a reason, or a clause of FinalCheck).
	Lemma(lits []Lit)
	// Learn: this clause follows from the present ones by reverse unit propagation (RUP). It may be empty.
	Learn(lits []Lit)
	// Delete: this clause is no longer used.
	Delete(lits []Lit)
}

// Stats counts what a [Solver] did over its whole life.
type Stats struct {
	Decisions    int64 // branching decisions, the theory's included, assumptions not
	Propagations int64 // literals propagated through the clauses
	Conflicts    int64 // conflicts, the theory's included
	Restarts     int64
}
