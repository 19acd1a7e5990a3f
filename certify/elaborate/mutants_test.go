package elaborate_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestMutants: proofs are changed at random, and none is accepted whose verdict brute force calls wrong. What is
// changed is the order, a step of the refutation, the level, or the history whose proof it is claimed to be.
func TestMutants(t *testing.T) {
	want := mutations(3000)
	rng := rand.New(rand.NewPCG(1, 2))
	mutants, accepted := 0, 0
	for seed := uint64(0); mutants < want; seed++ {
		o := options(seed)
		o.Predicates = false // brute force takes long; see TestPredicateMutants
		h := random.Tiny(seed, o)
		truth := map[level.Level]evidence.Verdict{}
		results := map[level.Level]*evidence.Result{}
		for _, l := range six {
			r := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
			truth[l], results[l] = r.Verdict, r
		}
		for _, l := range six {
			r := results[l]
			if r.Verdict == evidence.Unknown {
				continue
			}
			p, err := elaborate.Prove(r, elaborate.Options{})
			if errors.As(err, new(*elaborate.Unsupported)) {
				continue
			} else if err != nil {
				t.Fatal(seed, l, err)
			}
			for range 12 {
				at := l
				if rng.IntN(4) == 0 {
					at = six[rng.IntN(len(six))]
				}
				if truth[at] == evidence.Unknown || r.Verdict == evidence.Holds && at.Serial() != l.Serial() {
					continue
				}
				mutants++
				ok := false
				if r.Verdict == evidence.Holds {
					ok = mutantOrder(rng, r, at, slices.Clone(p.Order))
				} else {
					ok = mutantSteps(t, rng, p.Scene, at, slices.Clone(p.Steps))
				}
				if !ok {
					continue
				}
				accepted++
				if truth[at] != r.Verdict {
					t.Fatalf("seed %d: a proof of %s at %s is accepted, brute force says %s", seed, r.Verdict, at,
						truth[at])
				}
			}
		}
	}
	t.Logf("%d mutants, %d of them accepted, and right", mutants, accepted)
}

// mutations is how many mutants there are: few, 100,000 with ISOVET_LONG, or as many as ISOVET_KERNEL_MUTANTS says.
func mutations(few int) int {
	if n, err := strconv.Atoi(os.Getenv("ISOVET_KERNEL_MUTANTS")); err == nil {
		return n
	}
	if os.Getenv("ISOVET_LONG") != "" {
		return 100_000
	}
	return few
}

// misplaced is an order that is changed in one place, or as it is. It overwrites order.
func misplaced(rng *rand.Rand, order []uint32) []uint32 {
	i, j := rng.IntN(len(order)), rng.IntN(len(order))
	switch rng.IntN(4) {
	case 0:
		order[i], order[j] = order[j], order[i]
	case 1:
		order = slices.Delete(order, i, i+1)
	case 2:
		order[i] = order[j]
	}
	return order
}

// mutantOrder reports whether the kernel accepts an order that is changed in one place.
func mutantOrder(rng *rand.Rand, r *evidence.Result, at level.Level, order []uint32) bool {
	if len(order) == 0 {
		return false
	}
	order = misplaced(rng, order)
	// a certificate with that order: the kernel reads events by how often a transaction came before
	x := *r
	x.Level = at
	x.Order = x.Order[:0:0]
	begun := map[uint32]bool{}
	for _, t := range order {
		switch {
		case at.Serial():
			x.Order = append(x.Order, t-1)
		case begun[t]:
			x.Order = append(x.Order, (t-1)<<1|1)
		default:
			begun[t] = true
			x.Order = append(x.Order, (t-1)<<1)
		}
	}
	_, err := elaborate.Prove(&x, elaborate.Options{})
	return err == nil
}

// mutantSteps reports whether the kernel accepts a refutation of which one step is changed; of some the extracted one
// is asked too.
func mutantSteps(t *testing.T, rng *rand.Rand, h *kernel.History, at level.Level, steps []kernel.Step) bool {
	l, err := elaborate.Level(at)
	if err != nil {
		return false
	}
	i := rng.IntN(len(steps))
	s := &steps[i]
	s.Edges, s.Clause, s.Hints = slices.Clone(s.Edges), slices.Clone(s.Clause), slices.Clone(s.Hints)
	s.Via = slices.Clone(s.Via)
	small := func() uint32 { return uint32(rng.IntN(6)) }
	switch rng.IntN(8) {
	case 0:
		steps = slices.Delete(steps, i, i+1)
	case 1:
		s.Kind = kernel.StepKind(rng.IntN(6))
	case 2:
		if len(s.Edges) > 0 {
			s.Edges[rng.IntN(len(s.Edges))].Kind = kernel.EdgeKind(rng.IntN(7))
		}
	case 3:
		if len(s.Edges) > 0 {
			e := &s.Edges[rng.IntN(len(s.Edges))]
			*[]*uint32{&e.T, &e.K, &e.W, &e.U, &e.E, &e.F}[rng.IntN(6)] = small()
		} else {
			*[]*uint32{&s.T, &s.U, &s.K, &s.W, &s.Atom.T, &s.Atom.W}[rng.IntN(6)] = small()
		}
	case 4:
		if n := len(s.Clause); n > 0 {
			s.Clause = slices.Delete(s.Clause, n-1, n)
		}
	case 5:
		if n := len(s.Hints); n > 0 {
			s.Hints[rng.IntN(n)] = 1 + rng.IntN(len(steps))
		}
	case 6:
		if s.Via = append(s.Via, small()); rng.IntN(2) == 0 {
			s.Via = s.Via[1:]
		}
	case 7: // another level alone
	}
	k, ok := kernel.NewRefuter(l, h)
	if !ok {
		return false
	}
	_, proved := k.Refutes(steps)
	agrees(t, rng, at, h, steps, proved)
	return proved
}

// agrees asks the extracted kernel, where there is one, about a refutation in twenty: it says what the port says.
func agrees(t *testing.T, rng *rand.Rand, at level.Level, h *kernel.History, steps []kernel.Step, proved bool) {
	if extracted == "" || len(steps) == 0 || rng.IntN(20) > 0 {
		return
	}
	var file bytes.Buffer
	must.OK(t, kernel.WriteFile(&file, at.String(), kernel.All(h), nil, nil, steps))
	out := ask(file.Bytes())
	if strings.HasSuffix(out, "expected a number from 1 on\n") { // a file has no 0 there
		return
	}
	if strings.HasPrefix(out, "VERIFIED") != proved {
		t.Fatalf("the port says %t, the kernel %s%s", proved, out, file.Bytes())
	}
}

// TestChangedHistories: a proof is not accepted for another history: an order is judged on the history that it is given
// with, whatever its values.
func TestChangedHistories(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 0
	for seed := range seeds(150) {
		h := random.Tiny(seed, options(seed&^32))
		if h.NumOps() == 0 || h.HasLists() {
			continue
		}
		for _, l := range six {
			r := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
			if r.Verdict != evidence.Holds {
				continue
			}
			// one read is of another version of its key
			g := *h
			g.Ops.Ver = slices.Clone(h.Ops.Ver)
			op := rng.IntN(h.NumOps())
			if h.Ops.Kind[op] != history.Read {
				continue
			}
			key := h.OpKey(uint32(op))
			var other []uint32
			for v, k := range h.VerKey {
				if k == key {
					other = append(other, uint32(v))
				}
			}
			g.Ops.Ver[op] = other[rng.IntN(len(other))]
			x := *r
			x.H = &g
			if _, err := elaborate.Prove(&x, elaborate.Options{}); err != nil {
				continue
			}
			n++
			if is, err := oracle.Check(&g, oracle.Options{Level: l}); err != nil {
				t.Fatal(err)
			} else if is.Verdict == evidence.Violated {
				t.Fatalf("seed %d: an order is accepted at %s, brute force says it is a violation", seed, l)
			}
		}
	}
	if n == 0 {
		t.Error("no changed history was accepted; expected those with the version that was there")
	}
}
