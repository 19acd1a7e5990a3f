package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/check/explain"
	"isovet/check/replay"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/polygraph"
	"isovet/prepass"
	"isovet/solver"
	"isovet/solver/external"
)

var serialLevels = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}

// run is one checker's run on one history: the parts that every pipeline over the polygraph shares.
type run struct {
	ctx context.Context
	h   *history.History
	o   Options
	r   *evidence.Result
	v   *prepass.View
	at  time.Time
	bad error // what is wrong with the history
	// fallback: a polygraph is asked in place of replay, of histories with reads of several possible writers and at snapshot isolation too.
	// It explains nothing: seed are the transactions of the cycles that refute its question.
	fallback bool
	seed     []uint32
}

// begin answers what needs no search: unsupported input, anomalies of single reads, missing times. done: r is the answer.
func begin(ctx context.Context, name string, h *history.History, o Options, levels []level.Level) (x *run, done bool) {
	return beginAble(ctx, name, h, o, levels, able{})
}

// able says what a checker decides beside histories of item operations in which every read has one possible writer.
type able struct {
	ambiguous, predicates bool
	// settled: several possible writers, but only with outcomes settled one way or the other (View.Open) by the checker itself.
	settled bool
}

// beginAble is begin for checkers that decide more.
func beginAble(ctx context.Context, name string, h *history.History, o Options, levels []level.Level, can able) (x *run, done bool) {
	x, done = start(ctx, name, h, o, levels, can)
	if !done && !can.ambiguous && !can.settled && x.v.Ambiguous() {
		return x, x.unknown("needs unique values: %s", ambiguity(x.v))
	}
	return x, done
}

// beginAmbiguous is begin for checkers that decide over all possible writers of a read.
func beginAmbiguous(ctx context.Context, name string, h *history.History, o Options, levels []level.Level) (x *run, done bool) {
	return beginAble(ctx, name, h, o, levels, able{ambiguous: true, predicates: true})
}

func start(ctx context.Context, name string, h *history.History, o Options, levels []level.Level, can able) (x *run, done bool) {
	x = &run{ctx: ctx, h: h, o: o, at: time.Now()}
	x.r = &evidence.Result{Level: o.Level, Checker: name, H: h}
	x.r.Stats = evidence.Stats{Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: h.NumSessions(), Keys: h.NumKeys(), Stages: map[string]float64{}}
	decides := false
	for _, l := range levels {
		decides = decides || l == o.Level
	}
	switch {
	case o.Level == level.RepeatableRead && h.HasPredicates():
		return x, x.unknown("repeatable-read is decided where it is serializability, without predicate operations")
	case !decides:
		return x, x.unknown("%s does not decide %s", name, o.Level)
	case h.HasLists():
		return x, x.unknown("list histories: %s reads registers only", name)
	case h.HasPredicates() && !can.predicates:
		return x, x.unknown("predicate operations: %s checks item operations only", name)
	}
	if o.Level.RealTime() {
		if t, missing := polygraph.MissingTime(h); missing {
			return x, x.unknown("%s needs start and end of every committed transaction; transaction %d has not both", o.Level, h.Txns.ID[t])
		}
	}
	x.v = prepass.RunWith(h, prepass.Options{Closed: !can.ambiguous, EachRead: o.Level == level.ReadCommitted})
	if x.v.Bad != nil {
		x.bad = x.v.Bad
		return x, true
	}
	if len(x.v.Anomalies) > 0 {
		x.violated(x.v.Anomalies...)
		x.r.Also = x.v.Also
		return x, true
	}
	x.stage("prepass")
	return x, false
}

// ambiguity names the first read that has several possible writers.
func ambiguity(v *prepass.View) string {
	h := v.H
	if len(v.Amb) == 0 {
		return fmt.Sprintf("whether transaction %d committed is open", h.Txns.ID[v.Open[0]])
	}
	r := v.Amb[0]
	return fmt.Sprintf("transaction %d reads %s of key %s, which %d writes could have installed (%d such reads)",
		h.Txns.ID[h.TxnOf(v.ROp[r])], h.ValueString(v.RVer[r]), h.KeyString(h.VerKey[v.RVer[r]]), v.CandOff[1]-v.CandOff[0], len(v.Amb))
}

func (x *run) unknown(format string, args ...any) bool {
	x.r.Verdict, x.r.Reason = evidence.Unknown, fmt.Sprintf(format, args...)
	return true
}

func (x *run) violated(as ...evidence.Anomaly) {
	x.r.Verdict = evidence.Violated
	evidence.CompleteAll(as, x.h, x.o.Level, x.o.ClockSkew)
	x.r.Anomalies = as
}

// stage books the time since the last call.
func (x *run) stage(name string) {
	now := time.Now()
	x.r.Stats.Stages[name] += float64(now.Sub(x.at).Microseconds()) / 1e3
	x.at = now
	if x.o.Progress != nil {
		x.o.Progress(name, 1, 1)
	}
}

// stopped turns the end of the context into an answer.
func (x *run) stopped() bool {
	cause := context.Cause(x.ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return x.unknown("timeout")
	}
	if cause == nil {
		return x.unknown("the solver has no room for more clauses")
	}
	if errors.Is(cause, context.Canceled) {
		return x.unknown("interrupted")
	}
	return x.unknown("%v", cause)
}

// maxTrial bounds the transactions of a stricter question's refutation that are tried at the level itself: beyond, the trial
// could take as long as the question.
var maxTrial = 200

// explained makes a violation of cycles of a polygraph over all of the history. Where the polygraph's question is not the level's
// own, its transactions mostly violate the level too, since few violations need what was added; if they do not, the verdict is
// left open, without a reason.
func (x *run) explained(p *polygraph.Polygraph, cycles [][]polygraph.Edge, own bool) error {
	if x.v.Ambiguous() && !x.fallback {
		return x.severalWriters(own)
	}
	var seed []uint32
	told := make(map[int32]bool)
	for _, c := range p.Reasons(cycles) {
		for _, e := range c {
			seed = append(seed, p.Txn[e.From])
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
	return x.explainedBy(seed, own)
}

// explainedBy is explained of the transactions of its cycles.
func (x *run) explainedBy(seed []uint32, own bool) error {
	if x.fallback {
		x.seed = seed
		return nil
	}
	if own {
		return x.explain(seed, explain.Item)
	}
	slices.Sort(seed)
	if seed = slices.Compact(seed); len(seed) == 0 || len(seed) > maxTrial {
		return nil
	}
	if err := x.explain(seed, explain.Item); err != nil && !errors.Is(err, explain.ErrHolds) { // Fault unwraps
		return err
	}
	return nil
}

// severalWriters explains a violation of a history with reads of several possible writers. Which they saw is no matter of a polygraph's
// cycles; replay finds the transactions that violate the level by themselves. A "no" to a stricter question is left open.
func (x *run) severalWriters(own bool) error {
	if !own {
		return nil
	}
	r, err := replayer{}.Check(x.ctx, x.h, x.o)
	switch {
	case err != nil:
		return err
	case r.Verdict == evidence.Holds:
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	case r.Verdict == evidence.Unknown:
		x.unknown("%s", r.Reason)
		return nil
	}
	x.r.Verdict, x.r.Anomalies, x.r.Also = r.Verdict, r.Anomalies, r.Also
	x.stage("evidence")
	return nil
}

// explain makes a violation of transactions that violate the level by themselves.
func (x *run) explain(seed []uint32, refute explain.Refuter) error {
	minimize := replay.Minimize
	if x.h.HasPredicates() {
		minimize = nil
	}
	a, err := explain.ViolationBy(x.ctx, x.v, x.o.Level, x.o.ClockSkew, withReaders(x.v, seed), refute, minimize)
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

// refuted proves the "no" of a checker that has no cycle to show, in terms of single writes. The proof is found without the checker
// and does not rely on it; if there is none, the checker was wrong, and that is a fault.
func (x *run) refuted() error {
	back, err := solverByName("")
	if err != nil {
		return err
	}
	err = vbox{}.pipeline(x, back, attempt{x.o.Level, polygraph.Options{RealTime: x.o.Level.RealTime(), Skew: x.o.ClockSkew}, true})
	if err == nil && x.r.Verdict == evidence.Holds {
		if external.Is(x.r.Solver) {
			x.liar()
			return nil
		}
		return &Fault{Checker: x.r.Checker, Err: errors.New("it refutes a history that has an order")}
	}
	return err
}

// liar takes back what another program said: its mistakes are not ours.
func (x *run) liar() {
	x.r.Order = nil
	x.unknown("%s says unsatisfiable of what is satisfiable", x.r.Solver)
}

// solved books a solver's work.
func (x *run) solved(p *polygraph.Polygraph, a encode.Answer) {
	s := &x.r.Stats
	s.Variables, s.Clauses, s.Rounds = a.Stats.Vars, a.Stats.Clauses, a.Stats.Rounds
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagated, a.Stats.Restarts
	x.stage("solving")
}

// holds makes the commit order of a polygraph whose choices have been settled.
func (x *run) holds(p *polygraph.Polygraph, chosen []polygraph.Edge) error {
	order, ok := p.Order(chosen)
	if !ok {
		return &Fault{Checker: x.r.Checker, Err: errors.New("the chosen edges have a cycle")}
	}
	x.r.Verdict, x.r.Order = evidence.Holds, order
	x.stage("evidence")
	return nil
}

// settle has the back end settle the open choices of p in the given encoding. It finishes the answer; own as in explained.
func (x *run) settle(p *polygraph.Polygraph, enc func(*polygraph.Polygraph) *encode.Problem, back Solver, own bool) error {
	a := encode.Answer{Status: solver.Sat}
	if len(p.Choices) > 0 || p.OpenBased() > 0 {
		q := enc(p)
		x.stage("encoding")
		a = back.solve(x.ctx, q)
		x.solved(p, a)
		if a.Status == solver.Unsat && (q.Eager || len(a.Cycles) == 0) {
			// Clauses that say all refute without a cycle to show; the lazy loop finds those that the explanation starts from.
			lazy := encode.Lazy(x.ctx, encode.Vbox(p), solver.New(solver.Options{}))
			if lazy.Status == solver.Sat && external.Is(back.Name) {
				x.liar()
				return nil
			}
			if lazy.Status == solver.Unknown {
				x.unsolved(lazy)
				return nil
			}
			a.Cycles = lazy.Cycles
		}
	}
	switch a.Status {
	case solver.Sat:
		return x.holds(p, a.Edges)
	case solver.Unsat:
		return x.explained(p, a.Cycles, own)
	}
	x.unsolved(a)
	return nil
}

// unsolved says why a back end gave no answer.
func (x *run) unsolved(a encode.Answer) {
	if a.Reason != "" {
		x.unknown("%s", a.Reason)
		return
	}
	x.stopped()
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
			if w := v.RW[r]; w != history.None && v.WTxn[w] != history.None && h.Txns.Status[v.WTxn[w]] == history.Unknown {
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
