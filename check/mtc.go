package check

import (
	"context"
	"fmt"

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
		About: "mini-transactions, every write after a read of its key: linear at six levels; falls back to replay on others, and says so",
	}
}

// suits: auto takes it for the histories that it is made for, as far as one look at the operations tells.
func (miniTxns) suits(h *history.History, _ level.Level) bool {
	return !h.HasLists() && minitxn.Suits(h)
}

// Check is [MTC]'s CHECKSER, CHECKSI and CHECKSSER: pre-pass, preconditions, divergence, graph.
func (c miniTxns) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done := beginAmbiguous(ctx, "mtc", h, o, orderLevels)
	if done {
		return x.r, nil
	}
	if why := minitxn.Outside(x.v); why != "" {
		r, err := replayer{}.Check(ctx, h, o)
		if r != nil {
			r.Checker, r.Note = "mtc", "decided by replay: this is no history of mini-transactions: "+why
		}
		return r, err
	}
	if n, t := minitxn.Larger(x.v); n > 0 {
		x.r.Note = fmt.Sprintf("of the transactions, %d are no mini-transactions by their size (transaction %d is one); every write follows a read of its key, and that is enough", n, h.Txns.ID[t])
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
