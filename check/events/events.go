// Package events has the graph of begins and commits of transactions, for all checkers that decide by one graph. They
// differ in how they know that one version came before another. This package has their common parts: the nodes of each
// transaction, the edges of sessions and real time, and how an order of the nodes, or a cycle, becomes evidence.
//
// At the snapshot levels a transaction has two nodes, at the others one:
//
//	b reads what a wrote            commit(a) → begin(b)
//	b writes the next version       commit(a) → begin(b)
//	b overwrites what a read        begin(a) → commit(b)
//	a before b in session or time   commit(a) → begin(b)
//	                                begin(a) → commit(a)
//
// Further nodes come after those of transactions: those of time, and those that represent many edges of one checker.
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
	Counts []bool // transactions that are in the order
	Level  level.Level
	Skew   int64 // ns
	// Split says that transaction t has two nodes, 2t its begin and 2t+1 its commit; else it has one, t.
	Split bool
	// Base is the number of transaction nodes, with those that do not count.
	Base int
}

// New numbers the nodes. They are split at the snapshot levels.
func New(h *history.History, counts []bool, l level.Level, skew int64) Events {
	e := Events{H: h, Counts: counts, Level: l, Skew: skew, Split: l.Snapshot(), Base: h.NumTxns()}
	if e.Split {
		e.Base *= 2
	}
	return e
}

// Begin returns the node of t at which edges from earlier transactions end.
func (e *Events) Begin(t uint32) int32 {
	if e.Split {
		return int32(t << 1)
	}
	return int32(t)
}

// Commit returns the node of t at which edges to later transactions begin.
func (e *Events) Commit(t uint32) int32 {
	if e.Split {
		return int32(t<<1 | 1)
	}
	return int32(t)
}

// Txn returns the transaction of a node below Base.
func (e *Events) Txn(node int32) uint32 {
	if e.Split {
		return uint32(node) >> 1
	}
	return uint32(node)
}

// Sessions calls f for each counting transaction u and the one before it in its session, t, or with all each one before
// it. A transaction of unknown outcome is never t.
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

// Time returns the edges of real time for a graph with so many nodes, and the number of nodes that they add after
// these.
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

// Order turns an order of the graph's nodes into the form of evidence.Result.
func (e *Events) Order(topo []int32) []uint32 {
	order := make([]uint32, 0, e.Base)
	for _, u := range topo {
		if int(u) < e.Base && e.Counts[e.Txn(u)] {
			order = append(order, uint32(u))
		}
	}
	return order
}

// Step is an edge of the graph with its reason. Of is a key or a write, as the checker chooses.
type Step struct {
	U, V int32
	Dep  evidence.Dep
	Of   uint32
}

// Within is the reason of a step from a transaction's begin to its commit. No level's graph has it otherwise.
const Within = evidence.TS

// Steps finds the reasons of a cycle's edges: the first that each yields, or real time if it yields none.
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

// Cycle turns a cycle of steps into edges between transactions. It drops steps within a transaction, and joins steps
// through other nodes to one edge with the first reason. txn returns the transaction of a node, none for other nodes.
// say returns the evidence of a step, except for sessions and time.
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

// Bare returns an edge of sessions or time, which has neither key nor version.
func Bare(t, u uint32, dep evidence.Dep) evidence.Edge {
	return evidence.Edge{From: t, To: u, Dep: dep, Key: none, Ver: none, Writer: none}
}
