package guard

import (
	"cmp"
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"isovet/internal/mapped"
)

// meter measures the memory of the process and detects when it is too much: more than the bound, or all that there is.
type meter struct {
	bound   int64 // bytes that were asked for; 0: none
	machine int64 // bytes that the process can have without a bound, see freeMemory; 0: nobody knows
	samples []metrics.Sample
	gave    time.Time // when mapped files were given back last
}

// How often the meter measures: memory grows by a few MB between two measurements if there is a bound, which costs one
// per cent of the time; otherwise by a hundredth of the machine's memory.
const (
	lookBound   = time.Millisecond
	LookMachine = 20 * time.Millisecond
	giveEvery   = 10 * time.Millisecond
)

func newMeter(bound int64) *meter {
	if bound > 0 {
		debug.FreeOSMemory() // what an earlier history left does not count
	}
	return &meter{bound: bound, machine: freeMemory(),
		samples: []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}}
}

// soft is the limit above which the Go runtime prefers collecting garbage to taking memory: the bound without the
// program and mapped files.
func (m *meter) soft() int64 {
	if m.bound > 0 {
		_, shared, _ := resident()
		return max(m.bound-m.bound/20-shared-HeldElsewhere, 4<<20)
	}
	if m.machine > 0 {
		return m.machine - m.machine/8
	}
	return math.MaxInt64
}

// held returns the memory of the process: its resident set, which includes the program and mapped files, or what the
// Go runtime has taken if that is more, since it will soon be used. It adds the keeper's memory.
func (m *meter) held() int64 {
	metrics.Read(m.samples)
	taken := int64(m.samples[0].Value.Uint64() - m.samples[1].Value.Uint64())
	rss, shared, _ := resident()
	return max(rss, taken+shared) + HeldElsewhere
}

// watch calls look again and again until finished is closed.
func (m *meter) watch(cancel context.CancelCauseFunc, urgent chan<- struct{}, finished <-chan struct{}) {
	every := LookMachine
	if m.bound > 0 {
		every = lookBound
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for m.look(cancel, urgent) {
		select {
		case <-finished:
			return
		case <-tick.C:
		}
	}
}

// look cancels with ErrMemory or ErrMachine if the process holds too much. It returns false if it need not be called
// again: there is no limit, or the work must be left behind at once. Then look closes urgent.
func (m *meter) look(cancel context.CancelCauseFunc, urgent chan<- struct{}) bool {
	if m.bound == 0 && m.machine == 0 {
		return false
	}
	h := m.held()
	most := cmp.Or(m.bound, m.machine)
	if h > most-most/8 && time.Since(m.gave) > giveEvery {
		m.gave = time.Now()
		mapped.Release()
		h = m.held()
	}
	switch {
	case m.bound > 0 && h > m.bound:
		cancel(ErrMemory)
		if h > m.bound+m.bound/50 {
			close(urgent)
			return false
		}
	case m.machine > 0 && exhausted(h, m.machine):
		cancel(ErrMachine)
		close(urgent)
		return false
	}
	return true
}

// Own returns the part of the process's resident set that is its own, in bytes. The pages of the program's file are
// shared with the process that it supervises, and how many are resident depends on the system's cache.
func Own() int64 {
	rss, shared, _ := resident()
	return rss - shared
}
