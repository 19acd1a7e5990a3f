package check

import (
	"context"
	"slices"

	"isovet/check/bcgraph"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/level"
	"isovet/polygraph"
)

// bc is the BC-graph: snapshot isolation in linear time, where version orders are known; and serializability, with
// begins and commits joined.
type bc struct{ full bool }

// graphItems is why graphs over known orders of versions have no edges of predicates.
const graphItems = "its edges are between transactions that read or wrote versions whose order is known, and what a " +
	"predicate operation missed names no version"

func (c bc) Info() Info {
	in := Info{
		Name: "bc", Paper: "BCGraphs", Levels: orderLevels, Takes: byCasesTakes(graphItems), Partial: true,
		About: "known version orders: a graph of begins and commits, acyclic or not; linear",
	}
	if c.full {
		in.Name, in.Levels = "bc-full", snapshotLevels
		in.About = "bc without the chain of time: a start edge for each pair of transactions; " +
			"quadratic"
	}
	return in
}

// Check is [BCGraphs] §4 with session order and real time as errata B6 has them.
func (c bc) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return beginCases(ctx, c.Info(), h, o, c.decide)
}

func (c bc) decide(y *run) error {
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
		x.r.Stats.Constraints = g.Start // as adya-si counts them
	} else {
		g = bcgraph.NewBC(in)
	}
	x.r.Stats.KnownEdges = g.Edges
	x.stage("construction")
	order, ok := g.Order()
	x.stage("solving")
	switch {
	case ok:
		x.r.Verdict, x.r.Order = evidence.Holds, order
	case !known && bcgraph.Unordered(in) == nil:
		// The initial version's chain is before all others, which the guess does not say it knows.
		in.Orders = bcgraph.Orders{}
		if w := bcgraph.NewWhole(in, []level.Level{x.o.Level}, x.ended); w != nil {
			return x.byWhole(w)
		}
		x.stopped()
	default:
		x.violated(evidence.Anomaly{Cycle: g.Violation()})
		x.stage("evidence")
	}
	return nil
}

// ordered is a run of a checker that needs version orders.
type ordered struct {
	*run
	open  uint32 // a write whose order is open, and by what it was guessed
	guess string
}

// orderedOf finds the version orders of a run. known: they follow from the history; else they are guessed.
func orderedOf(y *run) (x *ordered, in bcgraph.Input, known, done bool, err error) {
	x = &ordered{run: y}
	orders, fork, open := bcgraph.Chains(x.v)
	in = bcgraph.Input{V: x.v, Level: x.o.Level, Skew: x.o.ClockSkew, Orders: orders}
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
	what := "snapshots explain"
	if x.o.Level.Serial() {
		what = "order explains"
	}
	x.unknown("the order of versions is not known: transaction %d writes %s without having read it; no %s the history "+
		"if versions are in the order of %s, and another order is not tried",
		x.h.Txns.ID[x.v.WTxn[x.open]], x.h.KeyString(x.v.WKey[x.open]), what, x.guess)
}

// maxStarts bounds the start edges that are listed: a graph counts its edges in 32 bits.
var maxStarts = 1 << 30

// tooManyStarts says so if a graph with a start edge for each pair of transactions, or where reduced those that have no
// third one between, would be too large, at so many bytes an edge.
func (x *ordered) tooManyStarts(in bcgraph.Input, reduced bool, bytes int) bool {
	n := in.StartEdges(reduced)
	if n > maxStarts {
		x.unknown("%d start edges, more than %d", n, maxStarts)
		return true
	}
	if err := room.For(float64(n) * float64(bytes)); err != nil {
		x.unknown("a graph of %d start edges: %v", n, err)
		return true
	}
	return false
}

// shared returns a bc that answers for several levels of one history by one graph, made when the first is asked.
func (c bc) shared() Checker {
	if c.full {
		return c
	}
	return &bcOnce{}
}

// bcOnce remembers the graph of the last history.
type bcOnce struct {
	bc
	v    *prepass.View
	w    *bcgraph.Whole
	skew int64
}

// Check is bc's, by a graph of all levels.
func (c *bcOnce) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if c.v == nil || c.v.H != h || c.skew != o.ClockSkew {
		x, done, err := begin(ctx, c.Info(), h, o)
		c.v, c.w, c.skew = x.v, nil, o.ClockSkew
		if done {
			return x.r, err
		}
		if x.v.Ambiguous() {
			return x.r, x.resolved(c.Info(), c.decide)
		}
		levels := orderLevels
		if _, missing := polygraph.MissingTime(h); missing {
			levels = slices.DeleteFunc(slices.Clone(levels), level.Level.RealTime)
		}
		c.w = bcgraph.NewWhole(bcgraph.Input{V: x.v, Skew: o.ClockSkew}, levels, x.ended)
		if c.w == nil {
			c.v = nil
			x.stopped()
			return x.r, nil
		}
		x.stage("construction")
		return x.r, x.byWhole(c.w)
	}
	x, err := newRun(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	x.v = c.v
	if done, err := x.seen(c.Info()); done {
		return x.r, err
	}
	if x.v.Ambiguous() {
		return x.r, x.resolved(c.Info(), c.decide)
	}
	return x.r, x.byWhole(c.w)
}

// byWhole is the answer of a graph of several levels at one of them.
func (x *run) byWhole(w *bcgraph.Whole) error {
	x.r.Stats.KnownEdges = w.Edges()
	switch l := x.o.Level; w.Verdict(l) {
	case evidence.Holds:
		x.r.Verdict, x.r.Order = evidence.Holds, w.Order(l)
	case evidence.Violated:
		cycle, forcing := w.Violation(l)
		if cycle == nil {
			return x.proveFork(w.Fork())
		}
		x.violated(evidence.Anomaly{Cycle: cycle, Cycles: forcing})
		x.stage("evidence")
	default:
		y := ordered{run: x}
		y.open, y.guess = w.Open()
		y.orderOpen()
	}
	return nil
}

// ended reports whether the run is to stop.
func (x *run) ended() bool { return x.ctx.Err() != nil }
