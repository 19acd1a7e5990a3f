package keystore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cespare/xxhash/v2"

	"isovet/internal/test/histtest"
)

// TestRecent: what was put is here or has left, the latest of each key and no other, in any order of puts and gets,
// around the end of the ring, and when it has been written to a file and read back.
func TestRecent(t *testing.T) {
	left := 0
	for seed := range uint64(histtest.Long(40, 2000)) {
		rng := rand.New(rand.NewPCG(seed, 21))
		r := newRecent(1 << 14)
		if seed%4 == 0 { // many hashes meet
			r.index = r.index[:64]
		}
		want, disk := map[string]string{}, map[string]string{}
		put := func(r *recent, key, val []byte, sum uint64) {
			for !r.put(key, val, sum) {
				b := r.oldest(nil)
				for _, x := range b.at {
					disk[string(r.key(x.at))] = string(r.val(x.at))
					left++
				}
				r.retire(b.entries)
			}
		}
		keys, most := 1+rng.IntN(800), 1+rng.IntN(300)
		for range 5000 {
			key := fmt.Appendf(nil, "key %d", rng.IntN(keys))
			switch sum := xxhash.Sum64(key); rng.IntN(8) {
			case 0:
				r.drop(key, sum)
				delete(want, string(key))
				delete(disk, string(key))
			case 1:
				if r.sparse() {
					r.recycle()
				}
			case 2, 3:
				got, ok := r.get(key, sum)
				if !ok {
					var s string
					s, ok = disk[string(key)]
					got = []byte(s)
				}
				if s, there := want[string(key)]; ok != there || s != string(got) {
					t.Fatalf("seed %d: %s: %q, %v; expected %q, %v", seed, key, got, ok, s, there)
				}
			default:
				val := bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(most))
				if !r.fits(key, val) {
					t.Fatal("too long")
				}
				put(r, key, val, sum)
				want[string(key)] = string(val)
			}
		}
		path := filepath.Join(t.TempDir(), "recent")
		if err := r.save(path, r.span); err != nil {
			t.Fatal(err)
		}
		back := newRecent(1 << 15)
		if err := readRecent(path, func(key, val []byte) error {
			put(back, key, val, xxhash.Sum64(key))
			return nil
		}, func(key []byte) { back.drop(key, xxhash.Sum64(key)) }); err != nil {
			t.Fatal(err)
		}
		if back.n != r.n {
			t.Fatalf("seed %d: %d keys of %d read back", seed, back.n, r.n)
		}
		for key, val := range want {
			sum := xxhash.Sum64String(key)
			a, here := r.get([]byte(key), sum)
			b, too := back.get([]byte(key), sum)
			if here != too || here && (string(a) != val || string(b) != val) || !here && disk[key] != val {
				t.Fatalf("seed %d: %s: %q, %v; %q, %v; expected %q", seed, key, a, here, b, too, val)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		err = readRecent(path, func(_, _ []byte) error { return nil }, func([]byte) {})
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("seed %d: %v; expected that it is damaged", seed, err)
		}
	}
	if left < 1000 {
		t.Errorf("%d left: too few to be a test", left)
	}
	if err := readRecent(filepath.Join(t.TempDir(), "none"), nil, nil); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(path, binary.AppendUvarint(nil, 7), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := readRecent(path, nil, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v; expected that it is damaged", err)
	}
}
