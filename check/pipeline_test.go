package check

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

// TestPipelineChoicesDoNotMatter: whatever a pipeline is made of, its verdict is brute force's. Every value of every
// setting, encodings that are registered later included, meets every solver, on histories with predicate operations
// too.
func TestPipelineChoicesDoNotMatter(t *testing.T) {
	var yes, no, based int
	tried := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](110, 6000), func(seed uint64) *history.History {
		if seed%3 > 0 {
			return random.Tiny(seed, random.Options{})
		}
		h := must.Get(histtest.Read(histtest.Random(seed, histtest.Shape{Txns: 5,
			Kinds: []histtest.Kind{histtest.Predicates}})))(t)
		return h
	},
		func(t testing.TB, seed uint64, h *history.History) {
			for _, c := range []Checker{run.Vbox{}, called("cobra"), called("viper")} {
				in := c.Info()
				l := in.Levels[seed/3%3]
				want := answer(t, bruteForce{}, h, Options{Level: l})
				if want.Verdict == evidence.Unknown || in.Name != "vbox" && h.HasPredicates() {
					continue
				}
				rng := rand.New(rand.NewPCG(seed, 1))
				for _, name := range in.Solvers {
					var p Pipeline
					for _, s := range in.Settings {
						v := s.Values[rng.IntN(len(s.Values))]
						p.Set(s.Name, v)
						tried[in.Name+" "+s.Name+" "+v]++
					}
					got := answer(t, c, h, Options{Level: l, Solver: name, Pipeline: p})
					if got.Verdict == evidence.Unknown && !strings.Contains(got.Reason, "encoding") {
						continue // brute force decides these: reads of several possible writers, unknown outcomes
					}
					agree(t, got, want.Verdict)
					if based += got.Stats.Variables; !h.HasPredicates() {
						based -= got.Stats.Variables
					}
					if got.Verdict == evidence.Holds {
						yes++
					} else {
						no++
					}
				}
			}
		})
	if !histtest.Whole() {
		return
	}
	must.Be(t, yes >= 100 && no >= 100 && based != 0,
		"%d valid, %d not, %d variables of histories with predicate operations", yes, no, based)
	for _, c := range []Checker{run.Vbox{}, called("cobra"), called("viper")} {
		for _, s := range c.Info().Settings {
			for _, v := range s.Values {
				if tried[c.Info().Name+" "+s.Name+" "+v] == 0 {
					t.Errorf("%s: %s %q was never tried", c.Info().Name, s.Name, v)
				}
			}
		}
	}
}

// TestEncodingWithoutPredicates: an encoding that makes no clauses of predicate operations is not asked about them, and
// no fault.
func TestEncodingWithoutPredicates(t *testing.T) {
	bare := encode.Encoding{Name: "bare", Encode: func(p *polygraph.Polygraph) *encode.Problem {
		q := &encode.Problem{P: p}
		for _, c := range p.Choices {
			l := solver.Pos(q.NewVar(false))
			p.Side(c.A, c.B0, func(e polygraph.Edge) bool { q.When(l, e); return true })
			p.Side(c.B, c.A0, func(e polygraph.Edge) bool { q.When(l.Not(), e); return true })
		}
		return q
	}}
	refused := 0
	for seed := range uint64(60) {
		h := must.Get(histtest.Read(histtest.Random(seed, histtest.Shape{Txns: 6,
			Kinds: []histtest.Kind{histtest.Predicates}})))(t)
		r := answer(t, run.Vbox{}, h, Options{Level: level.Serializable, Pipeline: Pipeline{Encoding: "bare",
			Pruning: "none", Extra: []encode.Encoding{bare}}})
		if strings.Contains(r.Reason, "encoding bare encodes neither predicate operations") {
			refused++
		}
	}
	must.Be(t, refused != 0, "none of the histories had predicate operations to encode")
}

func TestPipelineNames(t *testing.T) {
	h := random.Tiny(1, random.Options{})
	for want, p := range map[string]Pipeline{"unknown closure": {Closure: "x"}, "unknown pruning": {Pruning: "x"},
		"unknown encoding": {Encoding: "x"}, "unknown phase": {Phase: "x"},
		"unknown technique": {Technique: "x"}} {
		if _, err := Run(context.Background(), run.Vbox{}, h, Options{Level: level.Serializable,
			Pipeline: p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", p, err, want)
		}
	}
	if s, ok := run.SolverFor("gini", "lazy"); !ok || s != "gini" {
		t.Errorf("gini, lazy: %q, %v", s, ok)
	}
	if s, ok := run.SolverFor("gini", "closure"); ok {
		t.Errorf("gini, closure: %q", s)
	}
}

// TestTheoryIsNamed: where the theory is not the default solver's first, the order, the text says so; what was asked
// for stands there too, and nothing else does.
func TestTheoryIsNamed(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "contended", Txns: 100, Seed: 1,
		Times: datasets.NoTimes}))(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Solver: "cdcl-pk"}, "theory order"},
		{Options{Solver: "cdcl-closure"}, "theory closure"},
		{Options{Solver: "gini", Pipeline: Pipeline{Closure: "purdom", Encoding: "cobra"}},
			"theory lazy, closure purdom, encoding cobra"},
	} {
		c.o.Level = level.SessionSerializable
		r, err := Run(t.Context(), run.Vbox{}, h, c.o)
		must.Be(t, err == nil && r.Settings == c.want,
			"%s: settings %q, want %q (%v)", c.o.Solver, r.Settings, c.want, err)
	}
}
