package check

import (
	"context"

	"isovet/evidence"
	"isovet/history"
	"isovet/weak"
)

// weakly decides the levels below snapshot isolation by the orders that their axioms demand.
type weakly struct{}

func (weakly) Info() Info {
	return Info{
		Name: "weak", Paper: "AWDIT", Levels: weak.Levels(),
		About: "the commit orders that Biswas and Enea's axioms demand, in AWDIT's bounds",
	}
}

// Check is package weak on registers with unique values.
func (weakly) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done := begin(ctx, "weak", h, o, weak.Levels())
	if done {
		return x.r, nil
	}
	a := weak.Check(ctx, x.v, o.Level, weak.Options{})
	x.r.Stats.KnownEdges, x.r.Stats.Constraints, x.r.Stats.Rounds = a.Edges, a.Demanded, a.Rounds
	x.stage("solving")
	switch a.Status {
	case weak.Holds:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case weak.Violated:
		x.violated(a.Anomaly)
	default:
		x.stopped()
	}
	return x.r, nil
}
