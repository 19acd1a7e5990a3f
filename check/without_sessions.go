package check

import (
	"context"
	"errors"

	"isovet/check/explain"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/level"
	"isovet/solver"
)

// maxPruned is up to how many transactions a polygraph of all writer pairs takes over where no order keeps the
// sessions.
var maxPruned = 30_000

// How often sessions are cut, before and after what does without any.
var firstCuts, moreCuts = 3, 20

// withoutSessions decides a level that asks for no sessions where no order keeps them, as seed shows: the rest of
// [replayer.Check] where a is not done. Nearly everything is open then, and an order found by chance breaks as it is
// mended. Mostly a few sessions are wrong, and an order keeps the others; or saturation shows a cycle that needs none.
// At snapshot isolation a serial order will do.
func (x *run) withoutSessions(seed []uint32) (a replay.Answer, done bool, err error) {
	c := &cutter{x: x, seed: seed, cut: make(map[uint32]bool)}
	if a, done, err = c.rounds(firstCuts); done || err != nil || a.Status == solver.Sat {
		return a, done, err
	}
	small := !x.v.Ambiguous() && x.v.NumCounts <= maxPruned
	opts := replay.Options{Level: level.Serializable, NoGuess: true, AllAtOnce: true}
	if small {
		b, err := replay.Run(x.ctx, x.v, opts)
		if err != nil {
			return b, true, x.fault(err)
		}
		x.stage("solving")
		switch {
		case b.Status == solver.Sat && x.o.Level == level.SnapshotIsolation:
			events := make([]uint32, 0, 2*len(b.Order))
			for _, t := range b.Order {
				events = append(events, t<<1, t<<1|1)
			}
			b.Order = events
			return b, false, nil
		case !b.GaveUp && x.o.Level == level.Serializable:
			return b, false, nil
		}
	}
	if a, done, err = c.rounds(moreCuts); done || err != nil || a.Status == solver.Sat {
		return a, done, err
	}
	if small && x.o.Level == level.Serializable {
		// Pruning over the full closure settles most of it (a PostgreSQL history of 10,000 at read committed: 1 s,
		// against no answer in 60 s).
		x.r.DecidedBy = vbox{}.Info().Name
		return a, true, x.pipeline(defaultSolver(), attempt{level: x.o.Level, own: true})
	}
	opts.Level, opts.AllAtOnce = x.o.Level, false
	if !x.v.Ambiguous() {
		opts.SaturateAfter = 2000 // conflicts are dear here, at some ms each
	}
	if a, err = replay.Run(x.ctx, x.v, opts); err != nil {
		return a, true, x.fault(err)
	}
	return a, false, nil
}

// trial sees whether the transactions that refute a stricter level refute the one asked for, if they are few. done:
// that is the answer.
func (x *run) trial(seed []uint32) (done bool, err error) {
	if len(seed) > maxTrial {
		return false, nil
	}
	if err := x.proveFrom(seed, replay.Refute); err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
		return true, err
	}
	return x.r.Verdict != evidence.Unknown || x.r.Reason != "", nil
}

// cutter looks for an order that keeps sessions but where they are cut: between the transactions of which some cycles
// show that no order keeps all that is left.
type cutter struct {
	x    *run
	seed []uint32
	cut  map[uint32]bool
}

// rounds cuts and asks, at most n times. done: x has the answer; a.Status is solver.Sat if an order was found.
func (c *cutter) rounds(n int) (a replay.Answer, done bool, err error) {
	x := c.x
	o := replay.Options{Level: level.SessionSerializable, Cut: c.cut}
	if x.o.Level.Snapshot() {
		o.Level = level.SessionSnapshotIsolation
	}
	for range n {
		if !c.more() {
			return replay.Answer{}, false, nil
		}
		ctx, cancel := context.WithTimeout(x.ctx, patience(x.h))
		a, err = replay.Run(ctx, x.v, o)
		cancel()
		x.stage("solving")
		switch {
		case err != nil:
			return a, true, x.fault(err)
		case a.Status != solver.Unsat || x.ctx.Err() != nil:
			return a, false, nil
		}
		if done, err := x.trial(a.Seed); done || err != nil {
			return a, done, err
		}
		c.seed = a.Seed
	}
	return replay.Answer{}, false, nil
}

// more cuts before each transaction of the seed that has an earlier one in its session. false: all is cut there.
func (c *cutter) more() bool {
	h := c.x.h
	in, sessions := make(map[uint32]bool), make(map[uint32]bool)
	for _, t := range c.seed {
		in[t], sessions[h.Txns.Sess[t]] = true, true
	}
	before := len(c.cut)
	for s := range sessions {
		earlier := false
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if !in[t] {
				continue
			}
			if earlier {
				c.cut[t] = true
			}
			earlier = true
		}
	}
	return len(c.cut) > before
}
