package bench

import (
	"context"
	"fmt"
	"strings"

	"isovet/check"
	"isovet/datasets"
	"isovet/datasets/hard"
	"isovet/evidence"
)

// vboxHard compares solvers on contended histories, on formulas as histories (3-SAT at the threshold, the pigeonhole
// principle), and on TPC-C without times and without pruning, since pruning would settle all choices.
func vboxHard(ctx context.Context, lab *Lab, r *Report) error {
	var sets []solverSet
	for _, f := range []struct {
		family, unit string
		size         int
	}{
		{"contended", "transactions", lab.Pick(40, 200, 400)}, {"3sat", "variables", lab.Pick(0, 10, 20)},
		{"pigeonhole", "holes", lab.Pick(1, 3, 4)},
	} {
		if f.size == 0 {
			r.Note("%s is left out at the quick scale: the eager encodings take too long.", f.family)
			continue
		}
		in, err := hard.Lookup(f.family)
		if err != nil {
			return err
		}
		h, err := in.Build(ctx, f.size, lab.Seed)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s, %d %s", f.family, f.size, f.unit)
		src, err := lab.File(fmt.Sprintf("%s-%d", f.family, f.size), h)
		if err != nil {
			return err
		}
		sets = append(sets, solverSet{name, src, in.Level, check.Pipeline{}})
	}
	n := lab.Pick(40, 150, 400)
	src, err := lab.Source(ctx, datasets.Spec{Workload: "tpcc", Txns: n, Times: datasets.NoTimes})
	if err != nil {
		return err
	}
	sets = append(sets, solverSet{fmt.Sprintf("TPC-C unpruned, %d transactions", n), src, vboxLevel,
		check.Pipeline{Pruning: "none"}})
	solvers := comparedSolvers(r)
	for _, set := range sets {
		first, same, decided := evidence.Unknown, 0, 0
		err := compareSolvers(ctx, lab, set, solvers, func(series string, m *Measured) {
			r.Add(point("time", series, set.name, m, solving))
			if strings.HasPrefix(series, "cdcl") {
				r.Add(point("conflicts", series, set.name, m, fixed(float64(m.Stats.Conflicts))))
			}
			if m.Verdict == evidence.Unknown {
				return
			}
			if decided++; first == evidence.Unknown {
				first = m.Verdict
			}
			if m.Verdict == first {
				same++
			} else {
				r.Add(Point{Metric: "fault", Group: series, Series: set.name, Fault: true,
					Reason: fmt.Sprintf("it says %s, others %s", m.Verdict, first)})
			}
		})
		if err != nil {
			return err
		}
		r.Add(Point{Metric: "agree", Group: "all", Series: set.name, Value: float64(same) / float64(max(1, decided)),
			Text: fmt.Sprintf("%d/%d: %s", same, decided, first), Verdict: first})
	}
	return nil
}

// mostConflicts returns the greatest number of conflicts that one of our own solvers had in a set.
func mostConflicts(set string) finder {
	return func(r *Report) Found {
		f := Found{None: "no solver of ours decided"}
		for _, p := range r.Points {
			if p.Metric == "conflicts" && p.Series == set && p.Decided() && (f.None != "" || p.Value > f.Value) {
				f = Found{Value: p.Value, At: "(" + p.Group + ")"}
			}
		}
		return f
	}
}

// agreeing counts the solvers that decide a set and agree with the first one. The point's text is "21/21: valid".
func agreeing(set string) finder {
	return func(r *Report) Found {
		f := valueAt("agree", "all", set)(r)
		if p := r.Find("agree", "all", set); p != nil {
			same, of, _ := strings.Cut(p.Text, "/")
			of, _, _ = strings.Cut(of, ":")
			f.At = same + " of " + of
		}
		return f
	}
}

// hardBounds makes the claims that our own solver has conflicts, and that all solvers that decide agree.
func hardBounds(r *Report) []Saying {
	var out []Saying
	for _, p := range r.Points {
		if p.Metric == "agree" {
			set := p.Series
			out = append(out,
				Saying{Says: "all that decide agree on " + set, Sense: AtLeast, Number: 1, Unit: all,
					Find: agreeing(set)},
				Saying{Says: "a solver of ours has conflicts in " + set, Sense: MoreThan, Number: 0, Unit: "conflicts",
					Find: mostConflicts(set)})
		}
	}
	return out
}
