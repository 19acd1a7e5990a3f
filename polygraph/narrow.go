package polygraph

import (
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/evidence"
)

// crowded reports whether there are more than most pairs to list: pairs of writes that time leaves open, and pairs of a
// reader of an initial version and a writer. Cost: linear, with times times log n.
func (p *Polygraph) crowded(most int) bool {
	n := 0
	for k := range uint32(p.V.H.NumKeys()) { // count as if there were no times
		ws := len(p.Writers(k))
		n += ws*(ws-1)/2 + ws*len(p.Readers(k))
	}
	if n <= most || p.Start == nil {
		return n > most
	}
	p.countListed()
	return p.open+p.initial > most
}

// countListed sets open, the number of pairs of writes of a key that time leaves open, and initial, the number of pairs
// of a reader of a key's initial version and a writer of the key. It counts once. Cost: linear, with times times log n.
func (p *Polygraph) countListed() {
	if p.counted {
		return
	}
	p.counted = true
	if p.Start != nil {
		p.nodesByKey()
	}
	for k := range uint32(p.V.H.NumKeys()) {
		ws, rs := p.Writers(k), p.Readers(k)
		if p.Start == nil {
			p.open += len(ws) * (len(ws) - 1) / 2
			p.initial += len(ws) * len(rs)
			continue
		}
		for _, r := range rs {
			p.initial += p.after(p.KWOff[k], p.KWOff[k+1], p.End[r])
		}
	}
	if p.Start != nil {
		p.byTime(func(u int32, _, from, to uint32) { p.open += p.after(from, to, p.End[u]) })
	}
}

// nodesByKey fills kwNode, the node of each write of KW, so that the times of a key's writes are near each other in
// memory.
func (p *Polygraph) nodesByKey() {
	if p.kwNode != nil {
		return
	}
	p.kwNode = make([]int32, len(p.KW))
	next := slices.Clone(p.KWOff)
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		for w := p.V.WOff[t]; w < p.V.WOff[t+1]; w++ {
			at := &next[p.V.WKey[w]]
			p.kwNode[*at] = p.CommitNode(int32(i))
			*at++
		}
	}
}

// byTime calls f for the writes in the order of their nodes, each with its node and the range in KW of its key's later
// writes. This order keeps consecutive accesses near each other in memory.
func (p *Polygraph) byTime(f func(u int32, w, from, to uint32)) {
	v := p.V
	next := slices.Clone(p.KWOff)
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			next[k]++
			f(p.CommitNode(int32(i)), w, next[k], p.KWOff[k+1])
		}
	}
}

// after returns how many of the writes KW[from:to], of one key, begin at end or before; kwNode must be filled. Cost:
// the logarithm of that number.
func (p *Polygraph) after(from, to uint32, end int64) int {
	nodes := p.kwNode[from:to]
	lo, step := 0, 1
	for lo+step <= len(nodes) && p.Start[nodes[lo+step-1]] <= end {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, len(nodes))
	for lo < hi {
		if m := (lo + hi) / 2; p.Start[nodes[m]] <= end {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// ListBytes estimates the bytes of the choices of AllPairs or Overlapping, and of the edges from readers of initial
// versions.
func (p *Polygraph) ListBytes() float64 {
	p.countListed()
	return 16*float64(p.open) + 20*float64(p.initial)
}

// InitialBytes estimates the bytes of the edges from readers of initial versions to the writers of their keys, if times
// are not used. Cost: linear.
func InitialBytes(v *prepass.View) float64 {
	n := 0.0
	writes := make([]int32, v.H.NumKeys())
	for w, t := range v.WTxn {
		if t != none && v.Counts[t] {
			writes[v.WKey[w]]++
		}
	}
	for r, w := range v.RW {
		if w != none && v.Initial(w) {
			n += 20 * float64(writes[v.RKey[r]])
		}
	}
	return n
}

// Ranked is reachability with a topological order.
type Ranked interface {
	closure.Index
	// Order returns the nodes by rank.
	Order() []int32
	// Span returns two ranks between which all nodes are that neither reach v nor are reached by it.
	Span(v int32) (from, to int32)
}

// maxNarrow bounds the edges that a round of Narrow adds: a next round may find that they imply others.
var maxNarrow = 1 << 22

// Narrow replaces Overlapping, AllPairs, the edges of readers of initial versions, and PruneRound for a polygraph that
// is Crowded. It adds the edges that reach shows to hold in every order of the history, and lists in Choices only the
// pairs that reach leaves open. reach is the closure of the known graph, real time included (FullGraph). The caller
// computes it anew for each round, until a round adds no edge. Choices then has all open pairs, unless their number,
// left, is more than most. Without split nodes, a pair of writes that nobody read is no choice: in any order of the
// nodes one of the two is first, and nothing depends on which.
//
// A pair of writes needs examination only if one of the two, or a reader of the earlier one, has no order with the
// other: outside the window of a write and its readers all edges of the pair are implied. After a round that has
// examined all pairs, later rounds examine only the choices that it left.
//
// Source: [Cobra] §4.3, in windows of a topological order. An edge that another of the same round implies is not added.
// Keeps:   the polygraph has an acyclic completion before iff after.
// Cost:    a round: for each write, the writers of its key in its window and its readers', times the readers of both;
// and a pass over writes and nodes, for each key's in the order of reach; later rounds, the choices left.
func (p *Polygraph) Narrow(ctx context.Context, reach Ranked, most int) (edges, left int, conflict *Conflict,
	err error) {
	x := &narrower{p: p, reach: reach}
	if p.narrowed {
		return x.again(ctx)
	}
	p.Choices = p.Choices[:0]
	ws, rank := p.byRank(reach)
	of := func(k uint32) { x.ws, x.rank = ws[p.KWOff[k]:p.KWOff[k+1]], rank[p.KWOff[k]:p.KWOff[k+1]] }
	for k := range uint32(p.V.H.NumKeys()) {
		if of(k); len(x.ws) == 0 {
			continue
		}
		for i, r := range p.Readers(k) {
			if i&63 == 0 && ctx.Err() != nil {
				return x.edges, left, nil, ctx.Err()
			}
			x.initial(k, r)
		}
	}
	// By rank rather than key by key: consecutive accesses are then near each other in memory.
	at := make([]uint32, len(p.KWOff)) // key → number of its writes examined
	for _, u := range reach.Order() {
		for a, to := p.writes(u); a < to; a++ {
			k := p.V.WKey[a]
			of(k)
			at[k]++
			if x.steps >= 1<<16 {
				if x.steps = 0; ctx.Err() != nil {
					return x.edges, left, nil, ctx.Err()
				}
			}
			x.begin(a)
			for j := int(at[k]); j < len(x.ws) && x.rank[j] < x.end; j++ {
				b := x.ws[j]
				x.steps += 1 + len(x.last) + len(p.Readers(b))
				switch open, c := x.pair(b); {
				case c != nil:
					return x.edges, left, c, nil
				case open:
					if left++; left <= most {
						p.Choices = append(p.Choices, Choice{a, b, a, b})
					}
				}
			}
			x.finish()
			if x.edges >= maxNarrow {
				return x.edges, left, nil, nil
			}
		}
	}
	p.narrowed = left <= most
	return x.edges, left, nil, nil
}

// byRank returns KW with the writes of each key sorted by rank, and the rank of each write's (begin) node.
func (p *Polygraph) byRank(reach Ranked) (ws []uint32, rank []int32) {
	v := p.V
	ws, rank = make([]uint32, len(p.KW)), make([]int32, len(p.KW))
	next := slices.Clone(p.KWOff)
	for r, u := range reach.Order() {
		for w, to := p.writes(u); w < to; w++ {
			at := &next[v.WKey[w]]
			ws[*at], rank[*at] = w, int32(r)
			*at++
		}
	}
	return ws, rank
}

// writes returns the range of the writes of the transaction that begins at a node; it is empty at other nodes.
func (p *Polygraph) writes(u int32) (from, to uint32) {
	if int(u) >= p.N || p.BeginNode(u) != u {
		return 0, 0
	}
	t := p.Txn[u]
	return p.V.WOff[t], p.V.WOff[t+1]
}

// again is a round that examines only the remaining choices.
func (x *narrower) again(ctx context.Context) (edges, left int, conflict *Conflict, err error) {
	p := x.p
	open := p.Choices[:0]
	for i, c := range p.Choices {
		if x.steps >= 1<<16 {
			if x.steps = 0; ctx.Err() != nil {
				return x.edges, len(p.Choices), nil, ctx.Err()
			}
		}
		if i == 0 || c.A != x.a {
			if i > 0 {
				x.finish()
			}
			x.begin(c.A)
		}
		x.steps += 1 + len(x.last) + len(p.Readers(c.B))
		isOpen, bad := x.pair(c.B)
		if bad != nil {
			return x.edges, len(p.Choices), bad, nil
		}
		if isOpen {
			open = append(open, c)
		}
	}
	if len(p.Choices) > 0 {
		x.finish()
	}
	p.Choices = open
	return x.edges, len(open), nil, nil
}

// narrower is the state of a round of Narrow, at the pairs of write a.
type narrower struct {
	p     *Polygraph
	reach Ranked
	edges int
	steps int
	ws    []uint32 // writes of the key, by rank
	rank  []int32  // of their (begin) nodes

	a     uint32
	u     int32 // its node
	end   int32 // the rank from which on a and its readers reach everything
	after int32 // the last target of an edge from u, -1
	last  []int32
	// before lists the writes found to be before a, with the edges that show it.
	before []Settled
}

// initial adds the edges from a reader of a key's initial version to the writers that it does not reach.
func (x *narrower) initial(k uint32, r int32) {
	p := x.p
	_, end := x.reach.Span(r)
	last := int32(-1)
	for j, b := range x.ws {
		if x.rank[j] >= end {
			break
		}
		v := p.WriteNode(b)
		if p.BeginNode(v) == r || x.reach.Reaches(r, v) || last >= 0 && x.reach.Reaches(last, v) {
			continue
		}
		p.Known = append(p.Known, Edge{From: r, To: v, W: k, Dep: evidence.RW, By: ByHistory})
		x.edges++
		last = v
	}
}

// begin starts on the pairs of write a with the writes after it.
func (x *narrower) begin(a uint32) {
	x.a, x.u, x.after, x.before = a, x.p.WriteNode(a), -1, x.before[:0]
	_, x.end = x.reach.Span(x.u)
	x.last = x.last[:0]
	for _, r := range x.p.Readers(a) {
		_, end := x.reach.Span(r)
		x.end = max(x.end, end)
		x.last = append(x.last, -1)
	}
}

// pair examines the pair of a and b; b's begin is not before a's in the topological order.
func (x *narrower) pair(b uint32) (open bool, conflict *Conflict) {
	p := x.p
	if !p.Split && len(x.last) == 0 && len(p.Readers(b)) == 0 {
		return false, nil
	}
	either, badE := p.impossible(x.reach, x.a, b)
	or, badO := p.impossible(x.reach, b, x.a)
	switch {
	case badE && badO:
		return false, &Conflict{Either: either, Or: or}
	case badE:
		x.before = append(x.before, Settled{First: b, Then: x.a, Bad: either})
	case badO:
		x.follows(b, or)
	default:
		return true, nil
	}
	return false, nil
}

// add appends an edge that follows from s, a settled choice.
func (x *narrower) add(by *int32, s Settled, e Edge) {
	if *by < 0 {
		*by = int32(len(x.p.Settled))
		x.p.Settled = append(x.p.Settled, s)
	}
	e.By = *by
	x.p.Known = append(x.p.Known, e)
	x.edges++
}

// follows adds the edges of "a before b", where bad is an edge of the other order that would close a cycle.
func (x *narrower) follows(b uint32, bad Edge) {
	p, by, s := x.p, int32(-1), Settled{First: x.a, Then: b, Bad: bad}
	v := p.WriteNode(b)
	begin := p.BeginNode(v)
	news := func(u, v, last int32) bool { return !x.reach.Reaches(u, v) && (last < 0 || !x.reach.Reaches(last, v)) }
	if news(x.u, begin, x.after) {
		x.add(&by, s, Edge{From: x.u, To: begin, W: b, Dep: evidence.WW})
		x.after = begin
	}
	for i, r := range p.Readers(x.a) {
		if r != begin && news(r, v, x.last[i]) {
			x.add(&by, s, Edge{From: r, To: v, W: x.a, Dep: evidence.RW})
			x.last[i] = v
		}
	}
}

// finish adds the edges from the writes that are before a. If one of them reaches another, only the latter has new
// edges.
func (x *narrower) finish() {
	p, last := x.p, int32(-1)
	begin := p.BeginNode(x.u)
	for _, s := range slices.Backward(x.before) {
		by := int32(-1)
		v := p.WriteNode(s.First)
		if !x.reach.Reaches(v, begin) && (last < 0 || !x.reach.Reaches(v, last)) {
			x.add(&by, s, Edge{From: v, To: begin, W: x.a, Dep: evidence.WW})
		}
		for _, r := range p.Readers(s.First) {
			if r != begin && !x.reach.Reaches(r, x.u) && (last < 0 || !x.reach.Reaches(r, last)) {
				x.add(&by, s, Edge{From: r, To: x.u, W: s.First, Dep: evidence.RW})
			}
		}
		if last < 0 && by >= 0 {
			last = v
		}
	}
}
