package bench

import (
	"fmt"
	"strings"
)

func chronosReasons() []reasons {
	alike := func(rival string) showing {
		return allShown(shown("CHRONOS", growing("time", "", "chronos"), AtMost, 2, "times the growth of the size"),
			shown(rival, growing("time", "", rival), AtMost, 2, "times the growth of the size"))
	}
	atLast := func(rival string) showing {
		return shown("with the most transactions", timesLast("memory", "chronos", rival), MoreThan, 1,
			"times as much memory")
	}
	const first = "N(100, 10²)"
	share := func(g string, sense Sense, n float64) showing {
		return shown("with "+g, valueAt("txns", g, "transactions"), sense, n, "%")
	}
	return []reasons{
		{figure: "chronos/fig5a", says: "more slowly", shown: alike("elle-register")},
		{figure: "chronos/fig5b", says: "more slowly", shown: alike("elle")},
		{figure: "chronos/fig5b", says: "7.4 times", shown: shown("the factor's greatest is",
			factors("time", anyGroup, "chronos", "elle"), AtMost, 4, "times its least")},
		{figure: "chronos/fig5b", says: "ElleList grows", shown: shown("CHRONOS, which looks at each operation once",
			growing("time", "", "chronos"), MoreThan, 1.1, "times the growth of the size")},
		{figure: "chronos/fig9", says: "the longer the whole", shown: shown("of all three stages collecting is at most",
			shareOfStages("garbage collecting"), AtMost, 60, "%")},
		{figure: "chronos/fig6", says: "share of reads", test: "TestReadShares"},
		{figure: "chronos/fig8", says: "loading is stable whatever the sessions", shown: sameHistory("time", "#sess",
			"loading")},
		{figure: "chronos/fig8", says: "loading is stable whatever the keys", shown: sameHistory("time", "#keys",
			"loading")},
		{figure: "chronos/fig8", says: "loading is stable whatever the distribution", shown: sameHistory("time", "dist",
			"loading")},
		{figure: "chronos/fig8", says: "checking is stable whatever the keys", shown: sameHistory("time", "#keys",
			"checking")},
		{figure: "chronos/fig8", says: "checking is stable whatever the distribution", shown: sameHistory("time",
			"dist",
			"checking")},
		{figure: "chronos/fig8", says: "checking is stable whatever the share of reads", test: "TestReadShares"},
		{figure: "chronos/fig7", says: "share of reads", shown: shown("with 10 % reads, against 90 %",
			ratioGroups("memory", "#reads 10 %", "#reads 90 %", "chronos"), AtLeast, 1.05, "times as much")},
		{figure: "chronos/fig8", says: "loading is stable whatever the share", shown: shown(
			"with 10 % reads, against 90 %", ratioGroups("time", "#reads 10 %", "#reads 90 %", "loading"), AtLeast, 1.1,
			"times as long")},
		{figure: "chronos/fig8", says: "checking is stable whatever the sessions", shown: shown("it rises in",
			rising("time", "#sess", "checking"), AtLeast, 1, all)},
		{figure: "chronos/fig8", says: "sorting", shown: shown("of more, at the most", stageShare("sorting",
			func(g string) bool { return g != "#ops/txn 5" }), AtMost, 10, "%")},
		{figure: "chronos/fig8", says: "checking grows almost linearly with the transactions", shown: shown(
			"in the last step", lastGrowth("time", "#txns", "checking"), AtMost, 1.1, "times the growth of the size")},
		{figure: "chronos/fig6", says: "grows almost linearly with the transactions", shown: shown("in the last step",
			lastGrowth("time", "#txns", neverCollected), AtMost, 1.1, "times the growth of the size")},
		{figure: "chronos/fig6", says: "whatever the sessions", shown: shown("from twenty on", steady("time",
			among("#sess 20", "#sess 50", "#sess 100", "#sess 200"), neverCollected), AtMost, 1.1,
			spread)},
		{figure: "chronos/fig6", says: "more frequently", shown: shown("with the most collections, against none",
			collectedMost, AtLeast, 1, all)},
		{figure: "chronos/fig6", says: "more than linearly", shown: shown("what one takes with the most transactions",
			aCollection, AtMost, 1.5, "times what it takes with the fewest")},
		{figure: "chronos/fig7", says: "PolySI requires", shown: atLast("polysi")},
		{figure: "chronos/fig7", says: "Viper requires", shown: atLast("viper")},
		{figure: "chronos/fig7", says: "Emme-SI requires", shown: atLast("emme-si")},
		{figure: "chronos/fig7", says: "ElleKV consumes", shown: atLast("elle-register")},
		{figure: "chronos/fig9", says: "longest stage", shown: allShown(
			shown("of the heap has pointers, at the most", valueOver("scanned", anyPoint, most), AtMost, 20, "%"),
			shown("collections where most frequent", ratioFirstLast("cycles", "collections"), AtLeast, 5,
				"times those where least"))},
		{figure: "chronos/fig9", says: "the less frequent", shown: shown("of all three stages, at the most",
			shareOfStages("garbage collecting"), AtMost, 60, "%")},
		{figure: "chronos/fig10", says: "peaks during the loading", shown: stillHeld},
		{figure: "chronos/fig10", says: "decreases sharply", shown: stillHeld},
		{figure: "chronos/fig10", says: "in the end less", shown: stillHeld},
		{figure: "aion/fig12", says: "the throughput is stable", shown: shown("after it", steady("rate", among("30",
			"40",
			"50", "60", "70", "80", "90", "100"), aionSER), AtMost, 1.1, spread)},
		{figure: "aion/fig12", says: "does not exceed 3 K", shown: shown("all rounds together",
			valueAt("mean", "100", cobraDefault.String()), AtMost, 3000, tpsUnit)},
		{figure: "aion/fig12", says: "remains stable", shown: shown("the window's last",
			lastOfFirst("window", cobraDefault.String()), AtLeast, 2, "times its first")},
		{figure: "aion/fig12", says: "a peak of around 6 K", shown: shown("its slowest rounds",
			valueOver("rounds", ofSeries(cobraDense.String()), least), AtMost, 6000, tpsUnit)},
		{figure: "aion/fig13", says: "29.8 %", shown: allShown(
			shown("at 250 a second", valueAt("byrate", "250", "transactions that flip"), EqualTo, 29.8, "%"),
			shown("at 100", valueAt("byrate", "100", "transactions that flip"), AtMost, 20, "%"))},
		{figure: "aion/fig13", says: "once or twice", shown: shown("it falls with the rate",
			risesOver("byrate", "of these once or twice", fmt.Sprint(paperRate), "250", "100"), AtLeast, 1, all)},
		{figure: "aion/fig17", says: "at least 20 %", shown: share(first, AtLeast, 20)},
		{figure: "aion/fig17", says: "at most 40 %", shown: share(first, AtMost, 40)},
		{figure: "aion/fig17", says: "once or twice", shown: shown("it falls with the deviation",
			risesOver("few", "transactions", "N(100, 50²)", "N(100, 20²)", first, "N(100, 1²)"), AtLeast, 1, all)},
		{figure: "aion/fig20", says: "within 10 ms", test: "TestTwoAtATime"},
		{figure: "aion/fig23", says: "more keys", shown: shown("Twitter's", func(r *Report) Found {
			return ratioOf(r, "keys", "100", "RUBiS, "+plenty, "Twitter, "+plenty)
		}, AtLeast, 0.9, "times RUBiS's")},
		{figure: "aion/online-datasets", says: "more keys", shown: shown("Twitter's", func(r *Report) Found {
			return ratioOf(r, "keys", "100", "RUBiS, "+plenty, "Twitter, "+plenty)
		}, AtLeast, 0.9, "times RUBiS's")},
		{figure: "aion/online-rate", says: "greater impact", shown: shown("with a million keys SI keeps",
			ratioAt("whole", "100", "SI, many keys, "+plenty, "SI, many keys, "+some), AtMost, 0.5,
			"times its throughput")},
		{figure: "aion/fig25", says: "about as fast", shown: func(r *Report) (string, bool) {
			groups := r.Groups("violations")
			if len(groups) == 0 {
				return "", false
			}
			g := groups[len(groups)-1]
			p := r.Find("violations", g, "aion")
			n, ok := numberIn(g, "")
			if p == nil || !ok || p.Value == 0 {
				return "", false
			}
			return "one for " + number(sixDigits(n/p.Value)) + " transactions", n/p.Value <= 10
		}},
		{figure: "aion/online-rate", says: "similar results for SI: 12 K", shown: allShown(
			shown("with 1,000 keys", valueOver("whole", ofSeries("SI, "+some), least), AtLeast, 12_000, "a second"),
			shown("with memory for the million", valueOver("whole", ofSeries("SI, many keys, "+plenty), least), AtLeast,
				12_000, "a second"))},
		{figure: "aion/online-rectified", says: "about 3 %", test: "TestWritersBatches"},
		{figure: "aion/online-rectified", says: "each after its delay", test: "TestDelaysApart"},
		{figure: "aion/online-rectified", says: "1.5 s, probably the next batch, each", test: "TestWritersBatches"},
		{figure: "aion/overhead", says: "roughly 5 %", shown: func(r *Report) (string, bool) {
			mean := func(db string) float64 {
				total, n := 0.0, 0
				for _, g := range r.Groups("loss") {
					if p := r.Find("loss", g, toWatch); p != nil && strings.HasPrefix(g, db) {
						total, n = total+p.Value, n+1
					}
				}
				return total / float64(max(n, 1))
			}
			lite, pg := mean("SQLite"), mean("PostgreSQL")
			return fmt.Sprintf("SQLite %s %%, PostgreSQL %s %%", number(sixDigits(lite)), number(sixDigits(pg))),
				lite > pg
		}},
	}
}
