package bench

import (
	"fmt"
	"slices"
	"strings"

	"isovet/check"
)

// solvers says which solver and theory the rows come from of the checkers that have a choice of them; "" where none is
// in the figure.
func (r *Report) solvers() string {
	var names []string
	for _, c := range check.All() {
		in := c.Info()
		if len(in.Solvers) > 0 && slices.ContainsFunc(r.Points, func(p Point) bool {
			return hasWord(p.Series, in.Name) || hasWord(p.Group, in.Name)
		}) {
			names = append(names, in.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	cdcl := check.Solvers()[0].Name
	if !r.OrderFirst {
		return fmt.Sprintf("%s, %s is asked with the solver %s, whose theory was the closure, or, where no client "+
			"times keep that small and its graph has more than 2000 nodes, the order of Pearce and Kelly", unnamed,
			strings.Join(names, " or "), cdcl)
	}
	text := ""
	if i := slices.Index(names, papersOwn.checker); i >= 0 && !r.fig.Own {
		names = slices.Delete(names, i, i+1)
		text = fmt.Sprintf("%s, %s is asked with the solver %s, as in Vbox's paper", unnamed, papersOwn.checker,
			papersOwn.solver)
		if len(names) > 0 {
			text += fmt.Sprintf(", and %s with the solver %s", strings.Join(names, " or "), cdcl)
		}
	} else {
		text = fmt.Sprintf("%s, %s is asked with the solver %s", unnamed, strings.Join(names, " or "), cdcl)
	}
	if len(names) > 0 || slices.ContainsFunc(r.Points, func(p Point) bool { return hasWord(p.Series, cdcl) }) {
		text += ". " + solverChoice
	}
	return text
}

// unnamed begins what solvers says.
const unnamed = "Where a row names no other solver or theory"

// solverChoice is what the solver cdcl does (encode.OrderFirst).
const solverChoice = "The theory of cdcl is the order of Pearce and Kelly, and after many conflicts, if it costs no " +
	"more than they did, the closure"

// papersOwn is the checker whose paper has another solver than the default one: figures of papers ask it so.
var papersOwn = struct{ checker, solver string }{"vbox", "cdcl-closure"}

// hasWord reports whether a text has a word, a checker's name.
func hasWord(text, name string) bool {
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,:()", c) })
	return slices.Contains(words, name)
}
