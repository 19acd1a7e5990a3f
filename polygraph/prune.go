package polygraph

import (
	"context"

	"isovet/closure"
	"isovet/evidence"
)

// Conflict is a choice neither side of which is possible. Either is an edge of "A before B", Or one of "B before A";
// each closes a cycle with the edges known so far.
//
// With Based it is a predicate constraint instead, all options of which are impossible.
type Conflict struct {
	Either, Or Edge
	Based      *Based
}

// Prune settles every choice one side of which would close a cycle with the known graph, adds the other side's edges to
// the known graph and to reach, and repeats until nothing changes. If neither side is possible it returns that choice.
//
// Source:  [Cobra] §4.3 and [Vbox] §4.3, "Item Constraint Pruning". Differs: reachability is kept up to date edge by
// edge rather than recomputed each round, since late rounds settle few choices. Known gets only the edges that reach
// does not imply.
// Keeps:   the polygraph has an acyclic completion before iff after.
// Cost:    rounds × the edges of the choices left, one reachability question each.
func (p *Polygraph) Prune(ctx context.Context, reach closure.Dynamic) (*Conflict, error) {
	know := func(by int32, e Edge) {
		if !reach.Reaches(e.From, e.To) {
			reach.AddEdge(e.From, e.To, -1-by)
			p.Known = append(p.Known, e)
		}
	}
	for {
		n, conflict := p.round(reach, know, func() bool { return ctx.Err() != nil })
		if conflict != nil {
			return conflict, nil
		}
		if n == 0 || ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// impossible returns an edge of "a before b" that would close a cycle.
func (p *Polygraph) impossible(reach closure.Index, a, b uint32) (Edge, bool) {
	u, v := p.WriteNode(a), p.WriteNode(b)
	begin := p.BeginNode(v)
	if reach.Reaches(begin, u) {
		return Edge{From: u, To: begin, W: b, Dep: evidence.WW}, true
	}
	for _, r := range p.Readers(a) {
		if r != begin && reach.Reaches(v, r) && !p.MayCount(r) {
			return Edge{From: r, To: v, W: a, Dep: evidence.RW}, true
		}
	}
	return Edge{}, false
}

// PruneRound settles every choice one side of which would close a cycle with the graph of the closure reach. It does
// not update reach; the caller computes it anew for the next round, as Cobra does. It returns the number of settled
// choices. Source: [Cobra] §4.3.
func (p *Polygraph) PruneRound(reach closure.Index) (int, *Conflict) {
	return p.round(reach, func(_ int32, e Edge) { p.Known = append(p.Known, e) }, func() bool { return false })
}

// round settles every choice that reach decides, and hands the edges to know. All edges of a choice end at one node or
// at its commit; that node reaches none of their sources, so no cycle arises.
func (p *Polygraph) round(reach closure.Index, know func(by int32, e Edge), stop func() bool) (n int, _ *Conflict) {
	left := p.Choices[:0]
	for i, c := range p.Choices {
		if i&1023 == 0 && stop() {
			p.Choices = append(left, p.Choices[i:]...)
			return n, nil
		}
		ea, eb := c.Either()
		oa, ob := c.Or()
		either, badE := p.impossible(reach, ea, eb)
		or, badO := p.impossible(reach, oa, ob)
		if !badE && !badO {
			left = append(left, c)
			continue
		}
		if badE && badO {
			return n, &Conflict{Either: either, Or: or}
		}
		s := Settled{First: oa, Then: ob, Bad: either}
		if badO {
			s = Settled{First: ea, Then: eb, Bad: or}
		}
		by := int32(len(p.Settled))
		p.Settled = append(p.Settled, s)
		p.Side(s.First, s.Then, func(e Edge) bool {
			if e.By = by; p.MayCount(e.From) {
				p.Maybe = append(p.Maybe, e)
			} else {
				know(by, e)
			}
			return true
		})
		n++
	}
	p.Choices = left
	changed, conflict := p.pruneBased(reach, func(by int32, e Edge) {
		e.By = by
		know(by, e)
	})
	if changed {
		n++
	}
	return n, conflict
}
