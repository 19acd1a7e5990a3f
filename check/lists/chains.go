package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/internal/graph"
)

// chains splits the longest read of each list into whole transactions' appends.
func (r *reader) chains() {
	v := r.v
	nk := r.h.NumKeys()
	v.KOff = make([]uint32, nk+1)
	r.bad = make([]bool, nk)
	for k := range uint32(nk) {
		v.KOff[k] = uint32(len(v.Chain))
		list := r.longest[k]
		inits := int(r.inits[k])
		ok := r.by[k] == none || len(list) >= inits
		for i := 0; ok && i < min(inits, len(list)); i++ {
			ok = r.elemW[list[i]] == elemInit && r.elemAt[list[i]] == uint32(i)
		}
		for i := inits; ok && i < len(list); {
			w := r.elemW[list[i]]
			if ok = w < elemMany && r.elemAt[list[i]] == 0 && v.WPos[w] == none && i+int(r.count[w]) <= len(list); !ok {
				break
			}
			v.WPos[w] = uint32(len(v.Chain)) - v.KOff[k]
			v.Chain = append(v.Chain, w)
			for j := range r.count[w] {
				ok = ok && r.elemW[list[i]] == w && r.elemAt[list[i]] == j
				i++
			}
		}
		if !ok {
			// An anomaly of the read is reported, so the rest of the key's order is not needed.
			if !r.examine(r.by[k]) {
				panic("lists: nothing is wrong with a list that cannot be taken apart")
			}
			r.bad[k] = true
			for _, w := range v.Chain[v.KOff[k]:] {
				v.WPos[w] = none
			}
			v.Chain = v.Chain[:v.KOff[k]]
		}
	}
	v.KOff[nk] = uint32(len(v.Chain))
	by := graph.NewGroups[uint32](nk)
	for w, t := range v.WTxn {
		if v.Counts[t] && v.WPos[w] == none {
			by.Count(v.WKey[w])
		}
	}
	v.Unread = make([]uint32, by.Sum())
	for w, t := range v.WTxn {
		if v.Counts[t] && v.WPos[w] == none {
			v.Unread[by.Place(v.WKey[w])] = uint32(w)
		}
	}
	v.UOff = by.Off()
}

// places computes how many writers of the chain each read saw. A read may end only where a transaction's appends end,
// and may not show later appends of its reader.
func (r *reader) places() {
	h, v := r.h, r.v
	// cut[base[k]+i]: how many writers the first i elements of k's longest read belong to; None inside one's appends.
	base := make([]uint32, h.NumKeys()+1)
	for k := range h.NumKeys() {
		base[k+1] = base[k] + uint32(len(r.longest[k])) + 1
	}
	cut := slices.Repeat([]uint32{none}, int(base[h.NumKeys()]))
	for k := range h.NumKeys() {
		at := base[k] + r.inits[k]
		if int(r.inits[k]) > len(r.longest[k]) {
			continue
		}
		cut[at] = 0
		for i, w := range v.Chain[v.KOff[k]:v.KOff[k+1]] {
			at += r.count[w]
			cut[at] = uint32(i) + 1
		}
	}
	by := graph.NewGroups[uint32](h.NumTxns())
	for _, s := range r.reads {
		by.Count(s.t)
	}
	by.Sum()
	v.RKey, v.ROp, v.RSeen = make([]uint32, len(r.reads)), make([]uint32, len(r.reads)), make([]uint32, len(r.reads))
	for _, s := range r.reads {
		i := by.Place(s.t)
		c := cut[base[s.key]+s.n]
		if r.bad[s.key] {
			c = none
		} else if c == none {
			r.examine(s.op)
		} else if w := v.write(s.t, s.key); w != none && v.WPos[w] < c {
			r.examine(s.op)
		}
		v.RKey[i], v.ROp[i], v.RSeen[i] = s.key, s.op, c
	}
	v.ROff = by.Off()
	r.overtaken()
}

// overtaken reports transactions that read a list and appended to it, but missed an append in between. If there are
// anomalies of single reads, it drops cycles instead, because a transaction of unknown outcome that contradicts itself
// did not commit, and its appends prove nothing.
func (r *reader) overtaken() {
	v := r.v
	if n := len(v.Anomalies); n > 0 {
		single := slices.DeleteFunc(slices.Clone(v.Anomalies), func(a evidence.Anomaly) bool { return len(a.Ops) == 0 })
		if len(single) > 0 {
			v.Anomalies, v.Also = single, v.Also+n-len(single)
			return
		}
	}
	if r.o.Blind {
		return
	}
	for w, t := range v.WTxn {
		at, key := v.WPos[w], v.WKey[w]
		if at == none || at == 0 || r.bad[key] {
			continue
		}
		if i := v.read(t, key); i != none && v.RSeen[i] < at {
			u := v.WTxn[v.chain(key)[v.RSeen[i]]]
			r.report(evidence.Anomaly{Cycle: []evidence.Edge{v.rw(t, u, key), v.ww(u, t, key)}})
		}
	}
}

// write returns t's write of list key, or None.
func (v *View) write(t, key uint32) uint32 {
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		if v.WKey[w] == key {
			return w
		}
	}
	return none
}

// read returns t's read of list key, or None.
func (v *View) read(t, key uint32) uint32 {
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		if v.RKey[r] == key {
			return r
		}
	}
	return none
}

// chain returns the writes of a list that were read, in order.
func (v *View) chain(key uint32) []uint32 { return v.Chain[v.KOff[key]:v.KOff[key+1]] }

// unread returns the writes of a list that no transaction read.
func (v *View) unread(key uint32) []uint32 { return v.Unread[v.UOff[key]:v.UOff[key+1]] }
