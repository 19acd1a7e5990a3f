package check

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// Run checks a history and certifies the answer. A panic of the checker comes back as a Fault.
func Run(ctx context.Context, c Checker, h *history.History, o Options) (r *evidence.Result, err error) {
	name := c.Info().Name
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, &Fault{Checker: name, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	start := time.Now()
	ignored := o.IgnorePredicates && c.Info().Items && h.HasPredicates() && !h.HasLists()
	if ignored {
		if _, err := predicates.NewTruths(h); err != nil { // bad input is bad input
			return nil, err
		}
		h = history.Items(h)
	}
	asked := o.Level
	if asked == level.RepeatableRead && !h.HasPredicates() && slices.Contains(c.Info().Levels, asked) {
		o.Level = level.Serializable // without predicates it is the same, by definition
	}
	if h.HasLists() && !c.Info().Lists {
		r, err = checkLists(ctx, c, h, o)
	} else {
		r, err = c.Check(ctx, h, o)
	}
	if err != nil {
		return nil, err
	}
	r.Items = ignored
	if o.Level != asked && r.Level == o.Level {
		r.Level = asked
	}
	how := certify.Options{ClockSkew: o.ClockSkew, Stop: func() bool { return ctx.Err() != nil }}
	relax(ctx, c, r, o, how)
	r.Stats.CheckMS = float64(time.Since(start).Microseconds()) / 1e3
	start = time.Now()
	err = certified(r, how)
	switch {
	case errors.Is(err, certify.ErrGaveUp), errors.Is(err, certify.ErrStopped):
		r.Reason = "no order explains the history, but the proof of that is too large to be certified in time: " + err.Error()
		r.Verdict, r.Anomalies, r.Also = evidence.Unknown, nil, 0
	case err != nil:
		return nil, &Fault{Checker: name, Err: fmt.Errorf("the certificate of its answer %q fails: %w", r.Verdict, err)}
	}
	r.Stats.CertifyMS = float64(time.Since(start).Microseconds()) / 1e3
	return r, nil
}

// certified is certify.Check, which gives a proof that stands under a wrong name the right one.
func certified(r *evidence.Result, how certify.Options) error {
	renamed, err := renaming(r, how)
	misnamed.Add(renamed)
	return err
}

// renaming is certify.Check, which gives a proof that stands under a wrong name the right one, and counts those whose name was wrong in
// more than the orders that it needs.
func renaming(r *evidence.Result, how certify.Options) (renamed int64, err error) {
	err = certify.Check(r, how)
	for wrong := (*certify.NameError)(nil); errors.As(err, &wrong); err = certify.Check(r, how) {
		a := wrong.Of // better under the right name than not at all
		if a.Kind.Base() != wrong.Shows.Base() {
			renamed++
		}
		a.Kind = wrong.Shows
		a.Text = evidence.Describe(a, r.H)
	}
	return renamed, err
}

// misnamed counts the proofs that certified had to rename, but for the orders that they need: package evidence then disagrees with itself,
// which no test may show.
var misnamed atomic.Int64

// maxRelaxed is up to how many transactions a violation is looked for at levels that ask for fewer orders.
var maxRelaxed = 1000

// relaxTime is how long, half of what is left at most: the violation that is there must not be lost over a better one.
const relaxTime = 10 * time.Second

// relax looks for an anomaly that needs fewer orders than the one at hand: what violates the level without real time, or without
// sessions, says more of the database than what needs them, and has its name at every level. Larger histories have it where the
// checker's own proof does without (explain.ViolationBy, lists.Graph.Violations).
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
	for _, weaker := range o.Level.Relaxed() {
		if weaker.Forbids(r.Anomalies[0].Kind) {
			return
		}
		if !slices.Contains(c.Info().Levels, weaker) {
			continue
		}
		o.Level = weaker
		o.Progress = nil
		var s *evidence.Result
		var err error
		if r.H.HasLists() && !c.Info().Lists {
			s, err = checkLists(ctx, c, r.H, o)
		} else {
			s, err = c.Check(ctx, r.H, o)
		}
		if err != nil || s.Verdict != evidence.Violated {
			continue
		}
		if s.Level = r.Level; certify.Check(s, how) == nil {
			r.Anomalies, r.Also = s.Anomalies, s.Also
			return
		}
	}
}
