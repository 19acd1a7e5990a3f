// Package ground has the tests of small packages of the ground floor: a program for each would cost more to link.
package ground

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/internal/atomicfile"
	"isovet/internal/bounds"
	"isovet/internal/ddmin"
	"isovet/internal/heap"
	"isovet/internal/keyed"
	"isovet/internal/pattern"
	"isovet/internal/plural"
	"isovet/internal/saved"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/internal/test/histtest/collide"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestAtomicfileEnd replaces a file that only its owner may read, through a symbolic link.
func TestAtomicfileEnd(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	must.OK(t, os.WriteFile(file, []byte("old"), 0o600))
	must.OK(t, os.Symlink(file, link))
	f := must.Get(atomicfile.Create(link))(t)
	must.Get(f.WriteString("new"))(t)
	must.OK(t, atomicfile.End(f, link, false, nil))
	st := must.Get(os.Lstat(file))(t)
	if b := must.Get(os.ReadFile(file))(t); string(b) != "new" || st.Mode() != 0o600 {
		t.Errorf("the file holds %q, mode %v; expected new, -rw-------", b, st.Mode())
	}
	if st := must.Get(os.Lstat(link))(t); st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v", st.Mode())
	}
	if left := must.Get(os.ReadDir(filepath.Dir(file)))(t); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestBoundsSet(t *testing.T) {
	x := 5
	bounds.Register("test.x", &x)
	restore := bounds.Set("test.x", 1)
	if x != 1 || !slices.Contains(bounds.Names(), "test.x") {
		t.Errorf("set to %d, names %v", x, bounds.Names())
	}
	if restore(); x != 5 {
		t.Errorf("set back to %d", x)
	}
	for name, f := range map[string]func(){"twice": func() { bounds.Register("test.x", &x) }, "unknown": func() {
		bounds.Set("test.y", 1)
	}} {
		func() {
			defer func() {
				must.Be(t, recover() != nil, "%s: no panic", name)
			}()
			f()
		}()
	}
}

// TestDdminSweep: of random lists, of which random things must stay, some only together with others, what is left is
// what must stay; and of long lists few tries are needed.
func TestDdminSweep(t *testing.T) {
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(200)
		there, needed := make([]bool, n), make([]bool, n)
		for i := range n {
			there[i], needed[i] = true, rng.IntN(20) == 0
		}
		tries := 0
		ddmin.Sweep(n, func(i int) bool { return there[i] }, func(run []int) bool {
			tries++
			for _, i := range run {
				must.Hold(t, there[i], "seed %d: %d is tried though it went", seed, i)
				if needed[i] {
					return false
				}
			}
			for _, i := range run {
				there[i] = false
			}
			return true
		}, func() bool { return false })
		for i := range n {
			if there[i] != needed[i] {
				t.Fatalf("seed %d: %d there: %v; must stay: %v", seed, i, there[i], needed[i])
			}
		}
		must.Hold(t, tries <= 4*n+4, "seed %d: %d tries for %d things", seed, tries, n)
	})
	there, tries := make([]bool, 10_000), 0
	for i := range there {
		there[i] = true
	}
	ddmin.Sweep(len(there), func(i int) bool { return there[i] }, func(run []int) bool {
		tries++
		for _, i := range run {
			if i == 17 || i == 9000 {
				return false
			}
		}
		for _, i := range run {
			there[i] = false
		}
		return true
	}, func() bool { return false })
	must.Be(t, tries <= 100, "%d tries to find 2 things among 10,000", tries)
}

// TestDdminSweepPairs: a thing that can go only after another one, which comes before it, goes too.
func TestDdminSweepPairs(t *testing.T) {
	there := []bool{true, true, true, true}
	went := ddmin.Sweep(4, func(i int) bool { return there[i] }, func(run []int) bool {
		if len(run) != 1 || run[0] > 0 && there[run[0]-1] {
			return false
		}
		there[run[0]] = false
		return true
	}, func() bool { return false })
	if !went || there[0] || there[1] || there[2] || there[3] {
		t.Errorf("left: %v", there)
	}
}

// TestDdminSweepStops: nothing is tried once it is to stop.
func TestDdminSweepStops(t *testing.T) {
	yes := func() bool { return true }
	if ddmin.Sweep(9, func(int) bool { return true }, func([]int) bool { panic("tried") }, yes) {
		t.Error("something went")
	}
}

// TestHeap compares with a sorted list, pushes and pops mixed.
func TestHeap(t *testing.T) {
	type item struct {
		key int64
		id  int32
	}
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := heap.New[int64, int32](0)
		var want []item
		for range rng.IntN(200) {
			if len(want) > 0 && rng.IntN(5) < 2 {
				first := want[0]
				if k, x := h.Top(); k != first.key || x != first.id {
					t.Fatalf("seed %d: top is %d of %d, want %v", seed, x, k, first)
				}
				if k, x := h.Pop(); k != first.key || x != first.id {
					t.Fatalf("seed %d: popped %d of %d, want %v", seed, x, k, first)
				}
				want = want[1:]
			} else {
				x := item{rng.Int64N(20), rng.Int32N(50)}
				h.Push(x.key, x.id)
				want = append(want, x)
				slices.SortFunc(want, func(a, b item) int {
					return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
				})
			}
			must.Same(t, h.Len(), len(want), "seed %d", seed)
		}
	})
}

// TestKeyedCollisions: what had one hash before there was a key has two now, whatever the key; and so has everything
// that differs by what a hash may lose.
func TestKeyedCollisions(t *testing.T) {
	for seed := range uint64(20) {
		k := keyed.Of([keyed.Size]byte(binary.LittleEndian.AppendUint64(make([]byte, 8), seed)))
		texts, seen := &history.Texts{}, map[uint64]string{keyed.Null: "null", keyed.None: "nothing"}
		differ := func(hash uint64, what string) {
			if was, there := seen[hash]; there && was != what {
				t.Errorf("key %d: %s has the hash of %s", seed, what, was)
			}
			seen[hash] = what
		}
		value := func(v collide.Value) uint64 { return texts.Keyed(k, v.In(texts)) }
		var all []collide.Value
		for _, p := range collide.Pairs() {
			must.Same(t, collide.Old(p[0]), collide.Old(p[1]), "the old hash of %v, with that of %v", p[0], p[1])
			all = append(all, p[0], p[1])
		}
		for n := range int64(100) {
			all = append(all, collide.Int(n), collide.Int(-n), collide.Int(1<<62+n), collide.Int(n<<32),
				collide.Text(fmt.Sprint(n)), collide.Row(fmt.Sprintf(`{"a":%d}`, n)),
				collide.Text(fmt.Sprintf(`{"a":%d}`, n)))
		}
		all = append(all, collide.Bool(false), collide.Bool(true), collide.Text(""), collide.Text("true"),
			collide.Text("null"), collide.Row("{}"), collide.Text("{}"))
		for _, v := range all {
			differ(value(v), v.String())
		}
		fold := func(vs ...collide.Value) uint64 {
			state := k.Empty()
			for _, v := range vs {
				state = k.Fold(state, value(v))
			}
			return state
		}
		differ(k.Empty(), "[]")
		for _, p := range collide.Lists() {
			must.Same(t, collide.OldList(p[0]), collide.OldList(p[1]), "the old hash of %v, with that of %v", p[0],
				p[1])
			differ(fold(p[0]...), fmt.Sprint(p[0]))
			differ(fold(p[1]...), fmt.Sprint(p[1]))
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 50 { // one element changed, left out, twice, two in the other order
			l := make([]collide.Value, 2+rng.IntN(6))
			for i := range l {
				l[i] = all[rng.IntN(len(all))]
			}
			differ(fold(l...), fmt.Sprint(l))
			for i := range l {
				other := append([]collide.Value(nil), l...)
				other[i] = all[rng.IntN(len(all))]
				differ(fold(other...), fmt.Sprint(other))
				other = append(append([]collide.Value(nil), l[:i]...), l[i+1:]...)
				differ(fold(other...), fmt.Sprint(other))
				other = append(append([]collide.Value(nil), l[:i+1]...), l[i:]...)
				differ(fold(other...), fmt.Sprint(other))
				other = append([]collide.Value(nil), l...)
				j := rng.IntN(len(l))
				other[i], other[j] = other[j], other[i]
				differ(fold(other...), fmt.Sprint(other))
			}
		}
		texts64 := func(s string) { differ(k.Text([]byte(s)), "the bytes "+s) }
		for n := range 40 { // bytes changed, more or fewer, words in another order
			s := "abcdefgh12345678ABCDEFGH87654321abcdefgh"[:n]
			texts64(s)
			texts64(s + "\x00")
			texts64("\x00" + s)
			for i := range s {
				texts64(s[:i] + "x" + s[i+1:])
				texts64(s[:i] + string(s[i]^1) + s[i+1:])
			}
			if n >= 16 {
				texts64(s[8:16] + s[:8] + s[16:])
			}
		}
		a, b := collide.Texts()
		if k.Text([]byte(a)) == k.Text([]byte(b)) || xxhash.Sum64String(a) != xxhash.Sum64String(b) {
			t.Errorf("%q, %q", a, b)
		}
	}
}

// TestKeyedKeys: equal values have equal hashes by one key, of whatever table their texts are, and others by another.
func TestKeyedKeys(t *testing.T) {
	k, same, other := keyed.Of([keyed.Size]byte{1}), keyed.Of([keyed.Size]byte{1}), keyed.Draw()
	first, second := &history.Texts{}, &history.Texts{}
	second.Intern([]byte("something else"))
	for _, v := range []collide.Value{collide.Int(7), collide.Bool(true), collide.Text("é"), collide.Row(`{"a":1}`)} {
		a, b := first.Keyed(k, v.In(first)), second.Keyed(same, v.In(second))
		if c := second.Keyed(other, v.In(second)); a != b || a == c {
			t.Errorf("%v: %x, %x, by another key %x", v, a, b, c)
		}
	}
	must.Equal(t, first.Keyed(k, history.Value{}), keyed.Null, "null")
}

func TestPatternLazy(t *testing.T) {
	digits, wrong := pattern.Lazy(`\d+`), pattern.Lazy(`(`)
	first, second := digits(), digits()
	if got := first.FindString("a12b"); got != "12" || first != second {
		t.Errorf("%q; compiled once: %v", got, first == second)
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression does not panic")
		}
	}()
	wrong()
}

func TestPluralOf(t *testing.T) {
	for _, x := range []struct {
		n    int
		noun string
		want string
	}{{1, "round", "1 round"}, {2, "round", "2 rounds"}, {0, "history", "0 histories"}, {2, "key", "2 keys"},
		{3, "process", "3 processes"}, {2, "branch", "2 branches"}} {
		must.Equal(t, plural.Of(x.n, x.noun), x.want, "%d", x.n)
	}
}

func TestSavedReader(t *testing.T) {
	b := []byte{7}
	b = binary.LittleEndian.AppendUint64(b, math.MaxUint64-1)
	b = binary.AppendVarint(b, math.MinInt64)
	b = binary.AppendUvarint(b, math.MaxUint64)
	b = append(binary.AppendUvarint(b, 2), 1, 2)
	r := saved.Reader{B: b}
	if c, w, i, u, n := r.Byte(), r.Word(), r.Int(), r.Uint(), r.Count(); c != 7 || w != math.MaxUint64-1 ||
		i != math.MinInt64 || u != math.MaxUint64 || n != 2 || r.Bad || len(r.B) != 2 {
		t.Errorf("read %d %d %d %d %d, %+v", c, w, i, u, n, r)
	}
	// Cut off anywhere it is bad, and gives no more than there is.
	for cut := range len(b) - 2 {
		r := saved.Reader{B: b[:cut]}
		r.Byte()
		r.Word()
		r.Int()
		r.Uint()
		if n := r.Count(); !r.Bad || n != 0 {
			t.Errorf("of %d bytes: %d, %+v", cut, n, r)
		}
	}
}

// TestSorts: both give what package slices gives.
func TestSorts(t *testing.T) {
	type pair struct{ key, place int }
	for n := range 200 {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		a := make([]pair, n)
		for i := range a {
			a[i] = pair{r.IntN(1 + n/3), i}
		}
		b, c, d := slices.Clone(a), slices.Clone(a), slices.Clone(a)
		byKey := func(x, y pair) int { return cmp.Compare(x.key, y.key) }
		whole := func(x, y pair) int { return cmp.Or(byKey(x, y), cmp.Compare(x.place, y.place)) }
		sorts.Stable(a, byKey)
		slices.SortStableFunc(b, byKey)
		sorts.Func(c, whole)
		slices.SortFunc(d, whole)
		must.Hold(t, slices.Equal(a, b) && slices.Equal(c, d), "%d: %v %v %v %v", n, a, b, c, d)
	}
}

// TestSlice: the loops over lists, of which some keep nothing.
func TestSlice(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	half := func(n int) (int, error) {
		if !even(n) {
			return 0, fmt.Errorf("%d is odd", n)
		}
		return n / 2, nil
	}
	halves, err := slice.Try([]int{2, 4}, half)
	_, odd := slice.Try([]int{2, 3, 5}, half)
	got := fmt.Sprint(slice.Map([]int{1, 2}, strconv.Itoa), slice.Filter([]int{1, 2, 4}, even), halves, err, odd,
		slice.Places[int32]([]int{1, 2, 4}, even), slice.Pick([]string{"a", "b", "c"}, []uint32{2, 0, 2}),
		slice.Union([]int{1, 2}, 3, 2, 3), slice.Set([]int{1, 1}), slice.Sum(slices.Values([]int{1, 2, 3})),
		slice.Numbers[uint8](3), slice.Map(nil, even) == nil, slice.Filter([]int{1}, even) == nil,
		slice.Pick([]int{1}, []int{}) == nil)
	must.Equal(t, got, "[1 2] [2 4] [1 2] <nil> 3 is odd [1 2] [c a c] [1 2 3] map[1:true] 6 [0 1 2] true true true",
		"the results")
}
