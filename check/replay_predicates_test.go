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
