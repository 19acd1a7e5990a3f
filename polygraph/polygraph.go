// Package polygraph turns a history's view into the problem that a search solves: a known graph of transactions that
// must precede each other, and choices, one for each pair of writes of a key whose order the history leaves open.
//
// A polygraph (V, E, C) is Papadimitriou's, in the form of Cobra §3: V the transactions that count, E the known edges,
// C the choices. The history satisfies the level iff some way to settle the choices leaves the graph acyclic ([Vbox]
// Theorem 4.1 with no predicates; [Cobra] §3). The level decides the known edges: reads always, session order and real
// time if the level asks for them (errata V8).
//
// # Files
//
//   - polygraph.go: nodes, known edges, readers
//   - predicates.go: what predicate operations missed: constraints, their avoidance, pruning and reasons
//   - outcomes.go: transactions of which it is open whether they committed
//   - choices.go: writer pairs; with times, only those that overlap (Vbox §4.3, "avoidance")
//   - narrow.go: the choices that reachability leaves open, where all of them would be too many to list
//   - prune.go: choices settled by reachability, with the reason of each
//   - combine.go: Cobra's chains of read-modify-writes and coalesced constraints
//   - induced.go: PolySI's generalized constraints and the closure of its induced graph
//   - cycle.go: paths and cycles as evidence
//
// Experimental: this package may still change.
package polygraph

import (
	"cmp"
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
)

const none = history.None

// Edge is an edge of the known graph, or one that a choice would add.
type Edge struct {
	From, To int32
	// W is a write: for WR and RW the write that was read, for WW the write that To installs, None for SO. For PWR
	// and PRW it is the index in Options of the option that the predicate operation is based on.
	W uint32
	// By is the reason why the edge is known: ByHistory, ByTime, or the index in Settled of the choice that added it.
	By  int32
	Dep evidence.Dep
}

// Reasons of known edges beside settled choices.
const (
	ByHistory int32 = -1 // the history shows it
	ByTime    int32 = -2 // RW: the writer of the version that From read ended before To began
	ByInner   int32 = -3 // from a transaction's begin to its commit: no edge of evidence
)

// Choice is a pair of writes of one key by different transactions: either A's version comes first, or B's. For chains
// of combined writes, A and B are the last writes of the chains and A0 and B0 the first; otherwise A0 is A, and B0 is
// B.
type Choice struct{ A, B, A0, B0 uint32 }

// Either returns the writes that "A before B" orders.
func (c Choice) Either() (first, then uint32) { return c.A, c.B0 }

// Or returns the writes that "B before A" orders.
func (c Choice) Or() (first, then uint32) { return c.B, c.A0 }

// Settled is a choice that pruning decided: First's version comes before Then's. The other order's edge Bad would have
// closed a cycle with the edges known at that moment (those with a By below this one's index).
//
// With Based it is the predicate constraint Based-1 that pruning decided instead: Option is the only one left.
type Settled struct {
	First, Then uint32
	Bad         Edge
	Based       int32
	Option      uint32
}

// Polygraph is a known graph with choices. Nodes are dense; with times they are numbered by start.
type Polygraph struct {
	V     *prepass.View
	Level level.Level
	N     int
	Txn   []uint32 // node → transaction
	Node  []int32  // transaction → its node, the begin node of two; -1 where it does not count
	// Split is set if each transaction has a begin node and, with the next number, a commit node, as snapshot isolation
	// needs (the BC-polygraph, errata B4). An edge that orders a before b goes from a's commit to b's begin, an
	// anti-dependency from the reader's begin to the writer's commit. Both nodes have the transaction's interval; what
	// this adds to the order follows from the edge between them anyway.
	Split bool
	// Start and End are the nodes' client intervals, widened by the clock skew; nil where the level (or the caller)
	// does not use real time. u precedes v in real time iff End[u] < Start[v]. Start is ascending.
	Start, End []int64
	// Hint guesses when each node took effect: the end of its interval if all have one, else its place in its
	// session. A wrong hint costs time, but changes no answer.
	Hint []int64
	byWrite

	Known   []Edge
	Choices []Choice
	// Maybe has the edges out of nodes whose transactions may not have committed (MayCount): they hold if these did.
	Maybe   []Edge
	Settled []Settled
	// Based are the predicate constraints, see predicates.go; Options and Targets belong to them.
	Based   []Based
	Options []Option
	Targets []uint32
	// Relaxed and AtMostOne are those of Options.
	Relaxed, AtMostOne bool
	counts
	kwNode []int32 // see nodesByKey
	unsure []bool  // transaction → MayCount; nil: none
	// narrowed is set once Narrow has examined all pairs, so that Choices has those left open.
	narrowed bool
}

// counts has numbers of pairs of writes.
type counts struct {
	// Pairs counts all pairs of writes of a key by different transactions, the initial version not counted.
	Pairs int
	// Crowded is set if there would be more choices and edges of initial readers than Options.Most. Neither is then
	// made: see Narrow.
	Crowded bool
	// open and initial are the counts of countListed.
	open, initial int
	counted       bool
}

// byWrite has the readers by the write that they read, and the writes by key.
type byWrite struct {
	// Rd[RdOff[w]:RdOff[w+1]] are the (begin) nodes of the transactions that read write w, except its writer.
	RdOff []uint32
	Rd    []int32
	// KW[KWOff[k]:KWOff[k+1]] are the writes of key k except the initial one, by node number.
	KWOff []uint32
	KW    []uint32
}

// Options say which parts of the level's order to use and how.
type Options struct {
	// RealTime uses client times. A strict level requires it; elsewhere it makes the check stricter than the level,
	// which still suffices for a "valid" (Vbox's fast path).
	RealTime bool
	Skew     int64 // ns; widens every interval at both ends
	// Relaxed omits predicate constraints that a transaction outside the view could satisfy (prepass.View.LeftOut). A
	// "no" then holds whether that transaction counts or not, but an order need not explain every predicate operation.
	Relaxed bool
	// AtMostOne makes encodings require that a predicate operation was based on one version only (Vbox Eq. 7). It
	// changes no verdict (errata V15).
	AtMostOne bool
	// Outcomes also makes nodes for transactions whose outcome the view leaves open (prepass.View.Open), in histories
	// without predicate operations. Whether they committed depends on the choices of ambiguous reads. See outcomes.go.
	Outcomes bool
	// Most bounds choices, and edges from readers of initial versions to writers; see Polygraph.Crowded. 0: no bound.
	Most int
}

// New builds nodes, readers, and the edges that the history itself shows: reads, session order, readers of initial
// versions before every writer. Overlapping or AllPairs make the choices, or Narrow if there are too many; Predicates
// handles reads with several possible writers. Cost: linear, plus readers of initial versions × writers of the key if
// times are not used.
func New(v *prepass.View, l level.Level, o Options) *Polygraph {
	p := &Polygraph{V: v, Level: l, Split: l.Snapshot(), Relaxed: o.Relaxed, AtMostOne: o.AtMostOne}
	if o.Outcomes {
		p.leaveOpen()
	}
	p.nodes(o)
	p.readers()
	p.writersByKey()
	p.wrEdges()
	if l.Sessions() {
		p.sessionEdges()
	}
	if p.Crowded = o.Most > 0 && p.crowded(o.Most); !p.Crowded {
		p.initialReaders()
	}
	return p
}

func (p *Polygraph) nodes(o Options) {
	h := p.V.H
	p.Node = make([]int32, h.NumTxns())
	p.Txn = make([]uint32, 0, p.V.NumCounts)
	for t, c := range p.V.Counts {
		p.Node[t] = -1
		if c || p.unsure != nil && p.unsure[t] {
			p.Txn = append(p.Txn, uint32(t))
		}
	}
	p.N = len(p.Txn)
	if o.RealTime {
		if !slices.IsSortedFunc(p.Txn, func(a, b uint32) int { return cmp.Compare(h.Start(a), h.Start(b)) }) {
			slices.SortStableFunc(p.Txn, func(a, b uint32) int { return cmp.Compare(h.Start(a), h.Start(b)) })
		}
		p.Start = make([]int64, p.N)
		p.End = make([]int64, p.N)
		for i, t := range p.Txn {
			p.Start[i], p.End[i] = h.Window(t, o.Skew)
		}
	}
	if p.Split {
		p.Txn, p.Start, p.End = twice(p.Txn), twice(p.Start), twice(p.End)
		p.N = len(p.Txn)
	}
	for i := 0; i < p.N; i += p.step() {
		p.Node[p.Txn[i]] = int32(i)
	}
	p.hints()
}

// twice repeats each element; nil stays nil.
func twice[T any](xs []T) []T {
	if xs == nil {
		return nil
	}
	out := make([]T, 0, 2*len(xs))
	for _, x := range xs {
		out = append(out, x, x)
	}
	return out
}

// step returns the number of nodes of a transaction.
func (p *Polygraph) step() int {
	if p.Split {
		return 2
	}
	return 1
}

// CommitNode returns the commit node of a (begin) node's transaction: the same node unless nodes are split.
func (p *Polygraph) CommitNode(begin int32) int32 {
	if p.Split {
		return begin | 1
	}
	return begin
}

// BeginNode returns the begin node of a node's transaction: the same node unless nodes are split.
func (p *Polygraph) BeginNode(u int32) int32 {
	if p.Split {
		return u &^ 1
	}
	return u
}

// readers computes Rd.
func (p *Polygraph) readers() {
	if !p.Split {
		p.RdOff, p.Rd = p.V.Readers(p.Txn)
		return
	}
	txns := make([]uint32, 0, p.N/2)
	for i := 0; i < p.N; i += 2 {
		txns = append(txns, p.Txn[i])
	}
	p.RdOff, p.Rd = p.V.Readers(txns)
	for i := range p.Rd {
		p.Rd[i] *= 2
	}
}

func (p *Polygraph) hints() {
	h := p.V.H
	p.Hint = make([]int64, p.N)
	timed := true
	for i, t := range p.Txn {
		e := h.End(t)
		if e == history.NoTime {
			timed = timed && h.Txns.Status[t] == history.Unknown
			e = math.MaxInt64
		}
		p.Hint[i] = e
	}
	if timed {
		return
	}
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, t := range in {
			if n := p.Node[t]; n >= 0 {
				p.Hint[n] = int64(i) << 32 / int64(len(in))
				p.Hint[p.CommitNode(n)] = p.Hint[n]
			}
		}
	}
}

// Sooner guesses whether write a's transaction took effect before write b's.
func (p *Polygraph) Sooner(a, b uint32) bool {
	u, v := p.WriteNode(a), p.WriteNode(b)
	if p.Hint[u] != p.Hint[v] {
		return p.Hint[u] < p.Hint[v]
	}
	return u < v
}

// MissingTime returns a committed transaction without start or end, which the strict levels need; false if there is
// none.
func MissingTime(h *history.History) (uint32, bool) {
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Committed && t != h.Init && (h.Start(t) == history.NoTime ||
			h.End(t) == history.NoTime) {
			return t, true
		}
	}
	return 0, false
}

// WriteNode returns the node at which w was installed, its transaction's commit node; -1 for an initial version.
func (p *Polygraph) WriteNode(w uint32) int32 {
	if t := p.V.WTxn[w]; t != none {
		return p.CommitNode(p.Node[t])
	}
	return -1
}

// Before reports whether real time, if used, puts u before v.
func (p *Polygraph) Before(u, v int32) bool { return p.Start != nil && p.End[u] < p.Start[v] }

// Readers returns the nodes that read write w, ascending.
func (p *Polygraph) Readers(w uint32) []int32 { return p.Rd[p.RdOff[w]:p.RdOff[w+1]] }

func (p *Polygraph) writersByKey() {
	v := p.V
	nk := v.H.NumKeys()
	by := graph.NewGroups[uint32](nk)
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			by.Count(v.WKey[w])
		}
	}
	p.KW = make([]uint32, by.Sum())
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			p.KW[by.Place(v.WKey[w])] = w
		}
	}
	p.KWOff = by.Off()
	for k := range uint32(nk) {
		n := len(p.Writers(k))
		p.Pairs += n * (n - 1) / 2
	}
}

// Writers returns the writes of key k by transactions that count, by node number.
func (p *Polygraph) Writers(k uint32) []uint32 { return p.KW[p.KWOff[k]:p.KWOff[k+1]] }

func (p *Polygraph) wrEdges() {
	v := p.V
	n := len(v.RW) + p.N
	p.Known = make([]Edge, 0, n+n/16) // sessions and time add few edges: growing would copy all
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		if p.Split {
			p.Known = append(p.Known, Edge{From: int32(i), To: int32(i) | 1, W: none, Dep: evidence.SO, By: ByInner})
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != none && !v.Initial(w) {
				p.Known = append(p.Known, Edge{From: p.WriteNode(w), To: int32(i), W: w, Dep: evidence.WR,
					By: ByHistory})
			}
		}
	}
}

// sessionEdges links each transaction to the one before it in its session. A transaction of unknown outcome follows the
// earlier ones, but does not precede the later ones: it may take effect late.
func (p *Polygraph) sessionEdges() {
	h := p.V.H
	for s := range h.NumSessions() {
		last := int32(-1)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			i := p.Node[t]
			if i < 0 {
				continue
			}
			if last >= 0 {
				p.Known = append(p.Known, Edge{From: p.CommitNode(last), To: i, W: none, Dep: evidence.SO,
					By: ByHistory})
			}
			if h.Txns.Status[t] != history.Unknown {
				last = i
			}
		}
	}
}

// initialReaders adds reader → writer for readers of initial versions: every other version of the key is later. Real
// time already orders writers that begin after the reader's end.
func (p *Polygraph) initialReaders() {
	for k := range uint32(p.V.H.NumKeys()) {
		for _, r := range p.Readers(k) {
			for _, w := range p.Writers(k) {
				j := p.WriteNode(w)
				if p.Before(r, j) {
					break // writers are in the order of their starts
				}
				if p.BeginNode(j) != r {
					p.know(Edge{From: r, To: j, W: k, Dep: evidence.RW, By: ByHistory})
				}
			}
		}
	}
}

// Graph returns the current known graph. With trim and times it leaves out edges that real time implies.
func (p *Polygraph) Graph(trim bool) *graph.CSR {
	edges := make([]graph.Edge, 0, len(p.Known))
	for _, e := range p.Known {
		if trim && p.Before(e.From, e.To) {
			continue
		}
		edges = append(edges, graph.Edge{From: e.From, To: e.To})
	}
	return graph.Build(p.N, edges)
}
