package check

import (
	"context"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Lattice has every level's answer for one history, each certified, strongest families first, and what of them says most.
type Lattice struct {
	Results []*evidence.Result
	// Holding are the strongest levels that hold: none that implies one of them does. Failing are the weakest that are violated:
	// all that they imply hold, or are unknown.
	Holding, Failing []level.Level
}

// RunLattice checks a history at every level with the checker that Auto picks. Options.Level is not looked at. Where none decides a
// level, its result is unknown with that reason.
func RunLattice(ctx context.Context, h *history.History, o Options) (*Lattice, error) {
	l := &Lattice{}
	for _, at := range level.All() {
		o.Level = at
		c, ok := Auto(h, at)
		if !ok {
			l.Results = append(l.Results, &evidence.Result{Level: at, H: h, Reason: "no checker decides " + at.String() + " for this history"})
			continue
		}
		r, err := Run(ctx, c, h, o)
		if err != nil {
			return nil, err
		}
		l.Results = append(l.Results, r)
	}
	l.summarize()
	return l, nil
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
