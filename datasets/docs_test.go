package datasets

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/datasets/workload"
	"isovet/internal/test/must"
	"isovet/level"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/workloads.md")

// TestDocs: docs/workloads.md lists what there is.
func TestDocs(t *testing.T) {
	var w strings.Builder
	had := map[string]string{} // by name and words of a variant: the workload that has it
	for _, in := range workload.All() {
		var same []string // variants that another workload has
		var other string
		fmt.Fprintf(&w, "## %s\n\n%s\n", in.Name, wrapped("", upper(in.About)+"."))
		source := fmt.Sprintf("Source: %s. `--keys`: %s, %d by default", in.Paper, cmp.Or(in.Scales, "keys"), in.Keys)
		if in.Ops > 0 {
			source += fmt.Sprintf("; `--ops` %d", in.Ops)
		}
		if in.Zipf > 0 {
			source += fmt.Sprintf("; `--zipf` %g", in.Zipf)
		}
		fmt.Fprintf(&w, "%s\n| variant | what |\n| --- | --- |\n", wrapped("", source+"."))
		for _, v := range in.Variants {
			if of := had[v.Name+v.About]; of != "" {
				same, other = append(same, "`"+v.Name+"`"), of
				continue
			}
			had[v.Name+v.About] = in.Name
			keys := ""
			if v.Keys > 0 {
				keys = fmt.Sprintf("; %d keys", v.Keys)
			}
			if v.Zipf > 0 {
				keys += fmt.Sprintf("; exponent %g", v.Zipf)
			}
			if v.Ops > 0 {
				keys += fmt.Sprintf("; `--ops` %d", v.Ops)
			}
			if v.Database {
				keys += "; default on SQL databases"
			}
			fmt.Fprintf(&w, "| `%s` | %s%s |\n", v.Name, v.About, keys)
		}
		if len(same) > 0 {
			fmt.Fprintf(&w, "| %s | as `%s` |\n", strings.Join(same, ", "), other)
		}
		w.WriteString("\n")
	}
	var f strings.Builder
	for _, a := range AllFaults() {
		var levels []string
		for _, l := range a.Violates { // those that imply no other
			if !slices.ContainsFunc(a.Violates, func(m level.Level) bool { return m != l && l.Implies(m) }) {
				levels = append(levels, a.label(l))
			}
		}
		f.WriteString(wrapped("- ", fmt.Sprintf("`%s`: %s. From %s.", a.Name, a.About, strings.Join(levels, ", "))))
	}
	const file = "../docs/workloads.md"
	text := must.Get(os.ReadFile(file))(t)
	got := string(text)
	for _, part := range []struct{ begin, text string }{
		{"<!-- generated -->\n", w.String()}, {"<!-- generated faults -->\n", f.String()},
	} {
		head, rest, ok := strings.Cut(got, part.begin)
		_, tail, ok2 := strings.Cut(rest, "<!-- end -->\n")
		must.Hold(t, ok && ok2, "%s has no place for %q", file, part.begin)
		got = head + part.begin + part.text + "<!-- end -->\n" + tail
	}
	if got == string(text) {
		return
	}
	must.Hold(t, *update, "%s is out of step with the code: go test ./datasets -run TestDocs -update", file)
	must.OK(t, os.WriteFile(file, []byte(got), 0o644))
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// wrapped breaks a paragraph or a list's item into lines of at most 120 columns.
func wrapped(mark, text string) string {
	var b strings.Builder
	line := mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 120:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(mark)) + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
	return b.String()
}
