package papers

import (
	"context"
	"math/rand/v2"
	"testing"

	"isovet/check"
	"isovet/check/bcgraph"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// rmw makes a tiny history in which every write overwrites a version that its transaction read, from a run with
// snapshots that are now and then wrong: version orders are known, and violations are common.
func rmw(seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 3))
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	txns, keys, sessions := 2+r.IntN(5), 1+r.IntN(3), 1+r.IntN(4)
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	versions := make([][]int64, keys)
	for k := range versions {
		versions[k] = []int64{0}
	}
	next, now := int64(0), int64(0)
	for t := range txns {
		h := history.NewTxnHead()
		h.ID, h.HasID = int64(t+1), true
		h.Session, h.HasSess = int64(r.IntN(sessions)), true
		if r.IntN(10) == 0 {
			h.Status = history.Unknown
		}
		now += int64(r.IntN(4))
		h.Start = max(0, now-int64(r.IntN(4)))
		h.End = h.Start + int64(r.IntN(6))
		lag := r.IntN(3)
		done := map[int]bool{}
		for range 1 + r.IntN(3) {
			k := r.IntN(keys)
			if done[k] {
				continue
			}
			done[k] = true
			at := len(versions[k]) - 1
			if r.IntN(3) == 0 {
				at = max(0, at-lag)
			}
			b.Read(key(k), history.IntValue(versions[k][at]))
			if r.IntN(2) == 0 && (at == len(versions[k])-1 || r.IntN(4) == 0) {
				next++
				b.Write(key(k), history.IntValue(next))
				versions[k] = append(versions[k], next)
			}
		}
		b.EndTxn(h)
	}
	return must.Have(b.Build())
}

// TestSnapshotAgainstBruteForce holds the checkers of snapshot isolation against all sequences of begins and commits;
// Run certifies each answer. bc and adya-si answer wherever read-modify-writes show the version orders.
func TestSnapshotAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](275, 100000)
	verdicts := map[string]int{}
	histtest.Each(t, uint64(n), func(seed uint64) *history.History {
		var h *history.History
		switch seed % 3 {
		case 0:
			h = rmw(seed)
		case 1:
			h = random.Few(seed)
		default:
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%4 == 0, Unknown: seed%5 > 2})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		chained := false
		if v := prepass.Run(h); !v.Ambiguous() && len(v.Anomalies) == 0 {
			_, fork, open := bcgraph.Chains(v)
			chained = open == history.None || fork[0] != history.None
		}
		for _, l := range run.SnapshotLevels {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			for _, c := range snapshotCheckers {
				in := c.Info()
				solver := ""
				if m := len(in.Solvers); m > 0 {
					solver = in.Solvers[int(seed/3)%m]
				}
				got := must.Get(check.Run(t.Context(), c, h, run.Options{Level: l, Solver: solver}))(t)
				if got.Verdict == evidence.Unknown && len(in.Solvers) == 0 && !chained {
					verdicts[in.Name+" unknown"]++
					continue
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("seed %d, %s: %s:%s says %s (%s), brute force %s\n%s", seed, l, in.Name, solver,
						got.Verdict, got.Reason, want.Verdict, notation.Format(h))
				}
				verdicts[in.Name+" "+got.Verdict.String()]++
			}
		}
	})
	t.Log(verdicts)
	for _, name := range []string{"viper", "polysi", "bc", "bc-full", "adya-si", "adya-si-full"} {
		histtest.Mix(t, verdicts[name+" valid"] < int(n)/4 || verdicts[name+" violation"] < int(n)/4,
			"the mix is lopsided: %v", verdicts)
	}
}

var snapshotCheckers = []run.Checker{viper{}, polysi{}, bc{}, bc{full: true}, adya{}, adya{full: true}}

// TestTooManyStarts: a graph with an edge for each pair of transactions is refused where it would not fit.
func TestTooManyStarts(t *testing.T) {
	b := history.NewBuilder()
	for i := range 8 {
		head := history.NewTxnHead()
		head.Start, head.End = int64(10*i), int64(10*i+5)
		b.Read(b.Key(history.IntValue(1)), history.Value{})
		b.EndTxn(head)
	}
	h := must.Get(b.Build())(t)
	for _, c := range []struct {
		checker run.Checker
		most    int
		want    evidence.Verdict
	}{
		{bc{full: true}, 28, evidence.Holds}, {bc{full: true}, 27, evidence.Unknown}, {bc{}, 0, evidence.Holds},
		{adya{full: true}, 28, evidence.Holds}, {adya{full: true}, 27, evidence.Unknown},
		{adya{}, 15, evidence.Holds}, {adya{}, 6, evidence.Unknown},
	} {
		func() {
			defer bounds.Set("papers.maxStarts", c.most)()
			r, err := check.Run(context.Background(), c.checker, h, run.Options{Level: level.StrictSnapshotIsolation})
			if err != nil || r.Verdict != c.want || r.Verdict == evidence.Unknown && r.Reason == "" {
				t.Errorf("%s with up to %d start edges: %v, %v", c.checker.Info().Name, c.most, r, err)
			}
		}()
	}
}

// TestSnapshotCatalogue: the anomalies of errata §5.1 at the snapshot levels.
func TestSnapshotCatalogue(t *testing.T) {
	for _, a := range datasets.Anomalies() {
		for _, l := range run.SnapshotLevels {
			want := evidence.Holds
			for _, v := range a.Violates {
				if v == l {
					want = evidence.Violated
				}
			}
			for _, c := range snapshotCheckers {
				r := must.Get(check.Run(t.Context(), c, a.History(), run.Options{Level: l}))(t)
				if r.Verdict != want && (r.Verdict != evidence.Unknown || c.Info().Solvers != nil) {
					t.Errorf("%s, %s: %s says %s (%s); want %s", a.Name, l, c.Info().Name, r.Verdict, r.Reason, want)
				}
			}
		}
	}
}

// TestSnapshotMedium: hundreds of transactions, lists and registers with timestamps: all checkers that answer agree
// with replay.
func TestSnapshotMedium(t *testing.T) {
	count := map[string]int{}
	for i, spec := range []datasets.Spec{
		{Workload: "mix", Isolation: "snapshot-isolation", DBTimes: true},
		{Workload: "rmw", Isolation: "snapshot-isolation"},
		{Workload: "list-append", Isolation: "snapshot-isolation"},
		{Workload: "mix", Isolation: "read-committed", DBTimes: true, Times: datasets.NoTimes},
		{Workload: "rmw", Isolation: "snapshot-isolation", Fault: "lost-update"},
		{Workload: "rmw", Isolation: "serializable", Fault: "long-fork"},
		{Workload: "list-append", Isolation: "read-committed"},
	} {
		spec.Txns, spec.Sessions, spec.Keys, spec.Seed = histtest.Long(100, 200), 6, 30, uint64(i)
		h := must.Get(datasets.Generate(t.Context(), spec))(t)
		for _, l := range []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation} {
			want := must.Get(check.Run(t.Context(), run.Replay{}, h, run.Options{Level: l}))(t)
			for _, c := range snapshotCheckers[:6] {
				ctx, cancel := context.WithTimeout(context.Background(), 5e9)
				got, err := check.Run(ctx, c, h, run.Options{Level: l})
				cancel()
				must.OK(t, err, "%d, %s, %s", i, l, c.Info().Name)
				count[c.Info().Name+" "+got.Verdict.String()]++
				if got.Verdict != want.Verdict && (got.Verdict != evidence.Unknown || c.Info().Name == "viper") {
					t.Errorf("%d (%s), %s: %s says %s (%s), replay %s", i, spec.Workload, l, c.Info().Name, got.Verdict,
						got.Reason, want.Verdict)
				}
			}
		}
	}
	t.Log(count)
}
