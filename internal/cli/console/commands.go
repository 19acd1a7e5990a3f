package console

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// commands.txt begins each command's part with "== NAME", and what it says of the command with "-- ".
//
//go:embed commands.txt
var commandsText string

// part is something that commands.txt says of a command.
type part struct{ name, text string }

func partsOf(command string) (parts []part) {
	_, text, _ := strings.Cut(commandsText, "\n== "+command+"\n")
	text, _, _ = strings.Cut("\n"+text, "\n== ")
	for _, p := range strings.Split(text, "\n-- ")[1:] {
		name, text, _ := strings.Cut(p, "\n")
		parts = append(parts, part{name, strings.TrimRight(text, "\n")})
	}
	return parts
}

// Command returns a command with the words that commands.txt has for it.
func Command(name string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	c := &cobra.Command{Args: args, RunE: run}
	words := map[string]*string{"use": &c.Use, "group": &c.GroupID, "short": &c.Short, "long": &c.Long,
		"example": &c.Example}
	for _, p := range partsOf(name) {
		if to := words[p.name]; to != nil {
			*to = strings.ReplaceAll(p.text, "{exit}", ExitHelp)
		}
	}
	return c
}
