package predicates

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
)

// TestNarrow: a column of integers alone is the same by words as by cells.
func TestNarrow(t *testing.T) {
	defer func(old int) { minNarrow = old }(minNarrow)
	randtest.Seeds(t, 1000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := r.IntN(600)
		spread := []int64{1, 3, 1000, 1 << 31, 1 << 32, 1 << 40}[r.IntN(6)]
		from := cells{name: "a"}
		there, rows := make([]bool, n), 0
		for i := range n {
			if there[i] = r.IntN(4) > 0; there[i] {
				rows++
				from.kind = append(from.kind, history.Int)
				from.n = append(from.n, uint64(r.Int64N(2*spread)-spread))
			}
		}
		if rows > 0 && r.IntN(4) == 0 {
			from.kind[r.IntN(rows)] = history.Null
		}
		var d decoder
		minNarrow = n + 1
		again := cells{from.name, slices.Clone(from.kind), slices.Clone(from.n)}
		want := d.rank(&from, there, rows)
		minNarrow = 1
		if got := d.rank(&again, there, rows); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\n%+v", got, want)
		}
	})
}

// TestDerivedRanks: ranks that are not kept are those that would be.
func TestDerivedRanks(t *testing.T) {
	defer func(old int) { minDerived = old }(minDerived)
	derived := 0
	randtest.Seeds(t, 1000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.IntN(600)
		spread := []int64{1000, 30_000, 1 << 40}[r.IntN(3)]
		from := cells{name: "a"}
		there, rows := make([]bool, n), 0
		for i := range n {
			if there[i] = r.IntN(9) > 0; there[i] {
				rows++
				from.kind, from.n = append(from.kind, history.Int), append(from.n, uint64(r.Int64N(spread)))
			}
		}
		var d decoder
		again := cells{from.name, slices.Clone(from.kind), slices.Clone(from.n)}
		minDerived = n + 1
		want := d.rank(&from, there, rows)
		minDerived = 0
		got := d.rank(&again, there, rows)
		if got.rank == nil {
			derived++
		}
		for item := range uint32(n) {
			if got.rankOf(item) != want.rank[item] {
				t.Fatalf("item %d: rank %d; want %d", item, got.rankOf(item), want.rank[item])
			}
		}
	})
	if randtest.Whole() && derived < 300 {
		t.Errorf("only %d columns had their ranks derived", derived)
	}
}
