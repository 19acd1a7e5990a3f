// Package mixed decides histories whose transactions have different isolation levels: there must be one order of begins
// and commits in which each transaction reads as its own level says (docs/levels.md).
//
// It guesses an order and replays it. Each failure becomes a constraint. The order of two writers of a key is a
// variable, whose sides are edges between events, and a solver keeps these acyclic (package solver/acyclic). This
// repeats, round by round, until an order has no failure, or the edges of all choices close cycles. At the weak levels,
// visibility follows from reads and sessions alone, so that a failure is a fact. Cost: for a valid history, linear per
// round; the rounds are few if times or the file's order are near the truth.
//
// Source: Bouajjani, Enea, Román-Calvo, arXiv:2505.18409, for levels that differ by transaction.
// Differs: registers only; the snapshot family has a begin event in place of an axiom on the order of commits.
//
// Experimental: this package may still change.
package mixed

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/sorts"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

const none = history.None

// Answer is the result of Check.
type Answer struct {
	Status solver.Status
	Order  []uint32          // Sat: events, as evidence.Result.Order at the snapshot levels
	Cycles [][]evidence.Edge // Unsat: as clauses "not all assumptions of this cycle hold" they contradict each other
	Rounds int
	Pairs  int // how many orders of two writers were needed
	Edges  int // known before the search
	Solver solver.Stats
}

// known is an edge between events that holds in every order. The edge between the two events of a transaction is inner
// and has no reason. On a path through auxiliary nodes of real time, the first edge has only the beginning of the
// reason, and the last only its end.
type known struct {
	from, to int32
	why      evidence.Edge
	inner    bool
}

// engine looks for an order. Transaction t has the nodes 2t for its begin and 2t+1 for its commit. Only at the snapshot
// levels is the begin used; else both are 2t+1. The nodes of real time come after these.
type engine struct {
	v    *prepass.View
	h    *history.History
	at   []level.Level
	skew int64

	nodes int
	base  []known
	topo  []int32
	ord   *order.Order
	s     *solver.Solver
	pk    *acyclic.PK
	log   lemmas
	top   solver.Lit
	// guards are not yet handed to pk. says has the reason of every guard, and proofs the cycle that proves it, if it
	// is a fact of a weak level.
	guards []acyclic.Guard
	says   []evidence.Edge
	proofs [][]evidence.Edge
	pairs  map[[2]uint32]solver.Var // two writers of a key, the lower first → it commits first
	made   map[[2]uint32]bool       // read and transaction that overwrites it: the constraint is made
	prev   []uint32                 // transaction → the committed one before it in its session
	place  []uint32                 // transaction → its place in its session

	replaying
}

// lemmas collects the clauses that the theory adds.
type lemmas struct{ clauses [][]solver.Lit }

func (*lemmas) Input([]solver.Lit)     {}
func (l *lemmas) Lemma(c []solver.Lit) { l.clauses = append(l.clauses, slices.Clone(c)) }
func (*lemmas) Learn([]solver.Lit)     {}
func (*lemmas) Delete([]solver.Lit)    {}

var errNoRoom = errors.New("mixed: the formula has more clauses than the solver can store")

// Refute is Check for package explain. It returns no cycles if the view satisfies the levels.
func Refute(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([][]evidence.Edge, error) {
	a := Check(ctx, v, l, skew)
	if a.Status == solver.Unknown {
		return nil, cmp.Or(context.Cause(ctx), errNoRoom)
	}
	return a.Cycles, nil
}

// Check decides a view made with the option Mixed, without reads that have several possible writers. l gives each
// transaction's level. Status Unknown means that ctx ended.
func Check(ctx context.Context, v *prepass.View, l level.Level, skew int64) Answer {
	h := v.H
	e := &engine{v: v, h: h, at: make([]level.Level, h.NumTxns()), skew: skew, pairs: make(map[[2]uint32]solver.Var),
		made: make(map[[2]uint32]bool)}
	for t := range e.at {
		e.at[t] = l.Of(h.LevelName(uint32(t)))
	}
	e.facts()
	a := Answer{Edges: len(e.base)}
	if c := e.start(); c != nil {
		a.Status, a.Cycles = solver.Unsat, [][]evidence.Edge{c}
		return a
	}
	e.s = solver.New(solver.Options{Proof: &e.log})
	e.top = solver.Pos(e.s.NewVar())
	e.s.AddClause(e.top)
	e.pk = acyclic.NewPK(e.s, e.ord, nil, acyclic.PKOptions{})
	n := h.NumTxns()
	e.pos = make([]int32, e.nodes)
	e.seq, e.rank = make([][]uint32, h.NumKeys()), make([]uint32, len(e.v.WKey))
	e.stamp, e.by, e.walked = make([]uint32, n), make([]evidence.Edge, n), make([]uint32, n)
	for {
		a.Rounds++
		before := len(e.says)
		if a.Order = e.replay(e.ord.Topological()); e.alone != nil {
			a.Status, a.Cycles = solver.Unsat, [][]evidence.Edge{e.alone}
			break
		}
		if len(e.says) == before {
			a.Status = solver.Sat
			break
		}
		if c := e.pk.Add(e.guards...); c != nil {
			e.log.Lemma(c)
			e.s.AddClause(c...)
		}
		e.guards = e.guards[:0]
		if a.Status = e.s.Solve(ctx); a.Status == solver.Unsat {
			a.Cycles = e.cycles()
		}
		if a.Status != solver.Sat {
			break
		}
	}
	a.Pairs, a.Solver = len(e.pairs), e.s.Stats()
	return a
}

func (e *engine) begin(t uint32) int32 {
	if e.at[t].Snapshot() {
		return int32(2 * t)
	}
	return e.commit(t)
}

func (e *engine) commit(t uint32) int32 { return int32(2*t + 1) }

func edge(from, to uint32, dep evidence.Dep) evidence.Edge {
	return evidence.Edge{From: from, To: to, Dep: dep, Key: none, Ver: none, Writer: none}
}

func (e *engine) know(from, to int32, why evidence.Edge) {
	e.base = append(e.base, known{from: from, to: to, why: why})
}

// facts adds the edges of reads, sessions and real time.
func (e *engine) facts() {
	h, v := e.h, e.v
	n := uint32(h.NumTxns())
	e.nodes = 2 * int(n)
	e.prev, e.place = make([]uint32, n), make([]uint32, n)
	timed := false
	for t := range n {
		e.prev[t] = none
		if !e.takesPart(t) {
			continue
		}
		timed = timed || e.at[t].RealTime()
		if e.at[t].Snapshot() {
			e.base = append(e.base, known{from: e.begin(t), to: e.commit(t), inner: true})
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if u := v.WTxn[v.RW[r]]; u != none {
				e.know(e.commit(u), e.begin(t), e.wr(r, t))
			}
		}
	}
	for s := range h.NumSessions() {
		last, since := none, []uint32(nil) // committed ones; at most the first asks for the order
		for i, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if !e.takesPart(t) {
				continue
			}
			e.prev[t], e.place[t] = last, uint32(i)
			asks := e.at[t].Sessions()
			if asks {
				for _, u := range since {
					e.know(e.commit(u), e.begin(t), edge(u, t, evidence.SO))
				}
			}
			if h.Txns.Status[t] != history.Committed {
				continue
			}
			if last = t; asks {
				since = since[:0]
			}
			since = append(since, t)
		}
	}
	if timed {
		e.realTime()
	}
}

// takesPart reports whether t counts and is not the initial transaction.
func (e *engine) takesPart(t uint32) bool { return e.v.Counts[t] && t != e.h.Init }

func (e *engine) wr(r, t uint32) evidence.Edge {
	w := edge(e.v.WTxn[e.v.RW[r]], t, evidence.WR)
	w.Key, w.Ver = e.v.RKey[r], e.v.RVer(r)
	return w
}

// realTime adds a chain of nodes, one for the end of each transaction, in the order of time.
func (e *engine) realTime() {
	type moment struct {
		at  int64
		txn uint32
	}
	var ends []moment
	for t := range uint32(e.h.NumTxns()) {
		if _, end := e.h.Window(t, e.skew); e.takesPart(t) && e.h.Txns.Status[t] == history.Committed {
			ends = append(ends, moment{end, t})
		}
	}
	sorts.Func(ends, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.txn, b.txn)) })
	for i, m := range ends {
		node := int32(e.nodes + i)
		e.know(e.commit(m.txn), node, edge(m.txn, none, evidence.RT))
		if i > 0 {
			e.base = append(e.base, known{from: node - 1, to: node, inner: true})
		}
	}
	for t := range uint32(e.h.NumTxns()) {
		if !e.takesPart(t) || !e.at[t].RealTime() || e.h.Start(t) == history.NoTime {
			continue
		}
		start, _ := e.h.Window(t, e.skew)
		i, _ := slices.BinarySearchFunc(ends, start, func(m moment, at int64) int { return cmp.Compare(m.at, at) })
		if i > 0 {
			e.know(int32(e.nodes+i-1), e.begin(t), edge(none, t, evidence.RT))
		}
	}
	e.nodes += len(ends)
}

// start orders the events as the facts demand, near client times or else by their places in the sessions. If the facts
// contradict each other, it returns their cycle.
func (e *engine) start() []evidence.Edge {
	g := graph.BuildFunc(e.nodes, func(emit func(u, v int32)) {
		for _, k := range e.base {
			emit(k.from, k.to)
		}
	})
	priority := make([]int64, e.nodes)
	for t := range uint32(e.h.NumTxns()) {
		b, c := e.h.Start(t), e.h.End(t)
		switch at := e.h.Commit(t); {
		case at != history.NoTime:
			c = at
		case c == history.NoTime && e.takesPart(t): // guess that all sessions proceed at the same pace
			s := e.h.Txns.Sess[t]
			b = int64(float64(e.place[t]) / float64(e.h.SessOff[s+1]-e.h.SessOff[s]) * (1 << 40))
			c = b
		case !e.at[t].Snapshot() && b != history.NoTime:
			c = b + (c-b)/2
		}
		priority[2*t], priority[2*t+1] = b, c
	}
	for i := 2 * e.h.NumTxns(); i < e.nodes; i++ {
		priority[i] = history.NoTime
	}
	var ok bool
	if e.topo, ok = graph.TopologicalBy(g, priority); ok {
		e.ord = e.known()
		return nil
	}
	nodes, by := graph.FindCycle(g), make(map[[2]int32]int)
	for i, k := range slices.Backward(e.base) {
		by[[2]int32{k.from, k.to}] = i
	}
	var steps []known
	for i, u := range nodes {
		steps = append(steps, e.base[by[[2]int32{u, nodes[(i+1)%len(nodes)]}]])
	}
	return join(steps)
}

// known returns an order with the facts as edges. The tag of fact i is -1-i.
func (e *engine) known() *order.Order {
	ord := order.FromTopological(e.nodes, e.topo)
	for i, k := range e.base {
		ord.AddEdge(k.from, k.to, int32(-1-i))
	}
	return ord
}

// join turns the steps of a cycle into evidence. It drops steps within a transaction, and joins a path through nodes of
// real time to one edge.
func join(steps []known) (c []evidence.Edge) {
	first := slices.IndexFunc(steps, func(k known) bool { return !k.inner && k.why.From != none })
	from := none
	for _, k := range slices.Concat(steps[first:], steps[:first]) {
		switch {
		case k.inner:
		case k.why.To == none:
			from = k.why.From
		case k.why.From == none:
			k.why.From = from
			fallthrough
		default:
			c = append(c, k.why)
		}
	}
	return c
}

// cycles returns the cycle behind each clause of the theory, and the proofs of the facts among their edges.
func (e *engine) cycles() (out [][]evidence.Edge) {
	by := acyclic.NewLemmas(e.pk.Guards(), e.s.NumVars())
	ord := order.FromTopological(e.nodes, e.topo)
	for i, k := range e.base {
		ord.AddEdge(k.from, k.to, int32(i))
	}
	proved := make(map[int32]bool)
	for _, c := range e.log.clauses {
		if !slices.Contains(c, e.top.Not()) {
			c = append(c, e.top.Not())
		}
		closing, path, ok := by.Cycle(ord, c)
		if !ok {
			panic("mixed: a theory lemma has no cycle")
		}
		steps := []known{{why: e.says[closing]}}
		used := []int32{closing}
		for _, p := range path {
			if p.Tag >= 0 {
				steps = append(steps, e.base[p.Tag])
			} else {
				steps, used = append(steps, known{why: e.says[-1-p.Tag]}), append(used, -1-p.Tag)
			}
		}
		out = append(out, join(steps))
		for _, g := range used {
			if e.proofs[g] != nil && !proved[g] {
				proved[g] = true
				out = append(out, e.proofs[g])
			}
		}
	}
	return out
}
