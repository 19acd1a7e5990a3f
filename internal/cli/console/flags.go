package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/check/mechanism"
	_ "isovet/check/papers" // are among check.All
	"isovet/history/format"
	"isovet/internal/slice"
	"isovet/level"
)

// Enum is a flag whose value is one of a list.
type Enum struct {
	Value   *string
	What    string
	Choices []string
}

func (e *Enum) String() string {
	if e.Value == nil {
		return ""
	}
	return *e.Value
}

func (e *Enum) Type() string { return "name" }

func (e *Enum) Set(s string) error {
	if !slices.Contains(e.Choices, s) {
		return fmt.Errorf("unknown %s %q%s; expected one of %s", e.What, s, Suggest(s, e.Choices, ""),
			strings.Join(e.Choices, ", "))
	}
	*e.Value = s
	return nil
}

// EnumFlag adds a flag with a list of values, which errors show and the shell completes.
func EnumFlag(c *cobra.Command, value *string, name, what, usage string, choices []string) {
	c.Flags().Var(&Enum{value, what, choices}, name, usage)
	CompleteDescribed(c, name, what, choices)
}

// described returns values with descriptions, if isovet has any.
func described(what string, names []string) []cobra.Completion {
	about := map[string]string{Auto: "what fits"}
	switch what {
	case "checker":
		for _, k := range check.All() {
			about[k.Info().Name] = k.Info().About
		}
	case "solver":
		for _, s := range check.Solvers() {
			about[s.Name] = s.About
		}
	case "format":
		for _, f := range format.All() {
			about[f.Name] = f.About
		}
	case "profile":
		for _, p := range mechanism.Profiles() {
			about[p.Name()] = "promises " + p.Level.String()
		}
	default:
		for _, part := range partsOf("values of a " + what) {
			about[part.name] = part.text
		}
	}
	var out []cobra.Completion
	for _, n := range names {
		if a := about[n]; a != "" {
			n = cobra.CompletionWithDesc(n, a)
		}
		out = append(out, n)
	}
	return out
}

// Choice is a value of a flag with a description.
type Choice struct{ Name, About string }

// DescribedFlag is EnumFlag with descriptions that the shell shows.
func DescribedFlag(c *cobra.Command, value *string, name, what, usage string, choices []Choice) {
	c.Flags().Var(&Enum{value, what, slice.Map(choices, func(x Choice) string { return x.Name })}, name, usage)
	Complete(c, name, slice.Map(choices, func(x Choice) cobra.Completion {
		return cobra.CompletionWithDesc(x.Name, x.About)
	}))
}

// SolverValue is the value of --solver: a listed solver, or another program.
type SolverValue struct{ Enum }

func (v *SolverValue) Set(s string) error {
	if !check.IsExternal(s) {
		return v.Enum.Set(s)
	}
	if err := check.SolverError(s); err != nil {
		return err
	}
	*v.Value = s
	return nil
}

// Complete sets the values that the shell completes for a flag.
func Complete(c *cobra.Command, flag string, choices []string) {
	completeBy(c, flag, func() []cobra.Completion { return choices })
}

// CompleteDescribed is Complete with descriptions (see described).
func CompleteDescribed(c *cobra.Command, flag, what string, choices []string) {
	completeBy(c, flag, func() []cobra.Completion { return described(what, choices) })
}

// completeBy computes the values only when the shell asks for them, since most processes never need them.
func completeBy(c *cobra.Command, flag string, choices func() []cobra.Completion) {
	if err := c.RegisterFlagCompletionFunc(flag,
		func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return choices(), cobra.ShellCompDirectiveNoFileComp
		}); err != nil {
		panic(err) // the flag was not defined: a mistake in this package
	}
}

// LevelValue is the --level flag.
type LevelValue struct{ L *level.Level }

func (v LevelValue) String() string {
	if v.L == nil {
		return ""
	}
	return v.L.String()
}

func (LevelValue) Type() string { return "level" }

func (v LevelValue) Set(s string) error {
	l, err := level.Parse(s)
	if err != nil {
		return fmt.Errorf("%w%s", err, Suggest(s, level.Names(), ""))
	}
	*v.L = l
	return nil
}

// LevelCompletions returns the levels with descriptions.
func LevelCompletions() []cobra.Completion {
	return slice.Map(level.All(), func(l level.Level) cobra.Completion {
		return cobra.CompletionWithDesc(l.String(), l.About())
	})
}

func LevelFlag(c *cobra.Command, l *level.Level) {
	c.Flags().Var(LevelValue{l}, "level", "isolation level (isovet levels)")
	Complete(c, "level", LevelCompletions())
}

// SizeValue is a number of bytes with an optional unit.
type SizeValue struct{ N *int64 }

func (v SizeValue) String() string {
	if v.N == nil || *v.N == 0 {
		return ""
	}
	return strconv.FormatInt(*v.N, 10)
}

func (SizeValue) Type() string { return "bytes" }

// sizeUnits are decimal as in MB, or binary as in MiB. A bare K, M or G is binary, as in ulimit and docker.
var sizeUnits = []struct {
	suffix string
	n      float64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

func (v SizeValue) Set(s string) error {
	num, unit := strings.ToUpper(strings.TrimSpace(s)), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(num, u.suffix); ok {
			num, unit = rest, u.n
			break
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !(x > 0) || x*unit >= math.MaxInt64 {
		return fmt.Errorf("%q is not a size; expected a positive number of bytes, as in 512MB, 2GiB, 1000000", s)
	}
	*v.N = int64(x * unit)
	return nil
}

// Auto is the value of a flag that makes isovet choose.
const Auto = check.AutoName

// CheckerNames are the values of --checker.
func CheckerNames() []string { return append([]string{Auto}, check.Names(check.All())...) }

// Size returns a flag's value for a number of bytes with an optional unit.
func Size(n *int64) SizeValue { return SizeValue{n} }

// Level returns a flag's value for an isolation level.
func Level(l *level.Level) LevelValue { return LevelValue{l} }

// Solver returns a flag's value for a solver, or another program.
func Solver(name *string) *SolverValue {
	return &SolverValue{Enum{name, "solver", check.SolverNames()}}
}
