package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/check"
)

// Suggest returns a question about the nearest expected word to an unknown word, with before in front of it, or "" if
// none is near.
func Suggest(word string, of []string, before string) string {
	best, near := "", 1+len(word)/3 // as many slips as a word of that length may well have
	for _, w := range of {
		if d := distance(strings.ToLower(word), strings.ToLower(w), near); d <= near && (best == "" || d < near) {
			best, near = w, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + before + best + "?)"
}

// moved maps a command and a flag of earlier versions to the command that replaces them.
var moved = map[string]string{
	"hunt --replay":   "isovet replay HISTORY",
	"hunt --campaign": "isovet campaign FILE",
	"isovet incident": "isovet report HISTORY -o DIR",
}

// suggestFlag returns a hint for a flag that a command does not have.
func suggestFlag(c *cobra.Command, err error) string {
	none, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || none.GetSpecifiedShortnames() != "" {
		return ""
	}
	name := none.GetSpecifiedName()
	if now := moved[c.Name()+" --"+name]; now != "" {
		return " (" + now + ")"
	}
	if c.Flags().Lookup("checker") != nil && slices.Contains([]string{check.SettingClosure, check.SettingEncoding,
		check.SettingTechnique, check.ChoiceTheory}, name) {
		return " (a setting of a checker, as in --checker vbox:" + name + "=VALUE)"
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return Suggest(name, names, "--")
}

// distance counts the letters to add, leave out, replace or swap with a neighbour to turn one word into another
// (Damerau 1964; each letter is changed at most once). It stops counting above most.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			d := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
