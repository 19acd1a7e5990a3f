package cli

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
)

// TestCommandsPage: docs/cli.md is what cobra's generator of Markdown makes of the commands. `make docs` writes it.
func TestCommandsPage(t *testing.T) {
	const file = "../../docs/cli.md"
	page := []byte("# Commands\n\n" +
		"Written by `make docs` from the commands: their helps, with every flag. [output.md](output.md) has what programs\n" +
		"rely on: exit statuses and JSON.\n")
	root := Root()
	root.DisableAutoGenTag = true
	first := map[string]*cobra.Command{}    // by name and words of a flag: the command that has it in full
	others := map[*cobra.Command][]string{} // flags that stand with another command, with its name
	flags := func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.Flags().Lookup("help").Hidden = true
		c.Flags().VisitAll(func(f *pflag.Flag) {
			switch of := first[f.Name+f.Usage]; {
			case of == nil:
				first[f.Name+f.Usage] = c
			case of != c && !f.Hidden && len(strings.Fields(f.Usage)) > 3:
				f.Hidden = true
				others[c] = append(others[c], of.Name()+"'s `--"+f.Name+"`")
			}
		})
	}
	for _, name := range []string{"check", "gen", "collect"} {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		flags(c)
	}
	var write func(c *cobra.Command)
	write = func(c *cobra.Command) {
		flags(c)
		c.Example = strings.TrimRight(c.Example, "\n")
		// output.md has the rest
		if long := strings.TrimSpace(strings.TrimSuffix(c.Long, console.ExitHelp)); long != "" {
			c.Short, c.Long = long, ""
		}
		var b bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &b, func(s string) string { return s }); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(b.String(), "### SEE ALSO") // the page has them all
		text = strings.NewReplacer("### Examples\n\n", "", "### Options\n\n", "").Replace(text)
		if len(others[c]) > 0 {
			text = strings.TrimSpace(text) + "\n\nAlso " + sameOwner(others[c]) + "."
		}
		page = append(page, "\n"+fold(strings.TrimSpace(text), 118)+"\n"...)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				write(sub)
			}
		}
	}
	write(root)
	if *update {
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, page) {
		t.Errorf("docs/cli.md is not what the commands say (%v): make docs", err)
	}
}

// sameOwner joins "check's `--a`", "check's `--b`" and "gen's `--c`" to a list that names each owner once.
func sameOwner(flags []string) string {
	of := map[string][]string{}
	for _, f := range flags {
		owner, name, _ := strings.Cut(f, " ")
		of[owner] = append(of[owner], name)
	}
	var all []string
	for _, owner := range slices.Sorted(maps.Keys(of)) {
		all = append(all, owner+" "+strings.Join(of[owner], ", "))
	}
	return strings.Join(all, "; ")
}

// fold breaks the lines that are longer than width between words: a flag's description goes on below itself.
func fold(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		indent := ""
		if at := strings.LastIndex(line[:min(len(line), 40)], "   "); at >= 0 && strings.HasPrefix(line, "  ") {
			indent = strings.Repeat(" ", at+3)
		}
		for utf8.RuneCountInString(line) > width {
			at := strings.LastIndex(line[:min(len(line), width)], " ")
			if at <= len(indent) {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = indent + line[at+1:]
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// TestPagesCommands: the commands that pages show have the flags that they show. CHANGELOG.md speaks of others too.
func TestPagesCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	more, err2 := filepath.Glob("../../docs/*/*.md")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	root := Root()
	code := regexp.MustCompile("(?m)`(isovet [^`]+)`|^(?:    |  )(?:\\$ )?(isovet .+(?:\\\\\n.+)*)$")
	seen := 0
	for _, page := range slices.Concat(pages, more, []string{"../../README.md", "../../CONTRIBUTING.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			for _, line := range regexp.MustCompile(`&&|;| \| |#|  +`).Split(strings.ReplaceAll(m[1]+m[2], "\\\n", " "), -1) {
				args := strings.Fields(strings.TrimSpace(line))
				if len(args) < 2 || args[0] != "isovet" {
					continue
				}
				c, rest, err := root.Find(args[1:])
				if err != nil || c == root && args[1] != "COMMAND" && !strings.HasPrefix(args[1], "-") {
					t.Errorf("%s: there is no command %q", page, line)
					continue
				}
				c.InitDefaultHelpFlag()
				for _, arg := range rest {
					name, isFlag := strings.CutPrefix(strings.TrimRight(arg, ",.…)"), "--")
					name, _, _ = strings.Cut(name, "=")
					if isFlag && name != "" && c.Flags().Lookup(name) == nil {
						t.Errorf("%s: %s has no flag --%s", page, c.CommandPath(), name)
					}
				}
				seen++
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d commands", seen)
	}
}
