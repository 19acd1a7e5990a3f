package check

import (
	"context"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/histtest"
	"isovet/internal/histtest/random"
	"isovet/level"
)

// TestPipelineChoicesDoNotMatter: whatever vbox is made of, its verdict is brute force's.
func TestPipelineChoicesDoNotMatter(t *testing.T) {
	var yes, no int
	histtest.Each(t, uint64(400), func(seed uint64) *history.History { return random.Tiny(seed, random.Options{}) },
		func(t testing.TB, seed uint64, h *history.History) {
			l := serialLevels[seed%3]
			want, err := Run(context.Background(), bruteForce{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if want.Verdict == evidence.Unknown {
				return
			}
			pick := func(names []string, i uint64) string { return names[i%uint64(len(names))] }
			p := Pipeline{Closure: pick(Closures(), seed), Pruning: pick(Prunings(), seed/3),
				Encoding: pick(Pipeline{}.EncodingNames(), seed/5), Phase: pick(Phases(), seed/7)}
			for _, s := range Solvers() {
				if s.Theory == "eager" && p.Encoding != "order" {
					continue
				}
				got, err := Run(context.Background(), vbox{}, h, Options{Level: l, Solver: s.Name, Pipeline: p})
				if err != nil {
					t.Fatalf("seed %d, %s, %s, %+v: %v", seed, l, s.Name, p, err)
				}
				if got.Verdict == evidence.Unknown && strings.Contains(got.Reason, "unique values") {
					continue // brute force decides these, vbox does not
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("seed %d, %s, %s, %+v: %v (%s); brute force says %v", seed, l, s.Name, p, got.Verdict,
						got.Reason, want.Verdict)
				}
				if got.Verdict == evidence.Holds {
					yes++
				} else {
					no++
				}
			}
		})
	if histtest.Whole() && (yes < 300 || no < 300) {
		t.Errorf("%d valid, %d not", yes, no)
	}
}

func TestPipelineNames(t *testing.T) {
	h := random.Tiny(1, random.Options{})
	for want, p := range map[string]Pipeline{"unknown closure": {Closure: "x"}, "unknown pruning": {Pruning: "x"},
		"unknown encoding": {Encoding: "x"}, "unknown phase": {Phase: "x"}} {
		if _, err := Run(context.Background(), vbox{}, h, Options{Level: level.Serializable,
			Pipeline: p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", p, err, want)
		}
	}
	if s, ok := SolverFor("gini", "lazy"); !ok || s != "gini" {
		t.Errorf("gini, lazy: %q, %v", s, ok)
	}
	if s, ok := SolverFor("gini", "closure"); ok {
		t.Errorf("gini, closure: %q", s)
	}
}
