package check

import (
	"cmp"
	"context"
	"errors"

	"isovet/closure"
	"isovet/evidence"
	"isovet/history"
	"isovet/polygraph"
)

// viper is Viper: snapshot isolation as the acyclicity of a graph of begins and commits, with a choice for each two
// writers of a key whose order is open.
type viper struct {
	bySessions bool // as cobra's
}

func (c viper) Info() Info {
	in := Info{
		Name: "viper", Paper: "Viper", Levels: snapshotLevels, Solvers: solverNames(),
		Takes: Takes{Items: true, Predicates: snapshotLevels, Unknown: OutcomesTried, Duplicates: true},
		About: "BC-polygraph: begins and commits, a choice a writer pair, pruned over the full closure",
		Settings: []Setting{{SettingClosure, []string{"purdom", "warshall"}},
			{SettingEncoding, encodingFirst("vbox")}, {SettingPhase, Phases()},
			{SettingTechnique, searchTechniques()}},
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
// Reads of several possible writers are constraints as in cobra, and so is what predicate operations missed, or
// overwrote blindly (errata V16 to V18): based on a version, the operation's begin comes after its writer's commit, and
// before the commit of each later writer that the operation did not see.
func (c viper) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	x.bySessions = c.bySessions
	own := attempt{o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew}, true}
	return x.r, x.inTurn([]attempt{own}, func(a attempt) error { return c.pipeline(x, a) })
}

// pipeline puts one question; see run.pipeline.
func (c viper) pipeline(x *run, at attempt) error {
	no := func() error {
		if !at.own {
			return nil
		}
		return x.proveSnapshot()
	}
	p := x.combined(at)
	if p == nil {
		return nil
	}
	if m, ok := p.Mismatch(); ok {
		x.violated(m)
		return nil
	}
	if p.Baseless() != nil {
		return no()
	}
	switch refuted, err := pruneByRounds(x, p); {
	case err != nil || x.r.Reason != "":
		return err
	case refuted:
		return no()
	}
	return x.settleOr(p, x.o.Pipeline.encoding("vbox"), no)
}

// pruneByRounds settles what reachability settles, over a closure that is computed anew each round. Where the closure
// would be too large, nothing is pruned.
func pruneByRounds(x *run, p *polygraph.Polygraph) (refuted bool, err error) {
	defer func() {
		x.r.Stats.KnownEdges, x.r.Stats.Left = len(p.Known), len(p.Choices)+p.OpenBased()
		x.stage("pruning")
	}()
	build := closure.Purdom
	if x.o.Pipeline.Closure == "warshall" {
		build = closure.Warshall
	}
	x.r.Stats.Closure = cmp.Or(x.o.Pipeline.Closure, "purdom")
	for {
		reach, err := x.pruned(p, maxClosure, build)
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
