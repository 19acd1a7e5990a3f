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
					"that an operation's interval is mostly waiting for one of them"},
			{Says: "skew raises the overlap on PostgreSQL", Sense: AtLeast, Number: 1, Unit: all,
				Find: rising("overlap", "skew ", postgres)},
			{Says: "threads raise the overlap on PostgreSQL", Sense: AtLeast, Number: 1, Unit: all,
				Find: steps("overlap", " threads", postgres, func(a, b float64) bool { return b >= a })},
			{Says: "skew and threads are the major factors, reads and writes are not, in memory", Sense: MoreThan,
				Number: 1, Unit: "times the spread by reads and writes", Find: majorFactors(store),
				Why: "on two cores, without a " +
					"network, the operations of eight clients overlap nearly as much as those of more"},
			{Says: "skew and threads are the major factors, reads and writes are not, on PostgreSQL", Sense: MoreThan,
				Number: 1, Unit: "times the spread by reads and writes", Find: majorFactors(postgres)},
		},
		"leopard/fig9": {
			pipeline("the pipeline dispatches faster than sorting all traces in one heap", "time", "one heap", ""),
			pipeline("it dispatches faster than without its optimization", "time", "without batches", ""),
			pipeline("it takes less memory than one heap", "buffered", "one heap", "on SmallBank the traces "+
				"are few, and batches for 24 clients hold most of them"),
			pipeline("it takes less memory than without its optimization", "buffered", "without batches",
				"what a batch gains in time it holds in memory: without batches a client waits until its trace is "+
					"taken"),
			{Says: "one heap takes a similar maximal memory as the pipeline without its optimization", Sense: EqualTo,
				Number: 1, Unit: "times as much", Find: byWorkload("buffered", "without batches, ", "one heap, "),
				Why: "without batches a client waits here until its trace is taken"},
			{Says: "one heap has the worst dispatching time", Sense: MoreThan, Number: 1, Unit: "times as long as " +
				"without the optimization", Find: byWorkload("time", "without batches, ", "one heap, ")},
			{Says: "BlindW-RW+ has the most traces", Sense: AtLeast, Number: 1, Unit: all,
				Find: mostOfWorkloads("buffered", "one heap"), Why: "a transaction of TPC-C has as many or more"},
			{Says: "BlindW-RW+ has the longest dispatching time", Sense: AtLeast, Number: 1, Unit: all,
				Find: mostOfWorkloads("time", "two-level pipeline"), Why: "what counts is the number of traces, " +
					"and a transaction of TPC-C has as many or more"},
			{Says: "above 700,000 transactions one heap takes too long", Sense: MoreThan, Number: 1, Unit: "times",
				Find: without("the paper does not say how long that is")},
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
			{Says: "Leopard significantly outperforms the naive approach, which builds the graph and searches it for " +
				"cycles", Sense: MoreThan, Number: 1, Unit: "times as fast",
				Find: timesLeast("time", "leopard", "graph and cycle search"),
				Why:  "the runs of the two differ by more than the search takes on short histories"},
			{Says: "and the time that the DBMS itself takes", Sense: MoreThan, Number: 1, Unit: "times as fast",
				Find: without("these histories are the store's; beside databases Leopard is in leopard/fig11")},
		},
		"leopard/fig11": {
			{Says: "Leopard's throughput is above the databases', but for TPC-C on OceanBase", Sense: MoreThan,
				Number: 1,
				Unit:   "times the database's", Find: throughput},
			{Says: "for TPC-C on OceanBase with low contention it is below the database's", Sense: LessThan, Number: 1,
				Unit: "times the database's", Find: without("there is no OceanBase here")},
		},
		"leopard/fig12": {
			{Says: "the ratio of uncertain dependencies, whose intervals overlap, is below 10⁻³", Sense: LessThan,
				Number: 0.1, Unit: "%", Find: valueOver("overlap", always, most),
				Why: "on two cores, which the clients share with the server, intervals are long (leopard/fig3)"},
			{Says: "in BlindW-W and BlindW-RW these dependencies are deduced well: none is left", Sense: EqualTo,
				Number: 0, Unit: "% left",
				Find: valueOver("left", func(p *Point) bool { return strings.HasPrefix(p.Group, "BlindW") }, most),
				Why: "the few that are left are between writes whose intervals overlap and that nobody reads in " +
					"between"},
			{Says: "some of TPC-C and SmallBank are not deduced", Sense: MoreThan, Number: 0, Unit: "% left",
				Find: valueOver("left", func(p *Point) bool { return !strings.HasPrefix(p.Group, "BlindW") }, least),
				Why: "the paper's repeat values, and write parts of rows; here each write has a value of its own and " +
					"a row is one object"},
		},
		"leopard/fig13": besidePurdom([]Saying{
			{Says: "Leopard is 114 times as fast as Cobra at 20,000 transactions", Sense: AtLeast, Number: 114,
				Unit: "times as fast", Find: timesAt("time", "20000 transactions", "leopard", "cobra"),
				Why: cobraForgets},
			{Says: "Leopard is 271 times as fast as Cobra with 32 threads, 20,000 transactions", Sense: AtLeast,
				Number: 271, Unit: "times as fast", Find: atSize(20_000, timesAt("time", "32 threads", "leopard",
					"cobra")),
				Why: cobraForgets},
			{Says: "Leopard's time grows linearly", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growingBy("time", " transactions", "leopard"),
				Why: "caches hold the smallest history and not the largest, for what has no mechanisms too"},
			{Says: "Cobra without garbage collection grows super-linearly", Sense: MoreThan, Number: 1 + tenth,
				Unit: "times the growth of the size", Find: growingBy("time", " transactions", "cobra without GC")},
			{Says: "Cobra with garbage collection takes longer than without", Sense: MoreThan, Number: 1,
				Unit: "times as long", Find: extreme([]string{"time"}, endsWith(" transactions"), "cobra without GC",
					"cobra",
					1), Why: cobraForgets},
			{Says: "Cobra without garbage collection takes the most memory, by transactions and by threads",
				Sense: AtLeast, Number: 1, Unit: all, Find: mostMemory("cobra without GC", "cobra", "leopard")},
			{Says: "Leopard takes almost the same memory as Cobra for many transactions", Sense: EqualTo, Number: 1,
				Unit: "times Cobra's", Find: lastFactor("memory", "cobra", "leopard"),
				Why: "what the mechanisms keep takes less than the polygraph of what Cobra has left"},
			{Says: "Leopard scales better with the transactions than Cobra", Sense: MoreThan, Number: 1,
				Unit: "times Leopard's growth", Find: growsMore("time", " transactions", "leopard", "cobra")},
			{Says: "Leopard scales better with the threads than Cobra, whose time is uncontrollable with many",
				Sense: MoreThan, Number: 1, Unit: "times Leopard's growth",
				Find: growsMore("time", " threads", "leopard", "cobra")},
			{Says: "Leopard's memory is stable", Sense: AtMost, Number: 1, Roughly: true,
				Unit: spread, Find: steady("memory", anyGroup, "leopard"),
				Why: "the history is read into memory before it is verified; the mechanisms' own memory does not " +
					"grow (docs/checkers/leopard.md)"},
		}),
		"leopard/elle": {
			{Says: "Leopard finds bugs that Elle cannot find: an inconsistent read that closes no cycle",
				Sense:  AtLeast,
				Number: 1, Unit: all, Find: foundBy("leopard", "inconsistent read")},
			{Says: "Elle does not find it", Sense: AtLeast, Number: 1, Unit: all,
				Find: foundBy("elle-register misses", "inconsistent read")},
			{Says: "Leopard discovers 23 bugs in several databases", Sense: AtLeast, Number: 23, Unit: "bugs",
				Find: without("those releases of those databases are not to be had here")},
		},
	}
}

const cobraForgets = "cobra-rounds forgets by a rule of its own (docs/checkers/cobra-rounds.md), and rounds over " +
	"what is left cost less than one over all, where the paper's spends its time on finding out what it may forget"

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

// mostOfWorkloads is the share of sizes at which BlindW-RW+ has more than the other workloads.
func mostOfWorkloads(metric, kind string) func(*Report) Found {
	return shareOf(metric, "sizes", func(r *Report, g string) (yes, ok bool) {
		own := r.Find(metric, g, kind+", BlindW-RW+")
		if own == nil {
			return false, false
		}
		for _, w := range []string{"SmallBank", "TPC-C"} {
			if p := r.Find(metric, g, kind+", "+w); p != nil && p.Value > own.Value {
				return false, true
			}
		}
		return true, true
	})
}

// majorFactors is how much more the overlap varies by skew and by threads, whichever is less, than by the kind of
// operations.
func majorFactors(series string) func(*Report) Found {
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
			fmt.Sprintf("(by skew %s times, by threads %s, "+
				"by kind %s)", number(skew.Value), number(threads.Value), number(kinds.Value)), ""}
	}
}

// endsWith keeps groups by their ending.
func endsWith(with string) func(string) bool {
	return func(g string) bool { return strings.HasSuffix(g, with) }
}

// mostMemory is the share of groups at which a series takes no less memory than others.
func mostMemory(series string, others ...string) func(*Report) Found {
	return shareOf("memory", "runs", func(r *Report, g string) (yes, ok bool) {
		own := r.Find("memory", g, series)
		if own == nil {
			return false, false
		}
		yes = true
		for _, o := range others {
			if p := r.Find("memory", g, o); p != nil {
				ok = true
				yes = yes && own.Value >= p.Value
			}
		}
		return yes, ok
	})
}

// growsMore is by how much more the second series grows than the first over groups with an ending.
func growsMore(metric, ending, a, b string) func(*Report) Found {
	return func(r *Report) Found {
		var first, last string
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, ending); ok && r.Find(metric, g, a) != nil && r.Find(metric, g, b) != nil {
				if first == "" {
					first = g
				}
				last = g
			}
		}
		if first == last {
			return notMeasured(b + " beside " + a + " at two sizes")
		}
		x := r.Find(metric, last, a).Value / r.Find(metric, first, a).Value
		y := r.Find(metric, last, b).Value / r.Find(metric, first, b).Value
		return Found{y / x, false, fmt.Sprintf("from %s to %s: %s and %s times as much", first, last, number(y),
			number(x)), ""}
	}
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
			return Found{1, false, "1 of 1 histories", ""}
		}
		return Found{0, false, "0 of 1 histories", ""}
	}
}
