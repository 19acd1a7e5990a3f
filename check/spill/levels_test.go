package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// compareBy checks a history by a checker out of core, in pieces, and in memory: never another verdict, and one where
// the history is no larger than a window.
func compareBy(t testing.TB, seed uint64, h *history.History, checker string, window int, counts map[string]int) {
	c := must.Get(check.ByName(checker))(t)
	r := rand.New(rand.NewPCG(seed, 11))
	for _, l := range LevelsOf(checker) {
		want := must.Get(check.Run(context.Background(), c, h, check.Options{Level: l}))(t)
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

// texts are the anomalies of a result in words, sorted.
func texts(r *evidence.Result) (all []string) {
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		all = append(all, fmt.Sprint(a.Kind, " ", a.Why, " ", a.Text))
	}
	slices.Sort(all)
	return all
}

// compareStamped checks a history with timestamps out of core, in pieces, and in memory: the same verdict, violations
// and counts.
func compareStamped(t testing.TB, seed uint64, h *history.History, counts map[string]int) {
	c, _ := check.ByName("chronos")
	r := rand.New(rand.NewPCG(seed, 11))
	for _, l := range timestamp.Levels() {
		atStart := l.Serial() && r.IntN(2) == 0
		want, werr := check.Run(context.Background(), c, h, check.Options{Level: l, ReadOnlyAtStart: atStart})
		got, err := Check(context.Background(), cut(h, r), Options{Level: l, Parts: 1 + r.IntN(7), Checker: "chronos",
			Dir: filepath.Join(t.(interface{ TempDir() string }).TempDir(), "spill"), ReadOnlyAtStart: atStart})
		var bad *history.InputError
		if errors.As(werr, &bad) != errors.As(err, &bad) || (werr == nil) != (err == nil) {
			t.Fatalf("seed %d, %s: out of core %v, in memory %v", seed, l, err, werr)
		}
		if err != nil {
			counts["refused"]++
			continue
		}
		counts[fmt.Sprint(want.Verdict)]++
		if got.Verdict != want.Verdict || got.Reason != want.Reason {
			t.Fatalf("seed %d, %s: out of core %s (%s), in memory %s (%s)", seed, l, got.Verdict, got.Reason,
				want.Verdict, want.Reason)
		}
		if got.Verdict != evidence.Unknown {
			verify(t, seed, h, got, r, counts)
		}
		if got.Verdict != evidence.Violated {
			continue
		}
		forge(t, seed, h, got, r)
		p := got.Proof
		if x, y := texts(p), texts(want); !slices.Equal(x, y) {
			t.Fatalf("seed %d, %s: out of core\n%q\nin memory\n%q", seed, l, x, y)
		}
		x, y := &p.Stats, &want.Stats
		if !reflect.DeepEqual(x.Violations, y.Violations) || x.BadTxns != y.BadTxns || x.BadPairs != y.BadPairs ||
			p.Also != want.Also {
			t.Fatalf("seed %d, %s: out of core %v, %d, %d, also %d; in memory %v, %d, %d, also %d", seed, l,
				x.Violations, x.BadTxns, x.BadPairs, p.Also, y.Violations, y.BadTxns, y.BadPairs, want.Also)
		}
	}
}

// forge says of a history that violates a level that it does not: that must be refuted.
func forge(t testing.TB, seed uint64, h *history.History, a *Answer, r *rand.Rand) {
	lie := *a
	lie.Verdict = evidence.Holds
	var cert bytes.Buffer
	must.OK(t, lie.WriteCertificate(&cert, "test"))
	got, err := verifyWith(t, cert.String(), h, r)
	if err != nil || got.Refuted == nil {
		t.Fatalf("seed %d, %s: a history that violates it passes for a valid one: %v, %v", seed, a.Level, got, err)
	}
}

func TestStamped(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](10, 20000), func(seed uint64) *history.History {
		return random.Stamped(seed, random.StampedOptions{Txns: 2 + int(seed%12), Ties: seed&1 != 0,
			Duplicates: seed&2 != 0, Deletes: seed&4 != 0, Aborted: seed&8 != 0, Unknown: seed&16 != 0,
			Serial: seed%3 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compareStamped(t, seed, h, counts)
		}
	})
	for k, n := range counts {
		t.Log(k, n)
	}
}
