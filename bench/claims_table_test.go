package bench

import (
	"strings"
	"testing"
)

// TestClaimRows: a row's mistakes are told, and each of its columns is taken.
func TestClaimRows(t *testing.T) {
	w := finders()
	row := func(number, find, behind string) string {
		return strings.Join([]string{"vbox/fig6", "it is fast", "at least", number, "times", find, "it is not", behind},
			"\t")
	}
	figure, s, err := w.claim(row("~3/12", `extreme(list("time"), startsWith("a", "b"), "vbox", "cobra", -1)`,
		`shown("so", valueOver("time", ofSeries("vbox"), most), AtMost, 1.5, all)`))
	if err != nil || figure != "vbox/fig6" || s.Says != "it is fast" || s.Sense != AtLeast || s.Number != 0.25 ||
		!s.Roughly || s.Unit != "times" || s.Why != "it is not" || s.Find == nil || s.shown == nil || s.test != "" {
		t.Errorf("%s %+v: %v", figure, s, err)
	}
	r := &Report{fig: Figure{Metrics: []Metric{{"time", "", "ms"}}}}
	for _, p := range []Point{decided("time", "a1", "vbox", 2), decided("time", "a1", "cobra", 8),
		decided("time", "c1", "vbox", 1), decided("time", "c1", "cobra", 9)} {
		r.Add(p)
	}
	if f := s.Find(r); f.Value != 4 || f.None != "" {
		t.Errorf("%+v", f)
	}
	_, s, err = w.claim(row("1", "throughput", "TestBounds"))
	if err != nil || s.test != "TestBounds" || s.shown != nil {
		t.Errorf("%+v: %v", s, err)
	}
	for _, c := range []struct{ row, why string }{
		{"vbox/fig6\tit is fast", "2 columns; expected 8"},
		{row("three", "throughput", ""), "three is no finder"},
		{row(`"3"`, "throughput", ""), "string where float64"},
		{row("1", "timesLeast(", ""), "expected"},
		{row("1", "timesFew(1)", ""), "is no finder"},
		{row("1", `timesLeast("time", "vbox")`, ""), "has 2 arguments; expected 3"},
		{row("1", `timesLeast("time", "vbox", 7)`, ""), "timesLeast: float64 where string"},
		{row("1", `shortest("time")`, ""), "has 1 arguments; expected 3"},
		{row("1", "throughput", "shown"), "where bench.showing"},
		{row("1", "a[1]", ""), "nothing that is known"},
	} {
		if _, _, err := w.claim(c.row); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q: %v; expected %q", c.row, err, c.why)
		}
	}
}
