package check

import (
	"context"
	"slices"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// TestReplayCatalogue: the catalogue's verdicts at all six levels, and the name of the anomaly; at the strict levels
// real time may show a shorter cycle of another name.
func TestReplayCatalogue(t *testing.T) {
	names := 0
	for _, a := range datasets.Anomalies() {
		h := a.History()
		for _, l := range run.OrderLevels {
			want := evidence.Holds
			if slices.Contains(a.Violates, l) {
				want = evidence.Violated
			}
			r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("%s, %s: %v", a.Name, l, err)
			}
			if r.Verdict != want {
				t.Errorf("%s, %s: %s (%s); want %s", a.Name, l, r.Verdict, r.Reason, want)
				continue
			}
			if a.Name == "dirty-write" { // a lost update too
				continue
			}
			if want == evidence.Violated && a.Kind != "" && (!l.RealTime() || len(a.Violates) == 2) {
				names++
				if got := r.Anomalies[0].Kind; got != a.Kind {
					t.Errorf("%s, %s: it is said to be a %s; want %s", a.Name, l, got, a.Kind)
				}
			}
		}
	}
	if names < 20 {
		t.Errorf("only %d names were compared", names)
	}
}

// TestReplayFourCases: the twelve transactions that unit reasoning cannot refute take exactly four cases.
func TestReplayFourCases(t *testing.T) {
	i := slices.IndexFunc(datasets.Anomalies(), func(a datasets.Anomaly) bool { return a.Name == "no-unit-reasoning" })
	if i < 0 {
		t.Fatal("the catalogue lacks it")
	}
	h := datasets.Anomalies()[i].History()
	for _, l := range []level.Level{level.Serializable, level.SessionSerializable} {
		r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != evidence.Violated || len(r.Anomalies) != 1 {
			t.Fatalf("%s: %s, %d anomalies; want one", l, r.Verdict, len(r.Anomalies))
		}
		a := r.Anomalies[0]
		if len(a.Cycle) != 0 || len(a.Cycles) != 4 || len(a.Txns) != 12 || a.Kind != level.NoOrder {
			t.Errorf("%s: %s of %d transactions in %d cases and a cycle of %d; want %s of 12 in 4 cases", l, a.Kind,
				len(a.Txns), len(a.Cycles), len(a.Cycle), level.NoOrder)
		}
	}
}

// TestReplayByHand: small histories whose verdicts at the six levels follow from the definitions.
func TestReplayByHand(t *testing.T) {
	const ser, sess, strict, si, sessSI, strictSI = level.Serializable, level.SessionSerializable,
		level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation
	for _, c := range []struct {
		name, h string
		no      []level.Level // violated; the others hold
	}{
		{"nothing", "", nil},
		{"one read of nothing", "s1: r(x,null) @[1,2]", nil},
		{"write skew", "init=0: s1: r(x,0) w(y,1) @[1,9] | s2: r(y,0) w(x,1) @[2,8]", []level.Level{ser, sess, strict}},
		{"write skew one after the other", "init=0: s1: r(x,0) w(y,1) @[1,2] | s2: r(y,0) w(x,1) @[4,8]",
			[]level.Level{ser, sess, strict, strictSI}},
		{"write skew in one session", "init=0: s1: r(x,0) w(y,1) @[1,2] | s1: r(y,0) w(x,1) @[2,8]", []level.Level{ser,
			sess, strict, sessSI, strictSI}},
		{"lost update", "init=0: s1: r(x,0) w(x,1) @[1,9] | s2: r(x,0) w(x,2) @[1,9]", []level.Level{ser, sess, strict,
			si, sessSI, strictSI}},
		{"two blind writers with two readers each way", "init=0: s1: w(x,1) w(y,1) @[1,9] | s2: w(x,2) w(y,2) " +
			"@[1,9] | s3: r(x,1) r(y,2) @[1,9]",
			[]level.Level{ser, sess, strict, si, sessSI, strictSI}},
		{"a value written twice, either will do", "init=0: s1: w(x,1) w(y,1) @[1,9] | s2: w(x,1) w(y,2) @[1,9] | " +
			"s3: r(x,1) r(y,1) @[1,9] | s4: r(x,1) r(y,2) @[1,9]", nil},
		{"a value written back", "init=0: s1: w(x,1) @[1,2] | s2: w(x,0) @[4,5] | s3: r(x,0) @[7,8]", nil},
		{"a value that was there before, and should not be", "init=0: s1: w(x,1) @[1,2] | s2: r(x,1) @[3,4] | s3: " +
			"r(x,0) @[7,8]", []level.Level{strict, strictSI}},
		{"deleted and seen deleted", "init=5: s1: w(x,null) @[1,2] | s2: r(x,null) @[4,5] | s3: r(x,5) @[1,2]", nil},
		{"deleted, and there again", "init=5: s1: w(x,null) @[1,2] | s2: r(x,null) @[4,5] | s2: r(x,5) @[7,8]",
			[]level.Level{sess, strict, sessSI, strictSI}},
		{"of unknown outcome, seen by one and by another not", "init=0: s1: w(x,1) w(y,1) @[1,_]? | s2: r(x,1) " +
			"r(y,0) @[4,5]",
			[]level.Level{ser, sess, strict, si, sessSI, strictSI}},
		{"of unknown outcome, helpful with a value written twice", "init=0: s1: w(x,1) w(y,1) @[1,_]? | s2: w(x,1) " +
			"@[1,2] | s3: w(x,2) @[4,5] | s4: r(x,1) @[7,8]", nil},
		{"of unknown outcome, and even so of no help", "init=0: s1: w(x,1) @[6,_]? | s2: w(x,1) @[1,2] | s3: r(x,0) " +
			"@[4,5]", []level.Level{strict, strictSI}},
		{"of unknown outcome, later in the session", "init=0: s1: w(x,1) @[1,_]? | s1: r(x,0) @[3,4] | s2: r(x,1) " +
			"@[6,7]", nil},
	} {
		h := notation.MustParse(c.h)
		for _, l := range run.OrderLevels {
			want := evidence.Holds
			if slices.Contains(c.no, l) {
				want = evidence.Violated
			}
			for _, k := range []Checker{run.Replay{}, bruteForce{}} {
				r, err := Run(context.Background(), k, h, Options{Level: l})
				if err != nil {
					t.Fatalf("%s, %s, %s: %v", c.name, l, k.Info().Name, err)
				}
				if r.Verdict != want {
					t.Errorf("%s, %s: %s says %s (%s); want %s", c.name, l, k.Info().Name, r.Verdict, r.Reason, want)
				}
			}
		}
	}
}
