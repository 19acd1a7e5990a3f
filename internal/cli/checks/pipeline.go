package checks

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/check"
	"isovet/check/spill"
	"isovet/history/split"
	"isovet/internal/cli/console"
)

// checkerFlag is the value of --checker: auto, or a checker with or without settings, as in bench compare.
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
			return fmt.Errorf("%s is several values of %s; expected one (isovet bench compare accepts several)",
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

// validateSolver combines --solver with the solver in --checker. It refuses a solver that the checker does not have.
// If no checker of the level uses a solver, it ignores the flag, and around says so.
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
		f.unsolved, f.solver = "--level all uses the default checker of each level; add --checker", ""
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

// Engine is how another program checks histories that do not fit in memory: with check --spill on other machines.
type Engine struct {
	Program, Short, Long, Example string
	// Spill is the program's help for --spill.
	Spill string
	// Flags adds flags to the commands check and verify.
	Flags func(*pflag.FlagSet)
	// Commands are the program's further commands.
	Commands []*cobra.Command
	// Dir returns the folder for files if --spill is dir. It may use other flags.
	Dir func(dir string) (string, error)
	// Plan divides a history like split.Plan, wherever its files are.
	Plan func(ctx context.Context, dir string, paths []string, o split.Options) (*split.Set, error)
	// Open returns a backend with files in a folder, and a function that removes them. memory bounds each process.
	Open func(dir string, set *split.Set, memory int64, progress func(done, total int)) (spill.Backend, func() error,
		error)
	// Close ends what Plan and Open began.
	Close func()
}

// onEngine sets the folder of --spill if the program has an engine. If flags need a check in memory, the program
// checks like isovet.
func (f *CheckFlags) onEngine() error {
	x := f.spill.engine
	if x == nil {
		return nil
	}
	dir, err := x.Dir(f.spill.dir)
	if err != nil {
		return console.Usagef("%v", err)
	}
	if f.all || f.judge.name != console.Auto && !slices.Contains(spill.Checkers(), f.judge.name) || f.solver != "" ||
		f.shrunk+f.proof != "" {
		dir = ""
	}
	f.spill.dir = dir
	return nil
}

// plan divides a history.
func (x *Engine) plan(ctx context.Context, dir string, paths []string, o split.Options) (*split.Set, error) {
	if x != nil {
		return x.Plan(ctx, dir, paths, o)
	}
	return split.Plan(ctx, paths, o)
}

// remote reports whether a path is in another file system.
func remote(path string) bool {
	_, err := os.Stat(path)
	return err != nil && strings.Contains(path, "://")
}
