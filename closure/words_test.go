package closure

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// randomRun draws a plausible run of n transactions, about overlap of them open at once and the first
// long ones open throughout, with known edges that fit some serial order.
func randomRun(r *rand.Rand, n, overlap, long, edgesPerNode int) Input {
	in := Input{N: n, Start: make([]int64, n), End: make([]int64, n)}
	middle := make([]int64, n)
	for v := range n {
		s := int64(10 * v)
		e := s + 1 + int64(r.IntN(20*overlap))
		if v < long {
			s, e = int64(r.IntN(1+n/10)), int64(10*n+r.IntN(n))
		}
		in.Start[v], in.End[v] = s, e
		middle[v] = s + r.Int64N(e-s+1)
	}
	in.Known = graph.BuildFunc(n, func(emit func(u, v int32)) {
		r := rand.New(rand.NewPCG(uint64(n), 9))
		for u := range n {
			for range edgesPerNode {
				v := min(n-1, u+1+r.IntN(2*overlap+1))
				if r.IntN(50) == 0 {
					v = r.IntN(max(1, 2*long))
				}
				if middle[u] < middle[v] {
					emit(int32(u), int32(v))
				} else if middle[v] < middle[u] {
					emit(int32(v), int32(u))
				}
			}
		}
	})
	return in
}

// TestCompactEqualsWarshallAcrossWords works on graphs of many words a row, where the test against the
// naive twin has one or two.
func TestCompactEqualsWarshallAcrossWords(t *testing.T) {
	seeds := uint64(24)
	if histtest.Long(false, true) {
		seeds = 400
	}
	changes := 0
	randtest.Seeds(t, seeds, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		n := 100 + r.IntN(160)
		in := randomRun(r, n, 1+r.IntN(60), r.IntN(8), r.IntN(3))
		if seed%6 == 5 {
			in.Start, in.End = nil, nil
		}
		w, _, err := Warshall(in, Options{})
		must.Hold(t, err == nil && w != nil, "seed %d: cyclic or %v", seed, err)
		vs := []variant{{KindPurdom, 0}, {KindItaliano, 0}}
		for _, stragglers := range []int{-1, 0, 1 + r.IntN(10), 65 + r.IntN(70), n - r.IntN(2)} {
			vs = append(vs, variant{KindPurdomPlus, stragglers}, variant{KindItalianoPlus, stragglers})
		}
		var ds []Dynamic
		for _, v := range vs {
			d, cycle, err := New(v.kind, in, Options{Stragglers: v.stragglers})
			must.Hold(t, err == nil && cycle == nil, "seed %d, %s: %v, %v", seed, v, cycle, err)
			ds = append(ds, d)
		}
		same := func(when string) {
			t.Helper()
			for i, d := range ds {
				for u := range int32(n) {
					for v := range int32(n) {
						must.Equal(t, d.Reaches(u, v), w.Reaches(u, v), "%d, %s, %s: %d, %d", seed, vs[i], when, u, v)
					}
				}
			}
		}
		same("built")
		for round := range 3 {
			mark := w.Mark()
			for range 25 {
				u, v := int32(r.IntN(n)), int32(r.IntN(n))
				if r.IntN(2) == 0 {
					v = min(int32(n)-1, max(0, u+int32(r.IntN(41))-20))
				}
				changed, cycle := w.AddEdge(u, v, 0)
				if changed {
					changes++
				}
				for i, d := range ds {
					if ch, cy := d.AddEdge(u, v, 0); ch != changed || cy != cycle {
						t.Fatalf("seed %d, %s: AddEdge(%d, %d) = %v, %v", seed, vs[i], u, v, ch, cy)
					}
				}
			}
			same(fmt.Sprint("round ", round))
			if round != 1 {
				w.Undo(mark)
				for _, d := range ds {
					d.Undo(mark)
				}
				same(fmt.Sprint("undone ", round))
			}
		}
	})
	must.Be(t, !histtest.Whole() || changes >= int(seeds), "only %d edges changed anything", changes)
}

// A transaction left open through the whole run must not blow up the compact closure.
func TestStragglersStaySmall(t *testing.T) {
	const n = 100_000
	for _, long := range []int{0, 1, 3, 16, 64} {
		t.Run(fmt.Sprintf("long=%d", long), func(t *testing.T) {
			in := randomRun(rand.New(rand.NewPCG(7, 7)), n, 24, long, 4)
			c, cycle, err := PurdomPlus(in, Options{})
			if err != nil || cycle != nil {
				t.Fatal(cycle, err)
			}
			words := len(c.bits)
			held := 8*words + 4*(len(c.rank)+len(c.sure)+len(c.reachHi)) + 16*len(c.rows)
			t.Logf("%d stragglers, %d words, %.1f MB", c.stragglers, words, float64(held)/1e6)
			must.Be(t, int(c.stragglers) >= long, "%d stragglers, want at least %d", c.stragglers, long)
			// Two wide bit rows for each long transaction, 50 bytes for each other one.
			if limit := 2*long*n/8 + 50*n; held > limit {
				t.Errorf("%d bytes, want at most %d", held, limit)
			}
			if long == 0 {
				return
			}
			// Updates around a long transaction, then back.
			mark := c.Mark()
			r := rand.New(rand.NewPCG(8, 8))
			type question struct{ u, v int32 }
			var asked []question
			var answers []bool
			for range 2000 {
				q := question{int32(r.IntN(n)), int32(r.IntN(n))}
				if r.IntN(2) == 0 {
					q.v = int32(r.IntN(long))
				}
				asked, answers = append(asked, q), append(answers, c.Reaches(q.u, q.v))
			}
			added := 0
			for range 300 {
				u := int32(r.IntN(n))
				v := int32(r.IntN(long))
				if r.IntN(2) == 0 {
					u, v = v, u
				}
				if _, cycle := c.AddEdge(u, v, 0); !cycle {
					added++
					must.Hold(t, c.Reaches(u, v) && !c.Reaches(v, u), "after %d → %d", u, v)
				}
			}
			must.Be(t, added >= 10, "only %d edges could be added", added)
			c.Undo(mark)
			for i, q := range asked {
				must.Equal(t, c.Reaches(q.u, q.v), answers[i], "Reaches(%d, %d) after add and undo", q.u, q.v)
			}
			must.Equal(t, len(c.bits), words, "words")
		})
	}
}
