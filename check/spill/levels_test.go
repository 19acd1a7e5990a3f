package spill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// compareBy checks a history by a checker out of core, in pieces, and in memory: never another verdict, and one where
// the history is no larger than a window.
func compareBy(t testing.TB, seed uint64, h *history.History, checker string, window int, counts map[string]int) {
	c, err := check.ByName(checker)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 11))
	for _, l := range LevelsOf(checker) {
		want, err := check.Run(context.Background(), c, h, check.Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Check(context.Background(), cut(h, r), Options{Level: l, Parts: 1 + r.IntN(7), Checker: checker,
			Dir: filepath.Join(t.(interface{ TempDir() string }).TempDir(), "spill"), MaxWindow: window})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, l, err)
		}
		counts[fmt.Sprintf("%s, %s", want.Verdict, got.Verdict)]++
		switch {
		case got.Verdict == want.Verdict || want.Verdict == evidence.Unknown:
			counts[decided]++
		case got.Verdict != evidence.Unknown || window == 0:
			t.Fatalf("seed %d, %s: out of core %s (%s), in memory %s", seed, l, got.Verdict, got.Reason,
				want.Verdict)
		default:
			counts[open]++
		}
		if got.Verdict != evidence.Unknown {
			verify(t, seed, h, got, r, counts)
		}
	}
}

func TestWeak(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](25, 10000), func(seed uint64) *history.History {
		o := random.Options{Txns: 2 + int(seed%9), Keys: 1 + int(seed/9%4), Duplicates: seed&1 != 0,
			Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0}
		if seed%3 == 0 {
			return random.Tiny(seed, o)
		}
		return random.Lagging(seed, o, seed&16 != 0)
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compareBy(t, seed, h, "weak", []int{0, 0, 4, 8}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 20)
}

func TestLinear(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](30, 20000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 2 + int(seed%12), Keys: 1 + int(seed/9%4),
			Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0,
			Single: true, Mini: seed&16 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compareBy(t, seed, h, "lwt", []int{0, 0, 4, 8}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 5)
}

func TestMini(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](10, 5000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 2 + int(seed%9), Keys: 1 + int(seed/9%4), Aborted: seed&4 != 0,
			Unknown: seed&8 != 0, Mini: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compareBy(t, seed, h, "mtc", []int{0, 0, 4, 8}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 5)
}
