package encode

import (
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
)

// Induced makes PolySI's problem of what pruning left open: the graph of transactions (SO ∪ WR ∪ WW);RW?, which has
// each dependency u → v and, if v → w is an anti-dependency, also u → w. An edge that rests on open constraints is
// guarded: on one constraint by its variable, on two by a new variable that both imply. Edges implied by the known
// induced graph are left out. It returns false if there would be more than limit edges.
//
// The problem's polygraph is the known induced graph; from the dependencies (WW) among the chosen edges, Deduced tells
// how each constraint was decided.
//
// Source: [PolySI], encoding of the induced SI graph. Differs: one variable per constraint, since all edges of a side
// are there or none; the paper has one per edge, with clauses for that. Cost: for each transaction, (dependencies into
// it) × (anti-dependencies out of it), counting pairs of which at least one is open.
func Induced(g *polygraph.Induced, limit int) (*Problem, bool) {
	q := &inducedProblem{Problem: &Problem{P: knownInduced(g)}, g: g, both: map[[2]solver.Lit]solver.Lit{}}

	// The open edges by their middle node: dependencies by target, anti-dependencies by source.
	type part struct {
		end int32
		lit solver.Lit
	}
	into, out := make([][]part, g.N), make([][]part, g.N)
	for _, c := range g.Open {
		pair := g.Pairs(c, true)[0]
		l := solver.Pos(q.newVar(g.P.Sooner(pair[0], pair[1])))
		for _, first := range []bool{true, false} {
			if !first {
				l = l.Not()
			}
			g.Side(c, first, func(e polygraph.Edge) {
				if e.Dep == evidence.RW {
					out[e.From] = append(out[e.From], part{e.To, l})
				} else {
					q.guard(l, e)
					into[e.To] = append(into[e.To], part{e.From, l})
				}
			})
		}
	}
	for v := range int32(g.N) {
		for _, d := range into[v] {
			if len(q.Guards) > limit {
				return nil, false
			}
			for _, w := range g.Anti.Succ(v) {
				q.follow(d.end, w, d.lit)
			}
			for _, r := range out[v] {
				q.follow(d.end, r.end, d.lit, r.lit)
			}
		}
		for _, r := range out[v] {
			if len(q.Guards) > limit {
				return nil, false
			}
			for _, u := range g.In.Succ(v) {
				q.follow(u, r.end, r.lit)
			}
		}
	}
	return q.Problem, true
}

// knownInduced returns the known induced graph as a polygraph without choices.
func knownInduced(g *polygraph.Induced) *polygraph.Polygraph {
	p := g.P
	known := &polygraph.Polygraph{V: p.V, Level: p.Level, N: g.N, Hint: make([]int64, g.N), Node: make([]int32,
		len(p.Node)), Txn: make([]uint32, g.N)}
	for i := range g.N {
		known.Txn[i], known.Hint[i] = p.Txn[2*i], p.Hint[2*i]
	}
	for t, u := range p.Node {
		known.Node[t] = u >> 1
	}
	known.Known = make([]polygraph.Edge, len(g.Reduced))
	for i, e := range g.Reduced {
		known.Known[i] = polygraph.Edge{From: e.From, To: e.To, W: ^uint32(0), Dep: evidence.SO,
			By: polygraph.ByHistory}
	}
	return known
}

type inducedProblem struct {
	*Problem
	g    *polygraph.Induced
	both map[[2]solver.Lit]solver.Lit // two literals → a literal that both together imply
}

// follow adds an edge that is implied by one literal or by two together.
func (q *inducedProblem) follow(from, to int32, ls ...solver.Lit) {
	switch {
	case from == to: // a cycle by itself
		q.Clauses = append(q.Clauses, slice.Map(ls, solver.Lit.Not))
		return
	case q.g.Reaches(from, to):
		return
	}
	l := ls[0]
	if len(ls) == 2 && ls[1] != l {
		if ls[1] == l.Not() {
			return
		}
		k := [2]solver.Lit{min(l, ls[1]), max(l, ls[1])}
		var ok bool
		if l, ok = q.both[k]; !ok {
			l = solver.Pos(q.newVar(false))
			q.both[k] = l
			q.Clauses = append(q.Clauses, []solver.Lit{k[0].Not(), k[1].Not(), l})
		}
	}
	q.guard(l, polygraph.Edge{From: from, To: to, W: ^uint32(0), Dep: evidence.RW})
}

// Deduced translates the edges chosen in an answer to Induced's problem into edges of the polygraph with split nodes,
// both kinds for each order of two writers that a WW edge represents. They come after those that pruning had settled.
func Deduced(g *polygraph.Induced, chosen []polygraph.Edge) []polygraph.Edge {
	p := g.P
	v := p.V
	extra := g.Settled()
	for _, e := range chosen {
		if e.Dep != evidence.WW {
			continue
		}
		t, k := p.Txn[2*e.From], v.WKey[e.W]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			if v.WKey[w] == k {
				p.Side(w, e.W, func(e polygraph.Edge) bool { extra = append(extra, e); return true })
			}
		}
	}
	return extra
}
