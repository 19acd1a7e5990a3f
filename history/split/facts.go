package split

import (
	"fmt"
	"slices"
	"sort"

	"isovet/history"
)

// Facts are what of a history can only be checked over all its batches: that transactions' ids are unique, that the
// places which lines of sessions give (seq) are 0, 1, 2, … , that there is one initial transaction at most, and that
// all times are there that were asked for. The zero value is ready for the first batch.
type Facts struct {
	ids      idSet
	sessions map[int64]*place
	init     bool
	initFile string
	initLine uint32
	initSeq  bool
}

// place is how far a session has come.
type place struct {
	n    int64 // its transactions so far
	base int64 // of these, in files before the present one, if that counts its places from 0 again
	part int   // the present file, plus one
	seq  bool  // transactions give their places
	none bool  // transactions give no places
}

// enter notes that a transaction of a file comes, with its place or history.NoTime: a file may count on from the one
// before it, or begin with 0 again, as one does that is a history by itself.
func (p *place) enter(part int, seq int64) {
	if p.part == part+1 {
		return
	}
	p.part, p.seq, p.none = part+1, false, false
	p.base = 0
	if seq == 0 {
		p.base = p.n
	}
}

// Add takes the next batch, in the order of the pieces and of their batches.
func (f *Facts) Add(b *Batch) error {
	if err := f.unique(b); err != nil {
		return err
	}
	return f.order(b)
}

// unique checks ids and initial transactions.
func (f *Facts) unique(b *Batch) error {
	h := b.H
	if h.Init != history.None {
		if f.init {
			return wrong(h, h.Init, "init", "a second initial transaction (the first is in %s, line %d); expected "+
				"one at most", f.initFile, f.initLine)
		}
		f.init, f.initFile, f.initLine = true, h.File, h.Txns.Line[h.Init]
		f.initSeq = b.seqs != nil && b.seqs[h.Init] == 0
	}
	for t, id := range h.Txns.ID {
		if !f.ids.add(id) {
			return wrong(h, uint32(t), "id", "transaction id %d occurs twice; expected unique ids in all files of a "+
				"history (isovet check DIR/* checks each file by itself)", id)
		}
	}
	return nil
}

// order checks the places that lines give.
func (f *Facts) order(b *Batch) error {
	h := b.H
	if f.sessions == nil {
		f.sessions = map[int64]*place{}
	}
	for s, name := range h.SessName {
		if name == history.NoTime {
			continue
		}
		at := f.sessions[name]
		if at == nil {
			at = &place{}
			f.sessions[name] = at
		}
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		if b.seqs == nil && !at.seq {
			at.enter(b.part, history.NoTime)
			at.none = true
			at.n += int64(len(txns))
			continue
		}
		for _, t := range txns {
			seq := int64(history.NoTime)
			if b.seqs != nil {
				seq = b.seqs[t]
			}
			at.enter(b.part, seq)
			if seq == history.NoTime {
				at.none = true
			} else {
				at.seq = true
			}
			if at.seq && at.none {
				return wrong(h, t, "seq", "transaction %d has %s, others of session %d in the file have not so; "+
					"expected all or none to have one", h.Txns.ID[t], map[bool]string{true: "no seq",
					false: "a seq"}[seq == history.NoTime], name)
			}
			if at.n == 0 && seq == 1 && f.initSeq {
				at.n = 1
			}
			if want := at.n - at.base; at.seq && seq != want {
				return &OrderError{File: h.File, Line: int(h.Txns.Line[t]), Msg: fmt.Sprintf("seq %d in session %d, "+
					"where %d was next", seq, name, want)}
			}
			at.n++
		}
	}
	return nil
}

// Done is called behind the last batch.
func (f *Facts) Done() error { return nil }

func wrong(h *history.History, t uint32, field, format string, args ...any) error {
	return &history.InputError{File: h.File, Line: int(h.Txns.Line[t]), Off: -1, Field: field,
		Msg: fmt.Sprintf(format, args...)}
}

// idSet is a set of ids of which most stand near those before: pages of it that are full cost nothing.
type idSet struct {
	full  []span // page numbers, ascending, apart from one another
	pages map[int64]*page
	last  *page
	at    int64 // page number of last
}

type span struct{ lo, hi int64 } // both within

const pageBits = 12

// page is the ids of one stretch.
type page struct {
	n    int
	bits [1 << pageBits / 64]uint64
}

// add adds an id and reports whether it was new.
func (s *idSet) add(id int64) bool {
	no := id >> pageBits
	if s.last == nil || s.at != no {
		if s.isFull(no) {
			return false
		}
		if s.pages == nil {
			s.pages = map[int64]*page{}
		}
		if s.last, s.at = s.pages[no], no; s.last == nil {
			s.last = &page{}
			s.pages[no] = s.last
		}
	}
	w, bit := &s.last.bits[id>>6&(1<<pageBits/64-1)], uint64(1)<<(id&63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	if s.last.n++; s.last.n == 1<<pageBits {
		delete(s.pages, no)
		s.last = nil
		s.fill(no)
	}
	return true
}

// after is where the first span is that ends at no or behind it.
func (s *idSet) after(no int64) int {
	return sort.Search(len(s.full), func(i int) bool { return s.full[i].hi >= no })
}

func (s *idSet) isFull(no int64) bool {
	if n := len(s.full); n == 0 || s.full[n-1].hi < no {
		return false
	}
	i := s.after(no)
	return s.full[i].lo <= no
}

// fill enters a page that is full.
func (s *idSet) fill(no int64) {
	i := s.after(no)
	left := i > 0 && s.full[i-1].hi == no-1
	right := i < len(s.full) && s.full[i].lo == no+1
	switch {
	case left && right:
		s.full[i-1].hi = s.full[i].hi
		s.full = slices.Delete(s.full, i, i+1)
	case left:
		s.full[i-1].hi = no
	case right:
		s.full[i].lo = no
	default:
		s.full = slices.Insert(s.full, i, span{no, no})
	}
}
