package papers

import (
	"context"
	"errors"
	"strings"

	"isovet/check/run"
	"isovet/closure"
	"isovet/evidence"
	"isovet/history"
	"isovet/polygraph"
)

// cobra is Cobra: all pairs of writes, combined to chains where transactions read what they overwrite; pruning over the
// full closure, computed again each round; one variable per edge.
type cobra struct{}

// cobraItems says why this baseline for comparisons takes no predicates.
const cobraItems = "its published constraints relate only writers and readers of one key; use vbox"

func (cobra) Info() run.Info {
	return run.Info{
		Name: "cobra", Paper: "Cobra", Levels: run.SerialLevels, Solvers: run.SolverNames(),
		Takes: run.Takes{Items: true, ItemsOnly: cobraItems, Unknown: run.OutcomesDecided, Duplicates: true},
		About: "polygraph of all pairs of writers, combined and coalesced, pruned by the full closure",
		Settings: []run.Setting{{Name: run.SettingClosure, Values: []string{"warshall", "purdom"}},
			{Name: run.SettingEncoding, Values: run.EncodingFirst("cobra")},
			{Name: run.SettingPhase, Values: run.Phases()},
			{Name: run.SettingTechnique, Values: append(run.SearchTechniques(), run.NoStrictFirst)}},
	}
}

// Check is [Cobra] §4: known graph, combining writes and coalescing, pruning until nothing changes, solving. Differs:
// the first closure is Warshall's on one core, where the paper squares matrices on a GPU ([Vbox] §5.2 describes the
// baseline so), or Purdom's if the setting closure says so. Later closures are Purdom's, which favours the baseline.
// isovet's solver replaces MonoSAT. Reads with several possible writers, which the paper excludes, are constraints like
// Vbox's for predicates (errata V6).
func (c cobra) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	return x.Result, c.decide(x)
}

// decide asks cobra's questions one after the other.
func (c cobra) decide(x *run.Run) error {
	o := x.Options
	_, missing := polygraph.MissingTime(x.H)
	todo := run.Attempts(o, !missing)
	if !missing && !o.Level.RealTime() {
		todo = todo[len(todo)-1:] // Cobra does not use times
	}
	for _, a := range todo {
		if err := c.pipeline(x, a); err != nil || x.Answered() {
			return err
		}
	}
	return nil
}

// pipeline is [Cobra] §4 for one question.
func (c cobra) pipeline(x *run.Run, at run.Attempt) error {
	no := func() error { return x.RefutedFor(at) } // a cycle does not show the transactions inside chains
	p := x.Combined(at)
	if p == nil {
		return nil
	}
	if p.Baseless() != nil {
		return no()
	}
	_, ok, err := cobraPrune(x, p)
	if err != nil || x.Result.Reason != "" {
		return err
	}
	if !ok {
		return no()
	}
	x.Result.Stats.KnownEdges, x.Result.Stats.Left = len(p.Known), len(p.Choices)+p.OpenBased()
	x.Stage("pruning")
	return x.SettleOr(p, x.Options.Pipeline.Encoder("cobra"), no)
}

// cobraPrune is [Cobra] §4.3. It returns the closure of the remaining known graph. ok says that the graph is acyclic
// and each choice possible. If pruning was stopped, the result says so.
func cobraPrune(x *run.Run, p *polygraph.Polygraph) (reach closure.Index, ok bool, err error) {
	build, last := closure.Warshall, "warshall, then purdom"
	if x.Options.Pipeline.Closure == "purdom" {
		build, last = closure.Purdom, "purdom"
	}
	x.Result.Stats.Closure, _, _ = strings.Cut(last, ",")
	for {
		reach, err := x.Pruned(p, 0, build)
		if errors.Is(err, closure.ErrStopped) {
			x.Stopped()
			return nil, false, nil
		}
		if errors.Is(err, closure.ErrTooLarge) {
			x.Unknown("%v", err)
			return nil, false, nil
		}
		if err != nil || reach == nil {
			return nil, false, err
		}
		n, conflict := p.PruneRound(reach)
		x.Result.Stats.Rounds++
		if conflict != nil {
			return nil, false, nil
		}
		if n == 0 {
			x.Stage("pruning")
			return reach, true, nil
		}
		build, x.Result.Stats.Closure = closure.Purdom, last
	}
}
