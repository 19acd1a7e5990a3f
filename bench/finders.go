package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What claims are measured with.

// notMeasured says that rows are missing.
func notMeasured(what string) Found { return Found{None: what + " is not among what was run"} }

// without is the finder of a claim that cannot be compared here.
func without(why string) func(*Report) Found {
	return func(*Report) Found { return Found{None: why} }
}

// timed returns a value, or what a time is at least where the run ran into the time-out.
func (r *Report) timed(metric, group, series string) (v float64, beyond, ok bool) {
	if p := r.Find(metric, group, series); p != nil {
		return p.Value, false, true
	}
	v, below, ok := r.stopped(metric, group, series)
	if !ok || below {
		return 0, false, false
	}
	return v, true, true
}

// stopped is the bound of a run that ran into the time-out.
func (r *Report) stopped(metric, group, series string) (v float64, below, ok bool) {
	for i := range r.Points {
		if p := &r.Points[i]; p.Metric == metric && p.Group == group && p.Series == series {
			if v, below, ok = r.bound(p); ok {
				return v, below, true
			}
		}
	}
	return 0, false, false
}

// factor is by how much slow is more than fast.
func (r *Report) factor(metric, group, fast, slow string) (f float64, beyond, ok bool) {
	a, late, there := r.timed(metric, group, fast)
	b, beyond, ok := r.timed(metric, group, slow)
	return b / a, beyond, there && ok && !late && a > 0
}

func (r *Report) place(group string) string { return r.placeOn(r.fig.Axis, group) }

// placeOn is that on a metric's axis.
func (r *Report) placeOn(axis, group string) string {
	if axis == "transactions" || axis == "keys" {
		return "at " + group + " " + axis
	}
	return "at " + group
}

// timesAt is by how much slow is more than fast at one group.
func timesAt(metric, group, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		f, beyond, ok := r.factor(metric, group, fast, slow)
		if !ok {
			return notMeasured(slow + " beside " + fast + " " + r.place(group))
		}
		return Found{f, beyond, r.place(group), ""}
	}
}

// timesLast is that at the last, the largest group at which both came to an end.
func timesLast(metric, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		groups := r.Groups(metric)
		for _, g := range slices.Backward(groups) {
			if f, beyond, ok := r.factor(metric, g, fast, slow); ok && !beyond {
				return Found{f, false, r.place(g), ""}
			}
		}
		return notMeasured(slow + " beside " + fast)
	}
}

// anyGroup keeps all groups.
func anyGroup(string) bool { return true }

// startsWith keeps groups by their beginnings.
func startsWith(prefixes ...string) func(string) bool {
	return func(g string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(g, p) })
	}
}

// extreme is the least (sign 1) or the greatest (sign -1) factor over groups of metrics (nil: all of the figure's).
func extreme(metrics []string, keep func(string) bool, fast, slow string, sign float64) func(*Report) Found {
	return func(r *Report) Found {
		best, n, late := Found{}, 0, false
		for _, m := range r.fig.Metrics {
			if metrics != nil && !slices.Contains(metrics, m.Key) {
				continue
			}
			for _, g := range r.Groups(m.Key) {
				f, beyond, ok := r.factor(m.Key, g, fast, slow)
				if !ok || !keep(g) {
					continue
				}
				late = late || beyond
				if n++; n == 1 || sign*f < sign*best.Value {
					best = Found{f, beyond, r.placeOn(r.fig.axis(m.Key), g), ""}
				}
			}
		}
		best.Beyond = best.Beyond || sign < 0 && late // another may be greater than its bound
		if n == 0 {
			return notMeasured(slow + " beside " + fast)
		}
		if n > 1 {
			best.At += fmt.Sprintf(", the %s of %d", map[float64]string{1: "least", -1: "most"}[sign], n)
		}
		return best
	}
}

// timesLeast is the least factor over all groups, timesMost the greatest.
func timesLeast(metric, fast, slow string) func(*Report) Found {
	return extreme([]string{metric}, anyGroup, fast, slow, 1)
}

func timesMost(metric, fast, slow string) func(*Report) Found {
	return extreme([]string{metric}, anyGroup, fast, slow, -1)
}

// numberIn reads the number in a group's name, behind its prefix: "#txns 5000".
func numberIn(group, prefix string) (float64, bool) {
	rest, ok := strings.CutPrefix(group, prefix)
	if !ok {
		return 0, false
	}
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	v, err := strconv.ParseFloat(rest, 64)
	return v, err == nil && v > 0
}

// whole is valueAt without the place, which the claim names.
func whole(metric, group, series string) func(*Report) Found {
	return func(r *Report) Found {
		f := valueAt(metric, group, series)(r)
		f.At = ""
		return f
	}
}

// growing is by how much more than the groups' numbers a series grows, from the first to the last of those with a
// prefix at which it has a value: 1 is linear.
func growing(metric, prefix, series string) func(*Report) Found {
	return func(r *Report) Found {
		return r.grown(metric, prefix, series, 1)
	}
}

// squared is growing beside the square of the groups' numbers: 1 is quadratic.
func squared(metric, series string) func(*Report) Found {
	return func(r *Report) Found { return r.grown(metric, "", series, 2) }
}

// grown is growing beside a power of the groups' numbers.
func (r *Report) grown(metric, prefix, series string, power float64) Found {
	var at, is []float64
	late := false
	for _, g := range r.Groups(metric) {
		n, ok := numberIn(g, prefix)
		if v, beyond, there := r.timed(metric, g, series); ok && there && v > 0 && !late {
			at, is, late = append(at, n), append(is, v), beyond
		}
	}
	if len(at) < 2 || at[len(at)-1] <= at[0] {
		return notMeasured(strings.TrimSpace(series + " at two sizes " + prefix))
	}
	last := len(at) - 1
	size, times := at[last]/at[0], is[last]/is[0]
	return Found{times / math.Pow(size, power), late, fmt.Sprintf("from %s to %s: %s times the size, %s times as much",
		number(at[0]), number(at[last]), number(size), number(times)), ""}
}

// steady is the ratio of the greatest to the least value of a series over groups. A time that was stopped is no least
// one, and if there is one the ratio is a lower bound.
func steady(metric string, keep func(string) bool, series string) func(*Report) Found {
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

// valueAt is a point's value.
func valueAt(metric, group, series string) func(*Report) Found {
	return func(r *Report) Found {
		v, beyond, ok := r.timed(metric, group, series)
		if !ok {
			return notMeasured(series + " " + r.place(group))
		}
		return Found{v, beyond, r.place(group), ""}
	}
}

// valueOver is the least or the greatest value of points of a metric that are kept. Where runs were stopped it is the
// greatest known, and no least is known, unless their bounds leave no other.
func valueOver(metric string, keep func(p *Point) bool, pick func(x ...float64) float64) func(*Report) Found {
	return func(r *Report) Found {
		n, best, at := 0, 0.0, ""
		var stopped []*Point
		for i := range r.Points {
			p := &r.Points[i]
			if p.Metric != metric || !keep(p) {
				continue
			}
			if !p.Decided() {
				stopped = append(stopped, p)
				continue
			}
			if n++; n == 1 || pick(best, p.Value) != best {
				best, at = p.Value, p.Series+" "+r.place(p.Group)
			}
		}
		if n == 0 {
			return notMeasured("this")
		}
		greatest, beyond := pick(0, 1) == 1, false
		for _, p := range stopped { // may it have been more, or less?
			v, below, ok := r.bound(p)
			switch {
			case ok && below == greatest && pick(best, v) == best:
			case greatest:
				beyond = true
			default:
				return Found{None: p.Series + " " + r.place(p.Group) + " was stopped, and may be less"}
			}
		}
		return Found{best, beyond, "(" + at + ")", ""}
	}
}

func least(x ...float64) float64 { return slices.Min(x) }
func most(x ...float64) float64  { return slices.Max(x) }

// ofSeries keeps points by their series.
func ofSeries(names ...string) func(p *Point) bool {
	return func(p *Point) bool { return slices.Contains(names, p.Series) }
}

// shareOf is the share of groups of which something is true; ok false: it cannot be said of the group.
func shareOf(metric, what string, is func(r *Report, group string) (yes, ok bool)) func(*Report) Found {
	return func(r *Report) Found {
		yes, n := 0, 0
		for _, g := range r.Groups(metric) {
			y, ok := is(r, g)
			if !ok {
				continue
			}
			n++
			if y {
				yes++
			}
		}
		if n == 0 {
			return notMeasured("this")
		}
		return Found{float64(yes) / float64(n), false, fmt.Sprintf("%d of %d %s", yes, n, what), ""}
	}
}

// shortest is the share of groups at which a series is not above any of others that has a value there. Where it was
// stopped it is above those that took less than it had taken by then.
func shortest(metric, what, series string, others ...string) func(*Report) Found {
	return shareOf(metric, what, func(r *Report, g string) (yes, ok bool) {
		own := r.Find(metric, g, series)
		if own == nil {
			v, _, late := r.timed(metric, g, series)
			return false, late && slices.ContainsFunc(others, func(o string) bool {
				p := r.Find(metric, g, o)
				return p != nil && p.Value < v
			})
		}
		yes = true
		for _, o := range others {
			if v, _, there := r.timed(metric, g, o); there {
				ok = true
				yes = yes && own.Value <= v
			}
		}
		return yes, ok
	})
}

// rising is the share of steps, from one group with a prefix to the next, at which a series does not fall.
func rising(metric, prefix, series string) func(*Report) Found {
	return func(r *Report) Found {
		var is []float64
		for _, g := range r.Groups(metric) {
			if _, ok := numberIn(g, prefix); ok {
				if p := r.Find(metric, g, series); p != nil {
					is = append(is, p.Value)
				}
			}
		}
		if len(is) < 2 {
			return notMeasured(series)
		}
		up := 0
		for i := range is[1:] {
			if is[i+1] >= is[i] {
				up++
			}
		}
		return Found{float64(up) / float64(len(is)-1), false, fmt.Sprintf("%d of %d steps", up, len(is)-1), ""}
	}
}
