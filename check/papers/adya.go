package papers

import (
	"context"
	"errors"

	"isovet/check/bcgraph"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
)

// adya is Adya's snapshot isolation: it searches the start-ordered serialization graph, one by one, for cycles without
// two adjacent anti-dependencies.
type adya struct{ full bool }

func (a adya) Info() run.Info {
	in := run.Info{
		Name: "adya-si", Paper: "BCGraphs", Levels: run.SnapshotLevels,
		Takes: run.UniqueTakes(graphItems), Partial: true,
		About: "known version orders: Adya's start-ordered serialization graph, cycles searched in its components; " +
			"exponential",
	}
	if a.full {
		in.Name, in.About = "adya-si-full", "adya-si without the reduction of start edges: one for each pair of "+
			"transactions"
	}
	return in
}

// Check is the baseline of [BCGraphs] §5, Figure 1 (full) and Figure 2. Differs: if there is no forbidden cycle, the
// order that proves it comes from the BC-graph, which is then acyclic (Lemma 10).
func (a adya) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	return run.BeginUnique(ctx, a.Info(), h, o, func(x *run.Run) error { return a.decide(ctx, x) })
}

func (a adya) decide(ctx context.Context, y *run.Run) error {
	x, in, known, done, err := orderedOf(y)
	if done {
		return err
	}
	if x.tooManyStarts(in, !a.full, bcgraph.AdyaBytes) {
		return nil
	}
	g := bcgraph.NewAdya(in, !a.full)
	x.Result.Stats.KnownEdges, x.Result.Stats.Constraints = g.Edges, g.Start
	x.Stage("construction")
	cycle, ok := g.Forbidden(ctx)
	x.Stage("solving")
	switch {
	case !ok:
		x.Stopped()
	case cycle == nil:
		order, ok := bcgraph.NewBC(in).Order()
		if !ok {
			return &run.Fault{Checker: x.Result.Checker, Err: errors.New("no cycle is forbidden, and the graph of " +
				"begins and commits has one")}
		}
		x.Holds(order)
		x.Stage("evidence")
	case bcgraph.Unordered(in) != nil: // with any version orders
		x.Violated(evidence.Anomaly{Cycle: bcgraph.Unordered(in)})
	case !known:
		x.orderOpen()
	default:
		x.Violated(evidence.Anomaly{Cycle: cycle})
	}
	return nil
}
