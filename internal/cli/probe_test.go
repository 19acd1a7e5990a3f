package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/collect/driver"
	"isovet/collect/probe"
	"isovet/internal/cli/collects"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestProbeTexts: the table, its remarks, and what each anomaly is, are what testdata/probe.txt has.
func TestProbeTexts(t *testing.T) {
	p := probe.Probed{DB: "Example 1.2", Isolations: []probe.IsolationInfo{
		{Name: "serializable", Said: "SERIALIZABLE", Commits: 1, Aborts: 2, Undecided: []string{"x"},
			Source: "https://example.org/manual"},
		{Name: "read-committed", Said: "READ COMMITTED", Commits: 20, Aborts: 1, Other: []level.Anomaly{"G1a"},
			Undecided: []string{"x", "y"}}}}
	for i, x := range probe.Phenomena() {
		c := probe.Cell{Phenomenon: x.Name, Isolation: "read-committed", Seen: probe.NotSeen}
		switch i {
		case 0:
			c.Seen, c.Documented, c.Schedule = probe.BySchedule, driver.Forbidden, "b1 b2 w1(x) w2(x) c1 c2"
		case 1:
			c.Seen = probe.UnderLoad
		}
		p.Cells = append(p.Cells, c)
	}
	var b strings.Builder
	for _, form := range []string{"text", "markdown"} {
		must.OK(t, collects.NewProbeTable(&p).Write(&b, form))
		b.WriteString("\n")
	}
	for _, x := range probe.Phenomena() {
		fmt.Fprintf(&b, "%s: %s\n", x.Name, x.About)
	}
	const file = "testdata/probe.txt"
	if *update {
		must.OK(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	must.Equal(t, b.String(), string(must.Get(os.ReadFile(file))(t)), file)
}

// TestFindFolder: no two finds have the same folder, whoever finds them and when.
func TestFindFolder(t *testing.T) {
	out := t.TempDir()
	for _, x := range []struct {
		shard int
		want  string
	}{{0, "1"}, {0, "2"}, {3, "1-3"}, {0, "3"}, {3, "2-3"}} {
		must.Equal(t, must.Get(collects.FindFolder(out, x.shard))(t), filepath.Join("found", x.want), "folder")
	}
}
