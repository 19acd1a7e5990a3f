package datasets

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"isovet/datasets/workload"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/workloads.md")

// TestDocs: docs/workloads.md lists what there is.
func TestDocs(t *testing.T) {
	var w strings.Builder
	for _, in := range workload.All() {
		fmt.Fprintf(&w, "## %s\n\n%s.\n\n", in.Name, upper(in.About))
		fmt.Fprintf(&w, "Source: %s. `--keys`: %s, %d by default", in.Paper, cmp.Or(in.Scales, "keys"), in.Keys)
		if in.Ops > 0 {
			fmt.Fprintf(&w, "; `--ops` %d", in.Ops)
		}
		if in.Zipf > 0 {
			fmt.Fprintf(&w, "; `--zipf` %g", in.Zipf)
		}
		fmt.Fprintf(&w, ".\n\n| variant | what |\n| --- | --- |\n")
		for _, v := range in.Variants {
			keys := ""
			if v.Keys > 0 {
				keys = fmt.Sprintf("; %d keys", v.Keys)
			}
			if v.Zipf > 0 {
				keys += fmt.Sprintf("; exponent %g", v.Zipf)
			}
			fmt.Fprintf(&w, "| `%s` | %s%s |\n", v.Name, v.About, keys)
		}
		w.WriteString("\n")
	}
	var f strings.Builder
	f.WriteString("| fault | what | violates |\n| --- | --- | --- |\n")
	for _, a := range slices.Concat(Faults(), PredicateFaults()) {
		var levels []string
		for _, l := range a.Violates {
			levels = append(levels, l.String())
		}
		fmt.Fprintf(&f, "| `%s` | %s | %s |\n", a.Name, a.About, strings.Join(levels, ", "))
	}
	const file = "../docs/workloads.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, part := range []struct{ begin, text string }{{"<!-- generated -->\n", w.String()}, {"<!-- generated faults -->\n", f.String()}} {
		head, rest, ok := strings.Cut(got, part.begin)
		_, tail, ok2 := strings.Cut(rest, "<!-- end -->\n")
		if !ok || !ok2 {
			t.Fatalf("%s has no place for %q", file, part.begin)
		}
		got = head + part.begin + part.text + "<!-- end -->\n" + tail
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of step with the code: go test ./datasets -run TestDocs -update", file)
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
