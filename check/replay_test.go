package check

import (
	"context"
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

// every is the mix of what a random history may have, by number, all 32 of them.
func every(n uint64) random.Options {
	return random.Options{
		Duplicates: n&1 != 0, Deletes: n&2 != 0, Aborted: n&4 != 0, Unknown: n&8 != 0, NoTimes: n&16 != 0,
	}
}

// TestReplayAgainstBruteForce holds replay against the oracle on tiny histories of every mix, at all six levels:
// several possible writers, deletes, aborted reads, unknown outcomes, with and without times. Run certifies every
// answer of both.
func TestReplayAgainstBruteForce(t *testing.T) {
	shapes := []random.Options{{}, {Txns: 4, Keys: 3, Ops: 5}, {Txns: 6, Keys: 3, Sessions: 6, Ops: 3},
		{Txns: 6, Keys: 1, Ops: 2}}
	verdicts := map[level.Level]map[evidence.Verdict]int{}
	for _, l := range run.OrderLevels {
		verdicts[l] = map[evidence.Verdict]int{}
	}
	histtest.Each(t, histtest.Long[uint64](660, 60000), func(seed uint64) *history.History {
		o, s := every(seed), shapes[seed/32%4]
		o.Txns, o.Keys, o.Sessions, o.Ops = s.Txns, s.Keys, s.Sessions, s.Ops
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			want, err := Run(context.Background(), bruteForce{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			got, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if want.Verdict == evidence.Unknown { // it lacks times, or has a verdict that it cannot give evidence of
				want, err = oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil || want.Verdict == evidence.Unknown && !l.RealTime() {
					t.Fatalf("seed %d, %s: brute force has no answer: %v, %v\n%s", seed, l, want, err,
						notation.Format(h))
				}
				if want.Verdict == evidence.Unknown {
					continue
				}
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: replay says %s (%s), brute force %s\n%s", seed, l, got.Verdict, got.Reason,
					want.Verdict, notation.Format(h))
			}
			verdicts[l][got.Verdict]++
		}
	})
	t.Log(verdicts)
	for l, v := range verdicts {
		if histtest.Whole() && (v[evidence.Holds] < 100 || v[evidence.Violated] < 100) {
			t.Errorf("%s: the mix is lopsided: %v", l, v)
		}
	}
}

// TestReplayKnows: nothing but missing times keeps replay from an answer, for histories too large for brute force.
func TestReplayKnows(t *testing.T) {
	histtest.Each(t, histtest.Long[uint64](110, 2000), func(seed uint64) *history.History {
		o := every(seed)
		o.Txns = 120
		if o.Duplicates { // explanations are long where values say little
			o.Txns = 24
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := every(seed)
		o.Txns = 120
		if o.Duplicates { // explanations are long where values say little
			o.Txns = 24
		}
		for _, l := range run.OrderLevels {
			r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if r.Verdict == evidence.Unknown && (!l.RealTime() || !o.NoTimes) {
				t.Fatalf("seed %d, %s: %s", seed, l, r.Reason)
			}
		}
	})
}
