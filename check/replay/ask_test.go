package replay

import (
	"context"
	"reflect"
	"runtime"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

// TestAskedTogether: an order that several cores replay, each a run of it, fails where it does on one core, in the same
// order; so all that follows is the same too.
func TestAskedTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	defer func(n int) { askedTogether = n }(askedTogether)
	failed := 0
	make := func(seed uint64) *history.History {
		o := random.Options{Predicates: true, Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0,
			Unknown: seed&8 != 0}
		o.Txns, o.Keys = 14, 5
		return random.Medium(seed, o)
	}
	histtest.Each(t, histtest.Long[uint64](110, 4000), make, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation} {
			var answers [2]Answer
			for i, n := range []int{1 << 30, 1} {
				var err error
				askedTogether = n
				if answers[i], err = Run(context.Background(), v, Options{Level: l}); err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
				}
			}
			failed += answers[0].Stats.Failed
			if !reflect.DeepEqual(answers[0], answers[1]) {
				t.Fatalf("seed %d, %s: on several cores %+v; want %+v\n%s", seed, l, answers[1], answers[0],
					notation.Format(h))
			}
		}
	})
	if histtest.Whole() && failed < 100 {
		t.Errorf("%d reads failed in all", failed)
	}
}
