package mechanism

import (
	"math"
	"reflect"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// TestNumbers: what is found does not depend on how many transactions there have been before, also where their number
// comes to need more than 32 bits.
func TestNumbers(t *testing.T) {
	found := 0
	randtest.Values(t, seeds()/4, func(seed uint64) *drawn {
		return draw(seed, 4, 200, 4)
	}, func(t testing.TB, seed uint64, r *drawn) {
		p := Profile{Reads: TransactionReads, Snapshot: AtFirstStatement, WriteLocks: true, ReadLocks: true,
			FirstUpdaterWins: true, Certifier: SSICertifier}
		o := Options{Profile: p, MaxViolations: 1 << 20, KeepEdges: true, every: 1 + int(seed%9)}
		want := r.run(o)
		for _, o.from = range []uint64{math.MaxUint32 - seed%200, math.MaxUint32 + 1, 1 << 40} {
			if got := r.run(o); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, from transaction %d on:\n%+v\nexpected\n%+v", seed, o.from, got, want)
			}
		}
		found += want.Total()
	})
	if randtest.Whole() && found < 200 {
		t.Errorf("%d violations are too few to compare", found)
	}
	t.Logf("%d violations", found)
}
