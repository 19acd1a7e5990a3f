package check

import (
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// every is the mix of what a random history may have, by number, all 32 of them.
func every(n uint64) random.Options {
	return random.Options{
		Duplicates: n&1 != 0, Deletes: n&2 != 0, Aborted: n&4 != 0, Unknown: n&8 != 0, NoTimes: n&16 != 0,
	}
}

// TestReplayAgainstBruteForce holds replay against the oracle on tiny histories of every mix, at all six levels:
// several possible writers, deletes, aborted reads, unknown outcomes, with and without times; and with predicate reads
// and writes: rows that are absent, deleted or equal, truths that are unknown, versions that the client does not know.
// Run certifies every answer.
func TestReplayAgainstBruteForce(t *testing.T) {
	shapes := []random.Options{{}, {Txns: 4, Keys: 3, Ops: 5}, {Txns: 6, Keys: 3, Sessions: 6, Ops: 3},
		{Txns: 6, Keys: 1, Ops: 2}}
	for predicates, n := range map[bool]uint64{false: histtest.Long[uint64](660, 60000),
		true: histtest.Long[uint64](800, 60000)} {
		verdicts := map[string]int{}
		bare, phantoms := uint64(0), 0
		histtest.Each(t, n, func(seed uint64) *history.History {
			o, s := every(seed), shapes[seed/32%4]
			o.Txns, o.Keys, o.Sessions, o.Ops, o.Predicates = s.Txns, s.Keys, s.Sessions, s.Ops, predicates
			return random.Tiny(seed, o)
		}, func(t testing.TB, seed uint64, h *history.History) {
			for _, l := range run.OrderLevels {
				want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
				if want.Verdict == evidence.Unknown && l.RealTime() {
					continue // it lacks times
				}
				got := answer(t, run.Replay{}, h, Options{Level: l})
				if h.HasPredicates() && want.Verdict == evidence.Violated && got.Verdict == evidence.Unknown &&
					strings.HasPrefix(got.Reason, "no order explains") {
					bare++ // refuted, without evidence
					continue
				}
				agree(t, got, want.Verdict)
				for i := range got.Anomalies {
					if slices.ContainsFunc(got.Anomalies[i].Cycle, func(e evidence.Edge) bool {
						return e.Dep == evidence.PRW
					}) {
						phantoms++
					}
				}
				verdicts[l.String()+" "+got.Verdict.String()]++
			}
		})
		histtest.Mix(t, bare > histtest.Long[uint64](0, 30), "%d refutations without evidence", bare)
		histtest.Mix(t, predicates && phantoms < 20, "%d phantoms", phantoms)
		for _, l := range run.OrderLevels {
			histtest.Mix(t, min(verdicts[l.String()+" valid"], verdicts[l.String()+" violation"]) < 100, "%s: %v", l,
				verdicts)
		}
	}
}

// TestReplayKnows: nothing but missing times keeps replay from an answer, for histories too large for brute force; of
// predicates, a violation may be known without evidence too.
func TestReplayKnows(t *testing.T) {
	for predicates, n := range map[bool]uint64{false: histtest.Long[uint64](110, 2000),
		true: histtest.Long[uint64](60, 1000)} {
		verdicts := map[evidence.Verdict]int{}
		histtest.Each(t, n, func(seed uint64) *history.History {
			o := every(seed)
			if o.Txns = 120; predicates {
				o.Txns, o.Keys, o.Predicates = 30, 8, true
			}
			if o.Duplicates { // explanations are long where values say little
				o.Txns = min(o.Txns, 24)
			}
			return random.Medium(seed, o)
		}, func(t testing.TB, seed uint64, h *history.History) {
			for _, l := range run.OrderLevels {
				r := answer(t, run.Replay{}, h, Options{Level: l})
				if r.Verdict == evidence.Unknown && (!l.RealTime() || !every(seed).NoTimes) &&
					!(predicates && strings.HasPrefix(r.Reason, "no order explains")) {
					t.Fatalf("seed %d, %s: %s", seed, l, r.Reason)
				}
				verdicts[r.Verdict]++
			}
		})
		histtest.Mix(t, verdicts[evidence.Holds] < 30 || verdicts[evidence.Violated] < 30,
			"the mix is lopsided: %v", verdicts)
	}
}

// TestReplayAgainstPolygraphs: on histories of up to 200 transactions, valid and disturbed, replay says what vbox and
// cobra say, with every solver, where those decide, and its six verdicts imply each other as the levels do.
func TestReplayAgainstPolygraphs(t *testing.T) {
	same := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](30, 3000), func(seed uint64) *history.History {
		o := random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0, Deletes: seed&4 != 0, NoTimes: seed&8 != 0}
		if seed%3 == 0 {
			o.Keys, o.Sessions = 100, 20 // room for open choices
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		got := map[level.Level]evidence.Verdict{}
		for _, l := range run.OrderLevels {
			r := answer(t, run.Replay{}, h, Options{Level: l})
			got[l] = r.Verdict
			if !l.Serial() {
				continue
			}
			for _, name := range []string{"vbox", "cobra"} {
				if name != "vbox" && seed%4 != 0 {
					continue // its closure is cubic
				}
				c := called(name)
				solvers := c.Info().Solvers
				want := answer(t, c, h, Options{Level: l, Solver: solvers[int(seed)%len(solvers)]})
				if want.Verdict == evidence.Unknown {
					continue
				}
				agree(t, want, r.Verdict)
				same[want.Verdict]++
			}
		}
		for a, x := range got {
			for b, y := range got {
				if a.Implies(b) && x == evidence.Holds && y != evidence.Holds {
					t.Fatalf("seed %d: %s holds and %s is %s", seed, a, b, y)
				}
			}
		}
	})
	histtest.Mix(t, same[evidence.Holds] < 6 || same[evidence.Violated] < 6, "the mix is lopsided: %v", same)
}

// TestPlanted: a fault planted in a run of a serializable or snapshot store is found at every level that it violates
// and at no other, whatever the file tells of times.
func TestPlanted(t *testing.T) {
	found := 0
	for i, f := range datasets.Faults() {
		for k, isolation := range []string{"serializable", "snapshot-isolation"} {
			for j, times := range []datasets.Times{datasets.AllTimes, datasets.NoTimes} {
				if (i+j+k)%2 == 1 && !histtest.Long(false, true) {
					continue // the other isolation has these times
				}
				h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "mix", Txns: 150,
					Keys: 60, Sessions: 8, Ops: 6, Seed: uint64(i), Fault: f.Name,
					Isolation: isolation, Times: times, DBTimes: i%2 == 0 && times == datasets.AllTimes}))(t)
				for _, l := range run.OrderLevels {
					if l.RealTime() && times == datasets.NoTimes || l.Serial() && isolation == "snapshot-isolation" {
						continue // unknown for want of times; the run around the fault may have write skew of its own
					}
					want := evidence.Holds
					if slices.Contains(f.Violates, l) {
						want = evidence.Violated
						found++
					}
					for _, name := range []string{"replay", "vbox", "cobra"} {
						if c := called(name); slices.Contains(c.Info().Levels, l) {
							agree(t, answer(t, c, h, Options{Level: l}), want)
						}
					}
				}
			}
		}
	}
	must.Be(t, found != 0, "no fault violates any level")
}

// TestReplayByHand: small histories whose verdicts at the six levels follow from the definitions.
func TestReplayByHand(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/by-hand.tsv") {
		h := notation.MustParse(c[1])
		for _, l := range run.OrderLevels {
			want := evidence.Holds
			if slices.Contains(strings.Fields(c[2]), l.String()) {
				want = evidence.Violated
			}
			for _, k := range []Checker{run.Replay{}, bruteForce{}} {
				r := answer(t, k, h, Options{Level: l})
				must.Equal(t, r.Verdict, want, "%s, %s: %s (%s)", c[0], l, k.Info().Name, r.Reason)
			}
		}
	}
}
