package check

import (
	"context"
	"slices"

	"isovet/check/explain"
	"isovet/check/mixed"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

// mixedLevels decides histories whose transactions name their own levels. It is not in All: auto picks it at a mixed
// level.
type mixedLevels struct{}

func (mixedLevels) Info() Info {
	in := Info{Name: "mixed", Takes: Takes{Items: true, Lists: run.ListsRefused, Unknown: run.OutcomesDecided,
		Duplicates: true},
		About: "one order of begins and commits, in which each transaction reads as its own level says"}
	in.Levels = slice.Map(level.All(), level.Mixed)
	return in
}

// Check runs package mixed on registers.
func (c mixedLevels) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	timed := false
	for t := range uint32(h.NumTxns()) {
		l := o.Level.Of(h.LevelName(t))
		timed = timed || l.RealTime()
		if l == level.Linearizable && t != h.Init && h.Txns.Status[t] != history.Aborted {
			return c.not(ctx, h, o, "other levels cannot be mixed with %s, which transaction %d has", l, h.Txns.ID[t])
		}
	}
	if t, missing := polygraph.MissingTime(h); timed && missing {
		return c.not(ctx, h, o, "a strict level needs the start and end of every committed transaction; transaction "+
			"%d lacks one of them", h.Txns.ID[t])
	}
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	if x.View.Ambiguous() {
		a := byChoices(ctx, x.View, o)
		takeWeak(x, a, a.Anomaly)
		return x.Result, nil
	}
	a := mixed.Check(ctx, x.View, o.Level, o.ClockSkew)
	s := &x.Result.Stats
	s.KnownEdges, s.Constraints, s.Rounds, s.Conflicts, s.Decisions = a.Edges, a.Pairs, a.Rounds, a.Solver.Conflicts,
		a.Solver.Decisions
	x.Stage("solving")
	switch a.Status {
	case solver.Sat:
		x.Holds(a.Order)
	case solver.Unsat:
		var seed []uint32
		for _, e := range slices.Concat(a.Cycles...) {
			if seed = append(seed, e.From); e.Writer != history.None {
				seed = append(seed, e.Writer)
			}
		}
		err = x.Refuted(seed, mixed.Refute)
	default:
		x.Stopped()
	}
	return x.Result, err
}

// mixedChoices bounds the choices of writers that are tried, times the transactions: at 5,000 transactions one choice
// took up to 0.1 s.
const mixedChoices = 1 << 20

// byChoices decides a view with reads of several possible writers, for one choice of writers after the other.
func byChoices(ctx context.Context, v *prepass.View, o Options) weak.Answer {
	bound := weak.Options{Choices: max(mixedChoices/(v.H.NumTxns()+1), 16)}
	return weak.Choose(ctx, v, o.Level, bound, func(fixed *prepass.View, _ []int32) (weak.Answer, []evidence.Anomaly) {
		a := mixed.Check(ctx, fixed, o.Level, o.ClockSkew)
		switch a.Status {
		case solver.Sat:
			return weak.Answer{Status: weak.Holds, Order: a.Order, Edges: a.Edges, Rounds: a.Rounds}, nil
		case solver.Unsat:
			facts := *fixed
			facts.RW = v.RW // a read whose writer was chosen orders nothing by itself
			return weak.Answer{Status: weak.Violated, Edges: a.Edges, Rounds: a.Rounds}, []evidence.Anomaly{{
				Cycles: explain.Core(ctx, a.Cycles, &facts, o.Level, o.ClockSkew)}}
		}
		return weak.Answer{Status: weak.Stopped}, nil
	})
}

// not returns the answer "unknown" with a reason.
func (c mixedLevels) not(ctx context.Context, h *history.History, o Options, why string,
	args ...any) (*evidence.Result, error) {
	x, err := run.New(ctx, c.Info(), h, o)
	if err == nil {
		x.Unknown(why, args...)
	}
	return x.Result, err
}
