package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// between is by how much a series grows from one group to another.
func between(metric, series, from, to string) func(*Report) Found {
	return func(r *Report) Found {
		a := r.Find(metric, from, series)
		v, beyond, ok := r.timed(metric, to, series)
		if a == nil || a.Value == 0 || !ok {
			return notMeasured(series + " at " + from + " and at " + to)
		}
		return Found{v / a.Value, beyond, fmt.Sprintf("(%s and %s)", number(a.Value), number(v)), ""}
	}
}

// above keeps groups that are numbers above a bound, upTo the others.
func above(bound float64) func(string) bool {
	return func(g string) bool {
		v, err := strconv.ParseFloat(g, 64)
		return err == nil && v > bound
	}
}

func upTo(bound float64) func(string) bool {
	return func(g string) bool {
		v, err := strconv.ParseFloat(g, 64)
		return err == nil && v <= bound
	}
}

// first is the first of several findings that is one.
func first(of ...func(*Report) Found) func(*Report) Found {
	return func(r *Report) (f Found) {
		for _, find := range of {
			if f = find(r); f.None == "" {
				break
			}
		}
		return f
	}
}

// clausesOf is how many clauses one encoding has over another's, at the most over all instances.
func clausesOf(ours, other string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series("clauses") {
			a, b := r.Find("clauses", ours, s), r.Find("clauses", other, s)
			if a == nil || b == nil || b.Value == 0 {
				continue
			}
			if n++; n == 1 || a.Value/b.Value > best.Value {
				best = Found{a.Value / b.Value, false, fmt.Sprintf("(%s and %s, %s)", number(a.Value),
					number(b.Value), s), ""}
			}
		}
		if n == 0 {
			return notMeasured(other)
		}
		return best
	}
}

func leastBySeries(metric, slow, fast string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series(metric) {
			a, b := r.Find(metric, fast, s), (*Point)(nil)
			if a == nil || a.Value == 0 {
				continue
			}
			v, beyond, ok := r.timed(metric, slow, s)
			if b = r.Find(metric, slow, s); !ok && b == nil {
				continue
			}
			if n++; n == 1 || v/a.Value < best.Value {
				best = Found{v / a.Value, beyond, slow + ", " + s, ""}
			}
		}
		if n == 0 {
			return notMeasured(slow)
		}
		if n > 1 {
			best.At += fmt.Sprintf(", the least of %d", n)
		}
		return best
	}
}

// foundOf reads "11/13".
func foundOf(p *Point) (found, of float64, ok bool) {
	a, b, cut := strings.Cut(p.Text, "/")
	found, err := strconv.ParseFloat(a, 64)
	of, err2 := strconv.ParseFloat(b, 64)
	return found, of, cut && err == nil && err2 == nil && of > 0
}

// foundAll is the share of a class's anomalies that a checker finds.
func foundAll(class, checker string) func(*Report) Found {
	return func(r *Report) Found {
		if p := r.Find("found", class, checker); p != nil {
			if found, of, ok := foundOf(p); ok {
				return Found{found / of, false, fmt.Sprintf("%.0f of %.0f", found, of), ""}
			}
		}
		return notMeasured(class)
	}
}

// misses is how many anomalies a checker does not find, of all classes.
func misses(checker string) func(*Report) Found {
	return func(r *Report) Found {
		found, of, ok := 0.0, 0.0, false
		for _, g := range r.Groups("found") {
			if p := r.Find("found", g, checker); p != nil {
				if x, n, is := foundOf(p); is {
					found, of, ok = found+x, of+n, true
				}
			}
		}
		if !ok {
			return notMeasured(checker)
		}
		return Found{of - found, false, fmt.Sprintf("of %.0f", of), ""}
	}
}

// leastKnown is the least value of a series; where none came to an end the least that one is beyond.
func leastKnown(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		best := notMeasured(series)
		for i := range r.Points {
			p := &r.Points[i]
			if p.Metric != metric || p.Series != series {
				continue
			}
			v, beyond := p.Value, false
			if !p.Decided() {
				bound, below, ok := r.bound(p)
				if !ok || below {
					continue
				}
				v, beyond = bound, true
			}
			if best.None != "" || best.Beyond && !beyond || best.Beyond == beyond && v < best.Value {
				best = Found{v, beyond, r.place(p.Group), ""}
			}
		}
		return best
	}
}

// lateAbove is a series' value at the first size above a bound, or where it was stopped before: it was not asked again.
func lateAbove(metric string, size float64, series string) func(*Report) Found {
	return func(r *Report) Found {
		for _, g := range r.Groups(metric) {
			n, ok := numberIn(g, "")
			v, beyond, there := r.timed(metric, g, series)
			if ok && there && (n > size || beyond) {
				return Found{v, beyond, r.place(g), ""}
			}
		}
		return notMeasured(fmt.Sprintf("%s above %s transactions", series, number(size)))
	}
}

// steepening compares the factors of the last and of the first step at which a series has values.
func steepening(metric, series string) func(*Report) Found {
	return func(r *Report) Found {
		var is []float64
		for _, g := range r.Groups(metric) {
			if p := r.Find(metric, g, series); p != nil && p.Value > 0 {
				is = append(is, p.Value)
			}
		}
		n := len(is)
		if n < 3 {
			return notMeasured(series + " at three sizes")
		}
		first, last := is[1]/is[0], is[n-1]/is[n-2]
		return Found{last / first, false, fmt.Sprintf("(%s and %s times)", number(last), number(first)), ""}
	}
}

// leopardFewest says whether leopard finds no more of a class than any other.
func leopardFewest(r *Report, class string) (yes, ok bool) {
	own := r.Find("found", class, "leopard")
	if own == nil {
		return false, false
	}
	for _, o := range []string{"vbox", "cobra", "be"} {
		if p := r.Find("found", class, o); p != nil && own.Value > p.Value {
			return false, true
		}
	}
	return true, true
}

// unprunedFactor: where nothing is pruned the factor over gini is three orders of magnitude.
func unprunedFactor(r *Report) (string, bool) {
	for _, s := range r.Series("time") {
		f, _, ok := r.between("time", s, "cdcl-closure, vbox", "gini-eager")
		if ok && strings.HasPrefix(s, "unpruned") {
			return s + ": " + number(f) + " times", f >= 1000
		}
	}
	return "", false
}
