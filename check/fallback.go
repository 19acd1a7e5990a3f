package check

import (
	"context"
	"errors"
	"time"

	"isovet/evidence"
	"isovet/explain"
	"isovet/polygraph"
)

const (
	// replayConflicts is after how many conflicts replay leaves a history with predicates to a polygraph of all choices: where an order
	// comes easily it takes fewer, and where it does not each costs milliseconds.
	replayConflicts = 200
	// maxFallback bounds the pairs of writes, and the versions that predicate constraints name, of that polygraph.
	maxFallback = 5_000_000
	// fallbackTime is how long the polygraph has, half of what is left at most.
	fallbackTime = time.Minute
)

// byPolygraph decides in place of replay: vbox's pipeline at any level of orders, with begin and commit nodes at the snapshot ones. Blind
// writes, deletes and predicates that miss leave nearly everything open where no times tell the order; reachability then settles nearly
// all of it, whereas an order found by chance breaks as it is mended. done: that was the answer.
func (x *run) byPolygraph() (done bool, err error) {
	patience := fallbackTime
	if end, ok := x.ctx.Deadline(); ok {
		patience = min(patience, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	o := x.o
	o.Pipeline, o.Solver = Pipeline{}, ""
	y, done := beginAble(ctx, x.r.Checker, x.h, o, orderLevels, able{predicates: true, settled: true})
	if done {
		return false, nil
	}
	y.fallback = true
	back, err := solverByName("")
	if err != nil {
		return false, err
	}
	_, missing := polygraph.MissingTime(x.h)
	err = vbox{}.decide(y, back, attempts(o, !missing))
	x.stage("polygraph")
	switch {
	case errors.Is(err, explain.ErrHolds): // the part that it would show needs what was left out: replay goes on
		return false, nil
	case err != nil:
		return false, err
	case y.r.Verdict == evidence.Unknown:
		return false, nil
	}
	x.r.Verdict, x.r.Order, x.r.Anomalies, x.r.Also = y.r.Verdict, y.r.Order, y.r.Anomalies, y.r.Also
	x.r.Stats.KnownEdges, x.r.Stats.Constraints, x.r.Stats.Left = y.r.Stats.KnownEdges, y.r.Stats.Constraints, y.r.Stats.Left
	x.r.Stats.Variables, x.r.Stats.Clauses, x.r.Stats.Rounds = y.r.Stats.Variables, y.r.Stats.Clauses, y.r.Stats.Rounds
	return true, nil
}
