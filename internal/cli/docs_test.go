package cli

import (
	"bytes"
	"errors"
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
	"isovet/internal/slice"
	"isovet/internal/test/must"
)

// TestCommandsPage: docs/cli.md is what cobra's generator of Markdown makes of the commands. `make docs` writes it.
func TestCommandsPage(t *testing.T) {
	const file = "../../docs/cli.md"
	page := []byte("# Commands\n\n" +
		"Every command with its help and flags, written by `make docs`. [output.md](output.md) has exit statuses and JSON.\n")
	root := Root()
	root.DisableAutoGenTag = true
	first := map[string]*cobra.Command{}    // by name, default and words of a flag: the command that has it in full
	others := map[*cobra.Command][]string{} // flags that stand with another command, with its name
	flags := func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.Flags().Lookup("help").Hidden = true
		c.Flags().VisitAll(func(f *pflag.Flag) {
			switch of := first[f.Name+f.DefValue+f.Usage]; {
			case of == nil:
				first[f.Name+f.DefValue+f.Usage] = c
			case of != c && !f.Hidden && len(strings.Fields(f.Usage)) > 3:
				f.Hidden = true
				others[c] = append(others[c], of.Name()+"'s `--"+f.Name+"`")
			}
		})
	}
	for _, name := range []string{"check", "gen", "collect"} {
		c, _, err := root.Find([]string{name})
		must.OK(t, err)
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
		must.OK(t, doc.GenMarkdownCustom(c, &b, func(s string) string { return s }))
		text, _, _ := strings.Cut(b.String(), "### SEE ALSO") // the page has them all
		text = strings.NewReplacer("### Examples\n\n", "", "### Options\n\n", "").Replace(text)
		if len(others[c]) > 0 {
			text = strings.TrimSpace(text) + "\n\nAlso " + sameOwner(others[c]) + "."
		}
		page = append(page, "\n"+fold(strings.TrimSpace(text), 118)+"\n"...)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && c.Name() != "completion" { // cobra's texts
				write(sub)
			}
		}
	}
	write(root)
	if *update {
		must.OK(t, os.WriteFile(file, page, 0o644))
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
	pages := must.Get(filepath.Glob("../../docs/*.md"))(t)
	more := must.Get(filepath.Glob("../../docs/*/*.md"))(t)
	root := Root()
	code := regexp.MustCompile("(?m)`(isovet [^`]+)`|^(?:    |  )(?:\\$ )?(isovet .+(?:\\\\\n.+)*)$")
	seen := 0
	for _, page := range slices.Concat(pages, more, []string{"../../README.md", "../../CONTRIBUTING.md"}) {
		text := must.Get(os.ReadFile(page))(t)
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
	must.Be(t, seen >= 100, "%d commands", seen)
}

// shown is a command that the page shows, and what it prints by what stands there.
type shown struct {
	line   string // of the page
	args   []string
	output []string // none: the page does not say
}

// shownCommands lists the commands of a page, "    $ isovet …", with the lines below them.
func shownCommands(page string) []shown {
	var all []shown
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		text, code := strings.CutPrefix(line, "    ")
		command, ok := strings.CutPrefix(text, "$ ")
		switch {
		case !code:
			inside = false
		case ok:
			inside = false
			if args := strings.Fields(command); args[0] == "isovet" {
				all = append(all, shown{line: line, args: args[1:]})
				inside = true
			}
		case inside:
			last := &all[len(all)-1]
			last.output = append(last.output, text)
		}
	}
	return all
}

// measured is what differs from run to run.
var measured = regexp.MustCompile(`[0-9.]+ (ms|s|MB)\b`)

// like reports whether a printed line is what a page shows: times aside, and "…" stands for anything.
func like(shown, printed string) bool {
	parts := slice.Map(strings.Split(measured.ReplaceAllString(shown, "# $1"), "…"), regexp.QuoteMeta)
	whole := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return whole.MatchString(measured.ReplaceAllString(printed, "# $1"))
}

// TestReadme runs the commands of the README and of the tour, those that need a database server aside: they print what
// the page shows. Only gen says something on standard error.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	tour, err2 := os.ReadFile("../../docs/tour.md")
	must.OK(t, errors.Join(err, err2))
	dir := t.TempDir()
	compared := 0
	for _, c := range append(shownCommands(string(page)), shownCommands(string(tour))...) {
		if slices.Contains(c.args, "--db") || slices.Contains(c.args, "bench") {
			continue // TestReadmeTable runs the comparison
		}
		stdout, stderr, status := runShown(t, dir, c.args)
		want := 0
		if strings.Contains(stdout, "VIOLATION") && c.args[0] == "check" {
			want = 1
		}
		must.Equal(t, status, want, "the status of %s\n%s", c.line, stderr)
		if stderr != "" && c.args[0] != "gen" {
			t.Errorf("%s\nsays on standard error: %s", c.line, stderr)
		}
		if len(c.output) == 0 {
			continue
		}
		compared++
		printed := strings.Split(strings.TrimRight(stdout, "\n"), "\n")
		if !slices.EqualFunc(c.output, printed, like) {
			t.Errorf("%s\nprints\n%s\nthe page shows\n%s", c.line, stdout, strings.Join(c.output, "\n"))
		}
	}
	must.Be(t, compared >= 4, "%d outputs were compared; the page shows more", compared)
}

// TestReadmeTable runs the tour's comparison, and compares what does not depend on the machine.
func TestReadmeTable(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/tour.md"))(t)
	commands := shownCommands(string(page))
	i := slices.IndexFunc(commands, func(c shown) bool { return c.args[0] == "bench" })
	if i < 0 {
		t.Fatal("the page shows no comparison")
	}
	stdout, stderr, status := runShown(t, t.TempDir(), append(slices.Clone(commands[i].args), "--markdown", "--repeat", "1"))
	must.Equal(t, status, 0, "status, with %s", stderr)
	got, want := tableRows(stdout), tableRows(string(page))
	if len(want) < 3 || !slices.Equal(got, want) {
		t.Errorf("%s\nprints\n%s\nthe page shows\n%s", commands[i].line, strings.Join(got, "\n"), strings.Join(want,
			"\n"))
	}
}

// tableRows returns the rows of a comparison's table without the columns of times and memory.
func tableRows(page string) []string {
	var rows []string
	var columns []int
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			columns = nil
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "checker" {
			for i, name := range cells {
				if !strings.HasSuffix(name, " ms") && !strings.HasSuffix(name, " MB") && name != "min-max" {
					columns = append(columns, i)
				}
			}
		}
		if columns == nil || strings.HasPrefix(cells[0], ":-") {
			continue
		}
		row := slice.Map(columns, func(i int) string { return cells[i] })
		rows = append(rows, strings.Join(row, " | "))
	}
	return rows
}

// runShown runs a command in a folder, as the scripts do.
func runShown(t *testing.T, dir string, args []string) (stdout, stderr string, status int) {
	var out, err strings.Builder
	status = must.Get(runInside(dir, dir, append([]string{"isovet"}, args...), nil, &out, &err))(t)
	return out.String(), err.String(), status
}

// TestLike: the comparison can fail.
func TestLike(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"by mtc; loaded in 0.69 ms; …", "by mtc; loaded in 1.2 ms; checked in 3 ms", true},
		{"by mtc; loaded in 0.69 ms; …", "by vbox; loaded in 1.2 ms; checked in 3 ms", false},
		{"valid", "valid at last", false},
		{"a … c", "a b c", true},
	} {
		must.Equal(t, like(c.shown, c.printed), c.want, "like(%q, %q)", c.shown, c.printed)
	}
}
