package run

import (
	"context"
	"errors"
	"slices"

	"isovet/check/lists"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// BeginLists answers what needs no search of a list history: what nobody decides, and what its single reads, and pairs
// of them, show, and goes through the cases where elements were appended more than once. done: r is the answer.
func BeginLists(ctx context.Context, in Info, h *history.History, o Options,
	decide func(v *lists.View) (*evidence.Result, error)) (x *Run, v *lists.View, done bool, err error) {
	if x, err = New(ctx, in, h, o); err != nil {
		return &Run{}, nil, true, err
	}
	v = lists.ReadWith(h, lists.Options{Blind: slices.Contains(weak.Levels(), o.Level),
		EachRead: o.Level == level.ReadCommitted})
	x.Stage("prepass")
	if len(v.Anomalies) > 0 {
		x.Violated(v.Anomalies...)
		x.Result.Also = v.Also
		return x, nil, true, nil
	}
	if v.Ambiguous != "" {
		why := "list elements must be appended once: " + v.Ambiguous
		if decide == nil {
			return x, nil, x.Unknown("%s", why), nil
		}
		err = x.byCases(in, why, decide)
		return x, nil, true, err
	}
	return x, v, false, nil
}

// checkLists has a checker of registers decide a list history.
func checkLists(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	registers := func(h *history.History) (*evidence.Result, error) { return c.Check(ctx, h, o) }
	decide := func(v *lists.View) (*evidence.Result, error) { return WithRegisters(c.Info(), v, o, registers) }
	x, v, done, err := BeginLists(ctx, c.Info(), h, o, decide)
	if done || err != nil {
		return x.Result, err
	}
	return decide(v)
}

// WithRegisters has a checker decide a list history told with registers, and brings its answer back. The transactions
// are the same, so an order needs no care.
func WithRegisters(in Info, v *lists.View, o Options, check func(*history.History) (*evidence.Result, error)) (
	*evidence.Result, error) {
	h := v.H
	g := v.Registers()
	r, err := check(g.H)
	if err != nil {
		return nil, err
	}
	r.H = h
	for i := range r.Anomalies {
		a, ok := g.Anomaly(r.Anomalies[i], o.Level, o.ClockSkew)
		if !ok {
			return nil, &Fault{Checker: in.Name, Err: errors.New("nothing is left of the evidence on registers for " +
				"one on lists")}
		}
		r.Anomalies[i] = a
	}
	evidence.CompleteAll(r.Anomalies, h, o.Level, o.ClockSkew)
	return r, nil
}
