package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Why a claim does not hold is data like the claim: what can be tested of a reason is recomputed from the rows of its
// figure, or by a test that is named; what cannot is called a conjecture.

// What is behind a reason.
const (
	byRows  = "rows"
	refuted = "refuted" // the rows do not bear it out
)

// reason says why a claim does not hold, and what is behind it: byRows, refuted, a test's name, or "".
func (s *Saying) reason(r *Report) (why, tested string) {
	switch {
	case s.Why == "":
		return "not known", ""
	case s.test != "":
		return s.Why + " (" + s.test + ")", s.test
	case s.shown == nil:
		return "a conjecture: " + s.Why, ""
	}
	said, ok := s.shown(r)
	switch {
	case ok:
		return s.Why + " (" + said + ")", byRows
	case said == "":
		return "a conjecture: " + s.Why, ""
	}
	return "not known; these rows do not bear out that " + s.Why + " (" + said + ")", refuted
}

// showing recomputes what a reason rests on: in words, and whether it is so; "": these rows do not tell.
type showing func(r *Report) (said string, ok bool)

// shown is a number that has to reach another one, as claims have to.
func shown(what string, find func(*Report) Found, sense Sense, n float64, unit string) showing {
	return func(r *Report) (string, bool) {
		f := find(r)
		if f.None != "" {
			return "", false
		}
		c := Claim{Sense: sense, Number: n, Here: sixDigits(f.Value), Beyond: f.Beyond, Unit: unit, At: f.At,
			Measured: true}
		return what + ": " + c.here(), c.verdict() == Holds
	}
}

// allShown joins several.
func allShown(of ...showing) showing {
	return func(r *Report) (string, bool) {
		var said []string
		all := true
		for _, s := range of {
			text, ok := s(r)
			if text == "" {
				return "", false
			}
			said, all = append(said, text), all && ok
		}
		return strings.Join(said, "; "), all
	}
}

// reasons are what is behind the reasons of a figure's claims: of those that say something.
type reasons struct {
	figure, says string
	shown        showing
	test         string
}

// bearOut gives a figure's claims what is behind their reasons.
func bearOut(figure string, says []Saying) {
	for _, x := range allReasons() {
		for i := range says {
			if x.figure == figure && strings.Contains(says[i].Says, x.says) {
				says[i].shown, says[i].test = x.shown, x.test
				if says[i].purdom && x.shown != nil {
					says[i].shown = func(r *Report) (string, bool) { return x.shown(r.underPurdom()) }
				}
			}
		}
	}
}

// allReasons lists them; one behind another of the same claim takes its place.
func allReasons() []reasons {
	return slices.Concat(vboxReasons(), leopardReasons(), chronosReasons(), mtcReasons(), bcReasons())
}

func bcReasons() []reasons {
	return []reasons{
		{figure: "bc/fig1", says: "grows exponentially",
			shown: allShown(
				shown("its start dependencies grow", growing("start", "", "adya-si-full"), AtLeast, 4,
					"times as much as the size"),
				shown("its time", growing("time", "", "adya-si-full"), AtLeast, 4, "times as much"))},
		{figure: "bc/fig2", says: "160 ms against 1.31 s",
			shown: allShown(
				shown("the factor's greatest is", factors("solving", anyGroup, "bc", "adya-si"), AtMost, 5,
					"times its least"),
				shown("open throughout", timesLast("long", "bc", "adya-si"), AtLeast, 1000, "times as fast"))},
	}
}

// factors is the ratio of the greatest to the least factor over the groups of a metric.
func factors(metric string, keep func(string) bool, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		low := extreme([]string{metric}, keep, fast, slow, 1)(r)
		high := extreme([]string{metric}, keep, fast, slow, -1)(r)
		if low.None != "" || low.Value <= 0 || high.Beyond {
			return notMeasured(slow + " beside " + fast)
		}
		return Found{Value: high.Value / low.Value, At: fmt.Sprintf("(from %s to %s)", number(low.Value),
			number(high.Value))}
	}
}

func vboxReasons() []reasons {
	cobraMost := func(class string) showing {
		return shown("synthesized anomalies that cobra finds in "+class, foundAll(class, "cobra"), AtLeast, 1, all)
	}
	return []reasons{
		{figure: "vbox/table1", says: "Leopard detects the fewest", shown: allShown(cobraMost("WAT"),
			shown("that leopard finds in RAT", foundAll("RAT", "leopard"), MoreThan, 3.0/13, all))},
		{figure: "vbox/fig6", says: "less memory than Cobra",
			shown: shown("vbox, at the least", valueOver("memory", ofSeries("vbox"), least), AtLeast, 30, "MB")},
		{figure: "vbox/fig6", says: "Leopard's time is low", shown: shown("the mechanisms alone take",
			ratioAt("time", "BlindW-WR", "leopard", aloneLeopard), AtLeast, 0.5, "of it")},
		{figure: "vbox/fig6", says: "Leopard's memory is low", shown: shown("at the most",
			moreBy("memory", "vbox", "leopard"), AtLeast, 4, "MB more")},
		{figure: "vbox/fig6", says: "BE times out", test: "TestBEWithoutChoices"},
		{figure: "vbox/fig7", says: "up to 30,000", shown: shown("theirs",
			timesAt("time", "10000", "vbox", aloneLeopard), AtLeast, 1, "times Vbox's")},
		{figure: "vbox/fig7", says: "takes 44 MB", shown: shown("its memory grows",
			growing("memory", "", "vbox"), AtMost, 0.5, "times as much as the size")},
		{figure: "vbox/fig7", says: "by its mechanisms alone", shown: shown("their time",
			growing("time", "", aloneLeopard), AtMost, 1.5, "times the growth of the size")},
		{figure: "vbox/memory", says: "in use after a stage", shown: shown("constraints and known graph, at the least",
			overClosure, AtLeast, 1, "times the closure")},
		{figure: "vbox/fig8a", says: "Warshall times out", test: "TestWarshallByWords"},
		{figure: "vbox/fig8a", says: "Purdom+ is the fastest", shown: shown("Purdom+'s own time, at the most",
			valueOver("closure", ofSeries("purdom+"), most), AtMost, 50, "ms")},
		{figure: "vbox/fig8a", says: "Purdom+ is 3 to 17", shown: shown("Purdom+'s own time there, at the most",
			valueOver("closure", ofSeries("purdom+"), most), AtMost, 50, "ms")},
		{figure: "vbox/fig8a", says: "the paper's Algorithm 1", shown: shown("its time, ours being 1",
			timesMost("closure", "purdom+", "algorithm-1"), MoreThan, 1.5, "times")},
		{figure: "vbox/table2", says: "by a factor of 4,920", test: "TestLeftBySessions"},
		{figure: "vbox/table2", says: "fewer than Cobra by", test: "TestLeftBySessions"},
		{figure: "vbox/fig9", says: "faster than MiniSat", shown: func(r *Report) (string, bool) {
			for _, s := range r.Series("time") {
				f, _, ok := r.between("time", s, "cdcl-closure, vbox", "gini-eager")
				if ok && strings.HasPrefix(s, "unpruned") {
					return s + ": " + number(f) + " times", f >= 1000
				}
			}
			return "", false
		}},
	}
}

// between is the factor of two groups of one series.
func (r *Report) between(metric, series, fast, slow string) (f float64, beyond, ok bool) {
	a := r.Find(metric, fast, series)
	v, beyond, there := r.timed(metric, slow, series)
	if a == nil || !there || a.Value == 0 {
		return 0, false, false
	}
	return v / a.Value, beyond, true
}

// overClosure is what is in use once constraints and known graph are made, over what the compact closure adds, at the
// least.
func overClosure(r *Report) Found {
	best, n := Found{}, 0
	for _, g := range r.Groups("closure") {
		made, own := r.Find("live", g+", "+compactClosure, "construction"), r.Find("closure", g, compactClosure)
		if made == nil || own == nil || own.Value <= 0 {
			continue
		}
		if f := made.Value / own.Value; n == 0 || f < best.Value {
			best = Found{Value: f, At: r.place(g)}
		}
		n++
	}
	if n == 0 {
		return notMeasured("construction")
	}
	return best
}

// ratioAt is a series' value over another's.
func ratioAt(metric, group, base, series string) func(*Report) Found {
	return func(r *Report) Found { return ratioOf(r, metric, group, base, series) }
}

// moreBy is by how much a series is above another, at the most.
func moreBy(metric, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, g := range r.Groups(metric) {
			a, b := r.Find(metric, g, base), r.Find(metric, g, series)
			if a == nil || b == nil {
				continue
			}
			if n++; n == 1 || b.Value-a.Value > best.Value {
				best = Found{Value: b.Value - a.Value, At: r.place(g)}
			}
		}
		if n == 0 {
			return notMeasured(series)
		}
		return best
	}
}

func leopardReasons() []reasons {
	byTxns := func(g string) bool { _, ok := behind(g, " transactions"); return ok }
	rounds := shown("rounds take less than all at once", extreme([]string{"time"}, byTxns, "cobra", "cobra without GC",
		1), AtLeast, 1, "times as fast")
	return []reasons{
		{figure: "leopard/fig3", says: "are not, in memory", shown: shown("by threads",
			steady("overlap", endsWith(" threads"), "in-memory store"), AtMost, 2, spread)},
		{figure: "leopard/fig9", says: "memory than without its", shown: shown("most traces without batches",
			steady("buffered", anyGroup, "without batches, BlindW-RW+"), AtMost, 1.1,
			spread)},
		{figure: "leopard/fig9", says: "similar maximal memory", shown: shown("most traces without batches",
			steady("buffered", anyGroup, "without batches, BlindW-RW+"), AtMost, 1.1,
			spread)},
		{figure: "leopard/fig9", says: "the most traces", shown: shown("TPC-C's traces",
			extreme([]string{"buffered"}, anyGroup, "one heap, BlindW-RW+", "one heap, TPC-C", 1), AtLeast, 0.9,
			"times as many")},
		{figure: "leopard/fig9", says: "longest dispatching", shown: shown("TPC-C's traces",
			extreme([]string{"buffered"}, anyGroup, "one heap, BlindW-RW+", "one heap, TPC-C", 1), AtLeast, 0.9,
			"times as many")},
		{figure: "leopard/fig10", says: "falls as threads", shown: shown("dependencies, by threads",
			steady("edges", func(g string) bool { return strings.HasSuffix(g, " threads") }, "deduced"), AtMost, 1.1,
			spread)},
		{figure: "leopard/fig12", says: "some of TPC-C", test: "TestValuesDiffer"},
		{figure: "leopard/fig13", says: "time grows linearly", shown: shown("replay's",
			growingBy("time", " transactions", "replay"), MoreThan, 1, "times the growth of the size")},
		{figure: "leopard/fig13", says: "114 times", shown: rounds},
		{figure: "leopard/fig13", says: "271 times", shown: rounds},
		{figure: "leopard/fig13", says: "takes longer than without", shown: rounds},
		{figure: "leopard/fig13", says: "memory is stable", shown: shown(
			"replay's, which has no mechanisms, by as much", steady("memory", anyGroup, "replay"), AtLeast, 1.05,
			"times")},
	}
}

func anyPoint(*Point) bool { return true }

// ratioFirstLast is a series' value at the first group over that at the last.
func ratioFirstLast(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		groups := r.Groups(metric)
		if len(groups) < 2 {
			return notMeasured(series)
		}
		a, b := r.Find(metric, groups[0], series), r.Find(metric, groups[len(groups)-1], series)
		if a == nil || b == nil || b.Value == 0 {
			return notMeasured(series)
		}
		return Found{Value: a.Value / b.Value, At: fmt.Sprintf("(%s and %s)", number(a.Value), number(b.Value))}
	}
}

// shareOfStages is what share of a figure's stages one takes, in percent, at most.
func shareOfStages(stage string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(stage)
		for _, g := range r.Groups("time") {
			whole := 0.0
			for _, s := range r.Series("time") {
				if p := r.Find("time", g, s); p != nil {
					whole += p.Value
				}
			}
			p := r.Find("time", g, stage)
			if p != nil && whole > 0 && (best.None != "" || 100*p.Value/whole > best.Value) {
				best = Found{Value: 100 * p.Value / whole, At: r.place(g)}
			}
		}
		return best
	}
}

// stillHeld: what is in use when a history is loaded is in use when it has been checked.
func stillHeld(r *Report) (string, bool) {
	groups := r.Groups("use")
	if len(groups) < 2 {
		return "", false
	}
	a, b := r.Find("use", groups[0], "in use after a collection"), r.Find("use", groups[1], "in use after a collection")
	if a == nil || b == nil {
		return "", false
	}
	return fmt.Sprintf("after a collection %s MB are in use when it is loaded, %s MB when it is checked",
		number(a.Value), number(b.Value)), b.Value >= 0.9*a.Value
}

func mtcReasons() []reasons {
	below := func(metric, series string, ms float64) showing {
		return shown("at the most", func(r *Report) Found {
			return valueOver(metric, ofSeries(series), most)(r)
		}, AtMost, ms, "ms")
	}
	elleShort := shown("its longest", valueOver("time", ofSeries("wr, elle-register", "append, elle"), most), AtMost,
		10, "ms")
	square := shown("PolySI's time grows", growing("txns", "", "polysi"), AtLeast, 2, "times as much as the size")
	return []reasons{
		{figure: "mtc/fig7", says: "whatever the skew", shown: below("objects", "mtc", 20)},
		{figure: "mtc/fig7", says: "MTC-SER is stable whatever the sessions", shown: below("sessions", "mtc", 20)},
		{figure: "mtc/fig7", says: "exponentially with fewer objects", test: "TestCobraOnMiniTransactions"},
		{figure: "mtc/fig8", says: "gains significantly more", test: "TestCobraOnMiniTransactions"},
		{figure: "mtc/fig8", says: "1600 times", shown: square},
		{figure: "mtc/fig8", says: "93 times", shown: square},
		{figure: "mtc/fig9", says: "stable as the sessions", shown: below("concurrency", "lwt", 20)},
		{figure: "mtc/fig10", says: "three orders of magnitude", shown: shown("by the transactions the factor rises",
			risingFactor("time", "MT, mtc"+inPostgres, "GT, cobra"+inPostgres), AtLeast, 2, "times")},
		{figure: "mtc/fig10", says: "the more transactions", shown: shown("of many each takes",
			eachTakes("GT, cobra"+inPostgres), AtMost, 1.1, "times as long as of few")},
		{figure: "mtc/fig17", says: "the more transactions", shown: shown("of many each takes",
			eachTakes("GT, polysi"+inPostgres), AtMost, 1.1, "times as long as of few")},
		{figure: "mtc/fig10", says: "14 times less memory", shown: shown("MTC's at the least",
			valueOver("memory", ofSeries("MT, mtc"+inPostgres), least), AtLeast, 25, "MB")},
		{figure: "mtc/fig11", says: "nearly half", shown: shown("with ten",
			gtMost("sessions", "10", inPostgres), AtLeast, 40, "%")},
		{figure: "mtc/fig11", says: "over 60 %", shown: allShown(
			shown("on a thousand objects, with ten sessions", gtMost("sessions", "10", inPostgres), AtMost, 50, "%"),
			shown("with twenty", gtMost("sessions", "20", inPostgres), AtLeast, 50, "%"))},
		{figure: "mtc/fig13", says: "Elle with registers", shown: shorterOnes},
		{figure: "mtc/fig13", says: "Elle's best with lists", shown: shown("lists of two operations that find one",
			valueAt("found", "PostgreSQL repeatable-read, SER, 2", "append, elle"), AtLeast, 60, "%")},
		{figure: "mtc/fig14", says: "in generation", shown: shown("with two operations Elle is faster",
			shareOf("generation", "cases", func(r *Report, g string) (yes, ok bool) {
				db, two := strings.CutSuffix(g, ", 2")
				m, e := r.Find("generation", db+", 4", "mini, mtc"), r.Find("generation", g, "append, elle")
				return m != nil && e != nil && e.Value < m.Value, two && m != nil && e != nil
			}), AtLeast, 0.6, all)},
		{figure: "mtc/fig14", says: "in verification", shown: elleShort},
		{figure: "mtc/fig14", says: "15 times as fast", shown: elleShort},
		{figure: "mtc/table2", says: "kinds found in databases", shown: func(r *Report) (string, bool) {
			for _, p := range r.Points {
				if p.Metric == "position" && !p.Decided() && strings.Contains(p.Group, "standby") {
					return p.Reason, strings.HasPrefix(p.Reason, "not found in ")
				}
			}
			return "", false
		}},
	}
}

// risingFactor is by how much more a factor is at the last than at the first of the groups that are numbers of
// transactions.
func risingFactor(metric, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		var all []float64
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, " transactions"); ok {
				if f, late, ok := r.factor(metric, g, fast, slow); ok && !late {
					all = append(all, f)
				}
			}
		}
		if len(all) < 2 || all[0] == 0 {
			return notMeasured(slow)
		}
		return Found{Value: all[len(all)-1] / all[0], At: fmt.Sprintf("(from %s to %s)", number(all[0]),
			number(all[len(all)-1]))}
	}
}

// shorterOnes: where registers show more violations than mini-transactions it is with two operations.
func shorterOnes(r *Report) (string, bool) {
	more, two := 0, 0
	metric := trialMetric(r)
	for _, db := range weakDatabases() {
		m := r.Find(metric, db.name+", 4", "mini, mtc")
		for _, ops := range []string{"2", "4", "8"} {
			if e := r.Find(metric, db.name+", "+ops, "wr, elle-register"); m != nil && e != nil && e.Value > m.Value {
				if more++; ops == "2" {
					two++
				}
			}
		}
	}
	if more == 0 {
		return "", false
	}
	return fmt.Sprintf("with two operations in %d of the %d cases", two, more), two == more
}
