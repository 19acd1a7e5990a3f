package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"isovet/certify"
	"isovet/check/explain"
	"isovet/check/minitxn"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

// This file turns a "no" into a violation with a proof. A checker that refutes a history hands over what it has:
// anomalies (Violated), cycles of a polygraph (RefutedByCycles), transactions (Refuted), or nothing. In that case the
// proof is found without it (RefutedByPolygraph, proveByReplay).

// MaxTrial bounds the transactions of a stricter question's refutation that are tried at the level itself. With more,
// the trial could take as long as the question.
var MaxTrial = 200

func (x *Run) Violated(as ...evidence.Anomaly) {
	x.Result.Verdict = evidence.Violated
	evidence.CompleteAll(as, x.H, x.Options.Level, x.Options.ClockSkew)
	x.Result.Anomalies = as
}

// RefutedByCycles turns cycles of a polygraph of the whole history into a violation. If the question was stricter than
// the level (own is false), the transactions of the cycles mostly violate the level too, because few violations need
// the additional orders. If they do not, the verdict stays open, without a reason.
func (x *Run) RefutedByCycles(p *polygraph.Polygraph, cycles [][]polygraph.Edge, own bool) error {
	if x.View.Ambiguous() && !x.fallback {
		return x.proveOwn(own)
	}
	var seed []uint32
	told := make(map[int32]bool)
	for _, e := range slices.Concat(p.Reasons(cycles)...) {
		seed = append(seed, p.Txn[e.From])
		if e.Dep == evidence.PWR || e.Dep == evidence.PRW {
			if of := p.Options[e.W].Of; !told[of] {
				told[of] = true
				p.StoryOf(&p.Based[p.Options[e.W].Of], func(t uint32) { seed = append(seed, t) })
			}
		}
		if e.Dep == evidence.RW && e.W != history.None {
			if t := p.V.WTxn[e.W]; t != history.None {
				seed = append(seed, t)
			}
		}
	}
	return x.proveByTxns(seed, own)
}

// proveByTxns is RefutedByCycles for the transactions of the cycles.
func (x *Run) proveByTxns(seed []uint32, own bool) error {
	if x.fallback {
		x.seed = seed
		return nil
	}
	if own {
		return x.Refuted(seed, explain.Item)
	}
	slices.Sort(seed)
	if seed = slices.Compact(seed); len(seed) == 0 || len(seed) > MaxTrial {
		return nil
	}
	return x.Try(seed, explain.Item)
}

// Try is Refuted for transactions that may not violate the level by themselves. Then the verdict stays open.
func (x *Run) Try(seed []uint32, refute explain.Refuter) error {
	if err := x.Refuted(seed, refute); err != nil && !errors.Is(err, explain.ErrHolds) { // also in a Fault
		return err
	}
	return nil
}

// Refuted gives a violation by transactions that violate the level by themselves.
func (x *Run) Refuted(seed []uint32, refute explain.Refuter) error {
	minimize := replay.Minimize
	if x.H.HasPredicates() || x.Options.Level.IsMixed() {
		minimize = nil
	}
	a, err := explain.Violation(x.Ctx, x.View, x.Options.Level, x.Options.ClockSkew, withReaders(x.View, seed), refute,
		minimize)
	if err != nil {
		if x.Ctx.Err() != nil {
			x.Stopped()
			return nil
		}
		return x.fault(err)
	}
	x.Violated(a)
	x.Stage("evidence")
	return nil
}

// RefutedFor is RefutedByPolygraph if an attempt's "no" is the level's own. Else it leaves the verdict open.
func (x *Run) RefutedFor(at Attempt) error {
	if !at.Own {
		return nil
	}
	return x.RefutedByPolygraph()
}

// RefutedByPolygraph proves the "no" of a checker without cycles, in terms of single writes. It finds the proof without
// the checker. If there is none, the checker was wrong, which is a fault.
func (x *Run) RefutedByPolygraph() error {
	if x.View.Ambiguous() || x.H.HasPredicates() {
		return x.proveByReplay()
	}
	asked, counts := x.Options.Pipeline, x.Result.Stats // the checker's, not those of the proof
	x.Options.Pipeline = Pipeline{}
	defer func() {
		x.Options.Pipeline = asked
		counts.Stages, x.Result.Stats = x.Result.Stats.Stages, counts
	}()
	err := x.pipeline(defaultSolver(), Own(x.Options))
	if err == nil && x.Result.Verdict == evidence.Holds {
		return x.refutedValid()
	}
	if err == nil && x.Result.Verdict == evidence.Unknown && !x.Ended() { // too large for a polygraph
		return x.proveByReplay()
	}
	return err
}

// proveOwn is proveByReplay if the question was the level's own. A "no" to a stricter question is left open.
func (x *Run) proveOwn(own bool) error {
	if !own {
		return nil
	}
	return x.proveByReplay()
}

// proveByReplay lets replay prove a "no". A polygraph's cycles do not show which of several possible writers a read
// saw, or which version a predicate operation saw, and a closure may be too large. If replay does not know, the answer
// is unknown.
func (x *Run) proveByReplay() error {
	r, err := Ask(x.Ctx, Replay{}, x.H, x.Options)
	switch {
	case err != nil:
		return err
	case r.Verdict == evidence.Holds:
		return x.refutedValid()
	}
	x.Result.Verdict, x.Result.Reason, x.Result.DecidedBy = r.Verdict, r.Reason, r.DecidedBy
	x.Result.Anomalies, x.Result.Also = r.Anomalies, r.Also
	x.Stage("evidence")
	return nil
}

// RefutedFork explains two writes that overwrote one version: a lost update, because the two have no order. That needs
// no graph.
func (x *Run) RefutedFork(fork [2]uint32) error {
	seed := []uint32{x.View.WTxn[fork[0]], x.View.WTxn[fork[1]]}
	for _, w := range x.View.RW[x.View.ROff[seed[0]]:x.View.ROff[seed[0]+1]] {
		if t := x.View.WTxn[w]; t != history.None {
			seed = append(seed, t)
		}
	}
	return x.Refuted(seed, explain.Item)
}

// noOrderOf returns the violation by operations of a register which have no order once last ends: a cycle, if one is
// found soon; else a few operations that have no order whatever the others did; else those that ran then.
func (x *Run) noOrderOf(reg *minitxn.Register, last minitxn.Op, core []minitxn.Op) evidence.Anomaly {
	part := reg.Prefix(last.Until)
	seed, shown := make([]uint32, 0, len(part.Ops)), []minitxn.Op{last}
	if len(core) > 0 {
		shown = core
		seed = slice.Map(core, func(op minitxn.Op) uint32 { return op.Txn })
		for _, op := range part.Ops { // possible writers of what these read
			if op.Sets != history.None && slices.ContainsFunc(core, func(r minitxn.Op) bool {
				return r.Need == op.Sets
			}) {
				seed = append(seed, op.Txn)
			}
		}
		slices.Sort(seed)
		seed = slices.Compact(seed)
	} else {
		for _, op := range part.Ops {
			seed = append(seed, op.Txn)
			if op.Txn != last.Txn && op.Until >= last.Until && op.End >= last.End {
				shown = append(shown, op)
			}
		}
	}
	if len(seed) <= maxExplained {
		if c, ok := x.cyclesAmong(seed); ok {
			return c
		}
	}
	a := evidence.Anomaly{Kind: level.NonLinearizable, Key: reg.Key}
	for _, op := range shown {
		for op := range x.H.EachOp(op.Txn) {
			a.Ops = append(a.Ops, op)
		}
	}
	return a
}

// apart returns the view of a history with one session per transaction. For transactions on one key each, strict
// serializability of it means linearizability, which knows no sessions.
func (x *Run) apart() *prepass.View {
	n := x.H.NumTxns()
	h, v := *x.H, *x.View
	v.H = &h
	h.Txns.Sess, h.SessTxn = make([]uint32, n), make([]uint32, n)
	h.SessOff, h.SessName = make([]uint32, n+1), make([]int64, n)
	for t := range n {
		h.Txns.Sess[t], h.SessTxn[t], h.SessOff[t+1], h.SessName[t] = uint32(t), uint32(t), uint32(t)+1, history.NoTime
	}
	return &v
}

// strictly asks replay for an order of all keys' operations together, or for cycles that show that there is none. If
// many clients write few values, real time settles most of what a search by key would try. done says that x has the
// answer.
func (x *Run) strictly() (done bool, err error) {
	if x.H.HasPredicates() || x.View.Crowded {
		return false, nil
	}
	a, err := replay.Run(x.Ctx, x.apart(), replay.Options{Level: level.StrictSerializable, Skew: x.Options.ClockSkew,
		GiveUpAfter: replayConflicts})
	switch {
	case errors.Is(err, replay.ErrNoRoom):
		return false, nil
	case err != nil:
		return false, x.fault(err)
	case a.Status == solver.Sat:
		x.Holds(a.Order)
	case a.Status == solver.Unsat:
		c, ok := x.cyclesAmong(a.Seed)
		if !ok {
			return false, nil
		}
		x.Violated(c)
	default:
		return false, nil
	}
	x.Result.DecidedBy = Replay{}.Info().Name
	x.Stage("solving")
	return true, nil
}

// cyclesAmong asks replay for a proof by cycles among some transactions on one key.
func (x *Run) cyclesAmong(seed []uint32) (evidence.Anomaly, bool) {
	if len(seed) == 0 || x.H.HasPredicates() || x.View.Crowded {
		return evidence.Anomaly{}, false
	}
	ctx, cancel := context.WithTimeout(x.Ctx, 2*time.Second)
	defer cancel()
	h, v := x.H, x.apart()
	y := &Run{Ctx: ctx, H: v.H, Options: x.Options, View: v, at: time.Now(), Result: &evidence.Result{
		Level: level.StrictSerializable, Checker: x.Result.Checker, H: v.H,
		Stats: evidence.Stats{Stages: map[string]float64{}}}}
	y.Options.Level = level.StrictSerializable
	if err := y.Refuted(seed, replay.Refute); err != nil || y.Result.Verdict != evidence.Violated {
		return evidence.Anomaly{}, false
	}
	y.Result.H, y.Result.Level = h, level.Linearizable
	if certify.Check(y.Result, certify.Options{ClockSkew: x.Options.ClockSkew,
		Stop: func() bool { return ctx.Err() != nil }}) != nil {
		return evidence.Anomaly{}, false
	}
	a := &y.Result.Anomalies[0]
	if len(a.Cycle)+len(a.Cycles) > 0 { // its name depends on the level
		a.Kind, a.Text = "", ""
		a.Complete(h, level.Linearizable, x.Options.ClockSkew)
	}
	return *a, true
}

// oneOf returns the anomaly of these cycles together.
func oneOf(cycles [][]evidence.Edge) evidence.Anomaly {
	if len(cycles) == 1 {
		return evidence.Anomaly{Cycle: cycles[0]}
	}
	return evidence.Anomaly{Cycles: slices.Clone(cycles)}
}

// proveByCases makes the cycles found so far the answer, if certify's search finds that they leave no case open.
func (x *Run) proveByCases(cycles [][]evidence.Edge) bool {
	x.Violated(oneOf(cycles))
	if _, err := Named(x.Result, certify.Options{ClockSkew: x.Options.ClockSkew, MaxConflicts: fewConflicts,
		Stop: x.Ended}); err == nil {
		return true
	}
	x.Result.Verdict, x.Result.Anomalies = evidence.Unknown, nil
	return false
}

// Named certifies an answer and gives each proof by cycles the name that its cycles show. An earlier name is only a
// hint, for decisions that cannot wait: which anomalies are one divergence, and whether to try a level with fewer
// orders. It returns the number of wrong hints, apart from the suffix for needed orders.
func Named(r *evidence.Result, how certify.Options) (wrong int64, err error) {
	names, err := certify.Names(r, how)
	if err != nil {
		return 0, err
	}
	for i, kind := range names {
		a := &r.Anomalies[i]
		if kind == a.Kind {
			continue
		}
		if a.Kind.Base() != kind.Base() {
			wrong++
		}
		a.Kind = kind
		a.Text = evidence.Describe(a, r.H)
	}
	return wrong, nil
}

// proveOrLeave makes a the answer "violation" if it is a proof, and else answers "unknown".
func (x *Run) proveOrLeave(a evidence.Anomaly) {
	x.Violated(a)
	// The cycles of all cases may be more than the proof needs, so that the hint may be wrong.
	_, err := Named(x.Result, certify.Options{ClockSkew: x.Options.ClockSkew, Stop: x.Ended})
	if err != nil {
		x.Result.Anomalies = nil
		x.Unknown("no order explains the history, but isovet cannot prove it: list elements were appended more than "+
			"once: %s", err)
	}
}

// withReaders adds to a set of transactions the transactions whose reads show that those of unknown outcome committed.
func withReaders(v *prepass.View, set []uint32) []uint32 {
	h := v.H
	in := make(map[uint32]bool, len(set))
	var unknown []uint32
	for _, t := range set {
		if !in[t] && h.Txns.Status[t] == history.Unknown {
			unknown = append(unknown, t)
		}
		in[t] = true
	}
	if len(unknown) == 0 {
		return set
	}
	// readers[u] are the transactions that can only have read from u.
	readers := make(map[uint32][]uint32)
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != history.None && v.WTxn[w] != history.None &&
				h.Txns.Status[v.WTxn[w]] == history.Unknown {
				readers[v.WTxn[w]] = append(readers[v.WTxn[w]], t)
			}
		}
	}
	for i := 0; i < len(unknown); i++ {
		rs := readers[unknown[i]]
		if c := slices.IndexFunc(rs, func(t uint32) bool { return h.Txns.Status[t] == history.Committed }); c >= 0 {
			rs = rs[c : c+1]
		}
		for _, t := range rs {
			if !in[t] {
				in[t] = true
				set = append(set, t)
				if h.Txns.Status[t] == history.Unknown {
					unknown = append(unknown, t)
				}
			}
		}
	}
	return set
}
