package keyed_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/test/histtest/collide"
	"isovet/internal/test/must"
)

// TestCollisions: what had one hash before there was a key has two now, whatever the key; and so has everything that
// differs by what a hash may lose.
func TestCollisions(t *testing.T) {
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

// TestKeys: equal values have equal hashes by one key, of whatever table their texts are, and others by another.
func TestKeys(t *testing.T) {
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
