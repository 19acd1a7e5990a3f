package check

import (
	"context"
	"time"

	"isovet/certify"
	"isovet/check/minitxn"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// keyed is what auto takes at strict-serializable for transactions on one key each. Strict serializability implies that
// each key is linearizable (Herlihy and Wing 1990), which lwt decides where values are few and each has many writers,
// and an order of all has to be searched for: so it is asked first. What violates the one violates the other. An order
// of its own is one of all if it certifies, as it does for one key whose sessions real time keeps; else the checker
// behind it decides.
type keyed struct{ Checker }

// keyedTime bounds what lwt may take: a quarter of what is left, and this at most.
const keyedTime = 10 * time.Second

// suitsKeys reports whether keyed is for the history.
func suitsKeys(h *history.History, l level.Level) bool {
	return l == level.StrictSerializable && minitxn.MultiKey(h) == ""
}

// byKeys has lwt asked first where it can answer.
func byKeys(h *history.History, l level.Level, c Checker) Checker {
	if suitsKeys(h, l) {
		return keyed{c}
	}
	return c
}

func (k keyed) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if suitsKeys(h, o.Level) {
		if r := byKey(ctx, h, o); r != nil {
			return r, nil
		}
	}
	return k.Checker.Check(ctx, h, o)
}

// byKey is lwt's answer where it is one at strict-serializable, else nil.
func byKey(ctx context.Context, h *history.History, o Options) *evidence.Result {
	most := keyedTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)/4)
	}
	short, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	at := o
	at.Level = level.Linearizable
	r, err := run.Ask(short, run.Lwt{}, h, at)
	if err != nil || r.Verdict == evidence.Unknown { // the deciding checker reports what is wrong
		return nil
	}
	r.Level = o.Level
	how := certify.Options{ClockSkew: o.ClockSkew, Stop: func() bool { return short.Err() != nil }}
	for i := range r.Anomalies {
		renamed(r, &r.Anomalies[i], how)
	}
	if certify.Check(r, how) != nil {
		return nil
	}
	return r
}

// renamed gives a proof by cycles its name at the weakest level at which it holds of those that the result's implies.
func renamed(r *evidence.Result, a *evidence.Anomaly, how certify.Options) {
	if len(a.Cycle)+len(a.Cycles) == 0 {
		return
	}
	name := func(l level.Level) error {
		a.Kind, a.Txns, a.Text = "", nil, ""
		a.Complete(r.H, l, how.ClockSkew)
		return certify.Check(&evidence.Result{Verdict: evidence.Violated, Level: l, H: r.H,
			Anomalies: []evidence.Anomaly{*a}}, how)
	}
	before := *a
	for _, weaker := range r.Level.Relaxed() {
		if name(weaker) == nil {
			return
		}
		*a = before
	}
	if name(r.Level) != nil {
		*a = before
	}
}
