package watch

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// TestEvictionSaysReplay: whatever lies on disk, and however often it begins again at a checkpoint, a judge of the
// order that lets everything go after every few transactions finds what one finds that keeps all, line by line.
func TestEvictionSaysReplay(t *testing.T) {
	found, spilled, again := 0, int64(0), 0
	dir := t.TempDir()
	defer bounds.Set("keystore.fewNumbers", 1)()
	defer bounds.Set("keystore.takenOf", 1)()
	for seed := range uint64(histtest.Long(8, 5000)) {
		rng := rand.New(rand.NewPCG(seed, 21))
		nearby := bounds.Set("online.nearby", []int{0, 1, 8, 64}[seed%4])
		var lines [][]byte
		var lateness int64
		if seed%3 == 0 {
			lines, lateness = drawnStream(rng, 40+rng.IntN(200)), rng.Int64N(300)
		} else {
			lines, lateness = arriving(t, random.Medium(seed, random.Options{Keys: 1 + rng.IntN(60),
				Aborted: seed&1 != 0, Unknown: seed&2 != 0, Duplicates: seed%5 == 0}), rng)
		}
		o := ReplayOptions{Level: ReplayLevels()[rng.IntN(len(ReplayLevels()))], Lateness: lateness,
			Attach: Attach(rng.IntN(3)), Horizon: 1 + rng.IntN(50),
			Gate: GateOptions{Once: true, Patience: time.Minute}}
		judge := func() *replayJudge {
			j, err := NewReplay(o)
			if err != nil {
				t.Fatal(err)
			}
			return j.(*replayJudge)
		}
		most := 1 + rng.IntN(8)
		want := told(t, judge(), lines, most, rand.New(rand.NewPCG(seed, 1)), nil)
		o.Bounds = Bounds{Memory: 1 << 24, Dir: filepath.Join(dir, fmt.Sprint(seed))}
		var j *replayJudge
		bounded := func() Judge {
			j = judge()
			j.mem.room = shares{0, 1 << 62}
			return j
		}
		got := told(t, bounded(), lines, most, rand.New(rand.NewPCG(seed, 1)), func(was Judge) Judge {
			if seed%4 != 1 || rng.IntN(8) > 0 {
				return was
			}
			again++
			cp := t.TempDir()
			if err := was.Checkpoint(cp); err != nil {
				t.Fatal(err)
			}
			if err := was.(*replayJudge).mem.store.Close(); err != nil {
				t.Fatal(err)
			}
			is := bounded()
			is.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
			if err := is.Restore(cp); err != nil {
				t.Fatal(err)
			}
			return is
		})
		sameFindings(t, seed, got, want)
		found += len(want)
		spilled += j.keys.Stored() + j.sess.Stored()
		if err := j.mem.store.Close(); err != nil {
			t.Fatal(err)
		}
		nearby()
	}
	if found < 100 || spilled < 10 || again < 5 {
		t.Errorf("%d findings, %d keys and sessions on disk, %d times from a checkpoint", found, spilled, again)
	}
	t.Logf("%d findings, %d keys and sessions on disk, %d times from a checkpoint", found, spilled, again)
}
