package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
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
		want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
		oddly(t, seed, h, weakly{}, Options{Level: l}, want.Verdict, verdicts)
		for _, l := range run.OrderLevels {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true, ClockSkew: skew}))(t)
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
				o.Pipeline = Pipeline{Closure: one(Closures()), Pruning: one(run.Prunings()), Phase: one(run.Phases()),
					AtMostOne: one(run.AtMostOnes())}
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
		if name == "weak" && strings.Contains(r.Reason, "evidence cannot tell these reads apart") {
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

// TestTimesAtTheEnds: with times at the ends of the clock, and clocks off by up to all of it, every checker says what
// brute force says.
func TestTimesAtTheEnds(t *testing.T) {
	ends := []int64{math.MinInt64 + 1, math.MinInt64 + 9, -1 << 62, -5, 0, 5, 1 << 62, math.MaxInt64 - 9,
		math.MaxInt64 - 1, math.MaxInt64}
	skews := []int64{0, 3, 1 << 61, 1 << 62, math.MaxInt64 - 3, math.MaxInt64}
	said := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](82, 3000), func(seed uint64) (h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 0))
		if seed%5 == 4 {
			h = tinyList(seed)
		} else {
			h = random.Tiny(seed, random.Options{Txns: 5, Keys: 1 + int(seed%2), Sessions: 5, Ops: 2})
		}
		h.Txns.Start, h.Txns.End = make([]int64, h.NumTxns()), make([]int64, h.NumTxns())
		for i := range h.Txns.Start {
			a, b := rng.IntN(len(ends)), rng.IntN(len(ends))
			h.Txns.Start[i], h.Txns.End[i] = ends[min(a, b)], ends[max(a, b)]
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		skew := skews[rand.New(rand.NewPCG(seed, 1)).IntN(len(skews))]
		for _, l := range []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation, level.Linearizable} {
			want, err := oracle.Check(h, oracle.Options{Level: l, ClockSkew: skew, VerdictOnly: true})
			if err != nil && l != level.Linearizable {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			for i, c := range All() {
				in := c.Info()
				if in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" && !h.HasLists() ||
					len(in.Solvers) > 0 && (seed+uint64(i))%4 != 0 {
					continue
				}
				got := answer(t, c, h, Options{Level: l, ClockSkew: skew})
				if want != nil && want.Verdict != evidence.Unknown && got.Verdict != evidence.Unknown &&
					got.Verdict != want.Verdict {
					t.Fatalf("seed %d, %s, skew %d: %s says %s, brute force %s\n%s", seed, l, skew, in.Name,
						got.Verdict, want.Verdict, notation.Format(h))
				}
				said[got.Verdict]++
			}
		}
	})
	histtest.Mix(t, said[evidence.Holds] < 300 || said[evidence.Violated] < 300, "too few answers: %v", said)
}

// What is dropped for a format that cannot hold it makes no violation of a valid history, at any level; what needs
// nothing dropped keeps its verdicts.
func TestLossy(t *testing.T) {
	dir := t.TempDir()
	seeds := histtest.Long[uint64](82, 20000)
	kept, dropped, lossless := map[string]int{}, 0, 0
	histtest.Each(t, seeds, func(seed uint64) *history.History {
		rng := rand.New(rand.NewPCG(seed, 77))
		coin := func() bool { return rng.IntN(2) == 0 }
		s := oracletest.Shape{Txns: 5, Keys: 2, Sessions: 3, Ops: 3, Duplicates: coin(), Deletes: coin(),
			Aborted: coin(), Unknown: rng.IntN(3) > 0, Lists: rng.IntN(4) == 0, Init: coin(), Torn: coin()}
		h := oracletest.Random(seed, s)
		if rng.IntN(3) > 0 {
			h = doubt(h, rng)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, name := range []string{"plume", "polysi", "dbcop", "jepsen-edn"} {
			path := filepath.Join(dir, "out")
			lossy := false
			err := format.Write(path, h, name, false)
			if err != nil {
				lossy = true
				err = format.Write(path, h, name, true)
			}
			if err != nil {
				continue // predicates, lists
			}
			if name == "jepsen-edn" && h.HasLists() && (slices.Contains(h.Ops.Kind, history.Write) ||
				slices.Contains(h.Ops.Kind, history.Read)) {
				continue // Jepsen's have either
			}
			got, err := format.Read(t.Context(), path, format.Options{Format: name})
			if err != nil {
				if st, e := os.Stat(path); e == nil && st.Size() == 0 {
					continue // nothing is left
				}
				t.Fatalf("seed %d, %s: %v\n%s", seed, name, err, oracletest.String(h))
			}
			for _, l := range level.All() {
				before, err := oracle.Check(h, oracle.Options{Level: l})
				if err != nil || lossy && before.Verdict != evidence.Holds {
					continue
				}
				after, err := oracle.Check(got, oracle.Options{Level: l})
				if err != nil {
					continue
				}
				switch {
				case lossy && after.Verdict == evidence.Violated:
					t.Fatalf("seed %d: valid at %v, a violation once written as %s:\n%s\n%s", seed, l, name,
						oracletest.String(h), oracletest.String(got))
				case !lossy && after.Verdict != before.Verdict:
					t.Fatalf("seed %d: %v at %v, %v once written as %s:\n%s\n%s", seed, before.Verdict, l,
						after.Verdict, name, oracletest.String(h), oracletest.String(got))
				}
				kept[name]++
				if lossy {
					dropped++
				} else {
					lossless++
				}
			}
		}
	})
	for _, name := range []string{"plume", "polysi", "dbcop", "jepsen-edn"} {
		histtest.Mix(t, kept[name] < int(seeds), "%s: %d verdicts compared", name, kept[name])
	}
	histtest.Mix(t, dropped < int(seeds) || lossless < int(seeds)/2,
		"%d verdicts of what was dropped, %d of what was not", dropped, lossless)
	t.Log(fmt.Sprint(kept, dropped, lossless))
}

// doubt makes another outcome of some transactions: unknown, and aborted.
func doubt(h *history.History, rng *rand.Rand) *history.History {
	c := *h
	c.Txns.Status = append([]history.Status(nil), h.Txns.Status...)
	for x := range c.Txns.Status {
		if uint32(x) != h.Init && rng.IntN(3) == 0 {
			c.Txns.Status[x] = history.Unknown
		}
	}
	return &c
}
