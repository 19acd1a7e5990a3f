package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/graph"
	"isovet/history"
	"isovet/level"
)

// Graph is the order that a view's lists, and a level, demand. At the snapshot levels transaction t has two nodes, 2t its begin
// and 2t+1 its commit; at the serializable levels one, t. Then come, for each list with appends that nobody read, nodes through
// which the end of its chain leads to them, and nodes for real time.
//
// The edges, with begin = commit at the serializable levels ([BCGraphs] §2; errata B3 to B6):
//
//	b reads what a appended       commit(a) → begin(b)
//	b follows a in a chain        commit(a) → begin(b)
//	a misses what b appends next  begin(a) → commit(b)
//	session order, real time      commit(a) → begin(b)
//
// Who wrote before in a chain, and who comes later than the next, follow from these.
type Graph struct {
	v    *View
	l    level.Level
	skew int64
	si   bool
	// tail[k] is the write of list k that nobody read, but whose transaction read all of the chain: it is next. None: there is
	// none.
	tail []uint32
	// lost are two such writes of one list.
	lost [2]uint32
	// aux[k] is the first of list k's auxiliary nodes, -1 where it has none: at the serializable levels one, else two, the first
	// after commits and before begins, the second after begins and before commits.
	aux   []int32
	base  int // nodes of transactions
	n     int // and auxiliary nodes of lists
	total int // and those of time
	time  []graph.Edge

	g *graph.CSR
	// Edges is how many the graph has.
	Edges int
}

// NewGraph makes the graph of a view without anomalies at a serializable or snapshot level. skew is in ns.
// Cost: linear, and two sorts with real time.
func NewGraph(v *View, l level.Level, skew int64) *Graph {
	g := &Graph{v: v, l: l, skew: skew, si: l.Snapshot(), lost: [2]uint32{none, none}}
	g.base = v.H.NumTxns()
	if g.si {
		g.base *= 2
	}
	g.tails()
	g.n = g.base
	g.aux = make([]int32, v.H.NumKeys())
	for k := range g.aux {
		g.aux[k] = -1
		if g.after(uint32(k)) > 0 {
			g.aux[k] = int32(g.n)
			if g.n++; g.si {
				g.n++
			}
		}
	}
	g.total = g.n
	if l.RealTime() {
		g.realTime()
	}
	g.g = graph.BuildFunc(g.total, func(emit func(u, v int32)) {
		g.each(func(u, v int32, _ evidence.Dep, _ uint32) { emit(u, v) })
	})
	g.Edges = g.g.M()
	return g
}

// tails finds tail and lost.
func (g *Graph) tails() {
	v := g.v
	g.tail = make([]uint32, v.H.NumKeys())
	for k := range g.tail {
		g.tail[k] = none
	}
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

// after returns how many writes of list k nobody read, the tail left out.
func (g *Graph) after(k uint32) int {
	n := len(g.v.unread(k))
	if g.tail[k] != none {
		n--
	}
	return n
}

// realTime makes the nodes and edges of time.
func (g *Graph) realTime() {
	rel, due := make([]int64, g.n), make([]int64, g.n)
	for i := range rel {
		rel[i], due[i] = graph.NoStart, graph.NoEnd
	}
	for t, c := range g.v.Counts {
		if c {
			start, end := g.v.H.Window(uint32(t), g.skew)
			rel[g.begin(uint32(t))], due[g.commit(uint32(t))] = start, end
		}
	}
	aux, edges := graph.TimeChain(rel, due)
	g.total, g.time = g.n+aux, edges
}

func (g *Graph) begin(t uint32) int32 {
	if g.si {
		return int32(2 * t)
	}
	return int32(t)
}

func (g *Graph) commit(t uint32) int32 {
	if g.si {
		return int32(2*t + 1)
	}
	return int32(t)
}

// txnOf returns the transaction of a node below base.
func (g *Graph) txnOf(u int32) uint32 {
	if g.si {
		return uint32(u) >> 1
	}
	return uint32(u)
}

// each calls f for every edge with its reason and list. Of two edges through an auxiliary node the first has the reason; those
// from a begin to its own commit have the reason TS, which nothing else here has.
func (g *Graph) each(f func(u, v int32, dep evidence.Dep, key uint32)) {
	v, h := g.v, g.v.H
	if g.si {
		for t, c := range v.Counts {
			if c {
				f(g.begin(uint32(t)), g.commit(uint32(t)), evidence.TS, none)
			}
		}
	}
	// Chains, their tails and what comes after.
	for k := range uint32(h.NumKeys()) {
		if !v.IsList[k] {
			continue
		}
		last := none
		next := func(w uint32) {
			if last != none {
				f(g.commit(v.WTxn[last]), g.begin(v.WTxn[w]), evidence.WW, k)
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
			continue
		}
		if last != none {
			f(g.commit(v.WTxn[last]), aux, evidence.WW, k)
		}
		for _, w := range v.unread(k) {
			if w == g.tail[k] {
				continue
			}
			f(aux, g.begin(v.WTxn[w]), evidence.WW, k)
			if g.si {
				f(aux+1, g.commit(v.WTxn[w]), evidence.RW, k)
			}
		}
	}
	// Reads.
	for t := range uint32(h.NumTxns()) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			k, seen := v.RKey[r], v.RSeen[r]
			chain := v.chain(k)
			if seen > 0 {
				f(g.commit(v.WTxn[chain[seen-1]]), g.begin(t), evidence.WR, k)
			}
			next := g.tail[k]
			if int(seen) < len(chain) {
				next = chain[seen]
			}
			switch {
			case next == none && g.aux[k] >= 0:
				aux := g.aux[k]
				if g.si {
					aux++
				}
				f(g.begin(t), aux, evidence.RW, k)
			case next != none && v.WTxn[next] != t:
				f(g.begin(t), g.commit(v.WTxn[next]), evidence.RW, k)
			}
		}
	}
	if g.l.Sessions() {
		for s := range h.NumSessions() {
			last := none
			for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				if !v.Counts[t] {
					continue
				}
				if last != none {
					f(g.commit(last), g.begin(t), evidence.SO, none)
				}
				if h.Txns.Status[t] == history.Committed {
					last = t
				}
			}
		}
	}
	for _, e := range g.time {
		f(e.From, e.To, evidence.RT, none)
	}
}

// Order returns an order that explains the history at the level, as evidence.Result has it; nil if there is none, or, with
// open, if it depends on the order of appends that nobody read.
//
// Where the graph is acyclic a serial order is any topological one. Under snapshot isolation the writers of a list that nobody
// read may also not be concurrent: they are put one after the other as a topological order has their commits.
// Cost: linear, twice where there are such writers, which are sorted.
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
	order = make([]uint32, 0, len(topo))
	for _, u := range topo {
		if int(u) < g.base && g.v.Counts[g.txnOf(u)] {
			order = append(order, uint32(u))
		}
	}
	return order, false
}

// guess returns edges that order the writers of each list that nobody read, where the level needs them ordered.
func (g *Graph) guess(topo []int32) (more []graph.Edge) {
	if !g.si {
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
		slices.SortFunc(ws, func(a, b uint32) int { return int(pos[g.commit(g.v.WTxn[a])] - pos[g.commit(g.v.WTxn[b])]) })
		last := none
		for _, w := range ws {
			if w == g.tail[k] {
				continue
			}
			if last != none {
				more = append(more, graph.Edge{From: g.commit(g.v.WTxn[last]), To: g.begin(g.v.WTxn[w])})
			}
			last = w
		}
	}
	return more
}
