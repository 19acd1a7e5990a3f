package proofs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// What the kernel's definitions of the weak levels allow is what brute force by docs/levels.md allows: of each tiny
// history some order is accepted, among all orders, if and only if brute force finds one.
func TestWeakLevels(t *testing.T) {
	program := kernel(t)
	file := filepath.Join(t.TempDir(), "h.txt")
	valid, invalid := 0, 0
	for seed := range uint64(60) {
		text, kernelText, saw, n := tiny(seed)
		h := oracletest.Parse(text)
		for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal} {
			r := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			accepted := false
			for _, order := range permutations(n) {
				in := fmt.Sprintf("isovet-kernel 1\nlevel %s\n%sorder %s\n%s", l, kernelText, order, saw)
				must.OK(t, os.WriteFile(file, []byte(in), 0o644))
				out, code := run(t, program, file)
				must.Hold(t, code != 254, "%s\n%s", out, in)
				if accepted = code == 0; accepted {
					break
				}
			}
			if accepted != (r.Verdict == evidence.Holds) {
				t.Errorf("seed %d, %s: brute force says %s, some order accepted: %v\n%s", seed, l, r.Verdict,
					accepted, text)
			}
			if accepted {
				valid++
			} else {
				invalid++
			}
		}
	}
	must.Be(t, valid >= 20 && invalid >= 20, "%d valid and %d violating; expected 20 of each at least", valid, invalid)
}

// tiny makes a history of at most four transactions over two keys in which no value is written twice, as oracletest
// reads it and as the kernel does, and from whom the reads of each are.
func tiny(seed uint64) (text, kernelText, saw string, n int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	n = 2 + rng.IntN(3)
	type write struct{ txn, value int }
	written := [2][]write{{{0, 0}}, {{0, 0}}}
	ops := make([][]string, n+1)
	kinds := make([][]int, n+1) // of each operation: its key, and 2 more for a write
	for i := 1; i <= n; i++ {
		last := map[int]int{}
		for range 1 + rng.IntN(3) {
			kind := rng.IntN(4)
			kinds[i] = append(kinds[i], kind)
			if kind >= 2 {
				last[kind-2] = 10*i + len(kinds[i])
			}
		}
		for k, v := range last { // nobody else sees any other
			written[k] = append(written[k], write{i, v})
		}
	}
	var t, k, s strings.Builder
	k.WriteString("init 1 1\ninit 2 1\n")
	for i := 1; i <= n; i++ {
		session := 1 + rng.IntN(n)
		fmt.Fprintf(&k, "txn %d committed %d 0\n", i, session)
		own := map[int]int{}
		var from []string
		for at, kind := range kinds[i] {
			key := kind % 2
			if kind >= 2 {
				own[key] = 10*i + at + 1
				ops[i] = append(ops[i], fmt.Sprintf("w(k%d,%d)", key, own[key]))
				fmt.Fprintf(&k, "w %d %d\n", key+1, own[key]+1)
				continue
			}
			v, mine := own[key]
			if !mine {
				others := slices.DeleteFunc(slices.Clone(written[key]), func(w write) bool { return w.txn == i })
				w := others[rng.IntN(len(others))]
				v = w.value
				from = append(from, fmt.Sprint(w.txn))
			}
			ops[i] = append(ops[i], fmt.Sprintf("r(k%d,%d)", key, v))
			fmt.Fprintf(&k, "r %d %d\n", key+1, v+1)
		}
		fmt.Fprintf(&t, "T%d s%d: %s\n", i, session, strings.Join(ops[i], " "))
		fmt.Fprintf(&s, "saw %d %s\n", i, strings.Join(from, " "))
	}
	return t.String(), k.String(), s.String(), n
}

// permutations are the orders of 1 to n, with blanks between.
func permutations(n int) []string {
	orders := [][]int{{}}
	for i := 1; i <= n; i++ {
		var longer [][]int
		for _, o := range orders {
			for at := range len(o) + 1 {
				longer = append(longer, slices.Insert(slices.Clone(o), at, i))
			}
		}
		orders = longer
	}
	return slice.Map(orders, func(o []int) string { return strings.Trim(fmt.Sprint(o), "[]") })
}
