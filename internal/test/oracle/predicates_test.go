package oracle_test

import (
	"strings"
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

// Predicate reads and writes by definition: examples of errata V4 to V16 and V27, and the rules one
// by one.
func TestPredicates(t *testing.T) {
	ser, si, strict := level.Serializable, level.SnapshotIsolation, level.StrictSerializable
	for _, c := range []struct {
		name, text string
		l          level.Level
		holds      bool
	}{
		{"Vbox figure 1", `_: w(x,{"v":0}) w(y,{"v":0}) | _: w(x,{"v":1}) w(y,{"v":1}) | _: w(x,{"v":2}) w(y,{"v":2}) | _: pr{"v":{"=":1}}[x={"v":1}]`, ser, false},
		{"V5: a row that is not born matches nothing", `_: w(y,{"v":1}) | _: pr{"v":{"=":1}}[]`, ser, true},
		{"V12: every true version after the base",
			`s1: pr{"":{">=":2,"<=":3}}[] @[6,8] | s2: w(x,1) @[1,2] | s3: r(x,1) w(x,2) @[3,4]`, strict, false},
		{"V12 without time", `s1: pr{"":{">=":2,"<=":3}}[] @[6,8] | s2: w(x,1) @[1,2] | s3: r(x,1) w(x,2) @[3,4]`, ser,
			true},
		{"V13: a write after the read", `_: pr{"":{"=":1}}[] w(y,1)`, ser, true},
		{"V13: what the write overwrites matched", `init=0: _: pr{"":{"=":0}}[] w(y,1)`, ser, false},
		{"V14.1: an impossible set", `s1: w(x,1) @[1,2] | s2: pr{"":{"=":1}}[] @[5,6]`, strict, false},
		{"V14.2: nothing at all", `_: pr{"":{"=":1}}[]`, ser, true},
		{"V14.3: two conditions of an edge",
			`s1: pr{"":{">=":2,"<=":3}}[] @[5,8] | s2: w(y,1) @[1,2] | s3: pr{"":{"=":1}}[] w(y,2) @[2,4]`, strict,
			true},
		{"V16: a write that matched it knows not what", `_: w(x,1) | _: pw{"":{"=":1}}[x->2] | _: r(x,2)`, ser, true},
		{"V16: a write of a row that is not there", `_: pw{"":{"=":1}}[x->2]`, ser, false},
		{"V16: a write of a row that never matched", `_: w(x,3) | _: pw{"":{"=":1}}[x->2]`, ser, false},
		{"V16: a write that missed a row", `init: w(x,1) | _: pw{"":{"=":1}}[]`, ser, false},
		{"V27: an unknown outcome that must have been a commit", `init: w(y,1) | _: w(y,2)? | _: pr{"":{"=":1}}[]`, ser,
			true},
		{"V27: without it", `init: w(y,1) | _: w(y,2)! | _: pr{"":{"=":1}}[]`, ser, false},
		{"the header's initial value", `init=1: _: pr{"":{"=":1}}[] | _: w(x,2)`, ser, true},
		{"the header's initial value, in order", `init=1: s1: pr{"":{"=":1}}[] @[1,2] | s2: w(x,2) @[3,4]`, strict,
			false},
		{"a tombstone matches nothing", `init: w(x,1) | s1: w(x,_) | s1: pr{"not":{"":{"=":5}}}[]`,
			level.SessionSerializable, true},
		{"and cannot be matched", `init: w(x,1) | _: w(x,_) | _: pr{"":{"=":1}}[x=_]`, ser, false},
		{"a row inserted again", `init: w(x,1) | s1: w(x,_) | s1: w(x,1) | s1: pr{"":{"=":1}}[x=1]`,
			level.SessionSerializable, true},
		{"own writes", `init: w(x,1) | _: w(x,5) w(y,5) pr{"":{"=":5}}[x=5,y=5] pw{"":{"=":5}}[x=5->6,y->_] pr{"":{">":0}}[x=6]`, ser, true},
		{"own writes missed", `init: w(x,1) | _: w(x,5) pr{"":{"=":1}}[x=1]`, ser, false},
		{"own writes under snapshot isolation", `init: w(x,1) | _: w(x,5) pr{"":{"=":1}}[x=1]`, si, false},
		{"another version than the one matched",
			`init: w(x,1) | _: w(x,2) | _: pr{"":{">":0}}[x=2] | _: pr{"":{">":0}}[x=1]`, ser, true},
		{"one version of each key at a time", `init: w(x,1) w(y,1) | _: w(x,2) w(y,2) | _: pr{"":{">":0}}[x=2,y=1]`, si,
			false},
		{"unknown truth matches", `init: w(x,{"w":1}) | _: pr{"v":{"=":1}}[x={"w":1}]`, ser, true},
		{"unknown truth does not", `init: w(x,{"w":1}) | _: pr{"v":{"=":1}}[]`, ser, true},
		{"nor its negation", `init: w(x,{"v":null}) | _: pr{"not":{"v":{"=":1}}}[x={"v":null}] pr{"not":{"v":{"=":1}}}[]`, ser, true},
		{"false of a row that was matched", `init: w(x,{"v":2}) | _: pr{"v":{"=":1}}[x={"v":2}]`, ser, false},
		{"write skew by phantoms, serializable", `_: pr{"":{">":0}}[] w(x,1) | _: pr{"":{">":0}}[] w(y,1)`, ser, false},
		{"write skew by phantoms, snapshots", `_: pr{"":{">":0}}[] w(x,1) | _: pr{"":{">":0}}[] w(y,1)`, si, true},
		{"first committer wins by the rows of predicate writes",
			`init: w(x,1) | _: pw{"":{">":0}}[x=1->2] | _: pw{"":{">":0}}[x=1->3]`, si, false},
		{"predicate writes of different rows",
			`init: w(x,1) w(y,5) | _: pw{"":{"<":3}}[x=1->2] | _: pw{"":{">=":5}}[y=5->1] pr{"":{"=":1}}[x=1,y=1]`, si,
			true},
		{"a phantom between two reads", `_: pr{"":{">":0}}[] pr{"":{">":0}}[x=1] | _: w(x,1)`, si, false},
	} {
		r, err := oracle.Check(notation.MustParse(c.text), oracle.Options{Level: c.l, VerdictOnly: true})
		if err != nil || r.Verdict == evidence.Unknown {
			t.Fatalf("%s: %v, %v", c.name, r, err)
		}
		must.Equal(t, r.Verdict == evidence.Holds, c.holds, "%s at %s: %s", c.name, c.l, r.Verdict)
	}
	r, err := oracle.Check(notation.MustParse(`_: pr{"v":{"~":1}}[]`), oracle.Options{})
	if err != nil || r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, "expected comparisons") {
		t.Errorf("a predicate that is none: %v, %v", r, err)
	}
}

// The lattice holds with predicates, and a history keeps its verdicts when it is written and read again, or restricted
// to all of itself.
func TestPredicatesLaws(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	only := 0 // snapshot isolated and not serializable
	histtest.Each(t, uint64(1500), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Predicates: true, Keys: 3, Duplicates: seed%3 == 0,
			Deletes: seed%2 == 0,
			Aborted: seed%5 == 0, Unknown: seed%4 == 0})
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
			if a, b := part.H.ValueString(uint32(v)), h.ValueString(w); a != b {
				t.Fatalf("seed %d: version %s of the part is %s of the whole", seed, a, b)
			}
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
