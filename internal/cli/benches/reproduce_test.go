package benches

import (
	"strings"
	"testing"
)

// TestCommandLine: what results say of how they were made names no folder of the machine.
func TestCommandLine(t *testing.T) {
	for called, want := range map[string]string{
		"/opt/new/isovet bench reproduce vbox --out /opt/new/r --quick": "isovet bench reproduce vbox --quick",
		"isovet bench reproduce --out=r vbox":                           "isovet bench reproduce vbox",
	} {
		if got := commandLine(strings.Fields(called)); got != want {
			t.Errorf("%s is told as %s, not as %s", called, got, want)
		}
	}
}
