package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/evidence"
)

// TestMoreFinders: what claims are measured with, on rows whose answers are known.
func TestMoreFinders(t *testing.T) {
	late := func(metric, group, series string, bound float64) Point {
		return Point{Metric: metric, Group: group, Series: series, Reason: timeoutReason(time.Second), TimedOut: true,
			Bound: bound}
	}
	none := math.NaN()
	text := func(group, series, found string) Point {
		p := decided("found", group, series, 0)
		p.Text = found
		return p
	}
	deduced := func(group string, value float64) Point { return decided("overlap", group, "store", value) }
	taken := func(group string, a, b, c float64) []Point {
		return []Point{decided("memory", group, "a", a), decided("memory", group, "b", b),
			decided("memory", group, "c", c)}
	}
	for _, c := range []struct {
		name   string
		points []Point
		find   finder
		want   float64
		beyond bool
	}{
		{"the least that is known", []Point{decided("time", "A", "be", 30), decided("time", "B", "be", 20),
			late("time", "C", "be", 5)}, leastKnown("time", "be"), 20, false},
		{"the least bound", []Point{late("time", "A", "be", 50), late("time", "B", "be", 40)}, leastKnown("time", "be"),
			40, true},
		{"nothing known", []Point{decided("time", "A", "vbox", 1)}, leastKnown("time", "be"), none, false},
		{"late above a size", []Point{decided("time", "40000", "cobra", 7), decided("time", "50000", "cobra", 9)},
			lateAbove("time", 40_000, "cobra"), 9, false},
		{"late below it", []Point{decided("time", "20000", "cobra", 7), late("time", "30000", "cobra", 60)},
			lateAbove("time", 40_000, "cobra"), 60, true},
		{"not that large", []Point{decided("time", "40000", "cobra", 7)}, lateAbove("time", 40_000, "cobra"), none,
			false},
		{"clauses", []Point{decided("clauses", "ours", "x", 5), decided("clauses", "other", "x", 50),
			decided("clauses", "ours", "y", 10), decided("clauses", "other", "y", 20)},
			bySeries("clauses", anyGroup, "other", "ours", -1), 0.5, false},
		{"missed", []Point{text("RAT", "be", "11/13"), text("IAT", "be", "7/7"), text("WAT", "cobra", "0/9")},
			misses("be"), 2, false},
		{"the first of rivals", []Point{decided("time", "fast", "x", 2), decided("time", "b", "x", 8)},
			first(bySeries("time", anyGroup, "fast", "a", 1), bySeries("time", anyGroup, "fast", "b", 1)), 4, false},
		{"major factors", []Point{deduced("skew 0.2", 1), deduced("skew 0.9", 8), deduced("8 threads", 1),
			deduced("24 threads", 3), deduced("95 % reads", 2), deduced("read-modify-writes", 3)},
			majorFactors("store"), 2, false},
		{"no major factors", []Point{deduced("skew 0.2", 1), deduced("skew 0.9", 8)}, majorFactors("store"), none,
			false},
		{"most memory", append(taken("1 threads", 3, 2, 3), taken("2 threads", 1, 2, 0)...),
			highest("memory", "runs", "a", "b", "c"), 0.5, false},
		{"grows more", []Point{decided("time", "2 threads", "a", 1), decided("time", "2 threads", "b", 2),
			decided("time", "8 threads", "a", 2), decided("time", "8 threads", "b", 12),
			decided("time", "16 threads", "a", 9)}, outgrows("time", "* threads", "a", "b"), 3, false},
		{"most of workloads", []Point{decided("time", "1", "heap, BlindW-RW+", 5), decided("time", "1", "heap, TPC-C",
			4), decided("time", "2", "heap, BlindW-RW+", 5), decided("time", "2", "heap, TPC-C", 6)},
			highest("time", "sizes", "heap, BlindW-RW+", "heap, SmallBank", "heap, TPC-C"), 0.5, false},
		{"aborts rise", []Point{decided("skew", "2", "GT, SER"+inPostgres, 1), decided("skew", "5",
			"GT, SER"+inPostgres, 2), decided("skew", "2", "GT, SI"+inPostgres, 2), decided("skew", "5",
			"GT, SI"+inPostgres, 1)}, gtRises("skew"), 0.5, false},
		{"the last growth", []Point{decided("time", "#txns 1", "a", 1), decided("time", "#txns 10", "a", 9),
			decided("time", "#txns 20", "a", 27)}, lastGrowth("time", "#txns *", "a"), 1.5, false},
		{"falls", []Point{decided("whole", "100", "a", 9), decided("whole", "100", "b", 5),
			decided("whole", "100", "c", 6)}, fallsOver("whole", "100", "a", "b", "c"), 0.5, false},
		{"mean over", []Point{decided("rate", "10", "a", 9), decided("rate", "20", "a", 3), decided("rate", "10", "b",
			3)}, ratio(mean("rate", ofSeries("b")), mean("rate", ofSeries("a"))), 0.5, false},
		{"what SI keeps", []Point{decided("whole", "100", "SI, "+plenty, 10), decided("whole", "100", "SI, "+some, 4),
			decided("whole", "100", "SER, "+plenty, 10), decided("whole", "100", "SER, "+some, 8)},
			ratio(ratio(valueAt("whole", "100", "SI, "+some), valueAt("whole", "100", "SI, "+plenty)),
				ratio(valueAt("whole", "100", "SER, "+some), valueAt("whole", "100", "SER, "+plenty))), 0.5, false},
		{"least steady", []Point{decided("rounds", "1", cobraDefault.String(), 2),
			decided("rounds", "2", cobraDefault.String(), 4), decided("rounds", "1", cobraDense.String(), 1),
			decided("rounds", "2", cobraDense.String(), 3)}, leastSteady("rounds", cobraDefault.String(),
			cobraDense.String()), 3, false},
		{"per collection", []Point{decided("time", "5 %", "garbage collecting", 12), decided("cycles", "5 %",
			"collections",
			8), decided("time", "400 %", "garbage collecting", 3), decided("cycles", "400 %", "collections", 4)},
			ratio(ratio(firstValue("time", "garbage collecting"), lastValue("time", "garbage collecting")),
				ratio(firstValue("cycles", "collections"), lastValue("cycles", "collections"))), 2, false},
		{"until it is loaded", []Point{decided("loaded", "all", "chronos", 65), decided("memory", "0", "chronos", 1),
			decided("memory", "30", "chronos", 3), decided("memory", "60", "chronos", 2),
			decided("memory", "90", "chronos", 9)}, risingUntilLoaded, 0.5, false},
		{"held after loading, by its greatest", heldAt(9, 5, 4, 8), afterLoading(most, most), 8.0 / 9, false},
		{"held after loading, by its end", heldAt(9, 5, 4, 8), afterLoading(least, last[float64]), 0.8, false},
		{"held at the end", heldAt(9, 5, 4, 8), afterLoading(last[float64], last[float64]), 1.6, false},
		{"by Warshall's closure", []Point{decided("time", "A", "cobra", 6), decided("time", "A", "cobra"+byPurdom, 3),
			decided("time", "B", "cobra", 12), decided("time", "B", "cobra"+byPurdom, 4),
			decided("memory", "B", "cobra", 9), decided("memory", "B", "cobra"+byPurdom, 9)}, warshallTakes, 2, false},
		{"fewer objects", []Point{decided("objects", "10", "a", 60), decided("objects", "100", "a", 3)},
			shrinking("objects", "a"), 2, false},
		{"no fewer than were ended", []Point{decided("time", "10", "a", 60), late("time", "100", "a", 70)},
			shrinking("time", "a"), none, false},
		{"per transaction", []Point{decided("violations", "10", "a", 1), decided("violations", "20", "a", 5)},
			perTransaction("violations", "a"), 0.25, false},
		{"over a bound", []Point{decided("time", "A", "a", 6), late("time", "A", "b", 5)},
			ratio(valueAt("time", "A", "a"), valueAt("time", "A", "b")), none, false},
		{"a bound over a value", []Point{decided("time", "A", "a", 6), late("time", "A", "b", 12)},
			ratio(valueAt("time", "A", "b"), valueAt("time", "A", "a")), 2, true},
		{"above a bound", []Point{decided("time", "A", "a", 6), late("time", "A", "b", 12)},
			difference(valueAt("time", "A", "b"), valueAt("time", "A", "a")), none, false},
		{"the factor's rise", []Point{decided("time", "1 transactions", "a", 1),
			decided("time", "1 transactions", "b", 2),
			decided("time", "9 transactions", "a", 1), decided("time", "9 transactions", "b", 8),
			decided("time", "9 threads", "a", 1), decided("time", "9 threads", "b", 99)},
			ratio(lastFactor("time", endsWith(" transactions"), "a", "b"),
				firstFactor("time", endsWith(" transactions"), "a", "b")), 4, false},
		{"the longest stage", []Point{decided("time", "A", "a", 6),
			decided("time", "A", "b", 2), decided("time", "A", "c", 3),
			decided("time", "B", "a", 1)}, longestStage(anyGroup, "a", "b", "c"), 2, false},
		{"a stage's share", []Point{decided("time", "A", "a", 1),
			decided("time", "A", "b", 3), decided("time", "A", "z", 9),
			decided("time", "B", "a", 1), decided("time", "B", "b", 9)}, stageShare(anyGroup, "a", "b"), 25, false},
		{"a percentage", []Point{decided("flips", "1", "a", 3), decided("flips", "5", "a", 9)},
			percent(sum("flips", inGroups(not(above(2)))), sum("flips", ofSeries("a"))), 25, false},
		{"the sum falls", []Point{decided("time", "1", "a", 3),
			decided("time", "1", "b", 3), decided("time", "2", "a", 4),
			decided("time", "2", "b", 1), decided("time", "3", "a", 0)},
			stepping(falls, "time", "*", "a", "b"), 1, false},
		{"a collection", []Point{decided("time", "#txns 100", neverCollected, 1),
			decided("time", "#txns 100", everyTxns6+"10", 3), decided("time", "#txns 100", everyTxns6+"50", 2),
			decided("time", "#txns 200", neverCollected, 2), decided("time", "#txns 200", everyTxns6+"10", 8)},
			aCollection, 1.5, false},
		{"collected longer", []Point{decided("time", "#txns 100", neverCollected, 1),
			decided("time", "#txns 100", everyTxns6+"50", 2), decided("time", "#txns 100", everyTxns6+"10", 1)},
			collectedLonger, 0.5, false},
	} {
		r := &Report{Bounds: true, fig: Figure{Metrics: []Metric{{"time", "", "ms"}, {"memory", "", "MB"}}}}
		for _, p := range c.points {
			r.Add(p)
		}
		f := c.find(r)
		found := f.None == ""
		if found == math.IsNaN(c.want) || found && (math.Abs(f.Value-c.want) > 1e-9 || f.Beyond != c.beyond) {
			t.Errorf("%s: %+v, not %v", c.name, f, c.want)
		}
		if found {
			for i := range r.Points { // what has no value is none
				r.Points[i].Verdict, r.Points[i].TimedOut = evidence.Unknown, false
			}
			if f := c.find(r); f.None == "" {
				t.Errorf("%s, of nothing: %+v", c.name, f)
			}
		}
	}
}

// TestNumberIn: a group's number stands in the place of the star.
func TestNumberIn(t *testing.T) {
	for _, c := range []struct {
		group, pattern string
		want           float64
	}{{"20000", "*", 20000}, {"#txns 5000", "#txns *", 5000}, {"#reads 10 %", "#reads *", 10},
		{"8 threads", "* threads", 8},
		{"8 threads", "* transactions", 0}, {"#sess 5", "#txns *", 0}, {"dist zipf", "dist *", 0}, {"0", "*", 0},
		{"threads", "* threads", 0}, {"collected after every 10", everyTxns6 + "*", 10}, {"", "*", 0}} {
		if n, ok := numberIn(c.group, c.pattern); ok != (c.want > 0) || ok && n != c.want {
			t.Errorf("%q, %q: %v, %v", c.group, c.pattern, n, ok)
		}
	}
}

// heldAt is memory at the parts of a run whose first half loads.
func heldAt(mb ...float64) []Point {
	out := []Point{decided("loaded", "all", "chronos", 50)}
	for i, v := range mb {
		out = append(out, decided("memory", strconv.Itoa(100*i/(len(mb)-1)), "chronos", v))
	}
	return out
}

// TestUnderPurdom: what is claimed of Cobra is judged by either closure.
func TestUnderPurdom(t *testing.T) {
	r := &Report{Scale: "full", fig: Figure{Metrics: []Metric{{"time", "", "ms"}}}}
	for _, p := range []Point{decided("time", "A", "vbox", 1), decided("time", "A", "cobra", 90),
		decided("time", "A", "cobra"+byPurdom, 5)} {
		r.Add(p)
	}
	cobra := timesLeast("time", "vbox", "cobra")
	r.fig.Says = []Saying{{Says: "60 times as fast as Cobra", Sense: AtLeast, Number: 60, Find: cobra},
		{Says: "by Purdom's closure", Sense: AtLeast, Number: 60, Find: underPurdom(cobra), Why: "it takes less",
			shown: shownUnderPurdom(shown("it is", cobra, AtMost, 5, "times"))}}
	r.judgeAll()
	var got []string
	for _, c := range r.Claims {
		got = append(got, fmt.Sprintf("%s: %s, %v, %s", c.Says, c.Holds, c.Here, c.Tested))
	}
	want := []string{"60 times as fast as Cobra: holds, 90, ", "by Purdom's closure: does not hold, 5, rows"}
	if !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
	r.Points = slices.DeleteFunc(r.Points, func(p Point) bool { return strings.Contains(p.Series, byPurdom) })
	if r.judgeAll(); r.Claims[0].Holds != Holds || r.Claims[1].Holds != NotComparable {
		t.Errorf("without Purdom: %+v", r.Claims[:2])
	}
}
