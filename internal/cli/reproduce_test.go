//go:build !checkonly

package cli

import (
	"strings"
	"testing"
)

// TestCommandLine: what results say of how they were made names no folder of the machine.
func TestCommandLine(t *testing.T) {
	for called, want := range map[string]string{
		"/opt/new/isovet bench reproduce vbox --out /opt/new/r --quick": "isovet bench reproduce vbox --quick",
		"isovet bench reproduce --out=r vbox":                           "isovet bench reproduce vbox",
		"isovet bench reproduce speed --before /opt/old/isovet":         "isovet bench reproduce speed --before isovet",
		"isovet bench reproduce speed --before=/opt/old/isovet --out":   "isovet bench reproduce speed --before=isovet",
	} {
		if got := commandLine(strings.Fields(called)); got != want {
			t.Errorf("%s is told as %s, not as %s", called, got, want)
		}
	}
}
