package datasets

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// satisfies decides a judged level by definition.
func satisfies(t *testing.T, h *history.History, l level.Level) bool {
	t.Helper()
	r := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true, MaxTxns: 16}))(t)
	if r.Verdict == evidence.Unknown {
		t.Fatalf("%s at %s: %s", h.Meta.Name, l, r.Reason)
	}
	return r.Verdict == evidence.Holds
}

// TestAnomaliesByBruteForce recomputes every verdict of the catalogues from the definitions. Who violates a level
// violates all that imply it.
func TestAnomaliesByBruteForce(t *testing.T) {
	seen := map[string]bool{}
	for i, a := range slices.Concat(Anomalies(), PredicateAnomalies()) {
		if seen[a.Name] {
			t.Errorf("%s stands in the catalogues twice", a.Name)
		}
		seen[a.Name] = true
		h := a.History()
		levels := Judged()
		if i >= len(Anomalies()) && !h.HasPredicates() {
			t.Errorf("%s has no predicates", a.Name)
		}
		for _, l := range levels {
			must.Equal(t, satisfies(t, h, l), !slices.Contains(a.Violates, l), "%s at %s\n%s", a.Name, l, a.Text)
			for _, m := range levels {
				if m.Implies(l) && slices.Contains(a.Violates, l) && !slices.Contains(a.Violates, m) {
					t.Errorf("%s violates %s, hence %s", a.Name, l, m)
				}
			}
		}
	}
}

// promised has the strongest level that each isolation of the store keeps.
var promised = map[string]level.Level{"serializable": level.StrictSerializable,
	"snapshot-isolation": level.StrictSnapshotIsolation, "serializable-snapshot": level.Serializable}

// isReal recomputes the verdicts of a history with a fault: it violates what the fault declares, and satisfies the rest
// of what the store promises.
func isReal(t *testing.T, spec Spec, f Anomaly, h *history.History, levels []level.Level) {
	t.Helper()
	for _, l := range levels {
		got := satisfies(t, h, l)
		if bad := slices.Contains(f.Violates, l); bad && got {
			t.Errorf("%+v: planted %s satisfies %s", spec, f.Name, l)
		} else if !bad && !got && promised[spec.Isolation].Implies(l) {
			t.Errorf("%+v: planted %s violates %s too", spec, f.Name, l)
		}
	}
}

// TestFaultsAreReal plants every fault in small runs of every kind of store that keeps its own promise, workloads with
// predicates of their own among them, and recomputes the verdicts of the whole history; the same run without the fault
// is valid.
func TestFaultsAreReal(t *testing.T) {
	for i, f := range slices.Concat(Faults(), PredicateFaults()) {
		predicates := i >= len(Faults())
		for seed := uint64(i) % 2; seed < 12; seed += histtest.Long[uint64](2, 1) { // half of them for each fault
			spec := Spec{Workload: []string{"mix", "rmw", "mini", "blindw"}[seed%4], Txns: 7, Sessions: 4, Keys: 4,
				Ops: 3, Seed: seed,
				Isolation: []string{"serializable", "snapshot-isolation", "serializable-snapshot"}[seed%3]}
			if predicates {
				spec.Workload = []string{"mix", "rmw", "blindw-pred", "smallbank"}[seed%4]
				spec.Txns, spec.Keys, spec.Ops = 6, 10, 2
			}
			switch spec.Workload {
			case "mini":
				spec.Ops = 0
			case "smallbank":
				spec.Ops, spec.Keys = 0, 3
			}
			if seed%2 == 1 {
				spec.FaultAt = 1
			}
			if top := promised[spec.Isolation]; !satisfies(t, generate(t, spec), top) {
				t.Fatalf("%+v without fault violates %s", spec, top)
			}
			spec.Fault = f.Name
			r := must.Get(Run(t.Context(), spec))(t)
			if n := len(r.Planted); n != strings.Count(f.Text, "\n")+1 || r.Stats.Committed != spec.Txns {
				t.Fatalf("%+v: %d transactions planted, %d committed", spec, n, r.Stats.Committed)
			}
			if !predicates && !strings.Contains(r.History.Meta.Note, "planted "+f.Name+": transactions ") {
				t.Fatalf("the note does not name the fault: %s", r.History.Meta.Note)
			}
			isReal(t, spec, f, r.History, Judged())
		}
	}
}

// TestFaultsEverywhere plants faults in contended runs, with one key a time, at every isolation.
func TestFaultsEverywhere(t *testing.T) {
	for _, f := range Faults() {
		for _, iso := range Isolations() {
			for _, w := range []string{"contended", "smallbank", "rmw"} {
				spec := Spec{Workload: w, Txns: 150, Sessions: 20, Keys: 6, Fault: f.Name, Isolation: iso, Seed: 3}
				r, err := Run(context.Background(), spec)
				if err != nil {
					t.Fatalf("%+v: %v", spec, err)
				}
				if r.Stats.Committed != spec.Txns || len(r.Planted) == 0 {
					t.Fatalf("%+v: %d committed, planted %v", spec, r.Stats.Committed, r.Planted)
				}
			}
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Workload: "nope"}, "expected one of blindw"},
		{Spec{Variant: "nope"}, "expected one of WR, RH"},
		{Spec{Isolation: "nope"}, "expected one of serializable"},
		{Spec{Fault: "nope"}, "expected one of thin-air-read"},
		{Spec{Keys: 3}, "expected at least 8"},
		{Spec{Sessions: -1}, "none may be negative"},
		{Spec{Fault: "long-fork", Sessions: 2}, "needs 4 sessions"},
		{Spec{AbortRate: 1}, "expected"},
		{Spec{Workload: "smallbank", Ops: 3}, "fixed by its templates"},
	} {
		if _, err := Generate(context.Background(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v; expected one with %q", c.spec, err, c.want)
		}
	}
}

// TestSynthesizedByBruteForce recomputes every verdict of the synthesized anomalies from the definitions. All violate
// serializability, and their numbers are those of Vbox's Table 1.
func TestSynthesizedByBruteForce(t *testing.T) {
	seen := map[string]bool{}
	classes := map[Class]int{}
	for _, a := range SynthesizedAnomalies() {
		if seen[a.Name] || seen[a.Schedule] {
			t.Errorf("%s stands in the catalogue twice", a.Name)
		}
		seen[a.Name], seen[a.Schedule] = true, true
		classes[a.Class]++
		h := a.History()
		for _, l := range sixLevels {
			if got, want := satisfies(t, h, l), !slices.Contains(a.Violates, l); got != want {
				t.Errorf("%s at %s: satisfied %v, catalogue says %v\n%s", a.Name, l, got, want, notation.Format(h))
			}
		}
		if !slices.Contains(a.Violates, level.Serializable) {
			t.Errorf("%s is serializable", a.Name)
		}
	}
	if classes[RAT] != 13 || classes[WAT] != 9 || classes[IAT] != 7 {
		t.Errorf("%v; Table 1 has RAT 13, WAT 9, IAT 7", classes)
	}
}

// TestSynthesizedClasses: what the schedules do to uncommitted data is what their class says.
func TestSynthesizedClasses(t *testing.T) {
	for _, a := range SynthesizedAnomalies() {
		_, c, err := a.run()
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		want := IAT
		if c.reads > 0 {
			want = RAT
		} else if c.writes > 0 {
			want = WAT
		}
		if a.Class != want || !strings.HasPrefix(a.Name, strings.ToLower(string(want))+"-") {
			t.Errorf("%s, of class %s, is of %s: %+v", a.Name, a.Class, want, c)
		}
	}
}

// TestSchedules: reads without isolation, aborts, predicates, and what is no schedule.
func TestSchedules(t *testing.T) {
	for _, c := range []struct{ init, schedule, want string }{
		{"", "W1x W2x A1 R2x C2", `init=0: s1: w(x,10,11,15) ! @[10,30,35] | s2: w(x,11,21,25) r(x,0,41,45) @[20,50,55]`},
		{"x=3 y=7", "P1<5 U1>=3 D1y P1>=0 C1",
			`init/0: w(x,3) w(y,7) | s1: pr{"":{"<":5}}[x=3](11,15) pw{"":{">=":3}}[x=3->10,y=7->11](21,25) w(y,_,31,35) pr{"":{">=":0}}[x=10](41,45) @[10,50,55]`},
	} {
		a := Synthesized{Init: c.init, Schedule: c.schedule}
		text := strings.Replace(notation.Format(a.History()), "init:", "init/0:", 1)
		must.Equal(t, text, c.want, "%s", c.schedule)
	}
	for schedule, want := range map[string]string{
		"R1x":       "transaction 1 has no end",
		"C1 R1x":    "has an operation after its end",
		"X1 C1":     "expected one of R W",
		"Rx C1":     "expected an operation and a transaction",
		"P1=3 C1":   "expected < or >=",
		"C1x":       "expected nothing behind",
		"W1x=z C1":  "invalid syntax",
		"P1<x R C1": "expected < or >=",
	} {
		a := Synthesized{Schedule: schedule}
		if _, _, err := a.run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", schedule, err, want)
		}
	}
}
