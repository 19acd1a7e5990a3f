package run

import (
	"context"
	"fmt"
	"slices"

	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Options are a check's parameters. The zero value means serializability with the checker's defaults.
type Options struct {
	Level level.Level
	// Solver is a back end's name ("cdcl", "gini", "gophersat"); "" is the checker's default. Checkers without a solver
	// ignore it.
	Solver string
	// Pipeline has the settings of a checker's pipeline (Info.Settings).
	Pipeline Pipeline
	// ClockSkew widens every client interval by this many nanoseconds at both ends (errata V9).
	ClockSkew int64
	// ReadOnlyAtStart is for checkers that trust timestamps, at the serializable levels: transactions without writes
	// are placed at their start timestamp, at which multi-version databases let them read.
	ReadOnlyAtStart bool
	// IgnorePredicates lets checkers that take no predicate operations at the level (Takes.Predicates) check histories
	// that have some, without them (history.Items). The verdict is marked (evidence.Result.Items).
	IgnorePredicates bool
	// Profile says how the database works inside, for checker leopard; nil means as the history's header says.
	Profile *mechanism.Profile
	// MechanismsOnly lets leopard skip the search for cycles among dependencies that it cannot decide. Its verdict is
	// then violation or unknown.
	MechanismsOnly bool
	// Progress, if set, gets the current stage and its progress. It must be cheap and safe for any goroutine.
	Progress func(stage string, done, total int)
	// Rounds, if set, is called by cobra-rounds at the end of each round except the last.
	Rounds func(CobraRound)
}

// CobraRound has the counts of one round of cobra-rounds.
type CobraRound struct {
	Verified int // transactions verified by its end, in all
	Window   int // transactions in the round: those left before and those added
	Choices  int // open choices before pruning
	Left     int // choices that pruning left
}

// Info describes a checker for lists and help. Run uses it to refuse what the checker cannot take.
type Info struct {
	Name   string
	About  string // one line
	Paper  string // key in docs/papers.md
	Levels []level.Level
	// Solvers are the back ends that it can use, the default first; empty if it uses none.
	Solvers []string
	// Settings are the settings of Options.Pipeline that it has.
	Settings []Setting
	Takes    Takes
	// Partial is set if the checker decides only some histories or some answers: elle does not take registers,
	// elle-register only refutes. "all" does not run such checkers, and auto picks them only if they decide.
	Partial bool
	// Timestamps says that it trusts the database's timestamps, and that its verdicts are about them ("ts:" before the
	// level). auto does not pick it.
	Timestamps bool
	// Hidden checkers are neither picked by auto nor run by "all" (cobra-rounds: cobra, for histories with fences).
	Hidden bool
}

// Checker decides whether a history satisfies a level. Check must return Unknown with a reason rather than guess, also
// when ctx ends. An error is bad input or a fault of isovet, never a verdict. Only Run calls it, with a settled
// question: Info.Levels has o.Level, and Info.Takes allows the history.
type Checker interface {
	Info() Info
	Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error)
}

var registered []Checker

// Register adds checkers to those of package check. It is called while packages are initialized.
func Register(cs ...Checker) { registered = append(registered, cs...) }

// Registered returns the registered checkers.
func Registered() []Checker { return slices.Clone(registered) }

// Fault is a mistake of isovet: a certificate that fails, or a panic in a checker. It must be reported as such, never
// as a verdict.
type Fault struct {
	Checker string
	Err     error
}

func (f *Fault) Error() string {
	return fmt.Sprintf("a bug in isovet, not a fault of the database: checker %s: %v; please report it with the "+
		"history",
		f.Checker, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }
