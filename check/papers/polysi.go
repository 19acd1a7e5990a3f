package papers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"isovet/check/run"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
)

// polysi is PolySI: it builds a polygraph of transactions. Snapshot isolation holds if the graph that it induces is
// acyclic; that has each dependency by itself, and each followed by an anti-dependency.
type polysi struct{}

func (polysi) Info() run.Info {
	return run.Info{
		Name: "polysi", Paper: "PolySI", Levels: run.SnapshotLevels, Solvers: inducedSolvers(), Partial: true,
		Takes: run.UniqueTakes("its published constraints relate only writers and readers of one key; use viper"),
		About: "generalized polygraph and its induced graph, as published; for comparison, up to some ten thousand " +
			"transactions",
	}
}

// inducedSolvers are the solvers that keep a problem's own edges acyclic. The eager ones are excluded, because they
// rewrite the polygraph's choices.
func inducedSolvers() []string {
	able := slice.Filter(run.Solvers(), func(s run.Solver) bool { return s.Theory != "eager" })
	return slice.Map(able, func(s run.Solver) string { return s.Name })
}

// maxInduced bounds the edges of a polygraph's constraints, and the induced edges that the solver gets.
var maxInduced = 50_000_000

// Check makes a generalized constraint for each two transactions that write a common key, prunes by reachability in the
// known induced graph, and lets the solver settle the rest on the induced graph.
//
// Source:  [PolySI], the pipeline of its algorithm: known graph, constraints, pruning until nothing changes, encoding,
// solving. Differs: initial versions come first from the start. The closure merges rows of bits in topological order,
// as in the authors' program; this is the cheapest known way for a whole graph. isovet's solvers replace MonoSAT.
// Session order is used if the level asks for it, and real time as pairs of transactions; PolySI always uses session
// order, and never real time.
func (c polysi) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	if back, err := run.SolverByName(o.Solver); err == nil && !slices.Contains(inducedSolvers(), back.Name) {
		return nil, fmt.Errorf("polysi cannot use solver %s; expected one of %s", back.Name,
			strings.Join(inducedSolvers(), ", "))
	}
	return run.BeginUnique(ctx, c.Info(), h, o, c.decide)
}

func (c polysi) decide(x *run.Run) error {
	ctx, o := x.Ctx, x.Options
	if x.TooManyInitial() {
		return nil
	}
	p := polygraph.New(x.View, o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew})
	g, ok := polygraph.NewInduced(p, maxInduced)
	x.Stage("construction")
	if !ok {
		x.Unknown("the constraints would have more than %d edges", maxInduced)
		return nil
	}
	if bytes := g.Bytes(); bytes > int64(run.MaxClosure) || room.For(float64(bytes)) != nil {
		x.Unknown("the closure of %d transactions would need about %s of memory, which is too much", g.N,
			room.Size(float64(bytes)))
		return nil
	}
	x.Result.Stats.Constraints = len(g.Open)
	rounds, refuted, err := g.Prune(ctx)
	x.Result.Stats.Rounds, x.Result.Stats.KnownEdges, x.Result.Stats.Left = rounds, len(g.Reduced), len(g.Open)
	x.Stage("pruning")
	switch {
	case err != nil:
		x.Stopped()
		return nil
	case refuted:
		return x.RefutedByPolygraph()
	case len(g.Open) == 0:
		return x.HoldsBy(p, g.Settled())
	}
	q, ok := encode.Induced(g, maxInduced)
	x.Stage("encoding")
	if !ok {
		x.Unknown("the induced graph would have more than %d open edges", maxInduced)
		return nil
	}
	a := x.Solver.Solve(ctx, q)
	x.Solved(p, a)
	switch a.Status {
	case solver.Sat:
		return x.HoldsBy(p, encode.Deduced(g, a.Edges))
	case solver.Unsat:
		return x.RefutedByPolygraph()
	}
	x.Unsolved(a)
	return nil
}
