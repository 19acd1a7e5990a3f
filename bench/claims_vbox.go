package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// vboxSays are the claims of [Vbox] §1 and §5, by figure.
func vboxSays() map[string][]Saying {
	grows := func(says, metric string, times float64, why string) Saying {
		return Saying{Says: says, Sense: AtMost, Number: times, Unit: "times", Why: why,
			Find: between(metric, "vbox", "10000", "100000")}
	}
	orders := func(says string, rivals ...string) Saying {
		return Saying{Says: says, Sense: AtLeast, Number: 1000, Unit: "times as fast",
			Find: first(bySeries("time", "cdcl-closure, vbox", rivals)),
			Why: "after pruning hardly a constraint is left, so that either time is that of making the formula; " +
				"without pruning the factor is reached"}
	}
	table1 := []Saying{}
	for _, class := range []string{"RAT", "WAT", "IAT", "real-world"} {
		table1 = append(table1, Saying{Says: "Vbox detects all anomalies (" + class + ")", Sense: AtLeast, Number: 1,
			Unit: all, Find: foundAll(class, "vbox")})
	}
	table1 = append(table1,
		Saying{Says: "Cobra and BE detect the same anomalies", Sense: AtLeast, Number: 1, Unit: all,
			Find: cobraAsBE},
		Saying{Says: "Cobra misses some anomalies", Sense: MoreThan, Number: 0, Unit: "anomalies",
			Find: misses("cobra")},
		Saying{Says: "BE misses some anomalies", Sense: MoreThan, Number: 0, Unit: "anomalies", Find: misses("be")},
		Saying{Says: "Leopard misses some anomalies", Sense: MoreThan, Number: 0, Unit: "anomalies",
			Find: misses("leopard")},
		Saying{Says: "Leopard detects the fewest", Sense: AtLeast, Number: 1, Unit: all,
			Find: shareOf("found", "classes", func(r *Report, g string) (yes, ok bool) {
				own, ok := r.Find("found", g, "leopard"), true
				if own == nil {
					return false, false
				}
				yes = true
				for _, o := range []string{"vbox", "cobra", "be"} {
					if p := r.Find("found", g, o); p != nil {
						yes = yes && own.Value <= p.Value
					}
				}
				return yes, ok
			}), Why: "its mechanisms look at reads too here, the paper's for MySQL at writes only, and the others " +
				"find hardly more by the pass over single reads that all begin with"})
	return map[string][]Saying{
		"vbox/table1": table1,
		"vbox/fig6": besidePurdom([]Saying{
			{Says: "for 10 K transactions Vbox is 60 to 100 times as fast as Cobra", Sense: AtLeast, Number: 60,
				Unit: "times as fast", Find: timesLeast("time", "vbox", "cobra")},
			{Says: "for 10 K transactions Vbox takes 20 to 70 times less memory than Cobra", Sense: AtLeast, Number: 20,
				Unit: "times less memory", Find: timesLeast("memory", "vbox", "cobra"),
				Why: "Cobra's closure is a matrix of bits here, 12.5 MB for 10,000 transactions, and the program " +
					"with the history takes more than that whichever checker runs"},
			{Says: "on most workloads Vbox has the shortest time", Sense: MoreThan, Number: 0.5, Unit: all,
				Find: shortest("time", "workloads", "vbox", "cobra", "be", "leopard")},
			{Says: "Leopard's time is low, comparable to Vbox's", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times Vbox's", Find: timesMost("time", "vbox", "leopard"),
				Why: "the four mechanisms alone, which look at every operation's interval, take most of it"},
			{Says: "Leopard's memory is low, comparable to Vbox's", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times Vbox's", Find: timesMost("memory", "vbox", "leopard"),
				Why: "beside the history Leopard holds each key's versions with their intervals"},
			{Says: "BE times out (> 10 min) on all workloads", Sense: MoreThan, Number: 600_000, Unit: "ms",
				Find: leastKnown("time", "be"),
				Why: "on TPC-C, where transactions read what they overwrite, BE takes one step for each transaction " +
					"and undoes none"},
			{Says: "BE stores many intermediate states, which takes significant memory", Sense: MoreThan, Number: 1,
				Unit: "times Vbox's", Find: timesLeast("memory", "vbox", stoppedBE)},
			{Says: "solving contributes to Cobra's higher time, which the paper lays to an unsuitable solver: " +
				"encoding and solving, with one solver, on the histories of vbox/fig9 (memory: vbox/memory)",
				Sense: MoreThan, Number: 1, Unit: "times Vbox's", Find: in("vbox/fig9",
					leastBySeries("time", "cdcl-closure, cobra", "cdcl-closure, vbox")), noPurdom: true},
		}),
		"vbox/fig7": besidePurdom([]Saying{
			grows("from 10 K to 100 K transactions Vbox's time grows 13.4 times, nearly linearly", "time", 13.4, ""),
			grows("from 10 K to 100 K transactions Vbox's memory grows 9.5 times", "memory", 9.5, ""),
			{Says: "Vbox verifies 10 K transactions in 310 ms", Sense: AtMost, Number: 310, Unit: "ms",
				Find: valueAt("time", "10000", "vbox")},
			{Says: "Vbox verifies 100 K transactions in 4160 ms", Sense: AtMost, Number: 4160, Unit: "ms",
				Find: valueAt("time", "100000", "vbox")},
			{Says: "Vbox takes 44 MB for 10 K transactions", Sense: AtMost, Number: 44, Unit: "MB",
				Find: valueAt("memory", "10000", "vbox"), Why: "most of it is the program and what its collector " +
					"of garbage leaves, which do not grow with the history"},
			{Says: "Vbox takes 417 MB for 100 K transactions", Sense: AtMost, Number: 417, Unit: "MB",
				Find: valueAt("memory", "100000", "vbox")},
			{Says: "Leopard's time grows almost linearly", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growing("time", "", "leopard")},
			{Says: "Leopard's memory grows almost linearly", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growing("memory", "", "leopard")},
			{Says: "above 30,000 transactions Leopard takes longer than Vbox", Sense: MoreThan, Number: 1,
				Unit: "times as long", Find: extreme([]string{"time"}, above(30_000), "vbox", "leopard", 1)},
			{Says: "above 30,000 transactions Leopard takes longer than Vbox, by its mechanisms alone, as the " +
				"paper's is made", Sense: MoreThan, Number: 1, Unit: "times as long",
				Find: extreme([]string{"time"}, above(30_000), "vbox", aloneLeopard, 1),
				Why: "what looking for overlapping operations takes grows no faster here than the history, whatever " +
					"its size"},
			{Says: "up to 30,000 transactions Leopard takes no longer than Vbox", Sense: AtMost, Number: 1,
				Unit: "times as long", Find: extreme([]string{"time"}, upTo(30_000), "vbox", "leopard", -1),
				Why: "the mechanisms alone take longer than all of Vbox from the first size on"},
			{Says: "from 10 K to 30 K transactions Cobra's time grows from 20 s to 318 s, 15.9 times", Sense: AtLeast,
				Number: 15.9, Unit: "times", Find: between("time", "cobra", "10000", "30000")},
			{Says: "Cobra times out (> 10 min) over 40,000 transactions", Sense: MoreThan, Number: 600_000, Unit: "ms",
				Find: lateAbove("time", 40_000, "cobra")},
		}),
		"vbox/fig8a": {
			{Says: "Purdom+ is the fastest for all histories", Sense: AtLeast, Number: 1, Unit: all,
				Find: shortest("closure", "histories", "purdom+", "warshall", "purdom", "italiano", "italiano+"),
				Why:  "either takes some milliseconds here, and some known graphs have few edges to insert"},
			{Says: "Purdom+ is 3 to 17 times as fast as Purdom", Sense: AtLeast, Number: 3, Unit: "times as fast",
				Find: timesLeast("closure", "purdom+", "purdom"), Why: "either takes some milliseconds, " +
					"in which the words that Purdom merges are no longer than the bounds that Purdom+ sorts"},
			{Says: "the paper's Algorithm 1 is the fastest for all histories", Sense: AtLeast, Number: 1, Unit: all,
				Find: shortest("closure", "histories", "algorithm-1", "warshall", "purdom", "italiano", "italiano+"),
				Why:  "Purdom's rows are words of 64 bits here, and Algorithm 1's lists are sorted number by number"},
			{Says: "the paper's Algorithm 1 is 3 to 17 times as fast as Purdom", Sense: AtLeast, Number: 3,
				Unit: "times as fast", Find: timesLeast("closure", "algorithm-1", "purdom"),
				Why: "Purdom's rows are words of 64 bits here, and Algorithm 1's lists are sorted number by number"},
			{Says: "Italiano+ outperforms Purdom", Sense: MoreThan, Number: 1, Unit: "times as fast",
				Find: timesLeast("closure", "italiano+", "purdom")},
			{Says: "Warshall times out (> 10 min) for all histories", Sense: MoreThan, Number: 600_000, Unit: "ms",
				Find: valueOver("closure", ofSeries("warshall"), least), Why: matrixWords},
		},
		"vbox/fig8b": {
			{Says: "of those that the paper compares (Warshall, Italiano, Italiano+) Vbox has the shortest " +
				"verification " +
				"time with Italiano+", Sense: AtLeast, Number: 1, Unit: all, Find: shortest("time", "workloads",
				"Italiano+, by edges", "Warshall, anew each round", "Italiano, by edges")},
		},
		"vbox/memory": {
			{Says: "Vbox takes 20 to 70 times less memory than Cobra: of the most that is in use after a stage",
				Sense: AtLeast, Number: 20, Unit: "times less memory",
				Find: timesLeast("most", compactClosure, "cobra"),
				Why:  "what either makes of the history before there is a closure takes more than the compact one"},
			{Says: "compared with a matrix the compact closure reduces memory significantly", Sense: MoreThan,
				Number: 1, Unit: "times less memory", Find: timesLeast("growth", compactClosure, fullClosure)},
			{Says: "the compact closure's space is linear, in what of it has to be kept", Sense: AtMost, Number: 1,
				Roughly: true, Unit: "times the growth of the size", Find: growing("growth", "", compactClosure)},
			{Says: "a matrix's space grows with the square of the transactions", Sense: AtLeast, Number: 1,
				Roughly: true, Unit: "times the growth of the size, squared", Find: squared("growth", fullClosure)},
			{Says: "solving contributes to Cobra's higher memory, which the paper lays to an unsuitable solver: of " +
				"what encoding and solving allocate", Sense: MoreThan, Number: 1, Unit: "times Vbox's",
				Find: timesLeast("solver", compactClosure, "cobra")},
		},
		"vbox/table2": {
			{Says: "Vbox reduces item constraints further than Cobra", Sense: AtLeast, Number: 1, Unit: all,
				Find: shortest("constraints", "histories", "left by vbox", "left by cobra")},
			{Says: "Cobra reduces a great number of item constraints: by a factor of 12.4 at BlindW-WH, the least",
				Sense: AtLeast, Number: 12.4, Unit: "times fewer",
				Find: timesLeast("constraints", "left by cobra", "total")},
			{Says: "Vbox reduces a great number of item constraints: by a factor of 4,920 at BlindW-WH, the least",
				Sense: AtLeast, Number: 4920, Unit: "times fewer",
				Find: timesLeast("constraints", "left by vbox", "total"), Why: leftTogether},
			{Says: "Vbox leaves fewer than Cobra by a factor of 34.3 at C-Twitter, the least", Sense: AtLeast,
				Number: 34.3, Unit: "times fewer", Find: timesLeast("constraints", "left by vbox", "left by cobra"),
				Why: leftTogether},
		},
		"vbox/fig9": {
			orders("VboxSAT is 3 to 4 orders of magnitude faster than MiniSat (on the transitive encoding; gini where "+
				"there is no MiniSat)", "external:minisat", "gini-eager"),
			orders("VboxSAT is 3 to 4 orders of magnitude faster than MonoSAT (Eq. 4)", "external:monosat, cobra"),
			{Says: "VboxSAT significantly reduces the number of formulas: of clauses against MiniSat's",
				Sense:  LessThan,
				Number: 1, Unit: "times as many", Find: clausesOf("cdcl-closure, vbox", "gini-eager")},
			{Says: "and against those that describe the mutual exclusivity of edge sets to MonoSAT (Eq. 4)",
				Sense: LessThan, Number: 1, Unit: "times as many", Find: clausesOf("cdcl-closure, vbox",
					"cdcl-closure, cobra")},
		},
	}
}

const (
	leftTogether = "what times leave open are pairs of transactions that ran at once: with 24 sessions, as here, " +
		"more than with few, and the paper does not say how many its histories have"
	matrixWords = "Warshall's algorithm works on 64 pairs at once here, on rows of bits, and passes over pairs that " +
		"are not connected, where three plain loops over bytes take more than 50 times as long; its time is cubic " +
		"all the same"
)

// between is by how much a series grows from one group to another.
func between(metric, series, from, to string) func(*Report) Found {
	return func(r *Report) Found {
		a := r.Find(metric, from, series)
		v, beyond, ok := r.timed(metric, to, series)
		if a == nil || a.Value == 0 || !ok {
			return notMeasured(series + " at " + from + " and at " + to)
		}
		return Found{v / a.Value, beyond, fmt.Sprintf("(%s and %s)", number(a.Value), number(v)), ""}
	}
}

// above keeps groups that are numbers above a bound, upTo the others.
func above(bound float64) func(string) bool {
	return func(g string) bool {
		v, err := strconv.ParseFloat(g, 64)
		return err == nil && v > bound
	}
}

func upTo(bound float64) func(string) bool {
	return func(g string) bool {
		v, err := strconv.ParseFloat(g, 64)
		return err == nil && v <= bound
	}
}

// first is the first of several findings that is one.
func first(of []func(*Report) Found) func(*Report) Found {
	return func(r *Report) (f Found) {
		for _, find := range of {
			if f = find(r); f.None == "" {
				break
			}
		}
		return f
	}
}

// clausesOf is how many clauses one encoding has over another's, at the most over all instances.
func clausesOf(ours, other string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series("clauses") {
			a, b := r.Find("clauses", ours, s), r.Find("clauses", other, s)
			if a == nil || b == nil || b.Value == 0 {
				continue
			}
			if n++; n == 1 || a.Value/b.Value > best.Value {
				best = Found{a.Value / b.Value, false, fmt.Sprintf("(%s and %s, %s)", number(a.Value),
					number(b.Value), s), ""}
			}
		}
		if n == 0 {
			return notMeasured(other)
		}
		return best
	}
}

// bySeries is, for each of some rivals, the least factor between two groups over all series, where the groups are what
// is compared.
func bySeries(metric, fast string, rivals []string) (out []func(*Report) Found) {
	for _, slow := range rivals {
		out = append(out, leastBySeries(metric, slow, fast))
	}
	return out
}

func leastBySeries(metric, slow, fast string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series(metric) {
			a, b := r.Find(metric, fast, s), (*Point)(nil)
			if a == nil || a.Value == 0 {
				continue
			}
			v, beyond, ok := r.timed(metric, slow, s)
			if b = r.Find(metric, slow, s); !ok && b == nil {
				continue
			}
			if n++; n == 1 || v/a.Value < best.Value {
				best = Found{v / a.Value, beyond, slow + ", " + s, ""}
			}
		}
		if n == 0 {
			return notMeasured(slow)
		}
		if n > 1 {
			best.At += fmt.Sprintf(", the least of %d", n)
		}
		return best
	}
}

// foundOf reads "11/13".
func foundOf(p *Point) (found, of float64, ok bool) {
	a, b, cut := strings.Cut(p.Text, "/")
	found, err := strconv.ParseFloat(a, 64)
	of, err2 := strconv.ParseFloat(b, 64)
	return found, of, cut && err == nil && err2 == nil && of > 0
}

// foundAll is the share of a class's anomalies that a checker finds.
func foundAll(class, checker string) func(*Report) Found {
	return func(r *Report) Found {
		if p := r.Find("found", class, checker); p != nil {
			if found, of, ok := foundOf(p); ok {
				return Found{found / of, false, fmt.Sprintf("%.0f of %.0f", found, of), ""}
			}
		}
		return notMeasured(class)
	}
}

// misses is how many anomalies a checker does not find, of all classes.
func misses(checker string) func(*Report) Found {
	return func(r *Report) Found {
		found, of, ok := 0.0, 0.0, false
		for _, g := range r.Groups("found") {
			if p := r.Find("found", g, checker); p != nil {
				if x, n, is := foundOf(p); is {
					found, of, ok = found+x, of+n, true
				}
			}
		}
		if !ok {
			return notMeasured(checker)
		}
		return Found{of - found, false, fmt.Sprintf("of %.0f", of), ""}
	}
}

// leastKnown is the least value of a series; where none came to an end the least that one is beyond.
func leastKnown(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(series)
		for i := range r.Points {
			p := &r.Points[i]
			if p.Metric != metric || p.Series != series {
				continue
			}
			v, beyond := p.Value, false
			if !p.Decided() {
				bound, below, ok := r.bound(p)
				if !ok || below {
					continue
				}
				v, beyond = bound, true
			}
			if best.None != "" || best.Beyond && !beyond || best.Beyond == beyond && v < best.Value {
				best = Found{v, beyond, r.place(p.Group), ""}
			}
		}
		return best
	}
}

// lateAbove is a series' value at the first size above a bound, or where it was stopped before: it was not asked again.
func lateAbove(metric string, size float64, series string) func(*Report) Found {
	return func(r *Report) Found {
		for _, g := range r.Groups(metric) {
			n, ok := numberIn(g, "")
			v, beyond, there := r.timed(metric, g, series)
			if ok && there && (n > size || beyond) {
				return Found{v, beyond, r.place(g), ""}
			}
		}
		return notMeasured(fmt.Sprintf("%s above %s transactions", series, number(size)))
	}
}

// bcSays are the claims of [BCGraphs] §1 and §5, by figure.
func bcSays() map[string][]Saying {
	return map[string][]Saying{
		"bc/fig1": {
			{Says: "BC-graphs outperform the baseline on every history", Sense: MoreThan, Number: 1,
				Unit: "times as fast", Find: timesLeast("time", "bc", "adya-si-full")},
			{Says: "BC-graphs outperform the baseline by 114 times on a mid-sized history (90 s of Jepsen's running)",
				Sense: AtLeast, Number: 114, Unit: "times as fast", Find: timesLast("time", "bc", "adya-si-full")},
			{Says: "the time with BC-graphs grows linearly", Sense: AtMost, Number: 1, Roughly: true,
				Unit: "times the growth of the size", Find: growing("time", "", "bc")},
			{Says: "the baseline's time grows exponentially: each doubling of the size multiplies it by more than " +
				"the one before", Sense: MoreThan, Number: 1, Unit: "times the first factor, in the last doubling",
				Find: steepening("time", "adya-si-full"), Why: "the store's graphs have small components: there " +
					"the baseline's time is that of its start dependencies, which are quadratic; where one " +
					"transaction is open throughout it is exponential (bc/fig2)"},
		},
		"bc/fig2": {
			{Says: "BC-graphs outperform the optimized baseline on every history", Sense: MoreThan, Number: 1,
				Unit: "times as fast", Find: timesLeast("solving", "bc", "adya-si")},
			{Says: "on the largest history solving takes 160 ms against 1.31 s", Sense: AtLeast, Number: 8.19,
				Unit: "times as fast", Find: timesLast("solving", "bc", "adya-si"),
				Why: "on the store's histories no component needs a search for cycles, and the factor is that of the " +
					"graphs' sizes, the same at every size; where one transaction is open throughout it is beyond " +
					"a thousand"},
			{Says: "finding all cycles by depth-first search takes exponential time: as many transactions more " +
				"multiply it by as much each time", Sense: AtLeast, Number: 1, Roughly: true,
				Unit: "times the first factor, in the last step", Find: steepening("long", "adya-si")},
			{Says: "the time of building the graphs dominates for the large histories", Sense: MoreThan, Number: 1,
				Unit: "times the solving", Find: building},
		},
	}
}

// steepening compares the factors of the last and of the first step at which a series has values.
func steepening(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		var is []float64
		for _, g := range r.Groups(metric) {
			if p := r.Find(metric, g, series); p != nil && p.Value > 0 {
				is = append(is, p.Value)
			}
		}
		n := len(is)
		if n < 3 {
			return notMeasured(series + " at three sizes")
		}
		first, last := is[1]/is[0], is[n-1]/is[n-2]
		return Found{last / first, false, fmt.Sprintf("(%s and %s times)", number(last), number(first)), ""}
	}
}
