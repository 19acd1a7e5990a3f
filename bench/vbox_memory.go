package bench

import (
	"context"
	"strconv"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
)

// What a figure of memory calls the variants of vbox.
const (
	fullClosure    = "vbox, matrix"
	compactClosure = "vbox"
)

// memoryStages are those of vbox and of cobra, in their order.
var memoryStages = []string{theHistory, "prepass", "construction", "closure", "pruning", "encoding", "solving",
	"evidence"}

func vboxMemory(ctx context.Context, lab *Lab, r *Report) error {
	full := Run{Checker: "vbox", Pipeline: check.Pipeline{Closure: "purdom", Pruning: "edges"}, StageMemory: true}
	runs := []struct {
		series string
		run    Run
	}{{compactClosure, Run{Checker: "vbox", StageMemory: true}}, {fullClosure, full},
		{"cobra", Run{Checker: "cobra", StageMemory: true}}}
	err := lab.each(ctx, r, lab.Pick(500, 10_000, 10_000), func(name string, src Source) error {
		for _, of := range runs {
			m, err := lab.Run(ctx, src, vboxLevel, of.run)
			if err != nil {
				return err
			}
			r.addStages(name, of.series, &m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range lab.sizes([]int{500, 1000}, []int{10_000, 20_000, 40_000}, []int{10_000, 20_000, 40_000,
		80_000}) {
		src, err := lab.Source(ctx, datasets.Spec{Workload: "blindw", Variant: "WR", Txns: n})
		if err != nil {
			return err
		}
		for _, of := range runs[:2] {
			m, err := lab.Run(ctx, src, vboxLevel, of.run)
			if err != nil {
				return err
			}
			r.Add(point("growth", strconv.Itoa(n), of.series, &m, m.added("construction", "closure")))
		}
	}
	r.Note("vbox, matrix, is vbox with the full closure in place of the compact one: a matrix of bits.")
	r.Note("Vbox and Cobra have the same solver here. Cobra's is asked more, for without times less is settled before.")
	r.Note("Each stage ends with a collection. What a stage needs while it runs is between what is in use after it " +
		"and what was in use before with all that it allocates. Cobra's stage of pruning makes its closure too.")
	r.Note("The heap of Go alone, without the program; Figure 6 has the peaks of whole processes, which collect " +
		"where Go does.")
	return nil
}

// addStages adds what a run's stages take.
func (r *Report) addStages(name, series string, m *Measured) {
	first := m.stage(theHistory)
	if first == nil || m.Verdict == evidence.Unknown {
		r.Add(point("most", name, series, m, 0))
		return
	}
	group, base, most, solver := name+", "+series, first.LiveMB, 0.0, 0.0
	for _, stage := range memoryStages {
		s := m.stage(stage)
		if s == nil {
			continue // what is settled before needs no solver
		}
		if stage == theHistory {
			r.Add(point("live", group, stage, m, s.LiveMB))
			continue
		}
		r.Add(point("live", group, stage, m, s.LiveMB-base))
		r.Add(point("allocated", group, stage, m, s.AllocatedMB))
		most = max(most, s.LiveMB-base)
		if stage == "encoding" || stage == "solving" {
			solver += s.AllocatedMB
		}
	}
	r.Add(point("most", name, series, m, most))
	if series != fullClosure { // which is solved as vbox is
		r.Add(point("solver", name, series, m, solver))
	}
	if m.stage("closure") != nil {
		r.Add(point("closure", name, series, m, m.added("construction", "closure")))
	}
}

// added is by how much more is in use after a stage than after another.
func (m *Measured) added(before, after string) float64 {
	a, b := m.stage(before), m.stage(after)
	if a == nil || b == nil {
		return 0
	}
	return b.LiveMB - a.LiveMB
}
