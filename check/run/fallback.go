package run

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

// ByPolygraph decides in place of replay: vbox's pipeline at any level of orders, with begin and commit nodes at the
// snapshot ones. Blind writes, deletes and predicates that miss leave nearly everything open where no times tell the
// order; reachability then settles nearly all of it, whereas an order found by chance breaks as it is mended. done:
// that was the answer.
func (x *Run) ByPolygraph() (done bool, err error) {
	patience := fallbackTime
	if end, ok := x.Ctx.Deadline(); ok {
		patience = min(patience, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(x.Ctx, patience)
	defer cancel()
	o := x.Options
	o.Pipeline, o.Solver = Pipeline{}, ""
	in := Vbox{}.Info()
	in.Name = x.Result.Checker
	y, done, err := Begin(ctx, in, x.H, o)
	if done {
		return false, nil
	}
	y.fallback = true
	for _, a := range y.questions() {
		y.Result.Verdict, y.Result.Reason, y.Result.Order, y.seed = evidence.Unknown, "", nil, nil
		if err := y.pipeline(y.Solver, a); err != nil {
			return false, err
		}
		switch {
		case y.Result.Verdict == evidence.Holds && a.Order.Relaxed:
			continue // that order need not explain everything
		case y.Result.Verdict != evidence.Unknown:
			x.Stage("polygraph")
			x.take(y.Result)
			x.Result.DecidedBy = Vbox{}.Info().Name
			return true, nil
		// given up; or most likely no violation of the level's own
		case y.seed == nil, !a.Own && len(y.seed) > MaxTrial:
			continue
		}
		err := x.Refuted(y.seed, replay.Refute)
		if err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
			return true, err
		}
		if x.Answered() {
			return true, nil
		}
	}
	x.Stage("polygraph")
	return false, nil
}

// questions are those of attempts; where transactions are left out that may have made what others saw, an order without
// them will do, and the last question is one whose "no" holds whether they committed or not.
func (x *Run) questions() []Attempt {
	_, missing := polygraph.MissingTime(x.H)
	todo := Attempts(x.Options, !missing)
	if len(x.View.LeftOut)+len(x.View.Open) > 0 {
		ask := todo[len(todo)-1]
		ask.Order.Relaxed = true
		for i := range todo {
			todo[i].Own = false
		}
		todo = append(todo, ask)
	}
	return todo
}

// take makes an answer x's.
func (x *Run) take(r *evidence.Result) {
	x.Result.Verdict, x.Result.Order, x.Result.Anomalies, x.Result.Also = r.Verdict, r.Order, r.Anomalies, r.Also
	to, from := &x.Result.Stats, &r.Stats
	to.KnownEdges, to.Constraints, to.Left = from.KnownEdges, from.Constraints, from.Left
	to.Variables, to.Clauses, to.Rounds = from.Variables, from.Clauses, from.Rounds
}
