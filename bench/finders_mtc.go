package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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

func notLongFork(p *Point) bool { return !isLongFork(p) }

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

// elleOfTwoFaster says whether Elle with two operations generates faster than mini-transactions.
func elleOfTwoFaster(r *Report, g string) (yes, ok bool) {
	db, two := strings.CutSuffix(g, ", 2")
	m, e := r.Find("generation", db+", 4", "mini, mtc"), r.Find("generation", g, "append, elle")
	return m != nil && e != nil && e.Value < m.Value, two && m != nil && e != nil
}

// standbyNotFound: the bug between PostgreSQL and its standby did not show.
func standbyNotFound(r *Report) (string, bool) {
	for _, p := range r.Points {
		if p.Metric == "position" && !p.Decided() && strings.Contains(p.Group, "standby") {
			return p.Reason, strings.HasPrefix(p.Reason, "not found in ")
		}
	}
	return "", false
}
