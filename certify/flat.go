package certify

import "isovet/history"

// The replay of orders of registers alone, on one array, without a call for each operation. The plain twins are
// replaySerial and replaySnapshot of tables.go.

// flatSerial is replaySerial.
// Cost: two dependent loads an operation, VerKey and the key's current version; no allocation but one array.
func flatSerial(h *history.History, order []uint32) error {
	cur := append([]uint32(nil), h.InitVer...)
	kind, ver, verKey, off := h.Ops.Kind, h.Ops.Ver, h.VerKey, h.Txns.OpOff
	for _, t := range order {
		lo, hi := off[t], off[t+1]
		vs := ver[lo:hi]
		for i, k := range kind[lo:hi] {
			v := vs[i]
			c := &cur[verKey[v]]
			if k == history.Read {
				if *c != v {
					return wrongRead(h, lo+uint32(i), t, *c)
				}
			} else {
				*c = v
			}
		}
	}
	return nil
}

// flatSnapshot is replaySnapshot.
func flatSnapshot(h *history.History, events, begin []uint32) error {
	cur := append([]uint32(nil), h.InitVer...)
	var (
		keys = h.NumKeys()
		at   = make([]uint32, keys) // place of the last commit of the key, plus one
		mine = make([]uint32, keys) // whose own write own is; one begins once, so no mark is ever stale
		own  = make([]uint32, keys)
	)
	for k := range mine {
		mine[k] = history.None
	}
	kind, ver, verKey, off := h.Ops.Kind, h.Ops.Ver, h.VerKey, h.Txns.OpOff
	for i, e := range events {
		t := e >> 1
		lo, hi := off[t], off[t+1]
		vs := ver[lo:hi]
		if e&1 == 0 {
			for j, kind := range kind[lo:hi] {
				v := vs[j]
				k := verKey[v]
				if kind != history.Read {
					mine[k], own[k] = t, v
					continue
				}
				c := cur[k]
				if mine[k] == t {
					c = own[k]
				}
				if c != v {
					return wrongRead(h, lo+uint32(j), t, c)
				}
			}
			continue
		}
		for j, kind := range kind[lo:hi] {
			if kind == history.Read {
				continue
			}
			v := vs[j]
			k := verKey[v]
			if a := at[k]; a > begin[t]+1 && a != uint32(i)+1 {
				return conflict(h, t, k, events[a-1]>>1)
			}
			at[k], cur[k] = uint32(i)+1, v
		}
	}
	return nil
}
