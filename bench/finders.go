package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Finders measure claims: they return values of a figure, or numbers computed from them.

// finder measures a number of a figure.
type finder = func(*Report) Found

// notMeasured says that rows are missing.
func notMeasured(what string) Found { return Found{None: what + " is not among what was run"} }

// without returns the finder for a claim that cannot be compared here.
func without(why string) finder {
	return func(*Report) Found { return Found{None: why} }
}

// timed returns a value or, if the run reached the time-out, a lower bound of a time.
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

// stopped returns the bound of a run that reached the time-out.
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

func (r *Report) place(group string) string { return r.placeOn(r.fig.Axis, group) }

// placeOn returns where a value was measured, in words: on which axis at which group.
func (r *Report) placeOn(axis, group string) string {
	if axis == "transactions" || axis == "keys" {
		return "at " + group + " " + axis
	}
	return "at " + group
}

// Filters for groups and for points.

func anyGroup(string) bool { return true }

// among accepts the given groups. startsWith and endsWith accept groups by the beginning or the end of their names.
func among(groups ...string) func(string) bool {
	return func(g string) bool { return slices.Contains(groups, g) }
}

func startsWith(prefixes ...string) func(string) bool {
	return func(g string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(g, p) })
	}
}

func endsWith(with string) func(string) bool {
	return func(g string) bool { return strings.HasSuffix(g, with) }
}

// mentions accepts groups whose names contain a text, in any case.
func mentions(text string) func(string) bool {
	return func(g string) bool { return strings.Contains(strings.ToLower(g), text) }
}

// above accepts groups whose names are numbers above a bound.
func above(bound float64) func(string) bool {
	return func(g string) bool {
		v, err := strconv.ParseFloat(g, 64)
		return err == nil && v > bound
	}
}

// not accepts the groups that another filter rejects.
func not(keep func(string) bool) func(string) bool {
	return func(g string) bool { return !keep(g) }
}

func anyPoint(*Point) bool { return true }

// inGroups accepts points by their groups, ofSeries by their series.
func inGroups(keep func(string) bool) func(*Point) bool {
	return func(p *Point) bool { return keep(p.Group) }
}

func ofSeries(names ...string) func(*Point) bool {
	return func(p *Point) bool { return slices.Contains(names, p.Series) }
}

func both(a, b func(*Point) bool) func(*Point) bool {
	return func(p *Point) bool { return a(p) && b(p) }
}

// numberIn returns the number in a group's name at the star of a pattern: "#txns *", "* threads". If the star is last,
// text after the number is ignored: "#reads 10 %".
func numberIn(group, pattern string) (float64, bool) {
	before, after, _ := strings.Cut(pattern, "*")
	if len(group) < len(before)+len(after) || !strings.HasPrefix(group, before) || !strings.HasSuffix(group, after) {
		return 0, false
	}
	n, _, _ := strings.Cut(group[len(before):len(group)-len(after)], " ")
	v, err := strconv.ParseFloat(n, 64)
	return v, err == nil && v > 0
}

func valueAt(metric, group, series string) finder {
	return func(r *Report) Found {
		v, beyond, ok := r.timed(metric, group, series)
		if !ok {
			return notMeasured(series + " " + r.place(group))
		}
		return Found{v, beyond, r.place(group), ""}
	}
}

// firstValue and lastValue return a series' value at the first and the last group that has one.
func firstValue(metric, series string) finder { return endValue(metric, series, false) }

func lastValue(metric, series string) finder { return endValue(metric, series, true) }

func endValue(metric, series string, last bool) finder {
	return func(r *Report) Found {
		line := r.line(metric, anyGroup, series)
		if len(line) < 2 {
			return notMeasured(series + " at two places")
		}
		p := line[0]
		if last {
			p = line[len(line)-1]
		}
		return Found{Value: p.Value, At: r.place(p.Group)}
	}
}

// valueOver returns the least or the greatest value of the accepted points of a metric. If runs were stopped, the
// greatest is that of the known values, and the least is only known if the bounds exclude a smaller one.
func valueOver(metric string, keep func(p *Point) bool, pick func(x ...float64) float64) finder {
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

// last returns the last of its arguments, of which there must be one.
func last[T any](x ...T) T { return x[len(x)-1] }

// leastKnown returns the least value of a series or, if no run finished, the least bound.
func leastKnown(metric, series string) finder {
	return func(r *Report) Found {
		var known, late []Found
		for _, g := range r.Groups(metric) {
			if v, beyond, ok := r.timed(metric, g, series); ok && beyond {
				late = append(late, Found{v, true, r.place(g), ""})
			} else if ok {
				known = append(known, Found{v, false, r.place(g), ""})
			}
		}
		if len(known) == 0 {
			known = late
		}
		return leastOf(series, known)
	}
}

// lateAbove returns a series' value at the first size above a bound or, if it was stopped at a smaller size, that
// bound.
func lateAbove(metric string, size float64, series string) finder {
	return func(r *Report) Found {
		for _, g := range r.Groups(metric) {
			n, ok := numberIn(g, "*")
			v, beyond, there := r.timed(metric, g, series)
			if ok && there && (n > size || beyond) {
				return Found{v, beyond, r.place(g), ""}
			}
		}
		return notMeasured(fmt.Sprintf("%s above %s transactions", series, number(size)))
	}
}

// sum adds the values of the accepted points of a metric.
func sum(metric string, keep func(p *Point) bool) finder {
	return func(r *Report) Found {
		if total, n := r.total(metric, keep); n > 0 {
			return Found{Value: total}
		}
		return notMeasured("this")
	}
}

func mean(metric string, keep func(p *Point) bool) finder {
	return func(r *Report) Found {
		total, n := r.total(metric, keep)
		if n == 0 {
			return notMeasured("this")
		}
		return Found{Value: total / float64(n), At: fmt.Sprintf("in the mean of %d", n)}
	}
}

func (r *Report) total(metric string, keep func(p *Point) bool) (total float64, n int) {
	for i := range r.Points {
		if p := &r.Points[i]; p.Metric == metric && p.Decided() && keep(p) {
			total, n = total+p.Value, n+1
		}
	}
	return total, n
}

func first(of ...finder) finder {
	return func(r *Report) (f Found) {
		for _, find := range of {
			if f = find(r); f.None == "" {
				break
			}
		}
		return f
	}
}

// sibling returns the latest report of another figure at the same scale, or nil.
func (r *Report) sibling(figure string) *Report {
	if r.dir == "" {
		return nil
	}
	o := Report{Figure: figure, Scale: r.Scale}
	was, err := LoadReport(o.Path(r.dir) + ".json")
	if err != nil || !was.Complete {
		return nil
	}
	return was
}

// in measures a claim in another figure that has its numbers.
func in(figure string, find finder) finder {
	return func(r *Report) Found {
		o := r.sibling(figure)
		if o == nil {
			return notMeasured(figure)
		}
		f := find(o)
		return f.at(strings.TrimSpace(f.At + " (" + figure + ")"))
	}
}

// ratio divides one finding by another.
func ratio(of, over finder) finder {
	return func(r *Report) Found { return ratioOf(of(r), over(r)) }
}

func ratioOf(a, b Found) Found {
	switch {
	case a.None != "":
		return a
	case b.None != "":
		return b
	case b.Value == 0 || b.Beyond:
		return notMeasured("what it is compared with")
	}
	return Found{a.Value / b.Value, a.Beyond, fmt.Sprintf("(%s and %s)", number(a.Value), number(b.Value)), ""}
}

// percent returns one finding as a percentage of another.
func percent(of, whole finder) finder {
	return func(r *Report) Found {
		f := ratio(of, whole)(r)
		f.Value, f.At = 100*f.Value, ""
		return f
	}
}

// difference is the difference of two findings.
func difference(more, than finder) finder {
	return func(r *Report) Found {
		a, b := more(r), than(r)
		if a.None != "" || b.None != "" || a.Beyond || b.Beyond {
			return notMeasured("one of both")
		}
		return Found{Value: a.Value - b.Value}
	}
}

// at returns the finding with another place.
func (f Found) at(place string) Found {
	f.At = place
	return f
}

// leastOf and mostOf return the least and the greatest of some findings.
func leastOf(what string, of []Found) Found { return extremeOf(what, of, 1) }

func mostOf(what string, of []Found) Found { return extremeOf(what, of, -1) }

// extremeOf returns the least (sign 1) or the greatest (sign −1) of the findings with a number. If there is none, it
// says that what was not run.
func extremeOf(what string, of []Found, sign float64) Found {
	best, late := notMeasured(what), false
	for _, f := range of {
		if f.None == "" && (best.None != "" || sign*f.Value < sign*best.Value) {
			best = f
		}
		late = late || f.None == "" && f.Beyond
	}
	best.Beyond = best.Beyond || sign < 0 && late // another may be greater than its bound
	return best
}

// counted does the same, and says how many findings there were.
func counted(what string, of []Found, sign float64) Found {
	best := extremeOf(what, of, sign)
	if len(of) > 1 {
		best.At += fmt.Sprintf(", the %s of %d", map[float64]string{1: "least", -1: "most"}[sign], len(of))
	}
	return best
}
