// Package check runs checkers: it has the list of all checkers, the automatic choice, the lattice of levels, and Run,
// which certifies every answer before it returns it. The checkers of the automatic choice are here, those of papers in
// package check/papers, and their common parts in package check/run.
//
// Stable: this package's API changes only with a new major version.
package check

import (
	"fmt"
	"slices"
	"strings"

	"isovet/check/run"
	"isovet/internal/slice"
	"isovet/solver/external"
)

// These types of package run are what a caller of Run needs.
type (
	Checker    = run.Checker
	Options    = run.Options
	Info       = run.Info
	Takes      = run.Takes
	Fault      = run.Fault
	Pipeline   = run.Pipeline
	Setting    = run.Setting
	CobraRound = run.CobraRound
)

const (
	SettingClosure   = run.SettingClosure
	SettingEncoding  = run.SettingEncoding
	SettingPruning   = run.SettingPruning
	SettingTechnique = run.SettingTechnique
	ChoiceSolver     = run.ChoiceSolver
	ChoiceTheory     = run.ChoiceTheory
)

// These functions of package run are what a caller of Run needs: solvers, values of settings, evidence by timestamps.
var (
	Closures     = run.Closures
	HasSolver    = run.HasSolver
	IsExternal   = external.Is
	LastLine     = external.LastLine
	LookupSolver = run.LookupSolver
	MaxStamped   = run.MaxStamped
	Settings     = run.Settings
	SolverError  = run.SolverError
	SolverNames  = run.SolverNames
	Solvers      = run.Solvers
	Stamped      = run.Stamped
	TakesSolver  = run.TakesSolver
	Theories     = run.Theories
	WithTheory   = run.WithTheory
)

// ByName finds a checker.
func ByName(name string) (Checker, error) {
	all := All()
	names := Names(all)
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("unknown checker %q; expected one of auto, %s", name, strings.Join(names, ", "))
}

// TrustsTimestamps reports whether a checker's verdicts are about database timestamps.
func TrustsTimestamps(checker string) bool {
	c, err := ByName(checker)
	return err == nil && c.Info().Timestamps
}

// Names returns the names of checkers.
func Names(of []Checker) []string {
	return slice.Map(of, func(c Checker) string { return c.Info().Name })
}
