package replay

import (
	"context"

	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// serially looks, once, for a serial order at a snapshot level, where it is a valid order too. It has half the nodes
// and a few of the choices, because the order of two writers of a key matters only to its readers. If there is none,
// that mostly shows at once. Histories of databases at serializable have one, and so do those at snapshot isolation
// whose clients read few of each other's writes.
func (e *engine) serially(ctx context.Context) (a Answer, found bool, err error) {
	if !e.si || e.o.NoSerial || e.stats.Serial > 0 || e.preds != nil || e.guess != nil || e.o.Level.RealTime() ||
		e.timed() {
		return Answer{}, false, nil
	}
	e.stats.Serial = 1
	o := e.o
	o.Level, o.serial, o.SaturateAfter = level.SessionSerializable, true, 1
	a, err = run(ctx, e.v, o, nil, e.sessions)
	e.stats.Rounds += a.Stats.Rounds
	e.stats.Failed += a.Stats.Failed
	e.stats.Decisions += a.Stats.Decisions
	e.stats.Conflicts += a.Stats.Conflicts
	e.stats.Propagations += a.Stats.Propagations
	e.stats.Restarts += a.Stats.Restarts
	if err != nil || a.Status != solver.Sat {
		return Answer{}, ctx.Err() != nil, err
	}
	e.stats.Serial = 2
	e.stats.Pairs = max(a.Stats.Vars, e.stats.Pairs)
	return Answer{Status: solver.Sat, Order: evidence.Events(a.Order)}, true, nil
}

// escalate saturates, and then decides all open choices at once. If that search does not end, or some reads are still
// wrong in its order, the loop starts again from that order, with the facts of saturation as known edges. Reads with
// several possible writers, such as those of predicate operations, may be wrong. Other reads may be wrong only if a
// bound stopped saturation: its facts hold, and so does a "no" of the search, but it may miss facts, so that an order
// of its choices may not explain the reads. A "no" of the restarted loop counts only if no seed is needed, because its
// edges have no explanation; else the search before continues, to find one.
func (e *engine) escalate(ctx context.Context, budget int64) (a Answer, done bool, err error) {
	sat, ok := e.saturate(func() bool { return ctx.Err() != nil })
	e.stats.Facts = len(sat.facts)
	if !ok {
		return e.refuted(ctx, sat, nil)
	}
	if ctx.Err() != nil {
		return Answer{}, false, nil
	}
	_, status, order := e.dense(ctx, sat, budget, false)
	switch status {
	case solver.Unsat:
		if !e.needSeed {
			return Answer{Status: solver.Unsat}, true, nil
		}
		sat.reach = acyclic.NewWindow(sat.base, sat.reach.Order(), e.o.bounds.words) // as saturation left it
		for _, f := range sat.last {
			sat.reach.Know(f.From, f.To)
		}
		d, status, _ := e.dense(ctx, sat, 0, true)
		if status != solver.Unsat {
			return Answer{}, ctx.Err() != nil, nil // stopped, or no room for the proof: the search before goes on
		}
		return e.refuted(ctx, sat, d)
	case solver.Sat:
		if !e.v.Ambiguous() && e.preds == nil {
			if len(e.replay(order, e.counted, nil)) == 0 {
				return Answer{Status: solver.Sat, Order: e.answer(order)}, true, nil
			}
			if sat.whole {
				e.stats.Astray++
			}
		}
		for p, x := range order {
			sat.rank[x] = int64(p)
		}
	}
	if e.o.serial || e.o.AllAtOnce {
		return Answer{GaveUp: true}, true, nil
	}
	if len(sat.facts) == 0 && order == nil {
		return Answer{}, false, nil
	}
	x := &engine{v: e.v, h: e.h, o: e.o, si: e.si, sessions: e.sessions, guess: sat.rank}
	x.facts = slice.Map(sat.facts, func(f fact) graph.Edge { return f.Edge })
	x.txn, x.node, x.open, x.rdOff, x.rd = e.txn, e.node, e.open, e.rdOff, e.rd
	if e.preds != nil {
		x.preds = newPredReads(x, e.preds.set)
	}
	a, err = x.run(ctx, func() {})
	e.stats.Rounds += x.stats.Rounds
	e.stats.Failed += x.stats.Failed
	if x.s != nil {
		e.count(x.s)
	}
	return a, a.Status != solver.Unsat || !e.needSeed, err
}

// refuted returns the answer "no", with a seed if the caller needs one.
func (e *engine) refuted(ctx context.Context, sat *saturation, d *dense) (a Answer, done bool, err error) {
	a.Status = solver.Unsat
	if e.needSeed {
		if a.Seed, err = e.trace(ctx, sat, d); ctx.Err() != nil {
			return Answer{}, true, nil
		}
	}
	return a, true, err
}
