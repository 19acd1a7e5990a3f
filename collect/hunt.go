package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isovet/check"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// HuntConfig says what is hunted.
type HuntConfig struct {
	// Config is what each round collects. Txns is the size of a round, 0: 2,000; Duration is ignored. Where Keys is 0,
	// rounds take turns between few keys, which collide most, and the workload's own number. Seed is the first round's.
	Config
	Level level.Level
	For   time.Duration // 0: 60 s
	// Keep, if set, is given the violation while the database is still open; Hunt returns when it has returned.
	Keep func(ctx context.Context, f *Found) error
	// Told, if set, is told of each round when it is over.
	Told func(Round)
}

// Round is one collection and its check.
type Round struct {
	Number  int // from 1
	Seed    uint64
	Keys    int // 0: the workload's own
	Summary Summary
	Verdict evidence.Verdict
	Reason  string // of an unknown verdict
}

// Hunted is what a hunt has brought home.
type Hunted struct {
	// Last is the last round's history with its check: the violation, if there is one. Nil if no round came to an end.
	Last        *evidence.Result
	Violated    bool
	Rounds      []Round
	Committed   int // in all rounds
	Undecided   int // rounds whose check ended without an answer
	Elapsed     time.Duration
	Interrupted bool
}

// checkAtLeast is how long a check may take even when the hunt's time is nearly up: a history in hand is worth an
// answer.
const checkAtLeast = 10 * time.Second

// Hunt collects histories from a database and checks them, each with a new seed, until one of them violates the level
// or the time is up. Every verdict is certified. Errors: those of Open and Collect, and faults of ours; the rounds
// before are in the result.
func Hunt(ctx context.Context, c HuntConfig) (*Hunted, error) {
	if c.For <= 0 {
		c.For = 60 * time.Second
	}
	if c.Txns == 0 {
		c.Txns = 2000
	}
	out := &Hunted{}
	sizes := []int{c.Keys}
	if c.Keys == 0 && c.Custom == nil && c.Own == nil {
		var err error
		if sizes, err = contended(c.Config); err != nil {
			return out, err
		}
	}
	t, err := Open(ctx, c.Config)
	if err != nil {
		return out, err
	}
	defer t.Close()
	begin := time.Now()
	defer func() { out.Elapsed = time.Since(begin) }()
	for n := 0; ; n++ {
		left := c.For - time.Since(begin)
		if left <= 0 || ctx.Err() != nil {
			out.Interrupted = ctx.Err() != nil
			return out, nil
		}
		one := c.Config
		one.Seed += uint64(n)
		one.Keys = sizes[n%len(sizes)]
		one.Duration = left
		one.KeepCalls = c.Keep != nil
		r, err := t.Collect(ctx, one)
		if r == nil {
			if ctx.Err() != nil {
				continue
			}
			return out, fmt.Errorf("round %d: %w", n+1, err)
		}
		round := Round{Number: n + 1, Seed: one.Seed, Keys: one.Keys, Summary: r.Summary}
		res, cerr := examine(ctx, r, c.Level, max(c.For-time.Since(begin), checkAtLeast))
		if cerr != nil {
			return out, errors.Join(err, fmt.Errorf("round %d: %w", n+1, cerr))
		}
		out.Last = res
		round.Verdict, round.Reason = res.Verdict, res.Reason
		out.Rounds = append(out.Rounds, round)
		out.Committed += r.Summary.Committed
		if c.Told != nil {
			c.Told(round)
		}
		switch {
		case res.Verdict == evidence.Violated:
			out.Violated = true
			if c.Keep != nil {
				out.Elapsed = time.Since(begin)
				f := &Found{Target: t, Config: one, Level: c.Level, Answer: res, Result: r}
				err = errors.Join(err, c.Keep(ctx, f))
				begin = time.Now().Add(-out.Elapsed) // what follows the find is no part of the hunt
			}
			return out, err
		case res.Verdict == evidence.Unknown:
			out.Undecided++
		}
		if err != nil {
			return out, fmt.Errorf("round %d: %w", n+1, err)
		}
	}
}

// examine checks a history with the checker that isovet check would take.
func examine(ctx context.Context, r *Result, l level.Level, limit time.Duration) (*evidence.Result, error) {
	return examineAt(ctx, r.History, l, limit)
}

func examineAt(ctx context.Context, h *history.History, l level.Level, limit time.Duration) (*evidence.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, ok := check.Auto(h, l)
	if !ok {
		return &evidence.Result{H: h, Level: l, Verdict: evidence.Unknown, Reason: "no checker decides " +
			l.String() + " for this history"}, nil
	}
	res, err := check.Run(ctx, c, h, check.Options{Level: l})
	if err != nil {
		return nil, err
	}
	res.H = h
	return res, nil
}

// contended returns the numbers of keys that rounds take turns with: few at first, since without collisions there is
// nothing to find.
func contended(c Config) ([]int, error) {
	info, err := workload.Lookup(c.withDefaults().Workload)
	if err != nil {
		return nil, err
	}
	p := workload.Params{Variant: c.Variant, Ops: c.Ops, Sessions: c.withDefaults().Sessions}
	_, own, err := info.New(p)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, n := range []int{20, 8, 100} {
		p.Keys = n
		if _, _, err := info.New(p); err == nil && n < own.Keys {
			sizes = append(sizes, n)
		}
	}
	return append(sizes, own.Keys), nil
}
