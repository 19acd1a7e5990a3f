package check

import (
	"context"
	"errors"

	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

var snapshotLevels = []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

// viper is Viper: snapshot isolation as the acyclicity of a graph of begins and commits, with a choice for each two writers of a
// key whose order is open.
type viper struct{}

func (viper) Info() Info {
	return Info{
		Name: "viper", Paper: "Viper", Levels: snapshotLevels, Solvers: solverNames(),
		About: "BC-polygraph: begins and commits, a choice a writer pair, pruned over the full closure",
	}
}

// Check is the BC-polygraph of errata B4: for writers a and b of a key either a commits before b begins and who read a's version
// begins before b commits, or the mirror; initial versions come first.
//
// Source:  [Viper]; [BCGraphs] §6 names it for unknown version orders.
// Differs: read-modify-writes are combined to chains as in Cobra; pruning as there; isovet's solvers stand in for MonoSAT.
func (c viper) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	back, err := solverByName(o.Solver)
	if err != nil {
		return nil, err
	}
	x, done := begin(ctx, "viper", h, o, snapshotLevels)
	x.r.Solver = back.Name
	if done {
		return x.r, x.bad
	}
	if x.tooManyInitial() {
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
		return x.r, x.refutedSnapshot()
	}
	a := encode.Answer{Status: solver.Sat}
	if len(p.Choices) > 0 {
		q := encode.Vbox(p)
		x.stage("encoding")
		a = back.solve(ctx, q)
		x.solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.r, x.holds(p, a.Edges)
	case solver.Unsat:
		return x.r, x.refutedSnapshot()
	}
	x.unsolved(a)
	return x.r, nil
}

// pruneByRounds settles what reachability settles, over a closure that is computed anew each round. Where the closure would be too
// large, nothing is pruned.
func pruneByRounds(x *run, p *polygraph.Polygraph) (refuted bool, err error) {
	defer func() {
		x.r.Stats.KnownEdges, x.r.Stats.Left = len(p.Known), len(p.Choices)
		x.stage("pruning")
	}()
	for {
		reach, cycle, err := closure.New(closure.KindPurdom, closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(false)},
			closure.Options{MaxBytes: maxClosure, Stop: func() bool { return x.ctx.Err() != nil }})
		switch {
		case errors.Is(err, closure.ErrStopped):
			x.stopped()
			return false, nil
		case errors.Is(err, closure.ErrTooLarge):
			return p.KnownCycle() != nil, nil
		case err != nil || cycle != nil:
			return cycle != nil, err
		}
		n, conflict := p.PruneRound(reach)
		x.r.Stats.Rounds++
		if conflict != nil || n == 0 {
			return conflict != nil, nil
		}
	}
}

// refutedSnapshot proves the "no" of a checker of snapshot isolation in terms of single writes. The proof starts from a pruned
// polygraph without chains and does not rely on the checker; if there is none, the checker was wrong, and that is a fault.
func (x *run) refutedSnapshot() error {
	if x.tooManyInitial() {
		return nil
	}
	p := polygraph.New(x.v, x.o.Level, polygraph.Options{RealTime: x.o.Level.RealTime(), Skew: x.o.ClockSkew})
	if c := p.KnownCycle(); c != nil {
		return x.explained(p, [][]polygraph.Edge{c}, true)
	}
	if n := p.ListBytes(); n > fewBytes && room.For(n) != nil {
		return x.replayed()
	}
	p.AllPairs()
	reach, _, err := closure.New(closure.KindPurdomPlus, closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)},
		closure.Options{MaxBytes: maxClosure, Stop: func() bool { return x.ctx.Err() != nil }})
	if errors.Is(err, closure.ErrTooLarge) {
		return x.replayed()
	}
	if errors.Is(err, closure.ErrStopped) {
		x.stopped()
		return nil
	}
	if err != nil {
		return err
	}
	_, conflict, err := p.Prune(x.ctx, reach)
	if err != nil {
		x.stopped()
		return nil
	}
	if conflict != nil {
		return x.explained(p, p.ConflictCycles(conflict), true)
	}
	a := encode.Lazy(x.ctx, encode.Vbox(p), solver.New(solver.Options{}))
	switch a.Status {
	case solver.Sat:
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	case solver.Unsat:
		return x.explained(p, a.Cycles, true)
	}
	x.stopped()
	return nil
}

// replayed has replay prove a "no" where a closure is too large.
func (x *run) replayed() error {
	r, err := replayer{}.Check(x.ctx, x.h, x.o)
	if err != nil {
		return err
	}
	if r.Verdict == evidence.Holds {
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	}
	x.r.Verdict, x.r.Reason, x.r.Anomalies, x.r.Also = r.Verdict, r.Reason, r.Anomalies, r.Also
	return nil
}
