package native

import (
	"errors"
	"runtime"
	"strings"

	"isovet/history"
)

// Slicer makes histories from ranges of a file's transactions. It reuses memory between calls, and is for one
// goroutine.
type Slicer struct {
	f                     *File
	vers, keys, txt, sess remap
	first                 []uint32
	arena                 []byte
	textOff               []uint32
}

// Slicer returns a slicer of the file.
func (f *File) Slicer() *Slicer { return &Slicer{f: f} }

// Slice returns transactions lo to hi of the file as a history, which does not refer to the mapping. Keys, versions
// and texts are numbered by first use; sessions have their transactions in the order of the file. Initial values are
// known for versions that these transactions name. The header is the file's. Slice releases the pages of the
// contiguous columns. Cost: linear in the transactions and their operations.
func (s *Slicer) Slice(lo, hi uint32) (h *history.History, err error) {
	err = s.f.guarded(func() error {
		h = s.slice(lo, hi)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.f.ReleaseRows(lo, hi)
	return h, nil
}

func clone[T any](col []T, lo, hi uint32) []T {
	if col == nil {
		return nil
	}
	return append(make([]T, 0, hi-lo), col[lo:hi]...)
}

func (s *Slicer) slice(lo, hi uint32) *history.History {
	all := s.f.h
	x := &all.Txns
	op, end := x.OpOff[lo], x.OpOff[hi]
	s.vers.reset(int(end - op))
	s.keys.reset(int(end-op) / 4)
	s.txt.reset(64)
	s.sess.reset(64)
	s.arena, s.textOff = nil, []uint32{0}
	h := &history.History{File: all.File, Meta: all.Meta, Init: history.None, Initial: s.value(all.Initial)}
	h.Txns = history.Txns{ID: clone(x.ID, lo, hi), Line: clone(x.Line, lo, hi), Status: clone(x.Status, lo, hi),
		OpOff: clone(x.OpOff, lo, hi+1), Start: clone(x.Start, lo, hi), Commit: clone(x.Commit, lo, hi),
		End: clone(x.End, lo, hi), StartTS: clone(x.StartTS, lo, hi), CommitTS: clone(x.CommitTS, lo, hi),
		Node: clone(x.Node, lo, hi), Name: clone(x.Name, lo, hi), Level: clone(x.Level, lo, hi)}
	for i := range h.Txns.OpOff {
		h.Txns.OpOff[i] -= op
	}
	for _, col := range [...][]uint32{h.Txns.Node, h.Txns.Name, h.Txns.Level} {
		for i, t := range col {
			if t != history.None {
				col[i] = s.text(t)
			}
		}
	}
	if all.Init != history.None && all.Init >= lo && all.Init < hi {
		h.Init = all.Init - lo
	}
	h.Ops = history.Ops{Kind: clone(all.Ops.Kind, op, end), Ver: clone(all.Ops.Ver, op, end),
		Start: clone(all.Ops.Start, op, end), End: clone(all.Ops.End, op, end)}
	for i, k := range h.Ops.Kind {
		switch v := h.Ops.Ver[i]; k {
		case history.ReadList:
			h.Ops.Ver[i] = s.list(h, v)
		case history.PredRead, history.PredWrite:
			h.Ops.Ver[i] = s.pred(h, v)
		default:
			h.Ops.Ver[i] = s.version(h, v)
		}
	}
	h.InitVer = make([]uint32, len(h.Keys))
	for k, from := range s.keys.back {
		h.InitVer[k] = history.None
		if v := all.InitVer[from]; v != history.None {
			h.InitVer[k] = s.vers.at(v).next - 1
		}
	}
	s.sessions(h, lo)
	h.Texts = history.NewTexts(s.arena, s.textOff)
	return h
}

func (s *Slicer) sessions(h *history.History, lo uint32) {
	all := s.f.h
	n := len(h.Txns.ID)
	h.Txns.Sess = make([]uint32, n)
	var count []uint32
	for t := range h.Txns.Sess {
		from := all.Txns.Sess[lo+uint32(t)]
		i, isNew := s.sess.add(from)
		if isNew {
			h.SessName = append(h.SessName, all.SessName[from])
			count = append(count, 0)
		}
		h.Txns.Sess[t] = i
		count[i]++
	}
	h.SessOff = make([]uint32, len(count)+1)
	for i, c := range count {
		h.SessOff[i+1] = h.SessOff[i] + c
	}
	h.SessTxn = make([]uint32, n)
	s.first = append(s.first[:0], h.SessOff[:len(count)]...)
	for t, i := range h.Txns.Sess {
		h.SessTxn[s.first[i]] = uint32(t)
		s.first[i]++
	}
}

func (s *Slicer) text(t uint32) uint32 {
	i, isNew := s.txt.add(t)
	if isNew {
		s.arena = s.f.h.Texts.AppendText(s.arena, t)
		s.textOff = append(s.textOff, uint32(len(s.arena)))
	}
	return i
}

func (s *Slicer) value(v history.Value) history.Value {
	if v.Kind == history.String || v.Kind == history.Row {
		v.N = int64(s.text(uint32(v.N)))
	}
	return v
}

func (s *Slicer) key(h *history.History, k uint32) uint32 {
	i, isNew := s.keys.add(k)
	if isNew {
		h.Keys = append(h.Keys, s.value(s.f.h.Keys[k]))
	}
	return i
}

func (s *Slicer) version(h *history.History, v uint32) uint32 {
	i, isNew := s.vers.add(v)
	if isNew {
		all := s.f.h
		val := s.value(all.VerValue(v))
		h.VerKey = append(h.VerKey, s.key(h, all.VerKey[v]))
		h.VerKind = append(h.VerKind, val.Kind)
		h.VerN = append(h.VerN, val.N)
	}
	return i
}

func (s *Slicer) list(h *history.History, from uint32) uint32 {
	l, all := &h.Lists, &s.f.h.Lists
	if len(l.Off) == 0 {
		l.Off = append(l.Off, 0)
	}
	l.Key = append(l.Key, s.key(h, all.Key[from]))
	for _, e := range all.Elem[all.Off[from]:all.Off[from+1]] {
		l.Elem = append(l.Elem, s.version(h, e))
	}
	l.Off = append(l.Off, uint32(len(l.Elem)))
	return uint32(len(l.Key)) - 1
}

func (s *Slicer) pred(h *history.History, from uint32) uint32 {
	p, all := &h.Preds, &s.f.h.Preds
	if len(p.Off) == 0 {
		p.Off = append(p.Off, 0)
	}
	p.Pred = append(p.Pred, s.text(all.Pred[from]))
	version := func(v uint32) uint32 {
		if v == history.None {
			return v
		}
		return s.version(h, v)
	}
	for j := all.Off[from]; j < all.Off[from+1]; j++ {
		p.Old = append(p.Old, version(all.Old[j]))
		p.New = append(p.New, version(all.New[j]))
	}
	p.Off = append(p.Off, uint32(len(p.Old)))
	return uint32(len(p.Pred)) - 1
}

// remap renumbers numbers in the order of their first use.
type remap struct {
	slot []slot
	mask uint32
	back []uint32 // new → old
}

type slot struct{ old, next uint32 } // next: the new one plus one; 0: free

// reset empties the map and makes room for about n numbers.
func (m *remap) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	m.back = m.back[:0]
	if len(m.slot) >= size && len(m.slot) <= 8*size {
		clear(m.slot)
		return
	}
	m.slot, m.mask = make([]slot, size), uint32(size-1)
}

func (m *remap) at(old uint32) *slot {
	for i := old * 0x9e3779b1 >> 7; ; i++ {
		if e := &m.slot[i&m.mask]; e.next == 0 || e.old == old {
			return e
		}
	}
}

// add returns the new number of old, and whether old was unknown.
func (m *remap) add(old uint32) (uint32, bool) {
	e := m.at(old)
	if e.next != 0 {
		return e.next - 1, false
	}
	*e = slot{old, uint32(len(m.back)) + 1}
	m.back = append(m.back, old)
	if 4*len(m.back) > 3*len(m.slot) {
		m.slot, m.mask = make([]slot, 2*len(m.slot)), 2*m.mask+1
		for i, o := range m.back {
			*m.at(o) = slot{o, uint32(i) + 1}
		}
	}
	return uint32(len(m.back)) - 1, true
}

func outOfRange(err error) bool {
	r, ok := errors.AsType[runtime.Error](err)
	return ok && strings.Contains(r.Error(), "out of range")
}
