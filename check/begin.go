package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// run is one checker's run on one history: the parts that every pipeline over the polygraph shares.
type run struct {
	ctx  context.Context
	h    *history.History
	o    Options
	r    *evidence.Result
	v    *prepass.View
	back Solver // of checkers that use one
	at   time.Time
	// bySessions: the closure that prunes is one by sessions.
	bySessions bool
	// fallback: a polygraph is asked in place of replay, of histories with reads of several possible writers and at
	// snapshot isolation too. It explains nothing: seed are the transactions of the cycles that refute its question.
	fallback bool
	seed     []uint32
	// rests are the reads, as transaction and key, that the refutation rests on beside those of one possible writer.
	rests [][2]uint32
}

// newRun begins an answer: nothing is known yet. Errors: the options name no solver.
func newRun(ctx context.Context, in Info, h *history.History, o Options) (*run, error) {
	x := &run{ctx: ctx, h: h, o: o, at: time.Now()}
	x.r = &evidence.Result{Level: o.Level, Checker: in.Name, H: h, Timestamps: in.Timestamps}
	x.r.Stats.Stages = map[string]float64{}
	if len(in.Solvers) == 0 {
		return x, nil
	}
	var err error
	if x.back, err = solverByName(o.Solver); err != nil {
		return nil, err
	}
	if !h.HasLists() { // else who is told them with registers says so
		x.r.Solver = x.back.Name
	}
	return x, nil
}

// begin is the common start of the checkers of registers: the pre-pass, anomalies of single reads, reads of which the
// checker cannot take that several writes explain them. done: x.r is the answer. Errors: bad input, with done.
func begin(ctx context.Context, in Info, h *history.History, o Options) (x *run, done bool, err error) {
	if x, err = newRun(ctx, in, h, o); err != nil {
		return &run{}, true, err
	}
	most := 0
	if o.Level == level.Linearizable { // decided by versions
		most = maxCandidates
	}
	x.v = prepass.RunWith(h, prepass.Options{Closed: in.Takes.Unknown != OutcomesDecided,
		EachRead: o.Level == level.ReadCommitted, MaxCandidates: most})
	done, err = x.seen(in)
	return x, done, err
}

// seen is what the pre-pass says by itself. done: x.r is the answer. Errors: bad input, with done.
func (x *run) seen(in Info) (done bool, err error) {
	switch {
	case x.v.Bad != nil:
		return true, x.v.Bad
	case len(x.v.Anomalies) > 0:
		x.violated(slices.Clone(x.v.Anomalies)...)
		x.r.Also = x.v.Also
		return true, nil
	}
	x.stage("prepass")
	if len(x.v.Amb) > 0 && !in.Takes.Duplicates || len(x.v.Open) > 0 && in.Takes.Unknown == OutcomesRead {
		return x.unknown("needs unique values: %s", ambiguity(x.v)), nil
	}
	return false, nil
}

// ambiguity names the first read that has several possible writers.
func ambiguity(v *prepass.View) string {
	h := v.H
	if len(v.Amb) == 0 {
		return fmt.Sprintf("whether transaction %d committed is open", h.Txns.ID[v.Open[0]])
	}
	r := v.Amb[0]
	return fmt.Sprintf("transaction %d reads %s of key %s, which %d writes could have installed (%d such reads)",
		h.Txns.ID[v.Reader(r)], h.ValueString(v.RVer(r)), h.KeyString(h.VerKey[v.RVer(r)]),
		v.CandOff[1]-v.CandOff[0], len(v.Amb))
}

// ask has another checker decide a question: the one way in which checkers call each other. The result says so
// (evidence.Result.DecidedBy); an answer that the asking checker takes over keeps that.
func ask(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	r, err := answer(ctx, c, h, o)
	if r != nil && r.DecidedBy == "" {
		r.DecidedBy = c.Info().Name
	}
	return r, err
}

// takeOver makes another checker's answer that of a checker that asked.
func takeOver(r *evidence.Result, by string) *evidence.Result {
	if r != nil {
		r.Checker = by
	}
	return r
}

func (x *run) unknown(format string, args ...any) bool {
	x.r.Verdict, x.r.Reason = evidence.Unknown, fmt.Sprintf(format, args...)
	return true
}

// stage books the time since the last call.
func (x *run) stage(name string) {
	now := time.Now()
	x.r.Stats.Stages[name] += float64(now.Sub(x.at).Microseconds()) / 1e3
	x.at = now
	if x.o.Progress != nil {
		x.o.Progress(name, 1, 1)
	}
}

// stopped turns the end of the context into an answer.
func (x *run) stopped() bool {
	cause := context.Cause(x.ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return x.unknown("timeout")
	}
	if cause == nil {
		return x.unknown("the solver has no room for more clauses")
	}
	if errors.Is(cause, context.Canceled) {
		return x.unknown("interrupted")
	}
	return x.unknown("%v", cause)
}
