package bench

import (
	"fmt"
	"slices"
	"strings"
)

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
func leastSteady(metric string, ways ...string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(ways[0])
		for _, c := range ways {
			f := steady(metric, anyGroup, c)(r)
			if f.None == "" && (best.None != "" || f.Value > best.Value) {
				best = f
				best.At = c + ", " + f.At
			}
		}
		return best
	}
}

// outpaces is the least factor of one throughput over others, wherever both are known.
func outpaces(metric, fast string, slow ...string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(slow[0])
		for _, s := range slow {
			f := overSlower(metric, s, fast)(r)
			if f.None == "" && (best.None != "" || f.Value < best.Value) {
				best = f
				best.At = strings.TrimSpace("against " + s + " " + f.At)
			}
		}
		return best
	}
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

// sum adds the points of a metric that are kept.
func sum(metric string, keep func(p *Point) bool) func(*Report) Found {
	return func(r *Report) Found {
		total, n := 0.0, 0
		for i := range r.Points {
			if p := &r.Points[i]; p.Metric == metric && p.Decided() && keep(p) {
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

// manyViolations: there is one violation for ten transactions or fewer.
func manyViolations(r *Report) (string, bool) {
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
}

// sqliteLosesMost: collecting costs SQLite a larger share of its throughput than PostgreSQL.
func sqliteLosesMost(r *Report) (string, bool) {
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
	return fmt.Sprintf("SQLite %s %%, PostgreSQL %s %%", number(sixDigits(lite)), number(sixDigits(pg))), lite > pg
}
