package engine

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"sync"

	"isovet/contrib/beam/run"
)

// slots bounds how many tasks a process does at once: runners hand out many, each of which takes memory.
type slots struct {
	mu   sync.Mutex
	busy int
	free chan struct{} // closed when one ends
}

var working = slots{free: make(chan struct{})}

// take waits for one of most slots. It must be given back.
func (s *slots) take(ctx context.Context, most int) error {
	for {
		s.mu.Lock()
		if s.busy < most {
			s.busy++
			s.mu.Unlock()
			return nil
		}
		free := s.free
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-free:
		}
	}
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	close(s.free)
	s.free = make(chan struct{})
}

// defaultMemory is what a process may use where nobody says it.
const defaultMemory = 1 << 30

// few are tasks of which each may take a large part of the memory: so many at once.
var few = map[string]int{"verify partition": 2}

// enter takes a slot for a task, and holds a worker's process to its memory. leave gives it back.
func enter(ctx context.Context, do string, bytes int64) (leave func(), err error) {
	bytes = cmp.Or(bytes, defaultMemory)
	if run.IsWorker() {
		debug.SetMemoryLimit(bytes * 3 / 4)
	}
	most := int(max(1, min(bytes>>27, int64(runtime.GOMAXPROCS(0)))))
	if n := few[do]; n > 0 {
		most = min(most, n)
	}
	if err := working.take(ctx, most); err != nil {
		return nil, err
	}
	return working.give, nil
}
