package check

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/level"
	"isovet/oracle"
)

// TestFound: histories on which some checker once failed; the note in each says at what. Every checker agrees with brute force on them, at
// each of its levels, or says unknown; its answers are certified, and what it names the level forbids.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			h, err := format.Read(t.Context(), f, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range level.All() {
				asked := l
				if l == level.RepeatableRead {
					asked = level.Serializable
				}
				want, err := oracle.Check(h, oracle.Options{Level: asked, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range All() {
					if slices.Contains(c.Info().Levels, l) {
						compareFound(t, h, l, c, want.Verdict)
					}
				}
			}
		})
	}
}

func compareFound(t *testing.T, h *history.History, l level.Level, c Checker, want evidence.Verdict) {
	t.Helper()
	r, err := Run(t.Context(), c, h, Options{Level: l})
	var bad *history.InputError
	switch {
	case errors.As(err, &bad): // leopard wants to be told how the database works
	case err != nil:
		t.Errorf("%s, %s: %v", c.Info().Name, l, err)
	case r.Verdict == evidence.Unknown || want == evidence.Unknown:
	case r.Verdict != want:
		t.Errorf("%s, %s: %s, and brute force %s", c.Info().Name, l, r.Verdict, want)
	case r.Verdict == evidence.Violated:
		for _, a := range r.Anomalies {
			if !r.Timestamps && !l.Forbids(a.Kind) && !l.ForbidsSome(a.Kind) {
				t.Errorf("%s, %s: %s, which it allows", c.Info().Name, l, a.Kind)
			}
		}
	}
}
