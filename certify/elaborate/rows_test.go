package elaborate_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/certify/elaborate"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestRowsAtReadCommitted: what holds at read committed of a history with predicates is in the kernel's terms, and
// where a read or a matched row is changed, no order is accepted that brute force calls a violation.
func TestRowsAtReadCommitted(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	n, accepted, mutants := tally{why: map[string]int{}}, 0, 0
	for seed := range seeds(600) {
		o := options(seed&15 | 32)
		h := random.Tiny(seed, o)
		r := answer(t, h, level.ReadCommitted)
		if r.Verdict != evidence.Holds {
			continue
		}
		judge(t, r, &n)
		for range 3 {
			g := *h
			g.Ops.Ver, g.Preds.Old = slices.Clone(h.Ops.Ver), slices.Clone(h.Preds.Old)
			other := func(v uint32) uint32 {
				var vs []uint32
				for w, k := range h.VerKey {
					if k == h.VerKey[v] {
						vs = append(vs, uint32(w))
					}
				}
				return vs[rng.IntN(len(vs))]
			}
			if i := rng.IntN(max(len(g.Preds.Old), 1)); i < len(g.Preds.Old) && g.Preds.Old[i] != history.None {
				g.Preds.Old[i] = other(g.Preds.Old[i])
			} else if op := rng.IntN(max(h.NumOps(), 1)); op < h.NumOps() && h.Ops.Kind[op] == history.Read {
				g.Ops.Ver[op] = other(g.Ops.Ver[op])
			} else {
				continue
			}
			mutants++
			x := *r
			x.H = &g
			if _, err := elaborate.Prove(&x, elaborate.Options{}); err != nil {
				continue
			}
			accepted++
			is, err := oracle.Check(&g, oracle.Options{Level: level.ReadCommitted, VerdictOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if is.Verdict == evidence.Violated {
				t.Fatalf("seed %d: an order is accepted, brute force says it is a violation", seed)
			}
		}
	}
	if n.refused*50 > n.valid || n.valid < 50 || accepted < 20 {
		t.Error(&n, accepted, mutants)
	}
	t.Log(&n)
	t.Log(mutants, "changed histories,", accepted, "accepted")
}
