package check

import (
	"context"
	"time"

	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/prepass"
)

// weakly decides the levels below snapshot isolation by the orders that their axioms demand.
type weakly struct{}

func (weakly) Info() Info {
	return Info{
		Name: "weak", Paper: "AWDIT", Levels: weak.Levels(),
		Takes: Takes{Items: true, Predicates: []level.Level{level.ReadCommitted}, Lists: ListsRead,
			Unknown: OutcomesDecided, Duplicates: true},
		About: "the commit orders that Biswas and Enea's axioms demand, in AWDIT's bounds",
	}
}

// Check is package weak on item operations. Lists are told as registers whose order is known.
func (c weakly) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if h.HasLists() {
		return c.lists(ctx, h, o)
	}
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	if h.HasPredicates() {
		for _, r := range x.v.Amb {
			if k := h.Ops.Kind[x.v.ROp(r)]; k != history.Read {
				x.unknown("a predicate operation of transaction %d matched a row that several transactions wrote alike",
					h.Txns.ID[x.v.Reader(r)])
				return x.r, nil
			}
		}
	}
	a := weak.Check(ctx, x.v, o.Level, weak.Options{Choices: fewChoices})
	for _, more := range []struct {
		patience time.Duration // of the stronger level
		choices  int
	}{{100 * time.Millisecond, fewChoices + fewWork/(1+h.NumTxns())}, {3 * time.Second, 0}} {
		if a.Status != weak.GaveUp {
			break
		}
		if done, err := x.implied(more.patience); done || err != nil {
			return x.r, err
		}
		a = weak.Check(ctx, x.v, o.Level, weak.Options{Choices: more.choices})
	}
	x.weak(a, a.Anomaly)
	return x.r, nil
}

// Before a stronger level is asked, fewChoices of the writers of reads are refuted; before it is asked at length, more:
// fewWork over the number of transactions.
var fewChoices, fewWork = 64, 1 << 19

// implied asks replay whether the history satisfies session snapshot isolation, which implies the weak levels: its
// order of commits is a commit order, and the snapshots say from whom each read is. No answer but "valid" is of use.
// done: that was it.
func (x *run) implied(patience time.Duration) (done bool, err error) {
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	const stronger = level.SessionSnapshotIsolation
	o := x.o
	o.Level = stronger
	r, err := ask(ctx, replayer{}, x.h, o)
	if err != nil || r.Verdict != evidence.Holds {
		return false, err
	}
	x.r.Order, x.r.Sources = commitOrder(x.h, x.v, r.Order)
	x.r.Verdict = evidence.Holds
	x.r.Note = stronger.String() + ", which implies it, holds: replay found that"
	x.r.Implied, x.r.ImpliedBy, x.r.DecidedBy = true, stronger, r.DecidedBy
	x.stage("solving")
	return true, nil
}

func (c weakly) lists(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, v, done, err := beginLists(ctx, c.Info(), h, o, nil)
	if done || err != nil {
		return x.r, err
	}
	g := v.Blind()
	x.v = prepass.RunWith(g.H, prepass.Options{EachRead: o.Level == level.ReadCommitted, Count: v.Counts})
	x.stage("prepass")
	if len(x.v.Anomalies) > 0 {
		for i, a := range x.v.Anomalies {
			x.v.Anomalies[i] = g.Retold(a)
		}
		x.violated(x.v.Anomalies...)
		x.r.Also = x.v.Also
		return x.r, nil
	}
	if len(x.v.Open) > 0 {
		x.unknown("registers beside lists need known outcomes: whether transaction %d committed is open",
			h.Txns.ID[x.v.Open[0]])
		return x.r, nil
	}
	a := weak.Check(ctx, x.v, o.Level, weak.Options{Known: weak.Known{Rank: g.Ranks(), Orders: g.Orders}})
	for i := range a.Sources {
		a.Sources[i].Op = g.Op(a.Sources[i].Op)
	}
	x.weak(a, g.Retold(a.Anomaly))
	return x.r, nil
}

// weak takes over an answer of package weak.
func (x *run) weak(a weak.Answer, shown evidence.Anomaly) {
	x.r.Stats.KnownEdges, x.r.Stats.Constraints, x.r.Stats.Rounds = a.Edges, a.Demanded, a.Rounds
	x.stage("solving")
	switch a.Status {
	case weak.Holds:
		x.r.Verdict, x.r.Order, x.r.Sources = evidence.Holds, a.Order, a.Sources
	case weak.Violated:
		if a.Twice {
			x.unknown("no choice of writers explains the history, but a transaction reads one version twice that " +
				"several wrote, and the evidence does not tell the two reads apart")
			return
		}
		x.violated(shown)
	case weak.GaveUp:
		x.unknown("%s", a.Reason)
	default:
		x.stopped()
	}
}
