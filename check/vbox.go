package check

import (
	"context"
	"errors"

	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/polygraph"
)

// vbox is Vbox: client times make most of the graph known, a compact closure prunes what is left, one variable a choice goes to
// a solver whose theory is that closure.
type vbox struct{}

// maxClosure bounds the closure where no times make it compact; past it, pruning is left to the solver.
const maxClosure = 1 << 30

func (vbox) Info() Info {
	return Info{
		Name: "vbox", Paper: "Vbox", Levels: serialLevels, Solvers: solverNames(),
		About: "polygraph with time dependencies, compact transitive closure, one variable a constraint",
	}
}

// Check decides with time dependencies first, where the history has times: an order that respects real time is one that the
// weaker levels accept as well. Only if there is none, and the level does not ask for real time, are the times dropped.
//
// Source: [Vbox] §4; Theorem 4.2 as errata V8 corrects it.
func (c vbox) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	back, err := solverByName(o.Solver)
	if err != nil {
		return nil, err
	}
	x, done := begin(ctx, "vbox", h, o, serialLevels)
	x.r.Solver = back.Name
	if done {
		return x.r, nil
	}
	_, missing := polygraph.MissingTime(h)
	if timed := !missing; timed {
		level := x.o.Level
		err := c.pipeline(x, back, polygraph.Options{RealTime: true, Skew: o.ClockSkew}, level.RealTime())
		if err != nil || x.r.Verdict == evidence.Holds || level.RealTime() || ctx.Err() != nil {
			return x.r, err
		}
		x.r.Anomalies, x.r.Verdict, x.r.Reason = nil, evidence.Unknown, ""
	}
	return x.r, c.pipeline(x, back, polygraph.Options{}, true)
}

// pipeline is the paper's §4 from the known graph to the solver. explain: a "no" is the level's own, and wants evidence.
func (vbox) pipeline(x *run, back Solver, po polygraph.Options, explain bool) error {
	no := func(p *polygraph.Polygraph, cycles [][]polygraph.Edge) error {
		if !explain {
			return nil
		}
		return x.explained(p, cycles)
	}
	// §4.2 known graph, §4.3 avoidance
	p := polygraph.New(x.v, x.o.Level, po)
	if po.RealTime {
		p.Overlapping()
	} else {
		p.AllPairs()
	}
	x.r.Stats.Constraints = p.Pairs
	x.stage("construction")
	// §4.4 compact closure, §4.3 pruning
	conflict, cycle, err := prune(x, p)
	switch {
	case err != nil:
		return err
	case x.r.Reason != "":
		return nil
	case cycle:
		return no(p, [][]polygraph.Edge{p.KnownCycle()})
	case conflict != nil:
		return no(p, p.ConflictCycles(conflict))
	}
	// §4.5 encoding, §4.6 solving
	if !explain {
		// Dropping the times may still satisfy the level: a refutation needs no evidence.
		return x.settleOnly(p, encode.Vbox(p), back)
	}
	enc, err := encode.ByName("vbox")
	if err != nil {
		return err
	}
	return x.settle(p, enc, back)
}

// prune settles what reachability settles: edge by edge over the compact closure where times keep it small; else round by
// round over a full one, which is built anew faster than thousands of edges are added to it. Where even one full closure is too
// large, nothing is pruned and the solver has it all.
func prune(x *run, p *polygraph.Polygraph) (conflict *polygraph.Conflict, cycle bool, err error) {
	defer func() {
		x.r.Stats.KnownEdges, x.r.Stats.Left = len(p.Known), len(p.Choices)
		x.stage("pruning")
	}()
	in := func() closure.Input { return closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)} }
	if p.Start != nil {
		reach, cyc, err := closure.New(closure.KindPurdomPlus, in(), closure.Options{MaxBytes: maxClosure})
		if errors.Is(err, closure.ErrTooLarge) {
			return nil, p.KnownCycle() != nil, nil
		}
		if err != nil || cyc != nil {
			return nil, cyc != nil, err
		}
		_, conflict, err = p.Prune(x.ctx, reach)
		if err != nil {
			x.stopped()
			err = nil
		}
		return conflict, false, err
	}
	for {
		reach, cyc, err := closure.Purdom(in(), closure.Options{MaxBytes: maxClosure, Stop: func() bool { return x.ctx.Err() != nil }})
		if errors.Is(err, closure.ErrStopped) {
			x.stopped()
			return nil, false, nil
		}
		if errors.Is(err, closure.ErrTooLarge) {
			return nil, p.KnownCycle() != nil, nil
		}
		if err != nil || cyc != nil {
			return nil, cyc != nil, err
		}
		n, conflict := p.PruneRound(reach)
		if n == 0 || conflict != nil {
			return conflict, false, nil
		}
	}
}
