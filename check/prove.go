package check

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
	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/external"
)

// How a "no" becomes a violation with its proof. Whoever refutes a history hands over what it has: anomalies
// (violated), cycles of a polygraph (proveByCycles), some transactions (proveFrom), or nothing, and then the proof is
// found without it (proveByPolygraph, proveSnapshot, proveByReplay).

// maxTrial bounds the transactions of a stricter question's refutation that are tried at the level itself: beyond, the
// trial could take as long as the question.
var maxTrial = 200

func (x *run) violated(as ...evidence.Anomaly) {
	x.r.Verdict = evidence.Violated
	evidence.CompleteAll(as, x.h, x.o.Level, x.o.ClockSkew)
	x.r.Anomalies = as
}

// proveByCycles makes a violation of cycles of a polygraph over all of the history. Where the polygraph's question is
// not the level's own, its transactions mostly violate the level too, since few violations need what was added; if they
// do not, the verdict is left open, without a reason.
func (x *run) proveByCycles(p *polygraph.Polygraph, cycles [][]polygraph.Edge, own bool) error {
	if x.v.Ambiguous() && !x.fallback {
		return x.proveOwn(own)
	}
	var seed []uint32
	told := make(map[int32]bool)
	for _, c := range p.Reasons(cycles) {
		for _, e := range c {
			seed = append(seed, p.Txn[e.From])
			switch {
			case !x.fallback:
			case e.Dep == evidence.WR:
				x.rests = append(x.rests, [2]uint32{p.Txn[e.To], p.V.WKey[e.W]})
			case e.Dep == evidence.RW:
				x.rests = append(x.rests, [2]uint32{p.Txn[e.From], p.V.WKey[e.W]})
			}
			if e.Dep == evidence.PWR || e.Dep == evidence.PRW {
				if of := p.Options[e.W].Of; !told[of] {
					told[of] = true
					p.Story(e, func(t uint32) { seed = append(seed, t) })
				}
			}
			if e.Dep == evidence.RW && e.W != history.None {
				if t := p.V.WTxn[e.W]; t != history.None {
					seed = append(seed, t)
				}
			}
		}
	}
	return x.proveByTxns(seed, own)
}

// proveByTxns is proveByCycles of the transactions of its cycles.
func (x *run) proveByTxns(seed []uint32, own bool) error {
	if x.fallback {
		x.seed = seed
		return nil
	}
	if own {
		return x.proveFrom(seed, explain.Item)
	}
	slices.Sort(seed)
	if seed = slices.Compact(seed); len(seed) == 0 || len(seed) > maxTrial {
		return nil
	}
	if err := x.proveFrom(seed, explain.Item); err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
		return err
	}
	return nil
}

// proveFrom makes a violation of transactions that violate the level by themselves.
func (x *run) proveFrom(seed []uint32, refute explain.Refuter) error {
	minimize := replay.Minimize
	if x.h.HasPredicates() {
		minimize = nil
	}
	a, err := explain.Violation(x.ctx, x.v, x.o.Level, x.o.ClockSkew, withReaders(x.v, seed), refute, minimize)
	if err != nil {
		if x.ctx.Err() != nil {
			x.stopped()
			return nil
		}
		return x.fault(err)
	}
	x.violated(a)
	x.stage("evidence")
	return nil
}

// proveByPolygraph proves the "no" of a checker that has no cycle to show, in terms of single writes. The proof is
// found without the checker and does not rely on it; if there is none, the checker was wrong, and that is a fault.
func (x *run) proveByPolygraph() error {
	if x.v.Ambiguous() {
		return x.proveByReplay()
	}
	asked, counts := x.o.Pipeline, x.r.Stats // of the checker, not of the proof
	x.o.Pipeline = Pipeline{}
	defer func() {
		x.o.Pipeline = asked
		counts.Stages, x.r.Stats = x.r.Stats.Stages, counts
	}()
	err := x.pipeline(defaultSolver(), attempt{x.o.Level, polygraph.Options{RealTime: x.o.Level.RealTime(),
		Skew: x.o.ClockSkew}, true})
	if err == nil && x.r.Verdict == evidence.Holds {
		if external.Is(x.r.Solver) {
			x.liar()
			return nil
		}
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	}
	return err
}

// proveSnapshot proves the "no" of a checker of snapshot isolation in terms of single writes. The proof starts from a
// pruned polygraph without chains and does not rely on the checker; if there is none, the checker was wrong, and that
// is a fault.
func (x *run) proveSnapshot() error {
	if x.v.Ambiguous() || x.h.HasPredicates() {
		return x.proveByReplay()
	}
	if x.tooManyInitial() {
		return nil
	}
	p := polygraph.New(x.v, x.o.Level, polygraph.Options{RealTime: x.o.Level.RealTime(), Skew: x.o.ClockSkew})
	if c := p.KnownCycle(); c != nil {
		return x.proveByCycles(p, [][]polygraph.Edge{c}, true)
	}
	if n := p.ListBytes(); n > fewBytes && room.For(n) != nil {
		return x.proveByReplay()
	}
	p.AllPairs()
	reach, _, err := closure.New(closure.KindPurdomPlus, closure.Input{N: p.N, Start: p.Start, End: p.End,
		Known: p.Graph(true)},
		closure.Options{MaxBytes: maxClosure, Stop: func() bool { return x.ctx.Err() != nil }})
	if errors.Is(err, closure.ErrTooLarge) {
		return x.proveByReplay()
	}
	if errors.Is(err, closure.ErrStopped) {
		x.stopped()
		return nil
	}
	if err != nil {
		return err
	}
	_, conflict, err := p.Prune(x.ctx, reach)
	if err != nil {
		x.stopped()
		return nil
	}
	if conflict != nil {
		return x.proveByCycles(p, p.ConflictCycles(conflict), true)
	}
	a := encode.Lazy(x.ctx, encode.Vbox(p), solver.New(solver.Options{}))
	switch a.Status {
	case solver.Sat:
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	case solver.Unsat:
		return x.proveByCycles(p, a.Cycles, true)
	}
	x.stopped()
	return nil
}

// proveOwn is proveByReplay where the question was the level's own; a "no" to a stricter one is left open.
func (x *run) proveOwn(own bool) error {
	if !own {
		return nil
	}
	return x.proveByReplay()
}

// proveByReplay has replay prove a "no": which of several possible writers a read saw, or what a predicate operation
// was based on, is no matter of a polygraph's cycles alone, and where a closure is too large nothing else is left. What
// replay leaves unknown is unknown. Of one case (fallback) there is no proof: replay would be asked of all.
func (x *run) proveByReplay() error {
	if x.fallback {
		x.r.Verdict = evidence.Violated
		return nil
	}
	r, err := ask(x.ctx, replayer{}, x.h, x.o)
	switch {
	case err != nil:
		return err
	case r.Verdict == evidence.Holds:
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	}
	x.r.Verdict, x.r.Reason, x.r.Anomalies, x.r.Also, x.r.DecidedBy = r.Verdict, r.Reason, r.Anomalies, r.Also,
		r.DecidedBy
	x.stage("evidence")
	return nil
}

// proveFork explains two writes that both overwrote one version: a lost update, since there is no order of the two. The
// reason needs no graph.
func (x *run) proveFork(fork [2]uint32) error {
	seed := []uint32{x.v.WTxn[fork[0]], x.v.WTxn[fork[1]]}
	for _, w := range x.v.RW[x.v.ROff[seed[0]]:x.v.ROff[seed[0]+1]] {
		if t := x.v.WTxn[w]; t != history.None {
			seed = append(seed, t)
		}
	}
	if x.fallback {
		k := x.v.WKey[fork[0]]
		x.seed, x.rests = seed, [][2]uint32{{seed[0], k}, {seed[1], k}}
		return nil
	}
	return x.proveFrom(seed, explain.Item)
}

// proveMismatches makes violations of predicate operations by themselves.
func (x *run) proveMismatches(ms []prepass.Miss) {
	x.r.Also = max(0, len(ms)-prepass.MaxAnomalies)
	var as []evidence.Anomaly
	for _, m := range ms[:len(ms)-x.r.Also] {
		as = append(as, evidence.Anomaly{Kind: level.PredicateMismatch, Ops: []uint32{m.Op}, Key: m.Key})
	}
	x.violated(as...)
}

// noOrderOf is the violation by a register's operations that run out of orders when one ends: by a cycle, where one is
// found soon among what was under way then and what those read, else by themselves.
func (x *run) noOrderOf(reg *minitxn.Register, last minitxn.Op) evidence.Anomaly {
	h := x.h
	a := evidence.Anomaly{Kind: level.NonLinearizable, Key: reg.Key}
	part := reg.Prefix(last.Until)
	add := func(t uint32) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			a.Ops = append(a.Ops, op)
		}
	}
	add(last.Txn)
	for _, op := range part.Ops {
		if op.Txn != last.Txn && op.Until >= last.Until && op.End >= last.End {
			add(op.Txn)
		}
	}
	seed := make([]uint32, 0, len(part.Ops))
	for _, op := range part.Ops {
		seed = append(seed, op.Txn)
	}
	if len(seed) <= maxExplained {
		if c, ok := x.cyclesAmong(seed); ok {
			return c
		}
	}
	return a
}

// apart is the view of a history whose transactions each have a session of their own. What strict serializability asks
// of it is linearizability, which knows no sessions, where transactions are on one key each.
func (x *run) apart() *prepass.View {
	n := x.h.NumTxns()
	h, v := *x.h, *x.v
	v.H = &h
	h.Txns.Sess, h.SessTxn = make([]uint32, n), make([]uint32, n)
	h.SessOff, h.SessName = make([]uint32, n+1), make([]int64, n)
	for t := range n {
		h.Txns.Sess[t], h.SessTxn[t], h.SessOff[t+1], h.SessName[t] = uint32(t), uint32(t), uint32(t)+1, history.NoTime
	}
	return &v
}

// strictly asks replay for an order of all keys' operations together, or for cycles that show that there is none: where
// many clients write few values, real time settles most of what a search by key would try. done: that is the answer.
func (x *run) strictly() (done bool, err error) {
	if x.h.HasPredicates() || x.v.Crowded {
		return false, nil
	}
	a, err := replay.Run(x.ctx, x.apart(), replay.Options{Level: level.StrictSerializable, Skew: x.o.ClockSkew,
		GiveUpAfter: replayConflicts})
	switch {
	case errors.Is(err, replay.ErrNoRoom):
		return false, nil
	case err != nil:
		return false, x.fault(err)
	case a.Status == solver.Sat:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case a.Status == solver.Unsat:
		c, ok := x.cyclesAmong(a.Seed)
		if !ok {
			return false, nil
		}
		x.violated(c)
	default:
		return false, nil
	}
	x.r.DecidedBy = replayer{}.Info().Name
	x.stage("solving")
	return true, nil
}

// cyclesAmong asks replay for a proof by cycles of some transactions on one key.
func (x *run) cyclesAmong(seed []uint32) (evidence.Anomaly, bool) {
	if len(seed) == 0 || x.h.HasPredicates() || x.v.Crowded {
		return evidence.Anomaly{}, false
	}
	ctx, cancel := context.WithTimeout(x.ctx, 2*time.Second)
	defer cancel()
	h, v := x.h, x.apart()
	y := &run{ctx: ctx, h: v.H, o: x.o, v: v, at: time.Now(), r: &evidence.Result{Level: level.StrictSerializable,
		Checker: x.r.Checker, H: v.H}}
	y.o.Level = level.StrictSerializable
	y.r.Stats.Stages = map[string]float64{}
	if err := y.proveFrom(seed, replay.Refute); err != nil || y.r.Verdict != evidence.Violated {
		return evidence.Anomaly{}, false
	}
	y.r.H, y.r.Level = h, level.Linearizable
	if certify.Check(y.r, certify.Options{ClockSkew: x.o.ClockSkew,
		Stop: func() bool { return ctx.Err() != nil }}) != nil {
		return evidence.Anomaly{}, false
	}
	a := &y.r.Anomalies[0]
	if len(a.Cycle)+len(a.Cycles) > 0 { // the other level gives it another name
		a.Kind, a.Text = "", ""
		a.Complete(h, level.Linearizable, x.o.ClockSkew)
	}
	return *a, true
}

// oneOf is the anomaly that these cycles show together.
func oneOf(cycles [][]evidence.Edge) evidence.Anomaly {
	if len(cycles) == 1 {
		return evidence.Anomaly{Cycle: cycles[0]}
	}
	return evidence.Anomaly{Cycles: slices.Clone(cycles)}
}

// proveByCases makes the cycles found so far the answer if they leave no case, which certify finds out by its own
// search.
func (x *run) proveByCases(cycles [][]evidence.Edge) bool {
	x.violated(oneOf(cycles))
	if _, err := named(x.r, certify.Options{ClockSkew: x.o.ClockSkew, MaxConflicts: fewConflicts,
		Stop: func() bool { return x.ctx.Err() != nil }}); err == nil {
		return true
	}
	x.r.Verdict, x.r.Anomalies = evidence.Unknown, nil
	return false
}

// proveOrLeave makes a an answer of "violation" if it is a proof, and of "unknown" if not.
func (x *run) proveOrLeave(a evidence.Anomaly) {
	x.violated(a)
	// The cases' cycles together may be more than it takes, and named after what is superfluous.
	_, err := named(x.r, certify.Options{ClockSkew: x.o.ClockSkew, Stop: func() bool { return x.ctx.Err() != nil }})
	if err != nil {
		x.r.Anomalies = nil
		x.unknown("no order explains the history, but no evidence can be given of that, list elements having been "+
			"appended more than once: %s", err)
	}
}

// withReaders adds to a set of transactions, for each of unknown outcome, those whose reads show that it committed.
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
	// readers[u] are the transactions that can only have read from u; committed ones first.
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
