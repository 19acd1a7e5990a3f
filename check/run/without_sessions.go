package run

import (
	"context"
	"slices"
	"time"

	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
)

// maxPruned is the number of transactions up to which a polygraph of all writer pairs decides if no order keeps the
// sessions.
var maxPruned = 30_000

// firstCuts and moreCuts bound how often sessions are cut, before and after the search without any.
var firstCuts, moreCuts = 3, 20

// maxWindows and windowTxns bound the parts of the history that windows searches, and the transactions of each.
var maxWindows, windowTxns = 100, 400

// withoutSessions decides a level without session order if no order keeps the sessions, as seed shows: the rest of
// [Replay.Check] if it is not done. Nearly all orders are open then, and each repair of a guessed order breaks it
// elsewhere. Mostly a small part of the history violates the level, or a few sessions are wrong and an order keeps the
// others, or saturation finds a cycle that needs none. At snapshot isolation a serial order is enough.
func (x *Run) withoutSessions(seed []uint32) (a replay.Answer, done bool, err error) {
	c := &cutter{x: x, view: x.View, seed: seed, cut: make(map[uint32]bool)}
	if done, err = c.windows(); done || err != nil {
		return a, done, err
	}
	if a, done, err = c.rounds(firstCuts); done || err != nil || a.Status == solver.Sat {
		return a, done, err
	}
	small := !x.View.Ambiguous() && x.View.NumCounts <= maxPruned
	opts := replay.Options{Level: level.Serializable, NoGuess: true, AllAtOnce: true}
	if small {
		b, err := replay.Run(x.Ctx, x.View, opts)
		if err != nil {
			return b, true, x.fault(err)
		}
		x.Stage("solving")
		switch {
		case b.Status == solver.Sat && x.Options.Level == level.SnapshotIsolation:
			b.Order = evidence.Events(b.Order)
			return b, false, nil
		case !b.GaveUp && x.Options.Level == level.Serializable:
			return b, false, nil
		}
	}
	if a, done, err = c.rounds(moreCuts); done || err != nil || a.Status == solver.Sat {
		return a, done, err
	}
	if small && x.Options.Level == level.Serializable {
		// Pruning over the full closure settles most choices (a PostgreSQL history of 10,000 at read committed: 1 s,
		// against no answer in 60 s).
		x.Result.DecidedBy = Vbox{}.Info().Name
		return a, true, x.pipeline(defaultSolver(), Attempt{Level: x.Options.Level, Own: true})
	}
	opts.Level, opts.AllAtOnce = x.Options.Level, false
	if !x.View.Ambiguous() {
		opts.SaturateAfter = 2000 // conflicts are expensive here, some ms each
	}
	if a, err = replay.Run(x.Ctx, x.View, opts); err != nil {
		return a, true, x.fault(err)
	}
	return a, false, nil
}

// Patience is how long only the asked level is tried. By then nearly every history is decided. Tests shorten it.
var Patience = func(h *history.History) time.Duration {
	return 500*time.Millisecond + 5*time.Microsecond*time.Duration(h.NumOps())
}

// trial tests whether the transactions that refute a stricter level also refute the level asked for, if they are few.
// done says that x has the answer.
func (x *Run) trial(seed []uint32) (done bool, err error) {
	if len(seed) > MaxTrial {
		return false, nil
	}
	err = x.Try(seed, replay.Refute)
	return err != nil || x.Answered(), err
}

// cutter looks for an order that keeps sessions except at cuts. It cuts between the transactions of cycles which show
// that no order keeps the rest.
type cutter struct {
	x    *Run
	view *prepass.View // of the history, or of a part of it
	part []uint32      // the part's transactions in the history; nil: it is no part
	seed []uint32
	cut  map[uint32]bool
}

// windows looks for a violation in parts of the history, each of transactions that probably took effect one after the
// other. A search of a part takes a thousandth of the time of one of the history. Cost: linear in the operations of the
// parts, for each round; the time of one search of the history at most, and of one part.
func (c *cutter) windows() (done bool, err error) {
	began, patience := time.Now(), Patience(c.x.H) // a hard part may take half a second
	all := slices.Collect(slices.Chunk(replay.Ordered(c.view), windowTxns))
	for i := 0; i < len(all) && !done && err == nil && time.Since(began) < patience; i += 1 + len(all)/(maxWindows+1) {
		part, v := explain.Part(c.view, all[i])
		if len(v.Anomalies) == 0 { // else a read's writer is elsewhere
			w := &cutter{x: c.x, view: v, part: part.Txn, cut: make(map[uint32]bool)}
			_, done, err = w.rounds(moreCuts)
		}
	}
	return done, err
}

// rounds cuts and searches, at most n times. done says that x has the answer; a.Status is solver.Sat if an order was
// found.
func (c *cutter) rounds(n int) (a replay.Answer, done bool, err error) {
	x := c.x
	o := replay.Options{Level: level.SessionSerializable, Cut: c.cut}
	if x.Options.Level.Snapshot() {
		o.Level = level.SessionSnapshotIsolation
	}
	for range n {
		if len(c.seed) > 0 && !c.more() {
			return replay.Answer{}, false, nil
		}
		ctx, cancel := context.WithTimeout(x.Ctx, Patience(c.view.H))
		a, err = replay.Run(ctx, c.view, o)
		cancel()
		x.Stage("solving")
		switch {
		case err != nil:
			return a, true, x.fault(err)
		case a.Status != solver.Unsat || x.Ctx.Err() != nil:
			return a, false, nil
		}
		if c.seed = a.Seed; len(c.seed) == 0 {
			break
		}
		seed := c.seed
		if c.part != nil {
			seed = slice.Pick(c.part, seed)
		}
		if done, err := x.trial(seed); done || err != nil {
			return a, done, err
		}
	}
	return replay.Answer{}, false, nil
}

// more cuts the session order before each transaction of the seed that has an earlier one in its session. It returns
// false if all of these cuts exist.
func (c *cutter) more() bool {
	h := c.view.H
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
