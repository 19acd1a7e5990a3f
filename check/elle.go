package check

import (
	"context"
	"time"

	"isovet/check/lists"
	"isovet/evidence"
	"isovet/history"
)

// elle is Elle on append-only lists: reads of whole lists show the order of versions, and that the level.
type elle struct{}

func (elle) Info() Info {
	return Info{
		Name: "elle", Paper: "Elle", Levels: orderLevels, Lists: true, Partial: true,
		About: "append-only lists: the order of versions is read off, and one graph decides; linear",
	}
}

// Check reads the order off, makes the graph that it demands with begin and commit nodes (BC-graphs), and looks for an order of
// its nodes, or for its worst cycles.
//
// Source:  [Elle] on lists; [BCGraphs] §2 for the nodes and edges, with errata B3 to B6.
// Differs: Elle leaves out what nobody read. Here its transactions take part. At the serializable levels its order does not
// matter; under snapshot isolation it may, and what an arbitrary order does not settle, and registers beside the lists, are left
// to replay. Elle infers real time from invocations; here it is the history's client times, and strict.
func (c elle) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if !h.HasLists() {
		x := &run{r: &evidence.Result{Level: o.Level, Checker: "elle", H: h}}
		x.unknown("no lists: elle reads the order of versions off append-only lists")
		return x.r, nil
	}
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
func (elle) decide(ctx context.Context, v *lists.View, o Options) (*evidence.Result, error) {
	h := v.H
	x := &run{ctx: ctx, h: h, o: o, at: time.Now()}
	x.r = &evidence.Result{Level: o.Level, Checker: "elle", H: h}
	x.r.Stats = evidence.Stats{Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: h.NumSessions(), Keys: h.NumKeys(), Stages: map[string]float64{}}
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
	r, err := withRegisters(ctx, replayer{}, v, o)
	if err == nil {
		r.Checker = "elle"
	}
	return r, err
}
