package elaborate_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestMutants: proofs, and the histories they are about, are changed at random: the order, a step, the level, what was
// found, what a predicate is true of, a value, a session. None is accepted that brute force calls wrong, of the changed
// history in the kernel's terms; which are those of the history (TestBruteForce).
func TestMutants(t *testing.T) {
	want := mutations(3000)
	rng := rand.New(rand.NewPCG(11, 12))
	mutants, open, byVerdict := 0, 0, map[evidence.Verdict]int{}
	for seed := uint64(0); mutants < want; seed++ {
		h := random.Tiny(seed, options(seed))
		for _, l := range six {
			r := answer(t, h, l)
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
				if r.Verdict == evidence.Holds && at.Serial() != l.Serial() {
					continue
				}
				k := must.Get(elaborate.Level(at))(t)
				mutants++
				g := changed(rng, p.History)
				ok := false
				if r.Verdict == evidence.Holds {
					ok = changedOrder(rng, g, k, slices.Clone(p.Order))
				} else {
					ok = mutantSteps(t, rng, g, at, slices.Clone(p.Steps))
				}
				if !ok {
					continue
				}
				byVerdict[r.Verdict]++
				holds, known := bruteHolds(k, g)
				if !known {
					open++
				} else if holds != (r.Verdict == evidence.Holds) {
					var file bytes.Buffer
					must.OK(t, kernel.WriteFile(&file, at.String(), kernel.All(g), nil, nil, nil))
					t.Fatalf("seed %d: a proof of %s at %s is accepted, brute force says otherwise\n%s", seed,
						r.Verdict, at, file.Bytes())
				}
			}
		}
	}
	valid, violated := byVerdict[evidence.Holds], byVerdict[evidence.Violated]
	must.Be(t, open*50 <= valid+violated && valid >= want/50 && violated >= want/50,
		"accepted: %v; brute force gave up on %d", byVerdict, open)
	t.Logf("%d mutants; accepted, and right: %v; given up: %d", mutants, byVerdict, open)
}

// written is a history written out.
func written(h kernel.Txns) *kernel.History {
	g := &kernel.History{Init: map[uint32]kernel.Cell{}}
	_, keys, _ := h.Size()
	for k := uint32(1); k <= keys; k++ {
		if c := h.Init(k); len(c) > 0 {
			g.Init[k] = slices.Clone(c)
		}
	}
	preds := map[*kernel.Pred]*kernel.Pred{}
	h.Heads(func(head *kernel.Txn) bool {
		t := *h.Txn(head.ID)
		t.Ops = slices.Clone(t.Ops)
		for i := range t.Ops {
			o := &t.Ops[i]
			o.Cell = slices.Clone(o.Cell)
			if o.Kind != kernel.Search {
				continue
			}
			p := o.Match.Pred
			if preds[p] == nil {
				preds[p] = &kernel.Pred{Name: p.Name, Cells: cloned(p.Cells), Maybe: cloned(p.Maybe)}
			}
			o.Match = &kernel.Match{Pred: preds[p], Keys: slices.Clone(o.Match.Keys)}
		}
		g.Txns = append(g.Txns, t)
		return true
	})
	return g
}

// changed is a history written out, in two of three cases changed in one place.
func changed(rng *rand.Rand, h kernel.Txns) *kernel.History {
	g := written(h)
	_, keys, _ := h.Size()
	var all []*kernel.Op
	var cells []kernel.Cell
	for k := uint32(1); k <= keys; k++ {
		cells = append(cells, g.Init[k])
	}
	for i := range g.Txns {
		for j := range g.Txns[i].Ops {
			all = append(all, &g.Txns[i].Ops[j])
			cells = append(cells, g.Txns[i].Ops[j].Cell)
		}
	}
	if len(all) == 0 || rng.IntN(3) == 0 {
		return g
	}
	o := all[rng.IntN(len(all))]
	for range 10 { // a search, mostly
		if o.Kind == kernel.Search {
			break
		}
		o = all[rng.IntN(len(all))]
	}
	key := 1 + rng.Uint32N(max(keys, 1))
	switch t := &g.Txns[rng.IntN(len(g.Txns))]; rng.IntN(8) {
	case 0:
		t.Session = 1 + rng.Uint32N(3)
	case 1:
		t.Committed = !t.Committed
	case 2, 3:
		if o.Kind == kernel.Search {
			if i := slices.Index(o.Match.Keys, key); i >= 0 {
				o.Match.Keys = slices.Delete(o.Match.Keys, i, i+1)
			} else {
				o.Match.Keys = append(o.Match.Keys, key)
			}
		} else {
			o.Key = key
		}
	case 4, 5:
		if o.Kind == kernel.Search {
			to := o.Match.Pred.Cells
			if rng.IntN(2) == 0 {
				to = o.Match.Pred.Maybe
			}
			if n := len(to[key]); n > 0 && rng.IntN(2) == 0 {
				to[key] = to[key][:n-1]
			} else {
				to[key] = append(to[key], cells[rng.IntN(len(cells))])
			}
		}
	case 6:
		if o.Kind != kernel.Search {
			o.Cell = cells[rng.IntN(len(cells))]
		}
	case 7:
		t.Began, t.NoEnd = rng.Uint64N(20), rng.IntN(2) == 0
		t.Ended = t.Began + rng.Uint64N(5)
	}
	return g
}

func cloned(m map[uint32][]kernel.Cell) map[uint32][]kernel.Cell {
	m = maps.Clone(m)
	for k := range m {
		m[k] = slices.Clone(m[k])
	}
	return m
}

// changedOrder reports whether the kernel accepts an order that is changed in one place, or as it is.
func changedOrder(rng *rand.Rand, h *kernel.History, l kernel.Level, order []uint32) bool {
	if len(order) == 0 {
		return false
	}
	order = misplaced(rng, order)
	if l.Serial {
		return kernel.CheckSerial(l, kernel.All(h), order).Outcome == kernel.Proved
	}
	var events []kernel.Event
	begun := map[uint32]bool{}
	for _, t := range order {
		events = append(events, kernel.Event{Commit: begun[t], Txn: t})
		begun[t] = true
	}
	return kernel.CheckSnapshot(l, kernel.All(h), events).Outcome == kernel.Proved
}

// TestBruteForce: what brute force says of histories in the kernel's terms is what isovet says.
func TestBruteForce(t *testing.T) {
	n := map[evidence.Verdict]int{}
	for seed := range seeds(150) {
		h := random.Tiny(seed, options(seed))
		for _, l := range []level.Level{six[seed%6], six[(seed+3)%6]} {
			r := answer(t, h, l)
			if r.Verdict == evidence.Unknown || h.NumTxns() == 0 {
				continue
			}
			p, err := elaborate.Prove(r, elaborate.Options{})
			if errors.As(err, new(*elaborate.Unsupported)) {
				continue
			} else if err != nil {
				t.Fatal(seed, l, err)
			}
			k, _ := elaborate.Level(l)
			holds, known := bruteHolds(k, written(p.History))
			if !known {
				continue
			}
			n[r.Verdict]++
			if holds != (r.Verdict == evidence.Holds) {
				var file strings.Builder
				p.Write(&file)
				t.Fatalf("seed %d, %s: %s, by brute force %t\n%s", seed, l, r.Verdict, holds, file.String())
			}
		}
	}
	if n[evidence.Holds] < 20 || n[evidence.Violated] < 20 {
		t.Error(n)
	}
	t.Log(n)
}
