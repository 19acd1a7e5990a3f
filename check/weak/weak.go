// Package weak decides the levels below snapshot isolation: read-committed, read-atomic and causal.
//
// # Problem
//
// Biswas and Enea define each level by an axiom on a commit order, a total order of the transactions that keeps
// sessions and reads. The axiom: if t3 reads key x from t1, and t2 is another writer of x that is visible to t3, then
// t2 precedes t1. The levels differ in what "visible" means: t3 read from t2 before that read (read-committed); t3 read
// from t2 or follows it in its session (read-atomic); a path of reads and sessions leads from t2 to t3 (causal).
// Visibility does not depend on the commit order. So a checker can first compute all orders that the axiom demands. A
// commit order exists iff these have no cycle with reads and sessions.
//
// If the version order of a key is known, because the key is a list, the commit order has to keep it too. The axiom
// then demands nothing for that key: if the reader did not see a visible writer, the axiom is broken.
//
// # Steps
//
//   - guess.go: guesses a commit order from the file and replays it. For a read of an older version than the current
//     one, it demands orders for the visible writers in between. The next guess keeps them.
//   - first.go: makes and replays the first guess in one walk, and looks for serial orders near it
//   - rules.go: if guesses do not lead to an order, computes all orders that read-committed and read-atomic demand. It
//     walks the smaller of two sets, a writer's writes and a reader's reads.
//   - causal.go: the same two steps at causal, where vector clocks say which transactions are visible
//   - explain.go: explains a cycle, and for each demanded order in it the read that demands it
//   - choice.go: if a read has several possible writers, a solver picks one and learns from each refutation
//   - predicates.go: finds versions that predicate operations saw of the keys that they missed
//   - snapshots.go: the same, if the snapshots are known
//
// Source: [BiswasEnea] §2 for the axioms; [AWDIT] for read-committed and read-atomic in O(n^1.5) and causal in O(n·k),
// n operations, k sessions. Differs: the guesses; the paper computes all demanded orders at once.
//
// A transaction of unknown outcome that counts comes after the earlier transactions of its session, but need not
// precede the later ones.
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
	"isovet/internal/slice"
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

// Answer is the result of Check.
type Answer struct {
	Status Status
	// Order is a commit order, if Status is Holds.
	Order []uint32
	// Sources are the writers picked for reads with several possible writers.
	Sources []evidence.Source
	// Anomaly proves the violation, if Status is Violated.
	Anomaly evidence.Anomaly
	// Twice, with Violated at read-committed: a transaction has two reads of a version with several possible writers,
	// and the edges of the anomaly do not say which read they mean.
	Twice  bool
	Reason string
	// Edges counts reads from other transactions and pairs of neighbours in a session, Demanded the orders that the
	// axiom added, Rounds the guessed orders, Choices the choices of writers tried.
	Edges, Demanded, Rounds, Choices int
}

// Options are the parameters of Check. The zero value is the default.
type Options struct {
	// NoGuess skips the guesses and computes all orders that the level demands.
	NoGuess bool
	// Choices bounds how many choices of writers are tried; 0 means 20,000.
	Choices int
	// Only, if not nil, limits the predicate operations that are examined, above read-committed, to those of these
	// transactions. A violation is then one of the whole history, but Holds is not.
	Only map[uint32]bool
	// Work, if not 0, bounds the versions and possible writers examined for predicate operations.
	Work int
	// Known is the version order of some keys.
	Known Known
	// Seen, if set, says what predicate operations saw, as Current returns it (above read-committed). Holds then is an
	// answer for the whole history, but Violated is not.
	Seen []evidence.Source
	// Guess, if set, replaces client times. It only decides which order is tried first.
	Guess *Guess
}

// Guess says when transactions began and committed, as places in one order of all begins and commits.
type Guess struct {
	Begin, Commit []int64
}

// Known is the version order of some keys: the versions that were read, in order, then the others in any order.
type Known struct {
	// Rank[ver] is the place of a version among the versions of its key, 0 for the initial one; None if it is unknown.
	// A nil Rank knows no order.
	Rank []uint32
	// Orders calls f for pairs (earlier, later) from which all orders that the ranks give follow.
	Orders func(f func(t, u int32))
}

// Levels returns the levels that Check decides.
func Levels() []level.Level {
	return []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal}
}

// Check decides a level for a view without anomalies of single reads. At read-committed the view must have each read of
// a transaction ([prepass.Options.EachRead]), even of a key that it read before.
//
// Cost: read-committed and read-atomic O(n^1.5) for n operations, and linear if transactions are small. Causal is
// linear if a guess holds, else O(n·k·log n) at most, for k sessions of two transactions or more. If reads have several
// possible writers, this is the cost of each choice that is tried.
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

// demand says that transaction from commits before to, the writer that read read from. The transaction from is visible
// to the reader and wrote the same key.
type demand struct {
	from, to int32 // to is -1 for the initial version, which nothing precedes
	read     uint32
}

// checker decides one view. Its nodes are the history's transactions; a transaction that does not count has no edges.
type checker struct {
	ctx   context.Context
	v     *prepass.View
	h     *history.History
	level level.Level
	o     Options
	n     int
	// src is for each read the node that it reads from, -1 for an initial version; nil until sources sets it.
	src []int32
	// prev[t] is the node before t in its session, without transactions of unknown outcome, or -1.
	prev []int32

	demands []demand
	broken  []demand // demands that no commit order can keep
	rounds  int
	stopped bool

	// ambAt is nil unless writers were picked: read → 1 + its index among the picked reads, or 0. The checker then
	// looks for more than one anomaly.
	ambAt []int32
	found []evidence.Anomaly
	reads *graph.CSR // of known
	paths *graph.Searcher

	keyStamp []uint32 // key → 1 + the reader that stamped it; the read is in keyRead
	keyRead  []uint32
	again    map[uint32][]uint32 // a row in several versions: its other reads by that operation
	srcStamp []uint32            // node → 1 + the reader that last read from it
	keys     []uint32            // the stamped keys
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

// source returns the node that read r reads from, or -1 for an initial version or a read that does not count.
func (c *checker) source(r uint32) int32 {
	if w := c.v.RW[r]; w != none {
		return int32(c.v.WTxn[w]) // None becomes -1
	}
	return -1
}

func (c *checker) sources() {
	if c.src != nil {
		return
	}
	c.src = make([]int32, len(c.v.RW))
	for r := range c.src {
		c.src[r] = c.source(uint32(r))
	}
}

// known calls f for each edge of sessions and reads. Consecutive reads of one reader from one writer give one edge.
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

// graph returns the graph of the known and the demanded edges.
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

// hint guesses when each transaction took effect: by client end times, if all counting transactions have one; else by
// the order of the file, if it mixes the sessions; else by the place in the session. A wrong hint only costs time.
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
	edges := slice.Count(c.prev, func(p int32) bool { return p >= 0 }) +
		slice.Count(c.v.RW, func(w uint32) bool { return w != none && !c.v.Initial(w) })
	return Answer{Status: s, Demanded: len(c.demands), Rounds: c.rounds, Edges: edges}
}

func (c *checker) holds(topo []int32) Answer {
	a := c.answer(Holds)
	ev := events.New(c.h, c.v.Counts, c.level, 0)
	a.Order = ev.Order(topo)
	return a
}

// violated explains the broken orders or, if there are none, cycles of g.
func (c *checker) violated(g *graph.CSR) Answer {
	a := c.answer(Violated)
	c.sources()
	c.found = append(c.found, slice.Map(c.broken, func(d demand) evidence.Anomaly {
		return evidence.Anomaly{Cycle: c.missed(d)}
	})...)
	if len(c.broken) == 0 {
		c.cycles(g)
	}
	a.Anomaly = c.found[0]
	return a
}

// stop polls the context every few thousand steps.
func (c *checker) stop(i int) bool {
	if i&0xfff == 0 && c.ctx.Err() != nil {
		c.stopped = true
	}
	return c.stopped
}
