package check

import (
	"context"

	"isovet/check/minitxn"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// miniTxns are the linear checkers for mini-transactions.
type miniTxns struct{}

func (miniTxns) Info() Info {
	return Info{
		Name: "mtc", Paper: "MTC", Levels: orderLevels,
		Takes: Takes{Items: true, Predicates: orderLevels, Unknown: OutcomesDecided, Duplicates: true},
		About: "mini-transactions, every write after a read of its key: linear at six levels; falls back to replay " +
			"on others, and says so",
	}
}

// suits: auto takes it for the histories that it is made for, as far as one look at the operations tells.
func (miniTxns) suits(h *history.History, _ level.Level) bool {
	return !h.HasLists() && minitxn.Suits(h)
}

// Check is [MTC]'s CHECKSER, CHECKSI and CHECKSSER: pre-pass, preconditions, divergence, graph.
func (c miniTxns) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	if why := minitxn.Outside(x.v); why != "" {
		r, err := ask(ctx, replayer{}, h, o)
		if r != nil {
			r.Note = "decided by replay: this is no history of mini-transactions: " + why
		}
		return takeOver(r, "mtc"), err
	}
	a := minitxn.Check(x.v, o.Level, o.ClockSkew)
	x.r.Stats.KnownEdges = a.Edges
	x.stage("construction")
	if a.Holds {
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	} else {
		x.violated(a.Anomaly)
	}
	return x.r, nil
}
