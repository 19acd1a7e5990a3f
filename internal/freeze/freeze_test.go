package freeze

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"isovet/internal/test/must"
)

type inner struct {
	a int8
	b uint64
	c bool
	d [3]int16
}

type link struct {
	next *link
	n    int
}

type outer struct {
	inner
	many  []inner
	plain []struct{ x, y int64 }
	odd   []struct {
		x uint8
		y uint64
	}
	words []string
	deep  [][]uint32
	by    map[string][]inner
	set   map[struct{ k uint32 }]struct{}
	f     float64
	g     float32
	ring  *link
	same  *link
	empty []int
	left  func() int     `freeze:"-"`
	index map[string]int `freeze:"-"`
}

func (o *outer) Thawed() {
	o.index = map[string]int{}
	for i, w := range o.words {
		o.index[w] = i
	}
}

func random(rng *rand.Rand) *outer {
	in := func() inner {
		return inner{int8(rng.Int()), rng.Uint64(), rng.IntN(2) == 0, [3]int16{int16(rng.Int()), -1, 7}}
	}
	o := &outer{inner: in(), by: map[string][]inner{}, set: map[struct{ k uint32 }]struct{}{}, f: rng.NormFloat64(),
		g: float32(rng.NormFloat64()), empty: []int{}}
	for range rng.IntN(50) {
		o.many = append(o.many, in())
		o.plain = append(o.plain, struct{ x, y int64 }{rng.Int64(), -rng.Int64()})
		o.odd = append(o.odd, struct {
			x uint8
			y uint64
		}{uint8(rng.Int()), rng.Uint64()})
		o.words = append(o.words, strings.Repeat("wört", rng.IntN(9))+fmt.Sprint(rng.Int()))
		o.deep = append(o.deep, make([]uint32, rng.IntN(4), 7))
		o.by[fmt.Sprint(rng.IntN(9))] = []inner{in()}
		o.set[struct{ k uint32 }{rng.Uint32()}] = struct{}{}
	}
	if rng.IntN(2) == 0 {
		o.plain = make([]struct{ x, y int64 }, 3*chunk/16) // larger than the buffer
		o.plain[len(o.plain)-1].y = 5
	}
	o.ring = &link{n: 1}
	o.ring.next = &link{o.ring, 2}
	o.same = o.ring.next
	o.Thawed()
	return o
}

// TestRoundTrip: what was written is read, pointers that were equal are equal, what was left out stays, and capacities
// are as they were.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(50) {
		o, more := random(rand.New(rand.NewPCG(seed, 1))), []int64{1, 2}
		path := filepath.Join(dir, fmt.Sprint(seed))
		must.OK(t, Save(path, o, &more))
		got, gotMore := &outer{left: func() int { return 3 }}, []int64(nil)
		must.OK(t, Load(path, got, &gotMore))
		if got.left == nil || got.left() != 3 || got.ring.next != got.same || got.same.next != got.ring {
			t.Fatal("not as it was")
		}
		got.left = nil
		if !reflect.DeepEqual(got, o) || !reflect.DeepEqual(more, gotMore) {
			t.Fatalf("seed %d: got %+v\nwant %+v", seed, got, o)
		}
		if cap(got.many) != cap(o.many) || len(o.deep) > 0 && cap(got.deep[0]) != 7 {
			t.Fatalf("seed %d: a slice has room for %d, had %d", seed, cap(got.many), cap(o.many))
		}
	}
}

// TestDamaged: a file that is cut off, or of which a byte differs, is damaged, and nothing is read of it.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(2, 3))
	o := random(rng)
	o.plain = nil
	path := filepath.Join(dir, "x")
	must.OK(t, Save(path, o))
	text := must.Get(os.ReadFile(path))(t)
	for i := range 300 {
		bad := append([]byte(nil), text...)
		if i%2 == 0 {
			bad = bad[:rng.IntN(len(bad))]
		} else {
			bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
		}
		must.OK(t, os.WriteFile(path, bad, 0o644))
		var got outer
		if err := Load(path, &got); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d: %v", i, err)
		} else if !reflect.DeepEqual(&got, &outer{}) {
			t.Fatal("something was read")
		}
	}
}

// TestChanged: fields go by name, integers may become wider; nothing else may change.
func TestChanged(t *testing.T) {
	type oldKey struct {
		name string
		n    uint32
		gone map[string][]*link
	}
	type newKey struct {
		extra int
		n     uint64
		name  string
	}
	type v1 struct {
		keys []oldKey
		at   int16
		odd  [2]struct{ a, b uint8 }
	}
	type v2 struct {
		at   int64
		more string
		keys []newKey
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	l := &link{n: 1}
	was := &v1{[]oldKey{{"a", 4e9, map[string][]*link{"x": {l, l, {l, 2}}}}, {"b", 2, nil}}, -7,
		[2]struct{ a, b uint8 }{{1, 2}, {3, 4}}}
	must.OK(t, Save(path, was))
	got := v2{more: "kept"}
	must.OK(t, Load(path, &got))
	if want := (v2{-7, "kept", []newKey{{0, 4e9, "a"}, {0, 2, "b"}}}); !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	for _, bad := range []any{&struct{ at uint16 }{}, &struct{ at int8 }{}, &struct{ keys string }{},
		&struct{ odd [3]struct{ a uint8 } }{}} {
		if err := Load(path, bad); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("%T: %v", bad, err)
		}
	}
}

// TestFlat: fields can be put into groups, taken out of them, and renamed, and files of before are read. Two fields of
// one name are refused.
func TestFlat(t *testing.T) {
	type group struct {
		b []int32
		c uint8
		d func() `freeze:"-"`
	}
	type grouped struct {
		a    int64
		g    group  `freeze:"flat"`
		last string `freeze:"as=e"`
	}
	type plain struct {
		a int64
		b []int32
		c uint8
		e string
	}
	dir := t.TempDir()
	was, want := plain{-1, []int32{2, 3}, 4, "five"}, grouped{-1, group{b: []int32{2, 3}, c: 4, d: nil}, "five"}
	must.OK(t, Save(filepath.Join(dir, "plain"), &was))
	must.OK(t, Save(filepath.Join(dir, "grouped"), &want))
	for _, name := range []string{"plain", "grouped"} {
		var one plain
		var other grouped
		path := filepath.Join(dir, name)
		must.OK(t, errors.Join(Load(path, &one), Load(path, &other)))
		must.Be(t, reflect.DeepEqual(one, was) && reflect.DeepEqual(other, want), "%s: %+v, %+v", name, one, other)
	}
	type twice struct {
		c uint8
		g group `freeze:"flat"`
	}
	if err := Save(filepath.Join(dir, "twice"), &twice{c: 1, g: group{c: 2}}); err == nil {
		t.Error("two fields of one name were written")
	}
}

// TestRefused: what cannot be written is reported with its place, and is no silent loss.
func TestRefused(t *testing.T) {
	for want, v := range map[string]any{
		"freeze.f": &struct{ f func() }{}, "c[]": &struct{ c []chan int }{}, ".m": &struct{ m sync.Mutex }{},
		".e": &struct{ e error }{}, "expected a pointer": 5,
	} {
		err := Save(filepath.Join(t.TempDir(), "x"), v)
		want = strings.TrimPrefix(want, "freeze")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", v, err)
		}
	}
}
