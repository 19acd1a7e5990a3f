package bench

import (
	"fmt"
	"slices"
	"strings"
)

// leopardSays are the claims of [Leopard] §IV-B and §VI, by figure.
func leopardSays() map[string][]Saying {
	const store, postgres = "in-memory store", "PostgreSQL"
	always := func(*Point) bool { return true }
	pipeline := func(says, metric, rival, why string) Saying {
		return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: "times as much with the rival", Why: why,
			Find: byWorkload(metric, "two-level pipeline, ", rival+", ")}
	}
	return map[string][]Saying{
		"leopard/fig3": {
			{Says: "skew raises the overlap", Sense: AtLeast, Number: 1, Unit: all,
				Find: rising("overlap", "skew ", store)},
			{Says: "threads raise the overlap", Sense: AtLeast, Number: 1, Unit: all,
				Find: steps("overlap", " threads", store, func(a, b float64) bool { return b >= a })},
			{Says: "the overlap is below 6 % in all cases", Sense: LessThan, Number: 6, Unit: "%",
				Find: valueOver("overlap", always, most), Why: "all clients and the server share two cores, so " +
					"that an " +
					"operation's interval is mostly waiting for one of them"},
			{Says: "skew raises the overlap on PostgreSQL", Sense: AtLeast, Number: 1, Unit: all,
				Find: rising("overlap", "skew ", postgres)},
			{Says: "threads raise the overlap on PostgreSQL", Sense: AtLeast, Number: 1, Unit: all,
				Find: steps("overlap", " threads", postgres, func(a, b float64) bool { return b >= a })},
		},
		"leopard/fig9": {
			pipeline("the pipeline dispatches faster than sorting all traces in one heap", "time", "one heap", ""),
			pipeline("it dispatches faster than without its optimization", "time", "without batches", ""),
			pipeline("it takes less memory than one heap", "buffered", "one heap", "on SmallBank the traces "+
				"are few, and batches for 24 clients hold most of them"),
			pipeline("it takes less memory than without its optimization", "buffered", "without batches",
				"what a batch gains in time it holds in memory: without batches a client waits until its trace is "+
					"taken"),
			{Says: "BlindW-RW+ has the longest dispatching time", Sense: AtLeast, Number: 1, Unit: all,
				Find: longestWorkload, Why: "what counts is the number of traces, and a transaction of TPC-C has " +
					"as many " +
					"at some sizes"},
		},
		"leopard/fig10": {
			{Says: "Leopard's time is linear in the transactions", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growingBy("time", " transactions", "leopard")},
			{Says: "Leopard's time falls as threads become more", Sense: AtLeast, Number: 1, Unit: all,
				Find: steps("time", " threads", "leopard", func(a, b float64) bool { return b <= a }),
				Why:  "the paper's falls because more transactions abort; here as many commit whatever the threads"},
			{Says: "Leopard's time is linear in the length of a transaction", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growing("time", "length ", "leopard"), Why: "with the " +
					"length " +
					"grows the number of versions that lie between two commits, and each read is compared with those"},
			{Says: "Leopard significantly outperforms cycle searching", Sense: MoreThan, Number: 1, Unit: "times " +
				"as fast",
				Find: timesLeast("time", "leopard", "cycle search"), Why: "the search is given its graph, which " +
					"the paper's has to build, and searches arrays of integers; but its time is quadratic"},
			{Says: "Leopard outperforms the building of the graph and the search in it", Sense: MoreThan, Number: 1,
				Unit: "times as fast", Find: timesLeast("time", "leopard", "graph and cycle search"),
				Why: "the runs of the two differ by more than the search takes on short histories"},
		},
		"leopard/fig11": {
			{Says: "Leopard's throughput is above the databases', but for TPC-C on OceanBase", Sense: MoreThan,
				Number: 1,
				Unit:   "times the database's", Find: throughput},
		},
		"leopard/fig12": {
			{Says: "the ratio of uncertain dependencies is below 10⁻³", Sense: LessThan, Number: 0.1, Unit: "%",
				Find: valueOver("left", always, most), Why: "see leopard/fig3: on two cores intervals are long"},
			{Says: "in BlindW-W and BlindW-RW every dependency is deduced", Sense: EqualTo, Number: 0, Unit: "% left",
				Find: valueOver("left", func(p *Point) bool { return strings.HasPrefix(p.Group, "BlindW") }, most),
				Why: "the few that are left are between writes whose intervals overlap and that nobody reads in " +
					"between"},
			{Says: "some of TPC-C and SmallBank are not deduced", Sense: MoreThan, Number: 0, Unit: "% left",
				Find: valueOver("left", func(p *Point) bool { return !strings.HasPrefix(p.Group, "BlindW") }, least),
				Why: "the paper's repeat values, and write parts of rows; here each write has a value of its own and " +
					"a row is one object"},
		},
		"leopard/fig13": {
			{Says: "Leopard is 114 times as fast as Cobra at 20,000 transactions", Sense: AtLeast, Number: 114,
				Unit: "times as fast", Find: timesAt("time", "20000 transactions", "leopard", "cobra"),
				Why: cobraForgets},
			{Says: "Leopard is 271 times as fast as Cobra with 32 threads, 20,000 transactions", Sense: AtLeast,
				Number: 271, Unit: "times as fast", Find: atSize(20_000, timesAt("time", "32 threads", "leopard",
					"cobra")),
				Why: cobraForgets},
			{Says: "Leopard's time grows linearly", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growingBy("time", " transactions", "leopard"),
				Why: "so does what has no mechanisms here: caches hold the smallest history and not the largest"},
			{Says: "Cobra without garbage collection grows super-linearly", Sense: MoreThan, Number: 1,
				Unit: "times the growth of the size", Find: growingBy("time", " transactions", "cobra without GC")},
			{Says: "Cobra with garbage collection takes longer than without", Sense: MoreThan, Number: 1,
				Unit: "times as long", Find: timesLeast("time", "cobra without GC", "cobra"), Why: cobraForgets},
			{Says: "Cobra without garbage collection takes the most memory", Sense: MoreThan, Number: 1,
				Unit: "times as much as Cobra with it", Find: lastFactor("memory", "cobra", "cobra without GC")},
			{Says: "Leopard takes about as much memory as Cobra for many transactions", Sense: AtMost, Number: 1,
				Roughly: true, Unit: "times Cobra's", Find: lastFactor("memory", "cobra", "leopard")},
			{Says: "Leopard's memory is stable", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times, the greatest to the least", Find: steady("memory", anyGroup, "leopard"),
				Why: "the history is read into memory before it is verified; the mechanisms' own memory does not " +
					"grow " +
					"(docs/checkers/leopard.md)"},
		},
		"leopard/elle": {
			{Says: "Leopard finds bugs that Elle cannot find: an inconsistent read that closes no cycle",
				Sense:  AtLeast,
				Number: 1, Unit: all, Find: foundBy("leopard", "inconsistent read")},
			{Says: "Elle does not find it", Sense: AtLeast, Number: 1, Unit: all,
				Find: foundBy("elle-register misses", "inconsistent read")},
		},
	}
}

const cobraForgets = "cobra-rounds forgets by a rule of its own (docs/checkers/cobra-rounds.md), and rounds over " +
	"what " +
	"is left cost less than one over all, where the paper's spends its time on finding out what it may forget"

// byWorkload is the least factor between two kinds of series that end in a workload's name.
func byWorkload(metric, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series(metric) {
			w, ok := strings.CutPrefix(s, fast)
			if !ok {
				continue
			}
			if f := timesLeast(metric, s, slow+w)(r); f.None == "" {
				f.At = w + " " + f.At
				if n++; n == 1 || f.Value < best.Value {
					best = f
				}
			}
		}
		if n == 0 {
			return notMeasured(slow)
		}
		return best
	}
}

// longestWorkload is the share of sizes at which BlindW-RW+ takes the pipeline longest.
func longestWorkload(r *Report) Found {
	return shareOf("time", "sizes", func(r *Report, g string) (yes, ok bool) {
		own := r.Find("time", g, "two-level pipeline, BlindW-RW+")
		if own == nil {
			return false, false
		}
		for _, w := range []string{"SmallBank", "TPC-C"} {
			if p := r.Find("time", g, "two-level pipeline, "+w); p != nil && p.Value > own.Value {
				return false, true
			}
		}
		return true, true
	})(r)
}

// behind reads the number before a group's ending: "2000 transactions".
func behind(group, ending string) (float64, bool) {
	rest, ok := strings.CutSuffix(group, ending)
	if !ok {
		return 0, false
	}
	return numberIn(rest, "")
}

// growingBy is growing for groups whose numbers stand before an ending.
func growingBy(metric, ending, series string) func(*Report) Found {
	return func(r *Report) Found {
		var at, is []float64
		late := false
		for _, g := range r.Groups(metric) {
			n, ok := behind(g, ending)
			if v, beyond, there := r.timed(metric, g, series); ok && there && v > 0 && !late {
				at, is, late = append(at, n), append(is, v), beyond
			}
		}
		last := len(at) - 1
		if last < 1 {
			return notMeasured(series + " at two sizes")
		}
		return Found{is[last] / is[0] / (at[last] / at[0]), late, fmt.Sprintf("from %s to %s%s: %s times as much",
			number(at[0]), number(at[last]), ending, number(is[last]/is[0])), ""}
	}
}

// steps is the share of steps between groups with an ending of which something is true.
func steps(metric, ending, series string, is func(a, b float64) bool) func(*Report) Found {
	return func(r *Report) Found {
		var values []float64
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, ending); ok {
				if p := r.Find(metric, g, series); p != nil {
					values = append(values, p.Value)
				}
			}
		}
		yes := 0
		for i := range max(len(values), 1) - 1 {
			if is(values[i], values[i+1]) {
				yes++
			}
		}
		if len(values) < 2 {
			return notMeasured(series)
		}
		return Found{float64(yes) / float64(len(values)-1), false, fmt.Sprintf("%d of %d steps", yes, len(values)-1),
			""}
	}
}

// throughput is the least factor between Leopard's throughput, while the database runs and afterwards, and the
// database's.
func throughput(r *Report) Found {
	best := notMeasured("a database")
	for _, s := range []string{"leopard, while it runs", "leopard, afterwards"} {
		for _, m := range []string{"rate", "traces"} {
			f := timesLeast(m, "database", s)(r)
			if f.None == "" && (best.None != "" || f.Value < best.Value) {
				best = f
			}
		}
	}
	return best
}

// atSize is a finder for runs of so many transactions: it asks whether there is a group of that name.
func atSize(n int, find func(*Report) Found) func(*Report) Found {
	return func(r *Report) Found {
		want := fmt.Sprintf("%d transactions", n)
		if !slices.Contains(r.Groups("time"), want) {
			return notMeasured("a history of " + want)
		}
		return find(r)
	}
}

// lastFactor is the factor at the last of the groups that are numbers of transactions.
func lastFactor(metric, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		for _, g := range slices.Backward(r.Groups(metric)) {
			if _, ok := behind(g, " transactions"); !ok {
				continue
			}
			if f, beyond, ok := r.factor(metric, g, base, series); ok && !beyond {
				return Found{f, false, r.place(g), ""}
			}
		}
		return notMeasured(series)
	}
}

// foundBy is 1 where a point of a case says "found".
func foundBy(series, group string) func(*Report) Found {
	return func(r *Report) Found {
		series, missed := strings.CutSuffix(series, " misses")
		p := r.Find("found", group, series)
		if p == nil {
			return notMeasured(group)
		}
		if (p.Value == 0) == missed {
			return Found{1, false, "1 of 1", ""}
		}
		return Found{0, false, "0 of 1", ""}
	}
}
