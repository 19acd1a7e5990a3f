package check

import (
	"context"
	"errors"
	"slices"

	"isovet/check/explain"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/solver"
)

// replayer is isovet's own way: guess an order, replay it, make a constraint only where a read fails.
type replayer struct{}

func (replayer) Info() Info {
	return Info{
		Name: "replay", Paper: "isovet", Levels: append(slices.Clip(orderLevels), level.RepeatableRead),
		Takes: Takes{Items: true, Predicates: orderLevels, Unknown: OutcomesDecided, Duplicates: true},
		About: "guess an order, replay it, constrain only what fails; duplicate values and unknown outcomes too",
	}
}

// maxPruned is up to how many transactions a polygraph of all writer pairs takes over where no order keeps the
// sessions.
var maxPruned = 30_000

// Check is the loop of package replay, and the explanation of what it refutes.
func (c replayer) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	a, done, err := c.stricter(x)
	if err != nil || done {
		return x.r, err
	}
	if a.Status == solver.Unsat && !o.Level.Sessions() && !h.HasPredicates() {
		if o.Level == level.Serializable && !x.v.Ambiguous() && x.v.NumCounts <= maxPruned {
			// Without session order nearly everything is open, and an order found by chance breaks as it is mended:
			// here pruning over the full closure settles most of it (a PostgreSQL history of 10,000 at read committed:
			// 1 s, against no answer in 60 s).
			x.r.DecidedBy = vbox{}.Info().Name
			return x.r, x.pipeline(defaultSolver(), attempt{level: o.Level, own: true})
		}
		opts := replay.Options{Level: o.Level, NoGuess: true}
		if !x.v.Ambiguous() {
			opts.SaturateAfter = 2000 // conflicts are dear here, at some ms each
		}
		if a, err = replay.Run(ctx, x.v, opts); err != nil {
			return x.r, x.fault(err)
		}
	}
	s := &x.r.Stats
	s.KnownEdges, s.Rounds, s.Variables, s.Clauses = a.Stats.KnownEdges, a.Stats.Rounds, a.Stats.Vars, a.Stats.Guards
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagations,
		a.Stats.Restarts
	x.stage("solving")
	switch a.Status {
	case solver.Sat:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case solver.Unsat:
		if len(a.Mismatch) > 0 {
			x.proveMismatches(a.Mismatch)
			return x.r, nil
		}
		err := x.proveFrom(a.Seed, replay.Refute)
		if errors.Is(err, explain.ErrHolds) && h.HasPredicates() && len(x.v.Open) > 0 {
			// The refutation needs no cycle: whoever could have left a key as a predicate saw it cannot have committed.
			x.unknown("no order explains the history, but no evidence can be given of that: it rests on which " +
				"transactions of unknown outcome committed")
			return x.r, nil
		}
		return x.r, err
	default:
		x.stopped()
	}
	return x.r, nil
}

// fault says of an error of package replay whether it is one of ours or a bound reached, which is an answer.
func (x *run) fault(err error) error {
	if errors.Is(err, replay.ErrNoRoom) {
		x.unknown("%v", err)
		return nil
	}
	return &Fault{Checker: x.r.Checker, Err: err}
}

// stricter asks for an order that respects sessions, whether or not the level does: databases keep it. Where there is
// none and the level does not ask for it, what refutes it mostly refutes the level too; and at snapshot isolation a
// serial order will do. Then the answer is done; else a is the level's own if it asks for sessions or an order was
// found.
func (replayer) stricter(x *run) (a replay.Answer, done bool, err error) {
	l := x.o.Level
	switch {
	case x.h.HasPredicates(): // the loop has its own way from the one to the other
	case l == level.Serializable:
		l = level.SessionSerializable
	case l == level.SnapshotIsolation:
		l = level.SessionSnapshotIsolation
	}
	opts := replay.Options{Level: l, Skew: x.o.ClockSkew}
	if x.h.HasPredicates() {
		opts.GiveUpAfter = replayConflicts
	}
	a, err = replay.Run(x.ctx, x.v, opts)
	if err == nil && a.GaveUp {
		x.stage("solving")
		if done, err = x.byPolygraph(); done || err != nil {
			return a, true, err
		}
		opts.GiveUpAfter = 0
		a, err = replay.Run(x.ctx, x.v, opts)
	}
	if err != nil {
		return a, true, x.fault(err)
	}
	if l == x.o.Level || a.Status != solver.Unsat {
		return a, false, nil
	}
	x.stage("solving")
	if len(a.Seed) <= maxTrial {
		if err := x.proveFrom(a.Seed, replay.Refute); err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
			return a, true, err
		}
		if x.r.Verdict != evidence.Unknown || x.r.Reason != "" {
			return a, true, nil
		}
	}
	if l == level.SessionSnapshotIsolation && !x.v.Ambiguous() && x.v.NumCounts <= maxPruned {
		b, err := replay.Run(x.ctx, x.v, replay.Options{Level: level.Serializable, NoGuess: true, SaturateAfter: 1})
		if err != nil {
			return a, true, x.fault(err)
		}
		x.stage("solving")
		if b.Status == solver.Sat {
			x.r.Verdict = evidence.Holds
			for _, t := range b.Order {
				x.r.Order = append(x.r.Order, t<<1, t<<1|1)
			}
			return a, true, nil
		}
	}
	return a, false, nil
}

var _ explain.Refuter = replay.Refute
