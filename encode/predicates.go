package encode

import (
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
)

// Predicates adds the clauses of the open predicate constraints: a variable for each option, of which at least one must
// hold (P1); a call of guard for each edge that an option brings (P2); and, for an edge that exists only if one version
// is before another, a variable that the option and that order together imply (P3). choice has, for each choice in the
// order of P.Choices, the literal of "A before B"; its negation is "B before A". The option tried first is the last in
// time, which was most likely the one seen.
//
// Source: [Vbox] §4.5, Eqs. 7 to 9. Differs: "at most one option" (half of Eq. 7) only if AtMostOne is set, since
// further options only add edges (errata V15); P2 and P3 are implications one way (V19); if the order of two versions
// is known, it needs no literal: the edge is certain or left out (V18). For transactions that may not have committed
// (polygraph.Polygraph.MayCount): one that is read from committed, and one that did not commit has no constraints.
// Cost: variables and clauses: options × targets.
func (q *Problem) Predicates(choice []solver.Lit, guard func(l solver.Lit, e polygraph.Edge)) {
	p := q.P
	q.Based = true
	q.Clauses = append(q.Clauses, slice.Map(p.Counted(), func(u int32) []solver.Lit {
		return []solver.Lit{q.counts(u)}
	})...)
	for _, e := range p.Maybe {
		guard(q.counts(e.From), e)
	}
	if p.OpenBased() == 0 {
		return
	}
	relate := p.Relate()
	known := func(f, w uint32) polygraph.Relation {
		is, _, _ := relate(f, w)
		return is
	}
	var options []solver.Lit
	for _, c := range slice.Refs(p.Based) {
		if c.Done {
			continue
		}
		options = options[:0]
		var last uint32
		for o := c.Lo; o < c.Hi; o++ {
			if !p.Options[o].Out && (last == 0 || p.Later(o, last-1)) {
				last = o + 1
			}
		}
		for o := c.Lo; o < c.Hi; o++ {
			if p.Options[o].Out {
				continue
			}
			l := solver.Pos(q.newVar(o+1 == last))
			options = append(options, l)
			base := p.Options[o].W
			if u := p.WriteNode(base); u >= 0 && p.MayCount(u) {
				q.Clauses = append(q.Clauses, []solver.Lit{l.Not(), q.counts(u)})
			}
			p.OptionEdges(o, known, func(e polygraph.Edge, is polygraph.Relation, target uint32) {
				if is != polygraph.Open {
					guard(l, e)
					return
				}
				_, at, either := relate(base, target)
				order := choice[at]
				if !either {
					order = order.Not()
				}
				there := solver.Pos(q.newVar(false))
				q.Clauses = append(q.Clauses, []solver.Lit{l.Not(), order.Not(), there})
				guard(there, e)
			})
		}
		one := append([]solver.Lit(nil), options...)
		if p.MayCount(c.Node) {
			one = append(one, q.counts(c.Node).Not())
		}
		q.Clauses = append(q.Clauses, one)
		for i, a := range options {
			for _, b := range options[i+1:] {
				if p.AtMostOne {
					q.Clauses = append(q.Clauses, []solver.Lit{a.Not(), b.Not()})
				}
			}
		}
	}
}
