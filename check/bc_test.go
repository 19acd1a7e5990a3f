package check

import (
	"context"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// bcByOne is the lattice of bc, of which all six levels are answered by one graph, and every answer is certified.
func bcByOne(t testing.TB, seed uint64, h *history.History) *Lattice {
	t.Helper()
	l, err := RunLatticeBy(context.Background(), bc{}, h, Options{}, nil)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, dump(h))
	}
	return l
}

// One graph says at six levels what brute force says at each, or that the order of versions is not known.
func TestBCOfAllLevelsAgainstBruteForce(t *testing.T) {
	decided, open := 0, 0
	histtest.Each(t, histtest.Long[uint64](220, 20000), func(seed uint64) *history.History {
		if seed%2 == 0 {
			return tiny(seed)
		}
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
			NoTimes: seed%8 == 1, Lists: seed%16 == 3})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := bcByOne(t, seed, h)
		shared := bc{}.shared()
		for _, at := range orderLevels {
			want, err := Run(context.Background(), bruteForce{}, h, Options{Level: at})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			each, err := Run(context.Background(), shared, h, Options{Level: at})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, dump(h))
			}
			for _, got := range []*evidence.Result{l.Results[at], each} {
				switch {
				case got.Verdict == evidence.Unknown && want.Verdict != evidence.Unknown && orderOpen(bc{}.Info(), got):
					open++
				case got.Verdict != want.Verdict:
					t.Fatalf("seed %d, %s: one graph says %s (%s), brute force %s\n%s", seed, at, got.Verdict,
						got.Reason, want.Verdict, dump(h))
				default:
					decided++
				}
			}
		}
	})
	t.Logf("%d decided, %d open", decided, open)
	if histtest.Whole() && open > decided/4 {
		t.Errorf("%d answers are open, %d are not", open, decided)
	}
}

// On larger histories it says what bc says of each level by itself, and decides no less.
func TestBCOfAllLevelsOnMediumHistories(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, 60, func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Unknown: seed%4 == 0, NoTimes: seed%8 == 1})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := bcByOne(t, seed, h)
		for _, at := range orderLevels {
			want, err := Run(context.Background(), bc{}, h, Options{Level: at})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got := l.Results[at]
			verdicts[got.Verdict]++
			if got.Verdict != want.Verdict && want.Verdict != evidence.Unknown {
				t.Fatalf("seed %d, %s: one graph says %s (%s), bc %s", seed, at, got.Verdict, got.Reason, want.Verdict)
			}
		}
	})
	t.Log(verdicts)
}
