package bench

import (
	"fmt"
	"strings"
)

// Why a claim does not hold is data like the claim: what can be tested of a reason is recomputed from the rows of its
// figure, or by a test that is named; what cannot is called a conjecture.

// What is behind a reason.
const (
	byRows  = "rows"
	refuted = "refuted" // the rows do not bear it out
)

// reason says why a claim does not hold, and what is behind it: byRows, refuted, a test's name, or "".
func (s *Saying) reason(r *Report) (why, tested string) {
	switch {
	case s.Why == "":
		return "not known", ""
	case s.test != "":
		return s.Why + " (" + s.test + ")", s.test
	case s.shown == nil:
		return "a conjecture: " + s.Why, ""
	}
	said, ok := s.shown(r)
	switch {
	case ok:
		return s.Why + " (" + said + ")", byRows
	case said == "":
		return "a conjecture: " + s.Why, ""
	}
	return "not known; these rows do not bear out that " + s.Why + " (" + said + ")", refuted
}

// showing recomputes what a reason rests on: in words, and whether it is so; "": these rows do not tell.
type showing func(r *Report) (said string, ok bool)

// shown is a number that has to reach another one, as claims have to.
func shown(what string, find func(*Report) Found, sense Sense, n float64, unit string) showing {
	return func(r *Report) (string, bool) {
		f := find(r)
		if f.None != "" {
			return "", false
		}
		c := Claim{Sense: sense, Number: n, Here: sixDigits(f.Value), Beyond: f.Beyond, Unit: unit, At: f.At,
			Measured: true}
		return what + ": " + c.here(), c.verdict() == Holds
	}
}

// allShown joins several.
func allShown(of ...showing) showing {
	return func(r *Report) (string, bool) {
		var said []string
		all := true
		for _, s := range of {
			text, ok := s(r)
			if text == "" {
				return "", false
			}
			said, all = append(said, text), all && ok
		}
		return strings.Join(said, "; "), all
	}
}

// factors is the ratio of the greatest to the least factor over the groups of a metric.
func factors(metric string, keep func(string) bool, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		low := extreme([]string{metric}, keep, fast, slow, 1)(r)
		high := extreme([]string{metric}, keep, fast, slow, -1)(r)
		if low.None != "" || low.Value <= 0 || high.Beyond {
			return notMeasured(slow + " beside " + fast)
		}
		return Found{Value: high.Value / low.Value, At: fmt.Sprintf("(from %s to %s)", number(low.Value),
			number(high.Value))}
	}
}

// between is the factor of two groups of one series.
func (r *Report) between(metric, series, fast, slow string) (f float64, beyond, ok bool) {
	a := r.Find(metric, fast, series)
	v, beyond, there := r.timed(metric, slow, series)
	if a == nil || !there || a.Value == 0 {
		return 0, false, false
	}
	return v / a.Value, beyond, true
}

// overClosure is what is in use once constraints and known graph are made, over what the compact closure adds, at the
// least.
func overClosure(r *Report) Found {
	best, n := Found{}, 0
	for _, g := range r.Groups("closure") {
		made, own := r.Find("live", g+", "+compactClosure, "construction"), r.Find("closure", g, compactClosure)
		if made == nil || own == nil || own.Value <= 0 {
			continue
		}
		if f := made.Value / own.Value; n == 0 || f < best.Value {
			best = Found{Value: f, At: r.place(g)}
		}
		n++
	}
	if n == 0 {
		return notMeasured("construction")
	}
	return best
}

// ratioAt is a series' value over another's.
func ratioAt(metric, group, base, series string) func(*Report) Found {
	return func(r *Report) Found { return ratioOf(r, metric, group, base, series) }
}

// moreBy is by how much a series is above another, at the most.
func moreBy(metric, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, g := range r.Groups(metric) {
			a, b := r.Find(metric, g, base), r.Find(metric, g, series)
			if a == nil || b == nil {
				continue
			}
			if n++; n == 1 || b.Value-a.Value > best.Value {
				best = Found{Value: b.Value - a.Value, At: r.place(g)}
			}
		}
		if n == 0 {
			return notMeasured(series)
		}
		return best
	}
}

func anyPoint(*Point) bool { return true }

// ratioFirstLast is a series' value at the first group over that at the last.
func ratioFirstLast(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		groups := r.Groups(metric)
		if len(groups) < 2 {
			return notMeasured(series)
		}
		a, b := r.Find(metric, groups[0], series), r.Find(metric, groups[len(groups)-1], series)
		if a == nil || b == nil || b.Value == 0 {
			return notMeasured(series)
		}
		return Found{Value: a.Value / b.Value, At: fmt.Sprintf("(%s and %s)", number(a.Value), number(b.Value))}
	}
}

// shareOfStages is what share of a figure's stages one takes, in percent, at most.
func shareOfStages(stage string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(stage)
		for _, g := range r.Groups("time") {
			whole := 0.0
			for _, s := range r.Series("time") {
				if p := r.Find("time", g, s); p != nil {
					whole += p.Value
				}
			}
			p := r.Find("time", g, stage)
			if p != nil && whole > 0 && (best.None != "" || 100*p.Value/whole > best.Value) {
				best = Found{Value: 100 * p.Value / whole, At: r.place(g)}
			}
		}
		return best
	}
}

// stillHeld: what is in use when a history is loaded is in use when it has been checked.
func stillHeld(r *Report) (string, bool) {
	groups := r.Groups("use")
	if len(groups) < 2 {
		return "", false
	}
	a, b := r.Find("use", groups[0], "in use after a collection"), r.Find("use", groups[1], "in use after a collection")
	if a == nil || b == nil {
		return "", false
	}
	return fmt.Sprintf("after a collection %s MB are in use when it is loaded, %s MB when it is checked",
		number(a.Value), number(b.Value)), b.Value >= 0.9*a.Value
}

// risingFactor is by how much more a factor is at the last than at the first of the groups that are numbers of
// transactions.
func risingFactor(metric, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		var all []float64
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, " transactions"); ok {
				if f, late, ok := r.factor(metric, g, fast, slow); ok && !late {
					all = append(all, f)
				}
			}
		}
		if len(all) < 2 || all[0] == 0 {
			return notMeasured(slow)
		}
		return Found{Value: all[len(all)-1] / all[0], At: fmt.Sprintf("(from %s to %s)", number(all[0]),
			number(all[len(all)-1]))}
	}
}

// shorterOnes: where registers show more violations than mini-transactions it is with two operations.
func shorterOnes(r *Report) (string, bool) {
	more, two := 0, 0
	metric := trialMetric(r)
	for _, db := range weakDatabases() {
		m := r.Find(metric, db.name+", 4", "mini, mtc")
		for _, ops := range []string{"2", "4", "8"} {
			if e := r.Find(metric, db.name+", "+ops, "wr, elle-register"); m != nil && e != nil && e.Value > m.Value {
				if more++; ops == "2" {
					two++
				}
			}
		}
	}
	if more == 0 {
		return "", false
	}
	return fmt.Sprintf("with two operations in %d of the %d cases", two, more), two == more
}
