package bench

import (
	"fmt"
	"math"
	"slices"

	"isovet/internal/slice"
)

// Finders for how a series changes from one group to the next: growth, spread, steps up and down, and shares of groups.

// line returns a series' points at the accepted groups, in their order.
func (r *Report) line(metric string, keep func(string) bool, series string) []*Point {
	found := slice.Map(slice.Filter(r.Groups(metric), keep), func(g string) *Point { return r.Find(metric, g, series) })
	return slice.Filter(found, func(p *Point) bool { return p != nil })
}

// sizeValue is a value at a size.
type sizeValue struct {
	at, is float64
	beyond bool
}

// atSizes returns a series' values at the groups that match a pattern, up to the first at which it was stopped.
func (r *Report) atSizes(metric, pattern, series string) []sizeValue {
	var out []sizeValue
	for _, g := range r.Groups(metric) {
		n, ok := numberIn(g, pattern)
		v, beyond, there := r.timed(metric, g, series)
		if ok && there && v > 0 {
			if out = append(out, sizeValue{n, v, beyond}); beyond {
				break
			}
		}
	}
	return out
}

// growing divides the growth of a series by that of the groups' numbers, from the first to the last group of the
// pattern at which it has a value. 1 means linear.
func growing(metric, pattern, series string) finder {
	return func(r *Report) Found { return grown(r.atSizes(metric, pattern, series), series, 1) }
}

// squared divides by the growth of the squared numbers. 1 means quadratic.
func squared(metric, series string) finder {
	return func(r *Report) Found { return grown(r.atSizes(metric, "*", series), series, 2) }
}

// shrinking divides the growth of a series by the decrease of the groups' numbers, from the last to the first.
func shrinking(metric, series string) finder {
	return func(r *Report) Found {
		all := r.atSizes(metric, "*", series)
		slices.Reverse(all)
		return grown(all, series, -1)
	}
}

// lastGrowth is growing from the second last to the last group.
func lastGrowth(metric, pattern, series string) finder {
	return func(r *Report) Found {
		all := r.atSizes(metric, pattern, series)
		if len(all) < 3 {
			return notMeasured(series + " at three sizes")
		}
		return grown(all[len(all)-2:], series, 1)
	}
}

// grown divides the growth from the first to the last value by a power of that of the sizes.
func grown(all []sizeValue, series string, power float64) Found {
	if len(all) < 2 || all[0].beyond {
		return notMeasured(series + " at two sizes")
	}
	a, b := all[0], all[len(all)-1]
	size, times := b.at/a.at, b.is/a.is
	return Found{times / math.Pow(size, power), b.beyond, fmt.Sprintf("from %s to %s: %s times the size, %s times as "+
		"much", number(a.at), number(b.at), number(sixDigits(size)), number(sixDigits(times))), ""}
}

// outgrows divides the growth of the second series by that of the first, from the first to the last size at which both
// are known.
func outgrows(metric, pattern, a, b string) finder {
	return func(r *Report) Found {
		var x, y []sizeValue
		own := r.atSizes(metric, pattern, a)
		for _, v := range r.atSizes(metric, pattern, b) {
			i := slices.IndexFunc(own, func(o sizeValue) bool { return o.at == v.at && !o.beyond })
			if i >= 0 {
				x, y = append(x, own[i]), append(y, v)
			}
		}
		f, than := grown(y, b+" beside "+a, 1), grown(x, a, 1)
		if f.None != "" {
			return f
		}
		end := len(y) - 1
		return Found{f.Value / than.Value, f.Beyond, fmt.Sprintf("from %s to %s: %s and %s times as much",
			number(y[0].at), number(y[end].at), number(sixDigits(y[end].is/y[0].is)),
			number(sixDigits(x[end].is/x[0].is))), ""}
	}
}

// steepening divides the factor of a series' last step by that of its first step.
func steepening(metric, series string) finder {
	return func(r *Report) Found {
		is := r.line(metric, anyGroup, series)
		n := len(is)
		if n < 3 {
			return notMeasured(series + " at three sizes")
		}
		step := func(i int) Found { return Found{Value: is[i].Value / is[i-1].Value} }
		return ratioOf(step(n-1), step(1))
	}
}

// steady returns the quotient of the greatest and the least value of a series over groups. A stopped time cannot be
// the least; if there is one, the quotient is a lower bound.
func steady(metric string, keep func(string) bool, series string) finder {
	return func(r *Report) Found {
		least, most, n, late := math.Inf(1), 0.0, 0, false
		for _, g := range r.Groups(metric) {
			v, beyond, ok := r.timed(metric, g, series)
			if !ok || !keep(g) {
				continue
			}
			n, late, most = n+1, late || beyond, max(most, v)
			if !beyond {
				least = min(least, v)
			}
		}
		if n < 2 || math.IsInf(least, 1) {
			return notMeasured(series)
		}
		if least == most {
			return Found{1, late, fmt.Sprintf("over %d", n), ""}
		}
		return Found{most / least, late, fmt.Sprintf("over %d, from %s to %s", n, number(least), number(most)), ""}
	}
}

// part returns a share: "2 of 6 steps".
func part(yes, n int, what string) Found {
	if n == 0 {
		return notMeasured("this")
	}
	at := fmt.Sprintf("%d of %d", yes, n)
	if what != "" {
		at += " " + what
	}
	return Found{Value: float64(yes) / float64(n), At: at}
}

// steps returns the share of steps between values for which is returns true.
func steps(values []float64, is func(a, b float64) bool) Found {
	yes := 0
	for i := range max(len(values), 1) - 1 {
		if is(values[i], values[i+1]) {
			yes++
		}
	}
	return part(yes, max(len(values), 1)-1, "steps")
}

// rises and falls are conditions for a step. climbs also requires that the value changes.
func rises(a, b float64) bool  { return b >= a }
func falls(a, b float64) bool  { return b <= a }
func climbs(a, b float64) bool { return b > a }

// stepping returns in which share of steps, between groups of a pattern, the sum of the series rises or falls.
func stepping(is func(a, b float64) bool, metric, pattern string, series ...string) finder {
	return func(r *Report) Found {
		var values []float64
		for _, g := range r.Groups(metric) {
			total, n := r.total(metric, both(inGroups(among(g)), ofSeries(series...)))
			if _, ok := numberIn(g, pattern); ok && n == len(series) {
				values = append(values, total)
			}
		}
		return steps(values, is)
	}
}

// risesOver returns the share of steps between groups, in the given order, at which a series rises.
func risesOver(metric, series string, groups ...string) finder {
	return func(r *Report) Found {
		return steps(values(groups, func(g string) *Point { return r.Find(metric, g, series) }), climbs)
	}
}

// fallsOver returns the share of steps between series at which the value of a group falls.
func fallsOver(metric, group string, series ...string) finder {
	return func(r *Report) Found {
		drops := func(a, b float64) bool { return b < a }
		return steps(values(series, func(s string) *Point { return r.Find(metric, group, s) }), drops)
	}
}

// values returns the values of those points that there are.
func values(names []string, find func(name string) *Point) []float64 {
	found := slice.Filter(slice.Map(names, find), func(p *Point) bool { return p != nil })
	return slice.Map(found, func(p *Point) float64 { return p.Value })
}

// leastSteady returns the quotient of the greatest and the least value of the series that varies most.
func leastSteady(metric string, series ...string) finder {
	return func(r *Report) Found {
		return mostOf(series[0], slice.Map(series, func(s string) Found {
			f := steady(metric, anyGroup, s)(r)
			return f.at(s + ", " + f.At)
		}))
	}
}

// perTransaction divides a series' last value by the number of transactions there.
func perTransaction(metric, series string) finder {
	return func(r *Report) Found {
		all := r.atSizes(metric, "*", series)
		if len(all) == 0 {
			return notMeasured(series)
		}
		v := all[len(all)-1]
		return Found{Value: v.is / v.at, Beyond: v.beyond}
	}
}

// shareOf returns the share of groups for which is returns true. ok false means that a group does not count.
func shareOf(metric, what string, is func(r *Report, group string) (yes, ok bool)) finder {
	return func(r *Report) Found {
		yes, n := 0, 0
		for _, g := range r.Groups(metric) {
			if y, ok := is(r, g); ok {
				if n++; y {
					yes++
				}
			}
		}
		return part(yes, n, what)
	}
}

// shortest returns the share of groups at which a series is not above any of the others that have a value. If it was
// stopped, it is above those that took less time than it had taken.
func shortest(metric, what, series string, others ...string) finder {
	return foremost(metric, what, 1, series, others)
}

// highest returns the share of groups at which a series is not below any of the others that have a value. If it was
// stopped, it is below those above its upper bound.
func highest(metric, what, series string, others ...string) finder {
	return foremost(metric, what, -1, series, others)
}

// foremost is shortest (sign 1) and highest (sign −1).
func foremost(metric, what string, sign float64, series string, others []string) finder {
	return shareOf(metric, what, func(r *Report, g string) (yes, ok bool) {
		own := r.Find(metric, g, series)
		if own == nil {
			v, below, late := r.stopped(metric, g, series)
			return false, late && below == (sign < 0) && slices.ContainsFunc(others, func(o string) bool {
				p := r.Find(metric, g, o)
				return p != nil && sign*p.Value < sign*v
			})
		}
		yes = true
		for _, o := range others {
			if v, beyond, there := r.timed(metric, g, o); there && (sign > 0 || !beyond) {
				yes, ok = yes && sign*own.Value <= sign*v, true
			}
		}
		return yes, ok
	})
}

// wasChecked reports whether a workload's history was checked.
func wasChecked(r *Report, workload string) (yes, ok bool) {
	return r.Find("time", workload, "checking") != nil, true
}
