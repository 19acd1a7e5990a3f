package run

import (
	"fmt"
	"slices"
	"strings"

	"isovet/encode"
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/solver"
)

// Setting is a choice in a checker's pipeline: a field of Pipeline.
type Setting struct {
	Name   string   // "closure", "encoding", …
	Values []string // the default first
}

// These are the names of settings.
const (
	SettingClosure   = "closure"
	SettingPruning   = "pruning"
	SettingEncoding  = "encoding"
	SettingPhase     = "phase"
	SettingAtMostOne = "at-most-one"
	SettingTechnique = "technique"
)

// settingNames has the names in the order of Pipeline's fields.
var settingNames = []string{SettingClosure, SettingPruning, SettingEncoding, SettingPhase, SettingAtMostOne,
	SettingTechnique}

// Get returns the value of a setting, or "" for the checker's default.
func (p *Pipeline) Get(name string) string {
	if f := p.field(name); f != nil {
		return *f
	}
	return ""
}

// Set sets a setting to a value, if there is one of that name.
func (p *Pipeline) Set(name, value string) {
	if f := p.field(name); f != nil {
		*f = value
	}
}

func (p *Pipeline) field(name string) *string {
	i := slices.Index(settingNames, name)
	if i < 0 {
		return nil
	}
	return []*string{&p.Closure, &p.Pruning, &p.Encoding, &p.Phase, &p.AtMostOne, &p.Technique}[i]
}

// Settings lists all settings, with the values that vbox has, because vbox has them all.
func Settings() []Setting { return Vbox{}.Info().Settings }

// Setting returns one of the checker's settings.
func (in *Info) Setting(name string) (Setting, bool) {
	i := slices.IndexFunc(in.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return in.Settings[i], true
}

// Unfit names a setting of a pipeline that the checker does not have, or returns nil.
func (in *Info) Unfit(p Pipeline) error {
	for _, name := range settingNames {
		value := p.Get(name)
		if value == "" {
			continue
		}
		what := strings.ReplaceAll(name, "-", " ")
		has, ok := in.Setting(name)
		if !ok {
			return fmt.Errorf("checker %s has no setting %q", in.Name, name)
		}
		names := slices.Clone(has.Values)
		if name == SettingEncoding {
			names = append(names, slice.Map(p.Extra, func(e encode.Encoding) string { return e.Name })...)
		}
		if !slices.Contains(names, value) {
			return fmt.Errorf("unknown %s %q; expected one of %s", what, value, strings.Join(names, ", "))
		}
	}
	return nil
}

// Settled names the theory, unless it is the usual one of the default solver, and closure and encoding if they were
// set.
func Settled(r *evidence.Result, o Options) string {
	s := &r.Stats
	var said []string
	for _, x := range []struct {
		name, value string
		plain       bool
	}{
		{"theory", s.Theory, r.Solver == defaultSolver().Name && s.Theory == encode.TheoryOrder},
		{SettingClosure, s.Closure, o.Pipeline.Closure == ""},
		{SettingEncoding, s.Encoding, o.Pipeline.Encoding == ""},
	} {
		if x.value != "" && !x.plain {
			said = append(said, x.name+" "+x.value)
		}
	}
	return strings.Join(said, ", ")
}

// technique is a technique that a pipeline leaves out, or replaces another with.
type technique struct {
	name, about string
	set         func(*encode.Search) // changes the solver or its theories; nil: a setting of the pipeline
}

const (
	NoStrictFirst = "no-strict-first"
	noTimeEdges   = "no-time-edges"
	noAvoidance   = "no-avoidance"
)

// techniques are all techniques, the default first.
var techniques = []technique{
	{"default", "every technique is on", nil},
	{"no-restarts", "the solver never restarts", func(s *encode.Search) { s.Solver.NoRestarts = true }},
	{"restart-glue", "restarts by the glue of learned clauses, not by Luby's sequence",
		func(s *encode.Search) { s.Solver.Restart = solver.RestartGlue }},
	{"no-vsids", "the solver decides variables by number, not by activity (VSIDS)",
		func(s *encode.Search) { s.Solver.Heuristic = solver.HeuristicStatic }},
	{"no-minimize", "learned clauses are not minimised",
		func(s *encode.Search) { s.Solver.NoMinimize, s.Solver.NoBinaryMinimize = true, true }},
	{"no-phase-saving", "the first value of a variable is always the initial one",
		func(s *encode.Search) { s.Solver.NoPhaseSaving = true }},
	{"no-propagation", "the closure theory finds conflicts only",
		func(s *encode.Search) { s.NoPropagate = true }},
	{"pk-propagation", "the Pearce-Kelly theory propagates what a reordering finds",
		func(s *encode.Search) { s.Propagate = true }},
	{"no-dont-cares", "the Pearce-Kelly theory decides every variable",
		func(s *encode.Search) { s.NoDontCares = true }},
	{NoStrictFirst, "the level is decided directly, without trying a stricter level first", nil},
	{noTimeEdges, "client times add no edges unless the level needs them", nil},
	{noAvoidance, "every pair of writes gets a choice, whether or not they overlap in time", nil},
}

// Techniques lists the values of Pipeline.Technique, the default first.
func Techniques() []string { return techniqueNames(func(technique) bool { return true }) }

// SearchTechniques are the techniques of the solver and its theories.
func SearchTechniques() []string {
	return techniqueNames(func(t technique) bool { return t.name == "default" || t.set != nil })
}

func techniqueNames(which func(technique) bool) []string {
	return slice.Map(slice.Filter(techniques, which), func(t technique) string { return t.name })
}

// Idle returns the settings that make no difference with a solver: a technique that the solver or its theory does not
// have, the first values of variables of other solvers than isovet's, and a closure that nothing is pruned with and no
// theory needs.
func (p Pipeline) Idle(solver string) (settings []string) {
	s := LookupSolver(solver)
	own, t := s.Backend == "cdcl", p.technique()
	matters := t.set == nil || own
	switch t.name {
	case "no-propagation":
		matters = own && (s.Theory == encode.TheoryClosure || s.Theory == theoryAuto)
	case "pk-propagation", "no-dont-cares":
		matters = own && (s.Theory == encode.TheoryOrder || s.Theory == theoryAuto)
	}
	if !matters {
		settings = append(settings, SettingTechnique)
	}
	if !own {
		settings = append(settings, SettingPhase)
	}
	if p.Pruning == pruneNone && s.Theory != encode.TheoryClosure && s.Theory != theoryAuto {
		settings = append(settings, SettingClosure)
	}
	return settings
}

func (p Pipeline) technique() technique {
	return techniques[max(0, slices.IndexFunc(techniques, func(t technique) bool { return t.name == p.Technique }))]
}
