package papers

import (
	"slices"

	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/polygraph"
)

// window is the part of a history that cobraRounds still has to examine, and the base version of each key.
type window struct {
	v       *prepass.View
	members []member // in the order of arrival
	here    []int32  // transaction → its member; or toCome, forgotten
	// base: key → the write whose version the window treats as the initial one; None if no forgotten version may be
	// read.
	base []uint32

	// For the current polygraph: local key k is key keys[k]. local is the inverse, for keys whose stamp is made.
	keys  []uint32
	local []uint32
	stamp []int32
	made  int32
	short error // not enough memory for its choices
}

type member struct {
	txn   uint32
	waits bool // it has read from a later arrival
}

const (
	toCome    = -1
	forgotten = -2
)

func newWindow(v *prepass.View) window {
	nk := v.H.NumKeys()
	return window{v: v, here: slices.Repeat([]int32{toCome}, v.H.NumTxns()), base: slice.Numbers[uint32](nk),
		local: make([]uint32, nk), stamp: make([]int32, nk)}
}

// forget removes the members that which selects.
func (s *window) forget(which func(i int) bool) {
	left := 0
	for i, m := range s.members {
		if which(i) {
			s.here[m.txn] = forgotten
			continue
		}
		s.here[m.txn] = int32(left)
		s.members[left] = m
		left++
	}
	s.members = s.members[:left]
}

// key returns the local key of a key.
func (s *window) key(k uint32) uint32 {
	if s.stamp[k] != s.made {
		s.stamp[k], s.local[k] = s.made, uint32(len(s.keys))
		s.keys = append(s.keys, k)
	}
	return s.local[k]
}

// polygraph builds the polygraph of the window; its transactions are the members. stale says that a member has read a
// version that is neither in the window nor a base nor of a later arrival, so that the level is violated. Cost: linear
// in the members' reads and writes, except for cobra's chains.
func (s *window) polygraph(at run.Attempt) (p *polygraph.Polygraph, stale bool) {
	s.made++
	s.keys = s.keys[:0]
	whole := s.v
	writes, reads := 0, 0
	for _, m := range s.members { // keys first: their initial versions are the first writes
		for w := whole.WOff[m.txn]; w < whole.WOff[m.txn+1]; w++ {
			s.key(whole.WKey[w])
			writes++
		}
		for r := whole.ROff[m.txn]; r < whole.ROff[m.txn+1]; r++ {
			s.key(whole.WKey[whole.RW[r]])
			reads++
		}
	}
	n, nk := len(s.members), len(s.keys)
	v := &prepass.View{
		H: s.history(), Counts: make([]bool, n), NumCounts: n,
		WKey: make([]uint32, nk, nk+writes), WTxn: make([]uint32, nk, nk+writes), WOff: make([]uint32, n+1),
		RW: make([]uint32, 0, reads), ROff: make([]uint32, n+1),
	}
	for k := range nk {
		v.WKey[k], v.WTxn[k] = uint32(k), history.None
	}
	for i, m := range s.members {
		v.Counts[i] = true
		v.WOff[i] = uint32(len(v.WKey))
		for w := whole.WOff[m.txn]; w < whole.WOff[m.txn+1]; w++ {
			v.WKey = append(v.WKey, s.key(whole.WKey[w]))
			v.WTxn = append(v.WTxn, uint32(i))
		}
	}
	v.WOff[n] = uint32(len(v.WKey))
	for i, m := range slice.Refs(s.members) {
		m.waits = false
		v.ROff[i] = uint32(len(v.RW))
		for r := whole.ROff[m.txn]; r < whole.ROff[m.txn+1]; r++ {
			w := whole.RW[r]
			t := whole.WTxn[w]
			switch {
			case s.base[whole.WKey[w]] == w:
				v.RW = append(v.RW, s.key(whole.WKey[w]))
			case t == history.None || s.here[t] == forgotten:
				return nil, true
			case s.here[t] == toCome:
				m.waits = true
			default:
				v.RW = append(v.RW, v.WOff[s.here[t]]+w-whole.WOff[t])
			}
		}
	}
	v.ROff[n] = uint32(len(v.RW))
	p = polygraph.New(v, at.Level, at.Order)
	s.short = p.Combine()
	return p, false
}

// history returns what a polygraph needs of the members: times, outcomes and sessions, and the number of keys.
func (s *window) history() *history.History {
	whole, n := s.v.H, len(s.members)
	h := &history.History{Init: history.None, Keys: make([]history.Value, len(s.keys))}
	h.Txns.ID, h.Txns.Status, h.Txns.Sess = make([]int64, n), make([]history.Status, n), make([]uint32, n)
	if whole.Txns.Start != nil {
		h.Txns.Start = make([]int64, n)
	}
	if whole.Txns.End != nil {
		h.Txns.End = make([]int64, n)
	}
	session := make(map[uint32]uint32)
	var size []uint32
	for i, m := range s.members {
		h.Txns.ID[i], h.Txns.Status[i] = whole.Txns.ID[m.txn], whole.Txns.Status[m.txn]
		if h.Txns.Start != nil {
			h.Txns.Start[i] = whole.Txns.Start[m.txn]
		}
		if h.Txns.End != nil {
			h.Txns.End[i] = whole.Txns.End[m.txn]
		}
		in, ok := session[whole.Txns.Sess[m.txn]]
		if !ok {
			in = uint32(len(size))
			session[whole.Txns.Sess[m.txn]] = in
			size = append(size, 0)
		}
		h.Txns.Sess[i] = in
		size[in]++
	}
	h.SessName, h.SessOff, h.SessTxn = make([]int64, len(size)), make([]uint32, len(size)+1), make([]uint32, n)
	for i, c := range size {
		h.SessOff[i+1] = h.SessOff[i] + c
	}
	next := slices.Clone(h.SessOff)
	for i, in := range h.Txns.Sess { // arrival keeps the sessions' order
		h.SessTxn[next[in]] = uint32(i)
		next[in]++
	}
	return h
}
