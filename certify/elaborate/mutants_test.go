package elaborate_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/internal/test/must"
	"isovet/level"
)

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
	switch rng.IntN(9) {
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
	case 7:
		if n := len(s.Edges); n > 0 {
			j := rng.IntN(n)
			s.Edges = slices.Delete(s.Edges, j, j+1)
		}
	case 8: // another level alone
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
