package replay_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
)

// mixed is a random history: a tiny one of every mix, and a medium one now and then, more rarely later on, since one
// full of duplicates can take a minute.
func mixed(seed uint64) *history.History {
	o := mix(seed)
	if seed%16 == 15 && (seed < 500 || seed%512 == 511) {
		o.Txns = 80
		return random.Medium(seed, o)
	}
	o.Txns, o.Keys, o.Sessions = 7, 3, 4
	return random.Tiny(seed, o)
}

// TestRetold: names of keys, values and sessions, and the order of the lines, never change a verdict; nor does leaving
// out the times, where the level does not ask for them.
func TestRetold(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](44, 20000), mixed, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range levels {
			want := checked(t, h, l).Verdict
			verdicts[want]++
			for _, c := range []random.Retold{{Keys: true}, {Values: true}, {Sessions: true}, {Lines: true},
				{NoTimes: true}, random.Disguised} {
				if c.NoTimes && l.RealTime() {
					continue
				}
				g := random.Retell(h, c, seed)
				if got := checked(t, g, l).Verdict; got != want {
					t.Fatalf("seed %d, %s: %s of\n%s\nand, with %+v, %s of\n%s", seed, l, want, notation.Format(h), c,
						got, notation.Format(g))
				}
			}
		}
	})
	histtest.Mix(t, verdicts[evidence.Holds] == 0 || verdicts[evidence.Violated] == 0,
		"the mix is lopsided: %v", verdicts)
}

// hints are guesses of every kind of wrongness, by transaction.
func hints(h *history.History, seed uint64) map[string][]int64 {
	n := h.NumTxns()
	r := rand.New(rand.NewPCG(seed, 78))
	as := func(at func(i int) int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
	reversed := as(func(i int) int64 {
		if end := h.End(uint32(i)); end != history.NoTime {
			return -end
		}
		return -int64(i)
	})
	return map[string][]int64{
		"file":     as(func(i int) int64 { return int64(i) }),
		"reversed": reversed,
		"constant": as(func(int) int64 { return 0 }),
		"random":   as(func(int) int64 { return r.Int64() - r.Int64() }),
		"extreme":  as(func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[r.IntN(4)] }),
	}
}

// TestDeadWriter: who else wrote what was read cannot have committed, so the proof rests on the one writer left.
func TestDeadWriter(t *testing.T) {
	h := notation.MustParse(`s1/0: r(k00,_) r(k01,_) w(k01,1) @[1,7] | s0/1: r(k01,_) w(k00,_) ? @[3,_] | s0/2: r(k01,1) w(k00,3) @[8,21] |
		s1/3: r(k00,_) r(k01,1) w(k01,_) @[9,18] | s1/4: r(k00,_) r(k00,_) w(k01,5) @[18,20] | s0/5: r(k00,3) r(k00,_) r(k01,5) w(k01,1) ? @[21,_]`)
	for _, l := range levels {
		if got := checked(t, h, l).Verdict; l.Serial() && got != evidence.Violated {
			t.Errorf("%s: %s", l, got)
		}
	}
}

// TestHints: a hint may be as wrong as it likes, and the verdict stays; so it does if the times are no hint.
func TestHints(t *testing.T) {
	violated := 0
	histtest.Each(t, histtest.Long[uint64](132, 20000), mixed, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range levels {
			want := checked(t, h, l).Verdict
			if want == evidence.Unknown { // it lacks times
				continue
			}
			if want == evidence.Violated {
				violated++
			}
			for name, hint := range hints(h, seed) {
				if got := decide(t, h, replay.Options{Level: l, Hint: hint}); got != want {
					t.Fatalf("seed %d, %s: %s; with the hint %q %s\n%s", seed, l, want, name, got, notation.Format(h))
				}
			}
			if got := decide(t, h, replay.Options{Level: l, NoTimes: true}); got != want {
				t.Fatalf("seed %d, %s: %s; without times as a hint %s\n%s", seed, l, want, got, notation.Format(h))
			}
		}
	})
	histtest.Mix(t, violated == 0, "no violation among the histories")
}

// TestSkewWidens: a clock skew only ever takes real-time edges away.
func TestSkewWidens(t *testing.T) {
	won := 0
	histtest.Each(t, histtest.Long[uint64](110, 5000), mixed, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range levels {
			if !l.RealTime() || checked(t, h, l).Verdict == evidence.Unknown {
				continue
			}
			last := evidence.Violated
			for _, skew := range []int64{0, 5, 20, 100, 1 << 40} {
				got := decide(t, h, replay.Options{Level: l, Skew: skew})
				if last == evidence.Holds && got != evidence.Holds {
					t.Fatalf("seed %d, %s: holds with less skew than %d, and with that not\n%s", seed, l, skew,
						notation.Format(h))
				}
				if last == evidence.Violated && got == evidence.Holds && skew > 0 {
					won++
				}
				last = got
			}
		}
	})
	histtest.Mix(t, won == 0, "no skew ever changed a verdict")
}
