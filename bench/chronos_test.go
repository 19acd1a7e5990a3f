package bench

import (
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/histtest"
)

// TestReproduceChronos runs the evaluation of CHRONOS and AION at the quick scale.
func TestReproduceChronos(t *testing.T) {
	histtest.OnlyLong(t)
	figures, err := LookupFigures([]string{"chronos", "aion"})
	if err != nil || len(figures) != 24 {
		t.Fatalf("%d figures, %v", len(figures), err)
	}
	reports, err := Reproduce(t.Context(), figures, ReproduceOptions{Scale: QuickScale, Seed: 3, Out: t.TempDir(),
		Self: self(t), Command: "test"})
	if err != nil || len(reports) != len(figures) {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, r := range reports {
		if f := r.Faults(); len(f) > 0 {
			t.Errorf("%s: %v", r.Figure, f)
		}
		if len(r.Points) == 0 || !r.Complete || len(r.Claims) == 0 {
			t.Errorf("%s: %d points, complete %v, %d claims", r.Figure, len(r.Points), r.Complete, len(r.Claims))
		}
		for _, p := range r.Points {
			if p.Verdict == evidence.Violated && r.Figure != "chronos/fig11" {
				t.Errorf("%s: %+v", r.Figure, p)
			}
		}
		switch r.Figure {
		case "chronos/fig11":
			for c, want := range map[string]evidence.Verdict{"replay": evidence.Holds, "chronos": evidence.Violated,
				"aion": evidence.Violated, "emme-si": evidence.Violated} {
				if p := r.Find("verdict", "Figure 11", c); p == nil || p.Verdict != want {
					t.Errorf("Figure 11, %s: %+v; expected %s", c, p, want)
				}
			}
		case "aion/fig12", "aion/online-rate", "aion/online-datasets":
			if !slices.ContainsFunc(r.Series("rate"), func(s string) bool {
				return strings.HasSuffix(s, cobraPurdom.String())
			}) {
				t.Errorf("%s has no line of Cobra's: %q", r.Figure, r.Series("rate"))
			}
		case "aion/fig14":
			if a, b := r.Find("flips", "N(100, 1²)", "pairs"), r.Find("flips", "N(100, 50²)", "pairs"); a == nil ||
				b == nil || a.Value >= b.Value {
				t.Errorf("flips at deviations 1 and 50: %+v, %+v", a, b)
			}
		}
	}
}
