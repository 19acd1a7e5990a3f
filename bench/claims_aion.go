package bench

import (
	"fmt"
	"slices"
	"strings"
)

// aionSays are the claims of [CHRONOS] §VI and Appendix C on AION, by figure.
func aionSays() map[string][]Saying {
	const tps = "transactions a second"
	rate := func(says, metric string, number float64, series ...string) Saying {
		s := Saying{Says: says, Sense: AtLeast, Number: number, Roughly: true, Unit: tps,
			Find: valueOver(metric, ofSeries(series...), least)}
		if slices.ContainsFunc(series, func(s string) bool { return strings.Contains(s, "many keys") }) {
			s.Why = diskBound
		}
		return s
	}
	delay := func(mu, sigma string) string { return "N(" + mu + ", " + sigma + "²)" }
	flips := func(series string) []Saying {
		return []Saying{
			{Says: "the mean of the delays has a negligible impact on the flip-flops", Sense: AtMost, Number: 1,
				Roughly: true, Unit: spread,
				Find: steady("flips", among(delay("50", "10"), delay("100", "10"), delay("200", "10")), series)},
			{Says: "the deviation raises the flip-flops", Sense: AtLeast, Number: 1, Unit: all,
				Find: risesOver("flips", series, delay("100", "1"), delay("100", "10"), delay("100", "20"),
					delay("100", "50"))},
		}
	}
	rectified := func(series string) []Saying {
		return []Saying{{Says: "over 95 % of what is wrong is right within 10 ms, " + series, Sense: MoreThan,
			Number: 95, Unit: "%", Find: valueAt("rectified", "0.01", series), Why: "with a deviation of 10 ms two " +
				"transactions in the wrong order are some 11 ms apart in the mean: half of what is wrong lasts " +
				"longer, whatever checks it"},
			{Says: "about 3 % take about 1.5 s, probably the next batch, " + series, Sense: EqualTo, Number: 3,
				Unit: "% that take 0.5 to 2 s", Find: difference("rectified", series, "0.5", "2"),
				Why: "batches follow the order of the commits here, so that a version comes with the reader's " +
					"batch or before it"}}
	}
	say := map[string][]Saying{
		"aion/fig12": {
			rate("AION sustains about 12 K transactions a second with garbage collection (SI)", "rate", 12_000,
				"SI, watermark every 256"),
			rate("AION sustains about 18 K without garbage collection (SI)", "rate", 18_000,
				"SI, no garbage collection"),
			rate("AION sustains approximately 1.2 K where it collects all the time (SI)", "rate", 1200,
				"SI, watermark every 1"),
			rate("AION-SER sustains about 12 K with garbage collection", "rate", 12_000, aionSER),
			{Says: "garbage collection lowers the throughput (SI)", Sense: LessThan, Number: 1,
				Unit: "times that without", Find: meanOver("rate", "SI, no garbage collection",
					"SI, watermark every 256"),
				Why: "what is not collected stays in the lists that are looked at, and in the caches"},
			{Says: "with garbage collection the throughput is stable (SER)", Sense: AtMost, Number: 1, Roughly: true,
				Unit: spread, Find: steady("rate", anyGroup, aionSER),
				Why: "in the first fifth it gets faster, for its tables are made then"},
			outperforms("AION-SER outperforms Cobra", "rate", aionFenced, cobraDefault.String(),
				cobraPurdom.String(), cobraDense.String(), cobraRound[0].String(), cobraRound[1].String()),
			because(cobraBelow("rounds", cobraDefault, cobraRound[0], cobraRound[1]),
				"the first rounds, whose window is small, are faster; all together are not"),
			{Says: "Cobra's throughput remains stable over time with a fence after every 20", Sense: AtMost, Number: 1,
				Roughly: true, Unit: spread, Find: leastSteady("rounds", cobraDefault,
					cobraRound[0], cobraRound[1]), Why: windowGrows},
			{Says: "a round size of 2.4 K consistently delivers superior performance", Sense: AtLeast, Number: 1,
				Unit: all, Find: highest("mean", "comparisons", cobraDefault.String(), cobraRound[0].String(),
					cobraRound[1].String()), Why: "a round's choices are in the square of its writers of a key, " +
					"which a GPU's closure of a larger round does not outweigh here"},
			{Says: "with a fence between every two transactions Cobra has a peak of around 6 K", Sense: EqualTo,
				Number: 6000, Unit: tps, Find: valueOver("rounds", ofSeries(cobraDense.String()), most),
				Why: "the first rounds have few choices and take no time that a GPU could save"},
			{Says: "after which its throughput gradually declines", Sense: LessThan, Number: 1,
				Unit: "times the first rounds', in the last", Find: lastOfFirst("rounds", cobraDense.String()),
				Why: "its window stays as large as it is"},
		},
		"aion/fig13": {
			{Says: "29.8 % of the transactions flip", Sense: EqualTo, Number: 29.8, Unit: "%", Find: sum("flips", nil),
				Why: flipRate},
			{Says: "99 % of these once or twice", Sense: AtLeast, Number: 99, Unit: "%", Find: fewFlips("transactions"),
				Why: "of the transactions that flip, those that more others overtake flip more often, and the more " +
					"commit a second, the more do"},
		},
		"aion/fig14": flips("pairs"),
		"aion/fig16": {{Says: "AION holds between 400 and 700 MB for 100 K transactions, by collecting at a threshold",
			Sense: AtMost, Number: 700, Unit: "MB",
			Find: valueOver("memory", func(*Point) bool { return true }, most)}},
		"aion/online-rate": {
			rate("about 18 K transactions a second without garbage collection (SER)", "whole", 18_000, "SER, "+plenty),
			rate("about 12 K with it, at a threshold (SER)", "whole", 12_000, "SER, "+some),
			rate("roughly 3 K where no memory is free (SER)", "whole", 3000, "SER, "+little),
			rate("approximately 1.2 K where no memory is free (SI)", "whole", 1200, "SI, "+little,
				"SI, many keys, "+little),
			rate("similar results for SI: 18 K without garbage collection", "whole", 18_000, "SI, "+plenty,
				"SI, many keys, "+plenty),
			rate("similar results for SI: 12 K with it, at a threshold", "whole", 12_000, "SI, "+some,
				"SI, many keys, "+some),
			outperforms("AION-SER outperforms Cobra", "whole", "SER, "+some, cobraDefault.String(),
				cobraPurdom.String()),
			outperforms("AION-SER outperforms Cobra with a fence between every two transactions", "whole", "SER, "+some,
				cobraDense.String()),
			cobraBelow("whole", cobraDefault),
			{Says: "throughput decreases with garbage collection, and drops where no memory is free (SER)",
				Sense: AtLeast, Number: 1, Unit: all, Find: fallsOver("whole", "100", "SER, "+plenty, "SER, "+some,
					"SER, "+little), Why: "with a thousand keys what has to be kept fits into the least memory too"},
			{Says: "garbage collection has a greater impact on SI than on SER", Sense: LessThan, Number: 1,
				Unit: "times the share of the throughput that SER keeps", Find: keptShare,
				Why: "with a thousand keys, as they are here at both levels, little has to be kept; with a million " +
					"SI loses more than half"},
		},
		"aion/online-flips": flips("verdicts"),
		"aion/online-memory": {
			{Says: "AION holds at most 700 MB for 100 K transactions, by collecting at that threshold (here at " +
				"" + little +
				")", Sense: AtMost, Number: 700, Unit: "MB", Find: valueOver("memory", ofSeries(little), most)},
			{Says: "it completes them in about 310 seconds", Sense: AtMost, Number: 310, Roughly: true, Unit: "s",
				Find: without("they come at a rate here, which decides how long they take")},
		},
		"aion/online-datasets": append(datasetSays("SER", tps),
			because(outperforms("AION-SER outperforms Cobra on RUBiS", "whole", "RUBiS, "+some, "RUBiS, "+
				cobraDefault.String(), "RUBiS, "+cobraPurdom.String()), logsFirst),
			because(outperforms("AION-SER outperforms Cobra on Twitter", "whole", "Twitter, "+some, "Twitter, "+
				cobraDefault.String(), "Twitter, "+cobraPurdom.String()), logsFirst)),
		"aion/fig23": append(datasetSays("SI", tps), Saying{Says: "AION outperforms Cobra", Sense: MoreThan, Number: 1,
			Unit: "times as fast", Find: without("Cobra decides serializability alone: beside AION-SER it is in " +
				"aion/online-datasets")}),
		"aion/online-rectified": append(append(rectified(wholeBatches), rectified(eachDelayed)...), Saying{
			Says:  "a time-out above the latency of a batch mitigates what is wrong: of false alarms none is left",
			Sense: EqualTo, Number: 0, Unit: "false alarms", Find: sum("wrong", nil)}),
		"aion/overhead": {{Says: "collecting and transmitting the history costs roughly 5 % of the transactions a " +
			"second",
			Sense: AtMost, Number: 5, Roughly: true, Unit: "%", Find: meanOf("loss", toWatch),
			Why: "collecting runs on the two cores that the database and its clients use, and SQLite, in the program " +
				"itself, loses most; the paper's has machines of its own"}},
		"aion/fig17": {
			{Says: "at least 20 % of the transactions flip", Sense: AtLeast, Number: 20, Unit: "%",
				Find: valueOver("txns", func(*Point) bool { return true }, least), Why: flipDeviation},
			{Says: "at most 40 % of the transactions flip", Sense: AtMost, Number: 40, Unit: "%",
				Find: valueOver("txns", func(*Point) bool { return true }, most), Why: flipDeviation},
			{Says: "99 % of these once or twice", Sense: AtLeast, Number: 99, Unit: "%",
				Find: valueOver("few", func(*Point) bool { return true }, least), Why: "those " +
					"that meet more transactions in the wrong order flip more often"},
			{Says: "the mean of the delays has a negligible impact on how many transactions flip", Sense: AtMost,
				Number:  1,
				Roughly: true, Unit: spread, Find: steady("txns", among(delay("50", "10"),
					delay("100", "10"), delay("200", "10")), "transactions")},
			{Says: "the deviation greatly influences how many transactions flip", Sense: AtLeast, Number: 1, Unit: all,
				Find: risesOver("txns", "transactions", delay("100", "1"), delay("100", "10"), delay("100", "20"),
					delay("100", "50"))},
		},
		"aion/fig20": {{Says: "over 95 % of what is wrong is right within 10 ms", Sense: MoreThan, Number: 95,
			Unit: "%",
			Find: valueOver("rectified", func(p *Point) bool { return p.Group == "0.01" }, least),
			Why: "six runs share the cores here, and a batch's lines are read, judged and put right one after the " +
				"other; two at a time reach 95 %, in aion/online-rectified"}},
		"aion/fig25": {
			{Says: "AION-SER finds all violations that CHRONOS-SER finds", Sense: AtLeast, Number: 1,
				Unit: "times as many", Find: timesLast("violations", "chronos", "aion")},
			{Says: "AION-SER is about as fast as on histories without violations", Sense: AtLeast, Number: 1,
				Roughly: true, Unit: "times the throughput", Find: timesLast("rate", "serializable history",
					"snapshot-isolated history"), Why: "each of the violations, one for every few transactions, " +
					"is explained with the version that should have been read"},
		},
	}
	return say
}

const (
	flipRate = "the share follows from the rate of commits, which the paper does not state here, and is measured " +
		"at that of its Figure 16"
	windowGrows = "fewer transactions can be forgotten than come, and a round takes what the choices of all that are " +
		"left take"
	flipDeviation = "the share follows from the deviation and from the rate of commits, of which the paper states " +
		"one mean and deviation and no rate"
	logsFirst = "watch writes each line to its log on disk before it judges it, and Cobra reads a file into memory"
	diskBound = "a million keys, which an initial transaction writes, do not fit into 128 MiB, and are read from " +
		"and written to disk"
)

// datasetSays are the claims of Figures 12c, 12d (SER) and 23 (SI).
func datasetSays(name, tps string) []Saying {
	var out []Saying
	for _, c := range []struct {
		memory, how string
		number      float64
	}{{plenty, "18 K without garbage collection", 18_000}, {some, "12 K with it", 12_000},
		{little, noMemory[name], map[string]float64{"SER": 3000, "SI": 1200}[name]}} {
		out = append(out, Saying{Says: "similar results for both data sets: " + c.how + " (" + name + ")",
			Sense: AtLeast, Number: c.number, Roughly: true, Unit: tps,
			Find: valueOver("whole", ofSeries("RUBiS, "+c.memory, "Twitter, "+c.memory), least)})
	}
	return append(out,
		Saying{Says: "throughput is lower on Twitter than on RUBiS", Sense: LessThan, Number: 1, Unit: "times that " +
			"of RUBiS",
			Find: func(r *Report) Found {
				return ratioOf(r, "whole", "100", "RUBiS, "+plenty, "Twitter, "+plenty)
			}},
		Saying{Says: "Twitter has more keys than RUBiS", Sense: MoreThan, Number: 1, Unit: "times as many",
			Find: func(r *Report) Found {
				return ratioOf(r, "keys", "100", "RUBiS, "+plenty, "Twitter, "+plenty)
			}, Why: "a bid, a comment and an item of RUBiS is a key of its own here, as a tweet is: either workload " +
				"adds about as many"})
}

// noMemory is what the paper says of each level where no memory is free.
var noMemory = map[string]string{"SER": "3 K where no memory is free", "SI": "1.2 K where no memory is free"}

// meanOver is a series' mean over all groups over another's.
func meanOver(metric, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		a, b := meanOf(metric, base)(r), meanOf(metric, series)(r)
		if a.None != "" || b.None != "" || a.Value == 0 {
			return notMeasured(series)
		}
		return Found{b.Value / a.Value, false, fmt.Sprintf("(%s and %s)", number(b.Value), number(a.Value)), ""}
	}
}

// fallsOver is the share of steps from one series to the next at which the value of a group falls.
func fallsOver(metric, group string, series ...string) func(*Report) Found {
	return func(r *Report) Found {
		down, n, last := 0, 0, (*Point)(nil)
		for _, s := range series {
			p := r.Find(metric, group, s)
			if p == nil {
				continue
			}
			if last != nil {
				if n++; p.Value < last.Value {
					down++
				}
			}
			last = p
		}
		if n == 0 {
			return notMeasured(series[0])
		}
		return Found{float64(down) / float64(n), false, fmt.Sprintf("%d of %d steps", down, n), ""}
	}
}

// keptShare is the share of its throughput that SI keeps with garbage collection, over that of SER.
func keptShare(r *Report) Found {
	si := ratioOf(r, "whole", "100", "SI, "+plenty, "SI, "+some)
	ser := ratioOf(r, "whole", "100", "SER, "+plenty, "SER, "+some)
	if si.None != "" || ser.None != "" || ser.Value == 0 {
		return notMeasured("SI beside SER")
	}
	return Found{si.Value / ser.Value, false, fmt.Sprintf("(%s and %s)", number(si.Value), number(ser.Value)), ""}
}

// leastSteady is the ratio of the greatest to the least value of that of Cobra's lines that varies most.
func leastSteady(metric string, ways ...cobraWay) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(ways[0].String())
		for _, c := range ways {
			f := steady(metric, anyGroup, c.String())(r)
			if f.None == "" && (best.None != "" || f.Value > best.Value) {
				best = f
				best.At = c.String() + ", " + f.At
			}
		}
		return best
	}
}

// because gives a claim its reason.
func because(s Saying, why string) Saying {
	s.Why = why
	return s
}

// outperforms is a claim that one throughput is above others, wherever both are known.
func outperforms(says, metric, fast string, slow ...string) Saying {
	return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: "times as fast", Find: func(r *Report) Found {
		best := notMeasured(slow[0])
		for _, s := range slow {
			f := overSlower(metric, s, fast)(r)
			if f.None == "" && (best.None != "" || f.Value < best.Value) {
				best = f
				best.At = strings.TrimSpace("against " + s + " " + f.At)
			}
		}
		return best
	}}
}

// overSlower is the least factor between two throughputs, over all groups at which the slower one has a value or, where
// it was stopped, is below one; there the factor is a lower bound.
func overSlower(metric, slow, fast string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, g := range r.Groups(metric) {
			b := r.Find(metric, g, fast)
			v, below := 0.0, false
			if a := r.Find(metric, g, slow); a != nil {
				v = a.Value
			} else {
				v, below, _ = r.stopped(metric, g, slow)
			}
			if b == nil || v <= 0 {
				continue
			}
			if n++; n == 1 || b.Value/v < best.Value {
				best = Found{b.Value / v, below, r.place(g), ""}
			}
		}
		if n == 0 {
			return notMeasured(slow + " beside " + fast)
		}
		if n > 1 {
			best.At += fmt.Sprintf(", the least of %d", n)
		}
		return best
	}
}

// cobraBelow is that of Cobra's throughput with a fence after every 20 transactions.
func cobraBelow(metric string, ways ...cobraWay) Saying {
	var series []string
	for _, c := range ways {
		series = append(series, c.String())
	}
	return Saying{Says: "Cobra does not exceed 3 K with a fence after every 20", Sense: AtMost, Number: 3000,
		Unit: "transactions a second", Find: valueOver(metric, ofSeries(series...), most), Why: cobraForgets}
}

// highest is the share of groups at which a series is not below any of others that has a value there. Where it was
// stopped it is below those that have more than it can have.
func highest(metric, what, series string, others ...string) func(*Report) Found {
	return shareOf(metric, what, func(r *Report, g string) (yes, ok bool) {
		own := r.Find(metric, g, series)
		if own == nil {
			v, below, _ := r.stopped(metric, g, series)
			lower := below && slices.ContainsFunc(others, func(o string) bool {
				p := r.Find(metric, g, o)
				return p != nil && p.Value > v
			})
			return false, lower
		}
		yes = true
		for _, o := range others {
			if p := r.Find(metric, g, o); p != nil {
				yes, ok = yes && own.Value >= p.Value, true
			}
		}
		return yes, ok
	})
}

// lastOfFirst is a series' value at its last group over that at its first.
func lastOfFirst(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		var first, last *Point
		for _, g := range r.Groups(metric) {
			if p := r.Find(metric, g, series); p != nil {
				if last = p; first == nil {
					first = p
				}
			}
		}
		if first == last || first.Value == 0 {
			return notMeasured(series + " at two places")
		}
		return Found{Value: last.Value / first.Value, At: fmt.Sprintf("(%s %s and %s %s)", number(last.Value),
			r.place(last.Group), number(first.Value), r.place(first.Group))}
	}
}

// ratioOf is a series' value over another's.
func ratioOf(r *Report, metric, group, base, series string) Found {
	a, b := r.Find(metric, group, base), r.Find(metric, group, series)
	if a == nil || b == nil || a.Value == 0 {
		return notMeasured(series)
	}
	return Found{b.Value / a.Value, false, fmt.Sprintf("(%s and %s)", number(b.Value), number(a.Value)), ""}
}

// among keeps some groups.
func among(groups ...string) func(string) bool {
	return func(g string) bool { return slices.Contains(groups, g) }
}

// risesOver is the share of steps between groups at which a series rises.
func risesOver(metric, series string, groups ...string) func(*Report) Found {
	return func(r *Report) Found {
		up, n, last := 0, 0, (*Point)(nil)
		for _, g := range groups {
			p := r.Find(metric, g, series)
			if p == nil {
				continue
			}
			if last != nil {
				if n++; p.Value > last.Value {
					up++
				}
			}
			last = p
		}
		if n == 0 {
			return notMeasured(series)
		}
		return Found{float64(up) / float64(n), false, fmt.Sprintf("%d of %d steps", up, n), ""}
	}
}

// sum adds the points of a metric that are kept (nil: all).
func sum(metric string, keep func(p *Point) bool) func(*Report) Found {
	return func(r *Report) Found {
		total, n := 0.0, 0
		for i := range r.Points {
			if p := &r.Points[i]; p.Metric == metric && p.Decided() && (keep == nil || keep(p)) {
				total += p.Value
				n++
			}
		}
		if n == 0 {
			return notMeasured("this")
		}
		return Found{Value: total}
	}
}

// meanOf is the mean of a series over all groups.
func meanOf(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		total := sum(metric, ofSeries(series))(r)
		n := 0
		for _, g := range r.Groups(metric) {
			if r.Find(metric, g, series) != nil {
				n++
			}
		}
		if n == 0 {
			return total
		}
		return Found{total.Value / float64(n), false, fmt.Sprintf("in the mean of %d", n), ""}
	}
}

// difference is by how much a series rises from one group to another.
func difference(metric, series, from, to string) func(*Report) Found {
	return func(r *Report) Found {
		a, b := r.Find(metric, from, series), r.Find(metric, to, series)
		if a == nil || b == nil {
			return notMeasured(series)
		}
		return Found{Value: b.Value - a.Value}
	}
}

// fewFlips is the share of transactions that flip which do so once or twice.
func fewFlips(series string) func(*Report) Found {
	return func(r *Report) Found {
		few, total := 0.0, 0.0
		for _, g := range r.Groups("flips") {
			p := r.Find("flips", g, series)
			if p == nil {
				continue
			}
			if total += p.Value; strings.HasPrefix("12", g) || g == "2" {
				few += p.Value
			}
		}
		if total == 0 {
			return notMeasured("flips")
		}
		return Found{Value: 100 * few / total}
	}
}
