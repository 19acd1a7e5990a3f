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

// keyed is auto's choice at strict-serializable for transactions on one key each. Strict serializability implies that
// each key is linearizable (Herlihy and Wing 1990). Checker lwt decides that even if a key has few values with many
// writers each, where a search for an order of all transactions may take long. So keyed asks lwt first. A violation by
// lwt is one of strict serializability too. An order by lwt counts if it certifies, as for one key whose sessions real
// time keeps; else the checker inside keyed decides.
type keyed struct{ Checker }

func suitsKeys(h *history.History, l level.Level) bool {
	return l == level.StrictSerializable && minitxn.MultiKey(h) == ""
}

// byKeys wraps c in keyed if that suits the history.
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

// byKey returns the answer of the checker lwt if it also holds at strict-serializable, else nil. lwt gets at most a
// quarter of the time left.
func byKey(ctx context.Context, h *history.History, o Options) *evidence.Result {
	most := 10 * time.Second
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)/4)
	}
	short, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	at := o
	at.Level = level.Linearizable
	r, err := run.Ask(short, run.Lwt{}, h, at)
	if err != nil || r.Verdict == evidence.Unknown { // the checker that decides reports any error
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

// renamed names a proof by cycles at the weakest level at which it still holds, among the levels that the result's
// level implies.
func renamed(r *evidence.Result, a *evidence.Anomaly, how certify.Options) {
	if len(a.Cycle)+len(a.Cycles) == 0 {
		return
	}
	name := func(l level.Level) bool {
		a.Kind, a.Txns, a.Text = "", nil, ""
		a.Complete(r.H, l, how.ClockSkew)
		return proves(r.H, l, *a, how)
	}
	before := *a
	for _, weaker := range r.Level.Relaxed() {
		if name(weaker) {
			return
		}
		*a = before
	}
	if !name(r.Level) {
		*a = before
	}
}
