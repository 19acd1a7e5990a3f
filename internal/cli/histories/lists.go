package histories

import (
	"strings"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/history/format"
	"isovet/internal/cli/console"
)

// ListItem is a line of "isovet checkers" and similar lists.
type ListItem struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Paper    string   `json:"paper,omitempty"`
	Levels   []string `json:"levels,omitempty"`
	short    []string
	Solvers  []string            `json:"solvers,omitempty"`
	Settings map[string][]string `json:"settings,omitempty"` // of a checker: the values, the default first
	Takes    *takes              `json:"takes,omitempty"`
	Variants []string            `json:"variants,omitempty"`
	Keys     int                 `json:"keys,omitempty"`
	Scales   string              `json:"scales,omitempty"`
	Ops      int                 `json:"ops,omitempty"`
	Zipf     float64             `json:"zipf,omitempty"`
	Endings  []string            `json:"endings,omitempty"`
	Holds    []string            `json:"holds,omitempty"`
	Writes   *bool               `json:"writes,omitempty"`
	Hidden   bool                `json:"hidden,omitempty"`
}

// takes says what a checker can decide (check.Takes).
type takes struct {
	Items      bool     `json:"items"`
	Predicates []string `json:"predicates"` // at these levels
	short      []string
	all        bool   // its levels
	Lists      string `json:"lists"`
	Unknown    string `json:"unknown_outcomes"`
	Duplicates bool   `json:"duplicates"`
}

func takesOf(in *check.Info) *takes {
	t := in.Takes
	out := &takes{Items: t.Items, Predicates: []string{}, Lists: t.Lists.String(), Unknown: t.Unknown.String(),
		Duplicates: t.Duplicates, all: true}
	for _, l := range in.Levels {
		if !in.TakesPredicates(l) {
			out.all = false
			continue
		}
		out.Predicates = append(out.Predicates, l.String())
		out.short = append(out.short, l.ShortNames()[0])
	}
	return out
}

// predicates returns the levels, in short, at which it decides predicates.
func (t *takes) predicates() string {
	switch {
	case len(t.Predicates) == 0:
		return "no"
	case t.all:
		return "yes"
	}
	return strings.Join(t.short, " ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// NewList returns a command that prints a list.
func NewList(e *console.Env, name string, items func() []ListItem) *cobra.Command {
	var asJSON bool
	c := console.Command(name, console.Exactly(), func(*cobra.Command, []string) error {
		all := items()
		if asJSON {
			return console.JSONLines(e.Stdout, all)
		}
		columns := []struct {
			name string
			get  func(*ListItem) string
		}{
			{"name", func(i *ListItem) string { return i.Name }},
			{"what it is", func(i *ListItem) string {
				if i.Hidden {
					return i.About + " (only when named)"
				}
				return i.About
			}},
			{"from", func(i *ListItem) string { return i.Paper }},
			{"levels", func(i *ListItem) string { return strings.Join(i.short, " ") }},
			{"solvers", func(i *ListItem) string { return strings.Join(i.Solvers, " ") }},
			{"items", taking(func(t *takes) string { return yesNo(t.Items) })},
			{"predicates", taking((*takes).predicates)},
			{"lists", taking(func(t *takes) string { return t.Lists })},
			{"unknown outcomes", taking(func(t *takes) string { return t.Unknown })},
			{"duplicates", taking(func(t *takes) string { return yesNo(t.Duplicates) })},
			{"variants", func(i *ListItem) string { return strings.Join(i.Variants, " ") }},
			{"written", func(i *ListItem) string {
				if i.Writes == nil {
					return ""
				}
				return yesNo(*i.Writes)
			}},
			{"endings", func(i *ListItem) string { return strings.Join(i.Endings, " ") }},
			{"can hold", func(i *ListItem) string { return strings.Join(i.Holds, ", ") }},
		}
		var header []string
		rows := make([][]string, len(all))
		for _, col := range columns {
			cells, any := make([]string, len(all)), false
			for i := range all {
				cells[i] = col.get(&all[i])
				any = any || cells[i] != ""
			}
			if !any {
				continue // a column that none of these lists has
			}
			header = append(header, col.name)
			for i := range all {
				rows[i] = append(rows[i], cells[i])
			}
		}
		return console.Table(e.Stdout, header, rows)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on each line")
	return c
}

// taking returns a column of a table of what checkers can decide.
func taking(get func(*takes) string) func(*ListItem) string {
	return func(i *ListItem) string {
		if i.Takes == nil {
			return ""
		}
		return get(i.Takes)
	}
}

func NewCheckers(e *console.Env) *cobra.Command {
	return NewList(e, "checkers", func() (items []ListItem) {
		for _, c := range check.All() {
			in := c.Info()
			it := ListItem{Name: in.Name, About: in.About, Paper: in.Paper, Solvers: in.Solvers,
				Takes: takesOf(&in), Hidden: in.Hidden || in.Partial}
			if len(in.Settings) > 0 {
				it.Settings = map[string][]string{}
			}
			for _, s := range in.Settings {
				it.Settings[s.Name] = s.Values
			}
			for _, l := range in.Levels {
				it.Levels = append(it.Levels, l.String())
				it.short = append(it.short, l.ShortNames()[0])
			}
			items = append(items, it)
		}
		return items
	})
}

func NewSolvers(e *console.Env) *cobra.Command {
	return NewList(e, "solvers", func() (items []ListItem) {
		for _, s := range check.Solvers() {
			items = append(items, ListItem{Name: s.Name, About: s.About})
		}
		return items
	})
}

func NewFormats(e *console.Env) *cobra.Command {
	return NewList(e, "formats", func() (items []ListItem) {
		for _, f := range format.All() {
			items = append(items, ListItem{Name: f.Name, About: f.About, Paper: f.Tool, Endings: f.Ext,
				Holds: f.Holds.Names(), Writes: new(f.Write != nil || f.WriteDir != nil)})
		}
		return items
	})
}
