package encode_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

// sample is a small history no single read of which is wrong, and what brute force over all orders says of it at a
// level. Open outcomes are those of writers that reads may mean.
type sample struct {
	h     *history.History
	v     *prepass.View
	l     level.Level
	holds bool
}

func draw(text []byte, levels []level.Level) (s sample, ok bool) {
	if len(text) == 0 {
		return
	}
	h, err := histtest.Read(text)
	if err != nil {
		return
	}
	s.h, s.v, s.l = h, prepass.Run(h), levels[len(text)%len(levels)]
	if len(s.v.Anomalies)+len(s.v.LeftOut) > 0 || len(s.v.Open) > 0 && s.v.Index != nil {
		return
	}
	if _, missing := polygraph.MissingTime(h); missing && s.l.RealTime() {
		return
	}
	r, err := oracle.Check(h, oracle.Options{Level: s.l, VerdictOnly: true})
	if err != nil || r.Verdict == evidence.Unknown {
		return
	}
	s.holds = r.Verdict == evidence.Holds
	return s, true
}

// accepts tells whether an answer is what brute force says: a model's edges leave an order, which explains the
// history; the cycles of a refutation are cycles of p's own edges and of guards.
func (s sample) accepts(a encode.Answer, p *polygraph.Polygraph, edges []polygraph.Edge) error {
	if (a.Status == solver.Sat) != s.holds || a.Status == solver.Unknown {
		return fmt.Errorf("%v; by brute force it holds: %v", a.Status, s.holds)
	}
	if !s.holds {
		for _, c := range a.Cycles {
			for i, e := range c {
				if e.To != c[(i+1)%len(c)].From {
					return fmt.Errorf("no cycle: %+v", c)
				}
			}
		}
		return nil
	}
	order, ok := p.Order(edges)
	if !ok {
		return fmt.Errorf("the model has a cycle: %+v", edges)
	}
	return certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: s.l, Order: order, H: s.h}, certify.Options{})
}

// TestPredicatesEveryWay: what predicate operations and ambiguous reads were based on, in each encoding, solved each
// way, with and without pruning: the verdict is brute force's, a model decodes to an order that is certified.
func TestPredicatesEveryWay(t *testing.T) {
	based, yes, no, clauses := 0, 0, 0, 0
	search := histtest.Search{N: 2500, Long: 100_000, Make: func(seed uint64) []byte {
		return histtest.Random(seed, histtest.Shape{Txns: 5, Kinds: []histtest.Kind{histtest.Predicates,
			histtest.Predicates, histtest.Registers}})
	},
		Judge: func(text []byte) error {
			s, ok := draw(text, level.All()[:6])
			if !ok {
				return nil
			}
			p := polygraph.New(s.v, s.l, polygraph.Options{RealTime: s.l.RealTime(), AtMostOne: len(text)%3 == 0,
				Outcomes: true})
			p.AllPairs()
			p.Predicates(0)
			if p.KnownCycle() != nil || p.Baseless() != nil {
				if s.holds {
					return fmt.Errorf("%s: a conflict; by brute force it holds", s.l)
				}
				return nil
			}
			if len(p.Based) == 0 && len(text)%8 > 0 { // other tests have those
				return nil
			}
			if based += len(p.Based); s.holds {
				yes++
			} else {
				no++
			}
			for _, enc := range encode.Encodings() {
				for name, solve := range ways() {
					q := enc.Encode(p)
					if enc.Name == "order" {
						of, n := encode.Vbox(p), 0
						for i, c := range q.Clauses {
							if len(c) == 3 && i >= len(of.Clauses) {
								n++
							}
						}
						if got := encode.EagerClauses(of); got != n {
							return fmt.Errorf("%d transitivity clauses, said to be %d", n, got)
						}
						clauses += n
					}
					if !q.Eager && strings.HasPrefix(name, "eager") && len(text)%16 > 0 {
						continue
					}
					a := solve(context.Background(), q)
					if err := s.accepts(a, p, a.Edges); err != nil {
						return &histtest.Failure{Class: enc.Name + ", " + name, Err: fmt.Errorf("%s: %w", s.l, err)}
					}
				}
			}
			return nil
		},
	}
	histtest.Found(t, filepath.Join("testdata", "found"), func(t *testing.T, text []byte) {
		must.OK(t, search.Judge(text))
	})
	tried := search.Run(t)
	if !t.Failed() && tried >= 2500 && (based < 200 || yes < 200 || no < 8 || clauses == 0) {
		t.Errorf("%d constraints, %d hold, %d do not, %d transitivity clauses", based, yes, no, clauses)
	}
}

// TestInducedEveryWay: PolySI's induced graph at the snapshot levels, what pruning left of it solved each way.
func TestInducedEveryWay(t *testing.T) {
	yes, no, open := 0, 0, 0
	tried := histtest.Search{N: 6000, Long: 200_000, Make: func(seed uint64) []byte {
		return histtest.Random(seed, histtest.Shape{Txns: 6, Kinds: []histtest.Kind{histtest.Registers, histtest.Mini}})
	},
		Judge: func(text []byte) error {
			s, ok := draw(text, []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation,
				level.StrictSnapshotIsolation})
			if !ok || s.v.Ambiguous() {
				return nil
			}
			induced := func() (*polygraph.Polygraph, *polygraph.Induced) {
				p := polygraph.New(s.v, s.l, polygraph.Options{RealTime: s.l.RealTime()})
				g, ok := polygraph.NewInduced(p, 1<<20)
				if !ok {
					t.Fatal("a small history is too large")
				}
				return p, g
			}
			p, g := induced()
			_, refuted, err := g.Prune(context.Background())
			if err != nil {
				return err
			}
			if refuted {
				if no++; s.holds {
					return fmt.Errorf("%s: refuted; by brute force it holds", s.l)
				}
				return nil
			}
			if len(g.Open) > 0 {
				if open++; g.Bytes() <= 0 {
					return fmt.Errorf("a closure of %d bytes", g.Bytes())
				}
			}
			if s.holds {
				yes++
			} else {
				no++
			}
			for name, solve := range ways() {
				if strings.HasPrefix(name, "eager") {
					continue
				}
				q, ok := encode.Induced(g, 1<<20)
				if !ok {
					return fmt.Errorf("too many edges")
				}
				if _, ok := encode.Induced(g, -1); ok && len(g.Open) > 0 {
					return fmt.Errorf("no limit is too small")
				}
				a := solve(context.Background(), q)
				if err := s.accepts(a, p, encode.Deduced(g, a.Edges)); err != nil {
					return &histtest.Failure{Class: name, Err: fmt.Errorf("%s: %w", s.l, err)}
				}
			}
			return nil
		},
	}.Run(t)
	if !t.Failed() && tried >= 6000 && (yes < 500 || no < 50 || open < 50) {
		t.Errorf("%d hold, %d do not, %d with open constraints", yes, no, open)
	}
}

// An encoding from outside makes its problem by NewVar and When, as Vbox does by its own: the problems are the same.
func TestOutsideEncoding(t *testing.T) {
	text := `{"ops":[["w","x",1]]}
{"ops":[["w","x",2]]}
{"ops":[["w","x",3],["w","y",1]]}
{"ops":[["r","x",2],["w","y",2]]}
`
	h := must.Get(histtest.Read([]byte(text)))(t)
	p := polygraph.New(prepass.Run(h), level.Serializable, polygraph.Options{})
	p.AllPairs()
	q := &encode.Problem{P: p}
	for _, c := range p.Choices {
		b := solver.Pos(q.NewVar(p.Sooner(c.A, c.B)))
		for way, l := range map[bool]solver.Lit{true: b, false: b.Not()} {
			first, then := c.Either()
			if !way {
				first, then = c.Or()
			}
			p.Side(first, then, func(e polygraph.Edge) bool { q.When(l, e); return true })
		}
	}
	want := encode.Vbox(p)
	edges := func(q *encode.Problem) (out []string) {
		for i, g := range q.Guards {
			if at, ok := polygraph.OpenIndex(g.Edge.By); !ok || at != i {
				t.Errorf("guard %d says that it is %d", i, at)
			}
			out = append(out, fmt.Sprint(g.Lit, g.Edge.From, g.Edge.To, g.Edge.W, g.Edge.Dep))
		}
		slices.Sort(out)
		return out
	}
	if q.Vars != want.Vars || !slices.Equal(q.Phase, want.Phase) || !slices.Equal(edges(q), edges(want)) {
		t.Errorf("%+v; expected %+v", q, want)
	}
	a := encode.Lazy(context.Background(), q, solver.New(solver.Options{}))
	if _, ok := p.Order(a.Edges); a.Status != solver.Sat || !ok {
		t.Errorf("%+v", a)
	}
}
