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

// BeginLists starts a checker of list histories. It gives the answers that need no search: unsupported histories, and
// anomalies of single reads or pairs of reads. If elements were appended more than once, it decides by cases. done says
// that r is the answer.
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

// WithRegisters lets a checker decide a list history as registers, and translates its answer back. The transactions are
// the same, so an order needs no translation.
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
			return nil, &Fault{Checker: in.Name, Err: errors.New("the evidence about registers cannot be turned " +
				"into evidence about lists")}
		}
		r.Anomalies[i] = a
	}
	evidence.CompleteAll(r.Anomalies, h, o.Level, o.ClockSkew)
	return r, nil
}

var (
	// maxCases bounds the cases of a history with doubled elements; large histories get fewer: caseWork divided by the
	// operations.
	maxCases, caseWork = 1 << 12, 1 << 26
	// fewConflicts bounds how long certify searches for a case that the cycles found so far leave open.
	fewConflicts = 5000
)

// byCases calls decide for each way to say which append a doubled element is. If one way holds, its order explains the
// history. If none does, the cycles of all cases together are the proof, which is checked first. It skips a case that
// an earlier cycle refutes too.
func (x *Run) byCases(in Info, why string, decide func(v *lists.View) (*evidence.Result, error)) error {
	c, shown, reason := lists.ReadCases(x.H)
	switch {
	case shown != nil:
		x.proveOrLeave(evidence.Anomaly{Kind: shown.Kind, Ops: shown.Ops})
		return nil
	case reason != "":
		x.Unknown("%s; %s", why, reason)
		return nil
	}
	limit := min(maxCases, 1+caseWork/(1+x.H.NumOps()))
	var proof [][]evidence.Edge // cycles of all cases
	var plain [][]evidence.Edge // those cycles that alone refute each case that has them
	tried := 0
	for more := true; more; more = c.Next() {
		if x.Ctx.Err() != nil {
			x.Stopped()
			return nil
		}
		v := lists.Read(c.History())
		if slices.ContainsFunc(plain, v.Shows) {
			continue
		}
		if tried++; tried > limit {
			if x.proveByCases(proof) {
				return nil
			}
			x.Unknown("%s; none of the first %d possibilities explains the history, and there are more", why, limit)
			return nil
		}
		r, err := x.decideCase(in, v, decide)
		if err != nil {
			return err
		}
		switch r.Verdict {
		case evidence.Holds:
			x.Holds(r.Order)
			return nil
		case evidence.Unknown:
			x.Unknown("%s; in one case: %s", why, r.Reason)
			return nil
		}
		a := r.Anomalies[0]
		if len(a.Ops)+len(a.Dead) > 0 {
			// The anomaly is on another key, and so in each case.
			x.proveOrLeave(evidence.Anomaly{Kind: a.Kind, Ops: a.Ops, Key: a.Key, Dead: a.Dead})
			return nil
		}
		cycles := a.Cycles
		if len(a.Cycle) > 0 {
			cycles = append([][]evidence.Edge{a.Cycle}, cycles...)
		}
		if len(cycles) == 1 {
			plain = append(plain, cycles[0])
		}
		for _, cycle := range cycles {
			cycle = c.Back(cycle)
			if !slices.ContainsFunc(proof, func(d []evidence.Edge) bool { return slices.Equal(cycle, d) }) {
				proof = append(proof, cycle)
			}
		}
		// Now and then, check whether the cycles found refute all other cases too.
		if tried&(tried-1) == 0 && c.More() && x.proveByCases(proof) {
			return nil
		}
	}
	if !c.Whole {
		if x.proveByCases(proof) {
			return nil
		}
		x.Unknown("%s; none of the possibilities tried explains the history, and there are more", why)
		return nil
	}
	x.proveOrLeave(oneOf(proof))
	return nil
}

// decideCase answers for a history in which each element that was read has one append. Outcomes may still be open.
func (x *Run) decideCase(in Info, v *lists.View,
	decide func(v *lists.View) (*evidence.Result, error)) (*evidence.Result, error) {
	switch {
	case len(v.Anomalies) > 0:
		return &evidence.Result{Verdict: evidence.Violated, Anomalies: v.Anomalies, H: v.H}, nil
	case v.Ambiguous != "":
		return &evidence.Result{Reason: v.Ambiguous, H: v.H}, nil
	case len(v.Open) > 0 && in.Takes.Lists != ListsBeside:
		return byOutcomes(x.Ctx, in, v.H, x.Options, v.Open, outcomesDeep, func(_ context.Context, h *history.History,
			_ Options) (*evidence.Result, error) {
			return x.decideCase(in, lists.Read(h), decide)
		})
	}
	return decide(v)
}
