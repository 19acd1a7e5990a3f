package keystore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/internal/bounds"
	"isovet/internal/keyed"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// owner is who has a table: a count for each text, and which numbers are in use.
type owner struct {
	t     *Table
	count []uint64
	pin   map[uint32]bool
}

func (o *owner) load(n uint32, state []byte) error {
	o.count[n] = binary.BigEndian.Uint64(state)
	return nil
}

func (o *owner) save(n uint32, buf []byte) ([]byte, bool) {
	if o.count[n] == 0 {
		return buf, o.pin[n]
	}
	return binary.BigEndian.AppendUint64(buf, o.count[n]), o.pin[n]
}

func (o *owner) evict(down int) (bool, error) {
	return o.t.Evict(func() bool { return o.t.Len() > down }, o.save, func(n uint32) { o.count[n] = 0 })
}

// TestTable: counts of random texts are those of a map, whatever lies on disk, and after a checkpoint too.
func TestTable(t *testing.T) {
	defer bounds.Set("keystore.fewNumbers", 8)()
	defer bounds.Set("keystore.takenOf", 1)()
	moved := 0
	for seed := range uint64(randtest.Long(8, 200)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		store := New(Options{Dir: filepath.Join(t.TempDir(), "keys"), Memory: 1 << 20})
		hash := keyed.Draw()
		o := &owner{t: NewTable(store, 'k', hash), pin: map[uint32]bool{}}
		other := NewTable(store, 's', hash) // of another kind, with the same texts
		want := map[string]uint64{}
		texts := 1 + rng.IntN(2000)
		text := func() string {
			switch n := rng.IntN(texts); n % 3 {
			case 0:
				return fmt.Sprint(n)
			case 1:
				return fmt.Sprintf("%q", fmt.Sprintf("key %d", n))
			default:
				return fmt.Sprint(-n)
			}
		}
		for range 300 {
			var batch []string
			var ns []uint32
			for range rng.IntN(40) {
				s := text()
				n, made := o.t.Number([]byte(s))
				for int(n) >= len(o.count) {
					o.count = append(o.count, 0)
				}
				if made && o.count[n] != 0 {
					t.Fatal("a number that is given again has something")
				}
				batch, ns = append(batch, s), append(ns, n)
			}
			must.OK(t, o.t.Fetch(o.load))
			for i, s := range batch {
				if m, there := o.t.Find([]byte(s)); !there || m != ns[i] || o.t.Name(m) != s {
					t.Fatalf("%s: %d, %t; expected %d", s, m, there, ns[i])
				}
				must.Same(t, o.count[ns[i]], want[s], "seed %d: %s", seed, s)
				if rng.IntN(3) > 0 {
					o.count[ns[i]]++
					want[s]++
				}
			}
			if rng.IntN(4) == 0 {
				clear(o.pin)
				for _, n := range ns {
					o.pin[n] = rng.IntN(4) == 0
				}
				must.Get(o.evict(rng.IntN(50)))(t)
				if seed%2 == 0 {
					moved += o.compact(t)
				}
			}
			if rng.IntN(100) == 0 && !store.Empty() {
				dir := filepath.Join(t.TempDir(), "checkpoint")
				must.OK(t, store.Checkpoint(dir))
				for range rng.IntN(3000) {
					must.OK(t, store.Put(o.t.key(nil, text()), []byte("what comes behind it")))
				}
				must.OK(t, store.Restore(dir))
				o.t.index = nil
				o.t.Thawed()
			}
		}
		all := 0
		for s, c := range want {
			if c == 0 {
				continue
			}
			all++
			if _, there := o.t.Find([]byte(s)); there {
				continue
			}
			state, err := o.t.Peek(s)
			if err != nil || len(state) == 0 || binary.BigEndian.Uint64(state) != c {
				t.Fatalf("%s: %v, %v; expected %d", s, state, err, c)
			}
			if got, err := other.Peek(s); got != nil || err != nil {
				t.Fatal("kinds are mixed up")
			}
		}
		if known := o.t.Known(); known < int64(all) {
			t.Errorf("%d texts known; expected %d at least", known, all)
		}
		must.OK(t, store.Close())
	}
	must.Be(t, moved >= 100, "%d texts have another number", moved)
}

// compact has the table compacted, and says how many texts have another number.
func (o *owner) compact(t *testing.T) (moved int) {
	was, live := o.t.Numbers(), o.t.Len()
	fewer, err := o.t.Compact(o.save, func(n uint32) { o.count[n] = 0 }, func(n uint32, state []byte) error {
		if o.pin[n] || int(n) >= was || o.count[n] != 0 {
			t.Fatalf("%d is given, of %d; it has %d", n, was, o.count[n])
		}
		if moved++; len(state) == 0 {
			return nil
		}
		return o.load(n, state)
	})
	is := o.t.Numbers()
	if err != nil || fewer != (is < was) || o.t.Len() != live || is > was {
		t.Fatalf("%v: %d numbers, %t, %d were", err, is, fewer, was)
	}
	if fewer {
		o.count = o.count[:is]
	}
	for n, pinned := range o.pin {
		must.Hold(t, !pinned || int(n) < is, "%d is pinned, and there are %d", n, is)
	}
	return moved
}

// TestFilter: nothing that was added is missed, and of what was not most is.
func TestFilter(t *testing.T) {
	f := newFilter(1 << 16)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		x := rng.Uint64()
		f.add(x)
		if !f.may(x) {
			t.Fatal("missed")
		}
	}
	wrong := 0
	for range 10_000 {
		if f.may(rng.Uint64()) {
			wrong++
		}
	}
	must.Be(t, wrong <= 800, "%d of 10,000 pass a filter of 10 bits a key", wrong)
}

// TestCache: the tables in memory leave the cache its room, so that a get does not read a file's filter each time.
func TestCache(t *testing.T) {
	s := New(Options{Dir: t.TempDir(), Memory: 16 * mib})
	defer s.Close()
	key := func(i int) []byte { return fmt.Appendf(nil, "k%09d", i) }
	for i := range 200_000 {
		must.OK(t, s.Put(key(i), []byte("state")))
	}
	before := s.db.Metrics().BlockCache.Misses
	for range 1000 {
		_, is, err := s.Get(key(7), nil)
		must.OK(t, err)
		must.Hold(t, is, "the first keys are there")
	}
	if n := s.db.Metrics().BlockCache.Misses - before; n > 100 {
		t.Errorf("1,000 gets of one key read %d blocks of files", n)
	}
}
