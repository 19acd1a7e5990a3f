package watch

import (
	"context"
	"math/rand/v2"
	"testing"

	"isovet/level"
)

// TestReplayCut: a judge whose context has ended leaves undone what is to be done, says so, and tells nothing; one that
// has nothing to do is whole.
func TestReplayCut(t *testing.T) {
	lines := staleStream(80, rand.New(rand.NewPCG(1, 0x0a18)))
	for _, done := range []bool{false, true} {
		made, err := NewReplay(ReplayOptions{Level: level.Serializable, Lateness: 100})
		if err != nil {
			t.Fatal(err)
		}
		j := made.(*replayJudge)
		ctx, cancel := context.WithCancel(t.Context())
		j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
		j.Until(ctx)
		if done {
			cancel()
		}
		if j.Cut() {
			t.Errorf("ended %t: cut before anything has come", done)
		}
		if err := j.Take(NewBatch(0, lines), func(_ int64, err error) { t.Fatal(err) }); err != nil {
			t.Fatal(err)
		}
		j.End()
		found := 0
		err = j.Findings(func(*Finding) error { found++; return nil })
		if j.Cut() != done || done && found > 0 || !done && (err != nil || found == 0) {
			t.Errorf("ended %t: cut %t, %d findings, %v", done, j.Cut(), found, err)
		}
		cancel()
	}
}
