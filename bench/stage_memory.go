package bench

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
)

// StageMemory is what a stage of a checker's pipeline takes of the heap.
type StageMemory struct {
	// Stage is its name, as among evidence.Stats.Stages; theHistory is what was loaded before them.
	Stage string `json:"stage"`
	// LiveMB is in use at its end, after a collection; where it ends several times, the most.
	LiveMB float64 `json:"live_mb"`
	// AllocatedMB is all that was allocated while it ran, garbage included: with what was in use before, more than was
	// ever in use at once.
	AllocatedMB float64 `json:"allocated_mb"`
}

// theHistory is the name of what is in use before the first stage.
const theHistory = "loaded"

// stageMeter measures the stages of one run. Each end costs a collection, whose time counts to the stage that follows.
type stageMeter struct {
	mu     sync.Mutex
	stages []StageMemory
	before uint64 // bytes allocated up to the last end of a stage
}

// mark ends a stage; it is a check.Options.Progress.
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

// stage is what a run's stage took; nil: it had none of that name.
func (m *Measured) stage(name string) *StageMemory {
	if i := slices.IndexFunc(m.StageMemory, func(s StageMemory) bool { return s.Stage == name }); i >= 0 {
		return &m.StageMemory[i]
	}
	return nil
}
