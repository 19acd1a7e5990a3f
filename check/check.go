// Package check holds the checkers, one short file each that reads like its paper's pipeline, the list of them all, and
// Run, which certifies every answer before it gives it out.
//
// Stable: this package's API changes only with a new major version.
package check

import (
	"fmt"
	"strings"

	"isovet/check/run"
)

// What checkers are written with, and of, is in package run. These are its names for who has checkers asked.
type (
	Checker    = run.Checker
	Options    = run.Options
	Info       = run.Info
	Takes      = run.Takes
	Fault      = run.Fault
	Pipeline   = run.Pipeline
	Setting    = run.Setting
	Solver     = run.Solver
	CobraRound = run.CobraRound
)

const (
	SettingClosure   = run.SettingClosure
	SettingEncoding  = run.SettingEncoding
	SettingTechnique = run.SettingTechnique
	ChoiceSolver     = run.ChoiceSolver
	ChoiceTheory     = run.ChoiceTheory
)

// Solvers and the values of settings, and how evidence by timestamps is told: all of package run.
var (
	AtMostOnes       = run.AtMostOnes
	Backends         = run.Backends
	Closures         = run.Closures
	HasSolver        = run.HasSolver
	IsExternal       = run.IsExternal
	LastLine         = run.LastLine
	LookupSolver     = run.LookupSolver
	MaxStamped       = run.MaxStamped
	Phases           = run.Phases
	Prunings         = run.Prunings
	Settings         = run.Settings
	SolverError      = run.SolverError
	SolverFor        = run.SolverFor
	Solvers          = run.Solvers
	Stamped          = run.Stamped
	TakesSolver      = run.TakesSolver
	TechniqueMatters = run.TechniqueMatters
	Techniques       = run.Techniques
	Theories         = run.Theories
	WithTheory       = run.WithTheory
)

// ByName finds a checker.
func ByName(name string) (Checker, error) {
	var names []string
	for _, c := range All() {
		if c.Info().Name == name {
			return c, nil
		}
		names = append(names, c.Info().Name)
	}
	return nil, fmt.Errorf("unknown checker %q; expected one of auto, %s", name, strings.Join(names, ", "))
}
