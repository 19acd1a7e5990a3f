package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"isovet/internal/slice"
)

// Finders that only single figures need.

// Vbox.

// foundOf reads "11/13".
func foundOf(p *Point) (found, of float64, ok bool) {
	a, b, cut := strings.Cut(p.Text, "/")
	found, err := strconv.ParseFloat(a, 64)
	of, err2 := strconv.ParseFloat(b, 64)
	return found, of, cut && err == nil && err2 == nil && of > 0
}

// foundAll returns the share of a class's anomalies that a checker finds.
func foundAll(class, checker string) finder {
	return func(r *Report) Found {
		if p := r.Find("found", class, checker); p != nil {
			if found, of, ok := foundOf(p); ok {
				return Found{found / of, false, fmt.Sprintf("%.0f of %.0f", found, of), ""}
			}
		}
		return notMeasured(class)
	}
}

// misses returns the number of anomalies, of all classes, that a checker does not find.
func misses(checker string) finder {
	return func(r *Report) Found {
		found, of, ok := 0.0, 0.0, false
		for _, p := range r.line("found", anyGroup, checker) {
			if x, n, is := foundOf(p); is {
				found, of, ok = found+x, of+n, true
			}
		}
		if !ok {
			return notMeasured(checker)
		}
		return Found{of - found, false, fmt.Sprintf("of %.0f", of), ""}
	}
}

// cobraAsBE returns the share of classes in which Cobra and BE find the same number. A class in which they differ and
// one was stopped is unknown.
func cobraAsBE(r *Report) Found {
	yes, n := 0, 0
	for _, g := range r.Groups("found") {
		a, b := r.Find("found", g, "cobra"+asPublished), r.Find("found", g, "be"+asPublished)
		if a == nil || b == nil {
			continue
		}
		if n++; a.Text == b.Text {
			yes++
			continue
		}
		for _, note := range r.Notes {
			stopped := strings.Contains(note, "(timeout") || strings.Contains(note, "no memory")
			for _, c := range []string{"cobra" + asPublished, "be" + asPublished} {
				if stopped && strings.HasPrefix(note, c+" misses of "+g+": ") {
					return Found{None: c + " was stopped before it decided, of " + g + " by the time-out or for want " +
						"of memory"}
				}
			}
		}
	}
	return part(yes, n, "classes")
}

// overClosure divides the memory in use after construction by what the compact closure adds. It returns the least
// quotient.
func overClosure(r *Report) Found {
	return leastOf("construction", slice.Map(r.Groups("closure"), func(g string) Found {
		return ratio(valueAt("live", g+", "+compactClosure, "construction"), valueAt("closure", g, compactClosure))(r).
			at(r.place(g))
	}))
}

// Leopard.

// majorFactors divides how much the overlap varies by skew and by threads, whichever is less, by how much it varies by
// the kind of operations.
func majorFactors(series string) finder {
	return func(r *Report) Found {
		of := func(keep func(string) bool) Found { return steady("overlap", keep, series)(r) }
		skew, threads := of(startsWith("skew ")), of(endsWith(" threads"))
		kinds := of(func(g string) bool { return strings.HasSuffix(g, " reads") || g == "read-modify-writes" })
		for _, f := range []Found{skew, threads, kinds} {
			if f.None != "" {
				return f
			}
		}
		return Found{min(skew.Value, threads.Value) / kinds.Value, false,
			fmt.Sprintf("(by skew %s times, by threads %s, by kind %s)", number(skew.Value), number(threads.Value),
				number(kinds.Value)), ""}
	}
}

// throughput returns the least quotient of Leopard's throughput, while the database runs and afterwards, and the
// database's.
func throughput(r *Report) Found {
	var all []Found
	for _, s := range []string{"leopard, while it runs", "leopard, afterwards"} {
		all = append(all, timesLeast("rate", "database", s)(r), timesLeast("traces", "database", s)(r))
	}
	return leastOf("a database", all)
}

// atSize is a finder for runs of n transactions. It checks that there is such a group.
func atSize(n int, find finder) finder {
	return func(r *Report) Found {
		want := fmt.Sprintf("%d transactions", n)
		if !slices.Contains(r.Groups("time"), want) {
			return notMeasured("a history of " + want)
		}
		return find(r)
	}
}

// foundBy returns whether a checker finds an anomaly in one history, as a share.
func foundBy(series, group string) finder {
	return func(r *Report) Found {
		series, missed := strings.CutSuffix(series, " misses")
		p := r.Find("found", group, series)
		if p == nil {
			return notMeasured(group)
		}
		return part(map[bool]int{true: 1}[(p.Value == 0) == missed], 1, "histories")
	}
}

// CHRONOS.

// longestStage divides a stage's time by the longest of others. It returns the least quotient.
func longestStage(keep func(string) bool, stage string, others ...string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, p := range r.line("time", keep, stage) {
			all = append(all, ratio(valueAt("time", p.Group, stage), valueOver("time", both(inGroups(among(p.Group)),
				ofSeries(others...)), most))(r).at(r.place(p.Group)))
		}
		return leastOf(stage, all)
	}
}

// stageShare returns the greatest share that a stage has of some stages, in percent.
func stageShare(keep func(string) bool, stage string, others ...string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, p := range r.line("time", keep, stage) {
			whole, _ := r.total("time", both(inGroups(among(p.Group)), ofSeries(append(others, stage)...)))
			if whole > 0 {
				all = append(all, Found{Value: 100 * p.Value / whole, At: r.place(p.Group)})
			}
		}
		return mostOf(stage, all)
	}
}

// byLoading returns the memory in use while a history is loaded, and afterwards.
func (r *Report) byLoading() (during, after []float64, end float64) {
	p := r.Find("loaded", "all", "chronos")
	if p == nil {
		return nil, nil, 0
	}
	for _, m := range r.line("memory", anyGroup, "chronos") {
		if percent, err := strconv.ParseFloat(m.Group, 64); err == nil && percent <= p.Value {
			during = append(during, m.Value)
		} else if err == nil {
			after = append(after, m.Value)
		}
	}
	return during, after, p.Value
}

// risingUntilLoaded returns the share of steps during the loading at which memory does not fall.
func risingUntilLoaded(r *Report) Found {
	during, _, _ := r.byLoading()
	return steps(during, rises)
}

// afterLoading compares the memory after the loading with that during it; then and first select a value of each.
func afterLoading(then, first func(...float64) float64) finder {
	return func(r *Report) Found {
		during, after, end := r.byLoading()
		if len(during) == 0 || len(after) == 0 {
			return notMeasured("memory before and after loading")
		}
		return Found{then(after...) / first(during...), false, fmt.Sprintf("(%s and %s MB; loading ends at %s %%)",
			number(then(after...)), number(first(during...)), number(end)), ""}
	}
}

// sameHistory shows that runs of the default workload, which is in each parameter's group, differ at least
// four fifths as much as runs of one parameter.
func sameHistory(metric, prefix, series string) showing {
	return func(r *Report) (string, bool) {
		same := steady(metric, among("#txns 20000", "#txns 100000", "#ops/txn 15", "#sess 50", "#keys 1000",
			"#reads 50 %", "dist zipf"), series)(r)
		own := steady(metric, startsWith(prefix), series)(r)
		if same.None != "" || own.None != "" {
			return "", false
		}
		return "of these the greatest is " + number(same.Value) + " times the least", same.Value-1 >= 0.8*(own.Value-1)
	}
}

// collections returns the series of Figure 6 in which the garbage collector is called, most frequent first.
func collections(r *Report) []string {
	every := func(s string) float64 {
		n, _ := numberIn(s, everyTxns6+"*")
		return n
	}
	out := slices.DeleteFunc(r.Series("time"), func(s string) bool { return every(s) == 0 })
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(every(a), every(b)) })
	return out
}

// collectedLonger returns the share of steps from one strategy to the next less frequent one, for each parameter, at
// which the time falls.
func collectedLonger(r *Report) Found {
	longer, n := 0, 0
	for _, g := range r.Groups("time") {
		was := (*Point)(nil)
		for _, s := range append(collections(r), neverCollected) {
			p := r.Find("time", g, s)
			if was != nil && p != nil {
				if n++; was.Value > p.Value {
					longer++
				}
			}
			was = cmp.Or(p, was)
		}
	}
	return part(longer, n, "steps")
}

// collectedMost returns the share of parameters for which the time is longer with the most collections than with none.
func collectedMost(r *Report) Found {
	all := append(collections(r), "")
	return shareOf("time", "parameters", func(r *Report, g string) (longer, ok bool) {
		a, b := r.Find("time", g, all[0]), r.Find("time", g, neverCollected)
		return a != nil && b != nil && a.Value > b.Value, a != nil && b != nil
	})(r)
}

// aCollection divides the cost of a collection with the most transactions by that with the fewest.
func aCollection(r *Report) Found {
	all := append(collections(r), "")
	every, _ := numberIn(all[0], everyTxns6+"*")
	var took []float64
	for _, g := range r.Groups("time") {
		n, ok := numberIn(g, "#txns *")
		a, b := r.Find("time", g, all[0]), r.Find("time", g, neverCollected)
		if ok && a != nil && b != nil && a.Value > b.Value {
			took = append(took, (a.Value-b.Value)/(n/every))
		}
	}
	if len(took) < 2 {
		return notMeasured("a run with collections at two sizes")
	}
	return ratioOf(Found{Value: last(took...)}, Found{Value: took[0]})
}

// growingCollected is growing for the most frequent collections.
func growingCollected(pattern string) finder {
	return func(r *Report) Found { return growing("time", pattern, append(collections(r), "")[0])(r) }
}

// Mini-transactions.

// abortsMore returns the share of groups and levels at which general transactions abort more.
func abortsMore(where string) finder {
	return func(r *Report) Found {
		yes, n := 0, 0
		for _, m := range r.fig.Metrics {
			for _, g := range r.Groups(m.Key) {
				for _, iso := range abortLevels {
					mt, gt := r.Find(m.Key, g, "MT, "+iso.name+where), r.Find(m.Key, g, "GT, "+iso.name+where)
					if mt == nil || gt == nil {
						continue
					}
					if n++; mt.Value < gt.Value {
						yes++
					}
				}
			}
		}
		return part(yes, n, "")
	}
}

// gtRises returns the share of steps, at both levels, at which the abort rate of general transactions does not fall.
func gtRises(metric string) finder {
	return func(r *Report) Found {
		up, n := 0.0, 0
		for _, iso := range abortLevels {
			f := stepping(rises, metric, "*", "GT, "+iso.name+inPostgres)(r)
			if f.None != "" {
				return f
			}
			up, n = up+f.Value, n+1
		}
		return Found{up / float64(n), false, fmt.Sprintf("%.0f %% of the steps", 100*up/float64(n)), ""}
	}
}

// varies divides how much the abort rate of mini-transactions varies, in points, by that of general ones. It returns
// the greater of both levels.
func varies(metric string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, iso := range abortLevels {
			spread := func(kind string) finder {
				keep := ofSeries(kind + iso.name + inPostgres)
				return difference(valueOver(metric, keep, most), valueOver(metric, keep, least))
			}
			f := ratio(spread("MT, "), spread("GT, "))(r)
			f.At = strings.Replace("at "+iso.name+" "+f.At, ")", " points)", 1)
			all = append(all, f)
		}
		return mostOf("PostgreSQL", all)
	}
}

// overCobra divides mtc's gain over PolySI by its gain over Cobra in Figure 7. It returns the least of the histories
// that both figures have.
func overCobra(metrics []string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, m := range metrics {
			for _, g := range r.Groups(m) {
				f := ratio(timesAt(m, g, "mtc", "polysi"), in("mtc/fig7", timesAt(m, g, "mtc", "cobra")))(r)
				f.At = strings.Replace(f.At, ")", " times, "+m+" "+g+")", 1)
				all = append(all, f)
			}
		}
		return leastOf("Cobra beside PolySI", all)
	}
}

// sizeMatters divides Elle's result at its best size of transactions by that at its worst. It returns the least over
// databases and kinds of transactions.
func sizeMatters(r *Report) Found {
	var all []Found
	metric := trialMetric(r)
	for _, db := range weakDatabases() {
		for _, series := range []string{"wr, elle-register", "append, elle"} {
			low, high := math.Inf(1), 0.0
			for _, p := range r.line(metric, startsWith(db.name), series) {
				low, high = min(low, p.Value), max(high, p.Value)
			}
			if low > 0 && high >= low {
				all = append(all, Found{high / low, false, fmt.Sprintf("(%s and %s, %s, %s)", number(high), number(low),
					series, db.name), ""})
			}
		}
	}
	return leastOf("Elle", all)
}

// trialMetric returns the metric of the pace on servers, if there are any.
func trialMetric(r *Report) string {
	if len(r.Groups("pace")) > 0 {
		return "pace"
	}
	return "found"
}

// moreTrials returns the share of cases in which mini-transactions show more violations than Elle's transactions.
func moreTrials(series string) finder {
	return func(r *Report) Found {
		yes, n := r.beats(trialMetric(r), "mini, mtc", series, func(m, e float64) bool { return m > e })
		return part(yes, n, "")
	}
}

// trialsFaster returns the share of cases in which they take less time.
func trialsFaster(metric string) finder {
	return func(r *Report) Found {
		less := func(m, e float64) bool { return m < e }
		a, n := r.beats(metric, "mini, mtc", "wr, elle-register", less)
		b, k := r.beats(metric, "mini, mtc", "append, elle", less)
		return part(a+b, n+k, "")
	}
}

// bugsFound returns the share of Table II's kinds of bugs that were found: planted ones, or those of databases. A
// missing server has no row.
func bugsFound(planted bool) finder {
	return func(r *Report) Found {
		found, n := 0, 0
		for _, b := range mtcBugs(0) {
			if b.none || (b.server == "") != planted || !slices.Contains(r.Groups("position"), b.name) {
				continue
			}
			if n++; r.Find("position", b.name, "mtc") != nil {
				found++
			}
		}
		return part(found, n, "")
	}
}

// elleOfTwoFaster reports whether generating Elle's transactions of two operations is faster than generating
// mini-transactions.
func elleOfTwoFaster(r *Report, g string) (yes, ok bool) {
	db, two := strings.CutSuffix(g, ", 2")
	m, e := r.Find("generation", db+", 4", "mini, mtc"), r.Find("generation", g, "append, elle")
	return m != nil && e != nil && e.Value < m.Value, two && m != nil && e != nil
}

// standbyNotFound supports a reason: the bug between PostgreSQL and its standby did not show.
func standbyNotFound(r *Report) (string, bool) {
	for _, p := range r.Points {
		if p.Metric == "position" && !p.Decided() && strings.Contains(p.Group, "standby") {
			return p.Reason, strings.HasPrefix(p.Reason, "not found in ")
		}
	}
	return "", false
}

// shorterOnes supports a reason: if registers show more violations than mini-transactions, it is with two operations.
func shorterOnes(r *Report) (string, bool) {
	over, two := 0, 0
	metric := trialMetric(r)
	for _, db := range weakDatabases() {
		m := r.Find(metric, db.name+", 4", "mini, mtc")
		for _, e := range r.line(metric, startsWith(db.name), "wr, elle-register") {
			if m != nil && e.Value > m.Value {
				if over++; strings.HasSuffix(e.Group, ", 2") {
					two++
				}
			}
		}
	}
	if over == 0 {
		return "", false
	}
	return fmt.Sprintf("with two operations in %d of the %d cases", two, over), two == over
}

// BC-graphs.

// building divides the time of all stages but solving by that of solving, at the largest size of both in Figure 1 of
// BC-graphs.
func building(r *Report) Found {
	for _, p := range slices.Backward(r.line("solving", anyGroup, "bc")) {
		whole := in("bc/fig1", valueAt("time", p.Group, "bc"))(r)
		if whole.None == "" && p.Value > 0 {
			return Found{(whole.Value - p.Value) / p.Value, whole.Beyond, fmt.Sprintf("(%s ms in all, in "+
				"bc/fig1, of which %s solving, %s)", number(whole.Value), number(p.Value), r.place(p.Group)), ""}
		}
	}
	return notMeasured("bc/fig1 at a size of this figure")
}
