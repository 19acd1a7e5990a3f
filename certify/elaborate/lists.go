package elaborate

import (
	"maps"
	"slices"

	"isovet/history"
)

func (s *scene) element(k, v uint32) {
	if s.elements[k] == nil {
		s.elements[k] = map[uint32]bool{}
	}
	s.elements[k][v] = true
}

// appends adds the elements that a transaction appends to a list.
func (s *scene) appends(t, k uint32) {
	if int(t) >= s.h.NumTxns() || !s.isList(k) {
		return
	}
	for op := range s.h.EachOp(t) {
		if s.h.Ops.Kind[op] == history.Append && s.h.OpKey(op) == k {
			s.element(k, s.h.Ops.Ver[op])
		}
	}
}

// appenders adds all appends of elements that are in the scene, and reports whether any of them is new.
func (s *scene) appenders() (some bool) {
	keys := slices.Sorted(maps.Keys(s.elements))
	s.want(keys)
	for _, k := range keys {
		for _, w := range s.keys[k].writers {
			if a := (access{w.t, k}); s.elements[k][w.v] && !s.writes[a] {
				some = true
				s.write(w.t, k)
			}
		}
	}
	return some
}

// manyShown bounds the elements that a list's reads show, if allReaders is to add all of them.
const manyShown = 1 << 14

// allReaders adds all reads of the scene's lists, unless they show many elements. If an element was appended more than
// once, any of these reads may tell which append it shows.
func (s *scene) allReaders() {
	h := s.h
	for _, k := range slices.Sorted(maps.Keys(s.elements)) {
		s.want([]uint32{k})
		n := 0
		for _, r := range s.keys[k].readers {
			i := h.Ops.Ver[r.v]
			n += int(h.Lists.Off[i+1] - h.Lists.Off[i])
		}
		if n > manyShown {
			continue
		}
		for _, r := range s.keys[k].readers {
			s.read(r.t, k)
			s.shown(r.t)
		}
	}
}

// shown adds the elements of the short lists that a transaction read.
func (s *scene) shown(t uint32) {
	h := s.h
	for op := range h.EachOp(t) {
		if h.Ops.Kind[op] != history.ReadList {
			continue
		}
		i := h.Ops.Ver[op]
		if saw := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]; len(saw) <= shortList {
			for _, v := range saw {
				s.element(h.Lists.Key[i], v)
			}
		}
	}
}

// shortList bounds the lists that the scene takes whole where no cycle says which elements matter.
const shortList = 1 << 11

// reader returns a transaction that saw elements of a list for which f is true, a committed one if possible. It looks
// at a few million elements at most.
func (s *scene) reader(k uint32, f func(t uint32, saw []uint32) bool) uint32 {
	h := s.h
	by, left := history.None, 1<<23
	for _, r := range s.keys[k].readers {
		i := h.Ops.Ver[r.v]
		saw := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
		if left -= len(saw); left < 0 {
			break
		}
		committed := h.Txns.Status[r.t] == history.Committed
		if (by == history.None || committed) && f(r.t, saw) {
			if by = r.t; committed {
				break
			}
		}
	}
	return by
}

// appended returns the first element that a transaction appended to a list.
func (s *scene) appended(t, k uint32) (v uint32, some bool) {
	for _, w := range s.keys[k].writers {
		if w.t == t {
			return w.v, true
		}
	}
	return 0, false
}

// listReader adds one read that saw what a transaction of unknown outcome appended to a list.
func (s *scene) listReader(u, k uint32) {
	e, some := s.appended(u, k)
	if !some {
		return
	}
	by := s.reader(k, func(t uint32, saw []uint32) bool { return t != u && slices.Contains(saw, e) })
	if by != history.None {
		s.element(k, e)
		s.write(u, k)
		s.read(by, k)
	}
}

// listOrder adds a read that saw a's element of a list before b's, or without b's.
func (s *scene) listOrder(a, b, k uint32) {
	s.want([]uint32{k})
	e, some := s.appended(a, k)
	f, other := s.appended(b, k)
	if !some || !other {
		return
	}
	for pass := range 3 { // a read of both, a read of a's alone, a read of unknown outcome
		by := s.reader(k, func(t uint32, saw []uint32) bool {
			i := slices.Index(saw, e)
			return i >= 0 && !slices.Contains(saw[:i], f) && (pass == 2 || slices.Contains(saw[i:], f) == (pass == 0) &&
				s.h.Txns.Status[t] == history.Committed)
		})
		if by != history.None {
			s.read(by, k)
			return
		}
	}
}
