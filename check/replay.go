package check

import (
	"context"
	"errors"

	"isovet/evidence"
	"isovet/explain"
	"isovet/history"
	"isovet/level"
	"isovet/prepass"
	"isovet/replay"
	"isovet/solver"
)

// replayer is isovet's own way: guess an order, replay it, make a constraint only where a read fails.
type replayer struct{}

var orderLevels = append([]level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}, serialLevels...)

func (replayer) Info() Info {
	return Info{
		Name: "replay", Paper: "isovet", Levels: orderLevels,
		About: "guess an order, replay it, constrain only what fails; duplicate values and unknown outcomes too",
	}
}

// maxPruned is up to how many transactions a polygraph of all writer pairs takes over where no order keeps the sessions.
const maxPruned = 30_000

// Check is the loop of package replay, and the explanation of what it refutes.
func (replayer) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done := beginAmbiguous(ctx, "replay", h, o, orderLevels)
	if done {
		return x.r, nil
	}
	l := o.Level
	pruned := l == level.Serializable && !x.v.Ambiguous() && !h.HasPredicates() && x.v.NumCounts <= maxPruned
	if pruned {
		l = level.SessionSerializable
	}
	a, err := replay.Run(ctx, x.v, replay.Options{Level: l, Skew: o.ClockSkew})
	if err != nil {
		return nil, &Fault{Checker: "replay", Err: err}
	}
	if pruned && a.Status == solver.Unsat {
		// Without session order nearly everything is open, and an order found by chance breaks as it is mended: here pruning over
		// the full closure settles most of it (a PostgreSQL history of 10,000 at read committed: 1 s, against no answer in 60 s).
		x.stage("solving")
		back, err := solverByName("")
		if err != nil {
			return nil, err
		}
		return x.r, vbox{}.pipeline(x, back, attempt{level: o.Level, own: true})
	}
	s := &x.r.Stats
	s.KnownEdges, s.Rounds, s.Variables, s.Clauses = a.Stats.KnownEdges, a.Stats.Rounds, a.Stats.Vars, a.Stats.Guards
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagations, a.Stats.Restarts
	x.stage("solving")
	switch a.Status {
	case solver.Sat:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case solver.Unsat:
		if len(a.Mismatch) > 0 {
			x.mismatches(a.Mismatch)
			return x.r, nil
		}
		err := x.explain(a.Seed, replay.Refute)
		if errors.Is(err, explain.ErrHolds) && h.HasPredicates() && len(x.v.Open) > 0 {
			// The refutation needs no cycle: whoever could have left a key as a predicate saw it cannot have committed.
			x.unknown("no order explains the history, but no evidence can be given of that: it rests on which transactions of unknown outcome committed")
			return x.r, nil
		}
		return x.r, err
	default:
		x.stopped()
	}
	return x.r, nil
}

// mismatches makes violations of predicate operations by themselves.
func (x *run) mismatches(ms []prepass.Miss) {
	x.r.Also = max(0, len(ms)-prepass.MaxAnomalies)
	var as []evidence.Anomaly
	for _, m := range ms[:len(ms)-x.r.Also] {
		as = append(as, evidence.Anomaly{Kind: level.PredicateMismatch, Ops: []uint32{m.Op}, Key: m.Key})
	}
	x.violated(as...)
}

var _ explain.Refuter = replay.Refute
