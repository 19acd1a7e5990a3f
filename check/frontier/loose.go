package frontier

import (
	"isovet/check/prepass"
	"isovet/history"
	"slices"
)

// loose is the part of a search for reads with several possible writers.
type loose struct {
	view *prepass.View
	open []bool // transactions whose outcome is open
	// slot maps a key to the place of its current version in the frontier, or to None if no read needs it.
	slot  []uint32
	start []uint32 // the values of the slots at the start
	// number numbers the versions of loose keys from 1; versions is their number.
	number   []uint32 // by version; 0: not needed
	versions int
	was      []uint32 // stack of current versions that were overwritten
}

// newLoose returns nil if each read has one possible writer.
func newLoose(v *prepass.View) *loose {
	if !v.Ambiguous() {
		return nil
	}
	h := v.H
	l := &loose{view: v, open: make([]bool, h.NumTxns()), number: make([]uint32, h.NumVersions()),
		slot: slices.Repeat([]uint32{history.None}, h.NumKeys())}
	keep := func(k uint32) {
		if l.slot[k] == history.None {
			l.slot[k] = uint32(len(l.start))
			l.start = append(l.start, l.of(v.WVer[k]))
		}
	}
	for _, r := range v.Amb {
		keep(v.RKey[r])
	}
	for _, t := range v.Open {
		l.open[t] = true
		for _, k := range v.RKey[v.ROff[t]:v.ROff[t+1]] {
			keep(k)
		}
	}
	for w, k := range v.WKey {
		if l.slot[k] != history.None {
			l.of(v.WVer[w])
		}
	}
	return l
}

// of returns the number of a version, from 1. An initial version that no transaction read is none, and has number 0.
func (l *loose) of(ver uint32) uint32 {
	if ver == history.None {
		return 0
	}
	if l.number[ver] == 0 {
		l.versions++
		l.number[ver] = uint32(l.versions)
	}
	return l.number[ver]
}

// mayCount reports whether a transaction's outcome is open.
func (l *loose) mayCount(t uint32) bool { return l != nil && l.open[t] }

// exact reports whether a read of t has one possible writer, and t counts.
func (l *loose) exact(t, r uint32) bool {
	return l == nil || !l.open[t] && l.view.RW[r] != history.None
}

// install makes the versions of a transaction current. uninstall undoes that, in reverse order.
func (s *search) install(t uint32) {
	if s.loose == nil {
		return
	}
	for w := s.v.WOff[t]; w < s.v.WOff[t+1]; w++ {
		if i := s.slot[s.v.WKey[w]]; i != history.None {
			at := &s.at[len(s.lanes)+int(i)]
			s.was = append(s.was, *at)
			*at = s.number[s.v.WVer[w]]
		}
	}
}

func (s *search) uninstall(t uint32) {
	if s.loose == nil {
		return
	}
	for w := s.v.WOff[t+1]; w > s.v.WOff[t]; w-- {
		if i := s.slot[s.v.WKey[w-1]]; i != history.None {
			s.at[len(s.lanes)+int(i)] = s.was[len(s.was)-1]
			s.was = s.was[:len(s.was)-1]
		}
	}
}
