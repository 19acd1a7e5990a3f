package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check"
)

// settings adds the flags for what a checker's pipeline leaves open.
func (f *checkFlags) settings(c *cobra.Command) {
	for _, s := range check.Settings() {
		var value *string
		usage := ""
		switch s.Name {
		case check.SettingClosure:
			value, usage = &f.pipeline.Closure, "the closure that prunes"
		case check.SettingEncoding:
			value, usage = &f.pipeline.Encoding, "how open choices are told the solver"
		case check.SettingTechnique:
			value, usage = &f.pipeline.Technique, "a technique to leave out or exchange"
		default:
			continue
		}
		enumFlag(c, value, s.Name, s.Name, "checkers vbox, cobra, viper: "+usage+": "+strings.Join(s.Values, ", ")+
			" (default: the checker's own)", s.Values)
	}
	enumFlag(c, &f.theory, "theory", "theory", "how the solver keeps the graph acyclic: "+
		strings.Join(check.Theories(), ", ")+" (default: the solver's own)", check.Theories())
}

// validatePipeline refuses solvers and settings that the checker does not have, and makes one solver of --solver and
// --theory.
func (f *checkFlags) validatePipeline() error {
	if f.theory != "" {
		backend := check.Backends()[0]
		if f.solver != "" {
			backend = check.LookupSolver(f.solver).Backend
		}
		s, ok := check.SolverFor(backend, f.theory)
		if !ok {
			return usagef("solver %s has no theory %s; isovet solvers lists what there is", backend, f.theory)
		}
		f.solver = s
	}
	if f.checker == auto {
		for _, s := range check.Settings() {
			if f.pipeline.Get(s.Name) != "" {
				return usagef("--%s is a setting of some checkers; add --checker %s", s.Name,
					strings.Join(checkersWith(s.Name), ", or "))
			}
		}
		return nil
	}
	c, err := check.ByName(f.checker)
	if err != nil {
		return &exitError{statusBadInput, err}
	}
	in := c.Info()
	if err := in.Unfit(f.pipeline); err != nil {
		return usagef("%v", err)
	}
	if f.solver == "" {
		return nil
	}
	if len(in.Solvers) == 0 {
		return usagef("checker %s uses no solver; leave --solver and --theory out", f.checker)
	}
	if err := check.TakesSolver(in, f.solver); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// checkersWith are the checkers that have a setting.
func checkersWith(name string) []string {
	var names []string
	for _, c := range check.All() {
		in := c.Info()
		if _, ok := in.Setting(name); ok && !slices.Contains(names, in.Name) {
			names = append(names, in.Name)
		}
	}
	return names
}
