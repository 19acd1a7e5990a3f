package papers

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"isovet/check/run"
	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/polygraph"
	"isovet/solver"
)

// cobraRounds is Cobra for a running database. It verifies a growing history in rounds. After each round it forgets the
// transactions that no later cycle can pass through; fence transactions (workload.Fenced) make sure that there are
// some.
type cobraRounds struct {
	batch int // least number of transactions that a round adds; 0: roundsBatch
}

const roundsBatch = 512

// CobraRounds returns checker cobra-rounds with at least this many transactions a round (2,400 are Cobra's default,
// [CHRONOS] §VI-B); 0 means its own number.
func CobraRounds(least int) run.Checker { return cobraRounds{batch: max(0, least)} }

func (cobraRounds) Info() run.Info {
	return run.Info{
		Name: "cobra-rounds", Paper: "Cobra", Levels: run.SerialLevels, Solvers: run.SolverNames(),
		Takes:    run.Takes{Items: true, ItemsOnly: cobraItems, Unknown: run.OutcomesDecided, Duplicates: true},
		Hidden:   true,
		Settings: []run.Setting{{Name: run.SettingClosure, Values: []string{"warshall", "purdom"}}},
		About:    "cobra in rounds over a growing history; it forgets transactions before fences",
	}
}

// Check is [Cobra] §5. Transactions arrive by their end times or, without times, evenly from all sessions. A round adds
// at least half as many transactions as the last one left. So if nothing can be forgotten, all rounds together cost
// half as much again as the last. Each round is cobra's pipeline over the transactions left, the window.
//
// # What is forgotten
//
// A set D of the window's transactions, such that by what the round knows (the closure of the known graph after
// pruning)
//
//	(a) each of D precedes all later arrivals, since it reaches the last transaction of every session that
//	    goes on, and has read from no later arrival;
//	(b) what precedes a transaction of D is in D;
//	(c) if a transaction outside of D has read a version of D, or a later arrival might, that version is ordered
//	    with all others of its key in the window. No later arrival can read a version that a transaction
//	    satisfying (a) overwrites.
//
// Each key has at most one version as in (c), the last one of D: of two such versions, the readers of the first would
// precede the second. It becomes the key's base, which the window treats as its initial version. A later arrival that
// reads a version which is neither in the window nor a base violates the level. There is a largest D. Remove the
// transactions that do not satisfy (a), and the writers of versions that might be read and are not ordered. Then
// remove, repeatedly, all that follows a removed transaction, and the writers of unordered versions that a removed one
// has read.
//
// # Why the verdict is cobra's
//
// Let T be an order of the whole history, and T' the same with D moved to the front. T' is an order too. By (a) and (b)
// it respects the known graph, with reads after their writers. So let r read w, and m be another writer of the key: in
// T, m < w or r < m.
//
//   - m < w in T and not in T': m is outside, w in D. If r is in D, r < m in T'. If not, w is ordered with m by (c), or
//     m arrives later, so that w is known to precede m.
//   - r < m in T and not in T': r is outside, m in D. If w is outside, m < w in T'. If w is in D, it is ordered with m
//     by (c); not as w < m, since then r is known to precede m and is in D by (b), or, arriving later, contradicts (a).
//     So m < w in both. The same if w is initial: its readers are known to precede m.
//
// So the history has an order iff D has one, which the round has found, and the rest has one from the state that D
// leaves. The orders of all D, one after the other, are certified against the whole history; RefutedByPolygraph proves
// a "no".
//
// A history whose reads have several possible writers takes a single round, because only its end shows which writer a
// read saw, and which transactions may still write the same value.
//
// Source:  [Cobra] §5: rounds, fences, frozen transactions (a). Differs: the closure says whether a transaction
// precedes all later arrivals, where the paper compares epoch numbers. With fences two epochs suffice, but so does any
// other path. In place of (b) and (c) the paper forgets strongly connected components of the known graph with both
// sides of all open choices. On blind writes these connect all transactions: of the first 1,024 of BlindW-RW that lets
// it forget 38, of the next none. The paper asks the database for the last version of a key, by a transaction of its
// own; here the next reader or writer of the key shows it. Client times count as known edges. Memory: the window's
// polygraph and closure; for the rest a few words a transaction and a key.
func (c cobraRounds) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	if x.View.Ambiguous() {
		return x.Result, cobra{}.decide(x)
	}
	// Without session order nothing is known about later arrivals. Ask for it; if the answer is "no", cobra decides.
	at := run.Own(o)
	if !o.Level.Sessions() {
		at = run.Attempts(o, false)[0]
	}
	err = newRounds(x, at).run(cmp.Or(c.batch, roundsBatch))
	if err != nil || x.Answered() {
		return x.Result, err
	}
	return x.Result, cobra{}.pipeline(x, run.Attempt{Level: o.Level, Own: true})
}

// rounds is the state between two rounds.
type rounds struct {
	x  *run.Run
	at run.Attempt
	window

	arrival []uint32 // transactions that count, in the order in which they arrive
	arrived int
	soonest []int64 // with times, by place in arrival: the earliest end from there on
	// By session: the number of transactions that have not arrived; the last arrived one that orders its successors, or
	// None; and with times the least start of those that have not arrived.
	left  []uint32
	last  []uint32
	start []int64
	later []int64 // with times, by place in arrival: the earliest start of its session's later transactions

	order []uint32 // the order of the forgotten transactions
}

func newRounds(x *run.Run, at run.Attempt) *rounds {
	h := x.H
	s := &rounds{x: x, at: at, window: newWindow(x.View)}
	s.arrive()
	s.left, s.last = make([]uint32, h.NumSessions()), slices.Repeat([]uint32{history.None}, h.NumSessions())
	for _, t := range s.arrival {
		s.left[h.Txns.Sess[t]]++
	}
	s.order = make([]uint32, 0, len(s.arrival))
	writers := make([]int, h.NumKeys())
	for _, k := range x.View.WKey[h.NumKeys():] {
		x.Result.Stats.Constraints += writers[k]
		writers[k]++
	}
	if !at.Order.RealTime {
		return s
	}
	n := len(s.arrival)
	s.soonest, s.later = make([]int64, n+1), make([]int64, n)
	s.start = slices.Repeat([]int64{math.MaxInt64}, h.NumSessions())
	s.soonest[n] = math.MaxInt64
	for i := n - 1; i >= 0; i-- {
		from, to := h.Window(s.arrival[i], at.Order.Skew)
		mine := &s.start[h.Txns.Sess[s.arrival[i]]]
		s.soonest[i] = min(s.soonest[i+1], to)
		s.later[i] = *mine
		*mine = min(*mine, from)
	}
	return s
}

// arrive chooses the order of arrival. Any order that keeps sessions gives the same verdict.
func (s *rounds) arrive() {
	h, v := s.x.H, s.x.View
	_, missing := polygraph.MissingTime(h)
	at := make([]int64, h.NumTxns())
	for i := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[i]:h.SessOff[i+1]]
		now := int64(math.MinInt64)
		for j, t := range in {
			switch {
			case missing || h.Txns.End == nil:
				at[t] = int64(j) << 32 / int64(len(in))
				continue
			case h.Txns.Status[t] == history.Unknown:
				now = max(now, h.Start(t))
			default:
				now = max(now, h.End(t))
			}
			at[t] = now
		}
		s.arrival = append(s.arrival, slice.Filter(in, func(t uint32) bool { return v.Counts[t] })...)
	}
	sorts.Stable(s.arrival, func(a, b uint32) int { return cmp.Compare(at[a], at[b]) })
}

// take lets the next transaction arrive.
func (s *rounds) take() {
	h, t := s.x.H, s.arrival[s.arrived]
	s.here[t] = int32(len(s.members))
	s.members = append(s.members, member{txn: t})
	sess := h.Txns.Sess[t]
	s.left[sess]--
	if h.Txns.Status[t] != history.Unknown {
		s.last[sess] = t
	}
	if s.later != nil {
		s.start[sess] = s.later[s.arrived]
	}
	s.arrived++
}

// run is the loop of rounds. If the attempt fails and its "no" is not the level's own, it leaves the verdict open,
// without a reason.
func (s *rounds) run(batch int) error {
	x := s.x
	no := func() error { return x.RefutedFor(s.at) }
	// Even for a history without transactions, a round finds the order.
	for round := 1; ; round++ {
		upto := min(len(s.arrival), s.arrived+max(batch, len(s.members)/2))
		for s.arrived < upto {
			s.take()
		}
		x.Result.Stats.Window = max(x.Result.Stats.Window, len(s.members))
		p, stale := s.polygraph(s.at)
		x.Stage("construction")
		if stale {
			return no()
		}
		if s.short != nil {
			x.Unknown("too many pairs of chains of writes have no known order: their list %v", s.short)
			return nil
		}
		now := run.CobraRound{Verified: s.arrived, Window: len(s.members), Choices: len(p.Choices)}
		reach, ok, err := cobraPrune(x, p)
		if err != nil || x.Result.Reason != "" {
			return err
		}
		if !ok {
			return no()
		}
		now.Left = len(p.Choices)
		st := &x.Result.Stats
		st.KnownEdges, st.Left = max(st.KnownEdges, len(p.Known)), max(st.Left, len(p.Choices))
		a := encode.Answer{Status: solver.Sat}
		if len(p.Choices) > 0 {
			q := x.Encode(x.Options.Pipeline.Encoder("cobra"), p)
			x.Stage("encoding")
			a = x.Solver.Solve(x.Ctx, q)
			s.solved(a)
		}
		switch a.Status {
		case solver.Unsat:
			return no()
		case solver.Unknown:
			x.Unsolved(a)
			return nil
		}
		order, ok := p.Order(a.Edges)
		if !ok {
			return &run.Fault{Checker: x.Result.Checker, Err: errors.New("the chosen edges have a cycle")}
		}
		x.Result.Stats.Rounds = round
		if s.arrived == len(s.arrival) {
			x.Holds(append(s.order, slice.Map(order, func(i uint32) uint32 { return s.members[i].txn })...))
			x.Stage("evidence")
			return nil
		}
		s.collect(p, reach, order)
		x.Stage("garbage")
		if x.Options.Progress != nil {
			x.Options.Progress("rounds", s.arrived, len(s.arrival))
		}
		if x.Options.Rounds != nil {
			x.Options.Rounds(now)
		}
	}
}

// solved records a solver's statistics: the largest sizes, and the sum of the work.
func (s *rounds) solved(a encode.Answer) {
	st := &s.x.Result.Stats
	st.Variables, st.Clauses = max(st.Variables, a.Stats.Vars), max(st.Clauses, a.Stats.Clauses)
	st.Decisions += a.Stats.Decisions
	st.Conflicts += a.Stats.Conflicts
	st.Propagated += a.Stats.Propagated
	st.Restarts += a.Stats.Restarts
	s.x.Stage("solving")
}

// collect forgets the largest D. reach is the closure of p's known graph, order an order of the window. Cost: linear in
// the window's reads and known edges; a question for each member and session, and for each two writers of a key.
func (s *rounds) collect(p *polygraph.Polygraph, reach closure.Index, order []uint32) {
	v := p.V
	full := p.FullGraph(nil)
	out := make([]bool, full.N())
	var queue []int32
	leave := func(u int32) {
		if !out[u] {
			out[u] = true
			queue = append(queue, u)
		}
	}
	early := make([]bool, p.N) // node → it precedes all later arrivals
	for i := range s.members {
		u := p.Node[i]
		if early[u] = s.precedes(p, reach, u); !early[u] || s.members[i].waits {
			leave(u)
		}
	}
	open := make([]bool, len(v.WKey)) // write → its order with some other write of the key is open
	live := make([]bool, len(v.WKey)) // later transactions might read it
	for k := range uint32(len(s.keys)) {
		ws := p.Writers(k)
		for i, a := range ws {
			u := p.WriteNode(a)
			live[a] = true
			for j, b := range ws {
				if w := p.WriteNode(b); i != j && reach.Reaches(u, w) {
					live[a] = live[a] && !early[w]
				} else if i != j && !reach.Reaches(w, u) {
					open[a] = true
				}
			}
			if live[a] && open[a] {
				leave(u)
			}
		}
	}
	for len(queue) > 0 {
		u := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, w := range full.Succ(u) {
			leave(w)
		}
		if int(u) >= p.N {
			continue
		}
		t := p.Txn[u]
		for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
			if open[w] { // initial versions never are
				leave(p.WriteNode(w))
			}
		}
	}
	// Set the bases. If D has versions of a key, none of which others may read, the key has no base.
	for i := range s.members {
		if u := p.Node[i]; !out[u] {
			for w := v.WOff[i]; w < v.WOff[i+1]; w++ {
				s.base[s.keys[v.WKey[w]]] = history.None
			}
		}
	}
	for i := range s.members {
		if u := p.Node[i]; !out[u] {
			for w := v.WOff[i]; w < v.WOff[i+1]; w++ {
				if live[w] || slices.ContainsFunc(p.Readers(w), func(r int32) bool { return out[r] }) {
					s.base[s.keys[v.WKey[w]]] = s.v.WOff[s.members[i].txn] + w - v.WOff[i]
				}
			}
		}
	}
	for _, i := range order {
		if !out[p.Node[i]] {
			s.order = append(s.order, s.members[i].txn)
		}
	}
	s.forget(func(i int) bool { return !out[p.Node[i]] })
}

// precedes reports whether all later arrivals are known to come after node u.
func (s *rounds) precedes(p *polygraph.Polygraph, reach closure.Index, u int32) bool {
	timed := s.at.Order.RealTime
	if timed && s.soonest[s.arrived] < p.Start[u] {
		return false // some later arrival precedes it
	}
	for sess, n := range s.left {
		if n == 0 || timed && p.End[u] < s.start[sess] {
			continue
		}
		if t := s.last[sess]; t == history.None || s.here[t] < 0 || !reach.Reaches(u, p.Node[s.here[t]]) {
			return false
		}
	}
	return true
}
