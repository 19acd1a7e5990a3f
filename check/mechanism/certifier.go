package mechanism

import (
	"cmp"
	"slices"
)

// certifier keeps the deduced dependencies acyclic, and finds the cycle that a new one would close.
//
// It keeps an order of the transactions (Pearce and Kelly, JEA 2006), at first that of their commits, along which most
// edges go forward; an edge that goes backward moves the transactions between its ends. Transactions that no later
// cycle can contain are forgotten.
//
// Source:  [Leopard] §V-D, Algorithm 2 lines 27 to 31, Definition 4, Theorem 5.
// Differs: cycles, not the database's own pattern: two consecutive rw are no violation (errata L9).
// Invariant: ord[u] < ord[v] for every edge u→v in memory.
type certifier struct {
	on      bool
	ring    []txnNode // of serial s: ring[s & mask], for base ≤ s < next
	base    uint64
	next    uint64
	alive   int
	room    int // for edges, in bytes
	lastOrd int64

	mark      uint32
	stack     []uint64
	fwd, back []uint32 // serials, from base on
	ords      []int64
}

// txnNode is a transaction with its edges.
type txnNode struct {
	ord        int64
	nin        int32 // edges of in whose transactions are in memory
	mark       uint32
	out        []outEdge
	in         []inEdge
	id         uint64
	a, b, c, d int64  // snapshot and commit intervals
	via        uint64 // the transaction that the search came from, by its edge viaAt
	viaAt      int32
	gone       bool
}

// outEdge is an edge, stored with its source.
type outEdge struct {
	to   uint64
	key  uint32
	kind uint8
	why  Reason
}

const (
	outBytes = 16
	inBytes  = 8
	// someEdges is the number of edges up to which a forgotten transaction's lists are used again.
	someEdges = 256
)

// inEdge is an edge, stored with its target: the source and the kind.
type inEdge uint64

func (e inEdge) from() uint64 { return uint64(e >> 2) }
func (e inEdge) kind() uint8  { return uint8(e & 3) }

func (g *certifier) init(on bool) {
	g.on = on
	if on {
		g.ring = make([]txnNode, 64)
	}
}

func (g *certifier) at(s uint64) *txnNode { return &g.ring[s&uint64(len(g.ring)-1)] }

// node returns a transaction, or nil if it is forgotten.
func (g *certifier) node(s uint64) *txnNode {
	if !g.on || s < g.base || s >= g.next {
		return nil
	}
	if n := g.at(s); !n.gone {
		return n
	}
	return nil
}

// add adds a committed transaction; serials are consecutive.
func (g *certifier) add(s, id uint64, a, b, c, d int64) {
	if !g.on {
		return
	}
	if int(s-g.base) >= len(g.ring) {
		ring := make([]txnNode, 2*len(g.ring))
		for t := g.base; t < s; t++ {
			ring[t&uint64(len(ring)-1)] = *g.at(t)
		}
		g.ring = ring
	}
	g.lastOrd++
	n := g.at(s)
	out, in := n.out[:0], n.in[:0]
	if cap(out) > someEdges || cap(in) > someEdges {
		g.room -= cap(out)*outBytes + cap(in)*inBytes
		out, in = nil, nil
	}
	*n = txnNode{id: id, ord: g.lastOrd, a: a, b: b, c: c, d: d, out: out, in: in}
	g.next = s + 1
	g.alive++
}

// insert adds an edge. If it would close a cycle, insert returns the cycle and leaves the edge out. Cost: constant for
// an edge along the order; else the transactions between its ends.
func (g *certifier) insert(from, to uint64, key uint32, kind uint8, why Reason) []Dependency {
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
	room := cap(u.out)*outBytes + cap(v.in)*inBytes
	u.out = append(u.out, outEdge{to: to, key: key, kind: kind, why: why})
	v.in = append(v.in, inEdge(from<<2|uint64(kind)))
	g.room += cap(u.out)*outBytes + cap(v.in)*inBytes - room
	v.nin++
	return nil
}

// forward collects the transactions that to reaches, up to the order most; it reports whether from is among them.
func (g *certifier) forward(from, to uint64, most int64) bool {
	g.mark++
	g.fwd = append(g.fwd[:0], uint32(to-g.base))
	g.at(to).mark = g.mark
	for i := 0; i < len(g.fwd); i++ {
		s := g.base + uint64(g.fwd[i])
		out := g.at(s).out
		for e := len(out) - 1; e >= 0; e-- {
			t := out[e].to
			n := g.at(t)
			if t == from {
				n.via, n.viaAt = s, int32(e)
				return true
			}
			if n.mark != g.mark && n.ord < most {
				n.mark, n.via, n.viaAt = g.mark, s, int32(e)
				g.fwd = append(g.fwd, uint32(t-g.base))
			}
		}
	}
	return false
}

// backward collects the transactions that reach from, down to the order least.
func (g *certifier) backward(from uint64, least int64) {
	g.mark++
	g.back = append(g.back[:0], uint32(from-g.base))
	g.at(from).mark = g.mark
	for i := 0; i < len(g.back); i++ {
		for _, e := range g.at(g.base + uint64(g.back[i])).in {
			t := e.from()
			if n := g.node(t); n != nil && n.mark != g.mark && n.ord > least {
				n.mark = g.mark
				g.back = append(g.back, uint32(t-g.base))
			}
		}
	}
}

// reorder gives the transactions found backward, and after them those found forward, the places that all of them had.
func (g *certifier) reorder() {
	ord := func(s uint32) *int64 { return &g.at(g.base + uint64(s)).ord }
	byOrd := func(a, b uint32) int { return cmp.Compare(*ord(a), *ord(b)) }
	slices.SortFunc(g.back, byOrd)
	slices.SortFunc(g.fwd, byOrd)
	g.ords = g.ords[:0]
	i, j := 0, 0
	for i < len(g.back) || j < len(g.fwd) { // merge
		if j == len(g.fwd) || i < len(g.back) && *ord(g.back[i]) < *ord(g.fwd[j]) {
			g.ords = append(g.ords, *ord(g.back[i]))
			i++
		} else {
			g.ords = append(g.ords, *ord(g.fwd[j]))
			j++
		}
	}
	for i, s := range g.back {
		*ord(s) = g.ords[i]
	}
	for j, s := range g.fwd {
		*ord(s) = g.ords[len(g.back)+j]
	}
}

// cycle returns the edge from→to and the path back to from that forward found.
func (g *certifier) cycle(from, to uint64, key uint32, kind uint8, why Reason) []Dependency {
	var path []Dependency
	for s := from; s != to; {
		n := g.at(s)
		m := g.at(n.via)
		e := &m.out[n.viaAt]
		path = append(path, Dependency{From: m.id, To: n.id, Key: e.key, Dep: depOf[e.kind], Reason: e.why})
		s = n.via
	}
	path = append(path, Dependency{From: g.at(from).id, To: g.at(to).id, Key: key, Dep: depOf[kind], Reason: why})
	slices.Reverse(path)
	return path
}

// prune forgets transactions that ended before floor and have no predecessor: no cycle enters them ([Leopard]
// Definition 4). Later edges into them are dropped. That may lose violations but makes none (errata L11).
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
				continue // already counted: two edges lead there
			}
			g.forget(t)
			out := g.at(t).out
			for e := len(out) - 1; e >= 0; e-- {
				to := out[e].to
				if to > s {
					continue // the outer loop will reach it
				}
				if m := g.at(to); m.nin == 0 && m.d < floor {
					g.stack = append(g.stack, to)
				}
			}
		}
	}
	for g.base < g.next && g.at(g.base).gone { // make room for new transactions
		g.base++
	}
}

// forget removes a transaction without predecessors.
func (g *certifier) forget(t uint64) {
	n := g.at(t)
	n.gone = true
	n.in = n.in[:0] // its predecessors are forgotten
	g.alive--
	ring, mask := g.ring, uint64(len(g.ring)-1)
	for i := range n.out {
		ring[n.out[i].to&mask].nin--
	}
}

// dangerous finds structures T1 →rw T2 →rw T3 around a new rw edge: both pairs concurrent for sure, T3 surely the first
// to commit (errata L9: PostgreSQL's rule needs that). They need not be violations.
func (g *certifier) dangerous(from, to uint64, found func([3]uint64)) {
	u, v := g.node(from), g.node(to)
	if u == nil || v == nil {
		return
	}
	concurrent := func(x, y *txnNode) bool { return x.b < y.c && y.b < x.c }
	test := func(a, b, c *txnNode) {
		if concurrent(a, b) && concurrent(b, c) && c.d < a.c && c.d < b.c {
			found([3]uint64{a.id, b.id, c.id})
		}
	}
	for e := len(v.out) - 1; e >= 0; e-- {
		if w := g.node(v.out[e].to); v.out[e].kind == 2 && w != nil {
			test(u, v, w)
		}
	}
	for e := len(u.in) - 1; e >= 0; e-- {
		if u.in[e].kind() != 2 {
			continue
		}
		if w := g.node(u.in[e].from()); w != nil {
			test(w, u, v)
		}
	}
}
