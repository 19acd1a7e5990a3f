package replay

import (
	"context"

	"isovet/level"
	"isovet/solver"
)

// serially looks, at a snapshot level, for a serial order, once: it is one at these levels too, and half the nodes and
// a few of the choices lead to it, since who writes a key first matters only to those who read it. Where there is none,
// that mostly shows at once. Databases at serializable give such histories, and those at snapshot isolation too where
// clients read little of what others write.
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
	events := make([]uint32, 0, 2*len(a.Order))
	for _, t := range a.Order {
		events = append(events, t<<1, t<<1|1)
	}
	return Answer{Status: solver.Sat, Order: events}, true, nil
}

// escalate saturates, and decides all choices that are left at once. Where that does not come to an end, or reads are
// still wrong in the order found, it begins again from that order, with what saturation found as known edges. Reads
// with several possible writers, those of predicate operations among them, may be wrong; others only where saturation
// was stopped by a bound: its facts hold, and so does a "no" of the search after it, whose clauses follow from the
// history, but choices that it takes for settled may say more than the facts. A "no" of that second beginning is taken
// only where no seed is needed: there the edges have no explanation, so the search before goes on to find one.
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
		sat.renew(e.o.bounds.words)
		d, status, _ := e.dense(ctx, sat, 0, true)
		if status != solver.Unsat {
			return Answer{}, ctx.Err() != nil, nil // stopped, or no room for the proof: the search before goes on
		}
		return e.refuted(ctx, sat, d)
	case solver.Sat:
		if !e.v.Ambiguous() && e.preds == nil {
			failed := e.replay(order, e.counted, nil)
			if len(failed) == 0 {
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
	for _, f := range sat.facts {
		x.facts = append(x.facts, f.Edge)
	}
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

// refuted returns the answer "no", with a seed if one is needed.
func (e *engine) refuted(ctx context.Context, sat *saturation, d *dense) (a Answer, done bool, err error) {
	a.Status = solver.Unsat
	if e.needSeed {
		if a.Seed, err = e.trace(ctx, sat, d); ctx.Err() != nil {
			return Answer{}, true, nil
		}
	}
	return a, true, err
}
