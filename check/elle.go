package check

import (
	"context"

	"isovet/check/lists"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
)

// elle is Elle on append-only lists: reads of whole lists show the order of versions, and so whether the level holds.
type elle struct{}

func (elle) Info() Info {
	return Info{
		Name: "elle", Paper: "Elle", Levels: run.OrderLevels, Partial: true,
		Takes: Takes{Lists: run.ListsRead, Unknown: run.OutcomesTried, Duplicates: true},
		About: "append-only lists: reads show the version order, and one graph decides; linear",
	}
}

// Check reads the version order from the lists, builds the graph that it demands with begin and commit nodes
// (BC-graphs), and looks for an order of its nodes, or for its most telling cycles.
//
// Source:  [Elle] on lists; [BCGraphs] §2 for the nodes and edges, with errata B3 to B6. Differs: Elle leaves out
// appends that no transaction read; here they take part. At the serializable levels their order does not matter. Under
// snapshot isolation it may; if an arbitrary order does not do, or there are registers beside the lists, replay
// decides. Elle infers real time from invocations; here it is the history's client times, and strict.
func (c elle) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	decide := func(v *lists.View) (*evidence.Result, error) { return c.decide(ctx, v, o) }
	x, v, done, err := run.BeginLists(ctx, c.Info(), h, o, decide)
	if done || err != nil {
		return x.Result, err
	}
	at := x.Result.Stats.Stages["prepass"]
	r, err := decide(v)
	if err == nil && r.Stats.Stages != nil {
		r.Stats.Stages["prepass"] += at
	}
	return r, err
}

// decide answers for a view without anomalies that is not ambiguous.
func (c elle) decide(ctx context.Context, v *lists.View, o Options) (*evidence.Result, error) {
	h := v.H
	x, err := run.New(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	if open := v.Mixed; !open {
		g := lists.NewGraph(v, o.Level, o.ClockSkew)
		x.Result.Stats.KnownEdges = g.Edges
		x.Stage("construction")
		var order []uint32
		order, open = g.Order()
		x.Stage("solving")
		switch {
		case open:
		case order != nil || v.NumCounts == 0:
			x.Holds(order)
			return x.Result, nil
		default:
			found, also := g.Violations()
			x.Violated(found...)
			x.Result.Also = also
			x.Stage("evidence")
			return x.Result, nil
		}
	}
	r, err := run.WithRegisters(run.Replay{}.Info(), v, o, func(h *history.History) (*evidence.Result,
		error) {
		return run.Ask(ctx, run.Replay{}, h, o)
	})
	return run.TakeOver(r, "elle"), err
}
