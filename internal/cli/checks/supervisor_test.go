package checks

import (
	"testing"

	"isovet/internal/guard"
)

// TestKeeperKnows: where a kept process is stopped, its keeper answers for the workload that the operations told.
func TestKeeperKnows(t *testing.T) {
	k := &keeper{f: &CheckFlags{}, args: []string{"h.edn"}}
	for _, c := range []struct{ heard, workload string }{
		{"s loading", ""}, {`k {"workload": "stack"}`, "stack"}, {"k {}", ""}, {"k {\"workload\": \"queue\"}", "queue"},
		{`k {"checker": "auto"}`, ""},
	} {
		k.hears(c.heard)
		o := k.outcome(guard.ErrTimeout)
		switch {
		case c.workload == "" && (o.result == nil || o.work != nil):
			t.Errorf("after %s the answer is of a workload", c.heard)
		case c.workload != "" && (o.result != nil || o.work == nil || o.work.Answer.Workload != c.workload):
			t.Errorf("after %s the answer is not of %s", c.heard, c.workload)
		}
	}
}
