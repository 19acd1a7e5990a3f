package bench

import (
	"context"
	"strconv"

	"isovet/check"
	"isovet/check/bcgraph"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

const (
	bcOne   = "one graph"
	bcEach  = "bc, a graph for each level"
	bcAnew  = "bc, one level, anew after each"
	bcGrows = "one graph that grows, six levels"
)

// bcLevelsFigure is ours: what one graph for six levels is worth, of a whole history and as its transactions come.
func bcLevelsFigure() Figure {
	return Figure{ID: "bc/levels", Title: "one graph for six levels, and one that grows",
		Where: "ours; the paper has snapshot isolation of whole histories", Metrics: []Metric{
			{"time", "six levels of a whole history, certified, processor time", "ms"},
			{"online", "an answer after each transaction, in all, processor time", "ms"}},
		Axis: "transactions", Numeric: true, Own: true, Bounds: bcLevelsBounds, Measure: bcLevels}
}

func bcLevelsBounds(*Report) []Saying {
	return []Saying{
		{Says: "one graph answers six levels of a whole history in less time than six graphs take, on every history",
			Sense: MoreThan, Number: 1, Unit: "times as fast", Find: timesLeast("time", bcOne, bcEach)},
		{Says: "an answer at six levels after each transaction takes a hundredth of the time that bc at one level " +
			"takes anew after each, on the largest history where that was tried", Sense: AtLeast, Number: 100,
			Unit: "times as fast", Find: timesLast("online", bcGrows, bcAnew)},
		{Says: "the time for an answer after each grows with the size, and where the tables leave the processor's " +
			"caches no more than three times as fast", Sense: AtMost, Number: 3, Unit: "times the growth of the size",
			Find: growing("online", "", bcGrows)},
	}
}

// bcSix are the levels of one graph.
func bcSix() (out []level.Level) {
	for _, l := range level.All() {
		if l.Serial() || l.Snapshot() {
			out = append(out, l)
		}
	}
	return out
}

// bcRuns is of how many runs in this process the fastest counts.
const bcRuns = 5

func bcLevels(ctx context.Context, lab *Lab, r *Report) error {
	bc, err := check.ByName("bc")
	if err != nil {
		return err
	}
	anewUntil := lab.Pick(100, 2000, 4000)
	for _, n := range bcSizes(lab.Pick(50, 1000, 1000), lab.Pick(100, 64_000, 256_000)) {
		h, err := lab.generated(ctx, datasets.Spec{Workload: "rmw", Isolation: "snapshot-isolation", Txns: n})
		if err != nil {
			return err
		}
		each, err := leastOf(ctx, func() error {
			for _, l := range bcSix() {
				if _, err := check.Run(ctx, bc, h, check.Options{Level: l}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		one, err := leastOf(ctx, func() error {
			_, err := check.RunLatticeBy(ctx, bc, h, check.Options{}, nil)
			return err
		})
		if err != nil {
			return err
		}
		grows, err := leastOf(ctx, func() error { grow(h); return nil })
		if err != nil {
			return err
		}
		group := strconv.Itoa(n)
		add := func(metric, series string, ms float64) {
			r.Add(Point{Metric: metric, Group: group, Series: series, Value: ms, Verdict: evidence.Holds})
		}
		add("time", bcEach, each)
		add("time", bcOne, one)
		add("online", bcGrows, grows)
		if n <= anewUntil {
			ms, err := anew(ctx, bc, h)
			if err != nil {
				return err
			}
			add("online", bcAnew, ms)
		}
	}
	r.Note("All is measured in one process, the fastest of %d runs. One graph's answers of a whole history are those "+
		"of check --level all --checker bc: the levels below, which follow, are certified in its time too.", bcRuns)
	r.Note("Anew means: of the history so far the pre-pass, the graph at strict serializability, its order and that " +
		"certified, without what it takes to cut the history off there.")
	return nil
}

// leastOf runs f a few times and returns the processor's time of the fastest, ms.
func leastOf(ctx context.Context, f func() error) (ms float64, err error) {
	for i := range bcRuns {
		start := selfCPUMS()
		if err := f(); err != nil {
			return 0, err
		}
		if took := selfCPUMS() - start; i == 0 || took < ms {
			ms = took
		}
	}
	return ms, ctx.Err()
}

// grow asks for six answers after each transaction, for a violation's cycle when there is one, and for orders at the
// end.
func grow(h *history.History) {
	txns, initial := bcgraph.Txns(h, 0)
	g := bcgraph.NewGrowing(initial)
	for i := range txns {
		for _, l := range g.Add(&txns[i]) {
			g.Violation(l)
		}
		for _, l := range bcSix() {
			g.Answer(l)
		}
	}
	for _, l := range bcSix() {
		g.Order(l)
	}
}

// anew is the processor's time that a checker takes after each transaction, ms.
func anew(ctx context.Context, c check.Checker, h *history.History) (ms float64, err error) {
	var keep []uint32
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		keep = append(keep, t)
		part := history.Restrict(h, keep, nil)
		start := selfCPUMS()
		if _, err := check.Run(ctx, c, part.H, check.Options{Level: level.StrictSerializable}); err != nil {
			return 0, err
		}
		ms += selfCPUMS() - start
	}
	return ms, ctx.Err()
}
