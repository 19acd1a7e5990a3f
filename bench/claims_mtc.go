package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mtcSays are the claims of [MTC] §V and Appendices C and D, by figure.
func mtcSays() map[string][]Saying {
	panels := []string{"dist", "objects", "sessions", "txns"}
	faster := func(says string, metrics []string, number float64, roughly bool, fast, slow, why string) Saying {
		sense := AtLeast
		if number == 1 {
			sense = MoreThan
		}
		return Saying{Says: says, Sense: sense, Number: number, Roughly: roughly, Unit: "times as fast",
			Find: extreme(metrics, anyGroup, fast, slow, 1), Why: why}
	}
	stable := func(says, metric, series, why string) Saying {
		return Saying{Says: says, Sense: AtMost, Number: 1, Roughly: true, Unit: spread,
			Find: steady(metric, anyGroup, series), Why: why}
	}
	const short = "it takes some milliseconds at most, and the runs differ by as much from one to the next"
	return map[string][]Saying{
		"mtc/fig7": besidePurdom([]Saying{
			faster("MTC-SER consistently outperforms Cobra (without a GPU)", panels, 1, false, "mtc", "cobra", ""),
			{Says: "MTC-SER consistently outperforms Cobra on a GPU, which takes about as long", Sense: MoreThan,
				Number: 1,
				Unit:   "times as fast", Find: without("there is no GPU here"), noPurdom: true},
			{Says: "MTC-SER is about 5 times as fast as Cobra on Zipfian objects", Sense: AtLeast, Number: 5,
				Roughly: true, Unit: "times as fast", Find: timesAt("dist", "zipf", "mtc", "cobra")},
			stable("MTC-SER is stable whatever the skew", "objects", "mtc", short),
			{Says: "Cobra's time increases exponentially with fewer objects", Sense: MoreThan, Number: 1,
				Unit: "times the decrease of the objects", Find: fewer("objects", "cobra"),
				Why: "in mini-transactions each write follows a read of its object, so that Cobra's chains leave no " +
					"constraint to decide: its time is that of the closure, whatever the objects"},
			stable("MTC-SER is stable whatever the sessions", "sessions", "mtc", short),
			stable("Cobra is stable whatever the sessions", "sessions", "cobra",
				"fewer sessions are longer chains, on which the closure's rows fill earlier"),
			faster("MTC-SER is around 2 times as fast as Cobra whatever the sessions", []string{"sessions"}, 2, true,
				"mtc", "cobra", ""),
			{Says: "Cobra's time escalates faster with the transactions", Sense: MoreThan, Number: 1,
				Unit: "times the growth of MTC-SER", Find: outgrows("txns", "mtc", "cobra")},
		}),
		"mtc/fig8": {
			faster("MTC-SI outperforms PolySI across workloads", panels, 1, false, "mtc", "polysi", ""),
			{Says: "MTC-SI is approximately 1600 times as fast as PolySI on Zipfian objects", Sense: AtLeast,
				Number: 1600, Roughly: true, Unit: "times as fast", Find: timesAt("dist", "zipf", "mtc", "polysi"),
				Why: polysiHere},
			{Says: "up to 93 times as fast as the transactions become more", Sense: AtLeast, Number: 93,
				Unit: "times as fast", Find: timesMost("txns", "mtc", "polysi"), Why: polysiHere},
			{Says: "MTC-SI gains significantly more over PolySI than MTC-SER over Cobra (mtc/fig7)", Sense: MoreThan,
				Number: 1, Unit: "times the gain over Cobra", Find: overCobra(panels), Why: "Cobra has no constraint " +
					"to decide on mini-transactions, and its time is that of its first closure, which is Warshall's " +
					"and cubic"},
		},
		"mtc/fig9": {
			faster("MTC-SSER outperforms Porcupine across concurrency levels", []string{"concurrency", "txns"}, 1,
				false,
				"lwt", "porcupine", ""),
			{Says: "MTC-SSER is 28 times as fast as Porcupine where all clients execute at once", Sense: AtLeast,
				Number: 28, Unit: "times as fast", Find: timesAt("concurrency", "100", "lwt", "porcupine")},
			stable("MTC-SSER is stable as the sessions become more", "concurrency", "lwt", short),
		},
		"mtc/fig10": besidePurdom(append(endToEndSays("Cobra", "MT, mtc", "GT, cobra"),
			Saying{Says: "verification is up to three orders of magnitude faster than with Cobra without a GPU",
				Sense: AtLeast, Number: 1000, Unit: "times as fast",
				Find: timesMost("time", "MT, mtc"+inPostgres, "GT, cobra"+inPostgres),
				Why: "Cobra's time grows faster than MTC's: the factor rises with the transactions, and has not " +
					"reached 1,000 at the most of them"},
			Saying{Says: "up to two orders of magnitude faster than with Cobra on a GPU", Sense: AtLeast, Number: 100,
				Unit: "times as fast", Find: without("there is no GPU here"), noPurdom: true},
			Saying{Says: "Cobra's other parts take longer than its solver", Sense: MoreThan, Number: 1,
				Unit: "times the solver", Find: timesLeast("parts", "solver"+inPostgres, "all else"+inPostgres)},
			Saying{Says: "up to 14 times less memory than Cobra without a GPU", Sense: AtLeast, Number: 14,
				Unit: "times less memory", Find: timesMost("memory", "MT, mtc"+inPostgres, "GT, cobra"+inPostgres),
				Why: "either is mostly the program itself, which is the same, and Cobra's matrix is one of bits"},
			Saying{Says: "up to 30 times less memory than Cobra on a GPU", Sense: AtLeast, Number: 30,
				Unit: "times less memory", Find: without("there is no GPU here"), noPurdom: true})),
		"mtc/fig17": endToEndSays("PolySI", "MT, mtc", "GT, polysi"),
		"mtc/fig11": {
			{Says: "general transactions abort more than mini-transactions", Sense: AtLeast, Number: 1, Unit: all,
				Find: abortsMore(inPostgres)},
			{Says: "with a few sessions nearly half of the general transactions abort", Sense: AtLeast, Number: 50,
				Roughly: true, Unit: "%", Find: gtMost("sessions", "5", inPostgres), Why: "more than four in ten " +
					"abort from ten sessions on; how many do depends on the objects, whose number the paper does not " +
					"give"},
			{Says: "with more sessions more abort", Sense: AtLeast, Number: 1, Unit: all, Find: gtRises("sessions")},
			{Says: "general transactions are sensitive to skew: with more of them an object more abort", Sense: AtLeast,
				Number: 1, Unit: all, Find: gtRises("skew")},
			{Says: "with 20 transactions an object over 60 % of the general transactions abort", Sense: MoreThan,
				Number: 60, Unit: "%", Find: gtMost("skew", "20", inPostgres), Why: "how many abort depends on the " +
					"sessions and on the objects, whose numbers the paper does not give: ten here, and a twentieth " +
					"of the transactions"},
			{Says: "mini-transactions are robust against more sessions: their rate varies by less than general ones'",
				Sense: LessThan, Number: 1, Unit: "times as much", Find: varies("sessions")},
			{Says: "and against skew", Sense: LessThan, Number: 1, Unit: "times as much", Find: varies("skew")},
		},
		"mtc/fig13": {
			{Says: "MTC detects bugs in more trials than Elle with registers", Sense: AtLeast, Number: 1, Unit: all,
				Find: moreTrials("wr, elle-register"), Why: "transactions of two operations commit faster " +
					"than mini-transactions of four"},
			{Says: "MTC detects bugs in nearly as many trials as Elle's best with lists (32 against 35)",
				Sense:  AtLeast,
				Number: 32.0 / 35, Unit: "times as many", Find: trialsOfBest("append, elle"),
				Why: "of lists of two operations most trials find one, and take less time"},
			{Says: "Elle is sensitive to the transactions' sizes", Sense: MoreThan, Number: 1,
				Unit: "times the worst size's, at the best", Find: sizeMatters},
			{Says: "on MongoDB MTC is highly competitive with Elle", Sense: AtLeast, Number: 1, Unit: "times as many",
				Find: without("there is no MongoDB here")},
		},
		"mtc/fig14": {
			{Says: "MTC outperforms Elle in generation", Sense: AtLeast, Number: 1, Unit: all,
				Find: trialsFaster("generation"), Why: "Elle's transactions of two operations are shorter than " +
					"mini-transactions of up to four, and commit sooner"},
			{Says: "MTC outperforms Elle in verification", Sense: AtLeast, Number: 1, Unit: all,
				Find: trialsFaster("time"), Why: elleWords},
			{Says: "on PostgreSQL MTC generates up to 3.5 times as fast as registers of 8 operations", Sense: AtLeast,
				Number: 3.5, Unit: "times as fast", Find: trialsPostgres("generation")},
			{Says: "and verifies up to 15 times as fast", Sense: AtLeast, Number: 15, Unit: "times as fast",
				Find: trialsPostgres("time"), Why: elleWords},
		},
		"mtc/table2": {
			{Says: "mini-transactions expose bugs of six releases of five databases: planted faults of the same kinds",
				Sense: AtLeast, Number: 1, Unit: all, Find: bugsFound(true)},
			{Says: "mini-transactions expose bugs: kinds found in databases that are to be had here", Sense: AtLeast,
				Number: 1, Unit: all, Find: bugsFound(false), Why: "between PostgreSQL and its standby a long fork " +
					"needs two readers within the milliseconds of the standby's lag, which did not happen"},
			{Says: "verification is instant: below 1 s but for the long fork", Sense: LessThan, Number: 1000,
				Unit: "ms",
				Find: valueOver("time", func(p *Point) bool { return !isLongFork(p) }, most)},
			{Says: "and below 2 s for that", Sense: LessThan, Number: 2000, Unit: "ms",
				Find: valueOver("time", isLongFork, most)},
		},
	}
}

const elleWords = "isovet's Elle is in the same language and on the same tables, and takes some milliseconds at most"

const polysiHere = "PolySI here is in the same language and on the same tables, its closure without rows that " +
	"others imply; its time grows with the square of the transactions"

// endToEndSays are what the paper says of both Figures 10 and 17.
func endToEndSays(rival, mt, gt string) []Saying {
	least := func(says, metric, unit string) Saying {
		return Saying{Says: says, Sense: MoreThan, Number: 1, Unit: unit,
			Find: extreme([]string{metric}, anyGroup, mt+inPostgres, gt+inPostgres, 1)}
	}
	return []Saying{
		least("mini-transactions are consistently generated faster than general ones", "generation", "times as fast"),
		least("MTC consistently verifies them faster than "+rival+" general ones", "time", "times as fast"),
		least("MTC consistently takes less memory than "+rival, "memory", "times less memory"),
		{Says: "generation gains the more the more operations a transaction has", Sense: MoreThan, Number: 1,
			Unit: "times the gain of 4 operations at 16",
			Find: gains(mt, gt, "GT of 4 operations", "GT of 16 operations")},
		{Says: "generation gains the more the more transactions there are", Sense: MoreThan, Number: 1,
			Unit: "times the gain of the fewest", Find: gainsBy(mt, gt, " transactions", false),
			Why: "a general transaction takes no longer to generate where there are more of them"},
		{Says: "generation gains the more the fewer objects there are", Sense: MoreThan, Number: 1,
			Unit: "times the gain of the most", Find: gainsBy(mt, gt, " objects", true)},
	}
}

// gains compares the gain in generation at one group with that at another.
func gains(mt, gt, from, to string) func(*Report) Found {
	return func(r *Report) Found {
		a, _, ok := r.factor("generation", from, mt+inPostgres, gt+inPostgres)
		b, _, there := r.factor("generation", to, mt+inPostgres, gt+inPostgres)
		if !ok || !there || a == 0 {
			return notMeasured("generation on PostgreSQL")
		}
		return Found{b / a, false, fmt.Sprintf("(%s and %s times)", number(b), number(a)), ""}
	}
}

// gainsBy compares the gains at the least and the greatest of the groups whose names are a number and what: the last
// with the first, or the first with the last.
func gainsBy(mt, gt, what string, falling bool) func(*Report) Found {
	return func(r *Report) Found {
		from, to, _ := extremes(r, "generation", what)
		if from == to {
			return notMeasured("generation by" + what)
		}
		if falling {
			from, to = to, from
		}
		return gains(mt, gt, from, to)(r)
	}
}

// extremes are the groups with the smallest and the largest number of something, and how many times the one the other
// is.
func extremes(r *Report, metric, what string) (from, to string, times float64) {
	var least, most float64
	for _, g := range r.Groups(metric) {
		v, ok := numberIn(g, "")
		if !ok || !strings.HasSuffix(g, what) {
			continue
		}
		if from == "" || v < least {
			from, least = g, v
		}
		if to == "" || v > most {
			to, most = g, v
		}
	}
	return from, to, most / least
}

// eachTakes is how much longer one of many takes than one of few: generation, by a number of transactions.
func eachTakes(series string) func(*Report) Found {
	return func(r *Report) Found {
		from, to, times := extremes(r, "generation", " transactions")
		a, b := r.Find("generation", from, series), r.Find("generation", to, series)
		if from == to || a == nil || b == nil || a.Value == 0 {
			return notMeasured(series)
		}
		return Found{Value: b.Value / a.Value / times, At: fmt.Sprintf("(%s beside %s)", to, from)}
	}
}

// fewer is by how much more a series grows than the objects become fewer, from the most to the fewest.
func fewer(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		f := growing(metric, "", series)(r)
		if f.None != "" {
			return f
		}
		groups := r.Groups(metric)
		few, many := r.Find(metric, groups[0], series), r.Find(metric, groups[len(groups)-1], series)
		a, _ := numberIn(groups[0], "")
		b, _ := numberIn(groups[len(groups)-1], "")
		if few == nil || many == nil || a == 0 || b == 0 {
			return notMeasured(series)
		}
		return Found{few.Value / many.Value / (b / a), false, fmt.Sprintf("from %s objects to %s: %s times as long",
			number(b), number(a), number(few.Value/many.Value)), ""}
	}
}

// outgrows is by how much more the second series grows than the first over the numbered groups of a metric.
func outgrows(metric, a, b string) func(*Report) Found {
	return func(r *Report) Found {
		both := &Report{Timeout: r.Timeout, Bounds: r.Bounds, timeout: r.timeout, fig: r.fig}
		for _, g := range r.Groups(metric) { // a growth to one size is not compared with a growth to another
			_, _, ok := r.timed(metric, g, b)
			if r.Find(metric, g, a) == nil || !ok {
				continue
			}
			for _, p := range r.Points {
				if p.Metric == metric && p.Group == g {
					both.Add(p)
				}
			}
		}
		x, y := growing(metric, "", a)(both), growing(metric, "", b)(both)
		if x.None != "" || y.None != "" || x.Value == 0 {
			return notMeasured(b + " beside " + a + " at two sizes")
		}
		return Found{y.Value / x.Value, y.Beyond, y.At, ""}
	}
}

// abortsMore is the share of groups and levels at which general transactions abort more.
func abortsMore(where string) func(*Report) Found {
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
		if n == 0 {
			return notMeasured("PostgreSQL")
		}
		return Found{float64(yes) / float64(n), false, fmt.Sprintf("%d of %d", yes, n), ""}
	}
}

// gtMost is the greater of the abort rates of general transactions at the two levels.
func gtMost(metric, group, where string) func(*Report) Found {
	return valueOver(metric, func(p *Point) bool {
		return p.Group == group && strings.HasPrefix(p.Series, "GT") && strings.HasSuffix(p.Series, where)
	}, most)
}

// gtRises is the share of steps, at both levels, at which the abort rate of general transactions does not fall.
func gtRises(metric string) func(*Report) Found {
	return func(r *Report) Found {
		up, n := 0.0, 0
		for _, iso := range abortLevels {
			f := rising(metric, "", "GT, "+iso.name+inPostgres)(r)
			if f.None != "" {
				return f
			}
			up, n = up+f.Value, n+1
		}
		return Found{up / float64(n), false, fmt.Sprintf("%.0f %% of the steps", 100*up/float64(n)), ""}
	}
}

// varies is by how many points the abort rate of mini-transactions varies over that by which that of general ones does,
// at the most of both levels.
func varies(metric string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured("PostgreSQL")
		for _, iso := range abortLevels {
			var spread [2]float64
			for i, kind := range []string{"MT, ", "GT, "} {
				low, high := math.Inf(1), 0.0
				for _, g := range r.Groups(metric) {
					if p := r.Find(metric, g, kind+iso.name+inPostgres); p != nil {
						low, high = min(low, p.Value), max(high, p.Value)
					}
				}
				spread[i] = high - low
			}
			if f := spread[0] / spread[1]; spread[1] > 0 && (best.None != "" || f > best.Value) {
				best = Found{f, false, fmt.Sprintf("at %s (%s and %s points)", iso.name, number(sixDigits(spread[0])),
					number(sixDigits(spread[1]))), ""}
			}
		}
		return best
	}
}

// sizeMatters is how much better Elle is at its best size of transactions than at its worst, at the least over
// databases and kinds of its transactions.
func sizeMatters(r *Report) Found {
	best, metric := notMeasured("Elle"), trialMetric(r)
	for _, db := range weakDatabases() {
		for _, series := range []string{"wr, elle-register", "append, elle"} {
			low, high := math.Inf(1), 0.0
			for _, ops := range []string{"2", "4", "8"} {
				if p := r.Find(metric, db.name+", "+ops, series); p != nil {
					low, high = min(low, p.Value), max(high, p.Value)
				}
			}
			if f := high / low; low > 0 && high >= low && (best.None != "" || f < best.Value) {
				best = Found{f, false, fmt.Sprintf("(%s and %s, %s, %s)", number(high), number(low), series, db.name),
					""}
			}
		}
	}
	return best
}

// isLongFork keeps the bugs of Table II that are long forks.
func isLongFork(p *Point) bool { return strings.Contains(strings.ToLower(p.Group), "long fork") }

// trialMetric is the pace on servers where there are any.
func trialMetric(r *Report) string {
	if len(r.Groups("pace")) > 0 {
		return "pace"
	}
	return "found"
}

func moreTrials(series string) func(*Report) Found {
	return func(r *Report) Found {
		more, n := r.beats(trialMetric(r), "mini, mtc", series, func(m, e float64) bool { return m > e })
		if n == 0 {
			return notMeasured(series)
		}
		return Found{float64(more) / float64(n), false, fmt.Sprintf("%d of %d", more, n), ""}
	}
}

// trialsOfBest compares MTC's trials that find something with the other's at its best, on PostgreSQL at SER.
func trialsOfBest(series string) func(*Report) Found {
	return func(r *Report) Found {
		metric, own, best := trialMetric(r), (*Point)(nil), 0.0
		for _, db := range weakDatabases() {
			if !strings.HasPrefix(db.name, "PostgreSQL repeatable-read") {
				continue
			}
			for _, ops := range []string{"2", "4", "8"} {
				if p := r.Find(metric, db.name+", "+ops, series); p != nil {
					best = max(best, p.Value)
				}
				if p := r.Find(metric, db.name+", "+ops, "mini, mtc"); p != nil {
					own = p
				}
			}
		}
		if own == nil || best == 0 {
			return notMeasured("PostgreSQL")
		}
		return Found{own.Value / best, false, fmt.Sprintf("(%s and %s)", number(own.Value), number(best)), ""}
	}
}

func trialsFaster(metric string) func(*Report) Found {
	return func(r *Report) Found {
		fast, n := 0, 0
		for _, s := range []string{"wr, elle-register", "append, elle"} {
			a, b := r.beats(metric, "mini, mtc", s, func(m, e float64) bool { return m < e })
			fast, n = fast+a, n+b
		}
		if n == 0 {
			return notMeasured("Elle")
		}
		return Found{float64(fast) / float64(n), false, fmt.Sprintf("%d of %d", fast, n), ""}
	}
}

func trialsPostgres(metric string) func(*Report) Found {
	return func(r *Report) Found {
		const db = "PostgreSQL repeatable-read, SER"
		m, e := r.Find(metric, db+", 4", "mini, mtc"), r.Find(metric, db+", 8", "wr, elle-register")
		if m == nil || e == nil || m.Value == 0 {
			return notMeasured("PostgreSQL")
		}
		return Found{e.Value / m.Value, false, fmt.Sprintf("(%s ms and %s ms)", number(e.Value), number(m.Value)), ""}
	}
}

// bugsFound is the share of Table II's kinds of bugs that were found, planted ones or those of databases. A server that
// is missing has no row.
func bugsFound(planted bool) func(*Report) Found {
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
		if n == 0 {
			return notMeasured("a database")
		}
		return Found{float64(found) / float64(n), false, fmt.Sprintf("%d of %d", found, n), ""}
	}
}
