package kernel

// Txns is the access to a history that the replay of an order needs, so that millions of transactions need not be
// copied. All makes one from a History.
type Txns interface {
	// Size returns the largest numbers that occur, or larger ones.
	Size() (txns, keys, sessions uint32)
	// Init returns a key's initial content.
	Init(k uint32) Cell
	// Heads calls f with each transaction, each session in its order, until f returns false. Ops may be nil.
	Heads(f func(t *Txn) bool)
	// Txn returns the transaction of a number, nil if there is none. It is valid until the next call.
	Txn(id uint32) *Txn
}

// Outcome is the kernel's answer about an order (Answer.v).
type Outcome uint8

const (
	Proved    Outcome = iota
	FailsAt           // the N-th entry of the order, from 0, fails
	FailsFor          // transaction N is missing, or is before one that it must follow
	IllFormed         // two transactions or none have the number N
)

// Answer is an outcome and the place that it is about.
type Answer struct {
	Outcome Outcome
	N       uint32
}

// Event is an entry of an order at the snapshot levels.
type Event struct {
	Commit bool
	Txn    uint32
}

// CheckSerial replays a serial order, and proves that the level holds (Replay.v, check_serial). Cost: linear in the
// operations and the lists read; a search costs the cells of its predicate.
func CheckSerial(l Level, h Txns, order []uint32) Answer {
	r := newReplay(l, h)
	if r.ill || !l.Serial {
		return Answer{IllFormed, r.bad}
	}
	for n, i := range order {
		t := h.Txn(i)
		if t == nil || r.begins[i] != 0 {
			return Answer{FailsAt, uint32(n)}
		}
		r.latest = max(r.latest, t.Began)
		if r.late(t) || !r.exec(t.Ops, false) {
			return Answer{FailsAt, uint32(n)}
		}
		r.begins[i] = uint32(n) + 1
	}
	r.commits = r.begins
	return r.complete()
}

// CheckSnapshot replays an order of begins and commits (Replay.v, check_snapshot). Cost: as CheckSerial.
func CheckSnapshot(l Level, h Txns, order []Event) Answer {
	r := newReplay(l, h)
	if r.ill || l.Serial {
		return Answer{IllFormed, r.bad}
	}
	r.commits = make([]uint32, len(r.begins))
	r.last = make([]uint32, len(r.one))
	for n, e := range order {
		t, place := h.Txn(e.Txn), uint32(n)+1
		if t == nil {
			return Answer{FailsAt, uint32(n)}
		}
		if e.Commit {
			begin := r.begins[e.Txn]
			if begin == 0 || r.commits[e.Txn] != 0 || r.late(t) || !r.free(t.Ops, begin) {
				return Answer{FailsAt, uint32(n)}
			}
			r.apply(t.Ops, place)
			r.commits[e.Txn] = place
			continue
		}
		if r.begins[e.Txn] != 0 || !r.exec(t.Ops, true) {
			return Answer{FailsAt, uint32(n)}
		}
		r.begins[e.Txn] = place
		r.latest = max(r.latest, t.Began)
	}
	return r.complete()
}

// replay is the state of a replay: the content of each key, and places in the order, from 1; 0 is none.
type replay struct {
	l   Level
	h   Txns
	ill bool // a number occurs twice, or is too large
	bad uint32

	one             []uint32 // key → its only element; 0: it is absent; many: see long
	long            map[uint32]*list
	undo            []undone
	begins, commits []uint32 // transaction → its places
	last            []uint32 // key → place of the last commit that wrote it
	sessions        uint32
	latest          uint64 // the latest begin in real time so far
	set             map[uint32]bool
}

// many marks a cell with more than one element.
const many = ^uint32(0)

// list is a cell with more than one element. It begins with the elements of like, the list read last.
type list struct{ cell, like Cell }

// undone is the content of a key before a write.
type undone struct {
	key, one uint32
	list     *list
	cell     Cell
}

func newReplay(l Level, h Txns) *replay {
	txns, keys, sessions := h.Size()
	r := &replay{l: l, h: h, one: make([]uint32, keys+1), long: map[uint32]*list{}, begins: make([]uint32, txns+1),
		sessions: sessions}
	for k := uint32(1); k <= keys; k++ {
		r.put(k, h.Init(k))
	}
	h.Heads(func(t *Txn) bool { // for now begins marks the numbers seen
		if t.ID == 0 || t.ID > txns || t.Session > sessions || r.begins[t.ID] != 0 {
			r.ill, r.bad = true, t.ID
			return false
		}
		r.begins[t.ID] = 1
		return true
	})
	clear(r.begins)
	return r
}

// cell returns the content of a key (Replay.v, cell_of).
func (r *replay) cell(k uint32) Cell {
	switch {
	case int(k) >= len(r.one) || r.one[k] == 0:
		return nil
	case r.one[k] == many:
		return r.long[k].cell
	}
	return r.one[k : k+1]
}

// is reports whether a key holds x.
func (r *replay) is(k uint32, x Cell) bool {
	held := r.one[k]
	if held != many {
		return len(x) == 1 && held == x[0] || len(x) == 0 && held == 0
	}
	l := r.long[k]
	if len(x) != len(l.cell) {
		return false
	}
	if len(x) == 0 || len(l.like) == len(x) && &l.like[0] == &x[0] {
		return true
	}
	if !equal(l.cell, x) {
		return false
	}
	l.like = x
	return true
}

func (r *replay) put(k uint32, x Cell) {
	switch {
	case len(x) == 0:
		r.one[k] = 0
	case len(x) == 1 && x[0] != 0 && x[0] != many:
		r.one[k] = x[0]
	default:
		r.one[k] = many
		r.long[k] = &list{cell: append(Cell(nil), x...)}
	}
}

func (r *replay) push(k, e uint32) {
	if r.one[k] != many {
		c := append(make(Cell, 0, 4), r.cell(k)...)
		r.one[k] = many
		r.long[k] = &list{cell: append(c, e)}
		return
	}
	l := r.long[k]
	l.cell = append(l.cell, e)
}

// keep saves the content of a key, for undo.
func (r *replay) keep(k uint32) {
	u := undone{key: k, one: r.one[k]}
	if u.one == many {
		u.list = r.long[k]
		u.cell = u.list.cell
	}
	r.undo = append(r.undo, u)
}

func (r *replay) takeBack() {
	for i := len(r.undo) - 1; i >= 0; i-- {
		u := &r.undo[i]
		if r.one[u.key] = u.one; u.one != many {
			continue
		}
		l := u.list
		if l.cell = u.cell; len(l.like) > len(l.cell) {
			l.like = nil
		}
		r.long[u.key] = l
	}
	r.undo = r.undo[:0]
}

// exec executes operations and reports whether each read saw the current content. With back it undoes the writes at the
// end (Replay.v, exec and run_ops).
func (r *replay) exec(ops []Op, back bool) bool {
	for i := range ops {
		o := &ops[i]
		if o.Kind == Search {
			if !r.matched(o.Match) {
				return false
			}
			continue
		}
		k := o.Key
		if int(k) >= len(r.one) {
			return false
		}
		if o.Kind == Read {
			if !r.is(k, o.Cell) {
				return false
			}
			continue
		}
		if back {
			r.keep(k)
		}
		if o.Kind == Write {
			r.put(k, o.Cell)
		} else {
			r.push(k, o.Elem)
		}
	}
	if back {
		r.takeBack()
	}
	return true
}

// apply installs the writes of operations (Replay.v, apply_ops and mark).
func (r *replay) apply(ops []Op, place uint32) {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case Write:
			r.put(o.Key, o.Cell)
			r.last[o.Key] = place
		case Append:
			r.push(o.Key, o.Elem)
			r.last[o.Key] = place
		}
	}
}

// free reports whether no commit after the place begin wrote a key that ops write.
func (r *replay) free(ops []Op, begin uint32) bool {
	for i := range ops {
		if o := &ops[i]; o.Kind >= Write && r.last[o.Key] > begin {
			return false
		}
	}
	return true
}

// matched reports whether the predicate can find exactly these keys now.
func (r *replay) matched(m *Match) bool {
	if r.set == nil {
		r.set = map[uint32]bool{}
	}
	clear(r.set)
	for _, k := range m.Keys {
		if !m.Pred.possible(k, r.cell(k)) {
			return false
		}
		r.set[k] = true
	}
	for k, xs := range m.Pred.Cells {
		if !r.set[k] && among(xs, r.cell(k)) {
			return false
		}
	}
	return true
}

// late reports whether t ended in real time before the begin of a transaction that precedes it in the order.
func (r *replay) late(t *Txn) bool {
	return r.l.RealTime && t.Committed && !t.NoEnd && t.Ended < r.latest
}

// complete checks that every committed transaction takes part, and that the order keeps each session's.
func (r *replay) complete() Answer {
	a := Answer{Proved, 0}
	var after []uint32 // session → the place of its last committed transaction
	if r.l.Sessions {
		after = make([]uint32, r.sessions+1)
	}
	r.h.Heads(func(t *Txn) bool {
		b, c := r.begins[t.ID], r.commits[t.ID]
		switch {
		case b == 0 && c == 0:
			if t.Committed {
				a = Answer{FailsFor, t.ID}
			}
		case b == 0 || c == 0:
			a = Answer{FailsFor, t.ID}
		case r.l.Sessions:
			if b <= after[t.Session] {
				a = Answer{FailsFor, t.ID}
			} else if t.Committed {
				after[t.Session] = max(after[t.Session], c)
			}
		}
		return a.Outcome == Proved
	})
	return a
}

// All gives the replay access to a whole History.
func All(h *History) Txns {
	x := &whole{h: h, at: make(map[uint32]int, len(h.Txns))}
	for i := range h.Txns {
		t := &h.Txns[i]
		x.at[t.ID] = i
		x.txns, x.sessions = max(x.txns, t.ID), max(x.sessions, t.Session)
		for j := range t.Ops {
			x.keys = max(x.keys, t.Ops[j].Key)
		}
	}
	for k := range h.Init {
		x.keys = max(x.keys, k)
	}
	return x
}

type whole struct {
	h                    *History
	at                   map[uint32]int
	txns, keys, sessions uint32
}

func (x *whole) Size() (txns, keys, sessions uint32) { return x.txns, x.keys, x.sessions }

func (x *whole) Init(k uint32) Cell { return x.h.Init[k] }

func (x *whole) Heads(f func(t *Txn) bool) {
	for i := range x.h.Txns {
		if !f(&x.h.Txns[i]) {
			return
		}
	}
}

func (x *whole) Txn(id uint32) *Txn {
	if i, ok := x.at[id]; ok {
		return &x.h.Txns[i]
	}
	return nil
}
