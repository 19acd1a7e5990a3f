package cli

import (
	"fmt"
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

// checkerValue is the --checker flag: auto, or a checker with or without settings, as bench compare takes it.
type checkerValue struct{ f *checkFlags }

func (v checkerValue) String() string {
	if v.f == nil {
		return ""
	}
	return v.f.checker
}

func (checkerValue) Type() string { return "name" }

// Set reads NAME or NAME:SETTINGS. What is set stands beside the flags until all are read (takeChoices).
func (v checkerValue) Set(text string) error {
	name, settings, _ := strings.Cut(text, ":")
	to := enum{&v.f.checker, "checker", checkerNames()}
	if err := to.Set(name); err != nil {
		return err
	}
	v.f.choices = nil
	if settings == "" {
		return nil
	}
	c, err := check.ByName(name)
	if err != nil {
		return fmt.Errorf("auto has no settings; expected a checker's name before %q", settings)
	}
	in := c.Info()
	if v.f.choices, err = in.ParseChoices(settings); err != nil {
		return err
	}
	for name, values := range v.f.choices {
		if len(values) > 1 || values[0] == "all" {
			return fmt.Errorf("%s is several values of %s; expected one (isovet bench compare takes several)",
				strings.Join(values, ", "), name)
		}
	}
	return nil
}

// takeChoices has what --checker says of its settings stand where the flags for them do. A flag that says otherwise
// contradicts it.
func (f *checkFlags) takeChoices() error {
	for name, values := range f.choices {
		value, has := values[0], f.pipeline.Get(name)
		switch name {
		case check.ChoiceSolver:
			has, f.solver = f.solver, value
		case check.ChoiceTheory:
			has, f.theory = f.theory, value
		default:
			f.pipeline.Set(name, value)
		}
		if has != "" && has != value {
			return usagef("--checker %s:%s=%s and --%s %s contradict each other; leave one out", f.checker, name, value,
				name, has)
		}
	}
	f.choices = nil
	return nil
}

// validatePipeline refuses solvers and settings that the checker does not have, and makes one solver of --solver and
// --theory. Where no checker of the level uses one, it leaves it out, which around says.
func (f *checkFlags) validatePipeline() error {
	if err := f.takeChoices(); err != nil {
		return err
	}
	if f.theory != "" {
		s, err := check.WithTheory(f.solver, f.theory)
		if err != nil {
			return usagef("--theory: %v", err)
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
		switch {
		case f.solver == "":
		case f.all:
			f.unsolved, f.solver = "--level all takes the checker of each level; add --checker", ""
		case !check.AutoSolves(f.level):
			f.unsolved = "no checker that decides " + f.level.String() + " uses a solver"
			f.solver = ""
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
