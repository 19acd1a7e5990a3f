package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// limits bound a piece of work. The zero value bounds nothing but what the machine does.
type limits struct {
	timeout time.Duration
	memory  int64         // bytes; 0: none
	used    time.Duration // of timeout
}

// heldElsewhere are bytes that count as the process's own: those of its keeper.
var heldElsewhere int64

var (
	errTimeout = errors.New("timeout")
	errMemory  = errors.New("memory bound")
	errMachine = errors.New("out of memory")
)

// grace is how long work that was told to stop may take to hand over what it knows, before it is left behind. The
// answer that is then given without it, and the end of the process, must come within 0.3 s of the limit.
const grace = 70 * time.Millisecond

// stoppedError says that work was stopped and why; its text is the reason of an unknown verdict.
type stoppedError struct {
	cause error // errTimeout, errMemory, errMachine or errInterrupted
	text  string
}

func (s *stoppedError) Error() string { return s.text }
func (s *stoppedError) Unwrap() error { return s.cause }

// status is the exit status of work that was stopped.
func (s *stoppedError) status() int {
	if errors.Is(s.cause, errInterrupted) {
		return statusInterrupted
	}
	return statusUnknown
}

// leftBehind says that work which did not stop in time may still be running in this process.
var leftBehind atomic.Bool

// guard runs work under limits, in a goroutine of its own so that work which does not look at its context cannot hold
// up the answer. Panics come back as faults. If work was stopped, the error is a *stoppedError unless work itself
// returned in time without one. Work that takes longer than grace to stop, or goes on taking memory beyond the bound,
// is left behind.
func guard[T any](ctx context.Context, l limits, stage func() string, work func(context.Context) (T, error)) (T,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.timeout > 0 { // a deadline that work can see, to divide its time by
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, l.timeout-l.used, errTimeout)
		defer stop()
	}
	urgent := make(chan struct{}) // closed where memory grows on although work was told to stop
	m := newMeter(l.memory)
	old := debug.SetMemoryLimit(m.soft())
	defer debug.SetMemoryLimit(old)
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		m.watch(cancel, urgent, finished)
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
		case <-urgent:
			a.err = context.Cause(ctx)
			leftBehind.Store(true)
		case <-late.C:
			a.err = context.Cause(ctx)
			leftBehind.Store(true)
		}
	}
	if cause := context.Cause(ctx); a.err != nil && (errors.Is(a.err, context.Canceled) || errors.Is(a.err,
		context.DeadlineExceeded) || errors.Is(a.err, cause)) && cause != nil {
		a.err = &stoppedError{cause: cause, text: l.reason(cause, stage())}
	}
	return a.v, a.err
}

// reason says for people why work was stopped.
func (l limits) reason(cause error, stage string) string {
	switch {
	case errors.Is(cause, errTimeout), errors.Is(cause, context.DeadlineExceeded):
		return fmt.Sprintf("timeout: %v passed while %s", l.timeout, stage)
	case errors.Is(cause, errMemory):
		return fmt.Sprintf("memory bound: %s reached while %s", bytesText(l.memory), stage)
	case errors.Is(cause, errMachine):
		return fmt.Sprintf("out of memory: this machine has no more for the program, which leaves a tenth of what was "+
			"free, while %s; --memory sets another bound", stage)
	case errors.Is(cause, errInterrupted):
		return "interrupted while " + stage
	}
	return fmt.Sprintf("%v while %s", cause, stage)
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
