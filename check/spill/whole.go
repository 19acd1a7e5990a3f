package spill

import (
	"context"

	"isovet/check"
	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// whole decides a history that fits into one window with package replay, which can try every outcome of the
// transactions of unknown outcome. So it may decide histories that windows could not; decided reports whether it did.
func (e *engine) whole(ctx context.Context, a *Answer) (decided bool, err error) {
	if e.total.Txns > int64(e.o.MaxWindow) || 200*e.total.Txns+80*e.total.Ops > e.o.Memory/8 {
		return false, nil
	}
	by, err := e.txnsAt(ctx, slice.Numbers[uint64](int(e.total.Txns)))
	if err != nil {
		return false, err
	}
	all := make([]*plan.Txn, len(by))
	for p, x := range by {
		all[p] = x
	}
	h, err := plan.Whole(all, e.in.Initial)
	if err != nil {
		return false, err
	}
	h.File = e.in.Name
	c, err := check.ByName(e.o.Checker)
	if err != nil {
		return false, err
	}
	short, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	r, err := check.Run(short, c, h, check.Options{Level: e.asked, ClockSkew: e.o.Skew})
	if err != nil {
		return false, err
	}
	switch r.Verdict {
	case evidence.Violated:
		for _, t := range r.Anomalies[0].Txns {
			e.seen[h.Txns.ID[t]] = all[t]
		}
		r.Anomalies = r.Anomalies[:1]
		if r.Anomalies[0].Kind == level.NonLinearizable { // it concerns all operations on the key
			for _, x := range all {
				if !x.Init {
					e.forced[x.ID], e.seen[x.ID] = true, x
				}
			}
		}
		e.force(r, all)
		a.Found, a.Open, a.Reason = append(a.Found, r), nil, ""
		return true, nil
	case evidence.Holds:
		if e.o.Checker == byKey { // that order keeps real time only by key
			got, err := plan.Order(short, all, e.in.Initial, plan.Options{Level: e.o.Level, Skew: e.o.Skew})
			if err != nil || got == nil {
				return false, err
			}
			r.Order = got
		}
		if e.o.Checker == byWeak {
			a.Bare = true
			e.moves, e.ids = plan.NewMoves(e.in.Txns), map[uint64]Named{}
			return true, nil
		}
		return e.ordered(ctx, all, r)
	}
	return false, nil
}

// ordered uses an order of the whole history as the answer.
func (e *engine) ordered(ctx context.Context, all []*plan.Txn, r *evidence.Result) (bool, error) {
	var order []int32
	for _, x := range r.Order {
		if e.o.Level.Snapshot() {
			if !all[x>>1].Init {
				order = append(order, int32(x))
			}
		} else if !all[x].Init {
			order = append(order, int32(x)<<1, int32(x)<<1|1)
		}
	}
	if e.o.Level.Snapshot() {
		order = plan.Late(all, order)
	}
	e.stats.Rounds++
	e.moves = plan.NewMoves(e.in.Txns)
	clear(e.ids)
	for _, o := range order {
		x := all[o>>1]
		if _, is := e.counted[x.Place]; !is && (x.Status == history.Unknown || x.Rule.T == history.NoTime) {
			at := plan.Pos{T: max(x.Start, plan.First.T+1), N: x.Place}
			x.Counts, x.Rule, e.counted[x.Place] = true, at, at
		}
	}
	var events []plan.Event
	placed, _ := plan.Place(all, order, nil)
	for _, x := range placed {
		x.Now.Round = e.stats.Rounds
		e.moves.Set(x.Place, x.Now)
		e.ids[x.Place] = named(x)
		events = append(events, eventsOf(x)...)
	}
	if err := e.write(events); err != nil {
		return false, err
	}
	t := trouble{}
	e.until = plan.Last
	var err error
	if t.misfits, err = e.replay(ctx, "replaying", nil); err == nil {
		t.sessions, err = e.sessions(ctx)
	}
	return t.none(), err
}
