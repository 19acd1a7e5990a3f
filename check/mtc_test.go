package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// sameAsOracle checks a history at all six levels, and counts the verdicts.
func sameAsOracle(t testing.TB, c Checker, seed uint64, h *history.History, ls []level.Level, seen map[string]int) {
	t.Helper()
	for _, l := range ls {
		r := answer(t, c, h, Options{Level: l})
		want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
		agree(t, r, want.Verdict)
		seen[l.String()+" "+r.Verdict.String()]++
		if r.Note == "" {
			seen[l.String()+" by itself "+r.Verdict.String()]++
		}
	}
}

// TestMTCAgainstOracle: random mini-transactions, in sessions, with ties of time and without times, aborted and of
// unknown outcome.
func TestMTCAgainstOracle(t *testing.T) {
	n := histtest.Long[uint64](825, 100_000)
	seen := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History {
		o := random.Options{Mini: true, Txns: 6, Keys: 3, Sessions: 4, Aborted: seed%4 == 1, Unknown: seed%4 == 2,
			Ops: 4}
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		sameAsOracle(t, miniTxns{}, seed, h, run.OrderLevels, seen)
	})
	t.Log(seen)
	for _, l := range run.OrderLevels {
		for _, v := range []string{"valid", "violation"} {
			what := l.String() + " by itself " + v
			histtest.Mix(t, seen[what] < int(n)/50, "%q came up %d times of %d", what, seen[what], n)
		}
	}
}

// TestMTCOutside: what is outside the preconditions gets replay's answer, and a note that says so.
func TestMTCOutside(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, uint64(300), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Unknown: true, Duplicates: seed%2 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		sameAsOracle(t, miniTxns{}, seed, h, run.OrderLevels, seen)
	})
	for _, c := range []struct{ h, note string }{
		{"init=0: s1: r(x,1) r(y,0) | s2: w(x,1) w(y,1)", "decided by replay, because this is not a history of " +
			"mini-transactions: transaction 2 writes \"x\" without reading it first"},
		{"init=0: s1: r(x,0) w(x,1) | s2: r(x,1) w(x,2) | s3: r(x,2) w(x,1) | s4: r(x,1)",
			"which was written more than once (Definition 9)"},
		{`init=0: s1: r(x,0) w(x,1) | s2: pr{"":{"=":1}}[]`, "decided by replay, because this is not a history of " +
			"mini-transactions: the history has predicate operations"},
		{"init=0: s1: r(x,0) r(y,0) r(z,0) w(x,1) | s2: r(x,1)", ""},
	} {
		r, err := Run(context.Background(), miniTxns{}, notation.MustParse(c.h),
			Options{Level: level.SessionSerializable})
		if err != nil || r.Checker != "mtc" || !strings.Contains(r.Note, c.note) ||
			(r.DecidedBy == "replay") != (c.note != "") ||
			c.note == "" && r.Note != "" {
			t.Errorf("%s: %v, %+v; want the note %q", c.h, err, r, c.note)
		}
	}
	h := notation.MustParse("init=0: s1: r(x,1) r(y,0) | s2: w(x,1) w(y,1)")
	agree(t, answer(t, miniTxns{}, h, Options{Level: level.SessionSerializable}), evidence.Violated)
}

// TestMTCShapes: all shapes of mini-transactions at weak isolation, where a read may miss an own write. MTC finds the
// anomalies d to g of its Figure 5, and judges as brute force does.
func TestMTCShapes(t *testing.T) {
	n := histtest.Long[uint64](500, 40_000)
	kinds, seen := map[level.Anomaly]int{}, map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History {
		spec := datasets.Spec{Workload: "mini", Shape: "all", Txns: 7, Keys: 2, Sessions: 4, Seed: seed, FaultAt: 1,
			Isolation: []string{"read-committed", "read-uncommitted", "read-committed", "snapshot-isolation"}[seed%4]}
		if seed%4 > 1 {
			spec.Break = "own-write"
		}
		return must.Get(datasets.Generate(t.Context(), spec))(t)
	}, func(t testing.TB, seed uint64, h *history.History) {
		sameAsOracle(t, miniTxns{}, seed, h, run.OrderLevels, seen)
		for _, a := range answer(t, miniTxns{}, h, Options{Level: level.SnapshotIsolation}).Anomalies {
			kinds[a.Kind]++
		}
	})
	t.Log(kinds, seen)
	for _, k := range []level.Anomaly{level.NotMyLastWrite, level.NotMyOwnWrite, level.G1b, level.NonRepeatableRead} {
		histtest.Mix(t, kinds[k] == 0, "%s came up in none of %d histories", k, n)
	}
}

// TestMTCPlanted: faults in a run of mini-transactions, large enough for long chains.
func TestMTCPlanted(t *testing.T) {
	for i, f := range datasets.Faults() {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "mini", Txns: 300, Keys: 30,
			Sessions: 6, Seed: uint64(i), Fault: f.Name}))(t)
		for _, l := range run.OrderLevels {
			want := evidence.Holds
			if slices.Contains(f.Violates, l) {
				want = evidence.Violated
			}
			r := answer(t, miniTxns{}, h, Options{Level: l})
			must.Equal(t, r.Verdict, want, "%s, %s (%s)", f.Name, l, r.Note)
		}
	}
}
