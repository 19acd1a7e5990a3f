package polygraph

import "isovet/evidence"

// AllPairs makes a choice of every pair of writes of a key by different transactions ([Cobra] §3; [Vbox] Eqs. 1 and 2).
// Cost: quadratic in a key's writes, as the papers'.
func (p *Polygraph) AllPairs() {
	p.Choices = make([]Choice, 0, p.Pairs)
	for k := range uint32(p.V.H.NumKeys()) {
		ws := p.Writers(k)
		for i, a := range ws {
			for _, b := range ws[i+1:] {
				p.Choices = append(p.Choices, Choice{a, b, a, b})
			}
		}
	}
}

// Overlapping makes choices only of pairs of writes whose transactions overlap in time. Time orders the other pairs: if
// one write's transaction ended before another's began, the readers of the first precede the second. Overlapping adds
// these edges.
//
// Source:  [Vbox] §4.2 "Constructing Known Graph" and §4.3 "Item Constraint Avoidance". Differs: the paper's reader
// edges have their indices swapped (errata V7); only those that time does not imply are added. Cost:    O(writes +
// overlapping pairs + reads × writes of the key that overlap the read): a read that time proves stale costs its key's
// writes once, and closes a cycle.
func (p *Polygraph) Overlapping() {
	p.countListed()
	p.Choices = make([]Choice, 0, p.open)
	p.nodesByKey()
	p.byTime(func(u int32, a uint32, from, to uint32) {
		open := p.after(from, to, p.End[u])
		for _, b := range p.KW[from:][:open] {
			p.Choices = append(p.Choices, Choice{a, b, a, b})
		}
		from += uint32(open) // the later ones begin after a's transaction ended
		for _, r := range p.Readers(a) {
			for _, v := range p.kwNode[from:][:p.after(from, to, p.End[r])] {
				if p.BeginNode(v) != r {
					p.know(Edge{From: r, To: v, W: a, Dep: evidence.RW, By: ByTime})
				}
			}
		}
	})
	p.kwNode = nil
}

// Side calls f for each edge that the order "a before b" adds ([Vbox] Eq. 1 with errata V2): from a's transaction to
// b's, and from a's readers to b's transaction. With split nodes they lead from a's commit to b's begin, and from the
// readers' begins to b's commit (errata B4). It stops when f returns false, and then returns false.
func (p *Polygraph) Side(a, b uint32, f func(Edge) bool) bool {
	v := p.WriteNode(b)
	begin := p.BeginNode(v)
	if !f(Edge{From: p.WriteNode(a), To: begin, W: b, Dep: evidence.WW}) {
		return false
	}
	for _, r := range p.Readers(a) {
		if r != begin && !f(Edge{From: r, To: v, W: a, Dep: evidence.RW}) {
			return false
		}
	}
	return true
}
