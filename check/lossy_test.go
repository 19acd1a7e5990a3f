package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// What is dropped for a format that cannot hold it makes no violation of a valid history, at any level; what needs
// nothing dropped keeps its verdicts.
func TestLossy(t *testing.T) {
	dir := t.TempDir()
	seeds := histtest.Long[uint64](82, 20000)
	kept, dropped, lossless := map[string]int{}, 0, 0
	histtest.Each(t, seeds, func(seed uint64) *history.History {
		rng := rand.New(rand.NewPCG(seed, 77))
		coin := func() bool { return rng.IntN(2) == 0 }
		s := oracletest.Shape{Txns: 5, Keys: 2, Sessions: 3, Ops: 3, Duplicates: coin(), Deletes: coin(),
			Aborted: coin(), Unknown: rng.IntN(3) > 0, Lists: rng.IntN(4) == 0, Init: coin(), Torn: coin()}
		h := oracletest.Random(seed, s)
		if rng.IntN(3) > 0 {
			h = doubt(h, rng)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, name := range []string{"plume", "polysi", "dbcop", "jepsen-edn"} {
			path := filepath.Join(dir, "out")
			lossy := false
			err := format.Write(path, h, name, false)
			if err != nil {
				lossy = true
				err = format.Write(path, h, name, true)
			}
			if err != nil {
				continue // predicates, lists
			}
			if name == "jepsen-edn" && h.HasLists() && (slices.Contains(h.Ops.Kind, history.Write) ||
				slices.Contains(h.Ops.Kind, history.Read)) {
				continue // Jepsen's have either
			}
			got, err := format.Read(t.Context(), path, format.Options{Format: name})
			if err != nil {
				if st, e := os.Stat(path); e == nil && st.Size() == 0 {
					continue // nothing is left
				}
				t.Fatalf("seed %d, %s: %v\n%s", seed, name, err, oracletest.String(h))
			}
			for _, l := range level.All() {
				before, err := oracle.Check(h, oracle.Options{Level: l})
				if err != nil || lossy && before.Verdict != evidence.Holds {
					continue
				}
				after, err := oracle.Check(got, oracle.Options{Level: l})
				if err != nil {
					continue
				}
				switch {
				case lossy && after.Verdict == evidence.Violated:
					t.Fatalf("seed %d: valid at %v, a violation once written as %s:\n%s\n%s", seed, l, name,
						oracletest.String(h), oracletest.String(got))
				case !lossy && after.Verdict != before.Verdict:
					t.Fatalf("seed %d: %v at %v, %v once written as %s:\n%s\n%s", seed, before.Verdict, l,
						after.Verdict, name, oracletest.String(h), oracletest.String(got))
				}
				kept[name]++
				if lossy {
					dropped++
				} else {
					lossless++
				}
			}
		}
	})
	for _, name := range []string{"plume", "polysi", "dbcop", "jepsen-edn"} {
		if histtest.Whole() && kept[name] < int(seeds) {
			t.Errorf("%s: %d verdicts compared", name, kept[name])
		}
	}
	if histtest.Whole() && (dropped < int(seeds) || lossless < int(seeds)/2) {
		t.Errorf("%d verdicts of what was dropped, %d of what was not", dropped, lossless)
	}
	t.Log(fmt.Sprint(kept, dropped, lossless))
}

// doubt makes another outcome of some transactions: unknown, and aborted.
func doubt(h *history.History, rng *rand.Rand) *history.History {
	c := *h
	c.Txns.Status = append([]history.Status(nil), h.Txns.Status...)
	for x := range c.Txns.Status {
		if uint32(x) != h.Init && rng.IntN(3) == 0 {
			c.Txns.Status[x] = history.Unknown
		}
	}
	return &c
}
