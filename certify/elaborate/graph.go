package elaborate

import (
	"slices"

	"isovet/certify/kernel"
	"isovet/internal/sorts"
)

// arc is an edge of the graph of an assignment. An arc without a reason (some is false) goes from a transaction's begin
// to its commit, or from one point of time to the next.
type arc struct {
	to   int32
	some bool
	why  kernel.Edge
}

// graph orders a scene's events. Its nodes are the transactions, or their begins and commits, and then the points of
// time at which transactions ended.
type graph struct {
	l     kernel.Level
	h     *kernel.History
	place map[uint32]int32
	fixed [][]arc // arcs of every order
	arcs  [][]arc // fixed, and the arcs of an assignment
}

func newGraph(l kernel.Level, h *kernel.History) *graph {
	g := &graph{l: l, h: h, place: make(map[uint32]int32, len(h.Txns))}
	for i := range h.Txns {
		g.place[h.Txns[i].ID] = int32(i)
	}
	g.fixed = make([][]arc, g.points())
	if !l.Serial {
		for i := range int32(len(h.Txns)) {
			g.fixed[2*i] = append(g.fixed[2*i], arc{to: 2*i + 1})
		}
	}
	if l.Sessions {
		g.sessions()
	}
	if l.RealTime {
		g.times()
	}
	return g
}

func (g *graph) points() int {
	if g.l.Serial {
		return len(g.h.Txns)
	}
	return 2 * len(g.h.Txns)
}

// point returns the node of a transaction's commit, or of its begin.
func (g *graph) point(commit bool, t uint32) int32 {
	switch i := g.place[t]; {
	case g.l.Serial:
		return i
	case commit:
		return 2*i + 1
	default:
		return 2 * i
	}
}

// txn returns the transaction of a node, nil for a point of time.
func (g *graph) txn(node int32) *kernel.Txn {
	if int(node) >= g.points() {
		return nil
	}
	if !g.l.Serial {
		node /= 2
	}
	return &g.h.Txns[node]
}

// sessions adds each session's order: arcs from a committed transaction to those that follow, up to the next committed
// one.
func (g *graph) sessions() {
	open := map[uint32]*kernel.Txn{} // session → its last committed one
	for i := range g.h.Txns {
		u := &g.h.Txns[i]
		if t := open[u.Session]; t != nil {
			g.fix(true, t.ID, false, u.ID, kernel.Edge{Kind: kernel.JMust, T: t.ID, U: u.ID})
		}
		if u.Committed {
			open[u.Session] = u
		}
	}
}

// times adds real time: each end is a point of time, the points follow one another, and each begin follows the last
// point before it.
func (g *graph) times() {
	var ended []*kernel.Txn
	for i := range g.h.Txns {
		if t := &g.h.Txns[i]; t.Committed && !t.NoEnd {
			ended = append(ended, t)
		}
	}
	sorts.Stable(ended, func(a, b *kernel.Txn) int {
		switch {
		case a.Ended < b.Ended:
			return -1
		case a.Ended > b.Ended:
			return 1
		}
		return 0
	})
	first := int32(len(g.fixed))
	for i, t := range ended {
		at := first + int32(i)
		from := g.point(true, t.ID)
		g.fixed[from] = append(g.fixed[from], arc{to: at})
		g.fixed = append(g.fixed, nil)
		if i > 0 {
			g.fixed[at-1] = append(g.fixed[at-1], arc{to: at})
		}
	}
	for i := range g.h.Txns {
		u := &g.h.Txns[i]
		n, _ := slices.BinarySearchFunc(ended, u.Began, func(t *kernel.Txn, began uint64) int {
			if t.Ended < began {
				return -1
			}
			return 1
		})
		if n > 0 {
			at := first + int32(n) - 1
			g.fixed[at] = append(g.fixed[at], arc{to: g.point(false, u.ID)})
		}
	}
}

func (g *graph) fix(fromCommit bool, t uint32, toCommit bool, u uint32, why kernel.Edge) {
	from := g.point(fromCommit, t)
	g.fixed[from] = append(g.fixed[from], arc{g.point(toCommit, u), true, why})
}

// assume starts the graph of an assignment; counts says which transactions take part.
func (g *graph) assume(counts func(t *kernel.Txn) bool) {
	out := map[uint32]bool{}
	for i := range g.h.Txns {
		if t := &g.h.Txns[i]; !counts(t) {
			out[t.ID] = true
		}
	}
	g.arcs = make([][]arc, len(g.fixed))
	for i, arcs := range g.fixed {
		if len(out) == 0 {
			g.arcs[i] = arcs[:len(arcs):len(arcs)]
			continue
		}
		if t := g.txn(int32(i)); t != nil && out[t.ID] {
			continue
		}
		for _, a := range arcs {
			if u := g.txn(a.to); (u == nil || !out[u.ID]) && !(a.some && out[a.why.T]) {
				g.arcs[i] = append(g.arcs[i], a)
			}
		}
	}
}

func (g *graph) add(fromCommit bool, t uint32, toCommit bool, u uint32, why kernel.Edge) {
	from := g.point(fromCommit, t)
	g.arcs[from] = append(g.arcs[from], arc{g.point(toCommit, u), true, why})
}

// most bounds the cycles that one call of cycles returns.
const most = 32

// cycles returns short cycles of the graph: a few of each strongly connected component, through different nodes.
func (g *graph) cycles() (found [][]kernel.Edge) {
	part, size := g.parts()
	taken := make([]bool, len(g.arcs))
	for n := range int32(len(g.arcs)) {
		if len(found) == most {
			break
		}
		if size[part[n]] < 2 || taken[n] || int(n) >= g.points() {
			continue
		}
		if nodes, edges := g.around(n, part); edges != nil {
			for _, m := range nodes {
				taken[m] = true
			}
			found = append(found, edges)
		}
	}
	return found
}

// around returns a shortest cycle through a node.
func (g *graph) around(n int32, part []int32) (nodes []int32, edges []kernel.Edge) {
	type step struct {
		from int32
		arc  arc
	}
	came := map[int32]step{}
	queue := []int32{n}
	for i := 0; i < len(queue); i++ {
		m := queue[i]
		for _, a := range g.arcs[m] {
			if _, there := came[a.to]; there || part[a.to] != part[n] {
				continue
			}
			came[a.to] = step{m, a}
			if a.to != n {
				queue = append(queue, a.to)
				continue
			}
			var path []step
			for at := n; ; {
				s := came[at]
				path = append(path, s)
				nodes = append(nodes, at)
				if at = s.from; at == n {
					break
				}
			}
			slices.Reverse(path)
			return nodes, g.reasons(len(path), func(i int) (int32, arc) { return path[i].from, path[i].arc })
		}
	}
	return nil, nil
}

// reasons returns the reasons of the arcs of a cycle that begins at a transaction. A stretch over points of time
// becomes one reason.
func (g *graph) reasons(n int, at func(i int) (from int32, a arc)) (out []kernel.Edge) {
	var left *kernel.Txn // the transaction before the points of time
	for i := range n {
		from, a := at(i)
		t, u := g.txn(from), g.txn(a.to)
		switch {
		case a.some:
			out = append(out, a.why)
		case t != nil && u == nil:
			left = t
		case t == nil && u != nil:
			out = append(out, kernel.Edge{Kind: kernel.JMust, T: left.ID, U: u.ID})
		}
	}
	return out
}

// parts returns the strongly connected component of each node (Tarjan 1972), and the sizes of the components.
func (g *graph) parts() (part []int32, size []int) {
	n := len(g.arcs)
	part = slices.Repeat([]int32{-1}, n)
	var (
		low, at = make([]int32, n), make([]int32, n) // at: when it was found, from 1
		next    = make([]int32, n)
		stack   []int32
		path    []int32
		now     int32
	)
	for root := range int32(n) {
		if at[root] != 0 {
			continue
		}
		path = append(path[:0], root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if at[v] == 0 {
				now++
				at[v], low[v] = now, now
				stack = append(stack, v)
			}
			down := false
			for ; int(next[v]) < len(g.arcs[v]); next[v]++ {
				w := g.arcs[v][next[v]].to
				if at[w] == 0 {
					path = append(path, w)
					down = true
					break
				}
				if part[w] < 0 {
					low[v] = min(low[v], low[w])
				}
			}
			if down {
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				low[path[len(path)-1]] = min(low[path[len(path)-1]], low[v])
			}
			if low[v] == at[v] {
				p := int32(len(size))
				size = append(size, 0)
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					part[w] = p
					size[p]++
					if w == v {
						break
					}
				}
			}
		}
	}
	return part, size
}
