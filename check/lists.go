package check

import (
	"context"
	"errors"
	"slices"
	"time"

	"isovet/check/lists"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/polygraph"
)

// beginLists answers what needs no search of a list history: what nobody decides, and what its single reads, and pairs of
// them, show, and goes through the cases where elements were appended more than once. done: r is the answer.
func beginLists(ctx context.Context, in Info, h *history.History, o Options, decide func(v *lists.View) (*evidence.Result, error)) (x *run, v *lists.View, done bool, err error) {
	name := in.Name
	x = &run{ctx: ctx, h: h, o: o, at: time.Now()}
	x.r = &evidence.Result{Level: o.Level, Checker: name, H: h}
	x.r.Stats = evidence.Stats{Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: h.NumSessions(), Keys: h.NumKeys(), Stages: map[string]float64{}}
	switch {
	case !slices.Contains(in.Levels, o.Level):
		return x, nil, x.unknown("%s does not decide %s", name, o.Level), nil
	case o.Level == level.Linearizable:
		return x, nil, x.unknown("list histories: linearizability is decided of registers only"), nil
	case !in.Lists && !slices.Contains(orderLevels, o.Level):
		return x, nil, x.unknown("list histories: %s decides them at the serializable and snapshot levels only, not at %s", name, o.Level), nil
	case h.HasPredicates():
		return x, nil, x.unknown("predicate operations beside lists: %s checks item operations only", name), nil
	}
	if o.Level.RealTime() {
		if t, missing := polygraph.MissingTime(h); missing {
			return x, nil, x.unknown("%s needs start and end of every committed transaction; transaction %d has not both", o.Level, h.Txns.ID[t]), nil
		}
	}
	v = lists.ReadWith(h, lists.Options{Blind: slices.Contains(weak.Levels(), o.Level), EachRead: o.Level == level.ReadCommitted})
	x.stage("prepass")
	if len(v.Anomalies) > 0 {
		x.violated(v.Anomalies...)
		x.r.Also = v.Also
		return x, nil, true, nil
	}
	if v.Ambiguous != "" {
		why := "list elements must be appended once: " + v.Ambiguous
		if decide == nil {
			return x, nil, x.unknown("%s", why), nil
		}
		err = x.byCases(why, decide)
		return x, nil, true, err
	}
	return x, v, false, nil
}

// checkLists has a checker of registers decide a list history.
func checkLists(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	decide := func(v *lists.View) (*evidence.Result, error) { return withRegisters(ctx, c, v, o) }
	x, v, done, err := beginLists(ctx, c.Info(), h, o, decide)
	if done || err != nil {
		return x.r, err
	}
	return decide(v)
}

// withRegisters has a checker decide a list history told with registers, and brings its answer back. The transactions are the
// same, so an order needs no care.
func withRegisters(ctx context.Context, c Checker, v *lists.View, o Options) (*evidence.Result, error) {
	h := v.H
	g := v.Registers()
	r, err := c.Check(ctx, g.H, o)
	if err != nil {
		return nil, err
	}
	r.H = h
	r.Stats.Ops = h.NumOps()
	for i := range r.Anomalies {
		a, ok := g.Anomaly(r.Anomalies[i], o.Level, o.ClockSkew)
		if !ok {
			return nil, &Fault{Checker: c.Info().Name, Err: errors.New("nothing is left of the evidence on registers for one on lists")}
		}
		r.Anomalies[i] = a
	}
	evidence.CompleteAll(r.Anomalies, h, o.Level, o.ClockSkew)
	return r, nil
}
