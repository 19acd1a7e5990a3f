package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// predicateOptions are the kinds of tiny histories with predicates that checkers are compared with brute force on.
var predicateOptions = []random.Options{
	{Predicates: true},
	{Predicates: true, Txns: 4, Keys: 3},
	{Predicates: true, Deletes: true},
	{Predicates: true, Aborted: true, Unknown: true},
	{Predicates: true, Deletes: true, Aborted: true, Unknown: true, NoTimes: true},
	{Predicates: true, Keys: 4, Ops: 3, Sessions: 4},
	{Predicates: true, Deletes: true, Duplicates: true},
	{Deletes: true, Duplicates: true, Keys: 2},
	{Deletes: true, Duplicates: true, Aborted: true, Unknown: true},
}

// vbox says of tiny histories with predicates what brute force says, at the three serializable levels; it is undecided
// only where an outcome is open. Run certifies each answer.
func TestVboxPredicates(t *testing.T) {
	seeds := histtest.Long[uint64](110, 30000)
	var decided, undecided [3]int
	for _, o := range predicateOptions {
		histtest.Each(t, seeds, func(seed uint64) *history.History { return random.Tiny(seed, o) }, func(t testing.TB,
			seed uint64, h *history.History) {
			if o.Predicates && !h.HasPredicates() {
				return
			}
			for _, l := range run.SerialLevels {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l})
				if err != nil {
					t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
				}
				if got.Verdict == evidence.Unknown {
					if !strings.Contains(got.Reason, "is unknown") && !strings.HasPrefix(got.Reason,
						"no order explains") && want.Verdict != evidence.Unknown {
						t.Fatalf("%+v seed %d, %s: unknown: %s", o, seed, l, got.Reason)
					}
					undecided[want.Verdict]++
					continue
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("%+v seed %d, %s: %s; brute force says %s", o, seed, l, got.Verdict, want.Verdict)
				}
				decided[want.Verdict]++
			}
		})
	}
	t.Logf("decided %v, undecided %v (unknown, valid, violation)", decided, undecided)
	if histtest.Whole() && (decided[evidence.Holds] == 0 || decided[evidence.Violated] == 0) {
		t.Error("not both verdicts came up")
	}
}

// tinyPredicates is a tiny history with predicates, or nil.
func tinyPredicates(seed uint64, o random.Options) *history.History {
	if h := random.Tiny(seed, o); h.HasPredicates() {
		return h
	}
	return nil
}

// vbox agrees with replay on larger histories of equal values, deletes and predicates, with and without times; Run
// certifies both.
func TestVboxAmbiguousMedium(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](25, 1000), func(seed uint64) *history.History {
		o := random.Options{Txns: 25, Keys: 8, Duplicates: seed%3 > 0, Deletes: true, Predicates: seed%2 == 0,
			NoTimes: seed%4 == 1, Aborted: true}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := random.Options{Txns: 25, Keys: 8, Duplicates: seed%3 > 0, Deletes: true, Predicates: seed%2 == 0,
			NoTimes: seed%4 == 1, Aborted: true}
		for _, l := range run.SerialLevels {
			want, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
			}
			got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("%+v seed %d, %s: vbox says %s (%s), replay %s (%s)", o, seed, l, got.Verdict, got.Reason,
					want.Verdict, want.Reason)
			}
			verdicts[got.Verdict]++
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts[evidence.Holds] < 10 || verdicts[evidence.Violated] < 10) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

// viper says of tiny histories with predicates what brute force says, at the three snapshot levels, with each solver
// and encoding in turn; it is undecided only where an outcome is open. Run certifies each answer.
func TestViperPredicates(t *testing.T) {
	seeds := histtest.Long[uint64](80, 20_000)
	var decided, undecided [3]int
	open := 0 // with choices or constraints left to a solver
	in := called("viper").Info()
	for _, o := range predicateOptions[:7] {
		make := func(seed uint64) *history.History { return tinyPredicates(seed, o) }
		histtest.Each(t, seeds, make, func(t testing.TB, seed uint64, h *history.History) {
			if h == nil {
				return
			}
			for i, l := range run.SnapshotLevels {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				turn := int(seed) + i
				opts := Options{Level: l, Solver: in.Solvers[turn%len(in.Solvers)]}
				if turn%2 == 1 {
					opts.Pipeline.Encoding = FormulaEncodings()[turn/2%len(FormulaEncodings())]
				}
				c := called("viper")
				if seed%4 == 3 {
					c = called("viper-sessions")
				}
				got, err := Run(context.Background(), c, h, opts)
				if err != nil {
					t.Fatalf("%+v seed %d, %s, %+v: %v\n%s", o, seed, l, opts, err, notation.Format(h))
				}
				if got.Stats.Variables > 0 {
					open++
				}
				if got.Verdict == evidence.Unknown {
					if want.Verdict != evidence.Unknown && !strings.Contains(got.Reason, "is unknown") &&
						!strings.HasPrefix(got.Reason, "no order explains") {
						t.Fatalf("%+v seed %d, %s: unknown: %s", o, seed, l, got.Reason)
					}
					undecided[want.Verdict]++
					continue
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("%+v seed %d, %s, %+v: %s; brute force says %s\n%s", o, seed, l, opts, got.Verdict,
						want.Verdict, notation.Format(h))
				}
				decided[want.Verdict]++
			}
		})
	}
	t.Logf("decided %v, undecided %v (unknown, valid, violation), %d with a solver", decided, undecided, open)
	if histtest.Whole() && (decided[evidence.Holds] < 100 || decided[evidence.Violated] < 100 || open < 100) {
		t.Error("the mix is lopsided")
	}
}

// viper agrees with replay on larger histories of predicates, with and without times; Run certifies both.
func TestViperPredicatesMedium(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](30, 1000), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 25, Keys: 8, Predicates: true, Deletes: seed%2 == 0,
			NoTimes: seed%4 == 1, Duplicates: seed%3 == 0, Aborted: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.SnapshotLevels {
			want, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			got, err := Run(context.Background(), called("viper"), h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: viper says %s (%s), replay %s (%s)", seed, l, got.Verdict, got.Reason,
					want.Verdict, want.Reason)
			}
			verdicts[got.Verdict]++
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts[evidence.Holds] < 10 || verdicts[evidence.Violated] < 10) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

// TestReplayPredicatesAgainstBruteForce holds replay against the oracle on tiny histories with predicate reads and
// writes: rows that are absent, deleted or equal, truths that are unknown, versions that the client does not know,
// unknown outcomes, with and without times, at all six levels. Run certifies every answer.
func TestReplayPredicatesAgainstBruteForce(t *testing.T) {
	shapes := []random.Options{{}, {Txns: 4, Keys: 3, Ops: 4}, {Txns: 6, Keys: 3, Sessions: 6, Ops: 3},
		{Txns: 6, Keys: 1, Ops: 2}}
	verdicts := map[level.Level]map[evidence.Verdict]int{}
	for _, l := range run.OrderLevels {
		verdicts[l] = map[evidence.Verdict]int{}
	}
	bare, phantoms := uint64(0), 0
	histtest.Each(t, histtest.Long[uint64](800, 60000), func(seed uint64) *history.History {
		o, s := every(seed), shapes[seed/32%4]
		o.Txns, o.Keys, o.Sessions, o.Ops, o.Predicates = s.Txns, s.Keys, s.Sessions, s.Ops, true
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if want.Verdict == evidence.Unknown {
				if !l.RealTime() {
					t.Fatalf("seed %d, %s: brute force has no answer: %s\n%s", seed, l, want.Reason, notation.Format(h))
				}
				continue
			}
			got, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if got.Verdict == evidence.Unknown && want.Verdict == evidence.Violated && strings.HasPrefix(got.Reason,
				"no order explains") {
				bare++ // refuted, without evidence
				continue
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: replay says %s (%s), brute force %s\n%s", seed, l, got.Verdict, got.Reason,
					want.Verdict, notation.Format(h))
			}
			for i := range got.Anomalies {
				for _, e := range got.Anomalies[i].Cycle {
					if e.Dep == evidence.PRW {
						phantoms++
						break
					}
				}
			}
			verdicts[l][got.Verdict]++
		}
	})
	t.Log(verdicts, bare, phantoms)
	if histtest.Whole() && bare > histtest.Long[uint64](0, 30) {
		t.Errorf("%d refutations without evidence", bare)
	}
	if histtest.Whole() && phantoms < 20 {
		t.Errorf("only %d phantoms", phantoms)
	}
	for l, v := range verdicts {
		if histtest.Whole() && (v[evidence.Holds] < 100 || v[evidence.Violated] < 100) {
			t.Errorf("%s: the mix is lopsided: %v", l, v)
		}
	}
}

// TestReplayPredicatesKnows: nothing but missing times keeps replay from a certified answer on histories with
// predicates that are too large for brute force.
func TestReplayPredicatesKnows(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](60, 1000), func(seed uint64) *history.History {
		o := every(seed)
		o.Txns, o.Keys, o.Predicates = 30, 8, true
		if o.Duplicates { // explanations are long where values say little
			o.Txns = 12
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := every(seed)
		o.Txns, o.Keys, o.Predicates = 30, 8, true
		if o.Duplicates { // explanations are long where values say little
			o.Txns = 12
		}
		for _, l := range run.OrderLevels {
			r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if r.Verdict == evidence.Unknown && (!l.RealTime() || !o.NoTimes) && !strings.HasPrefix(r.Reason,
				"no order explains") {
				t.Fatalf("seed %d, %s: %s", seed, l, r.Reason)
			}
			verdicts[r.Verdict]++
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts[evidence.Holds] < 30 || verdicts[evidence.Violated] < 30) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

// The counterexamples to the text of Vbox, named after the items of the errata: vbox and brute
// force agree on each with the definition. An absent key is a null one.
func TestPredicateCounterexamples(t *testing.T) {
	for _, c := range []struct {
		name, history string
		level         level.Level
		want          evidence.Verdict
	}{
		{"V5 absent rows", `_: w(y,{"v":1}) | _: pr{"v":{"=":1}}[]`, level.Serializable, evidence.Holds},
		{"V11 own write", `_: w(x,{"v":1}) pr{"v":{"=":1}}[]`, level.Serializable, evidence.Violated},
		{"V12 every later version", `_: pr{"v":{">=":2,"<=":3}}[] @[6,8] | _: w(x,{"v":1}) @[0,2] | _: r(x,{"v":1}) w(x,{"v":2}) @[3,4]`,
			level.StrictSerializable, evidence.Violated},
		{"V12 without time", `_: pr{"v":{">=":2,"<=":3}}[] @[6,8] | _: w(x,{"v":1}) @[0,2] | _: r(x,{"v":1}) w(x,{"v":2}) @[3,4]`,
			level.Serializable, evidence.Holds},
		{"V13 self edge", `_: pr{"v":{"=":1}}[] w(y,{"v":1})`, level.Serializable, evidence.Holds},
		{"V13 own version as base", `init={"v":0}: _: pr{"v":{"=":0}}[] w(y,{"v":1})`, level.Serializable,
			evidence.Violated},
		{"V14.1 impossible edges", `_: w(x,{"v":1}) @[1,2] | _: pr{"v":{"=":1}}[] @[5,6]`, level.StrictSerializable,
			evidence.Violated},
		{"V14.2 a choice for free", `_: pr{"v":{"=":1}}[] @[1,2]`, level.StrictSerializable, evidence.Holds},
		{"V14.3 sets merged by their edges",
			`_: pr{"v":{">=":2,"<=":3}}[] @[5,8] | _: w(y,{"v":1}) @[1,2] | _: pr{"v":{"=":1}}[] w(y,{"v":2}) @[2,4]`,
			level.StrictSerializable, evidence.Holds},
		{"V27 unknown outcome", `init={"v":1}: _: w(y,{"v":2}) ? @[1,_] | _: pr{"v":{"=":1}}[] @[5,6]`,
			level.Serializable, evidence.Holds},
		// t0, t (overlaps t2), t2; serial t0 t t2 explains it.
		{"6.2.1 free option dropped", `_: w(x,{"v":0}) w(y,{"v":0}) @[1,2] | _: pr{"v":{"=":1}}[] r(x,{"v":0}) @[5,9] | _: w(x,{"v":2}) w(y,{"v":0,"n":2}) @[6,8]`,
			level.StrictSerializable, evidence.Holds},
		{"6.2.2 contradicting edge", `_: w(y,{"v":1}) @[1,2] | _: pr{"v":{"=":1}}[] @[3,4] | _: w(y,{"v":0}) @[5,6]`,
			level.StrictSerializable, evidence.Violated},
		{"6.2.2 nothing else", `_: w(y,{"v":0}) @[1,2] | _: pr{"v":{"=":1}}[] @[3,4]`, level.StrictSerializable,
			evidence.Holds},
		// Based on the second writer's version, the first one's must be before it; its reader, which precedes the
		// second by its read of z, says otherwise.
		{"6.2.3 contradicting undetermined edge",
			`_: w(y,{"v":1}) w(z,{"v":0}) @[1,4] | _: w(y,{"v":0}) w(a,{"v":0}) @[1,4] | _: pr{"v":{"=":1}}[] @[5,6] | _: r(a,{"v":0}) r(y,{"v":1}) @[5,7]`,
			level.StrictSerializable, evidence.Violated},
		{"6.2.4 absent versions", `_: pr{"v":{"=":1}}[] r(x,{"v":1}) | _: w(x,{"v":1}) w(y,{"v":1})`,
			level.Serializable, evidence.Violated},
		{"6.2.5 unknown truth", `_: w(y,{"w":1}) @[1,2] | _: pr{"v":{"=":1}}[] @[3,4] | _: pr{"v":{"=":1}}[y={"w":1}] @[3,4]`, level.StrictSerializable, evidence.Holds},
		// The phantom: each books because it sees no booking.
		{"phantom", `_: pr{"v":{"=":1}}[] w(x,{"v":1}) | _: pr{"v":{"=":1}}[] w(y,{"v":1})`, level.Serializable,
			evidence.Violated},
	} {
		h, err := notation.Parse(c.history)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want, err := oracle.Check(h, oracle.Options{Level: c.level, VerdictOnly: true})
		if err != nil || want.Verdict != c.want {
			t.Errorf("%s: brute force says %s %s %v; expected %s", c.name, want.Verdict, want.Reason, err, c.want)
		}
		for _, s := range []string{"cdcl", "cdcl-lazy", "gini", "gophersat", "gini-eager"} {
			for _, enc := range []string{"vbox", "cobra", "order"} {
				got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: c.level, Solver: s,
					Pipeline: Pipeline{Encoding: enc}})
				if err != nil {
					t.Errorf("%s, %s, %s: %v", c.name, s, enc, err)
				} else if got.Verdict != c.want && !strings.Contains(got.Reason, "is unknown") {
					t.Errorf("%s, %s, %s: %s %s; expected %s", c.name, s, enc, got.Verdict, got.Reason, c.want)
				}
				if c.name == "phantom" && (err != nil || got.Anomalies[0].Kind != level.G2) {
					t.Errorf("a phantom is not named G2")
				}
			}
		}
	}
}

// The other solvers and encodings, and no pruning, say what brute force says too.
func TestVboxPredicatesPipelines(t *testing.T) {
	for _, o := range predicateOptions[:2] {
		histtest.Each(t, histtest.Long[uint64](20, 3000), func(seed uint64) *history.History {
			return tinyPredicates(
				seed, o)
		}, func(t testing.TB, seed uint64, h *history.History) {
			if h == nil {
				return
			}
			for _, l := range run.SerialLevels {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []string{"cdcl-pk", "cdcl-lazy", "gini", "gini-eager"} {
					for _, p := range []Pipeline{{Encoding: "vbox"}, {Encoding: "cobra", Pruning: "rounds"},
						{Encoding: "order"}, {Pruning: "none"}} {
						got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l, Solver: s, Pipeline: p})
						if err != nil {
							t.Fatalf("%+v seed %d, %s, %s %+v: %v", o, seed, l, s, p, err)
						}
						if got.Verdict != evidence.Unknown && got.Verdict != want.Verdict {
							t.Fatalf("%+v seed %d, %s, %s %+v: %s; brute force says %s", o, seed, l, s, p, got.Verdict,
								want.Verdict)
						}
					}
				}
			}
		})
	}
}
