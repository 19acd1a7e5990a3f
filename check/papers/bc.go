package papers

import (
	"context"
	"slices"

	"isovet/check/bcgraph"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/level"
	"isovet/polygraph"
)

// bc is the BC-graph: it decides snapshot isolation in linear time if version orders are known, and serializability
// with begins and commits joined.
type bc struct{ full bool }

// graphItems says why graphs over known version orders have no edges of predicates.
const graphItems = "its edges need the version of each row, and a predicate operation does not name the rows that " +
	"it missed"

func (c bc) Info() run.Info {
	in := run.Info{
		Name: "bc", Paper: "BCGraphs", Levels: run.OrderLevels, Takes: run.UniqueTakes(graphItems), Partial: true,
		About: "known version orders: looks for a cycle in a graph of begins and commits; linear",
	}
	if c.full {
		in.Name, in.Levels = "bc-full", run.SnapshotLevels
		in.About = "bc without the chain of time: a start edge for each pair of transactions; quadratic"
	}
	return in
}

// Check is [BCGraphs] §4 with session order and real time as errata B6 has them.
func (c bc) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	return run.BeginUnique(ctx, c.Info(), h, o, c.decide)
}

func (c bc) decide(y *run.Run) error {
	x, in, known, done, err := orderedOf(y)
	if done {
		return err
	}
	var g *bcgraph.BC
	if c.full {
		if x.tooManyStarts(in, false, bcgraph.FullBytes) {
			return nil
		}
		g = bcgraph.NewFullBC(in)
		x.Result.Stats.Constraints = g.Start // as adya-si counts them
	} else {
		g = bcgraph.NewBC(in)
	}
	x.Result.Stats.KnownEdges = g.Edges
	x.Stage("construction")
	order, ok := g.Order()
	x.Stage("solving")
	switch {
	case ok:
		x.Holds(order)
	case !known && bcgraph.Unordered(in) == nil:
		// The initial version's chain precedes all others. The guess does not say that this is known.
		in.Orders = bcgraph.Orders{}
		if w := bcgraph.NewWhole(in, []level.Level{x.Options.Level}, x.Ended); w != nil {
			return byWhole(x.Run, w)
		}
		x.Stopped()
	default:
		x.Violated(evidence.Anomaly{Cycle: g.Violation()})
		x.Stage("evidence")
	}
	return nil
}

// ordered is a run of a checker that needs version orders.
type ordered struct {
	*run.Run
	open  uint32 // a write with an open order; guess says how that was guessed
	guess string
}

// orderedOf finds the version orders of a run. known says that they follow from the history; else they are guessed.
func orderedOf(y *run.Run) (x *ordered, in bcgraph.Input, known, done bool, err error) {
	x = &ordered{Run: y}
	orders, fork, open := bcgraph.Chains(x.View)
	in = bcgraph.Input{V: x.View, Level: x.Options.Level, Skew: x.Options.ClockSkew, Orders: orders}
	switch {
	case fork[0] != history.None:
		return x, in, true, true, x.RefutedFork(fork)
	case open == history.None:
		return x, in, true, false, nil
	}
	in.Orders, x.guess = bcgraph.Guess(x.View)
	x.open = open
	return x, in, false, false, nil
}

// orderOpen gives the answer "unknown", because the guessed version order explains nothing.
func (x *ordered) orderOpen() {
	what := "snapshots explain"
	if x.Options.Level.Serial() {
		what = "order explains"
	}
	x.Unknown("the order of versions is not known, because transaction %d writes %s without reading it first; no %s "+
		"the history with versions in the order of %s, and the checker tries no other order",
		x.H.Txns.ID[x.View.WTxn[x.open]], x.H.KeyString(x.View.WKey[x.open]), what, x.guess)
}

// maxStarts bounds the start edges that are listed, because a graph counts its edges in 32 bits.
var maxStarts = 1 << 30

// tooManyStarts answers "unknown" if a graph with all start edges would be too large, at the given bytes an edge.
// reduced counts only pairs with no third transaction between.
func (x *ordered) tooManyStarts(in bcgraph.Input, reduced bool, bytes int) bool {
	n := in.StartEdges(reduced)
	if n > maxStarts {
		x.Unknown("the graph would have %d start edges, more than %d", n, maxStarts)
		return true
	}
	if err := room.For(float64(n) * float64(bytes)); err != nil {
		x.Unknown("a graph of %d start edges: %v", n, err)
		return true
	}
	return false
}

// Shared returns a bc that decides several levels of one history by one graph, built at the first call.
func (c bc) Shared() run.Checker {
	if c.full {
		return c
	}
	return &bcOnce{}
}

// bcOnce caches the graph of the last history.
type bcOnce struct {
	bc
	v    *prepass.View
	w    *bcgraph.Whole
	skew int64
}

// Check does the work of bc.Check, by one graph for all levels.
func (c *bcOnce) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	if c.v == nil || c.v.H != h || c.skew != o.ClockSkew {
		x, done, err := run.Begin(ctx, c.Info(), h, o)
		c.v, c.w, c.skew = x.View, nil, o.ClockSkew
		if done {
			return x.Result, err
		}
		if x.View.Ambiguous() {
			return x.ByReplay(run.Ambiguity(x.View))
		}
		levels := run.OrderLevels
		if _, missing := polygraph.MissingTime(h); missing {
			levels = slices.DeleteFunc(slices.Clone(levels), level.Level.RealTime)
		}
		c.w = bcgraph.NewWhole(bcgraph.Input{V: x.View, Skew: o.ClockSkew}, levels, x.Ended)
		if c.w == nil {
			c.v = nil
			x.Stopped()
			return x.Result, nil
		}
		x.Stage("construction")
		return x.Result, byWhole(x, c.w)
	}
	x, err := run.New(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	x.View = c.v
	if done, err := x.PrepassSays(c.Info()); done {
		return x.Result, err
	}
	if x.View.Ambiguous() {
		return x.ByReplay(run.Ambiguity(x.View))
	}
	return x.Result, byWhole(x, c.w)
}

// byWhole takes the answer at one level from a graph of several levels.
func byWhole(x *run.Run, w *bcgraph.Whole) error {
	x.Result.Stats.KnownEdges = w.Edges()
	switch l := x.Options.Level; w.Verdict(l) {
	case evidence.Holds:
		x.Holds(w.Order(l))
	case evidence.Violated:
		cycle, forcing := w.Violation(l)
		if cycle == nil {
			return x.RefutedFork(w.Fork())
		}
		x.Violated(evidence.Anomaly{Cycle: cycle, Cycles: forcing})
		x.Stage("evidence")
	default:
		y := ordered{Run: x}
		y.open, y.guess = w.Open()
		y.orderOpen()
	}
	return nil
}
