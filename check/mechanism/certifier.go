package mechanism

import "slices"

// certifier keeps the deduced dependencies acyclic, and says which one closes a cycle.
//
// The order of transactions is kept as edges come (Pearce and Kelly, JEA 2006): at first that of their commits, in
// which most edges already go forward; an edge against it moves the transactions between its ends. Transactions that no
// cycle can enter any more are forgotten.
//
// Source:  [Leopard] §V-D, Algorithm 2 lines 27 to 31, Definition 4, Theorem 5.
// Differs: cycles, not the database's own pattern: two consecutive rw are no violation (errata L9).
// Invariant: ord[u] < ord[v] for every edge u→v kept.
type certifier struct {
	on       bool
	ring     []txnNode // of serial s: ring[s & mask], for base ≤ s < next
	base     uint32
	next     uint32
	alive    int
	edges    []edge
	freeEdge int32
	lastOrd  int64

	mark             uint32
	stack, fwd, back []uint32
	ords             []int64
}

type txnNode struct {
	id         uint32
	mark       uint32
	ord        int64
	a, b, c, d int64 // snapshot and commit intervals
	out, in    int32
	nin        int32
	via        int32 // edge by which the search came
	gone       bool
}

type edge struct {
	from, to        uint32
	key             uint32
	nextOut, nextIn int32
	kind            uint8
	why             Reason
	dead            bool // from has been forgotten
}

func (g *certifier) init(on bool) {
	g.on = on
	g.freeEdge = -1
	if on {
		g.ring = make([]txnNode, 1024)
	}
}

func (g *certifier) at(s uint32) *txnNode { return &g.ring[s&uint32(len(g.ring)-1)] }

// node returns a transaction that is remembered, or nil.
func (g *certifier) node(s uint32) *txnNode {
	if !g.on || s < g.base || s >= g.next {
		return nil
	}
	if n := g.at(s); !n.gone {
		return n
	}
	return nil
}

// add enters a committed transaction; serials are consecutive.
func (g *certifier) add(s, id uint32, a, b, c, d int64) {
	if !g.on {
		return
	}
	if int(s-g.base) >= len(g.ring) {
		ring := make([]txnNode, 2*len(g.ring))
		for t := g.base; t < s; t++ {
			ring[t&uint32(len(ring)-1)] = *g.at(t)
		}
		g.ring = ring
	}
	g.lastOrd++
	*g.at(s) = txnNode{id: id, ord: g.lastOrd, a: a, b: b, c: c, d: d, out: -1, in: -1}
	g.next = s + 1
	g.alive++
}

// insert enters an edge. If it would close a cycle it returns that, and leaves the edge out.
// Cost: constant for an edge along the order; else what lies between its ends.
func (g *certifier) insert(from, to, key uint32, kind uint8, why Reason) []Dependency {
	u, v := g.node(from), g.node(to)
	if u == nil || v == nil || from == to {
		return nil
	}
	if u.ord > v.ord {
		if g.forward(from, to, u.ord) {
			return g.cycle(from, to, key, kind, why)
		}
		g.backward(from, v.ord)
		g.reorder()
	}
	i := g.freeEdge
	if i < 0 {
		g.edges = append(g.edges, edge{})
		i = int32(len(g.edges)) - 1
	} else {
		g.freeEdge = g.edges[i].nextOut
	}
	x := &g.edges[i]
	*x = edge{from: from, to: to, key: key, nextOut: u.out, nextIn: v.in, kind: kind, why: why}
	u.out, v.in = i, i
	v.nin++
	return nil
}

// forward collects what is reachable from to, up to an order; it reports whether from is.
func (g *certifier) forward(from, to uint32, most int64) bool {
	g.mark++
	g.fwd = append(g.fwd[:0], to)
	n := g.at(to)
	n.mark, n.via = g.mark, -1
	for i := 0; i < len(g.fwd); i++ {
		for e := g.at(g.fwd[i]).out; e >= 0; e = g.edges[e].nextOut {
			t := g.edges[e].to
			n := g.at(t)
			if t == from {
				n.via = e
				return true
			}
			if n.mark != g.mark && n.ord < most {
				n.mark, n.via = g.mark, e
				g.fwd = append(g.fwd, t)
			}
		}
	}
	return false
}

// backward collects what reaches from, down to an order.
func (g *certifier) backward(from uint32, least int64) {
	g.mark++
	g.back = append(g.back[:0], from)
	g.at(from).mark = g.mark
	for i := 0; i < len(g.back); i++ {
		for e := g.at(g.back[i]).in; e >= 0; e = g.edges[e].nextIn {
			if g.edges[e].dead {
				continue
			}
			t := g.edges[e].from
			if n := g.at(t); n.mark != g.mark && n.ord > least {
				n.mark = g.mark
				g.back = append(g.back, t)
			}
		}
	}
}

// reorder gives those found backward, then those found forward, the places that they have together.
func (g *certifier) reorder() {
	byOrd := func(a, b uint32) int {
		if g.at(a).ord < g.at(b).ord {
			return -1
		}
		return 1
	}
	slices.SortFunc(g.back, byOrd)
	slices.SortFunc(g.fwd, byOrd)
	g.ords = g.ords[:0]
	i, j := 0, 0
	for i < len(g.back) || j < len(g.fwd) { // merge
		if j == len(g.fwd) || i < len(g.back) && g.at(g.back[i]).ord < g.at(g.fwd[j]).ord {
			g.ords = append(g.ords, g.at(g.back[i]).ord)
			i++
		} else {
			g.ords = append(g.ords, g.at(g.fwd[j]).ord)
			j++
		}
	}
	for i, s := range g.back {
		g.at(s).ord = g.ords[i]
	}
	for j, s := range g.fwd {
		g.at(s).ord = g.ords[len(g.back)+j]
	}
}

// cycle is the edge from→to and the path from to back to from that forward found.
func (g *certifier) cycle(from, to, key uint32, kind uint8, why Reason) []Dependency {
	var path []Dependency
	for s := from; s != to; {
		e := &g.edges[g.at(s).via]
		path = append(path, Dependency{From: g.at(e.from).id, To: g.at(e.to).id, Key: e.key, Dep: depOf[e.kind],
			Reason: e.why})
		s = e.from
	}
	path = append(path, Dependency{From: g.at(from).id, To: g.at(to).id, Key: key, Dep: depOf[kind], Reason: why})
	slices.Reverse(path)
	return path
}

// prune forgets transactions that ended before floor and that nothing precedes: no cycle enters them ([Leopard]
// Definition 4). Late edges into them are left out then, which loses violations and makes none (errata L11).
func (g *certifier) prune(floor int64) {
	if !g.on {
		return
	}
	g.stack = g.stack[:0]
	for s := g.base; s < g.next; s++ {
		n := g.at(s)
		if n.c >= floor {
			break
		}
		if n.gone || n.nin > 0 || n.d >= floor {
			continue
		}
		for g.stack = append(g.stack, s); len(g.stack) > 0; {
			t := g.stack[len(g.stack)-1]
			g.stack = g.stack[:len(g.stack)-1]
			if g.at(t).gone {
				continue // two edges led there
			}
			g.forget(t)
			for e := g.at(t).out; e >= 0; e = g.edges[e].nextOut {
				to := g.edges[e].to
				if to > s {
					continue // the loop comes to it
				}
				if m := g.at(to); m.nin == 0 && m.d < floor {
					g.stack = append(g.stack, to)
				}
			}
		}
	}
	g.advance()
}

// forget takes out a transaction that nothing precedes.
func (g *certifier) forget(t uint32) {
	n := g.at(t)
	n.gone = true
	g.alive--
	edges, ring, mask := g.edges, g.ring, uint32(len(g.ring)-1)
	for e := n.in; e >= 0; { // all dead
		x := &edges[e]
		x.nextOut = g.freeEdge
		g.freeEdge = e
		e = x.nextIn
	}
	for e := n.out; e >= 0; {
		x := &edges[e]
		x.dead = true
		ring[x.to&mask].nin--
		e = x.nextOut
	}
}

// advance gives room to what comes.
func (g *certifier) advance() {
	for g.base < g.next && g.at(g.base).gone {
		g.base++
	}
}

// dangerous finds structures T1 →rw T2 →rw T3 around a new rw edge: both pairs concurrent for sure, T3 surely the first
// to commit (errata L9: PostgreSQL's rule needs that). They need not be violations.
func (g *certifier) dangerous(from, to uint32, found func([3]uint32)) {
	u, v := g.node(from), g.node(to)
	if u == nil || v == nil {
		return
	}
	concurrent := func(x, y *txnNode) bool { return x.b < y.c && y.b < x.c }
	test := func(a, b, c *txnNode) {
		if concurrent(a, b) && concurrent(b, c) && c.d < a.c && c.d < b.c {
			found([3]uint32{a.id, b.id, c.id})
		}
	}
	for e := v.out; e >= 0; e = g.edges[e].nextOut {
		if w := g.node(g.edges[e].to); g.edges[e].kind == 2 && w != nil {
			test(u, v, w)
		}
	}
	for e := u.in; e >= 0; e = g.edges[e].nextIn {
		if g.edges[e].dead || g.edges[e].kind != 2 {
			continue
		}
		if w := g.node(g.edges[e].from); w != nil {
			test(w, u, v)
		}
	}
}
