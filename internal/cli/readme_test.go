package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
	var parts []string
	for _, part := range strings.Split(measured.ReplaceAllString(shown, "# $1"), "…") {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	whole := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return whole.MatchString(measured.ReplaceAllString(printed, "# $1"))
}

// TestReadme runs the commands of the README and of the tour, those that need a database server aside: they print what
// the page shows. Only gen says something on standard error.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	tour, err2 := os.ReadFile("../../docs/tour.md")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
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
		if status != want {
			t.Errorf("%s\nends with %d: %s", c.line, status, stderr)
		}
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
	if compared < 4 {
		t.Errorf("%d outputs were compared; the page shows more", compared)
	}
}

// TestReadmeTable runs the tour's comparison, and compares what does not depend on the machine.
func TestReadmeTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shownCommands(string(page))
	i := slices.IndexFunc(commands, func(c shown) bool { return c.args[0] == "bench" })
	if i < 0 {
		t.Fatal("the page shows no comparison")
	}
	stdout, stderr, status := runShown(t, t.TempDir(), append(slices.Clone(commands[i].args), "--markdown"))
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
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
				if !strings.HasSuffix(name, " ms") && !strings.HasSuffix(name, " MB") {
					columns = append(columns, i)
				}
			}
		}
		if columns == nil || strings.HasPrefix(cells[0], ":-") {
			continue
		}
		var row []string
		for _, i := range columns {
			row = append(row, cells[i])
		}
		rows = append(rows, strings.Join(row, " | "))
	}
	return rows
}

// runShown runs a command in a folder, as the scripts do.
func runShown(t *testing.T, dir string, args []string) (stdout, stderr string, status int) {
	var out, err strings.Builder
	run := exec.CommandContext(t.Context(), "isovet", args...) // TestMain puts it on the PATH
	run.Dir, run.Stdout, run.Stderr = dir, &out, &err
	run.Env = append(os.Environ(), "TMPDIR="+filepath.Clean(dir))
	if e := run.Run(); e != nil && run.ProcessState == nil {
		t.Fatal(e)
	}
	return out.String(), err.String(), run.ProcessState.ExitCode()
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
		if got := like(c.shown, c.printed); got != c.want {
			t.Errorf("like(%q, %q) = %v", c.shown, c.printed, got)
		}
	}
}
