// Package run has the common parts of checkers. A run begins with the steps that all checkers share (Begin,
// BeginUnique, BeginLists) and ends with an answer: Holds with an order, Refuted with transactions that violate the
// level by themselves, or Unknown with a reason. The functions for the steps of a pipeline (Combined, Pruned, SettleOr)
// also check the limits, and answer "unknown" if a step is too large. The package also has the checkers that others
// ask: replay, which can prove any "no"; vbox, whose pipeline finds one in a polygraph; and lwt.
//
// Experimental: this package may still change.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/check/lists"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/level"
)

// Run is one checker's run on one history, with the parts that all pipelines over the polygraph share.
type Run struct {
	Ctx     context.Context
	H       *history.History
	Options Options
	Result  *evidence.Result
	View    *prepass.View
	Solver  Solver // if the checker uses one
	at      time.Time
	// fallback says that a polygraph answers in place of replay, also for reads with several possible writers and at
	// snapshot isolation. It gives no proof: seed are the transactions of the cycles that refute its question.
	fallback bool
	seed     []uint32
}

// New begins an answer, without a verdict yet. Errors: the options name no solver.
func New(ctx context.Context, in Info, h *history.History, o Options) (*Run, error) {
	x := &Run{Ctx: ctx, H: h, Options: o, at: time.Now()}
	x.Result = &evidence.Result{Level: o.Level, Checker: in.Name, H: h, Timestamps: in.Timestamps}
	x.Result.Stats.Stages = map[string]float64{}
	if len(in.Solvers) == 0 {
		return x, nil
	}
	var err error
	if x.Solver, err = SolverByName(o.Solver); err != nil {
		return nil, err
	}
	if !h.HasLists() { // with lists, the solver is named by the run on registers
		x.Result.Solver = x.Solver.Name
	}
	return x, nil
}

// Begin is the common start of the checkers of registers: the pre-pass, anomalies of single reads, and reads with
// several possible writers if the checker cannot take them. done says that x.Result is the answer. Errors: bad input,
// with done.
func Begin(ctx context.Context, in Info, h *history.History, o Options) (x *Run, done bool, err error) {
	if x, err = New(ctx, in, h, o); err != nil {
		return &Run{}, true, err
	}
	most := 0
	if o.Level == level.Linearizable { // is decided by versions
		most = maxCandidates
	}
	x.View = prepass.RunWith(h, prepass.Options{Closed: in.Takes.Unknown != OutcomesDecided,
		EachRead: o.Level == level.ReadCommitted, Mixed: o.Level, MaxCandidates: most})
	done, err = x.PrepassSays(in)
	return x, done, err
}

// UniqueTakes returns the Takes of a checker that calls BeginUnique. itemsOnly says why it takes no predicates.
func UniqueTakes(itemsOnly string) Takes {
	return Takes{Items: true, ItemsOnly: itemsOnly, Unknown: OutcomesDecided, Duplicates: true}
}

// BeginUnique begins a run and calls decide, which needs one writer for each read. Replay decides if reads have several
// possible writers or outcomes are open.
func BeginUnique(ctx context.Context, in Info, h *history.History, o Options, decide func(x *Run) error) (
	*evidence.Result, error) {
	x, done, err := Begin(ctx, in, h, o)
	switch {
	case done:
	case x.View.Ambiguous():
		return x.ByReplay(Ambiguity(x.View))
	default:
		err = decide(x)
	}
	return x.Result, err
}

// ByReplay lets replay decide in place of a checker that cannot. why goes into the result's note.
func (x *Run) ByReplay(why string) (*evidence.Result, error) {
	r, err := Ask(x.Ctx, Replay{}, x.H, x.Options)
	if r != nil {
		r.Note = "decided by replay, because " + why
	}
	return TakeOver(r, x.Result.Checker), err
}

// PrepassSays gives the answer of the pre-pass, if it has one: done says so. Errors: bad input, with done.
func (x *Run) PrepassSays(in Info) (done bool, err error) {
	switch {
	case x.View.Bad != nil:
		return true, x.View.Bad
	case len(x.View.Anomalies) > 0:
		x.Violated(slices.Clone(x.View.Anomalies)...)
		x.Result.Also = x.View.Also
		return true, nil
	}
	x.Stage("prepass")
	if len(x.View.Amb) > 0 && !in.Takes.Duplicates || len(x.View.Open) > 0 && in.Takes.Unknown == OutcomesRead {
		return x.Unknown("needs unique values: %s", Ambiguity(x.View)), nil
	}
	return false, nil
}

// Ambiguity describes the first read with several possible writers.
func Ambiguity(v *prepass.View) string {
	h := v.H
	if len(v.Amb) == 0 {
		return fmt.Sprintf("the outcome of transaction %d is unknown", h.Txns.ID[v.Open[0]])
	}
	r := v.Amb[0]
	return fmt.Sprintf("transaction %d reads %s of key %s, which %d writes could have installed (%s)",
		h.Txns.ID[v.Reader(r)], h.ValueString(v.RVer(r)), h.KeyString(h.VerKey[v.RVer(r)]),
		v.CandOff[1]-v.CandOff[0], plural.Of(len(v.Amb), "such read"))
}

// Ask lets another checker decide a question. Checkers call each other only by this function. The result says so
// (evidence.Result.DecidedBy), even if the asking checker makes the answer its own.
func Ask(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	r, err := Answer(ctx, c, h, o)
	if r != nil && r.DecidedBy == "" {
		r.DecidedBy = c.Info().Name
	}
	return r, err
}

// Answer lets a checker answer the settled question, if it takes it. If the checker reads no lists itself, they become
// registers.
func Answer(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	in, asked := c.Info(), o.Level
	var why string
	if o.Level, why = Settle(in, h, asked); why != "" {
		o.Level = asked
		x, err := New(ctx, in, h, o)
		if err != nil {
			return nil, err
		}
		x.Unknown("%s", why)
		return x.Result, nil
	}
	decide := c.Check
	if h.HasLists() && in.Takes.Lists == ListsTold {
		decide = func(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
			registers := func(h *history.History) (*evidence.Result, error) { return c.Check(ctx, h, o) }
			told := func(v *lists.View) (*evidence.Result, error) { return WithRegisters(in, v, o, registers) }
			x, v, done, err := BeginLists(ctx, in, h, o, told)
			if done || err != nil {
				return x.Result, err
			}
			return told(v)
		}
	}
	var r *evidence.Result
	var err error
	if open := openOutcomes(in, h); open != nil {
		r, err = byOutcomes(ctx, in, h, o, open, outcomesDeep, decide)
	} else {
		r, err = decide(ctx, h, o)
	}
	if err != nil {
		return nil, err
	}
	if r.Level == o.Level {
		r.Level = asked
	}
	return r, nil
}

// TakeOver names checker by as the one that gave the answer r.
func TakeOver(r *evidence.Result, by string) *evidence.Result {
	if r != nil {
		r.Checker = by
	}
	return r
}

// Holds makes the answer "valid" by an order.
func (x *Run) Holds(order []uint32) { x.Result.Verdict, x.Result.Order = evidence.Holds, order }

// Unknown makes it "unknown" with a reason, and returns true.
func (x *Run) Unknown(format string, args ...any) bool {
	x.Result.Verdict, x.Result.Reason = evidence.Unknown, fmt.Sprintf(format, args...)
	return true
}

// Stage adds the time since the last call to a stage.
func (x *Run) Stage(name string) {
	now := time.Now()
	x.Result.Stats.Stages[name] += float64(now.Sub(x.at).Microseconds()) / 1e3
	x.at = now
	if x.Options.Progress != nil {
		x.Options.Progress(name, 1, 1)
	}
}

// Answered reports whether there is a verdict, or a reason why there is none.
func (x *Run) Answered() bool { return x.Result.Verdict != evidence.Unknown || x.Result.Reason != "" }

// Ended reports whether the context has ended.
func (x *Run) Ended() bool { return x.Ctx.Err() != nil }

// Stopped answers "unknown" because the context has ended.
func (x *Run) Stopped() bool {
	switch cause := context.Cause(x.Ctx); {
	case cause == nil:
		return x.Unknown("the formula has more clauses than the solver can store")
	case errors.Is(cause, context.DeadlineExceeded):
		return x.Unknown("timeout")
	case errors.Is(cause, context.Canceled):
		return x.Unknown("interrupted")
	default:
		return x.Unknown("%v", cause)
	}
}
