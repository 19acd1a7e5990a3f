package watch

import (
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/saved"
)

// An initial transaction may have more keys than fit in memory. The parser then takes it in pieces; between pieces,
// keys move to disk.

// pieceKeys bounds the operations of a piece. If a stream's first batch has at most so many keys, its initial
// transaction is not split.
var pieceKeys = 1 << 14

func init() { bounds.Register("watch.pieceKeys", &pieceKeys) } // tests set it to 1

// inPieces takes the stream's initial transaction in pieces, if it has very many keys and memory is bounded. It then
// numbers the keys of the batch's other transactions. It returns false if it did nothing.
func (p *parser) inPieces(b *Batch) bool {
	h := b.H
	if p.evict == nil || b.First > 0 || len(h.Keys) <= pieceKeys || h.HasPredicates() ||
		len(b.Heads) == 0 || !b.Heads[0].Init || unfit(&b.Heads[0], 0) != nil {
		return false
	}
	p.keyOf = saved.Spare(p.keyOf, len(h.Keys))
	for range h.Keys {
		p.keyOf = append(p.keyOf, history.None)
	}
	lo, hi := h.Txns.OpOff[0], h.Txns.OpOff[1]
	for ; lo < hi && p.err == nil && !p.begins; lo += min(hi-lo, uint32(pieceKeys)) {
		to := lo + min(hi-lo, uint32(pieceKeys))
		p.numberOf(h, lo, to)
		a := p.head(&b.Heads[0], 0)
		p.ops(h, lo, to)
		p.holds(a)
		p.bound()
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

// numberOf numbers the keys that some operations name, and loads the states of these keys.
func (p *parser) numberOf(h *history.History, lo, hi uint32) {
	for op := lo; op < hi; op++ {
		if k := h.OpKey(op); p.keyOf[k] == history.None {
			p.keyOf[k] = p.number(h.Texts, h.Keys[k])
		}
	}
	p.fetch()
}
