package papers

import (
	"strings"
	"testing"

	"isovet/check"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
)

// bcByOne is the lattice of bc, of which all six levels are answered by one graph, and every answer is certified.
func bcByOne(t testing.TB, seed uint64, h *history.History) *check.Lattice {
	t.Helper()
	l := must.Get(check.RunLatticeBy(t.Context(), bc{}, h, run.Options{}, nil))(t)
	return l
}

// One graph says at six levels what brute force says at each, or that the order of versions is not known.
func TestBCOfAllLevelsAgainstBruteForce(t *testing.T) {
	decided, open := 0, 0
	histtest.Each(t, histtest.Long[uint64](220, 20000), func(seed uint64) *history.History {
		if seed%2 == 0 {
			return random.Few(seed)
		}
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
			NoTimes: seed%8 == 1, Lists: seed%16 == 3})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := bcByOne(t, seed, h)
		shared := bc{}.Shared()
		for _, at := range run.OrderLevels {
			want := must.Get(oracle.Check(h, oracle.Options{Level: at, VerdictOnly: true}))(t)
			each := must.Get(check.Run(t.Context(), shared, h, run.Options{Level: at}))(t)
			for _, got := range []*evidence.Result{l.Results[at], each} {
				switch {
				case got.Verdict == evidence.Unknown && want.Verdict != evidence.Unknown &&
					strings.HasPrefix(got.Reason, "the order of versions is not known"):
					open++
				case got.Verdict != want.Verdict:
					t.Fatalf("seed %d, %s: one graph says %s (%s), brute force %s\n%s", seed, at, got.Verdict,
						got.Reason, want.Verdict, notation.Format(h))
				default:
					decided++
				}
			}
		}
	})
	t.Logf("%d decided, %d open", decided, open)
	histtest.Mix(t, open > decided/4, "%d answers are open, %d are not", open, decided)
}

// On larger histories it says what bc says of each level by itself, and decides no less.
func TestBCOfAllLevelsOnMediumHistories(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, 60, func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Unknown: seed%4 == 0, NoTimes: seed%8 == 1})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := bcByOne(t, seed, h)
		for _, at := range run.OrderLevels {
			want := must.Get(check.Run(t.Context(), bc{}, h, run.Options{Level: at}))(t)
			got := l.Results[at]
			verdicts[got.Verdict]++
			if got.Verdict != want.Verdict && want.Verdict != evidence.Unknown {
				t.Fatalf("seed %d, %s: one graph says %s (%s), bc %s", seed, at, got.Verdict, got.Reason, want.Verdict)
			}
		}
	})
	t.Log(verdicts)
}
