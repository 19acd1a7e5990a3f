package check

import (
	"context"
	"errors"

	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/polygraph"
	"isovet/solver"
)

// viper is Viper: snapshot isolation as the acyclicity of a graph of begins and commits, with a choice for each two
// writers of a key whose order is open.
type viper struct {
	bySessions bool // as cobra's
}

func (c viper) Info() Info {
	in := Info{
		Name: "viper", Paper: "Viper", Levels: snapshotLevels, Solvers: solverNames(), Takes: Takes{Items: true},
		About: "BC-polygraph: begins and commits, a choice a writer pair, pruned over the full closure",
	}
	if c.bySessions {
		in.Name = "viper-sessions"
		in.About = "viper with a closure by sessions, two numbers a transaction and session"
		in.Hidden = true
	}
	return in
}

// Check is the BC-polygraph of errata B4: for writers a and b of a key either a commits before b begins and who read
// a's version begins before b commits, or the mirror; initial versions come first.
//
// Source:  [Viper]; [BCGraphs] §6 names it for unknown version orders. Differs: read-modify-writes are combined to
// chains as in Cobra; pruning as there; isovet's solvers stand in for MonoSAT.
func (c viper) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	if x.bySessions = c.bySessions; x.tooManyInitial() {
		return x.r, nil
	}
	p := polygraph.New(x.v, o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew})
	if err := p.Combine(); err != nil {
		x.unknown("too many pairs of chains of writes are open: listing them %v", err)
		return x.r, nil
	}
	x.r.Stats.Constraints = p.Pairs
	x.stage("construction")
	switch refuted, err := pruneByRounds(x, p); {
	case err != nil || x.r.Reason != "":
		return x.r, err
	case refuted:
		return x.r, x.proveSnapshot()
	}
	a := encode.Answer{Status: solver.Sat}
	if len(p.Choices) > 0 {
		q := encode.Vbox(p)
		x.stage("encoding")
		a = x.back.solve(ctx, q)
		x.solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.r, x.holds(p, a.Edges)
	case solver.Unsat:
		return x.r, x.proveSnapshot()
	}
	x.unsolved(a)
	return x.r, nil
}

// pruneByRounds settles what reachability settles, over a closure that is computed anew each round. Where the closure
// would be too large, nothing is pruned.
func pruneByRounds(x *run, p *polygraph.Polygraph) (refuted bool, err error) {
	defer func() {
		x.r.Stats.KnownEdges, x.r.Stats.Left = len(p.Known), len(p.Choices)
		x.stage("pruning")
	}()
	for {
		reach, err := x.pruned(p, maxClosure, closure.Purdom)
		switch {
		case errors.Is(err, closure.ErrStopped):
			x.stopped()
			return false, nil
		case errors.Is(err, closure.ErrTooLarge):
			return p.KnownCycle() != nil, nil
		case err != nil || reach == nil:
			return err == nil, err
		}
		n, conflict := p.PruneRound(reach)
		x.r.Stats.Rounds++
		if conflict != nil || n == 0 {
			return conflict != nil, nil
		}
	}
}
