package check

import (
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
)

// tinyList makes a random history with lists: of one kind or another by the seed.
func tinyList(seed uint64) *history.History {
	switch seed % 4 {
	case 0:
		return oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 3, Sessions: 4, Ops: 4, Lists: true, Init: true,
			Aborted: true, Unknown: seed%8 == 4})
	case 1:
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Lists: true})
	case 2:
		return random.Tiny(seed, random.Options{Lists: true, Aborted: true, Unknown: true})
	}
	return random.Tiny(seed, random.Options{Txns: 6, Keys: 2, Sessions: 5, Ops: 3, Lists: true, NoTimes: seed%3 == 0})
}

// TestListsAgainstBruteForce holds every checker against the oracle on tiny histories with lists; Run certifies each
// answer on the way.
func TestListsAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](220, 40_000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History { return tinyList(seed) }, func(t testing.TB, seed uint64,
		h *history.History) {
		for _, l := range run.OrderLevels {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range All() {
				in := c.Info()
				if in.Hidden || in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" && !h.HasLists() {
					continue
				}
				if in.Name != "elle" && in.Name != "replay" && seed%4 != 3 {
					continue
				}
				got, err := Run(t.Context(), c, h, Options{Level: l})
				if err != nil {
					text := ""
					if got != nil {
						for _, a := range got.Anomalies {
							text += a.Text
						}
					}
					t.Fatalf("seed %d, %s, %s: %v\n%s\n%s", seed, l, in.Name, err, notation.Format(h), text)
				}
				switch {
				case got.Verdict == evidence.Unknown && in.Name == "elle-register" && strings.HasPrefix(got.Reason,
					"incomplete"):
				case got.Verdict == evidence.Unknown && strings.HasPrefix(got.Reason, "list elements must be"),
					orderOpen(in, got):
				case got.Verdict != want.Verdict:
					t.Fatalf("seed %d, %s: %s says %s (%s), brute force %s\n%s", seed, l, in.Name, got.Verdict,
						got.Reason, want.Verdict, notation.Format(h))
				}
				verdicts[in.Name+" "+got.Verdict.String()]++
				if in.Name == "elle" && got.Verdict == evidence.Violated {
					verdicts[string(got.Anomalies[0].Kind)]++
				}
			}
		}
	})
	t.Log(verdicts)
	for _, c := range []string{"elle", "replay"} {
		// of 6 × n
		if histtest.Whole() &&
			(min(verdicts[c+" valid"], verdicts[c+" violation"]) < int(n) || verdicts[c+" unknown"] > int(n)/2) {
			t.Errorf("the mix is lopsided: %v", verdicts)
		}
	}
}
