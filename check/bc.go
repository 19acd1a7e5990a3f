package check

import (
	"context"

	"isovet/check/bcgraph"
	"isovet/check/explain"
	"isovet/evidence"
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
		x.orderOpen()
	default:
		x.violated(evidence.Anomaly{Cycle: g.Violation()})
		x.stage("evidence")
	}
	return x.r, nil
}

// ordered is a run of a checker that needs version orders.
type ordered struct {
	*run
	open  uint32 // a write whose order is open, and by what it was guessed
	guess string
}

// beginOrdered is begin for checkers that need version orders. known: they follow from the history; else they are guessed.
func beginOrdered(ctx context.Context, info Info, h *history.History, o Options) (x *ordered, in bcgraph.Input, known, done bool) {
	x = &ordered{}
	x.run, done = begin(ctx, info.Name, h, o, info.Levels)
	if done {
		return x, in, false, true
	}
	orders, fork, open := bcgraph.Chains(x.v)
	in = bcgraph.Input{V: x.v, Level: o.Level, Skew: o.ClockSkew, Orders: orders}
	switch {
	case fork[0] != history.None:
		x.bad = x.forked(fork)
		return x, in, true, true
	case open == history.None:
		return x, in, true, false
	}
	in.Orders, x.guess = bcgraph.Guess(x.v)
	x.open = open
	return x, in, false, false
}

// forked explains two writes that both overwrote one version: a lost update, since there is no order of the two. The reason needs no
// graph.
func (x *run) forked(fork [2]uint32) error {
	seed := []uint32{x.v.WTxn[fork[0]], x.v.WTxn[fork[1]]}
	for _, w := range x.v.RW[x.v.ROff[seed[0]]:x.v.ROff[seed[0]+1]] {
		if t := x.v.WTxn[w]; t != history.None {
			seed = append(seed, t)
		}
	}
	return x.explain(seed, explain.Item)
}

// orderOpen says that a guessed order of versions explains nothing.
func (x *ordered) orderOpen() {
	x.unknown("the order of versions is not known: transaction %d writes %s without having read it; no snapshots explain the history if versions are in the order of %s, and another order is not tried",
		x.h.Txns.ID[x.v.WTxn[x.open]], x.h.KeyString(x.v.WKey[x.open]), x.guess)
}
