package collects

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"isovet/collect/probe"
	"isovet/internal/test/must"
)

var update = flag.Bool("update", false, "write testdata/probe.txt anew")

// TestProbeTexts: the table, its remarks, and what each anomaly is, are what testdata/probe.txt has.
func TestProbeTexts(t *testing.T) {
	p := newProbeTable(&probe.Probed{DB: "Example 1.2"})
	p.Isolations = []probeIsolation{
		{Isolation: "serializable", Said: "SERIALIZABLE", Commits: 1, Aborts: 2, Undecided: []string{"x"},
			Documentation: "https://example.org/manual"},
		{Isolation: "read-committed", Said: "READ COMMITTED", Commits: 20, Aborts: 1, Other: []string{"G1a"},
			Undecided: []string{"x", "y"}}}
	for i, name := range p.names {
		p.Cells = append(p.Cells, probeCell{Anomaly: name, Isolation: "read-committed", Seen: probe.NotSeen})
		switch i {
		case 0:
			p.Cells[i].Seen, p.Cells[i].Contradicts = probe.BySchedule, true
			p.Cells[i].Schedule = "b1 b2 w1(x) w2(x) c1 c2"
		case 1:
			p.Cells[i].Seen = probe.UnderLoad
		}
	}
	var b strings.Builder
	for _, form := range []string{"text", "markdown"} {
		must.OK(t, p.write(&b, form))
		b.WriteString("\n")
	}
	for _, x := range probe.Phenomena() {
		fmt.Fprintf(&b, "%s: %s\n", x.Name, x.About)
	}
	const file = "testdata/probe.txt"
	if *update {
		must.OK(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; got\n%s\nexpected\n%s", err, b.String(), want)
	}
}
