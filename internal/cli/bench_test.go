package cli

import (
	"bytes"
	"strings"
	"testing"

	"isovet/bench"
	"isovet/evidence"
	"isovet/internal/cli/benches"
	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// TestConclude: disagreement and faults are reported on standard error and have their statuses; unknown disagrees with
// nobody.
func TestConclude(t *testing.T) {
	row := func(checker string, v evidence.Verdict, fault string) bench.Row {
		return bench.Row{Checker: checker, Input: bench.Input{Workload: "w", Variant: "v"}, Verdict: v, Fault: fault}
	}
	program := func(r bench.Row) bench.Row { r.Program = true; return r }
	for _, c := range []struct {
		rows []bench.Row
		want int
		said string
	}{
		{[]bench.Row{row("a", evidence.Holds, ""), row("b", evidence.Unknown, ""), row("c", evidence.Holds, "")}, 0,
			""},
		{[]bench.Row{row("a", evidence.Violated, ""), row("b", evidence.Unknown, "")}, 0, ""},
		{[]bench.Row{row("a", evidence.Holds, ""), row("b", evidence.Violated, "")}, 1,
			"DISAGREEMENT: checkers disagree on w v at serializable: a says valid; b says violation"},
		{[]bench.Row{row("a", evidence.Holds, ""), row("b", evidence.Violated, "")}, 1, console.ReportPlease},
		{[]bench.Row{row("a", evidence.Holds, ""), program(row("b", evidence.Violated, ""))}, 1,
			benches.ProgramDiffers},
		{[]bench.Row{row("a", evidence.Holds, ""), row("b", evidence.Violated, ""),
			program(row("c", evidence.Violated, ""))}, 1, console.ReportPlease},
		{[]bench.Row{row("a", evidence.Holds, ""), row("b", evidence.Unknown, "it died")}, 255, "b: it died"},
	} {
		var said bytes.Buffer
		if got := benches.Conclude(&console.Env{Stderr: &said}, c.rows); got != c.want ||
			!strings.Contains(said.String(), c.said) || c.said == "" && said.Len() > 0 {
			t.Errorf("%v: status %d, said %q; want %d, %q", c.rows, got, said.String(), c.want, c.said)
		}
	}
}

// TestCommandLine: what results say of how they were made names no folder of the machine.
func TestCommandLine(t *testing.T) {
	for called, want := range map[string]string{
		"/opt/new/isovet bench reproduce vbox --out /opt/new/r --quick": "isovet bench reproduce vbox --quick",
		"isovet bench reproduce --out=r vbox":                           "isovet bench reproduce vbox",
	} {
		must.Equal(t, benches.CommandLine(strings.Fields(called)), want, "%s", called)
	}
}
