package polygraph

import "isovet/evidence"

// A transaction of unknown outcome from which nobody needs to have read, but ambiguous reads may have, committed or
// not: whatever explains the history. It counts iff somebody is taken to have read from it; one that counts only adds
// constraints (errata V27), so nothing else asks for it.
//
// It has nodes as others do. Its edges fall in two: what leads into it may be known, since a cycle needs an edge out as
// well; what leaves it is there only if it counts. Those edges are options of reads, which imply that it counts, sides
// of open choices, which an encoding guards by that besides, and Maybe. Real time has none, since nobody knows when it
// ended, and session order puts nobody behind it. So the known graph says nothing of it that rests on its outcome,
// unless a read is settled that saw it.

// leaveOpen makes the outcomes of the view's open transactions a choice.
func (p *Polygraph) leaveOpen() {
	if len(p.V.Open) == 0 || p.V.Index != nil {
		return
	}
	p.unsure = make([]bool, p.V.H.NumTxns())
	for _, t := range p.V.Open {
		p.unsure[t] = true
	}
}

// MayCount reports whether the transaction of node u is one of unknown outcome, of which it is a choice whether it
// counts (Options.Outcomes).
func (p *Polygraph) MayCount(u int32) bool { return p.unsure != nil && p.unsure[p.Txn[u]] }

// OpenOutcomes reports whether there are such transactions.
func (p *Polygraph) OpenOutcomes() bool { return p.unsure != nil }

// know adds an edge that is known, or that is if its beginning counts.
func (p *Polygraph) know(e Edge) {
	if p.MayCount(e.From) {
		p.Maybe = append(p.Maybe, e)
		return
	}
	p.Known = append(p.Known, e)
}

// refute drops what reads may have seen of the transaction of a node: it did not commit.
func (p *Polygraph) refute(u int32) {
	for o := range p.Options {
		x := &p.Options[o]
		if w := p.WriteNode(x.W); w >= 0 && p.BeginNode(w) == p.BeginNode(u) && !x.Out {
			x.Out, x.At = true, int32(len(p.Settled))
		}
	}
}

// Counted lists the (begin) nodes of which MayCount is true and settled reads show that they count.
func (p *Polygraph) Counted() (nodes []int32) {
	if p.unsure == nil {
		return nil
	}
	for i := range p.Settled {
		s := &p.Settled[i]
		if s.Based == 0 {
			continue
		}
		if u := p.WriteNode(p.Options[s.Option].W); u >= 0 && p.MayCount(u) {
			nodes = append(nodes, p.BeginNode(u))
		}
	}
	return nodes
}

// seen returns which transactions the known graph and extra edges show to have been read from by ambiguous reads; nil
// where no outcome is open.
func (p *Polygraph) seen(extra []Edge) []bool {
	if p.unsure == nil {
		return nil
	}
	seen := make([]bool, len(p.unsure))
	for _, edges := range [][]Edge{p.Known, extra} {
		for _, e := range edges {
			if e.Dep == evidence.PWR {
				seen[p.Txn[e.From]] = true
			}
		}
	}
	return seen
}
