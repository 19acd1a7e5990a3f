// Package hunt runs a workload against a database and checks what was recorded, until there is a violation or the time
// is up.
//
// Experimental: this package may still change.
package hunt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"isovet/collect"
	"isovet/evidence"
	"isovet/internal/plural"
	"isovet/level"
)

// Config says what is hunted.
type Config struct {
	// Config is what each round collects. Txns is the size of a round, 0: 2,000; Duration is ignored. Where Keys is 0,
	// rounds take turns between few keys, which collide most, and the workload's own number. Where no workload is
	// named, Custom and Own are nil, they take turns between those of Loads. Seed is the first round's.
	collect.Config
	Level level.Level
	For   time.Duration // 0: 60 s
	// GoOn has the hunt go on behind a violation until the time is up.
	GoOn bool
	// Keep, if set, is given a violation while the database is still open, the first of each group; the hunt goes on or
	// ends when it has returned. Its time does not count.
	Keep func(ctx context.Context, f *collect.Found, g []*Group) error
	// Told, if set, is called after each round.
	Told func(Round)
}

// Round is one collection and its check.
type Round struct {
	Number int // from 1
	Seed   uint64
	// Workload and Variant are the round's, as Config has them.
	Workload, Variant string
	Keys              int // 0: the workload's own
	// Send is how statements were sent, as Config has it, and Fault what was done meanwhile.
	Send  string
	Fault collect.Fault

	Summary collect.Summary
	Verdict evidence.Verdict
	Reason  string // of an unknown verdict
	// Ahead is how often it was checked while it lasted; Early says that such a check saw a violation and ended it.
	Ahead int
	Early bool
	At    time.Duration // when its check had ended, since the hunt began
}

// Hunted is what a hunt has brought home.
type Hunted struct {
	// Last is the last round's history with its check, or that of the last violation. Nil if no round came to an end.
	Last     *evidence.Result
	Violated bool
	Rounds   []Round
	// Found are the violations, grouped, in the order in which they were found.
	Found     []*Group
	Committed int // in all rounds
	Undecided int // rounds whose check ended without an answer
	// Attempts is the number of transactions that the rounds tried, Refused of them by the database, Aborts the
	// reasons.
	Attempts, Refused int
	Aborts            []collect.Abort
	// Broken are the errors that have broken the database, which was opened anew for the next round: driver.Breaker.
	Broken      []string
	Elapsed     time.Duration
	Interrupted bool

	barren int // rounds in a row that broke it without a commit
}

const (
	// FewCommits is the number of committed transactions below which a hunt that has found nothing says nothing.
	FewCommits = 100
	// MostRefused is the share of refused attempts above which it says nothing.
	MostRefused = 0.9
)

// Inconclusive says why it means nothing that a hunt has found nothing; "": it means something.
func (h *Hunted) Inconclusive() string {
	refused := ""
	if len(h.Aborts) > 0 {
		for i := range h.Aborts {
			if a := &h.Aborts[i]; a.Refused() {
				refused = fmt.Sprintf("; the most frequent reason, %s: %s: %s", plural.Of(a.Count, "time"),
					strings.TrimSpace(a.Class+" "+a.Code), a.Text)
				break
			}
		}
	}
	switch share := collect.Share(h.Refused, h.Attempts); {
	case h.Violated:
		return ""
	case h.Committed < FewCommits:
		return fmt.Sprintf("%s, fewer than %d%s",
			plural.Phrase(h.Committed, "transaction was committed", "transactions were committed"), FewCommits, refused)
	case share > MostRefused:
		return fmt.Sprintf("the database refused %.1f %% of %s%s", 100*share, plural.Of(h.Attempts, "attempt"), refused)
	}
	return ""
}

// bounds are how a hunt keeps to its time.
type bounds struct {
	until time.Time
	// Grace is how long sessions may take to end, behind which they are cut off; late how long a check may take when
	// the time is up: a history in hand is worth an answer.
	grace, late time.Duration
	spent       time.Duration // what a round took beside the run: the load, connections
}

func newBounds(d time.Duration) *bounds {
	return &bounds{until: time.Now().Add(d), grace: max(d/40, min(d/4, 200*time.Millisecond)), late: max(d/20,
		time.Second)}
}

// left is how long a round's clients may run.
func (b *bounds) left() time.Duration { return time.Until(b.until) - b.grace - b.spent }

// Run collects histories from a database and checks them, each with a new seed, until one of them violates the level
// or the time is up. Each round has fresh tables and is checked while it lasts, too: of workloads with statements of
// the user's own, at its end only. Every verdict is certified. It ends within a tenth of its time behind it, or within
// a second. Errors: those of Open and Collect, and faults of ours; the rounds before are in the result.
func Run(ctx context.Context, c Config) (*Hunted, error) {
	if c.For <= 0 {
		c.For = 60 * time.Second
	}
	if c.Txns == 0 {
		c.Txns = 2000
	}
	out := &Hunted{}
	t, err := collect.Open(ctx, c.Config)
	if err != nil {
		return out, err
	}
	defer t.Close()
	all, err := turns(&c.Config, t.DB.Info().Dialect != "")
	if err != nil {
		return out, err
	}
	if c.Workload == "" && c.Custom == nil && c.Own == nil {
		vary(all, &c.Config, t.DB)
	}
	return out, out.hunt(ctx, &c, t, all)
}

// hunt is the rounds of Run.
func (h *Hunted) hunt(ctx context.Context, c *Config, t *collect.Target, all []*turn) error {
	begin, b := time.Now(), newBounds(c.For)
	defer func() { h.Elapsed = time.Since(begin) }()
	rate := 0.0
	for n := 0; ; n++ {
		left := b.left()
		if ctx.Err() != nil || left <= 0 || n > 0 && left < b.grace {
			h.Interrupted = ctx.Err() != nil
			return nil
		}
		one := c.Config
		one.Seed += uint64(n)
		one.Duration, one.Grace = longest(all, c.For, left), b.grace
		now := next(all, n, &one, one.Duration)
		one.KeepCalls = c.Keep != nil
		one.Ahead = &collect.Ahead{Level: c.Level, Until: b.until, Rate: rate}
		from := time.Now()
		r, err := t.Collect(ctx, one)
		if rest, ok := unfit(all, now, err); ok {
			all = rest
			continue
		}
		if r == nil {
			if ctx.Err() != nil || h.survives(t, n+1, 0, err) {
				continue
			}
			return fmt.Errorf("round %d: %w", n+1, err)
		}
		b.spent = max(time.Since(from)-r.Summary.Elapsed, 0)
		from = time.Now()
		res, cerr := collect.Examine(ctx, r.History, c.Level, max(time.Until(b.until), 0)+b.late)
		if cerr != nil {
			return errors.Join(err, fmt.Errorf("round %d: %w", n+1, cerr))
		}
		one.Ahead.Took(time.Since(from), r.History.NumTxns())
		rate = one.Ahead.Rate
		round := roundOf(n+1, &one, r, res, time.Since(begin))
		h.add(round, res)
		if c.Told != nil {
			c.Told(round)
		}
		if res.Verdict == evidence.Violated {
			fresh := h.group(round, res)
			if c.Keep != nil && len(fresh) > 0 {
				from := time.Now()
				kept := c.keep(ctx, t, one, r, res, fresh)
				begin = begin.Add(time.Since(from)) // what follows the find is no part of the hunt
				b.until = b.until.Add(time.Since(from))
				if kept != nil {
					return errors.Join(err, kept)
				}
			}
			if !c.GoOn {
				return err
			}
		}
		if h.survives(t, n+1, round.Summary.Committed, err) {
			continue
		}
		if err != nil && one.Fault != c.Fault && ctx.Err() == nil {
			for _, t := range all { // it does not bear what was not asked for
				t.schema = false
			}
			err = nil
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
	}
}

// roundOf says what came of round n.
func roundOf(n int, one *collect.Config, r *collect.Result, res *evidence.Result, at time.Duration) Round {
	return Round{Number: n, Seed: one.Seed, Workload: one.Workload, Variant: one.Variant, Keys: one.Keys,
		Send: one.Send, Fault: one.Fault, Summary: r.Summary, Verdict: res.Verdict, Reason: res.Reason,
		Ahead: one.Ahead.Checks, Early: one.Ahead.Violated, At: at}
}

// keep hands a violation with something new to Config.Keep.
func (c *Config) keep(ctx context.Context, t *collect.Target, one collect.Config, r *collect.Result,
	res *evidence.Result, fresh []*Group) error {
	one.Ahead, one.Grace = nil, 0
	f := &collect.Found{Target: t, Config: one, Level: c.Level, Answer: res, Result: r}
	return c.Keep(ctx, f, fresh)
}

// add enters a round.
func (h *Hunted) add(r Round, res *evidence.Result) {
	s := &r.Summary
	h.Rounds = append(h.Rounds, r)
	h.Committed += s.Committed
	h.Attempts += s.Committed + s.Aborted + s.Unknown
	h.Refused += s.Refused()
	h.Aborts = collect.MergeAborts(h.Aborts, s.Aborts)
	switch {
	case res.Verdict == evidence.Violated:
		h.Violated, h.Last = true, res
	case !h.Violated:
		h.Last = res
	}
	if res.Verdict == evidence.Unknown {
		h.Undecided++
	}
}

// mostBroken bounds the rounds in a row in which the database may break without a commit.
const mostBroken = 3

// survives enters an error that has broken the database, and reports whether the hunt goes on with it opened anew.
func (h *Hunted) survives(t *collect.Target, round, committed int, err error) bool {
	if err == nil || !t.Broken.Load() {
		return false
	}
	h.Broken = append(h.Broken, fmt.Sprintf("round %d: %s", round, collect.OneLine(err.Error())))
	if h.barren++; committed > 0 {
		h.barren = 0
	}
	return h.barren < mostBroken
}
