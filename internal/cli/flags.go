package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/history/format"
	"isovet/level"
)

// enum is a flag whose value is one of a list.
type enum struct {
	value   *string
	what    string
	choices []string
}

func (e *enum) String() string {
	if e.value == nil {
		return ""
	}
	return *e.value
}

func (e *enum) Type() string { return "name" }

func (e *enum) Set(s string) error {
	if !slices.Contains(e.choices, s) {
		return fmt.Errorf("unknown %s %q%s; expected one of %s", e.what, s, meant(s, e.choices, ""),
			strings.Join(e.choices, ", "))
	}
	*e.value = s
	return nil
}

// enumFlag adds a flag whose values are listed in its errors and completed by the shell.
func enumFlag(c *cobra.Command, value *string, name, what, usage string, choices []string) {
	c.Flags().Var(&enum{value, what, choices}, name, usage)
	complete(c, name, described(what, choices))
}

// described are values with what they are, where a list of isovet's has that.
func described(what string, names []string) []cobra.Completion {
	about := map[string]string{auto: "what fits"}
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
	case "real time":
		about["time"] = "the file's times"
		about["index"] = "the order of invocations and completions in the file"
		about["none"] = "nothing"
	case "profile":
		for _, p := range mechanism.Profiles() {
			about[p.Name()] = "promises " + p.Level.String()
		}
	case "workload", "fault":
		aboutHeavy(what, about)
	case "choice of times":
		about["all"], about["txns"] = "of transactions and operations", "of transactions"
		about["none"] = "none at all"
	case "kind of times":
		about["true"], about["reversed"], about["random"] = "as they were", "in reverse", "by chance"
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

// choice is a value of a flag, with what it is.
type choice struct{ name, about string }

// describedFlag is enumFlag whose values say what they are where the shell completes them.
func describedFlag(c *cobra.Command, value *string, name, what, usage string, choices []choice) {
	var names []string
	var described []cobra.Completion
	for _, x := range choices {
		names = append(names, x.name)
		described = append(described, cobra.CompletionWithDesc(x.name, x.about))
	}
	c.Flags().Var(&enum{value, what, names}, name, usage+": "+strings.Join(names, ", "))
	complete(c, name, described)
}

// solverValue is the --solver flag: one of the list, or another program.
type solverValue struct{ enum }

func (v *solverValue) Set(s string) error {
	if !check.IsExternal(s) {
		return v.enum.Set(s)
	}
	if err := check.SolverError(s); err != nil {
		return err
	}
	*v.value = s
	return nil
}

func complete(c *cobra.Command, flag string, choices []string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was not defined: a mistake in this package
	}
}

// levelValue is the --level flag.
type levelValue struct{ l *level.Level }

func (v levelValue) String() string {
	if v.l == nil {
		return ""
	}
	return v.l.String()
}

func (levelValue) Type() string { return "level" }

func (v levelValue) Set(s string) error {
	l, err := level.Parse(s)
	if err != nil {
		return fmt.Errorf("%w%s", err, meant(s, level.Names(), ""))
	}
	*v.l = l
	return nil
}

// levelCompletions are the levels with what they promise.
func levelCompletions() (out []cobra.Completion) {
	for _, l := range level.All() {
		out = append(out, cobra.CompletionWithDesc(l.String(), l.About()))
	}
	return out
}

func levelFlag(c *cobra.Command, l *level.Level) {
	c.Flags().Var(levelValue{l}, "level", "isolation level, or its short name: ser, sser, si, …")
	complete(c, "level", levelCompletions())
}

// sizeValue is a number of bytes with an optional unit.
type sizeValue struct{ n *int64 }

func (v sizeValue) String() string {
	if v.n == nil || *v.n == 0 {
		return ""
	}
	return strconv.FormatInt(*v.n, 10)
}

func (sizeValue) Type() string { return "bytes" }

// sizeUnits: decimal as in MB, binary as in MiB; a bare K, M or G is binary, as in ulimit and docker.
var sizeUnits = []struct {
	suffix string
	n      float64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

func (v sizeValue) Set(s string) error {
	num, unit := strings.ToUpper(strings.TrimSpace(s)), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(num, u.suffix); ok {
			num, unit = rest, u.n
			break
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !(x > 0) || x*unit >= math.MaxInt64 {
		return fmt.Errorf("%q is no size; expected a positive number of bytes, as in 512MB, 2GiB, 1000000", s)
	}
	*v.n = int64(x * unit)
	return nil
}
