package datasets

import (
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

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
		if got := strings.Replace(notation.Format(a.History()), "init:", "init/0:", 1); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.schedule, got, c.want)
		}
	}
	for schedule, want := range map[string]string{
		"R1x":       "transaction 1 has no end",
		"C1 R1x":    "goes on after its end",
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
