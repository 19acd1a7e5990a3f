// Package solver decides propositional formulas together with one theory: CDCL(T).
//
// # The problem
//
// Given clauses over boolean variables and, optionally, a [Theory] that forbids some assignments (in isovet: those
// whose edges close a cycle), find an assignment that satisfies the clauses and that the theory accepts, or show that
// there is none. Clauses and variables may be added between calls of [Solver.Solve], and a call may be made under
// assumptions.
//
// # The data
//
// A literal is 2·v+sign. Everything is flat arrays indexed by variable or literal:
//
//	vals     literal → 1 true, -1 false, 0 open. Invariant: vals[l] == -vals[l^1]
//	vars     variable → decision level and reason of its value
//	trail    the true literals in the order in which they became true; trailLim[d] is where level d+1 starts
//	arena    all clauses of three or more literals, two header words and then the literals
//	watches  literal p → clauses (length ≥ 3) one of whose watched literals is ¬p, with a blocker
//	bins     literal p → literals q of the binary clauses (¬p ∨ q); binary clauses are stored only here
//
// Watch invariant after propagation: if a watched literal of a clause is false, then the clause has a true watched
// literal or blocker. Clauses that a theory added late ([Theory.FinalCheck]) may break it; they may miss a propagation,
// never a conflict, since the assignment that makes the last literal of a clause false visits the clause.
//
// Only variables that are not dormant ([Solver.SetDecidable]) are decided. When those all have values and others have
// not, the search stops early: the theory completes the model, and the clauses are tested under it (solver.go,
// uncovered), so that no clause is ever false in a model.
//
// A value's level is the level at which it was found, so the trail is sorted by level. The theory is told the trail's
// observed literals in trail order, each once until it is backtracked.
//
// # The steps
//
// [Solver.Solve] repeats: propagate clauses and theory until nothing follows (propagate.go, theory.go); on a conflict
// learn the clause of the first unique implication point, minimise it and jump back (analyze.go); otherwise restart
// (restart.go), delete half of the learned clauses (reduce.go), or decide (decide.go). solver.go has the state, the
// loop and the exported calls; arena.go stores the clauses.
//
// Sources: J. Marques-Silva and K. Sakallah, GRASP, ICCAD 1996; M. Moskewicz et al., Chaff, DAC 2001 (watched literals,
// VSIDS); N. Eén and N. Sörensson, An Extensible SAT-solver, SAT 2003 (MiniSat: the loop, assumptions, minimisation);
// G. Audemard and L. Simon, Predicting learnt clauses quality, IJCAI 2009 (glue); K. Fazekas et al., IPASIR-UP, SAT
// 2023 (the shape of [Theory]).
//
// Experimental: this package may still change.
package solver
