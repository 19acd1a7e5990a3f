package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// oddPredicates is a random history with predicates and anything else that one may have, by number.
func oddPredicates(seed uint64) *history.History {
	shapes := []random.Options{{}, {Txns: 4, Keys: 3, Ops: 4}, {Txns: 6, Keys: 3, Sessions: 6, Ops: 3},
		{Txns: 6, Keys: 2, Ops: 2}}
	o, s := every(seed), shapes[seed/32%4]
	o.Txns, o.Keys, o.Sessions, o.Ops, o.Predicates = s.Txns, s.Keys, s.Sessions, s.Ops, true
	return random.Odd(seed, o)
}

// TestOddPredicates: histories with predicates beside unknown outcomes, deletes, initial rows, equal values,
// transactions without operations, and times at both ends of int64 or missing get from vbox, with every solver and
// pipeline, and from replay the verdict of brute force at all six levels, certified.
func TestOddPredicates(t *testing.T) {
	n := histtest.Long[uint64](110, 100_000)
	verdicts := map[string]int{}
	histtest.Each(t, n, oddPredicates, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 1))
		skew := []int64{0, 0, 0, 1, 45, math.MaxInt64}[rng.IntN(6)]
		l := level.ReadCommitted
		want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, l, err)
		}
		oddly(t, seed, h, weakly{}, Options{Level: l}, want.Verdict, verdicts)
		for _, l := range run.OrderLevels {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true, ClockSkew: skew})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			o := Options{Level: l, ClockSkew: skew}
			oddly(t, seed, h, run.Replay{}, o, want.Verdict, verdicts)
			oddly(t, seed, h, onlyPolygraph{}, o, want.Verdict, verdicts)
			if l.Snapshot() {
				continue
			}
			oddly(t, seed, h, run.Vbox{}, o, want.Verdict, verdicts)
			o.Solver = run.SolverNames()[rng.IntN(len(run.SolverNames()))]
			if rng.IntN(2) == 0 {
				one := func(names []string) string { return names[rng.IntN(len(names))] }
				o.Pipeline = Pipeline{Closure: one(Closures()), Pruning: one(Prunings()), Phase: one(Phases()),
					AtMostOne: one(AtMostOnes())}
				if LookupSolver(o.Solver).Theory != "closure" {
					o.Pipeline.Encoding = encode.Encodings()[0].Name
				}
			}
			oddly(t, seed, h, run.Vbox{}, o, want.Verdict, verdicts)
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts["replay valid"] < int(n/10) || verdicts["replay violation"] < int(n/10) ||
		verdicts["vbox valid"] < int(n/10) || verdicts["vbox violation"] < int(n/10)) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

// onlyPolygraph is replay where it gives up at once.
type onlyPolygraph struct{}

func (onlyPolygraph) Info() Info {
	in := run.Replay{}.Info()
	in.Name = "polygraph"
	return in
}

func (c onlyPolygraph) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	done, err = x.ByPolygraph()
	if err == nil && !done {
		x.Unknown("given up")
	}
	return x.Result, err
}

func oddly(t testing.TB, seed uint64, h *history.History, c Checker, o Options, want evidence.Verdict,
	verdicts map[string]int) {
	t.Helper()
	name := c.Info().Name
	what := func() string {
		return fmt.Sprintf("seed %d, %s, %s, solver %s, %+v, skew %d", seed, o.Level, name, o.Solver, o.Pipeline,
			o.ClockSkew)
	}
	r, err := Run(context.Background(), c, h, o)
	switch {
	case err != nil:
		t.Fatalf("%s: %.600v", what(), err)
	case r.Verdict == evidence.Unknown:
		verdicts[name+" unknown when "+want.String()]++
		if want == evidence.Unknown || o.Level.RealTime() && strings.Contains(r.Reason, "needs start and end") {
			return
		}
		if strings.HasPrefix(r.Reason, "no order explains") {
			verdicts[name+" no evidence"]++
			return
		}
		if name == "weak" && (strings.Contains(r.Reason, "wrote alike") || strings.Contains(r.Reason,
			"reads one version twice")) {
			return
		}
		if name == "polygraph" && r.Reason == "given up" {
			return
		}
		if name == "vbox" && strings.Contains(r.Reason, "is unknown") {
			return
		}
		t.Fatalf("%s: unknown: %s; brute force says %s", what(), r.Reason, want)
	default:
		verdicts[name+" "+r.Verdict.String()]++
		if want != evidence.Unknown && r.Verdict != want {
			t.Fatalf("%s: %s; brute force says %s", what(), r.Verdict, want)
		}
	}
}
