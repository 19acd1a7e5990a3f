package timestamp

import (
	"errors"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// TestEmmeAgrees: the same verdict as Chronos, and of INT, EXT and SESSION the same violations; conflicts are listed
// between neighbours in the version order only.
func TestEmmeAgrees(t *testing.T) {
	decided, valid := 0, 0
	for _, so := range []random.StampedOptions{{}, {Ties: true, Aborted: true, Unknown: true},
		{Ties: true, Serial: true, Deletes: true}, {Duplicates: true, Keys: 1, Ties: true, Unknown: true},
		{Duplicates: true, Deletes: true, Serial: true, Aborted: true}} {
		histtest.Each(t, uint64(2500), func(seed uint64) *history.History { return random.Stamped(seed, so) },
			func(t testing.TB, seed uint64, h *history.History) {
				for _, o := range allOptions() {
					want, err := Chronos(t.Context(), h, o)
					if err != nil {
						t.Fatal(err)
					}
					got, err := Emme(t.Context(), h, o)
					if err != nil {
						t.Fatal(err)
					}
					decided++
					if len(want.Violations) == 0 {
						valid++
					}
					rest := func(vs []Violation) []Violation {
						return slices.DeleteFunc(slices.Clone(vs),
							func(v Violation) bool { return v.Axiom == NOCONFLICT })
					}
					for _, v := range got.Violations {
						if !slices.Contains(want.Violations, v) && v.Axiom != NOCONFLICT {
							t.Fatalf("seed %d, %v: Emme finds\n%s\nChronos\n%s", seed, o, describe(h, got.Violations),
								describe(h, want.Violations))
						}
					}
					g, w := rest(got.Violations), rest(want.Violations)
					conflicts := len(g) < len(got.Violations)
					if conflicts != (len(w) < len(want.Violations)) || !slices.Equal(g, w) ||
						!slices.Equal(got.Order, want.Order) {
						t.Fatalf("seed %d, %v: Emme finds\n%s\nChronos\n%s", seed, o, describe(h, got.Violations),
							describe(h, want.Violations))
					}
				}
			})
	}
	if histtest.Whole() && (decided < 20_000 || valid < 3000) {
		t.Errorf("%d decided, %d valid", decided, valid)
	}
}

// TestEmmeRefuses: what it does not read.
func TestEmmeRefuses(t *testing.T) {
	h := stampedHistory(t, [][2]int64{{1, 2}}, func(b *history.Builder, i int) {
		b.Append(b.Key(history.IntValue(0)), history.IntValue(7))
	})
	_, err := Emme(t.Context(), h, Options{})
	var cannot *Unsupported
	if !errors.As(err, &cannot) || err.Error() != "lists or predicate operations: emme checks registers" {
		t.Error(err)
	}
}
