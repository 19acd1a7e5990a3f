package check

import (
	"context"

	"isovet/check/minitxn"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// miniTxns are the linear checkers for mini-transactions.
type miniTxns struct{}

func (miniTxns) Info() Info {
	return Info{
		Name: "mtc", Paper: "MTC", Levels: run.OrderLevels,
		Takes: Takes{Items: true, Predicates: run.OrderLevels, Unknown: run.OutcomesDecided, Duplicates: true},
		About: "mini-transactions, every write after a read of its key: linear at six levels; falls back to replay " +
			"on others, and says so",
	}
}

// suits reports whether the operations look like mini-transactions, for which auto takes this checker.
func (miniTxns) suits(h *history.History, _ level.Level) bool {
	return !h.HasLists() && minitxn.Suits(h)
}

// Check is [MTC]'s CHECKSER, CHECKSI and CHECKSSER: pre-pass, preconditions, divergence, graph.
func (c miniTxns) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	if why := minitxn.Outside(x.View); why != "" {
		return x.ByReplay("this is not a history of mini-transactions: " + why)
	}
	a := minitxn.Check(x.View, o.Level, o.ClockSkew)
	x.Result.Stats.KnownEdges = a.Edges
	x.Stage("construction")
	if a.Holds {
		x.Holds(a.Order)
	} else {
		x.Violated(a.Anomaly)
	}
	return x.Result, nil
}
