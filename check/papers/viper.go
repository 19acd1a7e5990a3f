package papers

import (
	"cmp"
	"context"
	"errors"

	"isovet/check/run"
	"isovet/closure"
	"isovet/evidence"
	"isovet/history"
	"isovet/polygraph"
)

// viper is Viper: snapshot isolation holds if a graph of begins and commits is acyclic. It has a choice for each two
// writers of a key whose order is open.
type viper struct{}

func (viper) Info() run.Info {
	return run.Info{
		Name: "viper", Paper: "Viper", Levels: run.SnapshotLevels, Solvers: run.SolverNames(),
		Takes: run.Takes{Items: true, Predicates: run.SnapshotLevels, Unknown: run.OutcomesTried, Duplicates: true},
		About: "BC-polygraph of begins and commits with a choice for each pair of writers, pruned by the full closure",
		Settings: []run.Setting{{Name: run.SettingClosure, Values: []string{"purdom", "warshall"}},
			{Name: run.SettingEncoding, Values: run.EncodingFirst("vbox")},
			{Name: run.SettingPhase, Values: run.Phases()},
			{Name: run.SettingTechnique, Values: run.SearchTechniques()}},
	}
}

// Check is the BC-polygraph of errata B4. For writers a and b of a key, either a commits before b begins, and the
// readers of a's version begin before b commits; or the reverse. Initial versions come first.
//
// Source:  [Viper]; [BCGraphs] §6 names it for unknown version orders. Differs: read-modify-writes are combined to
// chains, and pruning works, as in Cobra; isovet's solvers replace MonoSAT. Reads with several possible writers are
// constraints as in cobra. So are the keys that predicate operations missed or overwrote blindly (errata V16 to V18):
// if the operation saw a version, its begin comes after the commit of that version's writer, and before the commit of
// each later writer that it did not see.
func (c viper) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	return x.Result, x.InTurn([]run.Attempt{run.Own(o)}, func(a run.Attempt) error { return c.pipeline(x, a) })
}

// pipeline answers one question.
func (c viper) pipeline(x *run.Run, at run.Attempt) error {
	no := func() error { return x.RefutedFor(at) }
	p := x.Combined(at)
	if p == nil {
		return nil
	}
	if m, ok := p.Mismatch(); ok {
		x.Violated(m)
		return nil
	}
	if p.Baseless() != nil {
		return no()
	}
	switch refuted, err := pruneByRounds(x, p); {
	case err != nil || x.Result.Reason != "":
		return err
	case refuted:
		return no()
	}
	return x.SettleOr(p, x.Options.Pipeline.Encoder("vbox"), no)
}

// pruneByRounds settles the choices that reachability settles, over a closure that it computes again each round. If the
// closure would be too large, it prunes nothing.
func pruneByRounds(x *run.Run, p *polygraph.Polygraph) (refuted bool, err error) {
	defer func() {
		x.Result.Stats.KnownEdges, x.Result.Stats.Left = len(p.Known), len(p.Choices)+p.OpenBased()
		x.Stage("pruning")
	}()
	build := closure.Purdom
	if x.Options.Pipeline.Closure == "warshall" {
		build = closure.Warshall
	}
	x.Result.Stats.Closure = cmp.Or(x.Options.Pipeline.Closure, "purdom")
	for {
		reach, err := x.Pruned(p, int64(run.MaxClosure), build)
		switch {
		case errors.Is(err, closure.ErrStopped):
			x.Stopped()
			return false, nil
		case errors.Is(err, closure.ErrTooLarge):
			return p.KnownCycle() != nil, nil
		case err != nil || reach == nil:
			return err == nil, err
		}
		n, conflict := p.PruneRound(reach)
		x.Result.Stats.Rounds++
		if conflict != nil || n == 0 {
			return conflict != nil, nil
		}
	}
}
