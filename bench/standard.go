package bench

import (
	"cmp"
	"context"
	"slices"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
)

// standardFigure is the standard workloads by two programs: this one, and one of before the work on hard shapes.
func standardFigure() Figure {
	return Figure{ID: "speed/standard", Title: "the standard workloads, before and now", Where: "docs/performance.md",
		Metrics: []Metric{{"cpu", "CPU time of the whole process, loading and certifying included", "s"},
			{"memory", "peak memory of the process", "MB"},
			{"ratio", "CPU time now, in that of before", "times"}},
		Axis: "workload, checker", Own: true, Bounds: standardBounds, Measure: speedStandard}
}

// standardRepeats is of how many runs, of both programs in turn, a figure is the median; standardBound is how many
// times the time of before is not more than noise.
const (
	standardRepeats = 5
	standardBound   = 1.05
)

// speedStandard measures the six workloads of [Vbox] at serializable. Without another program there is only a "now".
func speedStandard(ctx context.Context, lab *Lab, r *Report) error {
	programs := []struct {
		series string
		argv   []string
	}{{"now", lab.self}}
	if lab.before != nil {
		programs = append(programs, programs[0])
		programs[0].series, programs[0].argv = "before", lab.before
	} else {
		r.Note("There is no program of before to compare with: --before.")
	}
	timeout := lab.Timeout
	if lab.Scale == DefaultScale {
		timeout = max(timeout, speedTimeout)
	}
	for _, w := range vboxWorkloads() {
		txns := lab.Pick(200, 100_000, 100_000)
		if w.workload == "blindw-pred" {
			txns = lab.Pick(200, 10_000, 10_000) // whose transactions have a hundred rows
		}
		src, err := lab.Source(ctx, datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: txns})
		if err != nil {
			return err
		}
		for _, checker := range []string{"replay", "vbox"} {
			group := w.name + ", " + checker
			runs := make([][]Measured, len(programs))
			for range lab.Pick(1, standardRepeats, standardRepeats) {
				for i, p := range programs {
					lab.tell(group + ", " + p.series)
					m, err := runChild(ctx, p.argv, Run{Checker: checker, Level: level.Serializable,
						History: src.Path, Timeout: timeout})
					if err == nil && m.BadInput != "" {
						err = &BadHistory{m.BadInput}
					}
					if err != nil {
						return err
					}
					lab.wall, lab.cpu = lab.wall+m.WallMS, lab.cpu+m.CPUMS
					runs[i] = append(runs[i], m)
				}
			}
			for i, p := range programs {
				r.Add(middle("cpu", group, p.series, runs[i], func(m *Measured) float64 { return m.CPUMS / 1e3 }))
				r.Add(middle("memory", group, p.series, runs[i], func(m *Measured) float64 { return m.Stats.PeakMB }))
			}
			before, now := r.Find("cpu", group, "before"), r.Find("cpu", group, "now")
			if before != nil && now != nil && before.Value > 0 {
				r.Add(Point{Metric: "ratio", Group: group, Series: "now", Value: now.Value / before.Value,
					Verdict: evidence.Holds})
			}
		}
	}
	return nil
}

// middle is the median of runs, or one that came to no verdict.
func middle(metric, group, series string, runs []Measured, of func(*Measured) float64) Point {
	for i := range runs {
		if m := &runs[i]; m.Verdict == evidence.Unknown {
			return point(metric, group, series, m, of(m))
		}
	}
	slices.SortFunc(runs, func(a, b Measured) int { return cmp.Compare(of(&a), of(&b)) })
	m := &runs[len(runs)/2]
	return point(metric, group, series, m, of(m))
}

// standardBounds makes a claim of every workload and checker that both programs ran.
func standardBounds(r *Report) []Saying {
	var out []Saying
	for _, g := range r.Groups("cpu") {
		if r.Find("cpu", g, "before") != nil {
			out = append(out, Saying{Says: g, Sense: AtMost, Number: standardBound, Unit: "times the time of before",
				Find: whole("ratio", g, "now")})
		}
	}
	return out
}
