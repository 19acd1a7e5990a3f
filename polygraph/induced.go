package polygraph

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// Constraint is PolySI's generalized constraint of two transactions that write common keys: on all of these keys either
// A's versions come first, or B's.
type Constraint struct {
	A, B     int32 // transactions by number, A < B
	from, to uint32
}

// Induced is PolySI's form of a polygraph. It has a node for each transaction (half the node's number in the split
// polygraph), generalized constraints, and reachability in the induced graph of the known part, (SO ∪ WR ∪ WW);RW?.
// Snapshot isolation forbids cycles of that graph.
//
// Source: [PolySI], generalized polygraphs, induced SI graph, pruning. Differs: initial versions come first from the
// start; in the paper a transaction writes them, and pruning finds that it comes first.
type Induced struct {
	P *Polygraph
	N int
	// Open are the constraints that are not settled.
	Open  []Constraint
	pairs [][2]uint32 // writes of a key by A and by B, constraint by constraint

	deps, antis []graph.Edge // known: SO, WR, WW, real time; RW
	settled     [][2]uint32  // pairs of writes, ordered by pruning

	// The state of the last round. In has the known dependencies by target, Anti the known anti-dependencies by source.
	In, Anti *graph.CSR
	// Reduced are the edges of the known induced graph without those that others imply.
	Reduced []graph.Edge
	pos     []int32  // node → its place in a topological order of the known induced graph
	width   int      // words a row
	rows    []uint64 // Invariant: bit pos[v] of row pos[u] is set iff u reaches v, u ≠ v
}

// NewInduced makes the known edges and the constraints of a polygraph with split nodes and without choices. It returns
// false if the constraints and the known graph would have more than limit edges. Cost: quadratic in a key's writes, as
// the paper's.
func NewInduced(p *Polygraph, limit int) (*Induced, bool) {
	edges := len(p.Known)
	for k := range uint32(p.V.H.NumKeys()) {
		ws := p.Writers(k)
		all := len(ws)
		for _, w := range ws {
			all += len(p.Readers(w))
		}
		if edges += max(len(ws)-1, 0) * all; edges > limit {
			return nil, false
		}
	}
	g := &Induced{P: p, N: p.N / 2}
	for _, e := range p.Known {
		if e.By != ByInner {
			e.From, e.To = e.From>>1, e.To>>1
			g.know(e)
		}
	}
	g.realTime()
	g.constrain()
	return g, true
}

func (g *Induced) know(e Edge) {
	at := graph.Edge{From: e.From, To: e.To}
	if e.Dep == evidence.RW {
		g.antis = append(g.antis, at)
	} else {
		g.deps = append(g.deps, at)
	}
}

// realTime adds the pairs that real time orders, except pairs with a third transaction between them, which a path over
// it implies. Cost: a pair for each transaction and each transaction under way after its end; nodes are in the order of
// their starts.
func (g *Induced) realTime() {
	p := g.P
	if p.Start == nil {
		return
	}
	first := make([]int64, g.N+1) // the first end among nodes i:
	first[g.N] = math.MaxInt64
	for i := g.N - 1; i >= 0; i-- {
		first[i] = min(first[i+1], p.End[2*i])
	}
	for i := range g.N {
		end := p.End[2*i]
		j, _ := slices.BinarySearchFunc(p.Start, end, func(s, end int64) int {
			if s > end {
				return 1
			}
			return -1
		})
		for j /= 2; j < g.N && end < math.MaxInt64 && p.Start[2*j] <= first[j]; j++ {
			g.deps = append(g.deps, graph.Edge{From: int32(i), To: int32(j)})
		}
	}
}

// constrain makes a constraint for each pair of transactions that write a common key.
func (g *Induced) constrain() {
	p, v := g.P, g.P.V
	later := slices.Clone(p.KWOff) // key → its writes by later transactions
	for i := range int32(g.N) {
		from := len(g.pairs)
		t := p.Txn[2*i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			later[k]++
			for _, b := range p.KW[later[k]:p.KWOff[k+1]] {
				g.pairs = append(g.pairs, [2]uint32{w, b})
			}
		}
		mine := g.pairs[from:]
		if v.WOff[t+1]-v.WOff[t] > 1 {
			sorts.Stable(mine, func(x, y [2]uint32) int {
				return cmp.Compare(p.WriteNode(x[1]), p.WriteNode(y[1]))
			})
		}
		for len(mine) > 0 {
			b := p.WriteNode(mine[0][1])
			n := 1
			for n < len(mine) && p.WriteNode(mine[n][1]) == b {
				n++
			}
			g.Open = append(g.Open, Constraint{i, b >> 1, uint32(from), uint32(from + n)})
			from, mine = from+n, mine[n:]
		}
	}
}

// Side calls f for each edge that a constraint adds if one transaction comes first: A with first, else B. Its versions
// come before the other's, and the readers of its versions before the other transaction. Nodes are transactions.
func (g *Induced) Side(c Constraint, first bool, f func(Edge)) {
	for _, w := range g.Pairs(c, first) {
		g.P.Side(w[0], w[1], func(e Edge) bool {
			e.From, e.To = e.From>>1, e.To>>1
			f(e)
			return true
		})
	}
}

// Pairs returns the pairs of writes that a constraint orders if A (with first) or else B comes first.
func (g *Induced) Pairs(c Constraint, first bool) [][2]uint32 {
	pairs := g.pairs[c.from:c.to]
	if first {
		return pairs
	}
	return slice.Map(pairs, func(w [2]uint32) [2]uint32 { return [2]uint32{w[1], w[0]} })
}

// Settled returns the edges that settled constraints add to the polygraph with split nodes.
func (g *Induced) Settled() (out []Edge) {
	for _, w := range g.settled {
		g.P.Side(w[0], w[1], func(e Edge) bool { out = append(out, e); return true })
	}
	return out
}

// Bytes returns the size of the closure.
func (g *Induced) Bytes() int64 { return int64(g.N) * int64((g.N+63)/64) * 8 }

// Prune settles every constraint one side of which would close a cycle with the known induced graph. It works in
// rounds, each with a new transitive closure, until a round settles nothing. refuted says that the known induced graph
// has a cycle, or that neither side of a constraint is possible. The error is ctx's.
//
// Source: [PolySI], pruning constraints: a WW edge is impossible if its target reaches its source, an RW edge if its
// target reaches a node that its source depends on. Cost: a round, for N transactions: a row of N bits for each known
// dependency that is followed by anti-dependencies, and for each edge that no others imply; a question for each edge of
// a constraint, for an RW edge one for each dependency of its source.
func (g *Induced) Prune(ctx context.Context) (rounds int, refuted bool, err error) {
	for {
		rounds++
		acyclic, err := g.close(ctx)
		if err != nil || !acyclic {
			return rounds, !acyclic, err
		}
		before := len(g.Open)
		if possible, err := g.round(ctx); err != nil || !possible {
			return rounds, !possible, err
		}
		if len(g.Open) == before {
			return rounds, false, nil
		}
	}
}

// round settles the constraints that the closure decides; false if neither side of one is possible.
func (g *Induced) round(ctx context.Context) (possible bool, err error) {
	left := g.Open[:0]
	for i, c := range g.Open {
		if i&0xffff == 0 && ctx.Err() != nil {
			return true, ctx.Err()
		}
		switch ab, ba := g.possible(c, true), g.possible(c, false); {
		case !ab && !ba:
			return false, nil
		case ab && ba:
			left = append(left, c)
		default:
			g.Side(c, ab, g.know)
			g.settled = append(g.settled, g.Pairs(c, ab)...)
		}
	}
	g.Open = left
	return true, nil
}

// possible reports whether a constraint can be settled in one way without closing a cycle: A's versions first, or B's.
func (g *Induced) possible(c Constraint, first bool) bool {
	u, v, side := c.A, c.B, 0
	if !first {
		u, v, side = c.B, c.A, 1
	}
	if g.Reaches(v, u) {
		return false
	}
	for _, w := range g.pairs[c.from:c.to] {
		for _, r := range g.P.Readers(w[side]) {
			r >>= 1
			if r == v {
				continue
			}
			if slices.ContainsFunc(g.In.Succ(r), func(d int32) bool { return g.Reaches(v, d) }) {
				return false
			}
		}
	}
	return true
}

// Reaches reports whether u reaches v, or is v, in the known induced graph at the begin of the last round.
func (g *Induced) Reaches(u, v int32) bool {
	at := g.pos[v]
	return u == v || g.rows[int(g.pos[u])*g.width+int(at>>6)]>>(uint(at)&63)&1 != 0
}

// close computes the known induced graph and its closure; false if the graph has a cycle.
func (g *Induced) close(ctx context.Context) (acyclic bool, err error) {
	g.In = graph.BuildFunc(g.N, func(emit func(u, v int32)) {
		for _, e := range g.deps {
			emit(e.To, e.From)
		}
	})
	g.Anti = graph.Build(g.N, g.antis)
	order := g.order()
	if len(order) < g.N {
		return false, nil
	}
	g.pos = make([]int32, g.N)
	for at, u := range order {
		g.pos[u] = int32(at)
	}
	g.width = (g.N + 63) / 64
	if g.rows == nil {
		g.rows = make([]uint64, g.N*g.width)
	}
	clear(g.rows)
	g.compose()

	// Rows are merged from the last node to the first. Nodes that a merged row has added are not merged themselves.
	g.Reduced = g.Reduced[:0]
	direct := make([]uint64, g.width)
	for at := g.N - 1; at >= 0; at-- {
		if at&255 == 0 && ctx.Err() != nil {
			return true, ctx.Err()
		}
		row := g.rows[at*g.width : (at+1)*g.width]
		copy(direct, row)
		clear(row)
		for i, d := range direct {
			for todo := d &^ row[i]; todo != 0; todo = d &^ row[i] {
				to := i<<6 | bits.TrailingZeros64(todo)
				row[i] |= 1 << (uint(to) & 63)
				g.Reduced = append(g.Reduced, graph.Edge{From: order[at], To: order[to]})
				for j, w := range g.rows[to*g.width+i : (to+1)*g.width] {
					row[i+j] |= w
				}
			}
		}
	}
	return true, nil
}

// compose sets the bits of each dependency u → v and, for each anti-dependency v → w, of u → w.
func (g *Induced) compose() {
	both := make([]uint64, g.width)
	for v := range int32(g.N) {
		in, anti := g.In.Succ(v), g.Anti.Succ(v)
		if len(in) == 0 {
			continue
		}
		if len(anti) < g.width {
			for _, u := range in {
				row := g.rows[int(g.pos[u])*g.width:]
				row[g.pos[v]>>6] |= 1 << (uint(g.pos[v]) & 63)
				for _, w := range anti {
					row[g.pos[w]>>6] |= 1 << (uint(g.pos[w]) & 63)
				}
			}
			continue
		}
		clear(both)
		both[g.pos[v]>>6] |= 1 << (uint(g.pos[v]) & 63)
		for _, w := range anti {
			both[g.pos[w]>>6] |= 1 << (uint(g.pos[w]) & 63)
		}
		for _, u := range in {
			row := g.rows[int(g.pos[u])*g.width:]
			for i, w := range both {
				row[i] |= w
			}
		}
	}
}

// order lists the nodes of the known induced graph in topological order, up to a cycle. It composes no edges: a node's
// anti-dependencies release their targets as soon as all nodes are listed that the node depends on, even before the
// node itself.
func (g *Induced) order() []int32 {
	out := graph.Build(g.N, g.deps)
	waits := slices.Repeat([]int32{1}, g.N) // what the node waits for: anti-dependencies into it, and itself
	for _, w := range g.Anti.Adj {
		waits[w]++
	}
	order := make([]int32, 0, g.N)
	free := func(v int32) {
		if waits[v]--; waits[v] == 0 {
			order = append(order, v)
		}
	}
	start := func(v int32) {
		free(v)
		for _, w := range g.Anti.Succ(v) {
			free(w)
		}
	}
	depends := make([]uint32, g.N)
	for v := range int32(g.N) {
		depends[v] = g.In.Off[v+1] - g.In.Off[v]
		if depends[v] == 0 {
			start(v)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, v := range out.Succ(order[at]) {
			if depends[v]--; depends[v] == 0 {
				start(v)
			}
		}
	}
	return order
}
