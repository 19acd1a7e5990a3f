package split

import (
	"fmt"
	"slices"
	"sort"

	"isovet/history"
	"isovet/internal/slice"
)

// facts checks properties of the whole history: transactions' ids are unique, the places in sessions that lines give
// (seq) are 0, 1, 2, …, and there is at most one initial transaction.
type facts struct {
	ids      idSet
	sessions map[int64]*place
	init     bool
	initFile string
	initLine int64
}

// place is the progress of a session.
type place struct {
	n    int64 // its transactions so far
	base int64 // of these, in files before the present one, if that counts its places from 0 again
	part int   // the present file, plus one
	seq  bool  // transactions give their places
	none bool  // transactions give no places
}

// enter prepares for the next transaction's place, or history.NoTime. A new file may continue the places of the file
// before, or begin again with 0, as a file does that is a history by itself.
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

// head has a transaction's id and place.
type head struct {
	id, line int64
	init     bool
	session  int64
	has      bool  // a session
	seq      int64 // its place there; history.NoTime: it gives none
}

// add checks the next transaction of a file. ordered says that each session's transactions must be in order.
func (f *facts) add(file string, part int, x *head, ordered bool) error {
	if err := f.unique(file, x.line, x.id); err != nil {
		return err
	}
	at := f.session(x.session, x.has && ordered)
	if x.init {
		if err := f.initial(file, x.line); err != nil {
			return err
		}
		if x.seq == 0 && at != nil {
			at.n++
		}
		return nil
	}
	if !x.has && x.seq != history.NoTime {
		return bad(file, x.line, "seq", "transaction %d has a seq and no session; expected both", x.id)
	}
	if at == nil {
		return nil
	}
	at.enter(part, x.seq)
	if x.seq == history.NoTime {
		at.none = true
	} else {
		at.seq = true
	}
	if at.seq && at.none {
		what := "a seq"
		if x.seq == history.NoTime {
			what = "no seq"
		}
		return bad(file, x.line, "seq", "transaction %d has %s, unlike other transactions of session %d in the "+
			"file; expected all or none to have a seq", x.id, what, x.session)
	}
	if want := at.n - at.base; at.seq && x.seq != want {
		return &OrderError{File: file, Line: int(x.line), Msg: fmt.Sprintf("found seq %d in session %d; expected %d "+
			"next",
			x.seq, x.session, want)}
	}
	at.n++
	return nil
}

func (f *facts) unique(file string, line, id int64) error {
	if f.ids.add(id) {
		return f.ids.err
	}
	return bad(file, line, "id", "transaction id %d occurs twice; expected unique ids in all files of a history "+
		"(isovet check DIR/* checks each file by itself)", id)
}

// done is called after the last file.
func (f *facts) done(name string) error {
	id, twice, err := f.ids.done()
	if err == nil && twice {
		return bad(name, 0, "id", "transaction id %d occurs twice; expected unique ids in all files of a history", id)
	}
	return err
}

// initial notes the initial transaction.
func (f *facts) initial(file string, line int64) error {
	if f.init {
		return bad(file, line, "init", "a second initial transaction (the first is in %s, line %d); expected one at "+
			"most", f.initFile, f.initLine)
	}
	f.init, f.initFile, f.initLine = true, file, line
	return nil
}

func (f *facts) session(name int64, has bool) *place {
	if !has {
		return nil
	}
	slice.MakeMap(&f.sessions)
	at := f.sessions[name]
	if at == nil {
		at = &place{}
		f.sessions[name] = at
	}
	return at
}

// history checks a file whose transactions give no places. Each session's transactions are in order.
func (f *facts) history(file string, part int, h *history.History) error {
	for t, id := range h.Txns.ID {
		if err := f.unique(file, int64(h.Txns.Line[t]), id); err != nil {
			return err
		}
	}
	if h.Init != history.None {
		if err := f.initial(file, int64(h.Txns.Line[h.Init])); err != nil {
			return err
		}
	}
	for s, name := range h.SessName {
		if name == history.NoTime {
			continue
		}
		at := f.session(name, true)
		at.enter(part, history.NoTime)
		at.none = true
		at.n += int64(h.SessOff[s+1] - h.SessOff[s])
	}
	return nil
}

func bad(file string, line int64, field, format string, args ...any) error {
	return &history.InputError{File: file, Line: int(line), Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// idSet is a set of ids, most of which are near earlier ones. A page of ids that is full takes no memory.
type idSet struct {
	full  []span // page numbers, ascending, apart from one another
	pages map[int64]*page
	last  *page
	at    int64 // page number of last
	out   sorted
	err   error // of the temporary file
}

type span struct{ lo, hi int64 } // both within

const pageBits = 12

// page has the ids of one range.
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
		slice.MakeMap(&s.pages)
		if s.last, s.at = s.pages[no], no; s.last == nil {
			if len(s.pages) >= maxPages && s.err == nil {
				s.err = s.shed()
				s.pages = map[int64]*page{}
			}
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

// after returns the index of the first span that ends at no or later.
func (s *idSet) after(no int64) int {
	return sort.Search(len(s.full), func(i int) bool { return s.full[i].hi >= no })
}

func (s *idSet) isFull(no int64) bool {
	if n := len(s.full); n == 0 || s.full[n-1].hi < no {
		return false
	}
	return s.full[s.after(no)].lo <= no
}

// fill marks a page as full.
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
