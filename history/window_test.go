package history_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

func init() { history.SetDiffer(diff.Histories) }

// TestWindow: real time by windows is what it is by exact arithmetic, at the ends of the clock too.
func TestWindow(t *testing.T) {
	some := []int64{history.NoTime, math.MinInt64 + 1, math.MinInt64 + 2, -1 << 62, -1, 0, 1, 1 << 62,
		math.MaxInt64 - 1, math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() int64 {
		if rng.IntN(2) == 0 {
			return some[rng.IntN(len(some))]
		}
		return int64(rng.Uint64())
	}
	yes := 0
	for i := range 100_000 {
		h := &history.History{}
		h.Txns.Start, h.Txns.End = []int64{pick(), pick()}, []int64{pick(), pick()}
		h.Txns.Status = []history.Status{history.Status(rng.IntN(3)), history.Committed}
		skew := max(pick(), 0)
		if rng.IntN(2) == 0 {
			skew = int64(rng.IntN(3))
		}
		_, end := h.Window(0, skew)
		start, _ := h.Window(1, skew)
		e, s, d := big.NewInt(h.End(0)), big.NewInt(h.Start(1)), big.NewInt(skew)
		want := h.Txns.Status[0] == history.Committed && h.End(0) != history.NoTime && h.Start(1) != history.NoTime &&
			e.Add(e, d).Cmp(s.Sub(s, d)) < 0
		if (end < start) != want {
			t.Fatalf("case %d: end %d + %d before start %d - %d: %v, exactly %v", i, h.End(0), skew, h.Start(1), skew,
				end < start, want)
		}
		if want {
			yes++
		}
	}
	must.Be(t, yes >= 1000, "%d pairs in real time only", yes)
}
