package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestPredicateErrata: the counterexamples of the errata to Vbox's predicate constraints, those of the five mistakes in
// its text (docs/errata.md), each named after its number, and the rules of predicate operations one by one. Brute force
// and replay give the verdicts that stand there; so does vbox, at its levels, with its solvers and encodings.
func TestPredicateErrata(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/predicates.tsv") {
		name, l, want, h := c[0], must.Get(level.Parse(c[1]))(t), verdictOf(t, c[2]), notation.MustParse(c[3])
		b := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
		must.Equal(t, b.Verdict, want, "%s: brute force", name)
		ask := func(k Checker, o Options) {
			o.Level = l
			r, err := Run(t.Context(), k, h, o)
			if err != nil || r.Verdict != want && !strings.Contains(r.Reason, "is unknown") {
				t.Errorf("%s, %s, %+v: %v, %v; want %s", name, k.Info().Name, o, r, err, want)
			} else if name == "phantom" && r.Anomalies[0].Kind != level.G2 {
				t.Errorf("a phantom is named %s", r.Anomalies[0].Kind)
			}
		}
		ask(run.Replay{}, Options{})
		if l.Snapshot() {
			continue
		}
		for _, s := range []string{"cdcl", "cdcl-lazy", "gini", "gophersat", "gini-eager"} {
			for _, enc := range []string{"vbox", "cobra", "order"} {
				ask(run.Vbox{}, Options{Solver: s, Pipeline: Pipeline{Encoding: enc}})
			}
		}
	}
}

// TestReplayBadPredicate: a predicate that does not parse is bad input, and no verdict.
func TestReplayBadPredicate(t *testing.T) {
	h := must.Get(notation.Parse(`s1: pr{"a":{"~":1}}[]`))(t)
	r, err := Run(context.Background(), run.Replay{}, h, Options{})
	if err == nil {
		t.Errorf("%s %s; want an error", r.Verdict, r.Reason)
	}
}
