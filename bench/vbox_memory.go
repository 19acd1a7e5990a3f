package bench

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
)

// The names of vbox's variants in figures of memory.
const (
	fullClosure    = "vbox, matrix"
	compactClosure = "vbox"
)

// memoryStages are the stages of vbox and cobra, in order.
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
			r.Add(point("growth", strconv.Itoa(n), of.series, &m, fixed(m.added("construction", "closure"))))
		}
	}
	return nil
}

// addStages adds the memory of a run's stages.
func (r *Report) addStages(name, series string, m *Measured) {
	first := m.stage(theHistory)
	if first == nil || m.Verdict == evidence.Unknown {
		r.Add(point("most", name, series, m, fixed(0)))
		return
	}
	group, base, most, solver := name+", "+series, first.LiveMB, 0.0, 0.0
	for _, stage := range memoryStages {
		s := m.stage(stage)
		if s == nil {
			continue // what is settled before needs no solver
		}
		if stage == theHistory {
			r.Add(point("live", group, stage, m, fixed(s.LiveMB)))
			continue
		}
		r.Add(point("live", group, stage, m, fixed(s.LiveMB-base)))
		r.Add(point("allocated", group, stage, m, fixed(s.AllocatedMB)))
		most = max(most, s.LiveMB-base)
		if stage == "encoding" || stage == "solving" {
			solver += s.AllocatedMB
		}
	}
	r.Add(point("most", name, series, m, fixed(most)))
	if series != fullClosure { // which is solved as vbox is
		r.Add(point("solver", name, series, m, fixed(solver)))
	}
	if m.stage("closure") != nil {
		r.Add(point("closure", name, series, m, fixed(m.added("construction", "closure"))))
	}
}

// added returns the growth of the heap in use between the ends of two stages.
func (m *Measured) added(before, after string) float64 {
	a, b := m.stage(before), m.stage(after)
	if a == nil || b == nil {
		return 0
	}
	return b.LiveMB - a.LiveMB
}

// StageMemory is the heap of a stage of a checker's pipeline.
type StageMemory struct {
	// Stage is its name in evidence.Stats.Stages, or theHistory for the loaded history.
	Stage string `json:"stage"`
	// LiveMB is the heap in use at its end, after a collection. If the stage ends several times, it is the greatest.
	LiveMB float64 `json:"live_mb"`
	// AllocatedMB is everything that was allocated while it ran, including garbage. Together with the heap in use
	// before, it exceeds what was in use at any time.
	AllocatedMB float64 `json:"allocated_mb"`
}

// theHistory is the name for the heap in use before the first stage.
const theHistory = "loaded"

// stageMeter measures the stages of one run. At the end of each it collects garbage, in the time of the next stage.
type stageMeter struct {
	mu     sync.Mutex
	stages []StageMemory
	before uint64 // bytes allocated up to the last end of a stage
}

// mark ends a stage. It can be used as check.Options.Progress.
func (m *stageMeter) mark(stage string, done, total int) {
	if done < total {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.stages, func(s StageMemory) bool { return s.Stage == stage })
	if i < 0 {
		i = len(m.stages)
		m.stages = append(m.stages, StageMemory{Stage: stage})
	}
	if m.before == 0 {
		runtime.GC() // pools of who loaded the history keep what they have for one more
	}
	runtime.GC() // it counts, too, what each processor's cache has handed out
	in := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(in)
	now, s := in[0].Value.Uint64(), &m.stages[i]
	s.AllocatedMB += float64(now-m.before) / 1e6
	s.LiveMB = max(s.LiveMB, float64(in[1].Value.Uint64())/1e6)
	m.before = now
}

// stage returns the memory of a run's stage, or nil.
func (m *Measured) stage(name string) *StageMemory {
	if i := slices.IndexFunc(m.StageMemory, func(s StageMemory) bool { return s.Stage == name }); i >= 0 {
		return &m.StageMemory[i]
	}
	return nil
}
