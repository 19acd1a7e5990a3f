package certify_test

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

func satisfiable(vars int, clauses [][]certify.Lit) bool {
	for m := range 1 << vars {
		all := true
		for _, c := range clauses {
			some := false
			for _, l := range c {
				some = some || m>>(l/2)&1 == int(1-l&1)
			}
			all = all && some
		}
		if all {
			return true
		}
	}
	return false
}

func TestUnsatisfiable(t *testing.T) {
	var counts [2]int
	randtest.Values(t, 20000, func(seed uint64) [][]certify.Lit {
		rng := rand.New(rand.NewPCG(seed, 5))
		vars := 1 + rng.IntN(9)
		clauses := make([][]certify.Lit, rng.IntN(5*vars))
		for i := range clauses {
			for range rng.IntN(4) + rng.IntN(2) {
				clauses[i] = append(clauses[i], certify.Lit(rng.IntN(2*vars)))
			}
			if len(clauses[i]) == 0 && rng.IntN(10) > 0 {
				clauses[i] = append(clauses[i], 0)
			}
		}
		return clauses
	}, func(t testing.TB, seed uint64, clauses [][]certify.Lit) {
		vars := 0
		for _, c := range clauses {
			for _, l := range c {
				vars = max(vars, int(l/2)+1)
			}
		}
		got, err := certify.Unsatisfiable(clauses, certify.Options{})
		if want := !satisfiable(vars, clauses); err != nil || got != want {
			t.Fatalf("seed %d: %v, %v; expected %v\n%v", seed, got, err, want, clauses)
		}
		if got {
			counts[1]++
		} else {
			counts[0]++
		}
	})
	must.Be(t, !randtest.Whole() || min(counts[0], counts[1]) >= 2000, "satisfiable, not: %v", counts)
}

// pigeons says that n+1 pigeons sit in n holes, one in each at most: hard for any search without counting.
func pigeons(n int) (clauses [][]certify.Lit) {
	sits := func(p, h int) certify.Lit { return certify.Lit(2 * (p*n + h)) }
	for p := range n + 1 {
		var c []certify.Lit
		for h := range n {
			c = append(c, sits(p, h))
			for q := range p {
				clauses = append(clauses, []certify.Lit{sits(p, h).Not(), sits(q, h).Not()})
			}
		}
		clauses = append(clauses, c)
	}
	return clauses
}

func TestUnsatisfiableHard(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 7} {
		if unsat, err := certify.Unsatisfiable(pigeons(n), certify.Options{}); !unsat || err != nil {
			t.Errorf("%d pigeons in %d holes: %v, %v", n+1, n, unsat, err)
		}
	}
	if unsat, err := certify.Unsatisfiable(pigeons(9), certify.Options{MaxConflicts: 100}); unsat || !errors.Is(err,
		certify.ErrGaveUp) {
		t.Error(unsat, err)
	}
	if unsat, err := certify.Unsatisfiable(pigeons(11), certify.Options{Stop: func() bool { return true }}); unsat ||
		!errors.Is(err, certify.ErrStopped) {
		t.Error(unsat, err)
	}
}

// TestUnsatisfiableParity: every vertex of a random graph of degree three demands a parity of its edges. There is a
// solution if and only if the parities of all vertices add up to an even number (Tseitin 1968), and no small resolution
// proof otherwise.
func TestUnsatisfiableParity(t *testing.T) {
	randtest.Seeds(t, 60, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 6))
		n := 2 * (2 + rng.IntN(8))
		ends := make([]int, 3*n)
		for i := range ends {
			ends[i] = i / 3
		}
		rng.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
		at := make([][]certify.Lit, n) // a loop adds nothing to its vertex
		for e := 0; e < len(ends); e += 2 {
			if a, b := ends[e], ends[e+1]; a != b {
				at[a], at[b] = append(at[a], certify.Lit(e)), append(at[b], certify.Lit(e))
			}
		}
		comp := components(n, ends)
		odd := make([]int, n) // by component
		var clauses [][]certify.Lit
		for v, edges := range at {
			want := rng.IntN(2)
			odd[comp[v]] ^= want
			for m := range 1 << len(edges) { // the assignment m is forbidden if it has the wrong parity
				if bits.OnesCount(uint(m))%2 == want {
					continue
				}
				c := []certify.Lit{}
				for i, l := range edges {
					c = append(c, l^certify.Lit(m>>i&1))
				}
				clauses = append(clauses, c)
			}
		}
		want := slices.Contains(odd, 1)
		if got, err := certify.Unsatisfiable(clauses, certify.Options{}); err != nil || got != want {
			t.Fatalf("seed %d: %v, %v; expected %v", seed, got, err, want)
		}
	})
}

// components numbers the vertices' connected components by one vertex of each.
func components(n int, ends []int) []int {
	comp := make([]int, n)
	for v := range comp {
		comp[v] = v
	}
	for range n {
		for e := 0; e < len(ends); e += 2 {
			m := min(comp[ends[e]], comp[ends[e+1]])
			comp[ends[e]], comp[ends[e+1]] = m, m
		}
	}
	return comp
}

// TestUnsatisfiablePlanted: random 3-SAT at the hard ratio, too large for brute force. With a solution planted it is
// never refuted; without, a formula said to be satisfiable stays so when clauses are taken away, and one refuted when
// they are doubled, reversed and renamed.
func TestUnsatisfiablePlanted(t *testing.T) {
	var counts [2]int
	randtest.Seeds(t, 60, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 8))
		vars := 60 + rng.IntN(60)
		solution := rng.Perm(2 * vars)
		planted := seed%2 == 0
		var clauses [][]certify.Lit
		for len(clauses) < vars*426/100 {
			c := []certify.Lit{}
			good := false
			for range 3 {
				v := rng.IntN(vars)
				sign := rng.IntN(2)
				c = append(c, certify.Lit(2*v+sign))
				good = good || solution[v]&1 == sign
			}
			if good || !planted {
				clauses = append(clauses, c)
			}
		}
		got, err := certify.Unsatisfiable(clauses, certify.Options{})
		if err != nil || got && planted {
			t.Fatalf("seed %d: %v, %v", seed, got, err)
		}
		other := make([][]certify.Lit, 0, 2*len(clauses))
		for _, c := range clauses {
			d := slices.Clone(c)
			slices.Reverse(d)
			for i, l := range d {
				d[i] = certify.Lit(2*vars-1) - l
			}
			other = append(other, d, append(slices.Clone(d), d[0]))
		}
		rng.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		if again, err := certify.Unsatisfiable(other, certify.Options{}); err != nil || again != got {
			t.Fatalf("seed %d: %v, then, told otherwise, %v, %v", seed, got, again, err)
		}
		if got {
			counts[1]++
		} else {
			counts[0]++
			if got, err := certify.Unsatisfiable(clauses[:len(clauses)/2], certify.Options{}); got || err != nil {
				t.Fatalf("seed %d: half of a satisfiable formula: %v, %v", seed, got, err)
			}
		}
	})
	must.Be(t, !randtest.Whole() || min(counts[0], counts[1]) >= 5, "satisfiable, not: %v", counts)
}
