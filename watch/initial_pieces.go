package watch

import (
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/saved"
)

// An initial transaction may have more keys than memory holds. It is then taken in pieces; between these, keys go to
// the disk.

// pieceKeys bounds the keys of a stream's first batch whose initial transaction is taken at once, and the operations of
// a piece.
var pieceKeys = 1 << 14

func init() { bounds.Register("watch.pieceKeys", &pieceKeys) } // tests set it to 1

// inPieces takes the initial transaction of a stream, if it has very many keys and memory is bounded, and numbers the
// keys of the other transactions of its batch. It returns false if it has not taken it.
func (p *parser) inPieces(b *Batch) bool {
	h := b.H
	if p.evict == nil || b.First > 0 || len(h.Keys) <= pieceKeys ||
		len(b.Heads) == 0 || !b.Heads[0].Init || unfit(h, 0, &b.Heads[0], 0) != nil {
		return false
	}
	p.keyOf = saved.Spare(p.keyOf, len(h.Keys))
	for range h.Keys {
		p.keyOf = append(p.keyOf, history.None)
	}
	lo, hi := h.Txns.OpOff[0], h.Txns.OpOff[1]
	for ; lo < hi && p.err == nil; lo += min(hi-lo, uint32(pieceKeys)) {
		to := lo + min(hi-lo, uint32(pieceKeys))
		p.numberOf(h, lo, to)
		a := p.head(&b.Heads[0], 0)
		p.ops(h, lo, to)
		p.holds(a)
		for op := lo; op < to; op++ { // the next keys may get their numbers
			p.keyOf[h.OpKey(op)] = history.None
		}
		if err := p.evict(); err != nil {
			p.err = err
		}
	}
	p.numberOf(h, hi, uint32(len(h.Ops.Kind)))
	return true
}

// numberOf numbers the keys of operations, and restores their states.
func (p *parser) numberOf(h *history.History, lo, hi uint32) {
	for op := lo; op < hi; op++ {
		if k := h.Ops.Kind[op]; k == history.PredRead || k == history.PredWrite {
			continue // it belongs to a transaction that is not understood
		}
		if k := h.OpKey(op); p.keyOf[k] == history.None {
			p.keyOf[k] = p.number(h.Texts, h.Keys[k])
		}
	}
	p.fetch()
}
