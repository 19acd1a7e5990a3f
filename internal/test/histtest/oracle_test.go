package histtest_test

import (
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

func check(t *testing.T, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	r, err := oracle.Check(h, oracle.Options{Level: l})
	if err != nil {
		t.Fatalf("%v\n%s", err, oracletest.String(h))
	}
	return r
}

var shapes = map[string]oracletest.Shape{
	"plain":      {Txns: 5, Keys: 3, Sessions: 4, Ops: 4},
	"duplicates": {Txns: 5, Keys: 2, Sessions: 4, Ops: 4, Duplicates: true, Deletes: true, Init: true},
	"outcomes":   {Txns: 5, Keys: 2, Sessions: 3, Ops: 4, Aborted: true, Unknown: true, Init: true},
	"lists":      {Txns: 5, Keys: 2, Sessions: 4, Ops: 4, Lists: true, Init: true},
	"all": {Txns: 5, Keys: 3, Sessions: 3, Ops: 4, Duplicates: true, Deletes: true, Aborted: true, Unknown: true,
		Lists: true, Init: true},
}

// The replay and the serialization graphs agree (Check compares them), the evidence of both is proved by certify, and
// the lattice's implications hold.
func TestOracleImplementationsAgree(t *testing.T) {
	for name, shape := range shapes {
		var verdicts [2]int
		bare := 0
		histtest.Each(t, uint64(1500), func(seed uint64) *history.History { return oracletest.Random(seed, shape) },
			func(t testing.TB, seed uint64, h *history.History) {
				holds := map[level.Level]bool{}
				for _, l := range six {
					r, err := oracle.Check(h, oracle.Options{Level: l})
					if err != nil {
						t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, oracletest.String(h))
					}
					bare1, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
					if err != nil || bare1.Verdict == evidence.Unknown {
						t.Fatalf("%s, seed %d: %v, %v", name, seed, bare1, err)
					}
					holds[l] = bare1.Verdict == evidence.Holds
					if holds[l] {
						verdicts[0]++
					} else {
						verdicts[1]++
					}
					if r.Verdict == evidence.Unknown && !holds[l] {
						bare++
					} else if r.Verdict != bare1.Verdict {
						t.Fatalf("%s, seed %d: %s, and by verdict only %s", name, seed, r.Verdict, bare1.Verdict)
					}
					if err := certify.Check(r, certify.Options{}); err != nil {
						text := ""
						for _, a := range r.Anomalies {
							text += a.Text + "\n"
						}
						t.Fatalf("%s, seed %d at %s, %s: %v\n%s%v\n%s", name, seed, l, r.Verdict, err,
							oracletest.String(h), r.Order, text)
					}
				}
				for _, l := range six {
					for _, m := range six {
						if l.Implies(m) && holds[l] && !holds[m] {
							t.Fatalf("%s, seed %d: %s holds and %s does not\n%s", name, seed, l, m,
								oracletest.String(h))
						}
					}
				}
			})
		t.Logf("%s: %d valid, %d violations, %d of them without evidence", name, verdicts[0], verdicts[1], bare)
		if histtest.Whole() && min(verdicts[0], verdicts[1]) < 500 {
			t.Errorf("%s: too few of one verdict: %v", name, verdicts)
		}
		if histtest.Whole() && bare*20 > verdicts[1] {
			t.Errorf("%s: %d of %d violations without evidence", name, bare, verdicts[1])
		}
	}
}

// Transactions of unknown outcome count exactly if that helps (errata V27).
func TestOracleUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		name, text string
		l          level.Level
		holds      bool
	}{
		{"read, so it counts", "T1 s1 [1,2] UNKNOWN: w(x,1)\nT2 s2 [3,4]: r(x,1)", level.StrictSerializable, true},
		{"not read, so it does not", "T1 s1 [1,2] UNKNOWN: w(x,1)\nT2 s2 [3,4]: r(x,0)", level.StrictSerializable,
			true},
		{"takes effect late", "T1 s1 [1,2] UNKNOWN: w(x,1)\nT2 s2 [3,4]: r(x,0)\nT3 s2 [5,6]: r(x,1)",
			level.StrictSerializable, true},
		{"later in its session need not see it",
			"T1 s1 [1,2] UNKNOWN: w(x,1)\nT2 s1 [3,4]: r(x,0)\nT3 s2 [5,6]: r(x,1)", level.StrictSerializable, true},
		{"not before it began", "T1 s1 [5,6] UNKNOWN: w(x,1)\nT2 s2 [1,2]: r(x,1)", level.StrictSerializable, false},
		{"not before it began, without times", "T1 s1 [5,6] UNKNOWN: w(x,1)\nT2 s2 [1,2]: r(x,1)", level.Serializable,
			true},
		{"not before its session", "T1 s1 [1,2]: r(x,1)\nT2 s1 [3,4] UNKNOWN: w(x,1)", level.SessionSerializable,
			false},
		{"cannot count twice over", "T1 s1 [1,2] UNKNOWN: r(x,9) w(x,1)\nT2 s2 [3,4]: r(x,1)", level.Serializable,
			false},
	} {
		r := check(t, oracletest.Parse(c.text), c.l)
		must.Equal(t, r.Verdict == evidence.Holds, c.holds, "%s: %s", c.name, r.Verdict)
		must.OK(t, certify.Check(r, certify.Options{}), "%s", c.name)
	}
}

// Real time is strict, and the skew widens both intervals (errata V9).
func TestOracleClockSkew(t *testing.T) {
	h := oracletest.Parse("T1 s1 [10,20]: w(x,1)\nT2 s2 [25,30]: r(x,0)")
	for skew, holds := range map[int64]bool{0: false, 2: false, 3: true, 1 << 62: true} {
		r, err := oracle.Check(h, oracle.Options{Level: level.StrictSerializable, ClockSkew: skew})
		if err != nil || (r.Verdict == evidence.Holds) != holds {
			t.Errorf("skew %d: %v, %v", skew, r, err)
		}
		must.OK(t, certify.Check(r, certify.Options{ClockSkew: skew}), "skew %d", skew)
	}
	touching := oracletest.Parse("T1 s1 [10,20]: w(x,1)\nT2 s2 [20,30]: r(x,0)")
	if r := check(t, touching, level.StrictSerializable); r.Verdict != evidence.Holds {
		t.Errorf("touching intervals do not order: %s", r.Verdict)
	}
}

func TestOracleRefuses(t *testing.T) {
	var nine strings.Builder
	for i := range 9 {
		nine.WriteString("T" + string(rune('1'+i)) + ": w(x,1)\n")
	}
	for text, l := range map[string]level.Level{
		nine.String():     level.Serializable,
		"T1 s1: w(x,1)":   level.StrictSnapshotIsolation,
		"T1 s1: w(x,1)\n": level.RepeatableRead,
	} {
		if r := check(t, oracletest.Parse(text), l); r.Verdict != evidence.Unknown || r.Reason == "" {
			t.Errorf("%q at %s: %s, %q", text, l, r.Verdict, r.Reason)
		}
	}
	r, err := oracle.Check(oracletest.Parse(nine.String()), oracle.Options{MaxTxns: 9})
	if err != nil || r.Verdict != evidence.Holds {
		t.Errorf("nine transactions with MaxTxns 9: %v, %v", r, err)
	}
	r, err = oracle.Check(notation.MustParse(`_: pr{"v":{"~":1}}[]`), oracle.Options{})
	if err != nil || r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, "expected comparisons") {
		t.Errorf("a predicate that is none: %v, %v", r, err)
	}
}
