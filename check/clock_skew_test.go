package check

import (
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestClockSkew: clocks that are apart by what the option allows for never make a valid run a violation.
func TestClockSkew(t *testing.T) {
	bad := 0
	randtest.Seeds(t, randtest.Long[uint64](2, 20), func(t testing.TB, seed uint64) {
		const skew = 2_000_000
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: histtest.Long(100, 200), Keys: 20,
			Sessions: 8, Seed: seed, Skew: skew}))(t)
		for _, c := range []Checker{run.Vbox{}, called("cobra")} {
			r := answer(t, c, h, Options{Level: level.StrictSerializable, ClockSkew: skew})
			agree(t, r, evidence.Holds)
			r = answer(t, c, h, Options{Level: level.StrictSerializable})
			if r.Verdict == evidence.Violated {
				bad++
			}
			agree(t, answer(t, c, h, Options{}), evidence.Holds)
		}
	})
	histtest.Mix(t, bad == 0, "the clocks are not apart enough for the test to mean anything")
}

// TestDisguised: names and the order in the file do not matter.
func TestDisguised(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](165, 1500), func(seed uint64) *history.History {
		h := random.Tiny(seed, random.Options{Txns: 7, Keys: 3, Aborted: true, Unknown: true, NoTimes: seed%3 == 0})
		if seed%10 == 0 {
			h = random.Medium(seed, random.Options{Txns: 60})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		g := random.Retell(h, random.Disguised, seed)
		for _, l := range run.SerialLevels {
			for _, c := range []Checker{run.Vbox{}, called("cobra")} {
				a := answer(t, c, h, Options{Level: l})
				b := answer(t, c, g, Options{Level: l})
				agree(t, a, b.Verdict)
				verdicts[a.Verdict]++
			}
		}
	})
	t.Log(verdicts)
}
