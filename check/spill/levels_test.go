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
			Dir: filepath.Join(t.TempDir(), "spill"), ReadOnlyAtStart: atStart})
		var bad *history.InputError
		must.Hold(t, errors.As(werr, &bad) == errors.As(err, &bad) && (werr == nil) == (err == nil),
			"seed %d, %s: out of core %v, in memory %v", seed, l, err, werr)
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
	t.Log(counts)
}
