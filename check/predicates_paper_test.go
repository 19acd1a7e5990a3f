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
	"isovet/internal/test/oracle"
	"isovet/level"
)

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
