package datasets

import (
	"context"
	"fmt"
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
		must.Be(t, !seen[a.Name], "%s stands in the catalogues twice", a.Name)
		seen[a.Name] = true
		h := a.History()
		levels := Judged()
		must.Be(t, i < len(Anomalies()) || h.HasPredicates(), "%s has no predicates", a.Name)
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
				must.OK(t, err, "%+v", spec)
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
		must.Be(t, !seen[a.Name] && !seen[a.Schedule], "%s stands in the catalogue twice", a.Name)
		seen[a.Name], seen[a.Schedule] = true, true
		classes[a.Class]++
		h := a.History()
		for _, l := range sixLevels {
			if got, want := satisfies(t, h, l), !slices.Contains(a.Violates, l); got != want {
				t.Errorf("%s at %s: satisfied %v, catalogue says %v\n%s", a.Name, l, got, want, notation.Format(h))
			}
		}
		must.Be(t, slices.Contains(a.Violates, level.Serializable), "%s is serializable", a.Name)
	}
	if classes[RAT] != 13 || classes[WAT] != 9 || classes[IAT] != 7 {
		t.Errorf("%v; Table 1 has RAT 13, WAT 9, IAT 7", classes)
	}
}

// TestSynthesizedClasses: what the schedules do to uncommitted data is what their class says, and the histories have
// their steps.
func TestSynthesizedClasses(t *testing.T) {
	words := [...]string{history.Read: "Rt", history.Write: "Wt Dt", history.PredRead: "Pt", history.PredWrite: "Ut"}
	for _, a := range SynthesizedAnomalies() {
		begin := strings.Index(a.Schedule, ":") + 1
		owner := map[string]byte{} // the active transaction with the last write of a key
		for f := range strings.FieldsSeq(a.Schedule[:begin]) {
			owner[f[:1]] = 0
		}
		reads, writes, steps, h := 0, 0, map[int64]string{}, a.History()
		for op := range uint32(h.NumOps()) {
			steps[h.OpStart(op)] = strings.ReplaceAll(words[h.Ops.Kind[op]], "t", fmt.Sprint(h.Txns.ID[h.TxnOf(op)]))
		}
		for i, f := range strings.Fields(a.Schedule[begin:]) {
			key, _, _ := strings.Cut(f[2:], "=")
			for k, by := range owner {
				if by != 0 && by != f[1] && (k == key || f[0] == 'P' || f[0] == 'U') {
					reads += strings.Count("RPU", f[:1])
					writes += strings.Count("WDU", f[:1])
				}
				if f[0] == 'U' {
					owner[k] = f[1]
				} else if f[0] <= 'C' && by == f[1] {
					owner[k] = 0
				}
			}
			if f[0] == 'W' || f[0] == 'D' {
				owner[key] = f[1]
			}
			if f[0] > 'C' && !strings.Contains(steps[int64(10*i+11)], f[:2]) {
				t.Errorf("%s: step %s is not among %v", a.Name, f, steps)
			}
		}
		want := IAT
		if reads > 0 {
			want = RAT
		} else if writes > 0 {
			want = WAT
		}
		must.Equal(t, a.Class, want, "%s: %d reads, %d writes", a.Name, reads, writes)
	}
}
