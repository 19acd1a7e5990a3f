package watch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/test/histtest"
)

// TestNumbers: a stream whose lines have numbers of more than 32 bits, from some of fewer on, is judged as any other,
// also where what is known of keys goes to the disk and comes back.
func TestNumbers(t *testing.T) {
	dir := t.TempDir()
	found := map[string]int{}
	profiles := []string{"postgresql:serializable", "postgresql:repeatable-read", "innodb:serializable"}
	levels := timestamp.Levels()
	for seed := range uint64(histtest.Long(8, 4000)) {
		rng := rand.New(rand.NewPCG(seed, 64))
		lines := drawnStream(rng, 40+rng.IntN(300))
		most, lateness := 1+rng.IntN(8), rng.Int64N(300)
		profile := profileOf(t, profiles[rng.IntN(len(profiles))])
		lvl := levels[rng.IntN(len(levels))]
		g := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
		for _, name := range []string{"leopard", "aion"} {
			judge := func(b Bounds) (j Judge) {
				if name == "leopard" {
					j = leopardOf(t, LeopardOptions{Profile: profile, Lateness: lateness, Gate: g, Bounds: b})
				} else {
					j = aionWith(t, AionOptions{Options: timestamp.Options{Level: lvl}, Lateness: lateness, Gate: g,
						Bounds: b})
				}
				if b.Memory > 0 {
					spillAll(j)
				}
				return j
			}
			want := toldFrom(t, judge(Bounds{}), lines, 1, most, rand.New(rand.NewPCG(seed, 1)), nil)
			from := math.MaxUint32 - int64(rng.IntN(len(lines)))
			for _, b := range []Bounds{{}, {Memory: 1 << 24, Dir: filepath.Join(dir, fmt.Sprint(name, seed))}} {
				j := judge(b)
				got := toldFrom(t, j, lines, from, most, rand.New(rand.NewPCG(seed, 1)), nil)
				sameFindings(t, seed, got, want)
				closeStore(t, j)
			}
			found[name] += len(want)
		}
	}
	if found["leopard"] < 60 || found["aion"] < 60 {
		t.Errorf("%v findings", found)
	}
	t.Logf("%v findings", found)
}
