package cli

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// helpOf is what a command prints for --help, or --help=all.
func helpOf(t *testing.T, c *cobra.Command, flag string) string {
	t.Helper()
	var out strings.Builder
	args := append(strings.Fields(c.CommandPath())[1:], flag)
	must.Equal(t, Main(args, nil, &out, &out), console.StatusOK, "%q: %s", args, &out)
	return out.String()
}

var flagLine = regexp.MustCompile(`^ +(?:-., )?--([a-z-]+) `)

// TestHelp: a help is one screen. It begins with a purpose, then an example, needs no line of more than 100 columns,
// and gives each flag one line under a heading; --help=all shows every flag.
func TestHelp(t *testing.T) {
	shown := map[string]int{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
		short, all := helpOf(t, c, "--help"), helpOf(t, c, "--help=all")
		for line := range strings.Lines(short + all) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > console.HelpColumns {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		above, _, _ := strings.Cut(short, "\nFlags:\n")
		if !c.HasAvailableSubCommands() {
			if n := strings.Count(above, "\n") + 1; n > console.HelpLines {
				t.Errorf("%s: %d lines before the flags", c.CommandPath(), n)
			}
			_, rest, _ := strings.Cut(above, "\n\n")
			if !strings.HasPrefix(rest, "  isovet ") && c.Name() != "version" {
				t.Errorf("%s: the purpose is not followed by an example:\n%s", c.CommandPath(), above)
			}
		}
		groups, left := console.FlagGroups(c, true)
		if left != 0 || groups[len(groups)-1].Title == "More flags" {
			t.Errorf("%s: a flag stands under no heading of console/help.go: %v", c.CommandPath(), groups)
		}
		_, flags, _ := strings.Cut(all, "\nFlags:\n")
		lines := map[string]int{} // by the flag's name
		for line := range strings.Lines(flags) {
			if m := flagLine.FindStringSubmatch(line); m != nil {
				lines[m[1]]++
			} else if strings.HasPrefix(line, " ") && c.HasParent() {
				t.Errorf("%s: a flag has more than one line: %s", c.CommandPath(), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && lines[f.Name] != 1 {
				t.Errorf("%s: --%s has %d lines", c.CommandPath(), f.Name, lines[f.Name])
			}
		})
		few, _ := console.FlagGroups(c, false)
		for _, g := range few {
			shown[c.Name()] += len(g.Flags)
		}
	}
	root := Root()
	walk(root)
	for name, most := range map[string]int{"watch": 27, "gen": 22, "hunt": 21, "check": 20, "collect": 20} {
		if shown[name] > most || shown[name] < 5 {
			t.Errorf("%s shows %d flags, more than two thirds of what it had (%d)", name, shown[name], most)
		}
	}
	if len(shown) < 28 {
		t.Errorf("only %d commands", len(shown))
	}
}

func TestFolded(t *testing.T) {
	word := strings.Repeat("a", 60)
	for _, x := range []struct{ text, want string }{
		{"", ""},
		{"short\n  as it is\n\nhere", "short\n  as it is\n\nhere"},
		{word + " " + word + "\nand on\n\nnext", word + "\n" + word + " and on\n\nnext"},
		{"  name   " + word + " " + word + "\n         and on\n  other  x", "  name   " + word + "\n         " + word +
			" and on\n  other  x"},
		{word + word + word, word + word + word},
		{"a\n  " + word + " " + word + "\nb", "a\n  " + word + "\n  " + word + "\nb"},
	} {
		must.Equal(t, console.Folded(x.text, 120), x.want, "%q", x.text)
	}
}
