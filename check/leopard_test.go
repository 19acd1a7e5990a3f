package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

func profileOf(t *testing.T, name string) *mechanism.Profile {
	t.Helper()
	p, err := mechanism.LookupProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func leopardOn(t *testing.T, h *history.History, o Options) *evidence.Result {
	t.Helper()
	r, err := Run(context.Background(), leopard{}, h, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLeopardAgreesWithReplay: where leopard comes to a verdict it is replay's, on correct runs and with faults
// planted; Run certifies each. With the mechanisms alone it never says that a level holds.
func TestLeopardAgreesWithReplay(t *testing.T) {
	decided := 0
	for _, iso := range []string{"serializable", "serializable-snapshot", "snapshot-isolation", "read-committed"} {
		for i, fault := range []string{"", "lost-update", "write-skew", "read-skew", "long-fork", "aborted-read"} {
			if _, err := datasets.LookupFault(fault); fault != "" && err != nil {
				continue
			}
			h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "mix", Txns: 300, Isolation: iso,
				Seed: uint64(i), Fault: fault})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []level.Level{level.Serializable, level.StrictSerializable,
				level.StrictSnapshotIsolation} {
				want, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
				if err != nil {
					t.Fatal(err)
				}
				got := leopardOn(t, h, Options{Level: l})
				if got.Mechanisms == nil {
					t.Fatalf("%s %s at %s: no section on the mechanisms", iso, fault, l)
				}
				n := got.Mechanisms.Total()
				if got.Verdict != want.Verdict && !(got.Verdict == evidence.Unknown && n > 0) {
					t.Errorf("%s %s at %s: leopard %s (%d under the profile), replay %s", iso, fault, l, got.Verdict, n,
						want.Verdict)
				}
				if got.Verdict != evidence.Unknown {
					decided++
				}
				only := leopardOn(t, h, Options{Level: l, MechanismsOnly: true})
				if only.Verdict == evidence.Holds || only.Verdict == evidence.Violated &&
					want.Verdict != evidence.Violated {
					t.Errorf("%s %s at %s: leopard alone says %s, replay %s", iso, fault, l, only.Verdict, want.Verdict)
				}
			}
		}
	}
	if decided < 40 {
		t.Errorf("only %d verdicts", decided)
	}
}

// TestLeopardThreeClasses: what the history proves, what fails under the profile alone, and nothing found, are three
// answers.
func TestLeopardThreeClasses(t *testing.T) {
	for _, c := range []struct {
		name, history, profile string
		only                   bool
		want                   evidence.Verdict
		mechanism, kind        string
		proved                 bool
	}{
		{"both hold the lock, and a serial order explains it", "init=0: s1: w(x,1,2,3) @[1,20,21] | s2: w(x,2,4,5) " +
			"@[1,22,23]", "store:serializable", false, evidence.Unknown, "mutual-exclusion", "two-holders", false},
		{"a snapshot of two moments: the first missed what had been overwritten", "init=0: s1: w(x,1,2,3) " +
			"w(y,1,4,5) @[1,6,7] | s2: r(x,0,10,11) r(y,1,12,13) @[9,14,15]", "store:snapshot", false,
			evidence.Violated, "consistent-read", "overwritten", true},
		{"a lost update", "init=0: s1: r(x,0,2,3) w(x,1,10,11) @[1,12,13] | s2: r(x,0,4,5) w(x,2,20,21) @[1,22,23]",
			"store:snapshot", false, evidence.Violated, "first-updater-wins", "lost-update", true},
		{"half of what a transaction wrote, whose commit overlaps", "init=0: s1: w(x,1,2,3) w(y,1,4,5) @[1,6,20] | " +
			"s2: r(x,1,8,9) r(y,0,10,11) @[7,12,13]", "store:snapshot", false, evidence.Violated, "consistent-read",
			"fractured", true},
		{"a lost update that only a read shows, though an order explains it", "init=0: s1: w(x,1,2,3) w(y,1,4,5) " +
			"@[1,6,20] | s2: r(y,0,8,9) w(x,2,10,11) @[7,30,31]", "store:snapshot", false, evidence.Unknown,
			"first-updater-wins", "lost-update", false},
		{"the same without first updater wins", "init=0: s1: w(x,1,2,3) w(y,1,4,5) @[1,6,20] | s2: r(y,0,8,9) " +
			"w(x,2,10,11) @[7,30,31]", "store:repeatable-read", true, evidence.Unknown, "", "", false},
		{"write skew under a certifier", "init=0: s1: r(x,0,2,3) w(y,1,10,11) @[1,12,13] | s2: r(y,0,4,5) " +
			"w(x,2,14,15) @[1,16,17]", "store:serializable-snapshot", false, evidence.Violated,
			"serialization-certifier", "cycle", true},
		{"nothing", "init=0: s1: w(x,1,2,3) @[1,6,7] | s2: r(x,1,10,11) @[9,14,15]", "store:snapshot", false,
			evidence.Holds, "", "", false},
		{"nothing, and no order is looked for", "init=0: s1: w(x,1,2,3) @[1,6,7] | s2: r(x,1,10,11) @[9,14,15]",
			"store:snapshot", true, evidence.Unknown, "", "", false},
	} {
		h, err := notation.Parse(c.history)
		if err != nil {
			t.Fatal(err)
		}
		r := leopardOn(t, h, Options{Level: level.SessionSerializable, Profile: profileOf(t, c.profile),
			MechanismsOnly: c.only})
		if r.Verdict != c.want {
			t.Errorf("%s: %s (%s), expected %s", c.name, r.Verdict, r.Reason, c.want)
		}
		if c.mechanism == "" {
			if n := r.Mechanisms.Total(); n != 0 {
				t.Errorf("%s: %d violations of mechanisms", c.name, n)
			}
			if c.only && !strings.Contains(r.Reason, "Leopard found no violation") {
				t.Errorf("%s: reason %q", c.name, r.Reason)
			}
			continue
		}
		found, proved := false, false
		for _, v := range r.Mechanisms.Violations {
			found = found || v.Mechanism == c.mechanism && v.Kind == c.kind
			proved = proved || v.Proved
			if v.Assumes == "" || v.Text == "" {
				t.Errorf("%s: a violation without words: %+v", c.name, v)
			}
		}
		if !found || proved != c.proved {
			t.Errorf("%s: %+v, expected %s %s, proved %v", c.name, r.Mechanisms.Violations, c.mechanism, c.kind,
				c.proved)
		}
	}
}

// TestLeopardOnLists: whoever decides lists settles the level.
func TestLeopardOnLists(t *testing.T) {
	h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "list-append", Txns: 200,
		Isolation: "snapshot-isolation"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []level.Level{level.SessionSnapshotIsolation, level.SessionSerializable} {
		c, ok := Auto(h, l)
		if !ok {
			t.Fatalf("nobody decides lists at %s", l)
		}
		want, err := Run(context.Background(), c, h, Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		got := leopardOn(t, h, Options{Level: l})
		if got.Verdict != want.Verdict || got.Mechanisms == nil || got.Mechanisms.Total() != 0 {
			t.Errorf("%s: leopard %s (%s), %s %s", l, got.Verdict, got.Reason, c.Info().Name, want.Verdict)
		}
	}
}

// TestLeopardRefuses: without a profile, without times, at a level that it does not know.
func TestLeopardRefuses(t *testing.T) {
	h, err := notation.Parse("init=0: s1: w(x,1) | s2: r(x,1)")
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"needs a profile":    {},
		"needs client times": {Profile: profileOf(t, "store:snapshot")},
		"does not decide":    {Level: level.Linearizable},
	} {
		if r := leopardOn(t, h, o); r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, want) {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	}
}
