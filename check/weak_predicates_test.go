package check

import (
	"testing"

	"isovet/check/oracle"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/histtest"
	"isovet/internal/histtest/notation"
	"isovet/internal/histtest/random"
	"isovet/level"
)

// TestWeakPredicates holds the weak levels against the axioms over all sequences, writers of reads, and versions that
// predicate operations may have seen. What holds at a level holds at the weaker ones. Run certifies each answer.
func TestWeakPredicates(t *testing.T) {
	verdicts := map[string]int{}
	var kinds []random.Options
	for _, o := range predicateOptions {
		if o.Predicates {
			kinds = append(kinds, o)
		}
	}
	histtest.Each(t, histtest.Long[uint64](3000, 100_000), func(seed uint64) *history.History {
		return random.Tiny(seed, kinds[seed%uint64(len(kinds))])
	}, func(t testing.TB, seed uint64, h *history.History) {
		if !h.HasPredicates() {
			return
		}
		if seed%3 == 0 { // snapshots are asked at once
			defer setBound(&fewVersions, 1)()
		}
		stronger := evidence.Unknown
		holds := map[level.Level]bool{}
		var named []level.Anomaly
		for _, l := range []level.Level{level.SessionSnapshotIsolation, level.Causal, level.ReadAtomic,
			level.ReadCommitted} {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if stronger == evidence.Holds && want.Verdict != evidence.Holds {
				t.Fatalf("seed %d: %s is %s by brute force, and a stronger level holds\n%s", seed, l, want.Verdict,
					notation.Format(h))
			}
			if stronger = want.Verdict; l.Snapshot() {
				continue
			}
			holds[l] = want.Verdict == evidence.Holds
			got, err := Run(t.Context(), weakly{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v; brute force %s\n%s", seed, l, err, want.Verdict, notation.Format(h))
			}
			if got.Verdict == evidence.Unknown && want.Verdict == evidence.Violated && l == level.ReadCommitted {
				verdicts["read-committed unknown"]++ // a version read twice, of several writers
				continue
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: weak says %s (%s), brute force %s\n%s", seed, l, got.Verdict, got.Reason,
					want.Verdict, notation.Format(h))
			}
			verdicts[l.String()+" "+got.Verdict.String()]++
			if len(got.Sources) > 0 {
				verdicts["with sources"]++
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
			if histtest.Whole() && verdicts[l.String()+v] < 100 {
				t.Errorf("the mix is lopsided: %d times %s%s", verdicts[l.String()+v], l, v)
			}
		}
	}
}
