package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// limits bound a piece of work. The zero value bounds nothing.
type limits struct {
	timeout time.Duration
	memory  int64 // bytes; 0: none
}

var (
	errTimeout = errors.New("timeout")
	errMemory  = errors.New("memory bound")
)

// grace is how long work that was told to stop may take to hand over what it knows, before it is left behind.
const grace = time.Second

// stoppedError says that work was stopped and why; its text is the reason of an unknown verdict.
type stoppedError struct {
	cause error // errTimeout, errMemory or errInterrupted
	text  string
}

func (s *stoppedError) Error() string { return s.text }
func (s *stoppedError) Unwrap() error { return s.cause }

// guard runs work under limits, in a goroutine of its own so that work which does not look at its context cannot hold up the
// answer. Panics come back as faults. If work was stopped, the error is a *stoppedError unless work itself returned in time
// without one.
func guard[T any](ctx context.Context, l limits, stage func() string, work func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.timeout > 0 {
		t := time.AfterFunc(l.timeout, func() { cancel(errTimeout) })
		defer t.Stop()
	}
	if l.memory > 0 {
		debug.FreeOSMemory() // what an earlier history left does not count
		old := debug.SetMemoryLimit(l.memory)
		defer debug.SetMemoryLimit(old)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			watchMemory(ctx, l.memory, func() { cancel(errMemory) })
		}()
		defer func() { cancel(nil); <-watched }()
	}
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a.err = faultf("panic: %v\n%s", r, debug.Stack())
			}
			done <- a
		}()
		a.v, a.err = work(ctx)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case a = <-done:
		case <-late.C:
			a.err = context.Cause(ctx)
		}
	}
	if cause := context.Cause(ctx); a.err != nil && (errors.Is(a.err, context.Canceled) || errors.Is(a.err, context.DeadlineExceeded) || errors.Is(a.err, cause)) && cause != nil {
		a.err = &stoppedError{cause: cause, text: l.reason(cause, stage())}
	}
	return a.v, a.err
}

// reason says for people why work was stopped.
func (l limits) reason(cause error, stage string) string {
	switch {
	case errors.Is(cause, errTimeout):
		return fmt.Sprintf("timeout: %v passed while %s", l.timeout, stage)
	case errors.Is(cause, errMemory):
		return fmt.Sprintf("memory bound: %s reached while %s", bytesText(l.memory), stage)
	case errors.Is(cause, errInterrupted):
		return "interrupted while " + stage
	}
	return fmt.Sprintf("%v while %s", cause, stage)
}

// watchMemory calls over once the Go runtime holds more than bound bytes. It asks every 5 ms, which costs some microseconds.
func watchMemory(ctx context.Context, bound int64, over func()) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(samples)
		if held := samples[0].Value.Uint64() - samples[1].Value.Uint64(); held > uint64(bound) {
			over()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// bytesText writes a number of bytes with a unit, exact where it can be.
func bytesText(n int64) string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n >= u.n && n%u.n == 0 {
			return fmt.Sprintf("%d %s", n/u.n, u.name)
		}
	}
	if n < 1e6 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MB", math.Round(float64(n)/1e5)/10)
}
