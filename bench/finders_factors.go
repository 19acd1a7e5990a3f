package bench

import (
	"slices"
	"strings"

	"isovet/internal/slice"
)

// Finders for how much greater one series is than another.

// factor returns the quotient of the values of slow and fast.
func (r *Report) factor(metric, group, fast, slow string) (f float64, beyond, ok bool) {
	a, late, there := r.timed(metric, group, fast)
	b, beyond, ok := r.timed(metric, group, slow)
	return b / a, beyond, there && ok && !late && a > 0
}

// factors returns these quotients at the accepted groups.
func (r *Report) factors(metric string, keep func(string) bool, fast, slow string) []Found {
	var out []Found
	for _, g := range r.Groups(metric) {
		if f, beyond, ok := r.factor(metric, g, fast, slow); ok && keep(g) {
			out = append(out, Found{f, beyond, r.placeOn(r.fig.Axis, g), ""})
		}
	}
	return out
}

// timesAt returns the quotient of slow and fast at one group.
func timesAt(metric, group, fast, slow string) finder {
	return func(r *Report) Found {
		f, beyond, ok := r.factor(metric, group, fast, slow)
		if !ok {
			return notMeasured(slow + " beside " + fast + " " + r.place(group))
		}
		return Found{f, beyond, r.place(group), ""}
	}
}

// timesLast returns the quotient at the last, largest group at which both finished.
func timesLast(metric, fast, slow string) finder { return lastFactor(metric, anyGroup, fast, slow) }

// lastFactor returns the quotient at the last of the accepted groups, firstFactor at the first.
func lastFactor(metric string, keep func(string) bool, fast, slow string) finder {
	return func(r *Report) Found {
		all := r.factors(metric, keep, fast, slow)
		slices.Reverse(all)
		return ended(all, slow+" beside "+fast)
	}
}

func firstFactor(metric string, keep func(string) bool, fast, slow string) finder {
	return func(r *Report) Found { return ended(r.factors(metric, keep, fast, slow), slow+" beside "+fast) }
}

// ended returns the first finding that is not only a bound.
func ended(of []Found, what string) Found {
	if i := slices.IndexFunc(of, func(f Found) bool { return !f.Beyond }); i >= 0 {
		return of[i]
	}
	return notMeasured(what)
}

// extreme returns the least (sign 1) or the greatest (sign −1) quotient over groups of metrics; nil means all of the
// figure's.
func extreme(metrics []string, keep func(string) bool, fast, slow string, sign float64) finder {
	return func(r *Report) Found {
		var all []Found
		for _, m := range r.fig.Metrics {
			if metrics == nil || slices.Contains(metrics, m.Key) {
				all = append(all, r.factors(m.Key, keep, fast, slow)...)
			}
		}
		return counted(slow+" beside "+fast, all, sign)
	}
}

// timesLeast returns the least quotient over all groups, timesMost the greatest.
func timesLeast(metric, fast, slow string) finder {
	return extreme([]string{metric}, anyGroup, fast, slow, 1)
}

func timesMost(metric, fast, slow string) finder {
	return extreme([]string{metric}, anyGroup, fast, slow, -1)
}

// bySeries is extreme with two groups compared, over the accepted series.
func bySeries(metric string, keep func(string) bool, fast, slow string, sign float64) finder {
	return func(r *Report) Found {
		var all []Found
		for _, s := range r.Series(metric) {
			a := r.Find(metric, fast, s)
			v, beyond, ok := r.timed(metric, slow, s)
			if keep(s) && ok && a != nil && a.Value > 0 {
				all = append(all, Found{v / a.Value, beyond, slow + ", " + s, ""})
			}
		}
		return counted(slow, all, sign)
	}
}

// moreBy returns the greatest difference of a series above another.
func moreBy(metric, base, series string) finder {
	return func(r *Report) Found {
		return mostOf(series, slice.Map(r.Groups(metric), func(g string) Found {
			return difference(valueAt(metric, g, series), valueAt(metric, g, base))(r).at(r.place(g))
		}))
	}
}

// byWorkload returns the least quotient between two kinds of series whose names end in a workload's.
func byWorkload(metric, fast, slow string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, s := range r.Series(metric) {
			if w, ok := strings.CutPrefix(s, fast); ok {
				f := timesLeast(metric, s, slow+w)(r)
				f.At = w + " " + f.At
				all = append(all, f)
			}
		}
		return leastOf(slow, all)
	}
}

// outpaces returns the least quotient of one throughput and others, where both are known.
func outpaces(metric, fast string, slow ...string) finder {
	return func(r *Report) Found {
		return leastOf(slow[0], slice.Map(slow, func(s string) Found {
			f := overSlower(metric, s, fast)(r)
			return f.at(strings.TrimSpace("against " + s + " " + f.At))
		}))
	}
}

// overSlower returns the least quotient between two throughputs over all groups at which the slower one has a value or
// was stopped. If it was stopped, the quotient is a lower bound.
func overSlower(metric, slow, fast string) finder {
	return func(r *Report) Found {
		var all []Found
		for _, g := range r.Groups(metric) {
			b := r.Find(metric, g, fast)
			v, below := 0.0, false
			if a := r.Find(metric, g, slow); a != nil {
				v = a.Value
			} else {
				v, below, _ = r.stopped(metric, g, slow)
			}
			if b != nil && v > 0 {
				all = append(all, Found{b.Value / v, below, r.place(g), ""})
			}
		}
		return counted(slow+" beside "+fast, all, 1)
	}
}
