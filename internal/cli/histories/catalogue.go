package histories

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isovet/docs"
	"isovet/internal/cli/console"
	"isovet/internal/slice"
	"isovet/level"
)

// levelJSON is a line of "isovet levels --json".
type levelJSON struct {
	Name    string   `json:"name"`
	Short   []string `json:"short"`
	About   string   `json:"about"`
	Orders  []string `json:"orders"`  // that it must respect
	Implies []string `json:"implies"` // all that it implies, itself apart
	Forbids []string `json:"forbids"` // kinds of anomalies, without those with endings
}

func levelInfo(l level.Level) levelJSON {
	j := levelJSON{Name: l.String(), Short: l.ShortNames(), About: l.About(), Orders: []string{}, Implies: []string{},
		Forbids: []string{}}
	if l.Sessions() {
		j.Orders = append(j.Orders, "session order")
	}
	if l.RealTime() {
		j.Orders = append(j.Orders, "real time")
	}
	weaker := slice.Filter(level.All(), func(m level.Level) bool { return m != l && l.Implies(m) })
	j.Implies = append(j.Implies, slice.Map(weaker, level.Level.String)...)
	forbidden := slice.Filter(level.Anomalies(), l.Forbids)
	j.Forbids = append(j.Forbids, slice.Map(forbidden, func(a level.Anomaly) string { return string(a) })...)
	return j
}

func NewLevels(e *console.Env) *cobra.Command {
	var asJSON bool
	c := console.Command("levels", nil, func(_ *cobra.Command, args []string) error {
		of := level.All()
		if len(args) > 0 {
			of = nil
		}
		for _, a := range args {
			var l level.Level
			if err := (console.Level(&l)).Set(a); err != nil {
				return console.Usagef("%v", err)
			}
			of = append(of, l)
		}
		all := slice.Map(of, levelInfo)
		switch {
		case asJSON:
			return console.JSONLines(e.Stdout, all)
		case len(args) > 0:
			return apart(e, all, (*levelJSON).print)
		}
		row := func(j levelJSON) []string {
			return []string{j.Name, strings.Join(j.Short, " "), j.About, strings.Join(j.Orders, ", ")}
		}
		return console.Table(e.Stdout, []string{"name", "short", "what it promises", "orders"}, slice.Map(all, row))
	})
	c.ValidArgsFunction = cobra.FixedCompletions(console.LevelCompletions(), cobra.ShellCompDirectiveNoFileComp)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on each line")
	return c
}

func (j *levelJSON) print(e *console.Env) error {
	_, err := fmt.Fprintf(e.Stdout, "%s (%s): %s\n  orders that it must respect: %s\n  implies: %s\n  forbids: %s\n",
		j.Name, strings.Join(j.Short, ", "), j.About, orNone(j.Orders), orNone(j.Implies), orNone(j.Forbids))
	return err
}

// apart prints each of some things, with blank lines between them.
func apart[T any](e *console.Env, all []T, print func(*T, *console.Env) error) error {
	for i := range all {
		if i > 0 {
			fmt.Fprintln(e.Stdout)
		}
		if err := print(&all[i], e); err != nil {
			return err
		}
	}
	return nil
}

func orNone(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ", ")
}

// anomalyJSON is a line of "isovet anomalies --json".
type anomalyJSON struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"` // in words
	About   string   `json:"about"`
	Weakest []string `json:"weakest_levels,omitempty"` // that forbid it
	Forbids []string `json:"forbidden_by,omitempty"`   // all levels that do
	Example string   `json:"example,omitempty"`
}

// stampKinds are the axioms of CHRONOS. The page describes them in one sentence.
var stampKinds = []level.Anomaly{level.Session, level.Int, level.Ext, level.NoConflict, level.Timestamps}

func anomalyInfos() (out []anomalyJSON) {
	for _, d := range docs.Anomalies() {
		a := level.Anomaly(d.Kind)
		j := anomalyJSON{Kind: d.Kind, Name: a.Name(), About: d.About, Weakest: strings.Split(d.Weakest, ", "),
			Example: d.Example}
		forbid := slice.Filter(level.All(), func(l level.Level) bool { return l.Forbids(a) })
		j.Forbids = slice.Map(forbid, level.Level.String)
		out = append(out, j)
	}
	for _, a := range stampKinds {
		out = append(out, anomalyJSON{Kind: string(a), Name: a.Name(),
			About: "an axiom of CHRONOS: what the database's own timestamps say of a history"})
	}
	return out
}

func completeAnomaly(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return slice.Map(anomalyInfos(), func(j anomalyJSON) cobra.Completion {
		return cobra.CompletionWithDesc(j.Kind, j.Name)
	}), cobra.ShellCompDirectiveNoFileComp
}

func NewAnomalies(e *console.Env) *cobra.Command {
	var asJSON bool
	c := console.Command("anomalies", nil, func(_ *cobra.Command, args []string) error {
		all := anomalyInfos()
		of := all
		if len(args) > 0 {
			of = nil
		}
		for _, a := range args {
			i := slices.IndexFunc(all, func(j anomalyJSON) bool {
				return strings.EqualFold(j.Kind, a) || strings.EqualFold(j.Name, a)
			})
			if i < 0 {
				names := slice.Map(all, func(j anomalyJSON) string { return j.Kind })
				return console.Usagef("unknown anomaly %q%s; isovet anomalies lists them", a,
					console.Suggest(a, names, ""))
			}
			of = append(of, all[i])
		}
		switch {
		case asJSON:
			return console.JSONLines(e.Stdout, of)
		case len(args) > 0:
			return apart(e, of, (*anomalyJSON).print)
		}
		row := func(j anomalyJSON) []string { return []string{j.Kind, j.About, strings.Join(j.Weakest, " ")} }
		return console.Table(e.Stdout, []string{"name", "what it is", "weakest levels that forbid it"},
			slice.Map(of, row))
	})
	c.ValidArgsFunction = completeAnomaly
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on each line")
	return c
}

func (j *anomalyJSON) print(e *console.Env) error {
	name := j.Kind
	if j.Name != j.Kind {
		name += " (" + j.Name + ")"
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s: %s\n", name, j.About); err != nil || j.Example == "" {
		return err
	}
	_, err := fmt.Fprintf(e.Stdout, "  weakest levels that forbid it: %s\n  forbidden by: %s\n  example: %s\n",
		strings.Join(j.Weakest, ", "), orNone(j.Forbids), j.Example)
	return err
}
