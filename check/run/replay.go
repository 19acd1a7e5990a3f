package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
)

// Replay is isovet's own checker: it guesses an order, replays it, and makes a constraint only where a read fails.
type Replay struct{}

func (Replay) Info() Info {
	return Info{
		Name: "replay", Paper: "isovet", Levels: append(slices.Clip(OrderLevels), level.RepeatableRead),
		Takes: Takes{Items: true, Predicates: OrderLevels, Unknown: OutcomesDecided, Duplicates: true},
		About: "guesses an order, replays it, constrains only reads that fail; also duplicates and unknown outcomes",
	}
}

// Check runs the loop of package replay, and explains a refutation.
func (c Replay) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	a, done, err := c.stricter(x)
	if err != nil || done {
		return x.Result, err
	}
	if a.Status == solver.Unsat && !o.Level.Sessions() && !h.HasPredicates() {
		if a, done, err = x.withoutSessions(a.Seed); done || err != nil {
			return x.Result, err
		}
	}
	s := &x.Result.Stats
	s.KnownEdges, s.Rounds, s.Variables, s.Clauses = a.Stats.KnownEdges, a.Stats.Rounds, a.Stats.Vars, a.Stats.Guards
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagations,
		a.Stats.Restarts
	x.Stage("solving")
	switch a.Status {
	case solver.Sat:
		x.Holds(a.Order)
	case solver.Unsat:
		if len(a.Mismatch) > 0 {
			x.Result.Also = max(0, len(a.Mismatch)-prepass.MaxAnomalies)
			x.Violated(slice.Map(a.Mismatch[:len(a.Mismatch)-x.Result.Also], func(m prepass.Miss) evidence.Anomaly {
				return evidence.Anomaly{Kind: level.PredicateMismatch, Ops: []uint32{m.Op}, Key: m.Key}
			})...)
			return x.Result, nil
		}
		err := x.Refuted(a.Seed, replay.Refute)
		if errors.Is(err, explain.ErrHolds) && h.HasPredicates() && len(x.View.Open) > 0 {
			// The refutation needs no cycle: no transaction that could have left a key as a predicate saw it can have
			// committed.
			x.Unknown("no order explains the history, but isovet cannot prove it: it depends on which transactions " +
				"of unknown outcome committed")
			return x.Result, nil
		}
		return x.Result, err
	default:
		x.Stopped()
	}
	return x.Result, nil
}

// fault sorts an error of package replay: a reached bound becomes an answer, any other error a Fault.
func (x *Run) fault(err error) error {
	if errors.Is(err, replay.ErrNoRoom) {
		x.Unknown("%v", err)
		return nil
	}
	return &Fault{Checker: x.Result.Checker, Err: err}
}

// ambiguousSteps, divided by the possible writers of a read, bounds the search for an order if most reads have many of
// them: a few seconds with eight. A search that succeeds mostly takes a small part of it. A time limit adds
// stepsASecond steps for each of its seconds.
const (
	ambiguousSteps = 1 << 30
	stepsASecond   = 1 << 24
)

// Bounded returns a context that bounds the search for an order.
func (x *Run) Bounded() (ctx context.Context, end func() (left int64)) {
	v := x.View
	if v.H.HasPredicates() || len(v.Amb) == 0 || len(v.Amb) < len(v.RW)/2 || len(v.Cand) < 6*len(v.Amb) {
		return x.Ctx, func() int64 { return 0 }
	}
	steps := int64(ambiguousSteps) * int64(len(v.Amb)) / int64(len(v.Cand))
	if end, timed := x.Ctx.Deadline(); timed {
		steps += max(0, int64(time.Until(end).Seconds()*stepsASecond))
	}
	return solver.WithSteps(x.Ctx, steps)
}

// TooManyWays gives the answer for a search that reached its bound.
func (x *Run) TooManyWays() {
	x.Unknown("%s: there are too many possibilities, and the search gave up; a longer --timeout lets it search longer",
		Ambiguity(x.View))
}

// stricter asks for an order that keeps sessions, even if the level does not demand it, because databases mostly keep
// them. If there is none, its refutation mostly refutes the level too; then done says that x has the answer. Else a is
// the answer for the level itself if the level demands sessions, or if an order was found.
func (Replay) stricter(x *Run) (a replay.Answer, done bool, err error) {
	l := x.Options.Level
	switch l {
	case level.Serializable:
		l = level.SessionSerializable
	case level.SnapshotIsolation:
		l = level.SessionSnapshotIsolation
	}
	if x.H.HasPredicates() && l != x.Options.Level {
		if a, done = x.brieflyStricter(l); done || a.Status == solver.Sat {
			return a, done, nil
		}
		l = x.Options.Level // from here on, the loop decides the asked level
	}
	opts := replay.Options{Level: l, Skew: x.Options.ClockSkew}
	if x.H.HasPredicates() {
		opts.GiveUpAfter = replayConflicts
	}
	ctx, end := x.Bounded()
	defer end()
	a, err = replay.Run(ctx, x.View, opts)
	if err == nil && a.Status == solver.Unknown && ctx.Err() != nil && x.Ctx.Err() == nil {
		x.TooManyWays()
		return a, true, nil
	}
	if err == nil && a.GaveUp {
		x.Stage("solving")
		if done, err = x.ByPolygraph(); done || err != nil {
			return a, true, err
		}
		opts.GiveUpAfter = 0
		a, err = replay.Run(x.Ctx, x.View, opts)
	}
	if err != nil {
		return a, true, x.fault(err)
	}
	if l == x.Options.Level || a.Status != solver.Unsat {
		return a, false, nil
	}
	x.Stage("solving")
	done, err = x.trial(a.Seed)
	return a, done, err
}

// fewBrief bounds the seeds that brieflyStricter tries: a trial with 76 transactions took 7 s, without a result.
const fewBrief = 16

// brieflyStricter looks for an order of a history with predicates that keeps sessions, for the time that nearly every
// history takes. It tries a refutation at the level itself. If it finds nothing, the question stays open.
func (x *Run) brieflyStricter(l level.Level) (a replay.Answer, done bool) {
	ctx, cancel := context.WithTimeout(x.Ctx, Patience(x.H))
	defer cancel()
	opts := replay.Options{Level: l, Skew: x.Options.ClockSkew, GiveUpAfter: replayConflicts}
	a, err := replay.Run(ctx, x.View, opts)
	x.Stage("solving")
	if err != nil || a.Status != solver.Unsat || len(a.Mismatch) > 0 || len(a.Seed) > fewBrief {
		return a, false
	}
	done, err = x.trial(a.Seed)
	return a, done && err == nil
}

var _ explain.Refuter = replay.Refute
