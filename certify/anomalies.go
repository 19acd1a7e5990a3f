package certify

import (
	"errors"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// Names checks an answer as [Check] does, except that the names of proofs by cycles may be wrong or empty. It returns
// the right name of each anomaly, for the caller to set: its Kind if that is right, else what its cycles show. It
// returns nil for an answer without such proofs: a valid one, or one about timestamps. Cost: that of Check.
func Names(r *evidence.Result, o Options) ([]level.Anomaly, error) {
	if r.Verdict != evidence.Violated || r.Timestamps {
		return nil, Check(r, o)
	}
	names := make([]level.Anomaly, len(r.Anomalies))
	return names, check(r, o, names)
}

// checkAnomalies checks each anomaly by itself. It sets names if that is not nil; else the given names must be right.
func checkAnomalies(r *evidence.Result, o Options, names []level.Anomaly) error {
	x := &index{h: r.H, finals: finals{h: r.H}, wanted: make([]uint64, r.H.NumVersions()/64+1),
		writes: make(map[uint32][]writer), listKeys: make(map[uint32]bool), lists: make(map[uint32][]uint32),
		keys: make(map[uint32]bool), installed: make(map[uint32][]install)}
	if r.H.HasPredicates() {
		var err error
		if x.truths, err = predicates.NewTruths(r.H); err != nil {
			return err
		}
	}
	for i := range r.Anomalies {
		x.wantAnomaly(&r.Anomalies[i])
	}
	x.build()
	newProof(x, r.Level, o.ClockSkew).bury()
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		err := x.checkAnomaly(a, r.Level, o)
		switch {
		case err != nil:
		case names != nil:
			names[i] = x.nameOf(a, r.Level, o)
		case a.Kind != "":
			if shows := x.nameOf(a, r.Level, o); shows != a.Kind { // other proofs check their names themselves
				err = fmt.Errorf("its cycles show %s", shows)
			}
		}
		if err != nil {
			if _, ok := err.(*Unsupported); ok {
				return err
			}
			return fmt.Errorf("anomaly %d (%s): %w", i, a.Kind, err)
		}
	}
	return nil
}

func (x *index) checkAnomaly(a *evidence.Anomaly, l level.Level, o Options) error {
	if err := x.checkTxns(a); err != nil {
		return err
	}
	if a.Kind == level.NonLinearizable {
		return x.checkNoOrder(a, l, o)
	}
	if l == level.Linearizable {
		if err := oneKeyEach(x.h); err != nil {
			return err
		}
	}
	if a.Kind == level.IncompatibleOrder && len(a.Ops) > 0 {
		return x.checkTogether(a, l, o)
	}
	p := newProof(x, l, o.ClockSkew)
	prove := p.cycles
	if slices.Contains(singleReads, a.Kind) {
		prove = p.read
	}
	if err := prove(a); err != nil {
		return err
	}
	p.settle()
	p.inclusion()
	unsat, err := Unsatisfiable(p.clauses, o)
	if err == nil && !unsat {
		err = &incomplete{fmt.Errorf("the cases do not cover every version order, or every transaction of unknown " +
			"outcome")}
	}
	return err
}

// incomplete is the error of a proof that leaves a case open, though each of its steps is right.
type incomplete struct{ error }

// Incomplete reports whether an error of Check says that a proof leaves a case open, though each of its steps is right.
func Incomplete(err error) bool {
	var open *incomplete
	return errors.As(err, &open)
}

// checkTogether proves that the list reads of an anomaly cannot all show states of one list.
func (x *index) checkTogether(a *evidence.Anomaly, l level.Level, o Options) error {
	if len(a.Cycle)+len(a.Cycles)+len(a.Dead) > 0 {
		return fmt.Errorf("the anomaly has operations and cycles; expected one of them")
	}
	if !l.Serial() && !l.Snapshot() && l != level.RepeatableRead { // its lists: as serializability's
		return &Unsupported{fmt.Sprintf("anomalies of several list reads at level %s", l)}
	}
	return x.nobodyAppended(a.Ops, o)
}

// read proves an anomaly of single reads, and adds the clause that its reader does not count.
func (p *proof) read(a *evidence.Anomaly) error {
	if len(a.Cycle) > 0 || len(a.Cycles) > 0 {
		return fmt.Errorf("an anomaly of a single read has a cycle; expected none")
	}
	at := p.level
	if at.IsMixed() && len(a.Ops) > 0 && int(a.Ops[0]) < p.h.NumOps() {
		at = p.at(p.h.TxnOf(a.Ops[0]))
	}
	if !at.Forbids(a.Kind) {
		return fmt.Errorf("%s allows it", at)
	}
	check := p.checkReads
	if len(a.Dead) > 0 {
		check = p.checkDead
	}
	t, err := check(a)
	switch {
	case err != nil:
		return err
	case a.Kind == level.PredicateMismatch:
		p.mismatch(a, t)
	default:
		p.clause(p.not(p.counts(nil, t)))
	}
	return nil
}

// cycles checks the cycles of an anomaly and adds their clauses.
func (p *proof) cycles(a *evidence.Anomaly) error {
	if len(a.Cycle)+len(a.Cycles) == 0 {
		return fmt.Errorf("the anomaly has neither operations nor a cycle as its proof")
	}
	if len(a.Ops)+len(a.Dead) > 0 {
		return fmt.Errorf("the anomaly has operations and cycles; expected one of them")
	}
	if len(a.Cycle) > 0 {
		if err := p.cycle(a.Cycle); err != nil {
			return fmt.Errorf("the cycle: %w", err)
		}
	}
	for i, c := range a.Cycles {
		if err := p.cycle(c); err != nil {
			return fmt.Errorf("cycle %d of %d: %w", i+1, len(a.Cycles), err)
		}
	}
	return nil
}

// nameOf returns the name of a proved anomaly: what its cycles show at level l. It keeps the anomaly's own name if the
// proof also holds at a level that respects fewer orders, and shows that name there.
func (x *index) nameOf(a *evidence.Anomaly, l level.Level, o Options) level.Anomaly {
	if len(a.Cycle)+len(a.Cycles) == 0 {
		return a.Kind
	}
	l = a.Above(l)
	// Only the proof says which orders the versions rest on that predicate operations saw.
	named := a.Named(x.h, l, o.ClockSkew)
	shows := plain(x.h, l)
	for _, kind := range []level.Anomaly{named, named.Base() + "-session", named.Base() + "-realtime"} {
		if (kind == named || l.Forbids(kind)) && x.bearsOut(a, kind, l, o) {
			shows = kind
			break
		}
	}
	if shows == a.Kind || a.Kind == "" {
		return shows
	}
	for _, weaker := range l.Relaxed() {
		if a.Named(x.h, weaker, o.ClockSkew) == a.Kind && x.checkAnomaly(a, weaker, o) == nil && x.bearsOut(a, a.Kind,
			weaker, o) {
			return a.Kind
		}
	}
	if a.Kind == level.IncompatibleOrder { // this name hides others
		of := *a
		of.Kind = ""
		return x.nameOf(&of, l, o)
	}
	return shows
}

// bearsOut reports whether the proof also holds at the weakest levels that forbid a kind. Then every level that forbids
// the kind is violated, which is what the name claims. If such a level has no rules for the proof, the proof must hold
// at each stronger level that forbids the kind and has rules.
func (x *index) bearsOut(a *evidence.Anomaly, kind level.Anomaly, l level.Level, o Options) bool {
	of := *a
	of.Kind = kind
	for _, weakest := range kind.Weakest() {
		holds, ruled := x.holdsAt(&of, weakest, l, o)
		for _, m := range level.All() {
			if !ruled && m != weakest && m.Implies(weakest) && m.Forbids(kind) {
				above, _ := x.holdsAt(&of, m, l, o)
				holds = holds && above
			}
		}
		if !holds {
			return false
		}
	}
	return true
}

// holdsAt reports whether a proof at level l also holds at m, and whether m has rules for it. Without rules the answer
// is yes. It is also yes, without a check, where a violation of l violates m, and at linearizable, which for
// transactions on one key each means the same as the serializable levels.
func (x *index) holdsAt(a *evidence.Anomaly, m, l level.Level, o Options) (holds, ruled bool) {
	if m == level.Linearizable || m.Implies(l) || m == level.RepeatableRead && l == level.Serializable {
		return true, true
	}
	if m.Forbids(level.NonRepeatableRead) != l.Forbids(level.NonRepeatableRead) {
		dead := x.dead
		defer func() { x.dead = dead }()
		newProof(x, m, o.ClockSkew).bury()
	}
	var cannot *Unsupported
	err := x.checkAnomaly(a, m, o)
	ruled = !errors.As(err, &cannot)
	return err == nil || !ruled || errors.Is(err, ErrGaveUp) || errors.Is(err, ErrStopped), ruled
}

// plain returns the weakest name for a violation of level l by cycles. Each level that forbids that anomaly implies l,
// or l implies it.
func plain(h *history.History, l level.Level) level.Anomaly {
	kind := level.G2Item
	switch {
	case l == level.Linearizable:
		return level.StaleRead
	case l == level.ReadCommitted:
		kind = level.NonMonotonicRead
	case l == level.ReadAtomic:
		kind = level.FracturedRead
	case l == level.Causal:
		kind = level.CausalityViolation
	case l.Snapshot():
		kind = level.NoOrder
	case l.Serial() && h.HasPredicates():
		kind = level.G2
	}
	switch {
	case l.RealTime():
		kind += "-realtime"
	case l.Sessions():
		kind += "-session"
	}
	return kind
}

// checkTxns demands that Txns lists each transaction of the proof once, and no other.
func (x *index) checkTxns(a *evidence.Anomaly) error {
	listed := make(map[uint32]bool, len(a.Txns)) // transaction → whether it takes part
	for _, t := range a.Txns {
		if int(t) >= x.h.NumTxns() {
			return fmt.Errorf("there is no transaction index %d: the number of transactions is %d", t, x.h.NumTxns())
		}
		if _, twice := listed[t]; twice {
			return fmt.Errorf("%s is listed twice", name(x.h, t))
		}
		listed[t] = false
	}
	for _, t := range x.involved(a) {
		if int(t) >= x.h.NumTxns() {
			return fmt.Errorf("the proof uses transaction index %d, but the number of transactions is %d", t,
				x.h.NumTxns())
		}
		if _, is := listed[t]; !is {
			return fmt.Errorf("the proof uses %s, but the anomaly does not list it", name(x.h, t))
		}
		listed[t] = true
	}
	for _, t := range a.Txns {
		if !listed[t] {
			return fmt.Errorf("the anomaly lists %s, but the proof does not use it", name(x.h, t))
		}
	}
	return nil
}

// involved returns the transactions of a proof: of its operations, at both ends of its edges, and the writers of the
// versions that the readers of anti-dependencies saw.
func (x *index) involved(a *evidence.Anomaly) (ts []uint32) {
	for _, op := range slices.Concat(append([][]uint32{a.Ops}, a.Dead...)...) {
		if int(op) < x.h.NumOps() {
			ts = append(ts, x.h.TxnOf(op))
		}
	}
	for _, e := range a.Edges() {
		ts = append(ts, e.From, e.To)
		if anti(e.Dep) && e.Writer != history.None && e.Writer != x.h.Init {
			ts = append(ts, e.Writer)
		}
	}
	return ts
}
