package prepass_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
)

// sequential is n writes of three values to one key, each read by the next transaction; of unknown outcome are the
// writes that open says.
func sequential(t testing.TB, n int, open func(i int) bool) *history.History {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	k := b.Key(history.IntValue(1))
	for i := range 2 * n {
		head := history.NewTxnHead()
		head.Start, head.End = int64(10*i), int64(10*i+5)
		if v := history.IntValue(int64(1 + i/2%3)); i%2 == 1 {
			b.Read(k, v)
		} else {
			b.Write(k, v)
			if open(i / 2) {
				head.Status, head.End = history.Unknown, history.NoTime
			}
		}
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestCrowdedIsLinear: with a bound on the candidates, reads of values that have many writers each take so many bytes a
// transaction and look at so many writes, however many there are. Without, it would be 200 MB for the longer history.
func TestCrowdedIsLinear(t *testing.T) {
	for name, open := range map[string]func(int) bool{
		"committed": func(int) bool { return false },
		"unknown":   func(i int) bool { return i%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1500, 12_000} {
				h := sequential(t, n, open)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				v, looks := prepass.RunCounted(h, prepass.Options{MaxCandidates: 1000})
				runtime.ReadMemStats(&after)
				if !v.Crowded || len(v.Cand) != 0 || len(v.Amb) < n*9/10 || len(v.CandOff) != len(v.Amb)+1 {
					t.Errorf("%d writes: crowded %t, %d candidates of %d reads", n, v.Crowded, len(v.Cand), len(v.Amb))
				}
				if got := (after.TotalAlloc - before.TotalAlloc) / uint64(n); got > 1000 {
					t.Errorf("%d writes: %d bytes each", n, got)
				}
				if looks > 20*n+5000 {
					t.Errorf("%d writes: candidates looked at %d", n, looks)
				}
			}
		})
	}
}

// TestCrowdedAgainstFull: a bound takes the candidates away, if there are more, and nothing else.
func TestCrowdedAgainstFull(t *testing.T) {
	crowded, whole := 0, 0
	histtest.Each(t, 5000, func(seed uint64) *history.History {
		if seed%3 == 0 {
			return random.ManyUnknown(seed)
		}
		return random.Tiny(seed, random.Options{Aborted: true, Unknown: true, Duplicates: true, Keys: 2, Txns: 8})
	}, func(t testing.TB, seed uint64, h *history.History) {
		full := prepass.Run(h)
		most := 1 + int(seed%7)
		cut := prepass.RunWith(h, prepass.Options{MaxCandidates: most})
		if cut.Crowded != (len(full.Cand) > most) || !slices.Equal(cut.Amb, full.Amb) {
			t.Fatalf("seed %d: crowded %t with %d of %d, ambiguous %v, not %v\n%s", seed, cut.Crowded, len(full.Cand),
				most, cut.Amb, full.Amb, notation.Format(h))
		}
		if cut.Crowded {
			crowded++
			if len(cut.Cand) > 0 {
				t.Fatalf("seed %d: candidates are left\n%s", seed, notation.Format(h))
			}
			full.Cand, full.CandOff = nil, make([]uint32, len(full.CandOff))
		} else if len(full.Amb) > 0 {
			whole++
		}
		if got, want := text(cut), text(full); got != want || !slices.Equal(cut.CandOff, full.CandOff) {
			t.Fatalf("seed %d: %s\ngot:\n%s\nwant:\n%s", seed, notation.Format(h), got, strings.TrimSpace(want))
		}
	})
	t.Logf("crowded %d, not %d", crowded, whole)
	if histtest.Whole() && (crowded < 100 || whole < 100) {
		t.Errorf("crowded %d, not %d", crowded, whole)
	}
}
