package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/evidence"
	"isovet/internal/test/must"
)

// TestClaims: what each page claims follows from the rows of its raw results, as the figure declares its claims now;
// a claim that does not hold has its reason, and one that cannot be compared says why. -update writes them anew.
func TestClaims(t *testing.T) {
	files, err := resultFiles()
	if err != nil || len(files) < 40 {
		t.Fatalf("%d results, %v", len(files), err)
	}
	for _, file := range files {
		r := must.Get(LoadReport(file))(t)
		was := r.Claims
		r.judgeAll()
		must.Be(t, len(r.Claims) != 0, "%s claims nothing", file)
		if *update {
			b, err := json.MarshalIndent(r, "", " ")
			if err == nil {
				err = os.WriteFile(file, append(b, '\n'), 0o644)
			}
			must.OK(t, err)
		} else if !slices.Equal(was, r.Claims) {
			t.Errorf("%s: its claims are not those of its rows: go test ./bench -run 'TestClaims|TestPages' "+
				"-update\n%+v\n%+v", file, was, r.Claims)
		}
		for _, c := range r.Claims {
			if c.Holds != Holds && c.Why == "" {
				t.Errorf("%s: %q %s (%s; here %s), and no reason is given", file, c.Says, c.Holds, c.demanded(),
					c.here())
			}
			if c.Tested == refuted {
				t.Errorf("%s: %q %s, and its reason has stopped holding: %s. Give it another, or take the rows from "+
					"behind it (claims.tsv), which makes it a conjecture", file, c.Says, c.Holds, c.Why)
			}
			if c.Holds == Holds && (c.Why != "" || !c.Measured) {
				t.Errorf("%s: %+v", file, c)
			}
		}
	}
}

// TestSayings: every figure of a paper has claims, and every list of claims has its figure.
func TestSayings(t *testing.T) {
	ids := map[string]bool{}
	for _, f := range Figures() {
		ids[f.ID] = true
		must.Be(t, len(f.Says) != 0 || f.Bounds != nil, "%s has no claims", f.ID)
		for _, s := range f.Says {
			if s.Find == nil || s.Says == "" || s.Sense == "" || strings.HasSuffix(s.Why, ".") {
				t.Errorf("%s: %+v", f.ID, s)
			}
		}
	}
	for id := range claimsTable() {
		must.Be(t, ids[id], "claims about %s, which is no figure", id)
	}
}

// TestVerdicts: the rule of claimRule, on both sides of each of its edges.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		sense        Sense
		roughly      bool
		number, here float64
		beyond       bool
		want         string
	}{
		{AtLeast, false, 114, 114, false, Holds}, {AtLeast, false, 114, 113.9, false, Fails},
		{AtLeast, true, 7.4, 6.67, false, Holds}, {AtLeast, true, 7.4, 6.65, false, Fails},
		{AtLeast, false, 1000, 604, false, Fails}, {AtLeast, false, 1000, 604, true, NotComparable},
		{AtLeast, false, 100, 604, true, Holds}, {AtMost, false, 13.4, 13.4, false, Holds},
		{AtMost, false, 13.4, 13.5, false, Fails}, {AtMost, true, 5, 5.5, false, Holds},
		{AtMost, true, 5, 5.6, false, Fails}, {AtMost, false, 10, 5, true, NotComparable},
		{AtMost, false, 10, 15, true, Fails}, {MoreThan, false, 1, 1, false, Fails},
		{MoreThan, false, 10, 10, true, Holds}, {AtMost, false, 10, 10, true, NotComparable},
		{MoreThan, false, 1, 1.01, false, Holds}, {MoreThan, false, 1, 0.5, true, NotComparable},
		{LessThan, false, 6, 6, false, Fails}, {LessThan, false, 6, 5.9, false, Holds},
		{EqualTo, false, 30, 33, false, Holds}, {EqualTo, false, 30, 33.1, false, Fails},
		{EqualTo, false, 30, 26.9, false, Fails}, {EqualTo, false, 30, 26, true, NotComparable},
		{EqualTo, false, 0, 0, false, Holds}, {EqualTo, false, 0, 1, false, Fails},
	} {
		s := Saying{Says: "x", Sense: c.sense, Number: c.number, Roughly: c.roughly, Why: "tested",
			Find: func(*Report) Found { return Found{Value: c.here, Beyond: c.beyond} }}
		r := Report{Scale: DefaultScale.String()}
		must.Equal(t, s.judge(&r).Holds, c.want, "%+v", c)
		r.Scale = QuickScale.String()
		must.Equal(t, s.judge(&r).Holds, NotComparable, "quick: %+v", c)
	}
	s := Saying{Says: "x", Sense: AtLeast, Number: 1, Find: func(*Report) Found { return Found{Value: math.Inf(1)} }}
	if got := s.judge(&Report{}); got.Holds != NotComparable || got.Measured {
		t.Errorf("a division by zero: %+v", got)
	}
}

// TestFar: what is beyond twice the paper's number, or against a rival that is not the paper's, is not comparable.
func TestFar(t *testing.T) {
	for _, c := range []struct {
		s    Saying
		here float64
		want string
	}{
		{Saying{Sense: AtLeast, Number: 60, Far: 100, Unit: "times as fast"}, 200, Holds},
		{Saying{Sense: AtLeast, Number: 60, Far: 100, Unit: "times as fast"}, 201, NotComparable},
		{Saying{Sense: AtLeast, Number: 60, Far: 100, Unit: "times as fast"}, 59, Fails},
		{Saying{Sense: AtLeast, Number: 60, Unit: "times as fast"}, 121, NotComparable},
		{Saying{Sense: AtLeast, Number: 60, Unit: "times as fast", Rival: "x"}, 61, NotComparable},
		{Saying{Sense: AtLeast, Number: 60, Unit: "times as fast", Rival: "x"}, 59, Fails},
		{Saying{Sense: MoreThan, Number: 1, Unit: "times as fast"}, 1000, Holds},
		{Saying{Sense: AtMost, Number: 700, Far: 400, Unit: "MB"}, 200, Holds},
		{Saying{Sense: AtMost, Number: 700, Far: 400, Unit: "MB"}, 199, NotComparable},
		{Saying{Sense: AtMost, Number: 310, Unit: "ms"}, 12, Holds},
		{Saying{Sense: AtLeast, Number: 1200, Unit: "transactions a second", Roughly: true}, 2401, NotComparable},
		{Saying{Sense: AtLeast, Number: 1200, Unit: "transactions a second", Roughly: true}, 1081, Holds},
	} {
		c.s.Says, c.s.Why = "x", "tested"
		c.s.Find = func(*Report) Found { return Found{Value: c.here} }
		must.Equal(t, c.s.judge(&Report{Scale: DefaultScale.String()}).Holds, c.want, "%+v, here %v", c.s, c.here)
	}
}

// TestFinders: factors at the right places, time-outs as lower bounds, and nothing said of what was not run.
func TestFinders(t *testing.T) {
	r := Report{Timeout: "20s", timeout: 20 * time.Second, Scale: "default", fig: Figure{Axis: "transactions",
		Metrics: []Metric{{"time", "time", "ms"}, {"memory", "memory", "MB"}}}}
	add := func(group, series string, v float64) {
		r.Add(Point{Metric: "time", Group: group, Series: series, Value: v, Verdict: evidence.Holds})
	}
	late := func(group, series, reason string) {
		r.Add(Point{Metric: "time", Group: group, Series: series, TimedOut: true, Reason: reason})
	}
	add("1000", "a", 10)
	add("1000", "b", 30)
	add("2000", "a", 20)
	add("2000", "b", 400)
	add("4000", "a", 50)
	late("4000", "b", "timeout after 20s")
	add("8000", "a", 100)
	late("8000", "b", "timeout on a smaller history")
	for _, c := range []struct {
		name string
		find func(*Report) Found
		want Found
	}{
		{"at", timesAt("time", "2000", "a", "b"), Found{20, false, "at 2000 transactions", ""}},
		{"late", timesAt("time", "4000", "a", "b"), Found{400, true, "at 4000 transactions", ""}},
		{"not run", timesAt("time", "8000", "a", "b"), Found{None: "b beside a at 8000 transactions is not among " +
			"what was run"}},
		{"last", timesLast("time", "a", "b"), Found{20, false, "at 2000 transactions", ""}},
		{"least", timesLeast("time", "a", "b"), Found{3, false, "at 1000 transactions, the least of 3", ""}},
		{"most", timesMost("time", "a", "b"), Found{400, true, "at 4000 transactions, the most of 3", ""}},
		{"growing", growing("time", "*", "a"), Found{1.25, false, "from 1000 to 8000: 8 times the size, 10 times as " +
			"much", ""}},
		{"shortest", shortest("time", "sizes", "a", "b"), Found{1, false, "3 of 3 sizes", ""}},
		{"never", shortest("time", "sizes", "b", "a"), Found{0, false, "0 of 3 sizes", ""}},
		{"steady", steady("time", anyGroup, "a"), Found{10, false, "over 4, from 10 to 100", ""}},
		{"rising", stepping(rises, "time", "*", "a"), Found{1, false, "3 of 3 steps", ""}},
		{"between", ratio(valueAt("time", "4000", "a"), valueAt("time", "1000", "a")),
			Found{5, false, "(50 and 10)", ""}},
		{"no memory", timesLeast("memory", "a", "b"), Found{None: "b beside a is not among what was run"}},
	} {
		must.Equal(t, c.find(&r), c.want, "%s", c.name)
	}
}

// TestCheckerPages: the numbers of docs/checkers are those of the results that they name.
func TestCheckerPages(t *testing.T) {
	load := func(name string) *Report {
		return must.Get(LoadReport(filepath.Join("results", filepath.FromSlash(name)+".json")))(t)
	}
	times := func(r *Report, find func(*Report) Found) float64 {
		f := find(r)
		must.Equal(t, f.None, "", "%s", r.Figure)
		return f.Value
	}
	panels := []string{"dist", "objects", "sessions", "txns"}
	mem := load("vbox/memory")
	closures := func(series string, pick func(...float64) float64) float64 {
		return times(mem, valueOver("closure", ofSeries(series), pick))
	}
	for page, says := range map[string][]string{
		"vbox": {fmt.Sprintf("10,000 transactions it takes %.1f to %.1f MB, the matrix of bits %.0f MB",
			closures(compactClosure, least), closures(compactClosure, most), closures(fullClosure, least))},
		"viper": {fmt.Sprintf("PolySI takes %.0f to %.0f times as long as `mtc`",
			times(load("mtc/fig8"), extreme(panels, anyGroup, "mtc", "polysi", 1)),
			times(load("mtc/fig8"), extreme(panels, anyGroup, "mtc", "polysi", -1)))},
	} {
		text := must.Get(os.ReadFile("../docs/checkers/" + page + ".md"))(t)
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, s := range says {
			must.Be(t, strings.Contains(flat, s), "docs/checkers/%s.md does not say %q, as the results do", page, s)
		}
	}
}

// TestWords: demands and findings are reported so that they can be read.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		claim          Claim
		demanded, here string
	}{
		{Claim{Sense: AtLeast, Number: 1, Unit: all, Here: 1. / 3, At: "2 of 6 steps"}, "all 6 steps", "2 of 6 steps"},
		{Claim{Sense: AtLeast, Number: 1, Unit: all, At: "0 of 1 histories"}, "1 of 1 histories", "0 of 1 histories"},
		{Claim{Sense: MoreThan, Number: 1, Unit: "times as long as theirs", Here: 1.24}, "longer than theirs",
			"1.24 times as long as theirs"},
		{Claim{Sense: AtMost, Number: 1, Roughly: true, Unit: "times the growth of the size", Here: 1.2},
			"at most about the growth of the size", "1.2 times the growth of the size"},
		{Claim{Sense: LessThan, Number: 1, Unit: "times the highest", Here: 0.9}, "less than the highest",
			"0.9 times the highest"},
		{Claim{Sense: AtMost, Number: 1, Roughly: true, Unit: spread, Here: 1.10008, At: "over 5"},
			"the greatest is about the least", "the greatest is 1.1001 times the least over 5"},
		{Claim{Sense: EqualTo, Number: 1, Unit: "times as much", Here: 3, Beyond: true}, "about as much",
			"more than 3 times as much"},
		{Claim{Sense: AtMost, Number: 1.5, Unit: "s", Here: 1.50004}, "at most 1.5 s", "1.50004 s"},
	} {
		c.claim.Measured, c.claim.Holds = true, c.claim.verdict()
		if d, h := c.claim.demanded(), c.claim.here(); d != c.demanded || h != c.here {
			t.Errorf("%q, %q; not %q, %q", d, h, c.demanded, c.here)
		}
	}
}

// TestClaimRows: a row's mistakes are told, and each of its columns is taken.
func TestClaimRows(t *testing.T) {
	w := finders()
	row := func(number, find, behind string) string {
		return strings.Join([]string{"vbox/fig6", "it is fast", "at least", number, "times", find, "it is not", behind,
			"another"}, "\t")
	}
	figure, s, err := w.claim(row("~3/12", `extreme(list("time"), startsWith("a", "b"), "vbox", "cobra", -1)`,
		`shown("so", valueOver("time", ofSeries("vbox"), most), AtMost, 1.5, all)`))
	if err != nil || figure != "vbox/fig6" || s.Says != "it is fast" || s.Sense != AtLeast || s.Number != 0.25 ||
		!s.Roughly || s.Unit != "times" || s.Why != "it is not" || s.Find == nil || s.shown == nil || s.test != "" ||
		s.Far != 0 || s.Rival != "another" {
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
	if _, s, err = w.claim(row("60..100", "throughput", "")); err != nil || s.Number != 60 || s.Far != 100 {
		t.Errorf("%+v: %v", s, err)
	}
	for _, c := range []struct{ row, why string }{
		{"vbox/fig6\tit is fast", "2 columns; expected 9"},
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

// TestNoise: a claim holds if its number's whole interval does, and fails likewise; runs of a rival and of what is
// measured are drawn again each by itself, and a number made in one run has no interval.
func TestNoise(t *testing.T) {
	ratio := func(r *Report) Found {
		return Found{Value: r.Find("time", "g", "rival").Value / r.Find("time", "g", "ours").Value}
	}
	for _, c := range []struct {
		ours, rival []float64
		want        string
	}{
		{[]float64{1, 1.1, 1, 0.9, 1}, []float64{30, 31, 29, 30, 32}, Holds},
		{[]float64{1, 1.1, 1, 0.9, 1}, []float64{10, 11, 9, 10, 12}, Fails},
		{[]float64{1, 1.2, 1, 0.8, 1}, []float64{20, 26, 16, 21, 19}, WithinNoise},
		{[]float64{1}, []float64{21}, Holds}, {[]float64{1}, []float64{19}, Fails},
		{[]float64{1, 1, 1, 1, 1, 1, 9}, []float64{21}, Holds}, // one run of seven was disturbed
	} {
		r := &Report{Scale: DefaultScale.String(), Points: []Point{decided("time", "g", "ours", c.ours...),
			decided("time", "g", "rival", c.rival...)}}
		s := Saying{Sense: MoreThan, Number: 20, Unit: "times", Find: ratio}
		got := s.judge(r)
		if got.Holds != c.want || (got.Low != 0) != (len(c.ours) > 1) || got.Low > got.Here || got.Here > got.High &&
			got.High != 0 {
			t.Errorf("%v, %v: %+v; expected %s", c.ours, c.rival, got, c.want)
		}
	}
}

// TestInterval against its twin: all that can be drawn of three runs, each draw as often as the next.
func TestInterval(t *testing.T) {
	runs := []float64{1, 2, 4}
	count := map[float64]int{}
	for i := range 27 {
		count[median([]float64{runs[i%3], runs[i/3%3], runs[i/9]})]++
	}
	got := map[float64]int{}
	for i := range resamples {
		got[redrawn(runs, "", i)]++
	}
	for v, n := range count {
		if share := float64(got[v]) / resamples; math.Abs(share-float64(n)/27) > 0.08 {
			t.Errorf("%v is drawn in %.2f of the draws; expected %.2f", v, share, float64(n)/27)
		}
	}
	if low, high, ok := interval95(runs); !ok || low != 1 || high != 4 {
		t.Errorf("%v to %v, %v", low, high, ok)
	}
	if _, _, ok := interval95(runs[:2]); ok {
		t.Error("two runs have an interval")
	}
	many := make([]float64, 101)
	for i := range many {
		many[i] = float64(i)
	}
	if low, high, _ := interval95(many); low < 30 || low > 45 || high < 55 || high > 70 { // 50 ± 1.96·√101/2
		t.Errorf("of 0 to 100: %v to %v", low, high)
	}
}
