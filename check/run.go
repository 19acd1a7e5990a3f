package check

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"isovet/certify"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/level"
	"isovet/predicates"
	"isovet/solver"
)

// Run checks a history and certifies the answer. What the checker cannot take by its Info is refused: unknown, with the
// reason. A panic of the checker comes back as a Fault. The answer is the level's definition: every level holds of a
// history of which nothing was committed or nothing read. Result.Weigh makes that unknown before people see it.
func Run(ctx context.Context, c Checker, h *history.History, o Options) (r *evidence.Result, err error) {
	name := c.Info().Name
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, &Fault{Checker: name, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	start := time.Now()
	in, sizes := c.Info(), evidence.SizesOf(h)
	if err := in.Unfit(o.Pipeline); err != nil {
		return nil, err
	}
	ignored := o.IgnorePredicates && in.Decides(o.Level) && !in.TakesPredicates(o.Level) && h.HasPredicates() &&
		!h.HasLists()
	if ignored {
		if _, err := predicates.NewTruths(h); err != nil { // bad input is bad input
			return nil, err
		}
		h = history.Items(h)
	}
	if r, err = run.Answer(ctx, c, h, o); err != nil {
		return nil, err
	}
	r.Items, r.Stats.Sizes = ignored, sizes
	if r.DecidedBy == r.Checker {
		r.DecidedBy = ""
	}
	r.Settings = run.Settled(r, o)
	how := certify.Options{ClockSkew: o.ClockSkew, Stop: func() bool { return ctx.Err() != nil }}
	relax(ctx, c, r, o, how)
	plain(r, how)
	r.Stats.CheckMS = float64(time.Since(start).Microseconds()) / 1e3
	start = time.Now()
	room.Collect() // what the checker held
	err = certifyBy(ctx, r, how)
	switch {
	case errors.Is(err, certify.ErrGaveUp), errors.Is(err, certify.ErrStopped):
		r.Reason = "no order explains the history, but the proof of that is too large to be certified in time: " +
			err.Error()
		r.Verdict, r.Anomalies, r.Also = evidence.Unknown, nil, 0
	case err != nil && r.Verdict == evidence.Violated && r.H.HasLists() && certify.Incomplete(err):
		r.Reason = "no order explains the history, but isovet cannot prove it: the history has lists, and reads " +
			"that several writers may explain: " + err.Error()
		r.Verdict, r.Anomalies, r.Also = evidence.Unknown, nil, 0
	case err != nil:
		return nil, &Fault{Checker: name, Err: fmt.Errorf("the certificate of its answer %q fails: %w", r.Verdict, err)}
	}
	r.Stats.CertifyMS = float64(time.Since(start).Microseconds()) / 1e3
	return r, nil
}

// maxRelaxed is up to how many transactions a violation is looked for at levels that ask for fewer orders.
var maxRelaxed = 1000

// relaxTime is how long, half of what is left at most: the violation that is there must not be lost over a better one.
const relaxTime = 10 * time.Second

// relax looks for an anomaly that needs fewer orders than the one at hand: what violates the level without real time,
// or without sessions, says more of the database than what needs them, and has its name at every level. Larger
// histories have it where the checker's own proof does without (explain.Violation, lists.Graph.Violations).
func relax(ctx context.Context, c Checker, r *evidence.Result, o Options, how certify.Options) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.H.NumTxns() > maxRelaxed {
		return
	}
	if r.Anomalies[0].Kind == level.NonLinearizable { // found where a search at the level itself may take forever
		return
	}
	most := relaxTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ctx, end := solver.HalfSteps(ctx)
	defer end()
	for _, weaker := range o.Level.Relaxed() {
		if weaker.Forbids(r.Anomalies[0].Kind) {
			return
		}
		o.Level = weaker
		o.Progress = nil
		s, err := run.Answer(ctx, c, r.H, o) // of no level that the checker does not decide
		if err != nil || s.Verdict != evidence.Violated {
			continue
		}
		if s.Level = r.Level; certify.Check(s, how) == nil {
			r.Anomalies, r.Also = s.Anomalies, s.Also
			return
		}
	}
}
