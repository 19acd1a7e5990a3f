package predicates

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestSortCells: the radix sort against a plain one, with values of few and of many bits, negative and extreme ones.
func TestSortCells(t *testing.T) {
	randtest.Seeds(t, 200, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		cells := make([]cell, r.IntN(2000))
		low, bits := int64(r.Uint64()), r.IntN(65)
		for i := range cells {
			cells[i] = cell{low + int64(r.Uint64()>>(64-bits)), uint32(i)}
			if bits == 64 && r.IntN(100) == 0 {
				cells[i].n = []int64{math.MinInt64, math.MaxInt64}[r.IntN(2)]
			}
		}
		want := slices.SortedStableFunc(slices.Values(cells), func(a, b cell) int { return cmp.Compare(a.n, b.n) })
		if got := sortCells(cells); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d cells of %d bits are not sorted", seed, len(cells), bits)
		}
	})
}

// TestLike: a row that is read at a glance gives what a row read by definition gives, whatever it has to do with the
// row before.
func TestLike(t *testing.T) {
	rows := []string{
		`{"a":1,"b":-2}`, `{"a":3,"b":4}`, `{"a":3,"b":4,"c":5}`, `{"a":3}`, `{"b":7}`, `{}`,
		`{"a":9223372036854775807,"b":-9223372036854775808}`,
		`{"a":null,"b":4}`, `{"a":3,"b":"4"}`, `{"a":"x\"y","b":1}`, `{"ab":1,"b":2}`, `{"a":true,"b":2}`,
		`{"a":999999999999999999,"b":1}`,
	}
	randtest.Seeds(t, 400, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := history.NewBuilder()
		var order []int
		for range 30 {
			i := r.IntN(len(rows))
			if r.IntN(2) == 0 && len(order) > 0 {
				i = order[len(order)-1] // one like the one before
			}
			order = append(order, i)
		}
		for n, i := range order {
			k := b.Key(history.IntValue(int64(n)))
			b.Write(k, b.RowValue([]byte(rows[i])))
		}
		b.EndTxn(history.NewTxnHead())
		h := must.Get(b.Build())(t)
		n := h.NumVersions()
		blank := func() *decoder {
			cols := []cells{{name: "a"}, {name: "b"}}
			for i := range cols {
				cols[i].kind, cols[i].n = make([]history.ValueKind, n), make([]uint64, n)
			}
			return &decoder{h: h, cols: cols, strID: map[string]int64{}}
		}
		fast, slow := blank(), blank()
		for v := range uint32(n) {
			val := h.VerValue(v)
			if val.Kind != history.Row {
				continue
			}
			fast.decode(v, h.VerKey[v], val)
			slow.row(v, h.VerKey[v], val)
			for c := range fast.cols {
				x, y := &fast.cols[c], &slow.cols[c]
				same := x.kind[v] == y.kind[v] && (x.n[v] == y.n[v] || x.kind[v] == history.String &&
					fast.strs[x.n[v]] == slow.strs[y.n[v]])
				if !same {
					t.Fatalf("seed %d: column %s of %s is %d %d; want %d %d", seed, x.name, h.ValueString(v), x.kind[v],
						x.n[v], y.kind[v], y.n[v])
				}
			}
		}
	})
}

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
