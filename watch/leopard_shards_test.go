package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/internal/test/histtest"
)

// TestLeopardShards: among however many goroutines the keys are divided, a leopard finds what one finds that does it
// alone, line by line and in the same order: under profiles with each of the mechanisms, in streams of registers and
// lists, valid and wrong, with lines that come late, again, ahead or broken, from the midst, with what is idle on disk,
// and with restarts.
func TestLeopardShards(t *testing.T) {
	names := []string{"postgresql:serializable", "postgresql:repeatable-read", "innodb:serializable",
		"postgresql:read-committed", "mysql:repeatable-read", "tidb:snapshot"}
	found, spilled := 0, int64(0)
	kinds := map[string]int{}
	dir := t.TempDir()
	try := func(seed uint64, lines [][]byte, o LeopardOptions, most int, tight bool) {
		rng := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
		want := told(t, leopardOf(t, o), lines, most, rng(), nil)
		for _, f := range want {
			kinds[kindOf(f)]++
		}
		for _, shards := range []int{2, 4, 7} {
			o.Shards = shards
			small := tight && shards == 4
			if o.Bounds = (Bounds{}); small {
				o.Bounds = Bounds{Memory: 1 << 26, Dir: filepath.Join(dir, fmt.Sprint(seed, "-", shards))}
			}
			judge := func() *leopard {
				j := leopardOf(t, o).(*leopard)
				j.everything = small
				return j
			}
			at, j := 0, judge()
			got := told(t, j, lines, most, rng(), func(was Judge) Judge {
				if at++; at%9 != 8 || small && at > 9 {
					return was
				}
				cp := t.TempDir()
				if err := checkpointTo(was, cp); err != nil {
					t.Fatal(err)
				}
				closeLeopard(t, j)
				j = judge()
				j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
				if err := j.Restore(cp); err != nil {
					t.Fatal(err)
				}
				return j
			})
			sameFindings(t, seed, got, want)
			found += len(want)
			if small {
				spilled += j.keys.Stored()
			}
			closeLeopard(t, j)
		}
	}
	gates := []GateOptions{{}, {Once: true, MaxJump: time.Minute, Patience: time.Minute}}
	for seed := range uint64(histtest.Long(18, 1000)) {
		rng := rand.New(rand.NewPCG(seed, 31))
		lines := drawnStream(rng, 40+rng.IntN(300))
		profile, err := mechanism.LookupProfile(names[seed%uint64(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		o := LeopardOptions{Profile: profile, Lateness: rng.Int64N(300), Attach: Attach(rng.IntN(3)),
			Skew: rng.Int64N(3) * 5, Gate: gates[rng.IntN(2)]}
		try(seed, lines, o, []int{3, 20, 200}[rng.IntN(3)], seed%6 == 1)
	}
	seed := uint64(1 << 20)
	eachBroken(t, histtest.Long[uint64](1, 60), func(m *mechanisms) {
		seed++
		o := LeopardOptions{Skew: m.skew, Lateness: m.apart / int64(1+seed%3), Gate: gates[seed%2]}
		try(seed, m.lines, o, []int{20, 400}[seed%2], false)
	})
	if found < 300 || spilled < 1 {
		t.Errorf("%d findings, %d keys on disk", found, spilled)
	}
	// Those that span keys are rare here: mechanism.TestDivided has thousands.
	for _, k := range []string{"LATE", "overwritten", "not-visible", "own-write", "two-holders"} {
		if kinds[k] == 0 {
			t.Errorf("no %s among %v", k, kinds)
		}
	}
	t.Log(found, kinds)
}

// kindOf is the kind of a violation, or its axiom.
func kindOf(line string) string {
	var v struct{ Kind, Axiom string }
	if json.Unmarshal([]byte(line), &v) != nil {
		return ""
	}
	return v.Kind + v.Axiom
}

func closeLeopard(t *testing.T, j *leopard) {
	t.Helper()
	if j.store != nil {
		if err := j.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
