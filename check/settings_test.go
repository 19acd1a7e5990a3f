package check

import (
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/level"
)

// TestTheoryIsNamed: where the theory is not the default solver's first, the order, the text says so; what was asked
// for stands there too, and nothing else does.
func TestTheoryIsNamed(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "contended", Txns: 100, Seed: 1,
		Times: datasets.NoTimes})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Solver: "cdcl-pk"}, "theory order"},
		{Options{Solver: "cdcl-closure"}, "theory closure"},
		{Options{Solver: "gini", Pipeline: Pipeline{Closure: "purdom", Encoding: "cobra"}},
			"theory lazy, closure purdom, encoding cobra"},
	} {
		c.o.Level = level.SessionSerializable
		r, err := Run(t.Context(), run.Vbox{}, h, c.o)
		if err != nil || r.Settings != c.want {
			t.Errorf("%s: settings %q, want %q (%v)", c.o.Solver, r.Settings, c.want, err)
		}
	}
}
