package check

import (
	"context"
	"errors"

	"isovet/check/bcgraph"
	"isovet/evidence"
	"isovet/history"
)

// adya is Adya's snapshot isolation: cycles of the start-ordered serialization graph without two anti-dependencies in a
// row, searched one by one.
type adya struct{ full bool }

func (a adya) Info() Info {
	in := Info{
		Name: "adya-si", Paper: "BCGraphs", Levels: snapshotLevels, Takes: byCasesTakes(graphItems), Partial: true,
		About: "known version orders: Adya's start-ordered serialization graph, cycles searched in its components; " +
			"exponential",
	}
	if a.full {
		in.Name, in.About = "adya-si-full", "adya-si without the reduction of start edges: one for each pair of "+
			"transactions"
	}
	return in
}

// Check is the baseline of [BCGraphs] §5, Figure 1 (full) and Figure 2. Differs: where there is no cycle to forbid, the
// order that proves it comes from the BC-graph, which is acyclic then (Lemma 10).
func (a adya) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return beginCases(ctx, a.Info(), h, o, func(x *run) error { return a.decide(ctx, x) })
}

func (a adya) decide(ctx context.Context, y *run) error {
	x, in, known, done, err := orderedOf(y)
	if done {
		return err
	}
	if x.tooManyStarts(in, !a.full, bcgraph.AdyaBytes) {
		return nil
	}
	g := bcgraph.NewAdya(in, !a.full)
	x.r.Stats.KnownEdges, x.r.Stats.Constraints = g.Edges, g.Start
	x.stage("construction")
	cycle, ok := g.Forbidden(ctx)
	x.stage("solving")
	switch {
	case !ok:
		x.stopped()
	case cycle == nil:
		order, ok := bcgraph.NewBC(in).Order()
		if !ok {
			return &Fault{Checker: x.r.Checker, Err: errors.New("no cycle is forbidden, and the graph of " +
				"begins and commits has one")}
		}
		x.r.Verdict, x.r.Order = evidence.Holds, order
		x.stage("evidence")
	case bcgraph.Unordered(in) != nil: // whatever the version orders
		x.violated(evidence.Anomaly{Cycle: bcgraph.Unordered(in)})
	case !known:
		x.orderOpen()
	default:
		x.violated(evidence.Anomaly{Cycle: cycle})
	}
	return nil
}
