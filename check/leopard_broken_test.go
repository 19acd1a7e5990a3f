package check

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/datasets/store"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
)

// brokenRun is a run of the store in which one part failed once, and who found it.
type brokenRun struct{ planted, leopard, named, replay int }

// named says which mechanisms may be blamed for a broken part: the part's own, and what it leads to.
var blamed = map[string][]mechanism.Mechanism{
	"version":       {mechanism.ConsistentRead},
	"lock":          {mechanism.MutualExclusion},
	"first-updater": {mechanism.FirstUpdaterWins},
	"certifier":     {mechanism.SerializationCertifier},
}

// TestLeopardFindsBrokenParts plants one failure of each mechanism at each level that has it, and compares what the
// mechanisms find with what replay finds at the level: leopard must find each kind at each level, by the right
// mechanism.
func TestLeopardFindsBrokenParts(t *testing.T) {
	seeds := histtest.Long[uint64](4, 100)
	var table strings.Builder
	for _, iso := range datasets.Isolations() {
		level, err := store.ParseIsolation(iso)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range datasets.Breaks() {
			b, err := store.ParseBreak(part)
			if err != nil {
				t.Fatal(err)
			}
			if !level.Has(b) {
				continue
			}
			var n brokenRun
			randtest.Seeds(t, uint64(seeds), func(t testing.TB, seed uint64) {
				planted, err := datasets.Run(context.Background(), datasets.Spec{Workload: "mix", Txns: 400, Keys: 60,
					Isolation: iso, Seed: seed, Break: part})
				if err != nil {
					t.Fatal(err)
				}
				if len(planted.Planted) == 0 {
					return // it never came to that
				}
				n.planted++
				h := planted.History
				p, err := mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation)
				if err != nil {
					t.Fatal(err)
				}
				rep, err := mechanism.Verify(context.Background(), h, mechanism.Options{Profile: *p})
				if err != nil {
					t.Fatal(err)
				}
				if rep.Total() > 0 {
					n.leopard++
				}
				found := false
				for _, v := range rep.Violations {
					for _, m := range blamed[part] {
						found = found || v.Mechanism == m
					}
				}
				if found {
					n.named++
				}
				r, err := Run(context.Background(), run.Replay{}, h, Options{Level: p.Level})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict == evidence.Violated {
					n.replay++
				}
			})
			fmt.Fprintf(&table, "%-22s %-14s planted %3d, found by leopard %3d, by the right mechanism %3d, by "+
				"replay %3d\n", iso, part, n.planted, n.leopard, n.named, n.replay)
			if n.planted == 0 || n.named == 0 {
				t.Errorf("%s, %s: planted %d times, found %d times by the right mechanism", iso, part, n.planted,
					n.named)
			}
		}
	}
	t.Logf("\n%s", table.String())
}
