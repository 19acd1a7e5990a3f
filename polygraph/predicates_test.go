package polygraph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/closure"
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

// seen counts what a search over random histories went through.
type seen map[string]int

// question is the view of a history at a level, no single read of which is wrong. open: it leaves out whom predicate
// operations may have seen or missed.
func question(text []byte) (h *history.History, v *prepass.View, l level.Level, open, ok bool) {
	if len(text) == 0 {
		return
	}
	h, err := histtest.Read(text)
	if err != nil {
		return
	}
	v = prepass.RunWith(h, prepass.Options{Closed: true})
	if len(v.Anomalies)+len(v.Open) > 0 {
		return
	}
	l = level.All()[len(text)%6] // the serializable and the snapshot levels
	_, missing := polygraph.MissingTime(h)
	if missing && l.RealTime() {
		return
	}
	return h, v, l, len(v.LeftOut) > 0, true
}

// judge holds a polygraph with predicate constraints and reads with several possible writers against brute force,
// step by step, and has each proof, and each order, certified.
func judge(text []byte, s seen) error {
	h, v, l, unsure, ok := question(text)
	timed := l.RealTime()
	if !ok {
		return nil
	}
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
	if err != nil || r.Verdict == evidence.Unknown {
		return nil
	}
	p := polygraph.New(v, l, polygraph.Options{RealTime: timed, AtMostOne: len(text)%4 == 0, Relaxed: unsure})
	initial := 0 // edges of readers of initial versions
	for _, e := range p.Known {
		if e.Dep == evidence.RW {
			initial++
		}
	}
	if timed {
		p.Overlapping()
	} else {
		p.AllPairs()
	}
	most := polygraph.InitialBytes(v)
	if n := 16*len(p.Choices) + 20*initial; p.ListBytes() < float64(n) || !timed && most < float64(20*initial) {
		return fmt.Errorf("lists of %d bytes, said to have %v, of initial versions %v", n, p.ListBytes(), most)
	}
	if !p.Predicates(0) {
		return fmt.Errorf("no limit, and the constraints are too many")
	}
	if err := constraints(p); err != nil {
		return err
	}
	s["based"] += len(p.Based)
	if unsure {
		s["unsure"]++
	}
	no := func(how string, cycles [][]polygraph.Edge) error {
		if s[how]++; unsure {
			s["unsure no"]++
		}
		if r.Verdict != evidence.Violated {
			return fmt.Errorf("%s by %s; brute force: %s", l, how, r.Verdict)
		}
		if v.Ambiguous() || unsure || len(cycles) == 0 {
			return nil // more than cycles of what is known, see package explain
		}
		var a evidence.Anomaly
		for _, c := range p.Reasons(cycles) {
			a.Cycles = append(a.Cycles, p.EvidenceCycle(c))
		}
		if len(a.Cycles) == 1 {
			a.Cycle, a.Cycles = a.Cycles[0], nil
		}
		a.Complete(h, l, 0)
		s["proofs"]++
		return certified(h, l, a)
	}
	if m, is := p.Mismatch(); is {
		s["mismatch"]++
		if r.Verdict != evidence.Violated {
			return fmt.Errorf("%s: %v; brute force: %s", l, m, r.Verdict)
		}
		m.Complete(h, l, 0)
		return certified(h, l, m)
	}
	if c := p.KnownCycle(); c != nil {
		return no("known cycle", [][]polygraph.Edge{c})
	}
	if c := p.Baseless(); c != nil {
		return no("baseless", p.ConflictCycles(c))
	}
	reach, _, err := closure.New(closure.KindPurdomPlus,
		closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)}, closure.Options{})
	if err != nil {
		return err
	}
	if len(text)%3 > 0 {
		c, err := p.Prune(context.Background(), reach)
		if err != nil {
			return err
		}
		if c != nil {
			return no("pruning", p.ConflictCycles(c))
		}
	}
	if p.OpenBased() > 0 {
		s["open"]++
	}
	q := encode.Vbox(p)
	if got := len(q.Guards); got > p.OpenEdges() {
		return fmt.Errorf("%d edges are open, at most %d said", got, p.OpenEdges())
	}
	a := encode.Lazy(context.Background(), q, solver.New(solver.Options{}))
	if a.Status != solver.Sat {
		if len(a.Cycles) == 0 && len(p.Based) > 0 {
			return no("clauses", nil)
		}
		return no("search", a.Cycles)
	}
	if unsure {
		return nil // an order without those whose outcome is open is another matter
	}
	s["yes"]++
	if r.Verdict != evidence.Holds {
		return fmt.Errorf("%s: an order; brute force: %s", l, r.Verdict)
	}
	order, acyclic := p.Order(a.Edges)
	if !acyclic {
		return fmt.Errorf("%s: the model has a cycle", l)
	}
	return certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: l, Order: order, H: h}, certify.Options{})
}

func certified(h *history.History, l level.Level, a evidence.Anomaly) error {
	_, err := certify.Names(&evidence.Result{Verdict: evidence.Violated, Level: l, H: h,
		Anomalies: []evidence.Anomaly{a}}, certify.Options{}) // a polygraph's names are hints (run.Named)
	if err != nil {
		return fmt.Errorf("%s: %w\n%+v", l, err, a)
	}
	return nil
}

// constraints holds the constraints against what their fields say of them.
func constraints(p *polygraph.Polygraph) error {
	for i := range p.Based {
		c := &p.Based[i]
		m := prepass.Miss{Op: c.Op, Key: c.Key}
		var story []uint32
		p.StoryOf(c, func(t uint32) { story = append(story, t) })
		if story[0] != p.Txn[c.Node] || p.V.H.TxnOf(c.Op) != story[0] {
			return fmt.Errorf("constraint %+v is told of %v", c, story)
		}
		fits := func(w uint32) bool {
			if c.Read > 0 {
				return p.V.WVer[w] == p.V.RVer(c.Read-1)
			}
			return p.V.Fits(m, p.V.WVer[w], c.Missed)
		}
		for o := c.Lo; o < c.Hi; o++ {
			w := p.Options[o].W
			x := p.WriteNode(w)
			if p.Options[o].Of != int32(i) || !fits(w) || x >= 0 && (p.BeginNode(x) == c.Node || p.Before(c.Node, x)) {
				return fmt.Errorf("option %d of %+v", w, c)
			}
			if x >= 0 && !slices.Contains(story, p.Txn[x]) {
				return fmt.Errorf("option %d of %+v is not in its story %v", w, c, story)
			}
		}
		for _, w := range p.Targets[c.TLo:c.THi] {
			if x := p.WriteNode(w); fits(w) || p.BeginNode(x) == c.Node || p.Before(c.Node, x) {
				return fmt.Errorf("target %d of %+v", w, c)
			}
		}
		// Who began last of those that had ended by then.
		last, start := history.None, int64(0)
		for _, w := range p.Writers(c.Key) {
			x := p.WriteNode(w)
			if p.Before(x, c.Node) && (last == history.None || p.Start[x] >= start) {
				last, start = p.Txn[x], p.Start[x]
			}
		}
		if t, ok := p.LastBefore(m); ok != (last != history.None) || ok && t != last {
			return fmt.Errorf("before %+v %d wrote last, %v; by definition %d", c, t, ok, last)
		}
	}
	return nil
}

// TestPredicateConstraints: with what predicate operations and ambiguous reads were based on, the polygraph has a
// completion if and only if brute force over all orders finds one; its conflicts and cycles are proofs that are
// certified.
func TestPredicateConstraints(t *testing.T) {
	s := seen{}
	tried := histtest.Search{N: 6000, Long: 400_000, Make: func(seed uint64) []byte {
		return histtest.Random(seed, histtest.Shape{Txns: 5, Kinds: []histtest.Kind{histtest.Predicates,
			histtest.Predicates, histtest.Registers, histtest.Mini}})
	},
		Judge: func(text []byte) error { return judge(text, s) },
	}.Run(t)
	if t.Failed() || tried < 6000 {
		return
	}
	for _, what := range []string{"based", "open", "yes", "known cycle", "mismatch", "baseless", "pruning", "search",
		"proofs", "unsure no"} {
		must.Be(t, s[what] != 0, "%s never came to pass: %v", what, s)
	}
	t.Log(s)
}
