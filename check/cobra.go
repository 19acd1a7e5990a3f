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

// cobra is Cobra: all pairs of writes, combined to chains where transactions read what they overwrite; pruning over the
// full closure, computed anew each round; one variable an edge.
type cobra struct {
	// bySessions: the closure is one by sessions, in two numbers a transaction and session (closure.Sessions).
	bySessions bool
}

func (c cobra) Info() Info {
	in := Info{
		Name: "cobra", Paper: "Cobra", Levels: serialLevels, Solvers: solverNames(), Takes: Takes{Items: true},
		About: "polygraph of all writer pairs, combined and coalesced, pruned over the full closure",
	}
	if c.bySessions {
		in.Name = "cobra-sessions"
		in.About = "cobra with a closure by sessions, two numbers a transaction and session"
		in.Hidden = true
	}
	return in
}

// Check is [Cobra] §4: known graph, combining writes and coalescing, pruning until nothing changes, solving. Differs:
// the first closure is Warshall's on one core, where the paper squares matrices on a GPU ([Vbox] §5.2 describes the
// baseline so); those of later rounds are Purdom's, which is kinder to the baseline; our solver stands in for MonoSAT.
func (c cobra) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	x.bySessions = c.bySessions
	_, missing := polygraph.MissingTime(h)
	todo := attempts(o, !missing)
	if !missing && !o.Level.RealTime() {
		todo = todo[1:] // times are Vbox's idea
	}
	for _, a := range todo {
		if err := c.pipeline(x, a); err != nil || x.r.Verdict != evidence.Unknown || x.r.Reason != "" {
			return x.r, err
		}
	}
	return x.r, nil
}

// pipeline is [Cobra] §4 for one attempt; see run.pipeline.
func (c cobra) pipeline(x *run, at attempt) error {
	no := func() error {
		if !at.own {
			return nil
		}
		// Chains hide the transactions inside them from a cycle.
		return x.proveByPolygraph()
	}
	if x.tooManyInitial() {
		return nil
	}
	p := polygraph.New(x.v, at.level, at.order)
	if err := p.Combine(); err != nil {
		x.unknown("too many pairs of chains of writes are open: listing them %v", err)
		return nil
	}
	x.r.Stats.Constraints = p.Pairs
	x.stage("construction")
	_, ok, err := cobraPrune(x, p)
	if err != nil || x.r.Reason != "" {
		return err
	}
	if !ok {
		return no()
	}
	x.r.Stats.KnownEdges, x.r.Stats.Left = len(p.Known), len(p.Choices)
	x.stage("pruning")
	var a encode.Answer
	if a.Status = solver.Sat; len(p.Choices) > 0 {
		q := encode.Cobra(p)
		x.stage("encoding")
		a = x.back.solve(x.ctx, q)
		x.solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.holds(p, a.Edges)
	case solver.Unsat:
		return no()
	}
	x.unsolved(a)
	return nil
}

// cobraPrune is [Cobra] §4.3. It returns the closure of the known graph that it leaves, and whether that and each
// choice is possible; if stopped, the result says so.
func cobraPrune(x *run, p *polygraph.Polygraph) (reach closure.Index, ok bool, err error) {
	build := closure.Warshall
	for {
		reach, err := x.pruned(p, 0, build)
		if errors.Is(err, closure.ErrStopped) {
			x.stopped()
			return nil, false, nil
		}
		if errors.Is(err, closure.ErrTooLarge) {
			x.unknown("%v", err)
			return nil, false, nil
		}
		if err != nil || reach == nil {
			return nil, false, err
		}
		n, conflict := p.PruneRound(reach)
		x.r.Stats.Rounds++
		if conflict != nil {
			return nil, false, nil
		}
		if n == 0 {
			x.stage("pruning")
			return reach, true, nil
		}
		build = closure.Purdom
	}
}
