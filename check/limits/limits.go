// Package limits checks histories in files under a time-out and a memory bound. If memory is not enough, it continues
// with files on disk. Command check runs it in a process for each history, which also survives if the system kills a
// process that takes too much.
//
// Files: limits.go: in memory first; outofcore.go: with files on disk.
//
// Experimental: this package may still change.
package limits

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"isovet/check"
	"isovet/check/spill"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/guard"
	"isovet/level"
)

// Options say how a history is checked.
type Options struct {
	check.Options
	Checker string         // "": check.AutoName
	Files   format.Options // how the files are read
	// Timeout bounds the whole check; 0 means none.
	Timeout time.Duration
	// Memory bounds the memory of the process, in bytes, with the program itself. 0 means nine tenths of the free
	// memory, and if that is reached the verdict is unknown.
	Memory int64
	// Dir is the folder for files on disk; "" means a new temporary folder, which is removed.
	Dir string
}

// LeastMemory is the least memory for checking a history out of core, DefaultMemory the memory for that if none is
// given.
const (
	LeastMemory   = 32 << 20
	DefaultMemory = 1 << 30
)

// Spills reports whether a level can be decided out of core, with the given memory (0: none is given).
func Spills(l level.Level, memory int64) bool {
	return (memory <= 0 || memory >= LeastMemory) && slices.Contains(spill.LevelsOf(spill.CheckerOf(l)), l)
}

// Check checks the history of some files or folders. It does so in memory if that is large enough, and else with files
// on disk, unless the options name a checker or a solver. A reached limit is an answer: unknown, with the reason. Work
// that does not stop in time is left in a goroutine. Errors: *history.InputError and others about the files, and
// *guard.Panicked, a fault.
//
// Cost: that of check.Run; if memory was not enough, that of spill.Check too.
func Check(ctx context.Context, paths []string, o Options) (*evidence.Result, error) {
	began := time.Now()
	o.Checker = cmp.Or(o.Checker, check.AutoName)
	l := guard.Limits{Timeout: o.Timeout, Memory: o.Memory}
	r, err := inMemory(ctx, paths, l, o)
	stopped, ok := errors.AsType[*guard.StoppedError](err)
	if !ok {
		return r, err
	}
	r = &evidence.Result{Level: o.Level, Checker: o.Checker, Solver: o.Solver, Reason: stopped.Text}
	named := o.Checker != check.AutoName || o.Solver != ""
	if named || !errors.Is(stopped, guard.ErrMemory) || !Spills(o.Level, o.Memory) {
		return r, nil
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "isovet-spill-"); err != nil {
			return r, nil // keep the answer so far
		}
		defer os.RemoveAll(o.Dir)
	}
	l.Used = time.Since(began)
	return onDisk(ctx, paths, l, o)
}

// inMemory checks a history under limits.
func inMemory(ctx context.Context, paths []string, l guard.Limits, o Options) (*evidence.Result, error) {
	var stage atomic.Value
	stage.Store("loading")
	return guard.Run(ctx, l, func() string { return stage.Load().(string) },
		func(ctx context.Context) (*evidence.Result, error) {
			h, err := split.Read(ctx, paths, o.Files)
			if err != nil {
				return nil, err
			}
			stage.Store("checking")
			c, why := check.Choose(o.Checker, o.Solver, h, o.Level)
			if c == nil {
				return &evidence.Result{Level: o.Level, Checker: o.Checker, Solver: o.Solver, Reason: why, H: h}, nil
			}
			r, err := check.Run(ctx, c, h, o.Options)
			if cause := context.Cause(ctx); err == nil && cause != nil && r.Verdict == evidence.Unknown {
				return nil, cause
			}
			return r, err
		})
}

// onDisk checks a history out of core.
func onDisk(ctx context.Context, paths []string, l guard.Limits, o Options) (*evidence.Result, error) {
	memory := cmp.Or(o.Memory, DefaultMemory)
	set, err := split.Plan(ctx, paths, Pieces(o.Files, memory))
	if err != nil {
		return nil, err
	}
	in, err := spill.Of(set)
	if err != nil {
		return nil, err
	}
	r, _, err := OutOfCore(ctx, in, l, spill.Options{Dir: o.Dir, Memory: memory, Level: o.Level, Skew: o.ClockSkew,
		ReadOnlyAtStart: o.ReadOnlyAtStart})
	if _, is := errors.AsType[*guard.StoppedError](err); is {
		err = nil
	}
	return r, err
}
