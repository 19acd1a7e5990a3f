package check

import (
	"context"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/prepass"
	"isovet/weak"
)

// weakly decides the levels below snapshot isolation by the orders that their axioms demand.
type weakly struct{}

func (weakly) Info() Info {
	return Info{
		Name: "weak", Paper: "AWDIT", Levels: weak.Levels(), Lists: true,
		About: "the commit orders that Biswas and Enea's axioms demand, in AWDIT's bounds",
	}
}

// Check is package weak on item operations with unique values. Lists are told as registers whose order is known.
func (c weakly) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if h.HasLists() {
		return c.lists(ctx, h, o)
	}
	x, done := begin(ctx, "weak", h, o, weak.Levels())
	if done {
		return x.r, nil
	}
	a := weak.Check(ctx, x.v, o.Level, weak.Options{})
	x.weak(a, a.Anomaly)
	return x.r, nil
}

func (c weakly) lists(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, v, done := beginLists(ctx, c.Info(), h, o)
	if done {
		return x.r, nil
	}
	g := v.Blind()
	x.v = prepass.RunWith(g.H, prepass.Options{Closed: true, EachRead: o.Level == level.ReadCommitted, Count: v.Counts})
	x.stage("prepass")
	if len(x.v.Anomalies) > 0 {
		for _, a := range x.v.Anomalies {
			x.violated(g.Retold(a))
		}
		x.r.Also = x.v.Also
		return x.r, nil
	}
	if x.v.Ambiguous() {
		x.unknown("needs unique values: %s", ambiguity(x.v))
		return x.r, nil
	}
	a := weak.Check(ctx, x.v, o.Level, weak.Options{Known: weak.Known{Rank: g.Ranks(), Orders: g.Orders}})
	x.weak(a, g.Retold(a.Anomaly))
	return x.r, nil
}

// weak takes over an answer of package weak.
func (x *run) weak(a weak.Answer, shown evidence.Anomaly) {
	x.r.Stats.KnownEdges, x.r.Stats.Constraints, x.r.Stats.Rounds = a.Edges, a.Demanded, a.Rounds
	x.stage("solving")
	switch a.Status {
	case weak.Holds:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case weak.Violated:
		x.violated(shown)
	default:
		x.stopped()
	}
}
