package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"isovet/internal/cli/console"
)

// TestHelpColumns: no line of a help text, flags and commands to be copied aside, is too long for a terminal.
func TestHelpColumns(t *testing.T) {
	texts := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		var help strings.Builder
		c.SetOut(&help)
		if err := c.Help(); err != nil {
			t.Error(err)
		}
		if c.Long != "" {
			texts++
		}
		text, _, _ := strings.Cut(help.String(), "\nUsage:")
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > console.HelpColumns && strings.ContainsRune(strings.TrimSpace(line),
				' ') &&
				!strings.HasPrefix(strings.TrimSpace(line), "isovet ") {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	}
	walk(Root())
	if texts < 30 {
		t.Errorf("only %d texts", texts)
	}
}

func TestInColumns(t *testing.T) {
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
		if got := console.InColumns(x.text); got != x.want {
			t.Errorf("%q:\n%s\nexpected\n%s", x.text, got, x.want)
		}
	}
}
