package check

import (
	"context"

	"isovet/bcgraph"
	"isovet/evidence"
	"isovet/explain"
	"isovet/history"
)

// bc is the BC-graph: snapshot isolation in linear time, where version orders are known.
type bc struct{}

func (bc) Info() Info {
	return Info{
		Name: "bc", Paper: "BCGraphs", Levels: snapshotLevels, Partial: true,
		About: "known version orders: a graph of begins and commits, acyclic or not; linear",
	}
}

// Check is [BCGraphs] §4 with session order and real time as errata B6 has them.
func (bc) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, in, known, done := beginOrdered(ctx, bc{}.Info(), h, o)
	if done {
		return x.r, x.bad
	}
	g := bcgraph.NewBC(in)
	x.r.Stats.KnownEdges = g.Edges
	x.stage("construction")
	order, ok := g.Order()
	x.stage("solving")
	switch {
	case ok:
		x.r.Verdict, x.r.Order = evidence.Holds, order
	case !known && bcgraph.Unordered(in) == nil:
		x.unknown("no snapshots explain the history if versions are in the order of commit timestamps; whether they do in another order, bc does not say")
	default:
		x.violated(evidence.Anomaly{Cycle: g.Violation()})
		x.stage("evidence")
	}
	return x.r, nil
}

// beginOrdered is begin for checkers that need version orders. known: they follow from the history, else from timestamps.
func beginOrdered(ctx context.Context, info Info, h *history.History, o Options) (x *run, in bcgraph.Input, known, done bool) {
	x, done = begin(ctx, info.Name, h, o, info.Levels)
	if done {
		return x, in, false, true
	}
	orders, fork, open := bcgraph.Chains(x.v)
	in = bcgraph.Input{V: x.v, Level: o.Level, Skew: o.ClockSkew, Orders: orders}
	switch {
	case fork[0] != history.None:
		// A lost update: no order of the two. The reason needs no graph.
		seed := []uint32{x.v.WTxn[fork[0]], x.v.WTxn[fork[1]]}
		for _, w := range x.v.RW[x.v.ROff[seed[0]]:x.v.ROff[seed[0]+1]] {
			if t := x.v.WTxn[w]; t != history.None {
				seed = append(seed, t)
			}
		}
		if err := x.explain(seed, explain.Item); err != nil {
			x.bad = err
		}
		return x, in, true, true
	case open == history.None:
		return x, in, true, false
	}
	if in.Orders, done = bcgraph.ByCommits(x.v); done {
		return x, in, false, false
	}
	return x, in, false, x.unknown("the order of versions is not known: transaction %d writes %s without having read it, and there are no commit timestamps",
		h.Txns.ID[x.v.WTxn[open]], h.KeyString(x.v.WKey[open]))
}
