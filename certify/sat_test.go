package certify_test

import (
	"math/rand/v2"
	"testing"

	"isovet/certify"
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
	for seed := range uint64(20000) {
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
		got, err := certify.Unsatisfiable(clauses, 0)
		if want := !satisfiable(vars, clauses); err != nil || got != want {
			t.Fatalf("seed %d: %v, %v; expected %v\n%v", seed, got, err, want, clauses)
		}
		if got {
			counts[1]++
		} else {
			counts[0]++
		}
	}
	if min(counts[0], counts[1]) < 2000 {
		t.Errorf("satisfiable, not: %v", counts)
	}
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

func TestUnsatisfiableGivesUp(t *testing.T) {
	if unsat, err := certify.Unsatisfiable(pigeons(5), 0); !unsat || err != nil {
		t.Error(unsat, err)
	}
	if unsat, err := certify.Unsatisfiable(pigeons(9), 100); unsat || err == nil {
		t.Error(unsat, err)
	}
}

func BenchmarkUnsatisfiable(b *testing.B) {
	b.Run("chain=100k", func(b *testing.B) {
		clauses := [][]certify.Lit{{0}}
		for v := certify.Lit(1); v < 100_000; v++ {
			clauses = append(clauses, []certify.Lit{2*v - 1, 2 * v})
		}
		clauses = append(clauses, []certify.Lit{2*99_999 + 1})
		for b.Loop() {
			if unsat, err := certify.Unsatisfiable(clauses, 0); !unsat || err != nil {
				b.Fatal(unsat, err)
			}
		}
	})
	for _, n := range []int{300, 1000} {
		b.Run(map[int]string{300: "random=300", 1000: "random=1000"}[n], func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			vars := n / 8
			var clauses [][]certify.Lit
			for range n {
				var c []certify.Lit
				for range 3 {
					c = append(c, certify.Lit(rng.IntN(2*vars)))
				}
				clauses = append(clauses, c)
			}
			for b.Loop() {
				if unsat, err := certify.Unsatisfiable(clauses, 0); !unsat || err != nil {
					b.Fatal(unsat, err)
				}
			}
		})
	}
}
