package bench

import (
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
		return Saying{Says: says, Sense: MoreThan, Number: 1 + tenth, Unit: "times the growth of the size",
			Find: growing("time", "", series), Why: quickBlackBox}
	}
	stableOf := func(says, metric, series string, prefixes ...string) Saying {
		return Saying{Says: says, Sense: AtMost, Number: 1, Roughly: true, Unit: spread,
			Find: steady(metric, startsWith(prefixes...), series),
			Why: "by parameter the runs differ in how many operations write, and in how many keys the cache has " +
				"to hold"}
	}
	stable := func(says, metric string, prefixes ...string) Saying {
		return stableOf(says, metric, "chronos", prefixes...)
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
			linear("ElleKV grows almost linearly", "time", "", "elle-register", "the "+
				"caches hold the smallest history and not the largest; its search meets no cycle"),
			{Says: "CHRONOS grows much more slowly than ElleKV", Sense: MoreThan, Number: 1,
				Unit: "times CHRONOS's growth", Find: slower("chronos", "elle-register"), Why: growthAlike},
		},
		"chronos/fig5b": {
			{Says: "CHRONOS is about 7.4 times as fast as ElleList", Sense: AtLeast, Number: 7.4, Roughly: true,
				Unit: "times as fast", Find: timesLast("time", "chronos", "elle"),
				Why: "isovet's Elle reads the orders of lists off in one pass and sorts a graph of integers by " +
					"strongly connected components, in the same language and on the same tables as CHRONOS"},
			{Says: "CHRONOS checks 10 K transactions on lists in about one second", Sense: AtMost, Number: 1000,
				Roughly: true, Unit: "ms", Find: valueAt("time", "10000", "chronos")},
			linear("ElleList grows almost linearly", "time", "", "elle", "caches hold the smallest history and not "+
				"the "+
				"largest"),
			{Says: "CHRONOS grows much more slowly than ElleList", Sense: MoreThan, Number: 1,
				Unit: "times CHRONOS's growth", Find: slower("chronos", "elle"), Why: growthAlike},
		},
		"chronos/fig6": {
			linear("the runtime grows almost linearly with the transactions", "time", "#txns", neverCollected,
				fromCache),
			linear("the runtime grows almost linearly with the operations a transaction", "time", "#ops/txn",
				neverCollected, fromCache),
			because(stableOf("the runtime is stable whatever the sessions", "time", neverCollected, "#sess"),
				fewSessions),
			stableOf("the runtime is stable whatever the keys", "time", neverCollected, "#keys"),
			stableOf("the runtime is stable whatever the share of reads", "time", neverCollected, "#reads"),
			stableOf("the runtime is stable whatever the distribution", "time", neverCollected, "dist"),
			{Says: "CHRONOS checks a million transactions in about 17 seconds", Sense: AtMost, Number: 17_000,
				Roughly: true, Unit: "ms", Find: valueAt("time", "#txns 1000000", "chronos")},
			{Says: "PolySI takes several hours, and Viper struggles", Sense: MoreThan, Number: 1, Unit: "hours",
				Find: without("the rivals are in chronos/fig4 and chronos/fig7")},
			{Says: "the more frequently the collector is called, the longer CHRONOS takes", Sense: AtLeast, Number: 1,
				Unit: all, Find: collectedLonger, Why: "a collection has so little to look at that few of them make " +
					"no more difference than there is between runs"},
			{Says: "collected as often, the runtime grows linearly with the operations a transaction", Sense: AtMost,
				Number: 1, Roughly: true, Unit: "times the growth of the size", Find: growingCollected("#ops/txn"),
				Why: fromCache},
			{Says: "but more than linearly with the transactions", Sense: MoreThan, Number: 1 + tenth,
				Unit: "times the growth of the size", Find: growingCollected("#txns"), Why: "collections are as many " +
					"as the transactions make them, and each looks at a few arrays without pointers, however long " +
					"these are"},
		},
		"chronos/fig7": {
			linear("memory grows linearly with the transactions", "memory", "#txns", "chronos", ""),
			linear("memory grows linearly with the operations a transaction", "memory", "#ops/txn", "chronos", ""),
			stable("memory is stable whatever the sessions", "memory", "#sess"),
			stable("memory is stable whatever the keys", "memory", "#keys"),
			because(stable("memory is stable whatever the share of reads", "memory", "#reads"), moreVersions),
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
				Find: stageShare("sorting", anyGroup), Why: "of five operations a transaction there is so little to " +
					"load and to check that a radix sort of the timestamps is more than a tenth; of more it is less"},
			linear("loading grows almost linearly with the transactions", "time", "#txns", "loading", ""),
			linear("checking grows almost linearly with the transactions", "time", "#txns", "checking", fromCache),
			linear("loading grows almost linearly with the operations a transaction", "time", "#ops/txn", "loading",
				""),
			linear("checking grows almost linearly with the operations a transaction", "time", "#ops/txn", "checking",
				fromCache),
			because(stableOf("loading is stable whatever the sessions", "time", "loading", "#sess"), sameDiffers),
			because(stableOf("checking is stable whatever the sessions", "time", "checking", "#sess"), "it rises from "+
				"step to step: the more sessions, the more transactions commit between one's start and its commit"),
			because(stableOf("loading is stable whatever the keys", "time", "loading", "#keys"), sameDiffers),
			because(stableOf("checking is stable whatever the keys", "time", "checking", "#keys"), sameDiffers),
			because(stableOf("loading is stable whatever the share of reads", "time", "loading", "#reads"),
				moreVersions),
			stableOf("checking is stable whatever the share of reads", "time", "checking", "#reads"),
			because(stableOf("loading is stable whatever the distribution", "time", "loading", "dist"), sameDiffers),
			because(stableOf("checking is stable whatever the distribution", "time", "checking", "dist"), sameDiffers),
		},
		"chronos/fig9": {
			{Says: "frequent collections make collecting the longest stage", Sense: MoreThan, Number: 1,
				Unit: "times the longest other stage", Find: collecting,
				Why: "Go's collector marks beside the other stages and has little to look at, for a history is a " +
					"few arrays without pointers"},
			{Says: "collecting takes less time the less frequent it is, linearly", Sense: EqualTo, Number: 1,
				Unit: "times the decrease of the collections", Find: perCollection, Why: "most of the frequent " +
					"collections come while the history is small, and the last has all of it to look at"},
			{Says: "the more frequent the collections, the less each of them releases (of Figure 10; loading " +
				"included)", Sense: AtLeast,
				Number: 1, Unit: all, Find: rising("released", "", "a collection")},
			{Says: "and the longer the whole run (of Figure 10)", Sense: AtLeast, Number: 1, Unit: all,
				Find: falling("time", wholeRun), Why: "so little is collected that the differences are those between " +
					"runs"},
		},
		"chronos/fig10": {
			{Says: "memory increases steadily while the history is loaded", Sense: AtLeast, Number: 1, Unit: all,
				Find: risingUntilLoaded, Why: "a collection while it is loaded gives memory back"},
			{Says: "while it is checked memory rises and falls with each collection, and gradually decreases",
				Sense: LessThan, Number: 1, Unit: "times", Find: without("it is known at each tenth of the run alone")},
			{Says: "memory peaks during the loading", Sense: LessThan, Number: 1,
				Unit: "times its greatest while loading, after it", Find: afterLoading(slices.Max[[]float64],
					slices.Max[[]float64]),
				Why: noneRecycled},
			{Says: "memory decreases sharply before the checking", Sense: LessThan, Number: 1,
				Unit: "times what is held when loading ends, at the least afterwards",
				Find: afterLoading(slices.Min[[]float64], lastOf),
				Why:  noneRecycled},
			{Says: "in the end less is held than at the end of loading", Sense: LessThan, Number: 1,
				Unit: "times what is held when loading ends, at the end of the run",
				Find: afterLoading(lastOf, lastOf),
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
		"and share the tables with CHRONOS"
	growthAlike = "both are near-linear here: either's time a transaction is the same at all sizes but for what " +
		"caches hold"
	sameDiffers  = "the default workload's own runs, of which each parameter has one, differ by nearly as much"
	moreVersions = "each write makes a version, which is kept, and a read makes none"

	fewSessions = "with ten sessions few transactions lie between one's start and its commit, and what is looked " +
		"at at the one is in the cache at the other"
	fromCache = "the smallest history fits into the processor's caches and the largest does not: per operation the " +
		"time rises with the size of the table of keys' versions"
)
