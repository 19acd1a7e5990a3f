package check

import (
	"context"
	"os"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
	"isovet/oracle"
	"isovet/weak"
)

// TestWeakAgainstBruteForce holds the checker of the weak levels against the axioms over all sequences; Run certifies each answer.
func TestWeakAgainstBruteForce(t *testing.T) {
	n := uint64(12000)
	if os.Getenv("ISOVET_LONG") != "" {
		n = 200000
	}
	verdicts := map[string]int{}
	for seed := range n {
		h := tiny(seed)
		switch seed % 3 {
		case 0:
			h = datasets.Lagging(seed, datasets.RandomOptions{Txns: 6}, seed%2 == 0)
		case 1:
			h = datasets.Tiny(seed, datasets.RandomOptions{Txns: 6, Keys: 3, Aborted: seed%4 == 0, Unknown: seed%5 > 2, NoTimes: seed%8 == 1})
		}
		for _, l := range weak.Levels() {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got, err := Run(context.Background(), weakly{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, dump(h))
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: weak says %s (%s), brute force %s\n%s", seed, l, got.Verdict, got.Reason, want.Verdict, dump(h))
			}
			kind := ""
			if got.Verdict == evidence.Violated && len(got.Anomalies[0].Cycle) > 0 {
				kind = " by a cycle"
			}
			verdicts[l.String()+" "+got.Verdict.String()+kind]++
		}
	}
	t.Log(verdicts)
	for _, l := range weak.Levels() {
		for _, v := range []string{" valid", " violation", " violation by a cycle"} {
			if verdicts[l.String()+v] < int(n)/40 {
				t.Errorf("the mix is lopsided: %d times %s%s", verdicts[l.String()+v], l, v)
			}
		}
	}
}

// TestWeakCatalogue: every cell of errata §5.1 at the weak levels, and of the other anomalies of the catalogue.
func TestWeakCatalogue(t *testing.T) {
	for _, a := range datasets.Anomalies() {
		for _, l := range weak.Levels() {
			want := evidence.Holds
			for _, v := range a.Violates {
				if v == l {
					want = evidence.Violated
				}
			}
			mustBe(t, a.History(), Options{Level: l}, want)
		}
	}
}

// TestWeakMedium: on histories of hundreds of transactions what holds at a level holds at the weaker ones, every answer is
// certified, and a stronger checker's "valid" is kept.
func TestWeakMedium(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(300) {
		o := datasets.RandomOptions{Txns: 200, Keys: 12, Sessions: 6, Unknown: seed%3 == 0}
		h := datasets.Medium(seed, o)
		if seed%2 == 0 {
			h = datasets.Lagging(seed, o, seed%4 == 0)
		}
		weaker := evidence.Unknown
		for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal, level.SessionSnapshotIsolation} {
			c := Checker(weakly{})
			if l == level.SessionSnapshotIsolation {
				c = replayer{}
			}
			r, err := Run(context.Background(), c, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			if weaker == evidence.Violated && r.Verdict != evidence.Violated {
				t.Fatalf("seed %d: %s is %s, the level below is violated", seed, l, r.Verdict)
			}
			weaker = r.Verdict
			kinds[l.String()+" "+r.Verdict.String()]++
		}
	}
	t.Log(kinds)
}
