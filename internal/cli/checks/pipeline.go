package checks

import (
	"cmp"
	"fmt"
	"strings"

	"isovet/check"
	"isovet/internal/cli/console"
)

// checkerFlag is what --checker says: auto, or a checker with or without settings, as bench compare takes it.
type checkerFlag struct {
	name, text     string // text with the settings
	solver, theory string
	pipeline       check.Pipeline
}

func (c *checkerFlag) String() string { return c.text }

func (*checkerFlag) Type() string { return "name" }

// Set reads NAME or NAME:SETTINGS.
func (c *checkerFlag) Set(text string) error {
	name, settings, _ := strings.Cut(text, ":")
	*c = checkerFlag{name: name, text: text}
	to := console.Enum{Value: &c.name, What: "checker", Choices: console.CheckerNames()}
	if err := to.Set(name); err != nil || settings == "" {
		return err
	}
	of, err := check.ByName(name)
	if err != nil {
		return fmt.Errorf("auto has no settings; expected a checker's name before %q", settings)
	}
	in := of.Info()
	choices, err := in.ParseChoices(settings)
	if err != nil {
		return err
	}
	for name, values := range choices {
		switch {
		case len(values) > 1 || values[0] == "all":
			return fmt.Errorf("%s is several values of %s; expected one (isovet bench compare takes several)",
				strings.Join(values, ", "), name)
		case name == check.ChoiceSolver:
			c.solver = values[0]
		case name == check.ChoiceTheory:
			c.theory = values[0]
		default:
			c.pipeline.Set(name, values[0])
		}
	}
	return nil
}

// validateSolver makes one solver of --solver and of what --checker says, and refuses those that the checker does not
// have. Where no checker of the level uses one, it leaves it out, which around says.
func (f *CheckFlags) validateSolver() error {
	c := &f.judge
	if c.solver != "" && f.solver != "" && c.solver != f.solver {
		return console.Usagef("--checker %s and --solver %s contradict each other; leave one out", c.text, f.solver)
	}
	f.solver = cmp.Or(f.solver, c.solver)
	if c.theory != "" {
		s, err := check.WithTheory(f.solver, c.theory)
		if err != nil {
			return console.Usagef("--checker %s: %v", c.text, err)
		}
		f.solver = s
	}
	switch {
	case f.solver == "":
		return nil
	case c.name == console.Auto && f.all:
		f.unsolved, f.solver = "--level all takes the checker of each level; add --checker", ""
		return nil
	case c.name == console.Auto:
		if !check.AutoSolves(f.level) {
			f.unsolved, f.solver = "no checker that decides "+f.level.String()+" uses a solver", ""
		}
		return nil
	}
	of, err := check.ByName(c.name)
	if err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	in := of.Info()
	if len(in.Solvers) == 0 {
		return console.Usagef("checker %s uses no solver; leave --solver out", in.Name)
	}
	if err := check.TakesSolver(in, f.solver); err != nil {
		return console.Usagef("%v", err)
	}
	return nil
}
