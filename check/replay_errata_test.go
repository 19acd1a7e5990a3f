package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestPredicateErrata: the counterexamples of the errata to Vbox's predicate constraints, and those of the five
// mistakes in its text (docs/errata.md), each named after its number. Brute force, replay, and vbox with its solvers
// and encodings give the errata's verdicts.
func TestPredicateErrata(t *testing.T) {
	const plain, strict = level.Serializable, level.StrictSerializable
	const valid, violated = evidence.Holds, evidence.Violated
	for _, c := range []struct {
		name, text string
		l          level.Level
		want       evidence.Verdict
	}{
		{"V5, a row that is not there", `s1: w(y,1) | s2: pr{"":{"=":1}}[]`, plain, valid},
		{"V11, an own write that is not seen", `s1: w(x,1) pr{"":{"=":1}}[]`, plain, violated},
		{"V12, a later version that matches",
			`s1: pr{"":{">=":2,"<=":3}}[] @[6,8] | s2: w(x,1) @[0,2] | s3: r(x,1) w(x,2) @[3,4]`, strict, violated},
		{"V12 without times", `s1: pr{"":{">=":2,"<=":3}}[] | s2: w(x,1) | s3: r(x,1) w(x,2)`, plain, valid},
		{"V13, an own later write", `s1: pr{"":{"=":1}}[] w(y,1)`, plain, valid},
		{"V13, an own later write is no base", `init=0: s1: pr{"":{"=":0}}[] w(y,1)`, plain, violated},
		{"V14.1, an impossible edge", `s1: w(x,1) @[1,2] | s2: pr{"":{"=":1}}[] @[5,6]`, strict, violated},
		{"V14.2, an empty set", `s1: pr{"":{"=":1}}[]`, plain, valid},
		{"V14.3, equal edges under different conditions",
			`s1: pr{"":{">=":2,"<=":3}}[] r(x,_) @[5,8] | s2: w(y,1) @[1,2] | s3: pr{"":{"=":1}}[] w(y,2) @[2,4]`,
			strict, valid},
		{"V16, matched on an unknown version", `init=1: s1: pw{"":{"=":1}}[y->2]`, plain, valid},
		{"V16, nothing to match on", `init=0: s1: pw{"":{"=":1}}[y->2]`, plain, violated},
		{"V27, missed because another committed", `init=1: s1: w(y,2) ? | s2: pr{"":{"=":1}}[]`, plain, valid},
		{"V27, the other aborted", `init=1: s1: w(y,2) ! | s2: pr{"":{"=":1}}[]`, plain, violated},
		{"6.2.1, a free option", `s1: w(x,1) w(y,1) @[1,2] | s2: pr{"":{"=":9}}[] r(x,1) @[3,8] | s3: w(x,2) w(y,2) @[4,7]`, strict, valid},
		{"6.2.2, the option goes and not its edge",
			`s1: w(y,9) @[1,2] | s2: pr{"":{"=":9}}[] @[3,4] | s3: w(y,1) @[5,6]`, strict, violated},
		{"6.2.2, nothing else to choose", `s1: w(y,1) @[1,2] | s2: pr{"":{"=":9}}[] @[3,4]`, strict, valid},
		{"6.2.3, an edge that can only be a condition",
			`s1: w(y,1) @[1,2] | s2: r(y,1) w(y,9) @[1,4] | s3: pr{"":{"=":9}}[] @[5,6]`, strict, violated},
		{"6.2.3, the condition can be met", `s1: w(y,1) @[1,2] | s2: w(y,9) @[1,4] | s3: pr{"":{"=":9}}[] @[5,6]`,
			strict, valid},
		// Based on the second writer's version, the first one's must be before it; its reader, which precedes the
		// second by its read of z, says otherwise.
		{"6.2.3, an undetermined edge", `s1: w(y,1) w(z,0) @[1,4] | s2: w(y,0) w(a,0) @[1,4] | s3: pr{"":{"=":1}}[] @[5,6] | s4: r(a,0) r(y,1) @[5,7]`,
			strict, violated},
		{"6.2.4, versions that are not there", `s1: pr{"":{"=":1}}[] r(x,1) | s2: w(x,1) w(y,1)`, plain, violated},
		{"6.2.4, a deleted row", `s1: w(y,9) @[1,2] | s2: r(y,9) w(y,_) @[3,4] | s3: pr{"":{"=":9}}[] @[5,6]`, strict,
			valid},
		{"6.2.4, a row inserted again", `s1: w(y,9) @[1,2] | s2: r(y,9) w(y,_) @[3,4] | s4: r(y,_) w(y,9) @[5,6] | s3: pr{"":{"=":9}}[] @[7,8]`, strict, violated},
		{"6.2.5, truth unknown, missed", `s1: w(y,{"a":1}) @[1,2] | s2: pr{"b":{"=":1}}[] @[3,4]`, strict, valid},
		{"6.2.5, truth unknown, matched", `s1: w(y,{"a":1}) @[1,2] | s2: pr{"b":{"=":1}}[y={"a":1}] @[3,4]`, strict,
			valid},
		// Each books because it sees no booking.
		{"phantom", `s1: pr{"":{"=":1}}[] w(x,1) | s2: pr{"":{"=":1}}[] w(y,1)`, plain, violated},
	} {
		h, err := notation.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b, err := oracle.Check(h, oracle.Options{Level: c.l, VerdictOnly: true})
		if err != nil || b.Verdict != c.want {
			t.Errorf("%s: brute force says %v %v; want %s", c.name, b, err, c.want)
		}
		ask := func(k Checker, o Options) {
			o.Level = c.l
			r, err := Run(t.Context(), k, h, o)
			if err != nil || r.Verdict != c.want && !strings.Contains(r.Reason, "is unknown") {
				t.Errorf("%s, %s, %+v: %v, %v; want %s", c.name, k.Info().Name, o, r, err, c.want)
			} else if c.name == "phantom" && r.Anomalies[0].Kind != level.G2 {
				t.Errorf("a phantom is named %s", r.Anomalies[0].Kind)
			}
		}
		ask(run.Replay{}, Options{})
		for _, s := range []string{"cdcl", "cdcl-lazy", "gini", "gophersat", "gini-eager"} {
			for _, enc := range []string{"vbox", "cobra", "order"} {
				ask(run.Vbox{}, Options{Solver: s, Pipeline: Pipeline{Encoding: enc}})
			}
		}
	}
}

// TestReplaySnapshotPredicates: snapshot isolation allows the phantoms of two that begin before either commits, and no
// others.
func TestReplaySnapshotPredicates(t *testing.T) {
	const si = level.SnapshotIsolation
	for _, c := range []struct {
		name, text   string
		serial, snap evidence.Verdict
	}{
		{"write skew by insertion", `s1: pr{"":{"=":1}}[] w(x,1) | s2: pr{"":{"=":1}}[] w(y,1)`, evidence.Violated,
			evidence.Holds},
		{"one row seen, the other of its transaction missed", `s1: w(x,1) w(y,1) | s2: r(x,1) pr{"":{"=":1}}[x=1]`,
			evidence.Violated, evidence.Violated},
		{"two that see each other's insertion only",
			`s1: w(x,1) | s2: w(y,1) | s3: pr{"":{"=":1}}[x=1] | s4: pr{"":{"=":1}}[y=1]`, evidence.Violated,
			evidence.Violated},
		{"the same row overwritten twice by predicate",
			`init=1: s1: pw{"":{"=":1}}[x=1->2] | s2: pw{"":{"=":1}}[x=1->3]`, evidence.Violated, evidence.Violated},
	} {
		h, err := notation.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for l, want := range map[level.Level]evidence.Verdict{level.Serializable: c.serial, si: c.snap} {
			r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, l, err)
			} else if r.Verdict != want {
				t.Errorf("%s, %s: %s (%s); want %s", c.name, l, r.Verdict, r.Reason, want)
			}
		}
	}
}

// TestReplayBadPredicate: a predicate that does not parse is bad input, and no verdict.
func TestReplayBadPredicate(t *testing.T) {
	h := must.Get(notation.Parse(`s1: pr{"a":{"~":1}}[]`))(t)
	r, err := Run(context.Background(), run.Replay{}, h, Options{})
	if err == nil {
		t.Errorf("%s %s; want an error", r.Verdict, r.Reason)
	}
}
