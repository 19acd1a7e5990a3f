package check

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestKeyed: histories of transactions on one key each, few values among them, at strict-serializable: by keys first as
// by brute force.
func TestKeyed(t *testing.T) {
	said, byKeys := map[evidence.Verdict]int{}, 0
	histtest.Each(t, histtest.Long[uint64](825, 30_000), func(seed uint64) *history.History {
		h := random.Tiny(seed, random.Options{Txns: 6, Keys: 1 + int(seed%3), Sessions: 3, Ops: 1})
		if seed%2 == 1 {
			h = random.Few(seed)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		if !suitsKeys(h, level.StrictSerializable) {
			return
		}
		want, err := oracle.Check(h, oracle.Options{Level: level.StrictSerializable, VerdictOnly: true})
		if err != nil || want.Verdict == evidence.Unknown {
			return
		}
		got := answer(t, keyed{run.Replay{}}, h, Options{Level: level.StrictSerializable})
		agree(t, got, want.Verdict)
		if said[got.Verdict]++; got.Checker == "lwt" {
			byKeys++
		}
		for _, a := range got.Anomalies {
			if !level.StrictSerializable.Forbids(a.Kind) {
				t.Fatalf("seed %d: %s, which the level allows\n%s", seed, a.Kind, notation.Format(h))
			}
		}
	})
	histtest.Mix(t, said[evidence.Holds] < 100 || said[evidence.Violated] < 100 || byKeys < 100,
		"too few: %v, %d by keys", said, byKeys)
}

// TestMutexByKey: Knossos' mutex of etcd, two values and many writers of each, has no order at strict-serializable;
// replay does not find that out in minutes.
func TestMutexByKey(t *testing.T) {
	histtest.OnlyLong(t)
	h, err := format.Read(t.Context(), filepath.Join("..", "..", "shared", "corpus", "knossos", "data", "mutex", "bad",
		"etcd.edn"), format.Options{})
	if err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, _ := Auto(h, level.StrictSerializable)
	r, err := Run(ctx, c, h, Options{Level: level.StrictSerializable})
	must.Hold(t, err == nil && r.Verdict == evidence.Violated && r.Checker == "lwt", "%+v, %v", r, err)
}
