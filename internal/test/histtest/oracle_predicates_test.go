package histtest_test

import (
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// The lattice holds with predicates, and a history keeps its verdicts when it is written and read again, or restricted
// to all of itself.
func TestOraclePredicatesLaws(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	only := 0 // snapshot isolated and not serializable
	histtest.Each(t, uint64(1500), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Predicates: true, Keys: 3, Duplicates: seed%3 == 0,
			Deletes: seed%2 == 0, Aborted: seed%5 == 0, Unknown: seed%4 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		var all []uint32
		for s := range h.NumSessions() {
			all = append(all, h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]...)
		}
		part := history.Restrict(h, all, nil)
		again := notation.MustParse(notation.Format(h))
		holds := map[level.Level]bool{}
		for _, l := range six {
			v := verdict(t, h, l)
			r, err := oracle.Check(h, oracle.Options{Level: l})
			if err == nil {
				err = certify.Check(r, certify.Options{})
			}
			if err != nil {
				t.Fatalf("seed %d at %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if (r.Verdict == evidence.Holds) != (v == evidence.Holds) {
				t.Fatalf("seed %d at %s: %s; by verdict only %s\n%s", seed, l, r.Verdict, v, notation.Format(h))
			}
			verdicts[v]++
			holds[l] = v == evidence.Holds
			if w := verdict(t, again, l); w != v {
				t.Fatalf("seed %d at %s: %s, and %s after notation\n%s", seed, l, v, w, notation.Format(h))
			}
			if w := verdict(t, part.H, l); w != v {
				t.Fatalf("seed %d at %s: %s, and %s of the whole as a part\n%s", seed, l, v, w, notation.Format(h))
			}
		}
		for v, w := range part.Ver {
			must.Same(t, part.H.ValueString(uint32(v)), h.ValueString(w), "seed %d: version of the part", seed)
		}
		if holds[level.SnapshotIsolation] && !holds[level.Serializable] {
			only++
		}
		for _, l := range six {
			for _, m := range six {
				if l.Implies(m) && holds[l] && !holds[m] {
					t.Fatalf("seed %d: %s holds and %s does not\n%s", seed, l, m, notation.Format(h))
				}
			}
		}
	})
	t.Log(verdicts, only)
	if histtest.Whole() && (min(verdicts[evidence.Holds], verdicts[evidence.Violated]) < 2500 || only < 15) {
		t.Errorf("verdicts %v, %d of snapshot isolation alone: too few of one", verdicts, only)
	}
}

func verdict(t testing.TB, h *history.History, l level.Level) evidence.Verdict {
	t.Helper()
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
	if err != nil || r.Verdict == evidence.Unknown {
		t.Fatalf("%v, %v\n%s", r, err, notation.Format(h))
	}
	return r.Verdict
}
