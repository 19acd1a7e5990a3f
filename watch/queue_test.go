package watch

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestQueue: lines for which there is no room are dropped and counted, and a judge that goes on behind them accuses
// nobody who is right, at levels without real time; what it gets of somebody who is wrong it finds.
func TestQueue(t *testing.T) {
	header := []byte(`{"format":"isovet-history","version":1}` + "\n")
	dropped, stretches, found := int64(0), 0, 0
	outer := t
	randtest.Seeds(t, randtest.Long[uint64](30, 1000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x09ee))
		whole := random.Medium(seed, random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0})
		lines, lateness := arriving(t, whole, rng)
		lines = slices.DeleteFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"init":true`)) })
		for _, l := range []level.Level{level.Serializable, level.SessionSnapshotIsolation} {
			right := replayed(t, whole, l).Verdict == evidence.Holds
			q := NewQueue(len(lines)*20 + rng.IntN(len(lines)*60))
			q.Anew(header)
			taken, gone := 0, int64(0)
			for at := 1; at < len(lines); stretches++ {
				for ; at < len(lines) && (!q.full || rng.IntN(4) > 0); at++ {
					q.Add(append(lines[at], '\n'))
				}
				if at == len(lines) {
					q.End()
				}
				j := must.Get(NewReplay(ReplayOptions{Level: l, Lateness: lateness,
					Attach: AttachAlways}))(t)
				var m Metrics
				err := Run(t.Context(), Config{Dir: outer.TempDir(), Judge: j, Metrics: &m,
					Bad:  func(place int64, err error) { t.Errorf("line %d: %v", place, err) },
					Open: func(context.Context, Places) (Source, error) { return q, nil }})
				must.Hold(t, err == nil || errors.Is(err, ErrDropped), "%v", err)
				s := m.Get()
				taken += int(s.Lines) - 1
				if n := q.Anew(header); (n > gone) != (err != nil) {
					t.Errorf("%d lines were dropped, %d before: %v", n, gone, err)
				} else {
					gone = n
				}
				if s.Violations[violated] > 0 {
					if found++; right {
						t.Errorf("seed %d, %s: %v of a stream that is right", seed, l, s.Violations)
					}
				}
			}
			dropped += gone
			must.Equal(t, taken+int(gone), len(lines)-1, "lines taken and dropped, %d of these", gone)
		}
	})
	if dropped == 0 || found == 0 {
		t.Errorf("%d lines dropped in %d stretches, %d with violations", dropped, stretches, found)
	}
}
