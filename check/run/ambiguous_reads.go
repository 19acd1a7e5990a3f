package run

import (
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/solver"
)

// Checkers that need one writer for each read decide other histories by cases: which write each ambiguous read saw, and
// which transactions of open outcome committed.

// ByCasesTakes returns the Takes of such a checker. itemsOnly says why it takes no predicates.
func ByCasesTakes(itemsOnly string) Takes {
	return Takes{Items: true, ItemsOnly: itemsOnly, Unknown: OutcomesDecided, Duplicates: true}
}

var (
	// maxResolved bounds the cases; large histories get fewer: resolvedWork divided by the operations.
	maxResolved, resolvedWork = 1 << 14, 1 << 30
	// maxOpen bounds the cases that decide may leave open.
	maxOpen = 256
	// maxPicks bounds the pairs of candidates of the same read.
	maxPicks = 1 << 22
)

// BeginCases begins a run and calls decide, by cases if reads have several possible writers.
func BeginCases(ctx context.Context, in Info, h *history.History, o Options,
	decide func(x *Run) error) (*evidence.Result, error) {
	x, done, err := Begin(ctx, in, h, o)
	if done {
		return x.Result, err
	}
	if !x.View.Ambiguous() {
		return x.Result, decide(x)
	}
	return x.Result, x.Resolved(in, decide)
}

// Resolved decides one case after another. An order of one case explains the history. A refutation of one case also
// refutes all cases in which the reads of its cycles saw the same versions and its transactions committed. A SAT solver
// chooses a case that is not yet refuted; if there is none, the history has no order. Cost: that of decide for each
// case, and a pass over the history.
func (x *Run) Resolved(in Info, decide func(x *Run) error) error {
	c, ok := newCases(x.View)
	if !ok {
		x.Unknown("%s: there are too many possibilities", ambiguity(x.View))
		return nil
	}
	limit := min(maxResolved, 1+resolvedWork/(1+x.H.NumOps()))
	open, opens := "", 0 // why a case was not decided, and how many were not
	for tried := 0; ; tried++ {
		switch c.sat.Solve(x.Ctx) {
		case solver.Unknown:
			x.Stopped()
			return nil
		case solver.Unsat:
			if open != "" {
				x.Unknown("%s; in one case: %s", ambiguity(x.View), open)
				return nil
			}
			return x.proveByReplay()
		}
		if opens == maxOpen {
			x.Unknown("%s; in %s of them: %s", ambiguity(x.View), plural.Of(opens, "case"), open)
			return nil
		}
		if tried == limit {
			x.Unknown("%s; none of the first %d possibilities explains the history, and there are more",
				ambiguity(x.View), limit)
			return nil
		}
		y, err := New(x.Ctx, in, x.H, x.Options)
		if err != nil {
			return err
		}
		y.View, y.fallback, y.BySessions = c.view(), true, x.BySessions
		if err := decide(y); err != nil {
			return err
		}
		x.Result.Stats = y.Result.Stats
		seed, rests := y.seed, y.rests
		switch {
		case y.Result.Verdict == evidence.Holds:
			x.Holds(y.Result.Order)
			return nil
		case y.Result.Verdict == evidence.Violated:
			for _, a := range y.Result.Anomalies {
				if len(a.Cycles) > 0 { // the version orders may depend on further reads
					seed, rests = nil, nil
					break
				}
				for _, e := range a.Cycle {
					seed = append(seed, e.From, e.To)
					rests = append(rests, [2]uint32{e.From, e.Key}, [2]uint32{e.To, e.Key})
				}
			}
		case seed == nil && x.Ctx.Err() != nil:
			x.Stopped()
			return nil
		case seed == nil:
			open, opens = y.Result.Reason, opens+1
		}
		c.forbid(seed, rests)
	}
}

// cases has the ways to resolve a view, as clauses: each ambiguous read of a counting transaction saw one candidate,
// whose writer then counts.
type cases struct {
	v      *prepass.View
	sat    *solver.Solver
	pick   []solver.Var // by candidate
	reader []uint32     // ambiguous read → its transaction, ascending
	counts []solver.Var // transaction → it counts; notOpen
}

const notOpen solver.Var = -1

// newCases makes the clauses, or returns false if they are too many.
func newCases(v *prepass.View) (*cases, bool) {
	pairs := 0
	for i := range v.Amb {
		n := int(v.CandOff[i+1] - v.CandOff[i])
		if pairs += n * n / 2; pairs > maxPicks {
			return nil, false
		}
	}
	c := &cases{v: v, sat: solver.New(solver.Options{}), pick: make([]solver.Var, len(v.Cand)),
		counts: slices.Repeat([]solver.Var{notOpen}, len(v.Counts))}
	for _, t := range v.Open {
		c.counts[t] = c.sat.NewVar()
		c.sat.SetPhase(c.counts[t], false)
	}
	for i, r := range v.Amb {
		t := v.Reader(r)
		c.reader = append(c.reader, t)
		var one []solver.Lit
		if out := c.counts[t]; out != notOpen {
			one = append(one, solver.Neg(out))
		}
		likely := c.likely(i, t)
		for at := v.CandOff[i]; at < v.CandOff[i+1]; at++ {
			p := c.sat.NewVar()
			c.pick[at] = p
			c.sat.SetPhase(p, at == likely)
			for other := v.CandOff[i]; other < at; other++ {
				c.sat.AddClause(solver.Neg(p), solver.Neg(c.pick[other]))
			}
			if w := v.Cand[at]; !v.Initial(w) {
				if in := c.counts[v.WTxn[w]]; in != notOpen {
					c.sat.AddClause(solver.Neg(p), solver.Pos(in))
				}
			}
			one = append(one, solver.Pos(p))
		}
		c.sat.AddClause(one...)
	}
	return c, c.onlyOneNext()
}

// onlyOneNext adds clauses that two transactions which overwrite what they read did not see the same version. That
// would be a lost update, which all levels of these checkers forbid. It returns false if there are too many pairs.
func (c *cases) onlyOneNext() bool {
	v := c.v
	by := make([][]solver.Lit, len(v.WKey)) // write → "it saw that, and overwrote it"
	taken := make([]bool, len(v.WKey))      // write → a transaction that counts certainly overwrote it
	writes := func(t, k uint32) bool { return slices.Contains(v.WKey[v.WOff[t]:v.WOff[t+1]], k) }
	for i, t := range c.reader {
		if !writes(t, v.RKey[v.Amb[i]]) {
			continue
		}
		for at := v.CandOff[i]; at < v.CandOff[i+1]; at++ {
			by[v.Cand[at]] = append(by[v.Cand[at]], solver.Pos(c.pick[at]))
		}
	}
	for t := range uint32(len(v.Counts)) {
		for r := v.ROff[t]; v.Counts[t] && r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != history.None && by[w] != nil && writes(t, v.RKey[r]) {
				taken[w] = true
			}
		}
	}
	pairs := 0
	for w, lits := range by {
		if pairs += len(lits) * len(lits) / 2; pairs > maxPicks {
			return false
		}
		for i, l := range lits {
			if taken[w] {
				c.sat.AddClause(l.Not())
			}
			for _, m := range lits[:i] {
				c.sat.AddClause(l.Not(), m.Not())
			}
		}
	}
	return true
}

// likely guesses which candidate ambiguous read i of transaction t saw: the last one that had ended, by client times,
// when t ended; without times, the last one before t in the file.
func (c *cases) likely(i int, t uint32) uint32 {
	v, h := c.v, c.v.H
	when := func(u uint32) int64 {
		if h.Txns.End == nil || h.End(u) == history.NoTime {
			return int64(u)
		}
		return h.End(u)
	}
	best := v.CandOff[i]
	for at := best; at < v.CandOff[i+1]; at++ {
		u := v.WTxn[v.Cand[at]]
		if u == history.None || !v.Counts[u] || when(u) > when(t) {
			continue
		}
		if b := v.WTxn[v.Cand[best]]; b == history.None || when(b) > when(t) || when(b) <= when(u) {
			best = at
		}
	}
	return best
}

// view returns the case of the solver's current model.
func (c *cases) view() *prepass.View {
	return c.v.Resolve(func(i int) uint32 { return c.v.Cand[c.at(i)] },
		func(t uint32) bool { return c.sat.Value(c.counts[t]) })
}

func (c *cases) at(i int) uint32 {
	for at := c.v.CandOff[i]; at < c.v.CandOff[i+1]; at++ {
		if c.sat.Value(c.pick[at]) {
			return at
		}
	}
	panic("check: a read saw nothing")
}

// forbid excludes all cases in which some reads, given as transaction and key, saw what they see in this case, and some
// transactions counted. With nil it excludes only this case.
func (c *cases) forbid(seed []uint32, rests [][2]uint32) {
	if seed == nil {
		seed = c.v.Open
		for _, r := range c.v.Amb {
			rests = append(rests, [2]uint32{c.v.Reader(r), c.v.RKey[r]})
		}
	}
	var clause []solver.Lit
	for _, t := range seed {
		if in := c.counts[t]; in != notOpen && c.sat.Value(in) {
			clause = append(clause, solver.Neg(in))
		}
	}
	for _, x := range rests {
		if in := c.counts[x[0]]; in != notOpen && !c.sat.Value(in) {
			continue // it did not count, so its reads do not matter
		}
		i, _ := slices.BinarySearch(c.reader, x[0])
		for ; i < len(c.reader) && c.reader[i] == x[0]; i++ {
			if c.v.RKey[c.v.Amb[i]] == x[1] {
				clause = append(clause, solver.Neg(c.pick[c.at(i)]))
			}
		}
	}
	c.sat.AddClause(clause...)
}
