// Package weak decides the levels below snapshot isolation: read-committed, read-atomic and causal.
//
// # Problem
//
// Biswas and Enea define each of them by an axiom over a commit order, a total order of the transactions that keeps
// sessions and reads: where t3 reads key x from t1, and t2, another writer of x, is visible to t3, t2 commits before
// t1. What "visible" means is the level's: t3 read from it before (read-committed), t3 read from it or it precedes t3
// in its session (read-atomic), it is before t3 by reads and sessions through any number of transactions (causal). None
// of this depends on the commit order. So all orders that an axiom demands can be found first, and a commit order
// exists iff they have no cycle with reads and sessions.
//
// Where the order of a key's versions is known, because it is a list, the commit order has to keep it too. Then nothing
// is demanded of the key: a visible writer is among those that the reader saw, or the axiom is broken.
//
// # Steps
//
//   - guess.go: a commit order is guessed, from the file, and replayed; only a read whose version is not the current
//     one asks which of the writers between are visible. What they demand is kept by the next guess.
//   - first.go: the first guess, found and replayed in one walk, and serial orders near it
//   - rules.go: where guesses do not lead to an order, all those that read-committed and read-atomic demand, each found
//     by the smaller of two sets, what a writer wrote and what a reader read
//   - causal.go: the guess, with vector clocks to say who is visible, and all demanded orders
//   - explain.go: a cycle, and for each demanded order in it the read that demands it
//   - choice.go: where several writers can explain a read, a solver picks one, and learns from what refutes that
//   - predicates.go: which versions of the keys that predicate operations missed were seen; snapshots.go: the same
//     where snapshots are known
//
// Source: [BiswasEnea] §2 for the axioms; [AWDIT] for read-committed and read-atomic in O(n^1.5) and causal in O(n·k),
// n operations, k sessions. Differs: the guesses; the paper makes all demanded orders at once.
//
// A transaction of unknown outcome that counts comes after the earlier ones of its session and before none of the later
// ones.
//
// Experimental: this package may still change.
package weak

import (
	"context"
	"math"
	"slices"

	"isovet/check/events"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
)

const none = history.None

// Status is how a check ended.
type Status uint8

const (
	Stopped Status = iota // the context ended
	Holds
	Violated
	GaveUp // Answer.Reason says why
)

// Answer is what Check found.
type Answer struct {
	Status Status
	// Order is a commit order, if the level holds.
	Order []uint32
	// Sources are the writers chosen for reads that several can explain.
	Sources []evidence.Source
	// Anomaly proves that it does not.
	Anomaly evidence.Anomaly
	// Twice, with Violated at read-committed: a transaction reads one version twice that several can explain, and the
	// anomaly does not tell the two reads apart.
	Twice  bool
	Reason string
	// Edges counts reads from others and pairs of successors in a session, Demanded the orders that the axiom added,
	// Rounds the guesses of an order, Choices those of writers.
	Edges, Demanded, Rounds, Choices int
}

// Options are the parameters of Check. The zero value is the default.
type Options struct {
	// NoGuess makes all orders that the level demands at once.
	NoGuess bool
	// Choices bounds how many choices of writers are tried; 0: 20,000.
	Choices int
	// Only, if not nil, are the transactions whose predicate operations are looked at, above read-committed: a
	// violation is one of the whole then, and Holds is not.
	Only map[uint32]bool
	// Work, if not 0, bounds what is looked at for predicate operations: versions, and writers of read-from edges.
	Work int
	// Known is the version order of some keys: for each key the versions that were read, then the others in any
	// order.
	Known Known
	// Seen, if set, is what predicate operations saw, as Current tells it, above read-committed: Holds is of the whole
	// then, Violated is not.
	Seen []evidence.Source
	// Guess, if set, stands in for client times: it decides what is tried first, and nothing else.
	Guess *Guess
}

// Guess is when transactions began and committed, as places in one order of both.
type Guess struct {
	Begin, Commit []int64
}

// Known is the order of the versions of some keys: of each, those that were read and then, in any order, the others.
type Known struct {
	// Rank[ver] is the place of a version among its key's, 0 for the initial one; None where it is not known. Nil: of
	// no key.
	Rank []uint32
	// Orders calls f for pairs of transactions, one before the other, of which all that the ranks say follows.
	Orders func(f func(t, u int32))
}

// Levels are those that Check decides.
func Levels() []level.Level {
	return []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal}
}

// Check decides a level for a view without anomalies of single reads. At read-committed the view must be one of each
// read ([prepass.Options.EachRead]).
//
// Cost: read-committed and read-atomic O(n^1.5) for n operations, linear where transactions are small; causal linear
// where the guess holds, else O(n·k·log n) at most for k sessions of two transactions or more. Where reads have several
// possible writers, that for each choice of them that is tried.
func Check(ctx context.Context, v *prepass.View, l level.Level, o Options) Answer {
	if v.POff != nil && l != level.ReadCommitted {
		return predicated(ctx, v, l, o)
	}
	if v.Ambiguous() {
		a, _ := choose(ctx, v, l, o)
		return a
	}
	return newChecker(ctx, v, l, o).run()
}

func (c *checker) run() Answer {
	if c.level == level.Causal {
		return c.causal()
	}
	if topo, ok := c.guessed(); ok {
		return c.holds(topo)
	}
	c.sources()
	c.keyStamp = make([]uint32, c.h.NumKeys())
	c.keyRead = make([]uint32, c.h.NumKeys())
	c.srcStamp = make([]uint32, c.n)
	for t := range uint32(c.n) {
		if c.stop(int(t)) || c.enough() {
			break
		}
		c.rule(t)
	}
	if c.level == level.ReadAtomic {
		c.sessionsAtomic()
	}
	switch {
	case c.stopped:
		return c.answer(Stopped)
	case len(c.broken) > 0:
		return c.violated(nil)
	}
	g := c.graph()
	topo, ok := graph.Topological(g)
	if !ok {
		return c.violated(g)
	}
	return c.holds(topo)
}

// demand says that transaction From commits before the writer that Read read from. From is visible to the reader and
// wrote the same key.
type demand struct {
	from, to int32 // to is -1 for the initial version, which nothing precedes
	read     uint32
}

// checker is the work on one view. Nodes are the history's transactions, those that do not count without edges.
type checker struct {
	ctx   context.Context
	v     *prepass.View
	h     *history.History
	level level.Level
	o     Options
	n     int
	// src is of each read the node that it read from, -1 for an initial version; nil until sources makes it.
	src []int32
	// prev[t] is the node before t in its session, those of unknown outcome left out, -1 where there is none.
	prev []int32

	demands []demand
	broken  []demand // those that nothing can keep
	rounds  int
	stopped bool

	// ambAt, where writers were picked, is 1 + the place of a picked read among those, 0 of others. Then more than one
	// anomaly is found.
	ambAt []int32
	found []evidence.Anomaly
	reads *graph.CSR // of known
	paths *graph.Searcher

	keyStamp []uint32 // key → 1 + the reader that stamped it; the read is in keyRead
	keyRead  []uint32
	again    map[uint32][]uint32 // of a row in several versions, the other reads of that operation
	srcStamp []uint32            // node → 1 + the reader that last read from it
	keys     []uint32            // those stamped
	first    []bool              // of a reader's reads: the first from its writer
	sorted   map[int32][]uint32
}

func newChecker(ctx context.Context, v *prepass.View, l level.Level, o Options) *checker {
	h := v.H
	c := &checker{ctx: ctx, v: v, h: h, level: l, o: o, n: h.NumTxns()}
	c.prev = slices.Repeat([]int32{-1}, c.n)
	events.Sessions(h, v.Counts, false, func(t, u uint32) { c.prev[u] = int32(t) })
	return c
}

// source returns the node that read r read from, -1 for an initial version and for a read that does not count.
func (c *checker) source(r uint32) int32 {
	if w := c.v.RW[r]; w != none {
		return int32(c.v.WTxn[w]) // None becomes -1
	}
	return -1
}

// sources makes src.
func (c *checker) sources() {
	if c.src != nil {
		return
	}
	c.src = make([]int32, len(c.v.RW))
	for r := range c.src {
		c.src[r] = c.source(uint32(r))
	}
}

// known calls f for each edge of sessions and reads. Consecutive reads by one reader from one writer give one edge.
func (c *checker) known(f func(u, v int32)) {
	v := c.v
	c.sources()
	for t := range c.n {
		if p := c.prev[t]; p >= 0 {
			f(p, int32(t))
		}
		last := int32(-1)
		for _, u := range c.src[v.ROff[t]:v.ROff[t+1]] {
			if u >= 0 && u != last {
				f(u, int32(t))
				last = u
			}
		}
	}
}

// graph has the known edges and the demanded ones.
func (c *checker) graph() *graph.CSR {
	return graph.BuildFunc(c.n, func(emit func(u, v int32)) {
		c.known(emit)
		if c.o.Known.Rank != nil {
			c.o.Known.Orders(emit)
		}
		for _, d := range c.demands {
			emit(d.from, d.to)
		}
	})
}

// hint guesses when each transaction took effect. It takes the ends, if all that count have one; else places in the
// file, if these go from session to session; else places in the sessions. A wrong hint costs time, never the answer.
func (c *checker) hint() []int64 {
	if c.o.Guess != nil {
		return c.o.Guess.Commit
	}
	h := c.h
	hint := make([]int64, c.n)
	timed := true
	for t := range uint32(c.n) {
		e := h.End(t)
		if e == history.NoTime {
			timed = timed && (!c.v.Counts[t] || h.Txns.Status[t] == history.Unknown)
			e = math.MaxInt64
		}
		hint[t] = e
	}
	if timed {
		return hint
	}
	switches := 0
	for t := 1; t < c.n; t++ {
		if h.Txns.Sess[t] != h.Txns.Sess[t-1] {
			switches++
		}
	}
	if 2*switches > c.n {
		for t := range hint {
			hint[t] = int64(t)
		}
		return hint
	}
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, t := range in {
			hint[t] = int64(i) << 32 / int64(len(in))
		}
	}
	return hint
}

func (c *checker) answer(s Status) Answer {
	a := Answer{Status: s, Demanded: len(c.demands), Rounds: c.rounds}
	for _, p := range c.prev {
		if p >= 0 {
			a.Edges++
		}
	}
	for _, w := range c.v.RW {
		if w != none && !c.v.Initial(w) {
			a.Edges++
		}
	}
	return a
}

func (c *checker) holds(topo []int32) Answer {
	a := c.answer(Holds)
	nodes := events.New(c.h, c.v.Counts, c.level, 0)
	a.Order = nodes.Order(topo)
	return a
}

// violated explains the demanded orders that nothing can keep or, if there are none, cycles of g.
func (c *checker) violated(g *graph.CSR) Answer {
	a := c.answer(Violated)
	c.sources()
	for _, d := range c.broken {
		c.found = append(c.found, evidence.Anomaly{Cycle: c.missed(d)})
	}
	if len(c.broken) == 0 {
		c.cycles(g)
	}
	a.Anomaly = c.found[0]
	return a
}

// stop looks at the context now and then.
func (c *checker) stop(i int) bool {
	if i&0xfff == 0 && c.ctx.Err() != nil {
		c.stopped = true
	}
	return c.stopped
}
