package elaborate_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestWeakLevels: answers at the weak levels, of registers, are in the kernel's terms: all violations, and what holds
// where nobody's outcome is unknown and no value is written twice.
func TestWeakLevels(t *testing.T) {
	plain, others, violations := tally{why: map[string]int{}}, tally{why: map[string]int{}},
		tally{why: map[string]int{}}
	for seed := range seeds(400) {
		o := options(seed)
		if o.Lists || o.Predicates {
			continue
		}
		h := random.Tiny(seed, o)
		to := &plain
		if o.Duplicates || o.Unknown || o.Deletes {
			to = &others
		}
		for _, l := range weakLevels {
			switch r := answer(t, h, l); r.Verdict {
			case evidence.Holds:
				judge(t, r, to)
			case evidence.Violated:
				judge(t, r, &violations)
			}
		}
	}
	if plain.refused > 0 {
		t.Error("registers: ", &plain)
	}
	if others.refused*1000 > others.valid {
		t.Error("with values written more than once, deletes, or unknown outcomes: ", &others)
	}
	if violations.refused > 0 {
		t.Error("violations: ", &violations)
	}
	t.Log(&violations)
	t.Log(&plain)
	t.Log(&others)
}

// answer is what isovet check says.
func answer(t *testing.T, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	c, why := check.Choose(check.AutoName, "", h, l)
	if c == nil {
		t.Fatal(why)
	}
	return must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
}

var weakLevels = []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal}

// TestWeakMutants: orders, sources, levels and histories are changed at random. None is accepted that brute force calls
// a violation, and the extracted kernel says the same as its port.
func TestWeakMutants(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	mutants, accepted := 0, 0
	for seed := range seeds(200) {
		h := random.Tiny(seed, options(seed&15))
		if h.NumOps() == 0 {
			continue
		}
		for _, l := range weakLevels {
			r := answer(t, h, l)
			if r.Verdict != evidence.Holds {
				continue
			}
			for range 4 {
				x := *r
				x.Level, x.Order, x.Sources = weakLevels[rng.IntN(3)], slices.Clone(r.Order), slices.Clone(r.Sources)
				n := len(x.Order)
				switch rng.IntN(5) {
				case 0:
					if n > 0 {
						i, j := rng.IntN(n), rng.IntN(n)
						x.Order[i], x.Order[j] = x.Order[j], x.Order[i]
					}
				case 1:
					if n > 0 {
						x.Order = x.Order[:n-1]
					}
				case 2:
					op := uint32(rng.IntN(h.NumOps()))
					x.Sources = append(x.Sources, evidence.Source{Op: op, Key: h.OpKey(op),
						Writer: uint32(rng.IntN(h.NumTxns()))})
				case 3:
					g := *h
					g.Ops.Ver = slices.Clone(h.Ops.Ver)
					if op := rng.IntN(h.NumOps()); h.Ops.Kind[op] == history.Read {
						g.Ops.Ver[op] = g.Ops.Ver[rng.IntN(h.NumOps())]
					}
					x.H = &g
				case 4: // another level alone
				}
				mutants++
				p, err := elaborate.Prove(&x, elaborate.Options{})
				if extracted != "" && p != nil && len(p.Order) > 0 {
					var file bytes.Buffer
					must.OK(t, p.Write(&file))
					if out := ask(file.Bytes()); strings.HasPrefix(out, "VERIFIED") != (err == nil) {
						t.Fatalf("seed %d: the port says %v, the kernel %s%s", seed, err, out, file.Bytes())
					}
				}
				if err != nil {
					continue
				}
				accepted++
				is := must.Get(oracle.Check(x.H, oracle.Options{Level: x.Level, VerdictOnly: true}))(t)
				if is.Verdict == evidence.Violated {
					var file bytes.Buffer
					must.OK(t, p.Write(&file))
					t.Fatalf("seed %d: an order is accepted at %s, brute force says it is a violation:\n%s", seed,
						x.Level, file.Bytes())
				}
			}
		}
	}
	must.Be(t, accepted >= mutants/20, "%d of %d accepted", accepted, mutants)
	t.Logf("%d mutants, %d of them accepted, and right", mutants, accepted)
}
