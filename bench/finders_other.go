package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Claims that are judged from the rows of several figures, or from remarks.

// sibling is another figure at the same scale, as it was measured last; nil: it was not.
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

// in measures a claim where its numbers are, in another figure.
func in(figure string, find func(*Report) Found) func(*Report) Found {
	return func(r *Report) Found {
		o := r.sibling(figure)
		if o == nil {
			return notMeasured(figure)
		}
		f := find(o)
		f.At = strings.TrimSpace(f.At + " (" + figure + ")")
		return f
	}
}

// overCobra is what mtc gains over PolySI over what it gains over Cobra in Figure 7, the least of all histories that
// both figures have.
func overCobra(metrics []string) func(*Report) Found {
	return func(r *Report) Found {
		seven := r.sibling("mtc/fig7")
		if seven == nil {
			return notMeasured("mtc/fig7")
		}
		best, n := Found{}, 0
		for _, m := range metrics {
			for _, g := range r.Groups(m) {
				polysi, beyond, ok := r.factor(m, g, "mtc", "polysi")
				cobra, late, there := seven.factor(m, g, "mtc", "cobra")
				if !ok || !there || late || cobra == 0 {
					continue
				}
				if n++; n == 1 || polysi/cobra < best.Value {
					best = Found{polysi / cobra, beyond, fmt.Sprintf("(%s and %s times, %s %s)", number(polysi),
						number(cobra), m, g), ""}
				}
			}
		}
		if n == 0 {
			return notMeasured("Cobra beside PolySI")
		}
		return best
	}
}

// building is what all but solving takes in Figure 1 of BC-graphs over the solving, at the largest size of both.
func building(r *Report) Found {
	one := r.sibling("bc/fig1")
	if one == nil {
		return notMeasured("bc/fig1")
	}
	for _, g := range slices.Backward(r.Groups("solving")) {
		solving, whole := r.Find("solving", g, "bc"), one.Find("time", g, "bc")
		if solving != nil && whole != nil && solving.Value > 0 {
			return Found{(whole.Value - solving.Value) / solving.Value, false, fmt.Sprintf("(%s ms in all, in "+
				"bc/fig1, of which %s solving, %s)", number(whole.Value), number(solving.Value), r.place(g)), ""}
		}
	}
	return notMeasured("bc/fig1 at a size of this figure")
}

// cobraAsBE is the share of classes of which Cobra and BE find as many. Where they differ, and one of them was stopped,
// it is not known.
func cobraAsBE(r *Report) Found {
	for _, g := range r.Groups("found") {
		a, b := r.Find("found", g, "cobra"), r.Find("found", g, "be")
		if a == nil || b == nil || a.Text == b.Text {
			continue
		}
		for _, n := range r.Notes {
			stopped := strings.Contains(n, "(timeout") || strings.Contains(n, "no memory")
			for _, c := range []string{"cobra", "be"} {
				if stopped && strings.HasPrefix(n, c+" misses of "+g+": ") {
					return Found{None: c + " was stopped before it decided, of " + g + " by the time-out or for want " +
						"of memory"}
				}
			}
		}
	}
	return shareOf("found", "classes", func(r *Report, g string) (yes, ok bool) {
		a, b := r.Find("found", g, "cobra"), r.Find("found", g, "be")
		return a != nil && b != nil && a.Text == b.Text, a != nil && b != nil
	})(r)
}

// ratioGroups is a series' value at one group over that at another.
func ratioGroups(metric, group, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		a, b := r.Find(metric, group, series), r.Find(metric, base, series)
		if a == nil || b == nil || b.Value == 0 {
			return notMeasured(series + " " + r.place(group))
		}
		return Found{Value: a.Value / b.Value, At: fmt.Sprintf("(%s and %s)", number(a.Value), number(b.Value))}
	}
}
