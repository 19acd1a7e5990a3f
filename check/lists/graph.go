package lists

import (
	"slices"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/level"
)

// Graph is the order that a view's lists and a level demand. At the snapshot levels transaction t has two nodes, its
// begin 2t and its commit 2t+1; at the serializable levels one, t. Further nodes are auxiliary. For each list with
// appends that no transaction read, they lead from the end of its chain to these appends. Others are for real time.
//
// These are the edges, with begin = commit at the serializable levels ([BCGraphs] §2; errata B3 to B6):
//
//	b reads what a appended       commit(a) → begin(b)
//	b follows a in a chain        commit(a) → begin(b)
//	a misses what b appends next  begin(a) → commit(b)
//	session order, real time      commit(a) → begin(b)
//
// Edges from earlier writers of a chain, and to writers after the next, follow from these.
type Graph struct {
	events.Events
	v *View
	// tail[k] is an unread write of list k whose transaction read the whole chain, so that it comes next; or None.
	tail []uint32
	// lost are two such writes of one list, which then have no order.
	lost [2]uint32
	// aux[k] is the first auxiliary node of list k, or -1. A list has one at the serializable levels. Else it has two:
	// the first after commits and before begins, the second after begins and before commits.
	aux   []int32
	n     int // nodes of transactions and auxiliary nodes of lists
	total int // these and the nodes of time
	time  []graph.Edge

	g *graph.CSR
	// Edges is the number of edges.
	Edges int
}

// NewGraph builds the graph of a view without anomalies, at a serializable or snapshot level. skew is in ns. Cost:
// linear, and two sorts with real time.
func NewGraph(v *View, l level.Level, skew int64) *Graph {
	g := &Graph{v: v, Events: events.New(v.H, v.Counts, l, skew), lost: [2]uint32{none, none}}
	g.tails()
	g.n = g.Base
	g.aux = make([]int32, v.H.NumKeys())
	for k := range g.aux {
		g.aux[k] = -1
		if g.after(uint32(k)) > 0 {
			g.aux[k] = int32(g.n)
			if g.n++; g.Split {
				g.n++
			}
		}
	}
	g.total = g.n
	if l.RealTime() {
		aux, edges := g.Time(g.n)
		g.total, g.time = g.n+aux, edges
	}
	g.g = graph.BuildFunc(g.total, func(emit func(u, v int32)) {
		g.each(func(u, v int32, _ evidence.Dep, _ uint32) { emit(u, v) })
	})
	g.Edges = g.g.M()
	return g
}

// tails computes tail and lost.
func (g *Graph) tails() {
	v := g.v
	g.tail = slices.Repeat([]uint32{none}, v.H.NumKeys())
	for t := range uint32(v.H.NumTxns()) {
		if !v.Counts[t] || v.WOff[t] == v.WOff[t+1] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			k := v.RKey[r]
			if v.RSeen[r] < v.KOff[k+1]-v.KOff[k] {
				continue
			}
			w := v.write(t, k)
			switch {
			case w == none:
			case g.tail[k] == none:
				g.tail[k] = w
			case g.lost[0] == none:
				g.lost = [2]uint32{g.tail[k], w}
			}
		}
	}
}

// after returns the number of unread writes of list k, without the tail.
func (g *Graph) after(k uint32) int {
	n := len(g.v.unread(k))
	if g.tail[k] != none {
		n--
	}
	return n
}

// each calls f for every edge with its reason and list. If two edges go through an auxiliary node, the first has the
// reason. Edges from a begin to its own commit have the reason [events.Within].
func (g *Graph) each(f func(u, v int32, dep evidence.Dep, key uint32)) {
	v, h := g.v, g.v.H
	if g.Split {
		for t, c := range v.Counts {
			if c {
				f(g.Begin(uint32(t)), g.Commit(uint32(t)), events.Within, none)
			}
		}
	}
	for k := range uint32(h.NumKeys()) {
		if !v.IsList[k] {
			continue
		}
		g.chain(k, f)
	}
	// Reads.
	for t := range uint32(h.NumTxns()) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			k, seen := v.RKey[r], v.RSeen[r]
			chain := v.chain(k)
			if seen > 0 {
				f(g.Commit(v.WTxn[chain[seen-1]]), g.Begin(t), evidence.WR, k)
			}
			next := g.tail[k]
			if int(seen) < len(chain) {
				next = chain[seen]
			}
			switch {
			case next == none && g.aux[k] >= 0:
				aux := g.aux[k]
				if g.Split {
					aux++
				}
				f(g.Begin(t), aux, evidence.RW, k)
			case next != none && v.WTxn[next] != t:
				f(g.Begin(t), g.Commit(v.WTxn[next]), evidence.RW, k)
			}
		}
	}
	if g.Level.Sessions() {
		events.Sessions(h, v.Counts, false, func(t, u uint32) { f(g.Commit(t), g.Begin(u), evidence.SO, none) })
	}
	for _, e := range g.time {
		f(e.From, e.To, evidence.RT, none)
	}
}

// chain calls f for the edges of a list's chain and of the writes after it.
func (g *Graph) chain(k uint32, f func(u, v int32, dep evidence.Dep, key uint32)) {
	v := g.v
	last := none
	next := func(w uint32) {
		if last != none {
			f(g.Commit(v.WTxn[last]), g.Begin(v.WTxn[w]), evidence.WW, k)
		}
		last = w
	}
	for _, w := range v.chain(k) {
		next(w)
	}
	if g.tail[k] != none {
		next(g.tail[k])
	}
	aux := g.aux[k]
	if aux < 0 {
		return
	}
	if last != none {
		f(g.Commit(v.WTxn[last]), aux, evidence.WW, k)
	}
	for _, w := range v.unread(k) {
		if w == g.tail[k] {
			continue
		}
		f(aux, g.Begin(v.WTxn[w]), evidence.WW, k)
		if g.Split {
			f(aux+1, g.Commit(v.WTxn[w]), evidence.RW, k)
		}
	}
}

// Order returns an order that explains the history at the level, as in evidence.Result. It returns nil if there is
// none, or, with open set, if that depends on the order of appends that no transaction read.
//
// If the graph is acyclic, any topological order is a serial order. Under snapshot isolation, the unread writers of a
// list may also not be concurrent: Order puts them in sequence, as their commits come in a topological order. Cost:
// linear; twice if there are such writers, which are sorted.
func (g *Graph) Order() (order []uint32, open bool) {
	if g.lost[0] != none {
		return nil, false
	}
	topo, ok := graph.Topological(g.g)
	if !ok {
		return nil, false
	}
	if more := g.guess(topo); len(more) > 0 {
		all := graph.BuildFunc(g.total, func(emit func(u, v int32)) {
			for u := range int32(g.total) {
				for _, v := range g.g.Succ(u) {
					emit(u, v)
				}
			}
			for _, e := range more {
				emit(e.From, e.To)
			}
		})
		if topo, ok = graph.Topological(all); !ok {
			return nil, true
		}
	}
	return g.Events.Order(topo), false
}

// guess returns edges that order the unread writers of each list, at levels that need them in sequence.
func (g *Graph) guess(topo []int32) (more []graph.Edge) {
	if !g.Split {
		return nil
	}
	var pos []int32
	var ws []uint32
	for k := range uint32(g.v.H.NumKeys()) {
		if g.aux[k] < 0 || g.after(k) < 2 {
			continue
		}
		if pos == nil {
			pos = make([]int32, g.total)
			for i, u := range topo {
				pos[u] = int32(i)
			}
		}
		ws = append(ws[:0], g.v.unread(k)...)
		slices.SortFunc(ws, func(a, b uint32) int {
			return int(pos[g.Commit(g.v.WTxn[a])] - pos[g.Commit(g.v.WTxn[b])])
		})
		last := none
		for _, w := range ws {
			if w == g.tail[k] {
				continue
			}
			if last != none {
				more = append(more, graph.Edge{From: g.Commit(g.v.WTxn[last]), To: g.Begin(g.v.WTxn[w])})
			}
			last = w
		}
	}
	return more
}
