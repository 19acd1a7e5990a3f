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
	"isovet/evidence"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
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

// dropOne removes one element of those that there are.
func dropOne[S ~[]T, T any](rng *rand.Rand, s *S) {
	if n := len(*s); n > 0 {
		i := rng.IntN(n)
		*s = slices.Delete(*s, i, i+1)
	}
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
		dropOne(rng, &s.Clause)
	case 5:
		if n := len(s.Hints); n > 0 {
			s.Hints[rng.IntN(n)] = 1 + rng.IntN(len(steps))
		}
	case 6:
		if s.Via = append(s.Via, small()); rng.IntN(2) == 0 {
			s.Via = s.Via[1:]
		}
	case 7:
		dropOne(rng, &s.Edges)
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

// TestWeakRefutationMutants: refutations at the weak levels are changed in one place, or said of another level. None is
// accepted of what brute force says holds, and the extracted kernel says the same as its port.
func TestWeakRefutationMutants(t *testing.T) {
	want := mutations(3000)
	rng := rand.New(rand.NewPCG(7, 8))
	mutants, accepted, refused := 0, 0, 0
	for seed := uint64(0); mutants < want; seed++ {
		h := random.Tiny(seed, options(seed&15))
		truth := map[level.Level]evidence.Verdict{}
		for _, l := range weakLevels {
			r := answer(t, h, l)
			if r.Verdict != evidence.Violated {
				continue
			}
			p, err := elaborate.Prove(r, elaborate.Options{})
			if err != nil {
				t.Fatal(seed, l, err)
			}
			for range 16 {
				at := l
				if rng.IntN(4) == 0 {
					at = weakLevels[rng.IntN(3)]
				}
				steps := slices.Clone(p.Steps)
				proved := weakMutant(t, rng, p.Scene, at, &steps)
				if at == l && same(steps, p.Steps) {
					continue
				}
				mutants++
				if !proved {
					refused++
					continue
				}
				accepted++
				if truth[at] == evidence.Unknown {
					is := must.Get(oracle.Check(h, oracle.Options{Level: at, VerdictOnly: true}))(t)
					truth[at] = is.Verdict
				}
				must.Hold(t, truth[at] != evidence.Holds,
					"seed %d: a refutation of %s is accepted, brute force says that it holds", seed, at)
			}
		}
	}
	must.Be(t, accepted >= mutants/20 && refused >= mutants/20,
		"of %d mutants %d accepted, %d refused", mutants, accepted, refused)
	t.Logf("%d mutants, %d of them accepted, and right", mutants, accepted)
}

func same(a, b []kernel.Step) bool {
	return slices.EqualFunc(a, b, func(x, y kernel.Step) bool { return kernel.Text(&x) == kernel.Text(&y) })
}

// weakMutant reports whether the kernel accepts a refutation of which one step is changed; of some the extracted one is
// asked too.
func weakMutant(t *testing.T, rng *rand.Rand, h *kernel.History, at level.Level, mutant *[]kernel.Step) bool {
	steps := *mutant
	v := map[level.Level]kernel.Weak{level.ReadCommitted: kernel.ReadCommitted, level.ReadAtomic: kernel.ReadAtomic,
		level.Causal: kernel.Causal}[at]
	i := rng.IntN(len(steps))
	s := &steps[i]
	s.Edges, s.Clause, s.Hints = slices.Clone(s.Edges), slices.Clone(s.Clause), slices.Clone(s.Hints)
	s.Links = slices.Clone(s.Links)
	for j := range s.Edges {
		s.Edges[j].Links = slices.Clone(s.Edges[j].Links)
	}
	small := func() uint32 { return 1 + uint32(rng.IntN(6)) }
	var edge *kernel.Edge
	links := &s.Links
	if n := len(s.Edges); n > 0 {
		edge = &s.Edges[rng.IntN(n)]
		links = &edge.Links
	}
	switch rng.IntN(8) {
	case 0:
		steps = slices.Delete(steps, i, i+1)
		*mutant = steps
	case 1:
		*[]*uint32{&s.T, &s.U, &s.K, &s.W}[rng.IntN(4)] = small()
	case 2:
		if edge != nil {
			*[]*uint32{&edge.T, &edge.K, &edge.W, &edge.U}[rng.IntN(4)] = small()
		}
	case 3:
		if n := len(*links); n > 0 {
			l := &(*links)[rng.IntN(n)]
			*[]*uint32{&l.T, &l.I, &l.W}[rng.IntN(3)] = small()
		}
	case 4:
		if len(*links) > 0 {
			dropOne(rng, links)
		} else {
			dropOne(rng, &s.Edges)
		}
	case 5:
		dropOne(rng, &s.Clause)
	case 6:
		if n := len(s.Hints); n > 0 {
			s.Hints[rng.IntN(n)] = 1 + rng.IntN(len(steps))
		}
	case 7: // another level alone
	}
	k, ok := kernel.NewWeakRefuter(v, h)
	if !ok {
		return false
	}
	_, proved := k.Refutes(steps)
	agrees(t, rng, at, h, steps, proved)
	return proved
}
