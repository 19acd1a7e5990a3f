package check

import (
	"context"
	"slices"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

// everyWay calls f for each checker of the level but the brute force one and those that need timestamps, with each of
// its solvers.
func everyWay(l level.Level, f func(name string, c Checker, solver string)) {
	for _, c := range All() {
		in := c.Info()
		if in.Hidden || in.Partial || in.Timestamps || !slices.Contains(in.Levels, l) {
			continue
		}
		solvers := in.Solvers
		if len(solvers) == 0 {
			solvers = []string{""}
		}
		for _, s := range solvers {
			f(in.Name+":"+s, c, s)
		}
	}
}

// mustBe runs a history every way and compares verdicts; Run certifies each answer.
func mustBe(t *testing.T, h *history.History, o Options, want evidence.Verdict) {
	t.Helper()
	everyWay(o.Level, func(name string, c Checker, s string) {
		o.Solver = s
		r := answer(t, c, h, o)
		if r.Verdict != want {
			t.Errorf("%s, %s: %s (%s); want %s\n%s", name, o.Level, r.Verdict, r.Reason, want, notation.Format(h))
		}
	})
}

// TestNoUnitReasoning: the twelve transactions of which no single order is impossible are refuted by exactly four
// cycles, one for each combination of two orders.
func TestNoUnitReasoning(t *testing.T) {
	h := mustAnomaly(t, "no-unit-reasoning")
	for _, l := range []level.Level{level.Serializable, level.SessionSerializable} {
		everyWay(l, func(name string, c Checker, s string) {
			r, err := Run(t.Context(), c, h, Options{Level: l, Solver: s})
			must.Hold(t, err == nil && r.Verdict == evidence.Violated && len(r.Anomalies) == 1,
				"%s, %s: %v, %v; want one anomaly", name, l, r, err)
			a := r.Anomalies[0]
			must.Be(t, len(a.Cycle) == 0 && len(a.Cycles) == 4 && len(a.Txns) == 12 && a.Kind == level.NoOrder,
				"%s, %s: %+v; want four cases of all 12 transactions, and %s", name, l, a, level.NoOrder)
		})
	}
}

// TestUnknown: what a checker of registers cannot decide it does not guess.
func TestUnknown(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/unknown.tsv") {
		l, only, h, want := must.Get(level.Parse(c[0]))(t), c[1], c[2], c[3]
		everyWay(level.Serializable, func(name string, k Checker, s string) {
			if only != "" && k.Info().Name != only {
				return
			}
			r, err := Run(context.Background(), k, notation.MustParse(h), Options{Level: l, Solver: s})
			if err != nil {
				t.Errorf("%s: %s: %v", name, h, err)
			} else if r.Verdict != evidence.Unknown || r.Reason != want {
				t.Errorf("%s: %s: %s, %q; want unknown, %q", name, h, r.Verdict, r.Reason, want)
			}
		})
	}
	// Aborted transactions and unknown ones need no times.
	mustBe(t, notation.MustParse("init=0: s1: r(x,0) @[1,2] | s2: r(x,0)! | s3: w(x,1)?"),
		Options{Level: level.StrictSerializable}, evidence.Holds)
	if _, err := Run(context.Background(), run.Vbox{}, notation.MustParse("s1: w(x,1)"),
		Options{Solver: "minisat"}); err == nil {
		t.Error("an unknown solver is no error")
	}
}

// TestStopped: a check that is stopped has no verdict and says why.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	plain := datasets.Spec{Txns: 600, Times: datasets.NoTimes, Keys: 100}
	contended := datasets.Spec{Workload: "contended", Txns: 600, Sessions: 50, Keys: 50, Times: datasets.NoTimes}
	for _, x := range []struct {
		spec     datasets.Spec
		checkers []Checker
		levels   []level.Level
	}{
		{plain, []Checker{run.Vbox{}, called("cobra")}, []level.Level{level.Serializable}},
		{contended, []Checker{run.Replay{}}, []level.Level{level.Serializable, level.SessionSerializable,
			level.SnapshotIsolation, level.SessionSnapshotIsolation}},
		{datasets.Spec{Workload: "lwt", Txns: 600, Keys: 2}, []Checker{called("porcupine")},
			[]level.Level{level.Linearizable}},
	} {
		h := must.Get(datasets.Generate(t.Context(), x.spec))(t)
		for _, c := range x.checkers {
			for _, l := range x.levels {
				for _, s := range append(c.Info().Solvers, "")[:max(len(c.Info().Solvers), 1)] {
					for why, ctx := range map[string]context.Context{"interrupted": ctx, "timeout": late} {
						r, err := Run(ctx, c, h, Options{Level: l, Solver: s})
						if err != nil || r.Verdict != evidence.Unknown || r.Reason != why {
							t.Errorf("%s:%s, %s: %v, %v; want unknown: %s", c.Info().Name, s, l, r, err, why)
						}
					}
				}
			}
		}
	}
}
