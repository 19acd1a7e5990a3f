// Package hunt runs a workload against a database and checks the recording, again and again, until there is a violation
// or the time is up.
//
// Experimental: this package may still change.
package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/internal/plural"
	"isovet/level"
)

// Config describes a hunt.
type Config struct {
	// Config is the configuration of each round. Txns is the size of a round; 0 means 2,000. Duration is ignored. If
	// Keys is 0, rounds alternate between few keys, which collide most, and the workload's own number. If no workload
	// is named, and Custom and Own are nil, rounds alternate between the workloads of Loads. The first round uses Seed.
	collect.Config
	Level level.Level
	// Further are levels at which a round that has Level is checked too.
	Further []level.Level
	// Promised replaces both by the levels that the database's documentation promises. Anomalies that the documentation
	// allows at these levels are then no violations.
	Promised bool
	For      time.Duration // 0: 60 s
	// GoOn makes the hunt go on after a violation until the time is up.
	GoOn bool
	// Keep, if set, is called with the first violation of each group while the database is still open. The time of the
	// hunt stops meanwhile.
	Keep func(ctx context.Context, f *collect.Found, g []*Group) error
	// Told, if set, is called after each round.
	Told func(Round)

	promise driver.Promise // with Promised
}

// Round is one collection and its check.
type Round struct {
	Number int // from 1
	Seed   uint64
	// Workload and Variant are the round's, as in Config.
	Workload, Variant string
	Keys              int // 0: the workload's own
	// Send is the round's way of sending statements, as in Config; Fault is the injected fault.
	Send  string
	Fault collect.Fault

	Summary collect.Summary
	Verdict evidence.Verdict
	Reason  string // of an unknown verdict
	// Ahead is the number of checks during the round. Early says that one of them found a violation and ended the
	// round.
	Ahead int
	Early bool
	At    time.Duration // end of its check, since the begin of the hunt
}

// Hunted is the result of a hunt.
type Hunted struct {
	Levels []level.Level // of the checks
	// Last is the check of the last round, or of the last violation; nil if no round ended.
	Last     *evidence.Result
	Violated bool
	Rounds   []Round
	// Found has the violations, grouped, in the order of their discovery.
	Found     []*Group
	Committed int // in all rounds
	Undecided int // rounds whose check ended without an answer
	Allowed   int // rounds in which a check listed only anomalies that the documentation allows
	// Attempts counts the transactions that were tried, Refused those that the database refused. Aborts has the
	// reasons.
	Attempts, Refused int
	Aborts            []collect.Abort
	// Broken are the errors that broke the database (driver.Breaker), which was then opened again for the next round.
	Broken      []string
	Elapsed     time.Duration
	Interrupted bool

	barren int // rounds in a row that broke it without a commit
}

// Named returns levels with commas between them.
func Named(levels []level.Level) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(levels), "[]"), " ", ", ")
}

const (
	// FewCommits is the least number of commits for which a hunt without violations has any meaning.
	FewCommits = 100
	// MostRefused is the largest share of refused attempts for which it has.
	MostRefused = 0.9
)

// Inconclusive says why a hunt without violations has no meaning, or returns "" if it has.
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

// bounds has the time limits of a hunt.
type bounds struct {
	until time.Time
	// Grace is how long sessions may take to end before they are cut off. late bounds a check that runs when the time
	// is up, so that a recorded history still gets a verdict.
	grace, late time.Duration
	spent       time.Duration // time of a round outside the run: the load, connections
}

func newBounds(d time.Duration) *bounds {
	return &bounds{until: time.Now().Add(d), grace: max(d/40, min(d/4, 200*time.Millisecond)), late: max(d/20,
		time.Second)}
}

// left returns how long a round's clients may still run.
func (b *bounds) left() time.Duration { return time.Until(b.until) - b.grace - b.spent }

// Run collects histories from a database and checks them, each with a new seed, until one violates the level or the
// time is up. Each round has fresh tables. Checks also run during a round, unless the workload has the user's own
// statements. Every verdict is certified. Run exceeds its time by at most a tenth, or a second. It returns errors of
// Open and Collect, and internal ones, with the rounds before the error.
func Run(ctx context.Context, c Config) (*Hunted, error) {
	if c.For <= 0 {
		c.For = 60 * time.Second
	}
	c.Txns = cmp.Or(c.Txns, 2000)
	out := &Hunted{Levels: slices.Concat([]level.Level{c.Level}, c.Further)}
	t, err := collect.Open(ctx, c.Config)
	if err != nil {
		return out, err
	}
	defer t.Close()
	if c.Promised {
		p := t.Promise(c.Config)
		if len(p.Levels) == 0 {
			return out, fmt.Errorf("%w: isovet knows no level that the documentation of %s promises for %s; "+
				"expected --level LEVEL", driver.ErrUnsupported, t.DB.Info().Name, t.DB.Info().Isolation)
		}
		c.Level, out.Levels, c.promise = p.Levels[0], p.Levels, p
	}
	all, err := turns(&c.Config, t.DB.Info().Dialect != "")
	if err != nil {
		return out, err
	}
	if c.Workload == "" && c.Custom == nil && c.Own == nil {
		vary(all, &c.Config, t.DB)
	}
	return out, out.hunt(ctx, &c, t, all)
}

// hunt runs the rounds of Run.
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
		one.Ahead = &collect.Ahead{Level: c.Level, Until: b.until, Rate: rate, Allows: c.promise.Excuses}
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
		var res *evidence.Result
		for _, l := range h.Levels {
			x, cerr := collect.Examine(ctx, r.History, l, max(time.Until(b.until), 0)+b.late)
			if cerr != nil {
				return errors.Join(err, fmt.Errorf("round %d: %w", n+1, cerr))
			}
			if x.Verdict == evidence.Violated && c.promise.Excuses(x.Kinds()) {
				x.Verdict = evidence.Unknown
				x.Reason = fmt.Sprintf("the documentation allows what it shows: %v", x.Kinds())
			}
			if res == nil || res.Verdict == evidence.Holds || x.Verdict == evidence.Violated {
				res = x // an undecided level hides no violation of another one
			}
			if res.Verdict == evidence.Violated {
				break
			}
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
				begin = begin.Add(time.Since(from)) // storing a violation is no part of the hunt
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
			for _, t := range all { // an addition that the user did not ask for fails
				t.schema = false
			}
			err = nil
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
	}
}

func roundOf(n int, one *collect.Config, r *collect.Result, res *evidence.Result, at time.Duration) Round {
	return Round{Number: n, Seed: one.Seed, Workload: one.Workload, Variant: one.Variant, Keys: one.Keys,
		Send: one.Send, Fault: one.Fault, Summary: r.Summary, Verdict: res.Verdict, Reason: res.Reason,
		Ahead: one.Ahead.Checks, Early: one.Ahead.Violated, At: at}
}

// keep passes a violation with a new group to Config.Keep.
func (c *Config) keep(ctx context.Context, t *collect.Target, one collect.Config, r *collect.Result,
	res *evidence.Result, fresh []*Group) error {
	one.Ahead, one.Grace = nil, 0
	f := &collect.Found{Target: t, Config: one, Level: res.Level, Answer: res, Result: r}
	return c.Keep(ctx, f, fresh)
}

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
	switch {
	case res.Verdict == evidence.Unknown && len(res.Anomalies) > 0:
		h.Allowed++
	case res.Verdict == evidence.Unknown:
		h.Undecided++
	}
}

// mostBroken bounds how many rounds in a row may break the database without a commit.
const mostBroken = 3

// survives records an error that broke the database, and reports whether the hunt goes on with a reopened one.
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
