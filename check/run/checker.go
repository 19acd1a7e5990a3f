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

// Options are a check's parameters. The zero value asks for serializability with the checker's own defaults.
type Options struct {
	Level level.Level
	// Solver is a back end's name ("cdcl", "gini", "gophersat"); "" is the checker's default. Checkers without solver
	// ignore it.
	Solver string
	// Pipeline are the choices that a checker's pipeline leaves open (Info.Settings).
	Pipeline Pipeline
	// ClockSkew widens every client interval by this many nanoseconds at both ends (errata V9).
	ClockSkew int64
	// ReadOnlyAtStart is for checkers that trust timestamps, at the serializable levels: transactions without writes
	// are placed at their start timestamp, where multi-version databases have them read.
	ReadOnlyAtStart bool
	// IgnorePredicates has checkers that take no predicate operations at the level (Takes.Predicates) look at histories
	// with some all the same, told without (history.Items); the verdict is marked (evidence.Result.Items).
	IgnorePredicates bool
	// Profile says how the database works inside, for the checker leopard; nil: as the history's header says.
	Profile *mechanism.Profile
	// MechanismsOnly makes leopard skip the search for cycles among dependencies that it cannot decide: its verdict
	// is then violation or unknown.
	MechanismsOnly bool
	// Progress, if set, gets the present stage and its progress; it must be cheap and safe from any goroutine.
	Progress func(stage string, done, total int)
	// Rounds, if set, is called by cobra-rounds at the end of each of its rounds but the last.
	Rounds func(CobraRound)
}

// CobraRound is what one round of cobra-rounds looked at.
type CobraRound struct {
	Verified int // transactions verified by its end, in all
	Window   int // transactions of the round: those that were left, and those that it added
	Choices  int // open choices before pruning
	Left     int // choices that pruning left
}

// Info describes a checker: for lists and help, and for Run, which refuses by it what the checker cannot take.
type Info struct {
	Name   string
	About  string // one line
	Paper  string // key in docs/papers.md
	Levels []level.Level
	// Solvers are the back ends it can use, the default first; empty: no solver.
	Solvers []string
	// Settings are the choices of Options.Pipeline that it has.
	Settings []Setting
	Takes    Takes
	// Partial checkers leave open what others decide: elle has nothing to say of registers, elle-register only refutes.
	// They are not chosen by "all", and by auto only where they decide.
	Partial bool
	// Timestamps: it trusts the database's timestamps, and its verdicts are about them ("ts:" before the level). Not
	// chosen by auto.
	Timestamps bool
	// Hidden checkers are not chosen by auto nor run by "all" (cobra-rounds: cobra, for histories with fences).
	Hidden bool
}

// Checker decides whether a history satisfies a level. Check must return Unknown with a reason rather than guess, on
// ctx's end too; an error is bad input or a fault of ours, never a verdict. It is asked through Run only, which has
// settled the question: Info.Levels has o.Level, and Info.Takes allows what the history holds.
type Checker interface {
	Info() Info
	Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error)
}

var registered []Checker

// Register adds checkers to those of package check. It is called while packages are initialized.
func Register(cs ...Checker) { registered = append(registered, cs...) }

// Registered are those of Register.
func Registered() []Checker { return slices.Clone(registered) }

// Fault is a mistake of ours: a certificate that fails, a panic in a checker. It must be reported as such, never passed
// on as a verdict.
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
