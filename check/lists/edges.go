package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
)

// place returns the place of t's write of a list in its chain, or the length of the chain if no transaction read the
// write. ok is false if t does not append to the list.
func (v *View) place(t, key uint32) (at uint32, ok bool) {
	w := v.write(t, key)
	if w == none {
		return 0, false
	}
	return min(v.WPos[w], uint32(len(v.chain(key)))), true
}

// precedes reports whether a chain shows t before u: the chain of list key if both append to it, else that of another
// list, on. known is false if no chain shows either.
func (v *View) precedes(t, u, key uint32) (on uint32, before, known bool) {
	try := func(k uint32) bool {
		a, ok := v.place(t, k)
		if b, also := v.place(u, k); ok && also && a != b {
			on, before, known = k, a < b, true
		}
		return known
	}
	if key != none && v.IsList[key] && try(key) {
		return
	}
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		if try(v.WKey[w]) {
			return
		}
	}
	return
}

// ww is the edge between two transactions that append to a list.
func (v *View) ww(t, u, key uint32) evidence.Edge {
	return evidence.Edge{From: t, To: u, Dep: evidence.WW, Key: key, Ver: v.WVer[v.write(u, key)], Writer: none}
}

// wr is the edge from a transaction that appended to a list to one that read its append.
func (v *View) wr(t, u, key uint32) evidence.Edge {
	return evidence.Edge{From: t, To: u, Dep: evidence.WR, Key: key, Ver: v.WVer[v.write(t, key)], Writer: none}
}

// rw returns the edge from a transaction that read a list to a transaction whose append it did not see.
func (v *View) rw(t, u, key uint32) evidence.Edge {
	e := evidence.Edge{From: t, To: u, Dep: evidence.RW, Key: key, Ver: none, Writer: none}
	if seen := v.RSeen[v.read(t, key)]; seen > 0 {
		last := v.chain(key)[seen-1]
		e.Ver, e.Writer = v.WVer[last], v.WTxn[last]
	} else if v.InitVer[key] != none {
		e.Ver, e.Writer = v.InitVer[key], v.H.Init
	}
	return e
}

// reasons returns cycles that justify ww edges which no list read shows: t read all of the list's chain before it
// appended, and missed u's append, so that u before t would close a cycle.
func (v *View) reasons(cycles ...[]evidence.Edge) (out [][]evidence.Edge) {
	done := make(map[[2]uint32]bool)
	for _, e := range slices.Concat(cycles...) {
		if e.Dep != evidence.WW || !v.IsList[e.Key] || done[[2]uint32{e.From, e.To}] {
			continue
		}
		done[[2]uint32{e.From, e.To}] = true
		a, _ := v.place(e.From, e.Key)
		b, _ := v.place(e.To, e.Key)
		if r := v.read(e.From, e.Key); a != b || r == none || int(v.RSeen[r]) < len(v.chain(e.Key)) {
			continue
		}
		out = append(out, []evidence.Edge{v.ww(e.To, e.From, e.Key), v.rw(e.From, e.To, e.Key)})
	}
	return out
}

// appended reports whether a list's chain shows t's append before u's. Then a read of t that misses u shows nothing
// more.
func (v *View) appended(t, u, key uint32) bool {
	a, ok := v.place(t, key)
	b, also := v.place(u, key)
	return ok && also && a < b
}

// plain rewrites the ww edges on lists of a cycle with an anti-dependency as stronger edges: wr if the second
// transaction read the first one's append, and rw if the first read the list before the second appended to it. It uses
// rw only if no two anti-dependencies become adjacent.
func (v *View) plain(c []evidence.Edge) []evidence.Edge {
	if !slices.ContainsFunc(c, func(e evidence.Edge) bool { return e.Dep != evidence.WW && e.Dep != evidence.WR }) {
		return c
	}
	out, missed := slices.Clone(c), slices.Clone(c)
	for i, e := range c {
		if e.Dep != evidence.WW || !v.IsList[e.Key] {
			continue
		}
		a, _ := v.place(e.From, e.Key)
		b, _ := v.place(e.To, e.Key)
		if r := v.read(e.To, e.Key); r != none && a < v.RSeen[r] {
			out[i] = v.wr(e.From, e.To, e.Key)
			missed[i] = out[i]
		} else if r := v.read(e.From, e.Key); a == b && r != none && int(v.RSeen[r]) >= len(v.chain(e.Key)) {
			missed[i] = v.rw(e.From, e.To, e.Key)
		}
	}
	if !evidence.Adjacent(missed) {
		return missed
	}
	return out
}

// seen returns the edge from t to u if u read some list with an append of t.
func (v *View) seen(t, u uint32) (evidence.Edge, bool) {
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		if r := v.read(u, v.WKey[w]); r != none && v.WPos[w] < v.RSeen[r] {
			return v.wr(t, u, v.WKey[w]), true
		}
	}
	return evidence.Edge{}, false
}

// committed reports whether all transactions of a cycle committed.
func (v *View) committed(c []evidence.Edge) bool {
	return !slices.ContainsFunc(c, func(e evidence.Edge) bool { return v.H.Txns.Status[e.From] != history.Committed })
}

// sessionBefore reports whether session order has t before u: both in one session, t earlier and committed.
func (v *View) sessionBefore(t, u uint32) bool {
	h := v.H
	if s := h.Txns.Sess[t]; s == h.Txns.Sess[u] && h.Txns.Status[t] == history.Committed {
		for _, x := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if x == t || x == u {
				return x == t
			}
		}
	}
	return false
}

// timeBefore reports whether t ended before u began, if skew widens both.
func (v *View) timeBefore(t, u uint32, skew int64) bool {
	_, end := v.H.Window(t, skew)
	start, _ := v.H.Window(u, skew)
	return end < start
}

// wrote reports whether t's last write of a register has version ver.
func (v *View) wrote(t, ver uint32) bool {
	h := v.H
	lo, hi := h.TxnOps(t)
	last := none
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Write && h.VerKey[h.Ops.Ver[op]] == h.VerKey[ver] {
			last = h.Ops.Ver[op]
		}
	}
	return last == ver
}
