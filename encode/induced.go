package encode

import (
	"isovet/evidence"
	"isovet/polygraph"
	"isovet/solver"
)

// Induced makes the problem of PolySI of a polygraph with split nodes: its graph has a node a transaction and is (SO ∪ WR ∪ WW);RW?,
// each dependency u → v and, where v → w is an anti-dependency, also u → w. Edges that rest on choices are guarded: those of one
// choice by its variable, those of two by a new one that both imply. false: there would be more than limit edges.
//
// The problem's polygraph is one of the induced known edges; answer edges of dependency WW say which choices were taken (Deduced).
//
// Source:  [PolySI] §4.3 (induced SI graph), §4.4 (encoding).
// Cost:    for each transaction the product of the dependencies into it and the anti-dependencies out of it.
func Induced(p *polygraph.Polygraph, limit int) (*Problem, bool) {
	n := p.N / 2
	known := &polygraph.Polygraph{V: p.V, Level: p.Level, N: n, Hint: make([]int64, n), Node: make([]int32, len(p.Node)), Txn: make([]uint32, n)}
	for i := range n {
		known.Txn[i], known.Hint[i] = p.Txn[2*i], p.Hint[2*i]
	}
	for t, u := range p.Node {
		known.Node[t] = u >> 1
	}
	q := &Problem{P: known}
	type part struct {
		edge polygraph.Edge // of transactions
		lit  solver.Lit
		open bool
	}
	into, out := make([][]part, n), make([][]part, n) // dependencies by target, anti-dependencies by source
	add := func(e polygraph.Edge, l solver.Lit, open bool) {
		if e.By == polygraph.ByInner {
			return
		}
		e.From, e.To = e.From>>1, e.To>>1
		if e.Dep == evidence.RW {
			out[e.From] = append(out[e.From], part{e, l, open})
		} else {
			into[e.To] = append(into[e.To], part{e, l, open})
		}
	}
	for _, e := range p.Known {
		add(e, 0, false)
	}
	if p.Start != nil {
		for i := range n {
			for j := range n {
				if i != j && p.Before(int32(2*i), int32(2*j)) {
					add(polygraph.Edge{From: int32(2 * i), To: int32(2 * j), W: ^uint32(0), Dep: evidence.RT, By: polygraph.ByHistory}, 0, false)
				}
			}
		}
	}
	for _, c := range p.Choices {
		b := solver.Pos(q.newVar(p.Sooner(c.A, c.B)))
		p.Side(c.A, c.B0, func(e polygraph.Edge) bool { add(e, b, true); return true })
		p.Side(c.B, c.A0, func(e polygraph.Edge) bool { add(e, b.Not(), true); return true })
	}
	both := make(map[[2]solver.Lit]solver.Lit)
	edges := 0
	emit := func(e polygraph.Edge, ls ...part) {
		var open []solver.Lit
		for _, l := range ls {
			if l.open && (len(open) == 0 || open[0] != l.lit) {
				open = append(open, l.lit)
			}
		}
		edges++
		if e.From == e.To { // a cycle by itself; among known edges pruning has found it
			var clause []solver.Lit
			for _, l := range open {
				clause = append(clause, l.Not())
			}
			q.Clauses = append(q.Clauses, clause)
			return
		}
		switch len(open) {
		case 0:
			e.By = polygraph.ByHistory
			known.Known = append(known.Known, e)
		case 1:
			q.guard(open[0], e)
		default:
			if open[0] == open[1].Not() {
				return
			}
			k := [2]solver.Lit{min(open[0], open[1]), max(open[0], open[1])}
			l, ok := both[k]
			if !ok {
				l = solver.Pos(q.newVar(false))
				both[k] = l
				q.Clauses = append(q.Clauses, []solver.Lit{k[0].Not(), k[1].Not(), l})
			}
			q.guard(l, e)
		}
	}
	for v := range n {
		for _, d := range into[v] {
			if edges > limit {
				return nil, false
			}
			emit(d.edge, d)
			for _, r := range out[v] {
				e := r.edge
				e.From = d.edge.From
				emit(e, d, r)
			}
		}
	}
	return q, true
}

// Deduced turns the edges that an answer to Induced's problem chose into those of the polygraph with split nodes: both kinds of each
// order of two writers that a WW edge stands for.
func Deduced(p *polygraph.Polygraph, chosen []polygraph.Edge) []polygraph.Edge {
	v := p.V
	var extra []polygraph.Edge
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
