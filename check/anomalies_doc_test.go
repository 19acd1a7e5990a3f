package check

import (
	"slices"
	"strings"
	"testing"

	"isovet/docs"
	"isovet/evidence"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// TestAnomaliesPage: docs/anomalies.md has every kind once, says which levels are the weakest that forbid it as package
// level does, and its examples are named so by the checkers that auto takes, at those levels.
func TestAnomaliesPage(t *testing.T) {
	var kinds []level.Anomaly
	for _, item := range docs.Anomalies() {
		kind := level.Anomaly(item.Kind)
		kinds = append(kinds, kind)
		if kind.Name() == string(kind) && strings.ContainsAny(string(kind), "-0123456789") {
			t.Errorf("%s has no name in words", kind)
		}
		h, err := notation.Parse(item.Example)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var weakest []string
		checked := 0
		for _, l := range kind.Weakest() {
			c, ok := Auto(h, l)
			if kind == level.PredicateMismatch && l == level.RepeatableRead || l == level.Linearizable &&
				kind != level.StaleRead && kind != level.NonLinearizable {
				// repeatable-read has no predicates; linearizability forbids nearly all, and the page says so
				continue
			}
			weakest = append(weakest, l.String())
			if !ok || h.HasPredicates() && l == level.RepeatableRead {
				continue
			}
			r, err := Run(t.Context(), c, h, Options{Level: l})
			switch {
			case err != nil:
				t.Errorf("%s at %s: %v", kind, l, err)
			case r.Verdict == evidence.Unknown && l == level.Linearizable, kind == level.NonLinearizable &&
				l != level.Linearizable:
			case kind == level.NonLinearizable && r.Verdict == evidence.Violated && len(r.Anomalies[0].Cycles) > 0:
				checked++ // a proof by cycles says more than that there is no order
			case r.Verdict != evidence.Violated || r.Anomalies[0].Kind != kind:
				got := ""
				if len(r.Anomalies) > 0 {
					got = string(r.Anomalies[0].Kind) + "\n" + r.Anomalies[0].Text
				}
				t.Errorf("%s at %s: %s says %s %s %s", kind, l, r.Checker, r.Verdict, r.Reason, got)
			default:
				checked++
			}
		}
		if checked == 0 {
			t.Errorf("%s: no level was checked", kind)
		}
		if got := strings.Join(weakest, ", "); got != item.Weakest {
			t.Errorf("%s: the page says %s; want %s", kind, item.Weakest, got)
		}
	}
	for _, k := range level.Anomalies() {
		want := []level.Anomaly{k}
		if slices.Contains([]level.Anomaly{level.G0, level.G1c, level.GSingle, level.GNonadjacent, level.G2Item,
			level.G2}, k) {
			want = append(want, k+"-session", k+"-realtime")
		}
		for _, k := range want {
			if n := len(slices.DeleteFunc(slices.Clone(kinds), func(o level.Anomaly) bool { return o != k })); n != 1 {
				t.Errorf("the page has %s %d times", k, n)
			}
		}
	}
}
