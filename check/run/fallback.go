package run

import (
	"context"
	"time"

	"isovet/check/replay"
	"isovet/evidence"
	"isovet/polygraph"
)

const (
	// replayConflicts is the number of conflicts after which replay leaves a history with predicates to a polygraph of
	// all choices. Easy orders take fewer; in hard cases each conflict costs milliseconds.
	replayConflicts = 200
	// maxFallback bounds the pairs of writes in that polygraph, and the versions in its predicate constraints.
	maxFallback = 5_000_000
	// fallbackTime bounds the time for the polygraph, which also gets at most half of the time left.
	fallbackTime = time.Minute
)

// ByPolygraph decides in place of replay, by vbox's pipeline at any level of orders, with begin and commit nodes at the
// snapshot levels. Without times, blind writes, deletes and predicates that miss leave nearly all orders open.
// Reachability then settles nearly all of them, whereas each repair of a guessed order breaks it elsewhere. done says
// that x has the answer.
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
			continue // the order may not explain everything
		case y.Result.Verdict != evidence.Unknown:
			x.Stage("polygraph")
			x.take(y.Result)
			x.Result.DecidedBy = Vbox{}.Info().Name
			return true, nil
		// The attempt gave up, or most likely shows no violation of the level itself.
		case y.seed == nil, !a.Own && len(y.seed) > MaxTrial:
			continue
		}
		if err := x.Try(y.seed, replay.Refute); err != nil || x.Answered() {
			return true, err
		}
	}
	x.Stage("polygraph")
	return false, nil
}

// questions returns the attempts to make. If the first leaves out transactions of unknown outcome whose writes others
// may have seen, an order without these transactions is enough. The last attempt is then one whose "no" holds whether
// they committed or not.
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

// take copies another run's answer into x.
func (x *Run) take(r *evidence.Result) {
	x.Result.Verdict, x.Result.Order, x.Result.Anomalies, x.Result.Also = r.Verdict, r.Order, r.Anomalies, r.Also
	to, from := &x.Result.Stats, &r.Stats
	to.KnownEdges, to.Constraints, to.Left = from.KnownEdges, from.Constraints, from.Left
	to.Variables, to.Clauses, to.Rounds = from.Variables, from.Clauses, from.Rounds
}
