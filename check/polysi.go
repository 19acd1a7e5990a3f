package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/polygraph"
	"isovet/solver"
)

// polysi is PolySI: a polygraph of transactions, and snapshot isolation as the acyclicity of the graph that it induces,
// each dependency alone and each followed by an anti-dependency.
type polysi struct {
	bySessions bool // as cobra's
}

func (c polysi) Info() Info {
	in := Info{
		Name: "polysi", Paper: "PolySI", Levels: snapshotLevels, Solvers: inducedSolvers(), Partial: true,
		Takes: byCasesTakes("as published, its constraints are of two writers of a key and of who read from them, " +
			"and a predicate operation did not read what it missed"),
		About: "generalized polygraph and its induced graph, as published; for comparison, up to some ten thousand " +
			"transactions",
	}
	if c.bySessions {
		in.Name = "polysi-sessions"
		in.About = "polysi with a closure by sessions, two numbers a transaction and session"
		in.Hidden = true
	}
	return in
}

// inducedSolvers are those that keep a problem's own edges acyclic: the eager ones write the polygraph's choices down
// anew.
func inducedSolvers() []string {
	var names []string
	for _, s := range Solvers() {
		if s.Theory != "eager" {
			names = append(names, s.Name)
		}
	}
	return names
}

// maxInduced bounds the edges of a polygraph's constraints, and those of the induced graph that the solver gets.
var maxInduced = 50_000_000

// Check makes a generalized constraint of each two transactions that write a common key, prunes by reachability in the
// known induced graph, and has the solver settle the rest on the induced graph.
//
// Source:  [PolySI], the pipeline of its algorithm: known graph, constraints, pruning until nothing changes, encoding,
// solving. Differs: initial versions come first from the start. The closure is of rows of bits merged in topological
// order, as in the authors' program, which is the cheapest of the known ways where the graph is whole. isovet's solvers
// stand in for MonoSAT. Session order where the level asks for it, and real time as pairs of transactions: PolySI has
// the former only, always.
func (c polysi) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if back, err := solverByName(o.Solver); err == nil && !slices.Contains(inducedSolvers(), back.Name) {
		return nil, fmt.Errorf("polysi cannot use solver %s; expected one of %s", back.Name,
			strings.Join(inducedSolvers(), ", "))
	}
	return beginCases(ctx, c.Info(), h, o, c.decide)
}

func (c polysi) decide(x *run) error {
	ctx, o := x.ctx, x.o
	if x.tooManyInitial() {
		return nil
	}
	p := polygraph.New(x.v, o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew})
	g, ok := polygraph.NewInduced(p, maxInduced)
	x.stage("construction")
	if !ok {
		x.unknown("the constraints would have more than %d edges", maxInduced)
		return nil
	}
	bytes := g.Bytes()
	if c.bySessions {
		chains := sessionChains(p)
		if n := closure.SessionsSize(p.N, len(chains)); n <= maxClosure {
			g.BySessions(chains)
			bytes = n
		}
	}
	if bytes > maxClosure || room.For(float64(bytes)) != nil {
		x.unknown("the closure of %d transactions would take about %s, which is too much", g.N,
			room.Size(float64(bytes)))
		return nil
	}
	x.r.Stats.Constraints = len(g.Open)
	rounds, refuted, err := g.Prune(ctx)
	x.r.Stats.Rounds, x.r.Stats.KnownEdges, x.r.Stats.Left = rounds, len(g.Reduced), len(g.Open)
	x.stage("pruning")
	switch {
	case err != nil:
		x.stopped()
		return nil
	case refuted:
		return x.proveSnapshot()
	case len(g.Open) == 0:
		return x.holds(p, g.Settled())
	}
	q, ok := encode.Induced(g, maxInduced)
	x.stage("encoding")
	if !ok {
		x.unknown("the induced graph would have more than %d open edges", maxInduced)
		return nil
	}
	a := x.back.solve(ctx, q)
	x.solved(p, a)
	switch a.Status {
	case solver.Sat:
		return x.holds(p, encode.Deduced(g, a.Edges))
	case solver.Unsat:
		return x.proveSnapshot()
	}
	x.unsolved(a)
	return nil
}
