package check

import (
	"context"

	"isovet/check/lists"
	"isovet/evidence"
	"isovet/history"
)

// elle is Elle on append-only lists: reads of whole lists show the order of versions, and that the level.
type elle struct{}

func (elle) Info() Info {
	return Info{
		Name: "elle", Paper: "Elle", Levels: orderLevels, Partial: true,
		Takes: Takes{Lists: ListsRead, Unknown: OutcomesTried, Duplicates: true},
		About: "append-only lists: the order of versions is read off, and one graph decides; linear",
	}
}

// Check reads the order off, makes the graph that it demands with begin and commit nodes (BC-graphs), and looks for an
// order of its nodes, or for its worst cycles.
//
// Source:  [Elle] on lists; [BCGraphs] §2 for the nodes and edges, with errata B3 to B6. Differs: Elle leaves out what
// nobody read. Here its transactions take part. At the serializable levels its order does not matter; under snapshot
// isolation it may, and what an arbitrary order does not settle, and registers beside the lists, are left to replay.
// Elle infers real time from invocations; here it is the history's client times, and strict.
func (c elle) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	decide := func(v *lists.View) (*evidence.Result, error) { return c.decide(ctx, v, o) }
	x, v, done, err := beginLists(ctx, c.Info(), h, o, decide)
	if done || err != nil {
		return x.r, err
	}
	at := x.r.Stats.Stages["prepass"]
	r, err := decide(v)
	if err == nil && r.Stats.Stages != nil {
		r.Stats.Stages["prepass"] += at
	}
	return r, err
}

// decide answers for a view without anomalies that is not ambiguous.
func (c elle) decide(ctx context.Context, v *lists.View, o Options) (*evidence.Result, error) {
	h := v.H
	x, err := newRun(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	open := v.Mixed
	if !open {
		g := lists.NewGraph(v, o.Level, o.ClockSkew)
		x.r.Stats.KnownEdges = g.Edges
		x.stage("construction")
		var order []uint32
		order, open = g.Order()
		x.stage("solving")
		switch {
		case open:
		case order != nil || v.NumCounts == 0:
			x.r.Verdict, x.r.Order = evidence.Holds, order
			return x.r, nil
		default:
			found, also := g.Violations()
			x.violated(found...)
			x.r.Also = also
			x.stage("evidence")
			return x.r, nil
		}
	}
	r, err := withRegisters(replayer{}.Info(), v, o, func(h *history.History) (*evidence.Result,
		error) {
		return ask(ctx, replayer{}, h, o)
	})
	return takeOver(r, "elle"), err
}
