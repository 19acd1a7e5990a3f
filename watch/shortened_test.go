package watch

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestShortenedRight: a correct stream whose transactions become final early, for lack of memory, is not accused.
func TestShortenedRight(t *testing.T) {
	early := int64(0)
	randtest.Seeds(t, randtest.Long[uint64](24, 3000), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x51))
		_, raw := arrivalsOf(t, datasets.Spec{Workload: []string{"gt", "rmw", "list-append", "mix"}[seed%4],
			Txns: 100 + rng.IntN(500), Sessions: 2 + rng.IntN(10), Keys: 5 + rng.IntN(60), Ops: 1 + rng.IntN(6),
			Isolation: "snapshot-isolation", DBTimes: true, Times: datasets.NoTimes, Seed: seed, AbortRate: 0.05},
			float64(rng.IntN(60)), seed%8 < 4)
		lines := stamps(tb, raw, 1, []int64{0, -1_000_000}[rng.IntN(2)])
		if rng.IntN(2) == 0 {
			lines = cutStream(rng, lines)
		}
		gate := GateOptions{Once: true, Patience: []time.Duration{time.Second, 40 * time.Millisecond, 0}[rng.IntN(3)]}
		j := aionWith(tb, AionOptions{Options: si, Lateness: 400 + rng.Int64N(2000), Attach: AttachAuto, Gate: gate,
			Bounds: Bounds{Memory: 1 << 24, Dir: filepath.Join(tb.TempDir(), "keys")}})
		j.room = shares{rng.Int64N(20000), rng.Int64N(20000)}
		dir := tb.TempDir()
		p := &player{now: time.Unix(1_800_000_000, 0), every: time.Millisecond, most: 1 + rng.IntN(50), lines: lines}
		must.OK(tb, Run(t.Context(), Config{Dir: dir, Judge: j, Now: p.clock,
			Open: func(context.Context, Places) (Source, error) { return p, nil }}))
		early += j.shortened
		if _, got := classes(tb, dir, late, gap); len(got) > 0 {
			tb.Errorf("seed %d: %q\n%s", seed, got, violationsOf(tb, dir))
		}
		closeStore(t, j)
	})
	randtest.Mix(t, early < 300, "%d", early)
}
