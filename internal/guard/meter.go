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

// meter measures the memory that the process holds, and says when it is too much: more than was asked for, or all that
// there is.
type meter struct {
	bound   int64 // bytes that were asked for; 0: none
	machine int64 // bytes that the process can have without a bound, see freeMemory; 0: nobody knows
	samples []metrics.Sample
	gave    time.Time // when mapped files were given back last
}

// How often the meter looks: growth of a few MB between two looks where a bound was set, which costs one percent; of a
// hundredth of what the machine has otherwise.
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

// soft is the limit from which on the Go runtime collects garbage all the time rather than take more: what is left of
// the bound beside the program itself and what is mapped.
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

// held returns the memory that the process holds as others see it (its resident set, the program and mapped files
// included) or, where that is more, what the Go runtime has taken, since it will be touched in a moment; its keeper's
// is added.
func (m *meter) held() int64 {
	metrics.Read(m.samples)
	taken := int64(m.samples[0].Value.Uint64() - m.samples[1].Value.Uint64())
	rss, shared, _ := resident()
	return max(rss, taken+shared) + HeldElsewhere
}

// watch looks again and again until finished is closed.
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

// look cancels with ErrMemory or ErrMachine if the process holds too much. It returns false if nobody need look again:
// there is no limit, or the work must be left behind at once, for which look closes urgent.
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

// Own is what of the process's resident set is its alone, in bytes: the pages of the program's file are those of the
// process that it keeps, too, and how many are resident depends on how the file lies in the system's cache.
func Own() int64 {
	rss, shared, _ := resident()
	return rss - shared
}
