package watch

import (
	"isovet/history"
	"isovet/internal/keyed"
)

// print makes a fingerprint of a transaction, of what it says, not of how its line is written.
func (g *gate) print(b *Batch, t uint32) uint64 {
	h, x, sum := b.H, &b.Heads[t], g.hash.Empty()
	fold := func(n uint64) { sum = g.hash.Fold(sum, n) }
	fold(uint64(x.Status))
	if x.HasSess || x.HasSeq {
		fold(keyed.None)
	}
	for _, n := range [...]int64{x.Session, x.Seq, x.Start, x.Commit, x.End, x.StartTS, x.CommitTS} {
		fold(uint64(n))
	}
	key := func(k uint32) { fold(h.Texts.Keyed(g.hash, h.Keys[k])) }
	ver := func(v uint32) {
		if v == history.None {
			fold(keyed.None)
			return
		}
		key(h.VerKey[v])
		fold(h.Texts.Keyed(g.hash, h.VerValue(v)))
	}
	for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
		v := h.Ops.Ver[op]
		fold(uint64(h.Ops.Kind[op]))
		switch h.Ops.Kind[op] {
		case history.ReadList:
			key(h.Lists.Key[v])
			elems := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
			fold(uint64(len(elems)))
			for _, e := range elems {
				fold(h.Texts.Keyed(g.hash, h.VerValue(e)))
			}
		case history.PredRead, history.PredWrite:
			fold(g.hash.Text(h.Texts.Text(h.Preds.Pred[v])))
			fold(uint64(h.Preds.Off[v+1] - h.Preds.Off[v]))
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				ver(h.Preds.Old[r])
				ver(h.Preds.New[r])
			}
		default:
			ver(v)
		}
	}
	return sum
}
