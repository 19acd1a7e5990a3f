package polygraph

import (
	"isovet/evidence"
	"isovet/internal/slice"
)

// This file is about transactions of unknown outcome that only ambiguous reads may have read from. Whether such a
// transaction committed is open: any outcome that explains the history is right. It counts iff some read is taken to
// have read from it; counting it otherwise would only add constraints (errata V27).
//
// It has nodes as committed transactions do. Edges into these nodes may be known edges: without edges out they close no
// cycle. Edges out hold only if the transaction counts. They are options of reads, which imply that it counts; sides of
// open choices, which an encoding guards with its outcome; and edges in Maybe. Real time adds no edges out, since the
// end is unknown, and session order puts no transaction after it. So the known graph does not depend on the outcome,
// unless a settled read saw the transaction.

// leaveOpen marks the view's open transactions, whose outcome is a choice.
func (p *Polygraph) leaveOpen() {
	if len(p.V.Open) == 0 || p.V.Index != nil {
		return
	}
	p.unsure = make([]bool, p.V.H.NumTxns())
	for _, t := range p.V.Open {
		p.unsure[t] = true
	}
}

// MayCount reports whether the transaction of node u has an unknown outcome that is a choice (Options.Outcomes).
func (p *Polygraph) MayCount(u int32) bool { return p.unsure != nil && p.unsure[p.Txn[u]] }

// OpenOutcomes reports whether there are such transactions.
func (p *Polygraph) OpenOutcomes() bool { return p.unsure != nil }

// know adds a known edge or, if its source may not count (MayCount), an edge of Maybe.
func (p *Polygraph) know(e Edge) {
	if p.MayCount(e.From) {
		p.Maybe = append(p.Maybe, e)
		return
	}
	p.Known = append(p.Known, e)
}

// refute drops the options of reads from a node's transaction, because it did not commit.
func (p *Polygraph) refute(u int32) {
	for _, x := range slice.Refs(p.Options) {
		if w := p.WriteNode(x.W); w >= 0 && p.BeginNode(w) == p.BeginNode(u) && !x.Out {
			x.Out, x.At = true, int32(len(p.Settled))
		}
	}
}

// Counted lists the (begin) nodes that settled reads show to count, among those of MayCount.
func (p *Polygraph) Counted() (nodes []int32) {
	if p.unsure == nil {
		return nil
	}
	for _, s := range slice.Refs(p.Settled) {
		if s.Based == 0 {
			continue
		}
		if u := p.WriteNode(p.Options[s.Option].W); u >= 0 && p.MayCount(u) {
			nodes = append(nodes, p.BeginNode(u))
		}
	}
	return nodes
}

// seen marks the transactions that ambiguous reads read from, by the known graph and extra edges; nil if no outcome is
// open.
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
