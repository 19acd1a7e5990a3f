package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"isovet/check/spill"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/guard"
	"isovet/internal/plural"
	"isovet/internal/room"
)

// Pieces returns the options for splitting a history that is read with the options o, and checked in some memory.
func Pieces(o format.Options, memory int64) split.Options {
	return split.Options{Format: o.Format, RealTime: o.RealTime, Initial: o.Initial, Whole: memory / 8,
		PieceBytes: max(4<<20, min(64<<20, memory/8))}
}

// InMemory estimates the memory that a history takes if it is checked in memory.
func InMemory(s *split.Set) int64 {
	need := 500*s.Txns + 2*s.Bytes
	if need < 0 {
		return math.MaxInt64
	}
	return need
}

// OutOfCore is spill.Check with a time-out, and turns its answer into a result. If it was stopped, the error is a
// *guard.StoppedError, and the result is unknown, with the reason.
func OutOfCore(ctx context.Context, in *spill.Input, l guard.Limits, o spill.Options) (*evidence.Result, *spill.Answer,
	error) {
	began := time.Now()
	o.Checker = cmp.Or(o.Checker, spill.CheckerOf(o.Level))
	known := &evidence.Result{Level: o.Level, Checker: o.Checker, Timestamps: spill.Stamped(o.Checker)}
	l.Memory = 0 // spill bounds its memory itself
	a, err := guard.Run(ctx, l, func() string { return "checking" }, func(ctx context.Context) (*spill.Answer, error) {
		if o.Backend == nil { // else runners in this process have no limit here
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(cmp.Or(o.Memory, DefaultMemory) * 3 / 4))
		}
		return spill.Check(ctx, in, o)
	})
	known.Stats.LoadMS = float64(l.Used.Microseconds()) / 1e3
	known.Stats.CheckMS = float64(time.Since(began).Microseconds()) / 1e3
	known.Stats.PeakMB = room.PeakMB()
	if stopped, is := errors.AsType[*guard.StoppedError](err); is {
		known.Reason = stopped.Text
		return known, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	return resultOf(known, a), a, nil
}

// resultOf returns the result for an answer of package spill; known has the times and the checker.
func resultOf(known *evidence.Result, a *spill.Answer) *evidence.Result {
	r := known
	if a.Proof != nil {
		stats := r.Stats
		r = a.Proof
		stats.Violations, stats.BadTxns, stats.BadPairs = r.Stats.Violations, r.Stats.BadTxns, r.Stats.BadPairs
		r.Stats = stats
	}
	r.Verdict, r.Reason = a.Verdict, a.Reason
	if r.Verdict != evidence.Unknown {
		r.Certified, r.NotByKernel = evidence.ByReplay, "the kernel does not judge histories that are checked "+
			"out of core"
	}
	switch {
	case a.Stamps.On:
		r.ReadOnlyAtStart = a.Stamps.ReadOnlyAtStart
		r.Note = fmt.Sprintf("out of core: %s in the order of the database's timestamps",
			plural.Of(a.Stats.FileOps, "operation"))
	case a.Verdict != evidence.Unknown || a.Stats.Misfits > 0: // otherwise too many to count
		r.Note = fmt.Sprintf("out of core: of %s, %s the order of the clients' end times; %s solved, %s moved",
			plural.Of(a.Stats.FileOps, "operation"), plural.Phrase(a.Stats.Misfits, "read contradicted",
				"reads contradicted"), plural.Of(a.Stats.Windows, "window"), plural.Of(len(a.Moves), "transaction"))
		if a.Verdict == evidence.Holds && a.By != known.Level && !a.Bare {
			r.Note += "; the order satisfies " + a.By.String() + ", which implies this level"
		}
	}
	s := &r.Stats.Sizes
	s.Txns, s.Ops = int(a.Stats.Txns), int(a.Stats.FileOps)
	s.Keys, s.Sessions = int(a.Stats.Keys), int(a.Stats.Sessions)
	s.Committed, s.Unknown, s.Reads = int(a.Stats.Committed), int(a.Stats.Unknown), int(a.Stats.Reads)
	s.Aborted = max(0, s.Txns-s.Committed-s.Unknown) // the initial transaction's among them
	return r
}
