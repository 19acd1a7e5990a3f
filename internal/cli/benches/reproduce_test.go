package benches

import (
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// TestCommandLine: what results say of how they were made names no folder of the machine.
func TestCommandLine(t *testing.T) {
	for called, want := range map[string]string{
		"/opt/new/isovet bench reproduce vbox --out /opt/new/r --quick": "isovet bench reproduce vbox --quick",
		"isovet bench reproduce --out=r vbox":                           "isovet bench reproduce vbox",
	} {
		must.Equal(t, commandLine(strings.Fields(called)), want, "%s", called)
	}
}
