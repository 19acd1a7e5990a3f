package bench

import (
	"slices"
	"strings"

	"isovet/check"
)

// Cobra's first closure is Warshall's by default, as the paper's is, which computes it on a GPU. Purdom's takes a small
// part of that time here, so figures show both, and what the papers claim of Cobra is compared with both.

// byPurdom ends the name of a series of Cobra's whose first closure is Purdom's.
const byPurdom = ", Purdom"

// rival is the run that a series' name stands for: a checker, or one byPurdom.
func rival(series string) Run {
	checker, purdom := strings.CutSuffix(series, byPurdom)
	run := Run{Checker: checker}
	if purdom {
		run.Pipeline = check.Pipeline{Closure: "purdom"}
	}
	return run
}

// purdomNote says what the series are.
const purdomNote = "Cobra's first closure is Warshall's, as in its paper, which has a GPU for it; in the series with " +
	"\"Purdom\" it is Purdom's (cobra:purdom), which is faster without a GPU."

// warshallTakes is by how much Cobra's time grows by Warshall's closure, at the least.
func warshallTakes(r *Report) Found {
	var all []Found
	for _, p := range r.Points {
		whole := strings.Replace(p.Series, byPurdom, "", 1)
		if whole == p.Series || p.Metric == "memory" || p.Metric == "parts" { // the solver's part does not grow
			continue
		}
		if f, beyond, ok := r.factor(p.Metric, p.Group, p.Series, whole); ok {
			all = append(all, Found{f, beyond, r.place(p.Group) + ", the least", ""})
		}
	}
	return leastOf("Cobra by both closures", all)
}

// underPurdom measures a claim about Cobra by its series by Purdom's closure.
func underPurdom(find finder) finder {
	return func(r *Report) Found { return find(r.byPurdoms()) }
}

// shownUnderPurdom is that of a reason.
func shownUnderPurdom(of showing) showing {
	return func(r *Report) (string, bool) { return of(r.byPurdoms()) }
}

// byPurdoms is the report with Cobra's series by Purdom's closure in the place of those by Warshall's.
func (r *Report) byPurdoms() *Report {
	replaced := map[string]bool{}
	for _, p := range r.Points {
		if strings.Contains(p.Series, byPurdom) {
			replaced[strings.Replace(p.Series, byPurdom, "", 1)] = true
		}
	}
	out := *r
	out.Points = slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool {
		return replaced[p.Series] || len(replaced) == 0 && strings.Contains(p.Series, "cobra")
	})
	for i := range out.Points {
		out.Points[i].Series = strings.Replace(out.Points[i].Series, byPurdom, "", 1)
	}
	return &out
}
