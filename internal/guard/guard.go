// Package guard runs work under a time-out and a memory bound, and says why it was stopped.
package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Limits bound the time and memory of work. The zero value has only the limits of the machine.
type Limits struct {
	Timeout time.Duration
	Memory  int64         // bytes; 0: none
	Used    time.Duration // of timeout
}

// HeldElsewhere is memory that counts as the process's own: that of its keeper.
var HeldElsewhere int64

var (
	ErrTimeout = errors.New("timeout")
	ErrMemory  = errors.New("memory bound")
	ErrMachine = errors.New("out of memory")
)

// Grace is how long work that was told to stop may take to return what it knows, before it is left behind. The answer
// without it, and the end of the process, must come within 0.3 s of the limit.
const Grace = 70 * time.Millisecond

// StoppedError says that work was stopped, and why. Its text is the reason of an unknown verdict.
type StoppedError struct {
	Cause error // errTimeout, errMemory, errMachine or errInterrupted
	Text  string
}

func (s *StoppedError) Error() string { return s.Text }
func (s *StoppedError) Unwrap() error { return s.Cause }

// LeftBehind says that work which did not stop in time may still run in this process.
var LeftBehind atomic.Bool

// Run runs work within limits, in its own goroutine, so that work that ignores its context cannot delay the answer. A
// panic is returned as a fault. If work was stopped, the error is a *StoppedError, unless work itself returned in time
// without error. Work that needs longer than Grace to stop, or still takes memory beyond the bound, is left behind.
// Work whose limit has passed already does not begin.
func Run[T any](ctx context.Context, l Limits, stage func() string, work func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.Timeout > 0 { // a deadline that work can see, to divide its time by
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, l.Timeout-l.Used, ErrTimeout)
		defer stop()
	}
	urgent := make(chan struct{}) // closed where memory grows on although work was told to stop
	m := newMeter(l.Memory)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(m.soft()))
	finished, watched := make(chan struct{}), make(chan struct{})
	again := m.look(cancel, urgent) // with a high load the work may end before the next look
	if ctx.Err() != nil {           // a limit that has passed leaves no work to a fast machine
		return *new(T), &StoppedError{Cause: context.Cause(ctx), Text: l.Reason(context.Cause(ctx), stage())}
	}
	go func() {
		defer close(watched)
		if again {
			m.watch(cancel, urgent, finished)
		}
	}()
	defer func() { close(finished); <-watched }()
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a.err = &Panicked{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
			}
			done <- a
		}()
		a.v, a.err = work(ctx)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		late := time.NewTimer(Grace)
		defer late.Stop()
		select {
		case a = <-done:
		case <-urgent:
			a.err = context.Cause(ctx)
			LeftBehind.Store(true)
		case <-late.C:
			a.err = context.Cause(ctx)
			LeftBehind.Store(true)
		}
	}
	if cause := context.Cause(ctx); a.err != nil && (errors.Is(a.err, context.Canceled) || errors.Is(a.err,
		context.DeadlineExceeded) || errors.Is(a.err, cause)) && cause != nil {
		a.err = &StoppedError{Cause: cause, Text: l.Reason(cause, stage())}
	}
	return a.v, a.err
}

// Reason returns the text that says why work was stopped.
func (l Limits) Reason(cause error, stage string) string {
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		return fmt.Sprintf("timeout: %v passed while %s", l.Timeout, stage)
	case errors.Is(cause, ErrMemory):
		return fmt.Sprintf("memory bound: %s reached while %s", BytesText(l.Memory), stage)
	case errors.Is(cause, ErrMachine):
		return fmt.Sprintf("out of memory while %s: isovet leaves a tenth of the free memory to other programs; "+
			"--memory sets another bound", stage)
	case errors.Is(cause, ErrInterrupted):
		return "interrupted while " + stage
	}
	return fmt.Sprintf("%v while %s", cause, stage)
}

// BytesText writes a number of bytes with a unit, exactly if possible.
func BytesText(n int64) string {
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

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = errors.New("interrupted")

// Panicked says that work panicked.
type Panicked struct{ text string }

func (p *Panicked) Error() string { return p.text }
