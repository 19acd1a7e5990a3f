package prepass

import "isovet/history"

// operation is the last one of a transaction on a key.
type operation struct {
	stamp uint32 // 1 + the transaction
	op    uint32
}

// ownItems is own for a history without predicates: what write, read and install do there, in one loop and on small
// tables. Cost: for each operation one look at its version's key, one at the key, and for a write one at the version.
func (p *pass) ownItems() {
	h, v := p.h, p.v
	kinds, vers, verKey := h.Ops.Kind, h.Ops.Ver, h.VerKey
	rOp, rKey, rVer := p.rOp, p.rKey, p.rVer
	wKey, wTxn, wVer, last := v.WKey, v.WTxn, v.WVer, p.last
	seen := make([]operation, h.NumKeys())
	reads, writes := uint32(0), uint32(h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		first, again := writes, false
		for op := lo; op < hi; op++ {
			kind := kinds[op]
			if kind > history.Write {
				continue // of a list
			}
			ver := vers[op]
			key := verKey[ver]
			x := &seen[key]
			if kind == history.Write {
				if x.stamp == t+1 && kinds[x.op] == history.Write {
					p.lose(x.op)
					again = true
				}
				*x = operation{t + 1, op}
				wKey[writes], wVer[writes] = key, ver
				writes++
				continue
			}
			if x.stamp == t+1 {
				prev := touch{t + 1, x.op, vers[x.op], none, kinds[x.op] == history.Write}
				if !p.each || prev.wrote {
					switch {
					case prev.ver != ver && h.Txns.Status[t] != history.Aborted:
						p.internalAnomaly(t, lo, prev, op, key, ver)
					case !prev.wrote: // a read of an own write changes nothing for the next
						x.op = op
					}
					continue
				}
			}
			*x = operation{t + 1, op}
			rOp[reads], rKey[reads], rVer[reads] = op, key, ver
			reads++
		}
		p.rOff[t+1], v.WOff[t] = reads, first
		status := h.Txns.Status[t]
		if status == history.Aborted || t == h.Init {
			writes = first
			continue
		}
		if again {
			writes = first
			for op := lo; op < hi; op++ {
				if kinds[op] == history.Write && p.isFinal(op) {
					wKey[writes], wVer[writes] = verKey[vers[op]], vers[op]
					writes++
				}
			}
		}
		for w := first; w < writes; w++ {
			wTxn[w] = t
			if ver := wVer[w]; last[ver] == none && status == history.Committed && p.same == nil {
				last[ver] = w
			} else {
				p.note(w, ver, status == history.Unknown)
			}
		}
	}
	v.WOff[h.NumTxns()] = writes
	v.WKey, v.WTxn, v.WVer = wKey[:writes], wTxn[:writes], wVer[:writes]
	p.rOp, p.rKey, p.rVer = rOp[:reads], rKey[:reads], rVer[:reads]
}
