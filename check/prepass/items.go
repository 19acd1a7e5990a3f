package prepass

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// operation is the last operation of a transaction on a key.
type operation struct {
	stamp uint32 // 1 + the transaction
	op    uint32
}

// ownItems is own for histories without predicates. It does the work of write, read and install in one loop on small
// tables. Cost: for each operation one look at its version's key, one at the key, and for a write one at the version.
func (p *pass) ownItems() {
	h, v := p.h, p.v
	kinds, vers, verKey := h.Ops.Kind, h.Ops.Ver, h.VerKey
	rOp, rKey, rVer := p.rOp, p.rKey, p.rVer
	wKey, wTxn, wVer := v.WKey, v.WTxn, v.WVer
	seen := make([]operation, h.NumKeys())
	var keys [1 << 10]uint32 // keys of the operations from base up to ahead
	base, ahead := uint32(0), uint32(0)
	reads, writes := uint32(0), uint32(h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		first, again := writes, false
		each := p.each || p.v.Asked.Mixed.IsMixed() && p.v.Asked.Mixed.Of(h.LevelName(t)) == level.ReadCommitted
		for op := lo; op < hi; op++ {
			if op >= ahead {
				base = op
				ahead = op + uint32(keysOf(keys[:], kinds[op:], vers[op:], verKey))
			}
			kind := kinds[op]
			if kind > history.Write {
				continue // an operation on a list
			}
			ver := vers[op]
			key := keys[(op-base)%uint32(len(keys))]
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
				if !each || prev.wrote {
					switch {
					case prev.ver != ver && h.Txns.Status[t] != history.Aborted:
						p.internalAnomaly(t, lo, prev, op, key, ver)
					case !prev.wrote: // a read of an own write does not affect later operations
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
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
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
		}
	}
	v.WOff[h.NumTxns()] = writes
	v.WKey, v.WTxn, v.WVer = wKey[:writes], wTxn[:writes], wVer[:writes]
	p.rOp, p.rKey, p.rVer = rOp[:reads], rKey[:reads], rVer[:reads]
	p.noteAll()
}

// keysOf fills keys with the keys of operations on items, and returns their number. Cost: memory is waited for once for
// many of them, because they do not depend on each other.
func keysOf(keys []uint32, kinds []history.OpKind, vers, verKey []uint32) int {
	n := min(len(keys), len(kinds))
	vers = vers[:n]
	for i, kind := range kinds[:n] {
		if kind <= history.Write {
			keys[i] = verKey[vers[i]]
		}
	}
	return n
}

// noteAll calls note for all writes.
func (p *pass) noteAll() {
	v, status := p.v, p.h.Txns.Status
	unknown := slices.Contains(status, history.Unknown)
	for w := p.h.NumKeys(); w < len(v.WVer); w++ {
		ver := v.WVer[w]
		u := unknown && status[v.WTxn[w]] == history.Unknown
		if p.last[ver] == none && !u && p.same == nil {
			p.last[ver] = uint32(w)
		} else {
			p.note(uint32(w), ver, u)
		}
	}
}
