package check

import (
	"strings"
	"testing"

	"isovet/check/weak"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestWeakPredicates holds the weak levels against the axioms over all sequences, writers of reads, and versions that
// predicate operations may have seen. What holds at a level holds at the weaker ones. Run certifies each answer.
func TestWeakPredicates(t *testing.T) {
	verdicts := map[string]int{}
	kinds := slice.Filter(predicateOptions, func(o random.Options) bool { return o.Predicates })
	histtest.Each(t, histtest.Long[uint64](495, 100_000), func(seed uint64) *history.History {
		return random.Tiny(seed, kinds[seed%uint64(len(kinds))])
	}, func(t testing.TB, seed uint64, h *history.History) {
		if !h.HasPredicates() {
			return
		}
		if seed%3 == 0 { // snapshots are asked at once
			defer low("check.fewVersions")()
		}
		stronger := evidence.Unknown
		holds := map[level.Level]bool{}
		var named []level.Anomaly
		for _, l := range []level.Level{level.SessionSnapshotIsolation, level.Causal, level.ReadAtomic,
			level.ReadCommitted} {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			if stronger == evidence.Holds && want.Verdict != evidence.Holds {
				t.Fatalf("seed %d: %s is %s by brute force, and a stronger level holds\n%s", seed, l, want.Verdict,
					notation.Format(h))
			}
			if stronger = want.Verdict; l.Snapshot() {
				continue
			}
			holds[l] = want.Verdict == evidence.Holds
			got := answer(t, weakly{}, h, Options{Level: l})
			if got.Verdict == evidence.Unknown && want.Verdict == evidence.Violated && l == level.ReadCommitted {
				verdicts["read-committed unknown"]++ // a version read twice, of several writers
				continue
			}
			agree(t, got, want.Verdict)
			verdicts[l.String()+" "+got.Verdict.String()]++
			if len(got.Sources) > 0 {
				verdicts["with sources"]++
			}
			if strings.Contains(got.Note, "nobody reads from") {
				verdicts[l.String()+" without some"]++
			}
			for _, a := range got.Anomalies {
				verdicts[string(a.Kind)]++
				named = append(named, a.Kind)
				if !l.Forbids(a.Kind) && !l.ForbidsSome(a.Kind) {
					t.Fatalf("seed %d: %s, which %s allows\n%s", seed, a.Kind, l, notation.Format(h))
				}
			}
		}
		for l, ok := range holds {
			for _, kind := range named {
				if ok && l.Forbids(kind) {
					t.Fatalf("seed %d: %s, and %s, which forbids it, holds\n%s", seed, kind, l, notation.Format(h))
				}
			}
		}
	})
	t.Log(verdicts)
	for _, l := range weak.Levels() {
		for _, v := range []string{" valid", " violation"} {
			histtest.Mix(t, verdicts[l.String()+v] < 25,
				"the mix is lopsided: %d times %s%s", verdicts[l.String()+v], l, v)
		}
	}
}

// TestWeakWithout: histories that a long fork or a lost update keeps from snapshot isolation are valid at causal, by
// snapshots of all transactions but those that nobody reads from; what else is planted is judged as without snapshots.
func TestWeakWithout(t *testing.T) {
	verdicts := map[string]int{}
	for _, fault := range []string{"long-fork", "lost-update", "lost-predicate-update", "causality-violation",
		"fractured-read", "phantom-read", "missed-row"} {
		for seed := range histtest.Long[uint64](1, 60) {
			h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw-pred",
				Txns: histtest.Long(50, 100), Keys: histtest.Long(65, 130), Sessions: 8, Fault: fault, Seed: seed}))(t)
			for _, l := range []level.Level{level.Causal, level.ReadAtomic} {
				want := answer(t, weakly{}, h, Options{Level: l})
				usual := low("check.fewVersions")
				got, err := Run(t.Context(), weakly{}, h, Options{Level: l})
				usual()
				if err != nil || got.Verdict != want.Verdict || want.Verdict == evidence.Unknown {
					t.Fatalf("%s, seed %d, %s: %v, %s (%s), not %s (%s)", fault, seed, l, err, got.Verdict, got.Reason,
						want.Verdict, want.Reason)
				}
				verdicts[fault+" "+got.Verdict.String()]++
				if strings.Contains(got.Note, "nobody reads from") {
					verdicts[fault+" without some"]++
				}
			}
		}
	}
	t.Log(verdicts)
	for _, fault := range []string{"long-fork", "lost-update"} {
		if n := verdicts[fault+" without some"]; 2*n < verdicts[fault+" valid"] || n == 0 {
			t.Errorf("%s: %d of %d without some", fault, n, verdicts[fault+" valid"])
		}
	}
}

// TestWeakWithoutDuplicates: a row that a predicate operation read, and that several may have written, is no version
// that it missed, whoever wrote it.
func TestWeakWithoutDuplicates(t *testing.T) {
	defer low("check.fewVersions")()
	for _, text := range []string{
		`init: w(k00,{"v":null,"w":3}) | ` +
			`s1: r(k00,{"v":null,"w":3}) pw{"w":{"!=":2}}[k00={"v":null,"w":3}->{"v":null,"w":3}] ` +
			`w(k00,{"v":null,"w":3}) ` +
			`pw{"and":[{"v":{">=":2}},{"v":{"<=":3}}]}[k00={"v":null,"w":3}->{"v":0,"w":"3"}] | ` +
			`s0: pw{"not":{"v":{">=":0}}}[k00={"v":null,"w":3}->{"v":null,"w":3}] r(k00,{"v":null,"w":3}) | ` +
			`s1: pr{"w":{">":3}}[] pr{"v":{">":0}}[k00={"v":null,"w":3}] | ` +
			`s1: pw{"w":{"in":[3,2]}}[k00={"v":null,"w":3}->{"v":null,"w":3}] pr{"w":{"=":0}}[] ` +
			`pr{"or":[{"and":[{"v":{">":2}},{"v":{"<":3}}]},{"v":{"<":0}}]}[k00={"v":null,"w":3}]`,
		`init=0: s1/0: w(k00,1) pw{"":{"<=":0}}[k01=0->3] pw{"and":[{"":{">=":5}},{"":{">=":4}}]}[] w(k00,0) | ` +
			`s1/1: | s0/2: r(k01,3) pw{"":{"<":3}}[] | s3/3: r(k00,_) r(k01,3) w(k00,10) | ` +
			`s4/4: w(k00,_) r(k01,3) ` +
			`pr{"or":[{"not":{"":{"=":6}}},{"and":[{"":{"!=":1}},{"and":[{"":{">=":12}},{"":{"<":4}}]}]}]}[k01=3] | ` +
			`s0/5: pw{"":{"!=":4}}[k01=3->13] | s3/6: pr{"and":[{"":{">=":15}},{"":{"<=":4}}]}[] pw{"":{"<":4}}[] | ` +
			`s4/7: pw{"or":[{"":{"!=":14}},{"":{"<":11}}]}[k01=13->0] w(k00,_) pw{"":{">=":0}}[k01=0->0] ` +
			`pw{"and":[{"":{">=":6}},{"":{"<=":10}}]}[]`,
	} {
		h := must.Get(notation.Parse(text))(t)
		for _, l := range []level.Level{level.Causal, level.ReadAtomic} {
			agree(t, answer(t, weakly{}, h, Options{Level: l}), evidence.Holds)
		}
	}
}

// TestConditionFalse: a row that a predicate operation lists at a version of which its condition is false is read, or
// replaced, at that version at read-committed, where that alone counts, and a violation at every level above it.
func TestConditionFalse(t *testing.T) {
	for _, x := range []struct {
		text string
		rc   evidence.Verdict
	}{
		{`init: w(x,0) | s1: pr{"":{"=":1}}[x=0]`, evidence.Holds},
		{`init: w(x,0) | s1: pw{"":{"=":1}}[x=0->2]`, evidence.Holds},
		{`s1: w(x,1) | s2: pw{"":{"=":2}}[x=1->3] | s3: r(x,3)`, evidence.Holds},
		{`s1: w(x,1)! | s2: pw{"":{"=":2}}[x=1->3]`, evidence.Violated}, // it is read all the same
		{`s1: w(x,1) w(x,5) | s2: pr{"":{"=":2}}[x=1]`, evidence.Violated},
	} {
		h := notation.MustParse(x.text)
		for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal} {
			want := x.rc
			if l != level.ReadCommitted {
				want = evidence.Violated
			}
			r, err := Run(t.Context(), weakly{}, h, Options{Level: l})
			if err != nil || r.Verdict != want {
				t.Errorf("%s at %s: %v (%v), expected %s", x.text, l, r, err, want)
				continue
			}
			by, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			must.Be(t, err == nil && by.Verdict == want,
				"%s at %s: brute force says %v (%v), expected %s", x.text, l, by.Verdict, err, want)
		}
	}
}
