package watch

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/level"
)

// staleStream are transactions of 4 operations on 12 keys that end in turn, each read of which sees one of the last
// versions.
func staleStream(txns int, rng *rand.Rand) (lines [][]byte) {
	lines = append(lines, []byte(`{"format":"isovet-history","version":1,"initial":0}`))
	var vals [12][3]int
	for i := range txns {
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[`, i, i%8, 10*i, 10*i+60)
		key := rng.IntN(12)
		write := rng.IntN(2) == 0
		for n := range 4 {
			if n > 0 {
				b = append(b, ',')
			}
			key = (key + 1 + rng.IntN(3)) % 12 // once each
			v := &vals[key]
			if write {
				v[2], v[1], v[0] = v[1], v[0], 4*i+n+1
				b = fmt.Appendf(b, `["w",%d,%d]`, key, v[0])
			} else {
				b = fmt.Appendf(b, `["r",%d,%d]`, key, v[rng.IntN(3)])
			}
		}
		lines = append(lines, append(b, "]}"...))
	}
	return lines
}

// TestReplayMany: of streams in which much is wrong the same is told in the same order however many proofs are looked
// for at a time, and each is proved.
func TestReplayMany(t *testing.T) {
	told := 0
	randtest.Seeds(t, randtest.Long[uint64](2, 500), func(t testing.TB, seed uint64) {
		lines := staleStream(80, rand.New(rand.NewPCG(seed, 0x0a15)))
		for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
			o := ReplayOptions{Level: l, Lateness: 100, Gate: GateOptions{Patience: 1 << 60}}
			var want []ReplayViolation
			for i, cores := range []int{1, 4} {
				before := runtime.GOMAXPROCS(cores)
				classes, found, _ := judgeReplay(t, o, lines, 50)
				runtime.GOMAXPROCS(before)
				if i == 0 {
					want = found
				}
				if !reflect.DeepEqual(found, want) || classes[violated] != len(found) {
					t.Fatalf("seed %d, %s: %d cores tell %v %+v; one tells %+v", seed, l, cores, classes, found, want)
				}
			}
			told += len(want)
		}
	})
	t.Logf("%d violations", told)
	if randtest.Whole() && told < 50 {
		t.Errorf("%d violations; there should be many", told)
	}
}
