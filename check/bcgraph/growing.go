package bcgraph

import (
	"math"
	"slices"
	"sort"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/level"
)

// mask says which edges a graph has in addition to reads, known overwrites and anti-dependencies.
type mask uint8

const (
	bySession mask = 1 << iota
	byTime
	byGuess // version orders that are guessed
	joined  // a transaction's begin and commit are one node
	masks   = 1 << iota
)

// maskOf returns the mask of the graph that decides a level.
func maskOf(l level.Level) (m mask) {
	if l.Sessions() {
		m |= bySession
	}
	if l.RealTime() {
		m |= byTime
	}
	if l.Serial() {
		m |= joined
	}
	return m
}

// These are the three nodes of transaction t: its begin, its commit, and its end in the chain of time.
const (
	beginNode = iota
	commitNode
	endNode
	nodesEach
)

func node(t uint32, kind int32) int32 { return int32(t)*nodesEach + kind }

// logged is an edge of the graph. Graphs have it if their mask has all bits of class.
type logged struct {
	u, v  int32
	w     uint32 // as edge.w; unused for edges of sessions and time
	dep   evidence.Dep
	class mask
}

// within is the tag of the edge from a transaction's begin to its commit, which is not in the log.
const within = math.MaxInt32

// kept is an order of the graph of a mask.
type kept struct {
	mask
	o *order.Order
}

// at returns the node of u in this graph: if begin and commit are joined, the commit.
func (m mask) at(u int32) int32 {
	if m&joined != 0 && u%nodesEach == beginNode {
		return u + commitNode - beginNode
	}
	return u
}

func (m mask) has(of mask) bool { return m&of == of }

// family is one growing graph, read as the graphs of several levels: each has some classes of its edges. A graph with
// fewer edges than an acyclic one is acyclic too, so family keeps orders of the largest acyclic graphs only. That is
// one order without violations, and at most the number of levels that do not imply each other. If an edge closes a
// cycle, all graphs with the cycle's classes stay cyclic. The largest of the others start from the order that was kept,
// which they obey, so that their edges are added without a search.
//
// Source: [BCGraphs] Definition 6, of snapshot isolation alone, "serializability" there being the graph of §2; errata
// B3.
// Cost: an edge takes a comparison if it goes forward in the kept orders, else the search of [order.Order.AddEdge].
// Each of the at most 12 times that a graph becomes cyclic is linear.
type family struct {
	log    []logged
	live   []kept
	on     [masks]bool
	cycles [masks][]logged // the cycle found, if the graph has one
	needs  [masks]mask     // the classes of their edges
	dead   [masks]bool
	txns   uint32
}

// txn adds a transaction's nodes.
func (f *family) txn() (t uint32) {
	t = f.txns
	f.txns++
	for _, k := range f.live {
		k.addTxn(t)
	}
	return t
}

func (k kept) addTxn(t uint32) {
	k.o.Grow(int(t+1) * nodesEach)
	if k.mask&joined == 0 {
		k.o.AddEdge(node(t, beginNode), node(t, commitNode), within)
	}
}

func (f *family) edge(e logged) {
	if len(f.live) == 0 {
		return
	}
	f.log = append(f.log, e)
	failed := false
	for _, k := range f.live {
		failed = !f.add(k, int32(len(f.log)-1)) || failed
	}
	if failed {
		f.settle(f.live)
	}
}

// add adds edge i to an order. It returns false if that closes a cycle; all graphs with the cycle are then cyclic.
func (f *family) add(k kept, i int32) bool {
	e := &f.log[i]
	if !k.has(e.class) {
		return true
	}
	u, v := k.at(e.u), k.at(e.v)
	if !k.o.AddEdge(u, v, i) {
		return true
	}
	path, _ := k.o.Path(v, u, func(tag int32) int8 {
		if tag != within && f.log[tag].class&byGuess != 0 {
			return 1
		}
		return 0
	})
	cycle := []logged{*e}
	for _, p := range path {
		if p.Tag != within {
			cycle = append(cycle, f.log[p.Tag])
		}
	}
	var needs mask
	for i, e := range cycle {
		needs |= e.class
		if next := cycle[(i+1)%len(cycle)]; e.v%nodesEach == commitNode && next.u == e.v-commitNode+beginNode {
			needs |= joined // adjacent anti-dependencies
		}
	}
	f.fail(needs, cycle)
	return false
}

// fail marks all graphs that have the bits of needs as violated, by a cycle or (nil) for another reason. A reason with
// fewer bits replaces an earlier one.
func (f *family) fail(needs mask, cycle []logged) {
	for m := range mask(masks) {
		if f.on[m] && m.has(needs) && (!f.dead[m] || needs != f.needs[m] && f.needs[m].has(needs)) {
			f.dead[m], f.cycles[m], f.needs[m] = true, cycle, needs
		}
	}
}

// settle keeps orders of the largest acyclic graphs, starting from the old orders.
func (f *family) settle(old []kept) {
	open := func(m mask) bool { return f.on[m] && !f.dead[m] }
	f.live = slice.Filter(old, func(k kept) bool { return open(k.mask) })
	// A mask that contains another one is the larger number.
	for m := mask(masks) - 1; m < masks; m-- {
		if open(m) && f.over(f.live, m) == nil {
			if k := (kept{m, f.copyFor(m, f.over(old, m))}); f.refill(k) {
				f.live = append(f.live, k)
			}
		}
	}
}

// over returns an order whose mask has all bits of m, or nil.
func (f *family) over(of []kept, m mask) *kept {
	for i := range of {
		if of[i].has(m) {
			return &of[i]
		}
	}
	return nil
}

// copyFor returns an order without edges for a mask. Its nodes are sorted as in an order with more edges.
func (f *family) copyFor(m mask, from *kept) *order.Order {
	n := int(f.txns) * nodesEach
	if from == nil {
		return order.New(n)
	}
	topo := from.o.Topological()
	if from.mask&joined != 0 && m&joined == 0 {
		out := make([]int32, 0, n)
		for _, u := range topo {
			switch u % nodesEach {
			case commitNode:
				out = append(out, u-commitNode+beginNode, u)
			case endNode:
				out = append(out, u)
			}
		}
		topo = out
	}
	return order.FromTopological(n, topo)
}

// refill adds all edges to a new order, or returns false if they close a cycle.
func (f *family) refill(k kept) bool {
	for t := range f.txns {
		k.addTxn(t)
	}
	for i := range f.log {
		if !f.add(k, int32(i)) {
			return false
		}
	}
	return true
}

func (f *family) verdict(m mask) evidence.Verdict {
	switch {
	case f.dead[m]:
		return evidence.Violated
	case !f.on[m] || f.dead[m|byGuess]:
		return evidence.Unknown
	}
	return evidence.Holds
}

// order lists the transaction nodes of an acyclic graph, only commits if begin and commit are joined.
func (f *family) order(m mask) (out []int32) {
	k := f.over(f.live, m)
	for _, u := range k.o.Topological() {
		switch kind := u % nodesEach; {
		case kind == endNode, kind == beginNode && k.mask&joined != 0:
		case kind == commitNode && m&joined == 0 && k.mask&joined != 0:
			out = append(out, u-commitNode+beginNode, u)
		default:
			out = append(out, u)
		}
	}
	return out
}

// told returns a cycle as edges between transactions; ids has their numbers.
func told(cycle []logged, ids []uint32, say func(e edge) evidence.Edge) []evidence.Edge {
	steps := slice.Map(cycle, func(e logged) events.Step { return events.Step{U: e.u, V: e.v, Dep: e.dep, Of: e.w} })
	return events.Cycle(steps, func(u int32) uint32 {
		if u%nodesEach == endNode {
			return none
		}
		return ids[u/nodesEach]
	}, func(from, to uint32, s events.Step) evidence.Edge { return say(edge{from, to, s.Of, s.Dep}) })
}

// ends is the chain of time: the ends of transactions in order, each before the next, and before the begins for which
// it is the last earlier end. An end that arrives in order is appended. Another one is inserted, and the begins that
// follow it are attached to it.
//
// Source: errata B6, like [graph.TimeChain], for one transaction at a time. Cost: a search, and moving the later ends.
type ends struct {
	at    []int64  // ascending
	of    []uint32 // the transactions
	first []uint32 // txn → one that began between its end and the next end, or none; last place: before all ends
	next  []uint32 // txn → another one
	start []int64
}

// add calls f for the edges of transaction t. Transactions are numbered one by one.
func (c *ends) add(t uint32, start, end int64, f func(u, v int32)) {
	c.start = append(c.start, start)
	c.next = append(c.next, none)
	if len(c.first) == 0 {
		c.first = append(c.first, none)
	}
	c.first = append(c.first, none) // [t+1]; [0] is for transactions that began before all ends
	behind := func(end int64) int { // the number of ends no later than end
		if n := len(c.at); n > 0 && c.at[n-1] <= end {
			return n
		}
		return sort.Search(len(c.at), func(i int) bool { return c.at[i] > end })
	}
	list := func(i int) *uint32 { // transactions that began after the end before place i
		if i == 0 {
			return &c.first[0]
		}
		return &c.first[c.of[i-1]+1]
	}
	if start > math.MinInt64 {
		i := behind(start - 1)
		if i > 0 {
			f(node(c.of[i-1], endNode), node(t, beginNode))
		}
		l := list(i)
		c.next[t], *l = *l, t
	}
	if end == graph.NoEnd {
		return
	}
	i := behind(end)
	f(node(t, commitNode), node(t, endNode))
	if i > 0 {
		f(node(c.of[i-1], endNode), node(t, endNode))
	}
	if i < len(c.of) {
		f(node(t, endNode), node(c.of[i], endNode))
	}
	for l := list(i); *l != none; {
		u := *l
		if c.start[u] <= end || u == t {
			l = &c.next[u]
			continue
		}
		*l = c.next[u]
		c.next[u], c.first[t+1] = c.first[t+1], u
		f(node(t, endNode), node(u, beginNode))
	}
	c.at, c.of = slices.Insert(c.at, i, end), slices.Insert(c.of, i, t)
}
