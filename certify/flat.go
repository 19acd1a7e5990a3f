package certify

import (
	"isovet/history"
	"isovet/level"
)

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

// flatCommit replays a commit order of registers alone, as flatSerial does a serial order. A read that sees the current
// version of its key obeys the axiom of every weak level, for no writer of the key is between; so does an own write. Of
// the others, the writers between are looked at. The plain twin is commitOrder.
type flatCommit struct {
	h     *history.History
	level level.Level
	order []uint32

	cur []currentVersion // by key
	log []installed      // from 1
	// Of the transaction at hand, made when first needed: what it last did to a key, its reads from others, and the
	// places that those are from.
	own   []ownVersion
	reads []flatRead
	from  []uint32 // place → 1 + the transaction that last read from it
	rank  []uint32 // transaction → its place in its session
	work  int      // writers that may yet be looked at
}

// currentVersion is what is current at a key, and the entry of the log that made it so, 0 for the initial state.
type currentVersion struct{ ver, at uint32 }

// installed is a version and the place from 1 of its writer, with the entry of its key before it.
type installed struct{ ver, place, older uint32 }

type ownVersion struct {
	by, ver uint32 // by: 1 + the transaction
	wrote   bool
}

// flatRead is a read of key from the transaction at a place from 1, 0 for the initial state.
type flatRead struct{ key, from uint32 }

// flatCommitOrder reports whether an order of registers, which keeps sessions, is a commit order at a weak level, where
// that is seen at once: else checkCommitOrder has to say it. At causal it is not where a read does not see the current
// version; at the others not where too many writers are between. Of a version that several installed a read has seen
// the newest.
//
// Cost: two dependent loads an operation, as flatSerial, and for each read that is not of the current version the
// writers since, times the reads of its transaction.
func flatCommitOrder(h *history.History, l level.Level, order []uint32) bool {
	f := &flatCommit{h: h, level: l, order: order, work: 8*h.NumOps() + 1<<10}
	f.cur = make([]currentVersion, h.NumKeys())
	for k := range f.cur {
		f.cur[k].ver = h.InitVer[k]
	}
	writes := 0
	for _, k := range h.Ops.Kind {
		if k == history.Write {
			writes++
		}
	}
	f.log = make([]installed, 1, writes+1)
	kinds, vers, verKey, off := h.Ops.Kind, h.Ops.Ver, h.VerKey, h.Txns.OpOff
	for i, t := range order {
		lo, hi := off[t], off[t+1]
		place, stale := uint32(i)+1, false
		vs := vers[lo:hi]
		for j, kind := range kinds[lo:hi] {
			v := vs[j]
			k := verKey[v]
			c := &f.cur[k]
			switch {
			case kind == history.Read:
				stale = stale || c.ver != v
			case f.log[c.at].place == place:
				c.ver, f.log[c.at].ver = v, v
			default:
				f.log = append(f.log, installed{v, place, c.at})
				*c = currentVersion{v, uint32(len(f.log) - 1)}
			}
		}
		if !stale {
			continue
		}
		if l == level.Causal || !f.stale(t, place) {
			return false
		}
	}
	return true
}

// stale reports whether the reads of t, at a place, obey the axiom, not all being current; its writes are in the log.
func (f *flatCommit) stale(t, place uint32) bool {
	h := f.h
	if f.own == nil {
		f.own, f.from = make([]ownVersion, h.NumKeys()), make([]uint32, len(f.order)+1)
	}
	f.reads = f.reads[:0]
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		k := h.VerKey[v]
		own := &f.own[k]
		switch {
		case h.Ops.Kind[op] == history.Write:
			*own = ownVersion{t + 1, v, true}
		case own.by == t+1 && (own.wrote || f.level != level.ReadCommitted):
			if own.ver != v {
				return false
			}
		default:
			*own = ownVersion{t + 1, v, false}
			from, ok := f.writer(place, k, v)
			if !ok {
				return false
			}
			f.reads = append(f.reads, flatRead{k, from})
		}
	}
	if f.level == level.ReadAtomic {
		for _, r := range f.reads {
			f.from[r.from] = t + 1
		}
	}
	for _, r := range f.reads {
		for i := f.before(r.key, place); f.log[i].place > r.from; i = f.log[i].older {
			u := f.log[i].place
			if f.work--; f.work < 0 || f.from[u] == t+1 || f.level == level.ReadAtomic && f.follows(t, f.order[u-1]) {
				return false
			}
		}
		f.from[r.from] = t + 1 // at read-committed, who was read from is visible to the later reads
	}
	return true
}

// before returns the log's newest entry of a key that is not of the transaction at a place, 0 for the initial state.
func (f *flatCommit) before(k, place uint32) uint32 {
	at := f.cur[k].at
	if f.log[at].place == place {
		at = f.log[at].older
	}
	return at
}

// writer returns the place of the newest writer of version v of key k before a place; false where there is none, or
// where it is too far back.
func (f *flatCommit) writer(place, k, v uint32) (uint32, bool) {
	at := f.before(k, place)
	for ; at > 0 && f.log[at].ver != v; at = f.log[at].older {
		if f.work--; f.work < 0 {
			return 0, false
		}
	}
	return f.log[at].place, at > 0 || f.h.InitVer[k] == v
}

// follows reports whether t comes after u in their session, so that u is visible to it.
func (f *flatCommit) follows(t, u uint32) bool {
	h := f.h
	if h.Txns.Sess[t] != h.Txns.Sess[u] || h.Txns.Status[u] != history.Committed {
		return false
	}
	if f.rank == nil {
		f.rank = make([]uint32, h.NumTxns())
		for i, t := range h.SessTxn {
			f.rank[t] = uint32(i)
		}
	}
	return f.rank[u] < f.rank[t]
}
