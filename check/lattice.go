package check

import (
	"context"
	"time"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Lattice has every level's answer for one history, each certified, strongest families first, and what of them says most.
type Lattice struct {
	H       *history.History
	Results []*evidence.Result
	// Holding are the strongest levels that hold: none that implies one of them does. Failing are the weakest that are violated:
	// all that they imply hold, or are unknown.
	Holding, Failing []level.Level
}

// RunLattice checks a history at every level with the checker that Auto picks. Options.Level is not looked at. Where none decides a
// level, its result is unknown with that reason. Where ctx has a deadline each level gets its share of the time that is left, and those
// that are near-linear or bounded by a key's operations come first, so that one hard level does not take the answers of the others away.
func RunLattice(ctx context.Context, h *history.History, o Options) (*Lattice, error) {
	levels := level.All()
	l := &Lattice{H: h, Results: make([]*evidence.Result, len(levels))}
	left := len(levels)
	for _, hard := range []bool{false, true} {
		for i, at := range levels {
			if hard != (at.Serial() || at.Snapshot() || at == level.RepeatableRead) {
				continue
			}
			if ser := l.Results[level.Serializable]; at == level.RepeatableRead && ser != nil && !h.HasPredicates() { // the same, by definition
				same := *ser
				same.Level = at
				l.Results[i] = &same
				left--
				continue
			}
			r, err := runShare(ctx, h, o, at, left)
			if err != nil {
				return nil, err
			}
			l.Results[i] = r
			left--
		}
	}
	l.summarize()
	return l, nil
}

// runShare checks one of so many levels that are left to be checked.
func runShare(ctx context.Context, h *history.History, o Options, at level.Level, left int) (*evidence.Result, error) {
	o.Level = at
	c, ok := Auto(h, at)
	if !ok {
		return &evidence.Result{Level: at, H: h, Reason: "no checker decides " + at.String() + " for this history"}, nil
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	return Run(ctx, c, h, o)
}

// summarize fills Holding and Failing.
func (l *Lattice) summarize() {
	is := func(v evidence.Verdict, f func(level.Level) bool) bool {
		for _, r := range l.Results {
			if r.Verdict == v && f(r.Level) {
				return true
			}
		}
		return false
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
