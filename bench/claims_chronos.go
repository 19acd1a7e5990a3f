package bench

import (
	"fmt"
	"slices"
)

// chronosSays are the claims of [CHRONOS] §V and Appendix C, by figure.
func chronosSays() map[string][]Saying {
	faster := func(says, fast, slow string) Saying {
		return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: "times as fast",
			Find: timesLeast("time", fast, slow), Why: quickBlackBox}
	}
	linear := func(says, metric, prefix, series, why string) Saying {
		return Saying{Says: says, Sense: AtMost, Number: 1, Roughly: true, Unit: "times the growth of the size",
			Find: growing(metric, prefix, series), Why: why}
	}
	steep := func(says, series string) Saying {
		return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: "times the growth of the size",
			Find: growing("time", "", series), Why: quickBlackBox}
	}
	stable := func(says, metric string, prefixes ...string) Saying {
		return Saying{Says: says, Sense: AtMost, Number: 1, Roughly: true, Unit: "times, the greatest to the least",
			Find: steady(metric, startsWith(prefixes...), "chronos"),
			Why: "by parameter the runs differ in how many operations write, and in how many keys the cache has " +
				"to hold"}
	}
	more := func(says, rival string) Saying {
		return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: "times as much memory",
			Find: extreme([]string{"memory"}, startsWith("#txns"), "chronos", rival, 1),
			Why:  "below some 10,000 transactions either process holds little but the program itself, some 30 MB"}
	}
	return map[string][]Saying{
		"chronos/fig4": {
			faster("CHRONOS significantly outperforms PolySI", "chronos", "polysi"),
			faster("CHRONOS significantly outperforms Viper", "chronos", "viper"),
			faster("ElleKV significantly outperforms PolySI", "elle-register", "polysi"),
			faster("ElleKV significantly outperforms Viper", "elle-register", "viper"),
			faster("Emme-SI significantly outperforms PolySI", "emme-si", "polysi"),
			faster("Emme-SI significantly outperforms Viper", "emme-si", "viper"),
			steep("PolySI grows super-linearly", "polysi"), steep("Viper grows super-linearly", "viper"),
		},
		"chronos/fig5a": {
			{Says: "CHRONOS checks 100 K transactions within 2 seconds", Sense: AtMost, Number: 2000, Unit: "ms",
				Find: valueAt("time", "100000", "chronos")},
			{Says: "Emme-SI is suboptimal, for it builds the start-ordered serialization graph of the whole history: " +
				"CHRONOS is faster", Sense: MoreThan, Number: 1, Unit: "times as fast",
				Find: timesLeast("time", "chronos", "emme-si")},
			{Says: "CHRONOS is about 10.5 times as fast as ElleKV", Sense: AtLeast, Number: 10.5, Roughly: true,
				Unit: "times as fast", Find: timesLast("time", "chronos", "elle-register")},
			linear("ElleKV grows almost linearly", "time", "", "elle-register", "its search for cycles meets one "+
				"large "+
				"component: the store's transactions of 15 operations on 1,000 keys all depend on each other"),
			{Says: "CHRONOS grows much more slowly than ElleKV", Sense: MoreThan, Number: 1, Unit: "times the growth",
				Find: slower("chronos", "elle-register"), Why: growthAlike},
		},
		"chronos/fig5b": {
			{Says: "CHRONOS is about 7.4 times as fast as ElleList", Sense: AtLeast, Number: 7.4, Roughly: true,
				Unit: "times as fast", Find: timesLast("time", "chronos", "elle"),
				Why: "isovet's Elle reads the orders of lists off in one pass and sorts a graph of integers by " +
					"strongly connected components, in the same language and on the same tables as CHRONOS, and " +
					"grows as slowly"},
			{Says: "CHRONOS checks 10 K transactions on lists in about one second", Sense: AtMost, Number: 1000,
				Roughly: true, Unit: "ms", Find: valueAt("time", "10000", "chronos")},
			linear("ElleList grows almost linearly", "time", "", "elle", "caches hold the smallest history and not "+
				"the "+
				"largest"),
			{Says: "CHRONOS grows much more slowly than ElleList", Sense: MoreThan, Number: 1, Unit: "times the growth",
				Find: slower("chronos", "elle"), Why: growthAlike},
		},
		"chronos/fig6": {
			linear("the runtime grows almost linearly with the transactions", "time", "#txns", "chronos", fromCache),
			linear("the runtime grows almost linearly with the operations a transaction", "time", "#ops/txn", "chronos",
				fromCache),
			stable("the runtime is stable whatever the sessions", "time", "#sess"),
			stable("the runtime is stable whatever the keys", "time", "#keys"),
			stable("the runtime is stable whatever the share of reads", "time", "#reads"),
			stable("the runtime is stable whatever the distribution", "time", "dist"),
			{Says: "CHRONOS checks a million transactions in about 17 seconds", Sense: AtMost, Number: 17_000,
				Roughly: true, Unit: "ms", Find: valueAt("time", "#txns 1000000", "chronos")},
		},
		"chronos/fig7": {
			linear("memory grows linearly with the transactions", "memory", "#txns", "chronos", ""),
			linear("memory grows linearly with the operations a transaction", "memory", "#ops/txn", "chronos", ""),
			stable("memory is stable whatever the sessions", "memory", "#sess"),
			stable("memory is stable whatever the keys", "memory", "#keys"),
			stable("memory is stable whatever the distribution", "memory", "dist"),
			{Says: "a million transactions take about 13 GB", Sense: AtMost, Number: 13_000, Roughly: true, Unit: "MB",
				Find: valueAt("memory", "#txns 1000000", "chronos")},
			more("PolySI requires significantly more memory", "polysi"),
			more("Viper requires significantly more memory", "viper"),
			more("Emme-SI requires significantly more memory", "emme-si"),
			more("ElleKV consumes more memory", "elle-register"),
		},
		"chronos/fig8": {
			{Says: "loading takes the most time", Sense: MoreThan, Number: 1, Unit: "times the stage after it in " +
				"length",
				Find: longestStage("loading", "sorting", "checking")},
			{Says: "sorting is negligible (a tenth of all, or less)", Sense: AtMost, Number: 10, Unit: "% of all",
				Find: stageShare("sorting"), Why: "loading and checking take so little time here that a radix sort " +
					"of the " +
					"timestamps is more than a tenth of all three"},
			linear("loading grows almost linearly with the transactions", "time", "", "loading", ""),
			linear("checking grows almost linearly with the transactions", "time", "", "checking", fromCache),
		},
		"chronos/fig9": {
			{Says: "frequent collections make collecting the longest stage", Sense: MoreThan, Number: 1,
				Unit: "times the longest other stage", Find: collecting,
				Why: "Go's collector marks beside the other stages and has little to look at, for a history is a " +
					"few arrays without pointers"},
			{Says: "collecting takes less time the less frequent it is", Sense: AtLeast, Number: 1, Unit: all,
				Find: falling("time", "garbage collecting"), Why: "so little is collected that the differences are " +
					"those between runs"},
		},
		"chronos/fig10": {
			{Says: "memory peaks during the loading", Sense: LessThan, Number: 1,
				Unit: "times the highest before its end, afterwards", Find: afterLoading(slices.Max[[]float64]),
				Why: noneRecycled},
			{Says: "memory decreases sharply before the checking", Sense: LessThan, Number: 1,
				Unit: "times the peak of the loading, at the least", Find: afterLoading(slices.Min[[]float64]),
				Why: noneRecycled},
			{Says: "in the end less is held than at the end of loading", Sense: LessThan, Number: 1,
				Unit: "times the peak of the loading, at the end",
				Find: afterLoading(func(x []float64) float64 { return x[len(x)-1] }),
				Why:  noneRecycled},
		},
		"chronos/fig11": {
			{Says: "the history satisfies SI under black-box checking", Sense: EqualTo, Number: 0, Unit: "violations",
				Find: valueAt("verdict", "Figure 11", "replay")},
			{Says: "it violates SI under timestamp-based checking", Sense: EqualTo, Number: 1, Unit: "violation",
				Find: valueAt("verdict", "Figure 11", "chronos")},
		},
		"chronos/fig24": {
			{Says: "CHRONOS handles any workload, TPC-C included", Sense: AtLeast, Number: 1, Unit: all,
				Find: shareOf("time", "workloads", func(r *Report, g string) (yes, ok bool) {
					return r.Find("time", g, "checking") != nil, true
				})},
		},
	}
}

const (
	noneRecycled = "the history is no garbage when it is loaded, and stays in memory while it is checked"

	quickBlackBox = "isovet's black-box checkers decide these histories by one candidate order and search little, " +
		"and " +
		"share the reader and the tables with CHRONOS"
	growthAlike = "both are near-linear here: either's time a transaction is the same at all sizes but for what " +
		"caches hold"
	fromCache = "the smallest history fits into the processor's caches and the largest does not: per operation the " +
		"time rises with the size of the table of keys' versions"
)

// slower is by how much more the second series grows than the first, from the first size that both have to the last.
func slower(a, b string) func(*Report) Found {
	return func(r *Report) Found {
		var first, last string
		for _, g := range r.Groups("time") {
			if r.Find("time", g, a) != nil && r.Find("time", g, b) != nil {
				if first == "" {
					first = g
				}
				last = g
			}
		}
		if first == last {
			return notMeasured(b + " beside " + a + " at two sizes")
		}
		x := r.Find("time", last, a).Value / r.Find("time", first, a).Value
		y := r.Find("time", last, b).Value / r.Find("time", first, b).Value
		return Found{y / x, false, fmt.Sprintf("from %s to %s transactions: %s and %s times as much", first, last,
			number(y), number(x)), ""}
	}
}

// longestStage is by how much a stage is longer than the longest of others at the last group.
func longestStage(stage string, others ...string) func(*Report) Found {
	return func(r *Report) Found {
		best := Found{None: stage + " is not among what was run"}
		for _, g := range r.Groups("time") {
			own, other := r.Find("time", g, stage), 0.0
			for _, o := range others {
				if p := r.Find("time", g, o); p != nil {
					other = max(other, p.Value)
				}
			}
			if own != nil && other > 0 && (best.None != "" || own.Value/other < best.Value) {
				best = Found{own.Value / other, false, r.place(g), ""}
			}
		}
		return best
	}
}

// stageShare is the share of loading, sorting and checking that a stage takes, in percent, at most.
func stageShare(stage string) func(*Report) Found {
	return func(r *Report) Found {
		best := Found{None: stage + " is not among what was run"}
		for _, g := range r.Groups("time") {
			whole := 0.0
			for _, s := range []string{"loading", "sorting", "checking"} {
				if p := r.Find("time", g, s); p != nil {
					whole += p.Value
				}
			}
			if p := r.Find("time", g,
				stage); p != nil && whole > 0 && (best.None != "" || p.Value/whole > best.Value/100) {
				best = Found{100 * p.Value / whole, false, r.place(g), ""}
			}
		}
		return best
	}
}

// collecting is by how much collecting is longer than any other stage where it is most frequent.
func collecting(r *Report) Found {
	groups := r.Groups("time")
	if len(groups) == 0 {
		return notMeasured("this")
	}
	own, other := r.Find("time", groups[0], "garbage collecting"), 0.0
	for _, s := range []string{"loading", "checking"} {
		if p := r.Find("time", groups[0], s); p != nil {
			other = max(other, p.Value)
		}
	}
	if own == nil || other == 0 {
		return notMeasured("garbage collecting")
	}
	return Found{own.Value / other, false, r.place(groups[0]), ""}
}

// falling is the share of steps from one group to the next at which a series does not rise.
func falling(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		var is []float64
		for _, g := range r.Groups(metric) {
			if p := r.Find(metric, g, series); p != nil {
				is = append(is, p.Value)
			}
		}
		if len(is) < 2 {
			return notMeasured(series)
		}
		down := 0
		for i := range is[1:] {
			if is[i+1] <= is[i] {
				down++
			}
		}
		return Found{float64(down) / float64(len(is)-1), false, fmt.Sprintf("%d of %d steps", down, len(is)-1), ""}
	}
}

// afterLoading compares the memory held after the loading with the greatest held during it.
func afterLoading(pick func([]float64) float64) func(*Report) Found {
	return func(r *Report) Found {
		end := r.Find("loaded", "all", "chronos")
		if end == nil {
			return notMeasured("when loading ended")
		}
		var during, after []float64
		for _, g := range r.Groups("memory") {
			p, percent := r.Find("memory", g, "chronos"), 0.0
			if _, err := fmt.Sscan(g, &percent); err != nil || p == nil {
				continue
			}
			if percent <= end.Value {
				during = append(during, p.Value)
			} else {
				after = append(after, p.Value)
			}
		}
		if len(during) == 0 || len(after) == 0 {
			return notMeasured("memory before and after loading")
		}
		return Found{pick(after) / slices.Max(during), false, fmt.Sprintf("(%s of %s MB; loading ends at %s %%)",
			number(pick(after)), number(slices.Max(during)), number(end.Value)), ""}
	}
}
