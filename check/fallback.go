package check

import (
	"context"
	"errors"
	"time"

	"isovet/check/explain"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/polygraph"
)

const (
	// replayConflicts is after how many conflicts replay leaves a history with predicates to a polygraph of all
	// choices: where an order comes easily it takes fewer, and where it does not each costs milliseconds.
	replayConflicts = 200
	// maxFallback bounds the pairs of writes, and the versions that predicate constraints name, of that polygraph.
	maxFallback = 5_000_000
	// fallbackTime is how long the polygraph has, half of what is left at most.
	fallbackTime = time.Minute
)

// byPolygraph decides in place of replay: vbox's pipeline at any level of orders, with begin and commit nodes at the
// snapshot ones. Blind writes, deletes and predicates that miss leave nearly everything open where no times tell the
// order; reachability then settles nearly all of it, whereas an order found by chance breaks as it is mended. done:
// that was the answer.
func (x *run) byPolygraph() (done bool, err error) {
	patience := fallbackTime
	if end, ok := x.ctx.Deadline(); ok {
		patience = min(patience, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	o := x.o
	o.Pipeline, o.Solver = Pipeline{}, ""
	in := vbox{}.Info()
	in.Name = x.r.Checker
	y, done, err := begin(ctx, in, x.h, o)
	if done {
		return false, nil
	}
	y.fallback = true
	for _, a := range y.questions() {
		y.r.Verdict, y.r.Reason, y.r.Order, y.seed = evidence.Unknown, "", nil, nil
		if err := y.pipeline(y.back, a); err != nil {
			return false, err
		}
		switch {
		case y.r.Verdict == evidence.Holds && a.order.Relaxed:
			continue // that order need not explain everything
		case y.r.Verdict != evidence.Unknown:
			x.stage("polygraph")
			x.take(y.r)
			x.r.DecidedBy = vbox{}.Info().Name
			return true, nil
		// given up; or most likely no violation of the level's own
		case y.seed == nil, !a.own && len(y.seed) > maxTrial:
			continue
		}
		err := x.proveFrom(y.seed, replay.Refute)
		if err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
			return true, err
		}
		if x.r.Verdict != evidence.Unknown || x.r.Reason != "" {
			return true, nil
		}
	}
	x.stage("polygraph")
	return false, nil
}

// questions are those of attempts; where transactions are left out that may have made what others saw, an order without
// them will do, and the last question is one whose "no" holds whether they committed or not.
func (x *run) questions() []attempt {
	_, missing := polygraph.MissingTime(x.h)
	todo := attempts(x.o, !missing)
	if len(x.v.LeftOut)+len(x.v.Open) > 0 {
		ask := todo[len(todo)-1]
		ask.order.Relaxed = true
		for i := range todo {
			todo[i].own = false
		}
		todo = append(todo, ask)
	}
	return todo
}

// take makes an answer x's.
func (x *run) take(r *evidence.Result) {
	x.r.Verdict, x.r.Order, x.r.Anomalies, x.r.Also = r.Verdict, r.Order, r.Anomalies, r.Also
	to, from := &x.r.Stats, &r.Stats
	to.KnownEdges, to.Constraints, to.Left = from.KnownEdges, from.Constraints, from.Left
	to.Variables, to.Clauses, to.Rounds = from.Variables, from.Clauses, from.Rounds
}
