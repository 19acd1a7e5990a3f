package check

import (
	"context"

	"isovet/check/bcgraph"
	"isovet/evidence"
	"isovet/history"
)

// bc is the BC-graph: snapshot isolation in linear time, where version orders are known.
type bc struct{}

func (bc) Info() Info {
	return Info{
		Name: "bc", Paper: "BCGraphs", Levels: snapshotLevels, Takes: Takes{Items: true}, Partial: true,
		About: "known version orders: a graph of begins and commits, acyclic or not; linear",
	}
}

// Check is [BCGraphs] §4 with session order and real time as errata B6 has them.
func (c bc) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, in, known, done, err := beginOrdered(ctx, c.Info(), h, o)
	if done {
		return x.r, err
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

// beginOrdered is begin for checkers that need version orders. known: they follow from the history; else they are
// guessed.
func beginOrdered(ctx context.Context, info Info, h *history.History, o Options) (x *ordered, in bcgraph.Input, known,
	done bool, err error) {
	x = &ordered{}
	if x.run, done, err = begin(ctx, info, h, o); done {
		return x, in, false, true, err
	}
	orders, fork, open := bcgraph.Chains(x.v)
	in = bcgraph.Input{V: x.v, Level: o.Level, Skew: o.ClockSkew, Orders: orders}
	switch {
	case fork[0] != history.None:
		return x, in, true, true, x.proveFork(fork)
	case open == history.None:
		return x, in, true, false, nil
	}
	in.Orders, x.guess = bcgraph.Guess(x.v)
	x.open = open
	return x, in, false, false, nil
}

// orderOpen says that a guessed order of versions explains nothing.
func (x *ordered) orderOpen() {
	x.unknown("the order of versions is not known: transaction %d writes %s without having read it; no snapshots "+
		"explain the history if versions are in the order of %s, and another order is not tried",
		x.h.Txns.ID[x.v.WTxn[x.open]], x.h.KeyString(x.v.WKey[x.open]), x.guess)
}
