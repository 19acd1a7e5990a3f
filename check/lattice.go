package check

import (
	"context"
	"slices"
	"time"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
)

// Lattice has the answers of all levels for one history, each certified, strongest families first, and a summary.
type Lattice struct {
	H       *history.History
	Results []*evidence.Result
	// Holding are the strongest levels that hold: no level that implies one of them does. Failing are the weakest
	// levels that are violated: all that they imply hold, or are unknown.
	Holding, Failing []level.Level
}

// Weigh applies evidence.Result.Weigh to each level's answer.
func (l *Lattice) Weigh() {
	for _, r := range l.Results {
		r.Weigh()
	}
	l.Holding, l.Failing = nil, nil
	l.summarize()
}

// RunLattice checks a history at every level with the checker that Auto picks, and ignores Options.Level. If no checker
// decides a level, its result is unknown with that reason. A level that holds decides all levels that it implies, and a
// violated one all that imply it. Such answers say so (Result.Implied) and are certified at their own level. First each
// level is tried for a short time, the strongest first; then the open levels at length. If ctx has a deadline, each
// gets a share of the time left, and levels that are near-linear or bounded by a key's operations come first, so that
// one hard level does not cost the answers of others. partial, if set, gets the lattice so far after each answer.
func RunLattice(ctx context.Context, h *history.History, o Options, partial func(*Lattice)) (*Lattice, error) {
	return runLattice(ctx, h, o, partial, func(at level.Level) (Checker, string) {
		c, ok := Auto(h, at)
		if !ok {
			return nil, "no checker decides " + at.String() + " for this history"
		}
		return c, ""
	})
}

// sharing is implemented by a checker that can share work among the levels of a history. Shared returns a copy of the
// checker with a cache for one history and one goroutine.
type sharing interface{ Shared() Checker }

// RunLatticeBy is RunLattice with one checker at all levels that it decides. Its other levels are unknown unless they
// follow from these.
func RunLatticeBy(ctx context.Context, c Checker, h *history.History, o Options, partial func(*Lattice)) (*Lattice,
	error) {
	if s, ok := c.(sharing); ok {
		c = s.Shared()
	}
	return runLattice(ctx, h, o, partial, func(at level.Level) (Checker, string) {
		if in := c.Info(); !in.Decides(at) {
			return nil, in.Name + " does not decide " + at.String()
		}
		return c, ""
	})
}

// runLattice is RunLattice with the checkers that pick returns.
func runLattice(ctx context.Context, h *history.History, o Options, partial func(*Lattice),
	pick func(at level.Level) (c Checker, why string)) (*Lattice, error) {
	levels := level.All()
	l := &Lattice{H: h, Results: make([]*evidence.Result, len(levels))}
	open := strongestFirst(levels)
	final := make([]bool, len(levels)) // unknown, but not for lack of time
	for _, atLength := range []bool{false, true} {
		if atLength {
			sorts.Stable(open, func(a, b level.Level) int { return hard(a) - hard(b) })
		}
		left := len(open)
		for _, at := range open {
			if left--; l.decided(at) || final[at] {
				continue
			}
			most := time.Duration(0)
			if !atLength { // these answers may also decide levels that are hard by themselves
				most = 300*time.Millisecond + 5*time.Microsecond*time.Duration(h.NumOps())
			}
			if end, ok := ctx.Deadline(); ok {
				share := time.Until(end) / time.Duration(left+1)
				if !atLength {
					share /= 4
				}
				if most == 0 || share < most {
					most = max(share, time.Microsecond)
				}
			}
			start := time.Now()
			r, err := runAt(ctx, h, o, at, most, pick)
			if err != nil {
				return nil, err
			}
			l.Results[at] = r
			final[at] = ctx.Err() == nil && (most == 0 || time.Since(start) < most)
			l.spread(ctx, r, o)
			if partial != nil {
				partial(l.filled(h))
			}
		}
	}
	l.summarize()
	return l, nil
}

// strongestFirst sorts levels by how many they imply.
func strongestFirst(levels []level.Level) []level.Level {
	out := slices.Clone(levels)
	implies := func(l level.Level) int { return slice.Count(levels, l.Implies) }
	sorts.Stable(out, func(a, b level.Level) int { return implies(b) - implies(a) })
	return out
}

// hard orders levels by the worst-case cost of their checkers: levels that are near-linear, or bounded by a key's
// operations, come first.
func hard(l level.Level) int {
	if l.Serial() || l.Snapshot() || l == level.RepeatableRead {
		return 1
	}
	return 0
}

// decided reports whether a level has an answer, or no checker.
func (l *Lattice) decided(at level.Level) bool {
	r := l.Results[at]
	return r != nil && (r.Verdict != evidence.Unknown || r.Checker == "")
}

// spread uses an answer to decide other levels.
func (l *Lattice) spread(ctx context.Context, r *evidence.Result, o Options) {
	if r.Verdict == evidence.Unknown {
		return
	}
	for i, m := range level.All() {
		if l.decided(m) {
			continue
		}
		// Without predicates the two levels have the same definition.
		if m == level.RepeatableRead && r.Level == level.Serializable && !r.H.HasPredicates() {
			same := *r
			same.Level = m
			l.Results[i] = &same
			continue
		}
		if s := implied(ctx, r, m, o); s != nil {
			l.Results[i] = s
		}
	}
}

// filled returns the lattice so far, with the other levels unknown.
func (l *Lattice) filled(h *history.History) *Lattice {
	p := &Lattice{H: h, Results: slices.Clone(l.Results)}
	for i, r := range p.Results {
		if r == nil {
			p.Results[i] = &evidence.Result{Level: level.All()[i], H: h, Checker: "auto", Reason: "not checked yet"}
			p.Results[i].Stats.Sizes = evidence.SizesOf(h)
		}
	}
	p.summarize()
	return p
}

// runAt checks at a level, for at most the time most; 0 means without limit.
func runAt(ctx context.Context, h *history.History, o Options, at level.Level, most time.Duration,
	pick func(level.Level) (Checker, string)) (*evidence.Result, error) {
	o.Level = at
	c, why := pick(at)
	if c == nil {
		r := &evidence.Result{Level: at, H: h, Reason: why}
		r.Stats.Sizes = evidence.SizesOf(h)
		return r, nil
	}
	if most > 0 {
		return runFor(ctx, most, c, h, o)
	}
	return Run(ctx, c, h, o)
}

// summarize sets Holding and Failing.
func (l *Lattice) summarize() {
	is := func(v evidence.Verdict, f func(level.Level) bool) bool {
		return slices.ContainsFunc(l.Results, func(r *evidence.Result) bool { return r.Verdict == v && f(r.Level) })
	}
	for _, r := range l.Results {
		stronger := func(m level.Level) bool { return m != r.Level && m.Implies(r.Level) }
		weaker := func(m level.Level) bool { return m != r.Level && r.Level.Implies(m) }
		switch {
		case r.Verdict == evidence.Holds && !is(evidence.Holds, stronger):
			l.Holding = append(l.Holding, r.Level)
		case r.Verdict == evidence.Violated && !is(evidence.Violated, weaker):
			l.Failing = append(l.Failing, r.Level)
		}
	}
}
