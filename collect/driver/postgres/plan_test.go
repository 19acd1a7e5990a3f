package postgres

import (
	"slices"
	"strings"
	"testing"

	"isovet/datasets/workload"
)

// TestPlanSettings: of PostgreSQL's four ways to a row one is left.
func TestPlanSettings(t *testing.T) {
	if got := planSettings(workload.AnyPlan); got != nil {
		t.Errorf("%v where any plan will do", got)
	}
	for p := workload.Sequential; p <= workload.Bitmap; p++ {
		got := planSettings(p)
		on := slices.DeleteFunc(slices.Clone(got), func(q string) bool { return !strings.HasSuffix(q, " on") })
		if len(got) != 4 || len(on) != 1 {
			t.Errorf("%v: %v; expected one of four ways to be left", p, got)
		}
	}
}
