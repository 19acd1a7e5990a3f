package polygraph

import (
	"isovet/closure"
	"isovet/internal/graph"
)

// BySessions makes Prune use a closure by sessions in place of a full matrix. chains are paths of known edges that
// cover the polygraph's split nodes. The closure is that of the graph of begins and commits, where a dependency leads
// from a commit to a begin and an anti-dependency from a begin to a commit. One commit reaches another there iff its
// transaction reaches the other's in the induced graph, so the edges of the latter need not be composed.
func (g *Induced) BySessions(chains [][]int32) { g.chains = chains }

// closeBySessions is close with chains.
func (g *Induced) closeBySessions() (acyclic bool, err error) {
	reach, acyclic, err := closure.NewSessions(graph.BuildFunc(2*g.N, func(emit func(u, v int32)) {
		for u := range int32(g.N) {
			emit(2*u, 2*u+1)
		}
		for _, e := range g.deps {
			emit(2*e.From+1, 2*e.To)
		}
		for _, e := range g.antis {
			emit(2*e.From, 2*e.To+1)
		}
	}), g.chains)
	if err != nil || !acyclic {
		return acyclic, err
	}
	g.reach = reach
	return true, nil
}

// reduceBySessions fills Reduced with edges that imply all of the known induced graph: those between neighbours of a
// chain, and between two chains those from the last node that reaches the target to the first node that the source
// reaches. Any other edge leads past such nodes.
//
// Cost: for each transaction the product of the known dependencies into it and the known anti-dependencies out of it.
func (g *Induced) reduceBySessions() {
	g.Reduced = g.Reduced[:0]
	keep := func(u, w int32) {
		from, to := 2*u+1, 2*w+1
		cu, pu := g.reach.Chain(from)
		cw, pw := g.reach.Chain(to)
		if cu == cw {
			if pw != pu+2 {
				return
			}
		} else if g.last(to, cu) != pu || g.first(from, cw) != pw {
			return
		}
		g.Reduced = append(g.Reduced, graph.Edge{From: u, To: w})
	}
	for v := range int32(g.N) {
		for _, u := range g.In.Succ(v) {
			keep(u, v)
			for _, w := range g.Anti.Succ(v) {
				keep(u, w)
			}
		}
	}
}

// first returns the place of the first commit of a chain that a commit reaches. If it reaches a begin, the commit
// follows in the chain.
func (g *Induced) first(from, chain int32) int32 {
	at := g.reach.After(from)[chain]
	if at < int32(len(g.chains[chain])) && g.chains[chain][at]&1 == 0 {
		at++
	}
	return at
}

// last returns the place of the last commit of a chain that reaches a commit, or -1.
func (g *Induced) last(to, chain int32) int32 {
	at := g.reach.Before(to)[chain] - 1
	if at >= 0 && g.chains[chain][at]&1 == 0 {
		at--
	}
	return at
}
