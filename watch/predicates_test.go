package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// predSpec is a run with predicate operations, right by snapshot isolation or not.
func predSpec(rng *rand.Rand, seed uint64, right bool) datasets.Spec {
	s := datasets.Spec{Workload: []string{"blindw-pred", "booking"}[seed%2], Txns: 60 + rng.IntN(200),
		Keys: 10 + rng.IntN(60), Sessions: 2 + rng.IntN(8), Isolation: "snapshot-isolation", DBTimes: true,
		Times: datasets.NoTimes, Seed: seed, UnknownOld: []float64{0, 0.3}[rng.IntN(2)], AbortRate: 0.05}
	if !right {
		s.UnknownRate = 0.05
		s.Isolation = []string{"read-committed", "repeatable-read", "snapshot-isolation"}[rng.IntN(3)]
	}
	return s
}

// TestPredicates: of streams with predicate operations, in any order within the lateness and with restarts, aion finds
// what CHRONOS finds in the file.
func TestPredicates(t *testing.T) {
	phantoms := map[bool]int{}
	randtest.Seeds(t, randtest.Long[uint64](60, 3000), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x93ed))
		h, lines := arrivalsOf(t, predSpec(rng, seed, false), float64(rng.IntN(30)), rng.IntN(2) == 0)
		l := timestamp.Levels()[rng.IntN(4)]
		o := timestamp.Options{Level: l, ReadOnlyAtStart: l.Serial() && rng.IntN(2) == 0}
		dir, n := tb.TempDir(), 0
		all := pieces(t, rng, aionOf(o, 400), lines, func(j Judge) Judge {
			if rng.IntN(6) > 0 {
				return j
			}
			n++
			at := filepath.Join(dir, string(rune('a'+n)))
			must.OK(tb, os.Mkdir(at, 0o755))
			must.OK(tb, j.Checkpoint(at))
			next := aionOf(o, 400)
			must.OK(tb, next.Restore(at))
			return next
		})
		var got []string
		for _, line := range all {
			var v Violation
			must.OK(tb, json.Unmarshal([]byte(line), &v))
			if v.Axiom != gap {
				got = append(got, keyOf(v))
				phantoms[v.Why == "phantom"]++
			}
		}
		slices.Sort(got)
		if want := chronos(t, h, o); !slices.Equal(got, want) {
			tb.Fatalf("seed %d, %v: %d\n%q\nCHRONOS finds %d\n%q", seed, o, len(got), got, len(want), want)
		}
	})
	randtest.Mix(t, phantoms[true] < 300 || phantoms[false] < 1000, "%v", phantoms)
}

// TestPredicatesRight: a database that is right is not accused if the stream begins in the midst, if transactions come
// late or lines are not understood, or if watch keeps no rows.
func TestPredicatesRight(t *testing.T) {
	randtest.Seeds(t, randtest.Long[uint64](60, 3000), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x2193))
		_, raw := arrivalsOf(t, predSpec(rng, seed, true), float64(rng.IntN(30)), true)
		lines := stamps(tb, raw, 1, 0)
		if seed%3 == 0 {
			lines = cutStream(rng, lines)
		}
		for range rng.IntN(6) { // late, or refused
			i := 2 + rng.IntN(len(lines)-2)
			line := lines[i]
			if seed%3 == 1 {
				lines[i] = line[:len(line)-1] + `,"status":7}`
			} else if seed%3 == 2 {
				lines = slices.Insert(slices.Delete(lines, i, i+1), min(i+100, len(lines)-1), line)
			}
		}
		defer bounds.Set("watch.fewTxns", []int{1, 60, 1000}[rng.IntN(3)])()
		j := aionWith(tb, AionOptions{Options: si, Wait: 20 * time.Millisecond, Attach: AttachAuto,
			Gate: GateOptions{Once: true, Patience: time.Second}})
		if rng.IntN(3) == 0 { // too little for all rows
			j.p.rows.room = 20 << 10
		}
		dir := tb.TempDir()
		p := &player{now: time.Unix(1_800_000_000, 0), every: time.Millisecond, most: 50, lines: lines}
		must.OK(tb, Run(t.Context(), Config{Dir: dir, Judge: j, Now: p.clock,
			Open: func(context.Context, Places) (Source, error) { return p, nil }}))
		if _, got := classes(tb, dir, late, gap); len(got) > 0 {
			tb.Fatalf("seed %d: %q\n%s", seed, got, violationsOf(tb, dir))
		}
	})
}

// TestReplayPredicates: of a stream with predicate operations, replay says what it says of the reads and writes of
// their rows; and what is wrong then is an operation of the line.
func TestReplayPredicates(t *testing.T) {
	wrong := 0
	randtest.Seeds(t, randtest.Long[uint64](40, 3000), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x4e94))
		spec := predSpec(rng, seed, seed%3 == 0)
		if spec.Times, spec.DBTimes = datasets.TxnTimes, false; seed%3 == 1 {
			spec.Isolation = "read-committed"
		}
		h := must.Get(datasets.Generate(tb.Context(), spec))(tb)
		l := ReplayLevels()[rng.IntN(6)]
		if seed%3 == 0 {
			l = level.SnapshotIsolation
		}
		var said [2][]string
		for i, h := range []*history.History{h, history.Items(h)} {
			lines, lateness := arriving(tb, h, rand.New(rand.NewPCG(seed, 7)))
			_, found, j := judgeReplay(tb, ReplayOptions{Level: l, Lateness: lateness}, lines, 1+int(seed%50))
			for _, v := range found {
				t := uint32(slices.Index(h.Txns.ID, v.Txn))
				if lo, hi := h.TxnOps(t); v.Op != nil && *v.Op >= hi-lo {
					tb.Fatalf("seed %d: %+v has no such operation", seed, v)
				}
				said[i] = append(said[i], fmt.Sprint(v.Axiom, v.Txn, string(v.Key), v.Anomaly, v.Txns))
			}
			var s Snapshot
			j.Stats(&s)
			if n := count(s, "predicates_unjudged_total"); (n > 0) != (i == 0) {
				tb.Fatalf("seed %d: %d predicate operations", seed, n)
			}
		}
		if !slices.Equal(said[0], said[1]) || seed%3 == 0 && len(said[0]) > 0 {
			tb.Fatalf("seed %d, %s: %q, of the rows %q", seed, l, said[0], said[1])
		}
		wrong += len(said[0])
	})
	randtest.Mix(t, wrong < 50, "%d found", wrong)
}
