package check_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/polygraph"
)

// explained counts what the explanations of many histories were about.
type explained struct {
	proofs, ambiguous, unknown, predicates, several, minimized int
	kinds                                                      map[level.Anomaly]int
}

// judge explains with item polygraphs where reads have one writer and with replay elsewhere, with and without a
// minimizer.
func (x *explained) judge(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	h, err := histtest.Read(text)
	if err != nil {
		return nil // a shrunk text may be none
	}
	l := level.All()[len(text)%6]
	if _, missing := polygraph.MissingTime(h); missing && l.RealTime() {
		return nil
	}
	v := prepass.RunWith(h, prepass.Options{Closed: len(text)%2 == 0})
	if len(v.Anomalies) > 0 {
		return nil
	}
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
	if err != nil || r.Verdict == evidence.Unknown {
		return nil
	}
	var all []uint32
	for t := range uint32(h.NumTxns()) {
		if v.Counts[t] || slices.Contains(v.Open, t) {
			all = append(all, t)
		}
	}
	refute, minimize := explain.Refuter(replay.Refute), explain.Minimizer(nil)
	if !v.Ambiguous() && len(v.LeftOut) == 0 {
		refute = explain.Item
	}
	if !h.HasPredicates() && len(text)%3 == 0 {
		minimize = func(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([]uint32, error) {
			x.minimized++
			return replay.Minimize(ctx, v, l, skew)
		}
	}
	a, err := explain.Violation(context.Background(), v, l, 0, all, refute, minimize)
	switch {
	case errors.Is(err, explain.ErrHolds):
		if r.Verdict == evidence.Violated && len(v.LeftOut)+len(v.Open) == 0 && !h.HasPredicates() {
			return fmt.Errorf("%s is said to hold; brute force: %s", l, r.Verdict)
		}
		return nil
	case err != nil:
		return err
	case r.Verdict != evidence.Violated:
		return fmt.Errorf("%s: %+v; brute force: %s", l, a, r.Verdict)
	}
	x.proofs++
	if v.Ambiguous() {
		x.ambiguous++
	}
	if h.HasPredicates() {
		x.predicates++
	}
	if slices.ContainsFunc(all, func(t uint32) bool { return h.Txns.Status[t] == history.Unknown }) {
		x.unknown++
	}
	least := slices.Clone(a.Cycles)
	a.Complete(h, l, 0)
	x.kinds[a.Kind.Base()]++
	if err := proves(h, l, a); err != nil {
		return &histtest.Failure{Class: "proof", Err: fmt.Errorf("%s: %w\n%+v", l, err, a)}
	}
	if len(least) < 2 || h.HasPredicates() || v.Ambiguous() {
		// of the version read that several wrote, or a predicate operation missed, certify finds out more by itself
		return nil
	}
	x.several++
	needed := l.Needs(a.Kind)
	for i := range least { // without any of its cases it proves nothing
		less := a
		less.Kind, less.Cycles = "", slices.Concat(least[:i], least[i+1:])
		less.Kind = less.Named(h, needed, 0)
		if proves(h, needed, less) == nil {
			return &histtest.Failure{Class: "core", Err: fmt.Errorf("%s: cycle %d is not needed\n%+v", needed, i, a)}
		}
	}
	return nil
}

// proves certifies an anomaly, under the name that certify finds it to have.
func proves(h *history.History, l level.Level, a evidence.Anomaly) error {
	r := &evidence.Result{Verdict: evidence.Violated, Level: l, H: h, Anomalies: []evidence.Anomaly{a}}
	names, err := certify.Names(r, certify.Options{})
	if err == nil {
		r.Anomalies[0].Kind = names[0]
		err = certify.Check(r, certify.Options{})
	}
	return err
}

// TestExplainProofs: explanations of histories with predicate operations, ambiguous reads and unknown outcomes are
// certified proofs, and there is one only where brute force finds no order. Where reads have one writer no cycle can be
// left out.
func TestExplainProofs(t *testing.T) {
	x := explained{kinds: map[level.Anomaly]int{}}
	tried := histtest.Search{N: 4500, Long: 300_000,
		Make: func(seed uint64) []byte {
			return histtest.Random(seed, histtest.Shape{Txns: 6, Kinds: []histtest.Kind{histtest.Predicates,
				histtest.Predicates,
				histtest.Registers, histtest.Mini}})
		},
		Judge: x.judge,
	}.Run(t)
	if !t.Failed() && tried >= 9000 && (min(x.proofs, 5*x.ambiguous, 5*x.predicates, 10*x.unknown,
		10*x.several) < 100 ||
		len(x.kinds) < 8 || x.minimized == 0) {
		t.Errorf("%+v", x)
	}
}

// TestExplainAnomaly: of cycles of which one follows from the others one after the other, that one is the anomaly; else
// each is a case.
func TestExplainAnomaly(t *testing.T) {
	ww := func(from, to uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: evidence.WW, Writer: history.None}
	}
	rw := func(from, to, writer uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: evidence.RW, Writer: writer}
	}
	so := func(from, to uint32) evidence.Edge { return evidence.Edge{From: from, To: to, Dep: evidence.SO} }
	for _, c := range []struct {
		name         string
		proof        [][]evidence.Edge
		cycle, cases int // edges of the anomaly's cycle, and cycles beside it
	}{
		{"one cycle", [][]evidence.Edge{{ww(0, 1), so(1, 0)}}, 2, 0},
		{"both orders of two writers", [][]evidence.Edge{{ww(0, 1), so(1, 0)}, {ww(1, 0), so(0, 1)}}, 0, 2},
		{"one of two orders, each refuted by itself",
			[][]evidence.Edge{{ww(0, 1), so(1, 0)}, {ww(2, 3), so(3, 2)}, {ww(1, 0), so(0, 3), ww(3, 2), so(2, 1)}}, 4,
			2},
		{"in turn: two rest on the first, the shorter is it",
			[][]evidence.Edge{{ww(0, 1), so(1, 0)}, {ww(1, 0), ww(2, 3), so(3, 1)},
				{ww(1, 0), so(0, 3), rw(3, 2, 3), so(2, 1), so(1, 4), so(4, 1)}}, 3, 2},
		{"nothing is forced", [][]evidence.Edge{{ww(0, 1), ww(2, 3)}, {ww(1, 0), ww(2, 3)}, {ww(0, 1), ww(3, 2)},
			{ww(1, 0), ww(3, 2)}}, 0, 4},
	} {
		a := explain.Anomaly(c.proof)
		if len(a.Cycle) != c.cycle || len(a.Cycles) != c.cases {
			t.Errorf("%s: a cycle of %d edges and %d more; expected %d and %d\n%+v",
				c.name, len(a.Cycle), len(a.Cycles), c.cycle, c.cases, a)
		}
	}
}
