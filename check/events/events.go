// Package events is the graph of what happens in transactions, their begins and commits, for the checkers that decide
// by one graph. They differ in how they know that one version came before another; this package holds what they do not
// differ in: which node is which transaction's, the edges of sessions and of real time, what an order of the nodes
// says, and what a cycle.
//
// At the snapshot levels a transaction has two nodes, at the others one:
//
//	b reads what a wrote            commit(a) → begin(b)
//	b writes the next version       commit(a) → begin(b)
//	b overwrites what a read        begin(a) → commit(b)
//	a before b in session or time   commit(a) → begin(b)
//	                                begin(a) → commit(a)
//
// Other nodes come behind those of transactions: those of time, and those that stand for many edges of a checker's own.
//
// Source: [BCGraphs] Definition 6 and Theorem 8; errata B3 to B6.
//
// Experimental: this package may still change.
package events

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
)

const none = history.None

// Events are the nodes of a history's transactions.
type Events struct {
	H      *history.History
	Counts []bool // transactions that the order is made of
	Level  level.Level
	Skew   int64 // ns
	// Split: transaction t has two nodes, 2t its begin and 2t+1 its commit; else one, t.
	Split bool
	// Base is the number of nodes of transactions, those that do not count included.
	Base int
}

// New names the nodes; they are split at the snapshot levels.
func New(h *history.History, counts []bool, l level.Level, skew int64) Events {
	e := Events{H: h, Counts: counts, Level: l, Skew: skew, Split: l.Snapshot(), Base: h.NumTxns()}
	if e.Split {
		e.Base *= 2
	}
	return e
}

// Begin is the node of t that edges from what was before enter.
func (e *Events) Begin(t uint32) int32 {
	if e.Split {
		return int32(t << 1)
	}
	return int32(t)
}

// Commit is the node of t that edges to what comes after leave.
func (e *Events) Commit(t uint32) int32 {
	if e.Split {
		return int32(t<<1 | 1)
	}
	return int32(t)
}

// Txn is the transaction of a node below Base.
func (e *Events) Txn(node int32) uint32 {
	if e.Split {
		return uint32(node) >> 1
	}
	return uint32(node)
}

// Sessions calls f for each transaction that counts and the one before it in its session, or with all, each before it.
// One of unknown outcome comes after those before it, and before nobody.
func Sessions(h *history.History, counts []bool, all bool, f func(t, u uint32)) {
	var before []uint32
	for s := range h.NumSessions() {
		before = before[:0]
		for _, u := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if !counts[u] {
				continue
			}
			for _, t := range before {
				f(t, u)
			}
			if h.Txns.Status[u] == history.Unknown {
				continue
			}
			if !all {
				before = before[:0]
			}
			before = append(before, u)
		}
	}
}

// Time returns the edges of real time in a graph of so many nodes so far, and how many nodes they add behind these.
func (e *Events) Time(nodes int) (aux int, edges []graph.Edge) {
	rel, due := make([]int64, nodes), make([]int64, nodes)
	for i := range rel {
		rel[i], due[i] = graph.NoStart, graph.NoEnd
	}
	for t, c := range e.Counts {
		if c {
			rel[e.Begin(uint32(t))], due[e.Commit(uint32(t))] = e.H.Window(uint32(t), e.Skew)
		}
	}
	return graph.TimeChain(rel, due)
}

// Order is what an order of the graph's nodes says as evidence.Result has it.
func (e *Events) Order(topo []int32) []uint32 {
	order := make([]uint32, 0, e.Base)
	for _, u := range topo {
		if int(u) < e.Base && e.Counts[e.Txn(u)] {
			order = append(order, uint32(u))
		}
	}
	return order
}

// Step is an edge of the graph and why it is there. What Of is, a key or a write, is the checker's to say.
type Step struct {
	U, V int32
	Dep  evidence.Dep
	Of   uint32
}

// Within is the reason of a step from a transaction's begin to its commit: one that no level's graph has else.
const Within = evidence.TS

// Steps finds the reasons of the edges of a cycle, of several the first; real time has those that each does not tell.
func Steps(nodes []int32, each func(f func(s Step))) []Step {
	at := make(map[[2]int32]int, len(nodes))
	steps := make([]Step, len(nodes))
	for i, u := range nodes {
		steps[i] = Step{U: u, V: nodes[(i+1)%len(nodes)], Dep: evidence.RT, Of: none}
		at[[2]int32{steps[i].U, steps[i].V}] = i
	}
	each(func(s Step) {
		if i, ok := at[[2]int32{s.U, s.V}]; ok {
			steps[i] = s
			delete(at, [2]int32{s.U, s.V})
		}
	})
	return steps
}

// Cycle says a cycle of steps by edges between transactions: those within one are left out, and those through other
// nodes become one, for the reason of the first. txn is the transaction of a node, none for other nodes; say makes
// evidence of a step that is not of sessions or time.
func Cycle(steps []Step, txn func(node int32) uint32, say func(from, to uint32, s Step) evidence.Edge) (
	out []evidence.Edge) {
	first := 0 // begin at a transaction
	for txn(steps[first].U) == none {
		first++
	}
	for i := 0; i < len(steps); {
		s := steps[(first+i)%len(steps)]
		i++
		if s.Dep == Within {
			continue
		}
		to := s.V
		for txn(to) == none {
			to = steps[(first+i)%len(steps)].V
			i++
		}
		if s.Dep == evidence.SO || s.Dep == evidence.RT {
			out = append(out, Bare(txn(s.U), txn(to), s.Dep))
		} else {
			out = append(out, say(txn(s.U), txn(to), s))
		}
	}
	return out
}

// Bare is an edge of sessions or time, which has neither key nor version.
func Bare(t, u uint32, dep evidence.Dep) evidence.Edge {
	return evidence.Edge{From: t, To: u, Dep: dep, Key: none, Ver: none, Writer: none}
}
