package check

import (
	"context"
	"slices"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
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
			if err != nil || r.Verdict != evidence.Violated || len(r.Anomalies) != 1 {
				t.Fatalf("%s, %s: %v, %v; want one anomaly", name, l, r, err)
			}
			a := r.Anomalies[0]
			if len(a.Cycle) != 0 || len(a.Cycles) != 4 || len(a.Txns) != 12 || a.Kind != level.NoOrder {
				t.Errorf("%s, %s: %+v; want four cases of all 12 transactions, and %s", name, l, a, level.NoOrder)
			}
		})
	}
}

// TestUnknown: what a checker of registers cannot decide it does not guess.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		h, want string
		l       level.Level
		only    string // the checker meant; "": all
	}{
		{"init=0: s1: r(x,0)", "strict-serializable needs the start and end of every committed " +
			"transaction; transaction 1 lacks one", level.StrictSerializable, ""},
		{"init=0: s1: r(x,0) @[1,2] | s2: r(x,0) @[1,_]", "strict-serializable needs the start and end of every " +
			"committed transaction; transaction 2 lacks one", level.StrictSerializable, ""},
		{"init=0: s1: r(x,0) @[1,2] | s2: r(x,0) @[_,3]", "strict-serializable needs the start and end of every " +
			"committed transaction; transaction 2 lacks one", level.StrictSerializable, ""},
		{"s1: a(x,1) | s2: a(x,1) | s3: r(x,[1]) | s4: r(x,[1])?", "list elements must be appended once: " +
			"transaction 3 reads 1 in list \"x\", which was appended more than once; the outcome of " +
			"transaction 4, which reads list \"x\", is unknown", level.Serializable, ""},
		{"s1: a(x,1) | s2: r(x,[1])", "vbox does not decide causal", level.Causal, "vbox"},
		{`s1: a(x,1) | s2: r(x,[1]) pr{"v":1}[]`,
			"cobra does not check predicate operations: its published constraints relate only writers and readers " +
				"of one key; use vbox", level.Serializable, "cobra"},
		{`init=0: s1: w(x,1) | s2: pr{"v":1}[x=1]`, "cobra does not check predicate operations: its published " +
			"constraints relate only writers and readers of one key; use vbox",
			level.Serializable, "cobra"},
		{"init=0: s1: r(x,0)", "vbox does not decide causal", level.Causal, "vbox"},
		{"init=0: s1: r(x,0)", "cobra does not decide snapshot-isolation", level.SnapshotIsolation, "cobra"},
	} {
		everyWay(level.Serializable, func(name string, k Checker, s string) {
			if c.only != "" && k.Info().Name != c.only {
				return
			}
			r, err := Run(context.Background(), k, notation.MustParse(c.h), Options{Level: c.l, Solver: s})
			if err != nil {
				t.Errorf("%s: %s: %v", name, c.h, err)
			} else if r.Verdict != evidence.Unknown || r.Reason != c.want {
				t.Errorf("%s: %s: %s, %q; want unknown, %q", name, c.h, r.Verdict, r.Reason, c.want)
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
	plain := datasets.Spec{Txns: 2000, Times: datasets.NoTimes, Keys: 100}
	contended := datasets.Spec{Workload: "contended", Txns: 2000, Sessions: 50, Keys: 50, Times: datasets.NoTimes}
	for _, x := range []struct {
		spec     datasets.Spec
		checkers []Checker
		levels   []level.Level
	}{
		{plain, []Checker{run.Vbox{}, called("cobra")}, []level.Level{level.Serializable}},
		{contended, []Checker{run.Replay{}}, []level.Level{level.Serializable, level.SessionSerializable,
			level.SnapshotIsolation, level.SessionSnapshotIsolation}},
		{datasets.Spec{Workload: "lwt", Txns: 2000, Keys: 2}, []Checker{called("porcupine")},
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
