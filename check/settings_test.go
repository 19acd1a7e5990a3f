package check

import (
	"testing"

	"isovet/datasets"
	"isovet/level"
)

// TestTheoryIsNamed: where the theory is not the default solver's first, the order, the text says so; what was asked
// for stands there too, and nothing else does.
func TestTheoryIsNamed(t *testing.T) {
	for _, c := range []struct {
		txns int
		o    Options
		want string
	}{
		{100, Options{}, ""},
		{100, Options{Solver: "cdcl-pk"}, "theory order"},
		{100, Options{Solver: "cdcl-closure"}, "theory closure"},
		{100, Options{Solver: "gini", Pipeline: Pipeline{Closure: "purdom", Encoding: "cobra"}},
			"theory lazy, closure purdom, encoding cobra"},
	} {
		h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "contended", Txns: c.txns, Seed: 1,
			Times: datasets.NoTimes})
		if err != nil {
			t.Fatal(err)
		}
		c.o.Level = level.SessionSerializable
		r, err := Run(t.Context(), vbox{}, h, c.o)
		if err != nil || r.Settings != c.want {
			t.Errorf("%d transactions, %s: settings %q, want %q (%v)", c.txns, c.o.Solver, r.Settings, c.want, err)
		}
	}
}
