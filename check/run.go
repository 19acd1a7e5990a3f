package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/internal/sorts"
	"isovet/level"
	"isovet/predicates"
	"isovet/solver"
)

// Run checks a history and certifies the answer. If the checker's Info does not cover the history, the answer is
// unknown, with the reason. A panic of the checker becomes a Fault. The answer follows the level's definition: every
// level holds for a history in which nothing was committed or nothing read. Result.Weigh turns that into unknown before
// people see it.
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
		if _, err := predicates.NewTruths(h); err != nil { // bad input is an error at every level
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
	room.Collect() // frees the checker's memory
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

// maxRelaxed is the number of transactions up to which relax also looks for violations of weaker levels.
var maxRelaxed = 1000

// relax looks for an anomaly that needs fewer orders than the first one. A violation without real time, or without
// sessions, says more about the database, and has its name at every level. For larger histories only the checker's own
// proof tries that (explain.Violation, lists.Graph.Violations).
func relax(ctx context.Context, c Checker, r *evidence.Result, o Options, how certify.Options) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.H.NumTxns() > maxRelaxed ||
		r.Anomalies[0].Kind == level.NonLinearizable { // the level itself may take forever
		return
	}
	most := 10 * time.Second // and half of the time left, so that the violation found is not lost
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
		s, err := run.Answer(ctx, c, r.H, o) // no answer for a level that the checker does not decide
		if err != nil || s.Verdict != evidence.Violated {
			continue
		}
		if s.Level = r.Level; certify.Check(s, how) == nil {
			r.Anomalies, r.Also = s.Anomalies, s.Also
			return
		}
	}
}

// certifyBy certifies an answer, by the kernel if its format can express the answer, and by package certify. An order
// that the kernel proves needs no second replay. For a violation, certify also finds its name.
func certifyBy(ctx context.Context, r *evidence.Result, how certify.Options) error {
	if r.Verdict == evidence.Unknown {
		return certified(r, how)
	}
	var err error
	if r.Verdict == evidence.Holds {
		if err = judged(ctx, r, how); err == nil {
			return nil
		}
	}
	if err := certified(r, how); err != nil {
		r.Certified, r.NotByKernel = "", ""
		return err
	}
	if r.Verdict == evidence.Violated {
		err = judged(ctx, r, how)
	}
	if _, ok := errors.AsType[*elaborate.Refused](err); ok {
		disagreements.Add(1)
	}
	return nil
}

// Verify is [certify.Verify], except that an order which the kernel proves is not replayed again.
func Verify(ctx context.Context, in io.Reader, h *history.History, how certify.Options) (*evidence.Result, error) {
	r, err := evidence.ReadCertificate(in, h)
	switch {
	case err != nil:
		return nil, err
	case r.Verdict == evidence.Unknown:
		return r, certify.ErrUnknown
	case r.Verdict == evidence.Holds && len(r.Anomalies)+r.Also == 0 && judged(ctx, r, how) == nil:
		return r, nil
	}
	return r, certify.Check(r, how)
}

// judged runs the kernel on an answer, and records the result in it.
func judged(ctx context.Context, r *evidence.Result, how certify.Options) error {
	_, err := elaborate.Prove(r, elaborate.Options{ClockSkew: how.ClockSkew,
		Stop: func() bool { return ctx.Err() != nil }})
	if err == nil {
		r.Certified, r.NotByKernel = evidence.ByKernel, ""
		return nil
	}
	r.Certified, r.NotByKernel = evidence.ByReplay, err.Error()
	return err
}

// certified certifies and names an answer, and counts its proofs.
func certified(r *evidence.Result, how certify.Options) error {
	wrong, err := run.Named(r, how)
	proofs.Add(int64(len(r.Anomalies)))
	misnamed.Add(wrong)
	return err
}

// proofs counts the certified proofs of violations, and misnamed those whose name was wrong. Package evidence names a
// proof by its shape. certify replays it at each level that forbids the name, and that may fail if versions have
// several writers. The tests demand that this stays rare.
var proofs, misnamed atomic.Int64

// disagreements counts the answers that the kernel refuses although package certify accepts them. The tests demand that
// there are none.
var disagreements atomic.Int64

// maxPlain is the number of cases up to which plain looks for one that alone proves the violation.
const maxPlain = 16

// plain makes a proof easier to read. If one of its cases is a cycle that holds for every order of the versions, plain
// drops the others: a list's reads may settle an order that the checker left open. Anomalies with the fewest
// transactions come first. Larger histories keep the checker's proof.
func plain(r *evidence.Result, how certify.Options) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.H.NumTxns() > maxRelaxed {
		return
	}
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		cases := slices.Clone(a.AllCycles())
		if len(cases) < 2 || len(cases) > maxPlain || a.Kind.Base() == level.Divergence { // shown as a whole
			continue
		}
		sorts.Stable(cases, func(x, y []evidence.Edge) int { return cmp.Compare(len(x), len(y)) })
		// An anomaly that needs no sessions or real time must not be shown by a cycle that does.
		at := r.Level.Needs(a.Kind)
		for _, c := range cases {
			one := evidence.Anomaly{Cycle: c}
			one.Complete(r.H, at, how.ClockSkew)
			if proves(r.H, at, one, how) && proves(r.H, r.Level, one, how) {
				*a = one
				break
			}
		}
	}
	sorts.Stable(r.Anomalies, func(a, b evidence.Anomaly) int { return cmp.Compare(len(a.Txns), len(b.Txns)) })
}

// proves reports whether certify accepts an anomaly as a violation of a level.
func proves(h *history.History, l level.Level, a evidence.Anomaly, how certify.Options) bool {
	return certify.Check(&evidence.Result{Verdict: evidence.Violated, Level: l, H: h,
		Anomalies: []evidence.Anomaly{a}}, how) == nil
}
