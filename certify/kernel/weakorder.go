package kernel

// Weak is one of the weak levels that the kernel knows (Weak.v, weak_level).
type Weak uint8

const (
	ReadCommitted Weak = iota
	ReadAtomic
	Causal
)

// GaveUp says that CheckWeak stopped because the work was too large. The proven kernel has no such answer.
const GaveUp Outcome = IllFormed + 1

// maxClocks bounds the numbers of all clocks, 4 bytes each.
const maxClocks = 1 << 26

// CheckWeak replays an order of the transactions of a history of registers, and proves that a weak level holds
// (WeakOrder.v, check_weak). saw names the writer of each read of another transaction's version, 0 for the initial
// version.
//
// Cost: a few ns an operation, and for each read that is not of the newest version the writers since; at causal, if
// there is such a read, sessions × transactions too. It gives up where that is too much.
func CheckWeak[K ~uint8](v Weak, h Txns, c *Columns[K], order, saw []uint32) Answer {
	p := newPass(v, h, c.Keys)
	if p.ill {
		return Answer{IllFormed, p.bad}
	}
	for again := true; again; {
		again = false
		for n, i := range order {
			if int(i) >= len(p.places) || p.txns[i].id == 0 || !turn(p, c, uint32(n), i, saw) {
				if p.left < 0 {
					return Answer{GaveUp, uint32(n)}
				}
				if again = p.blind; again { // again, with clocks
					if uint64(len(p.places))*uint64(p.sessions+1) > maxClocks {
						return Answer{GaveUp, uint32(n)}
					}
					p.start(true)
					break
				}
				return Answer{FailsAt, uint32(n)}
			}
		}
	}
	return p.complete()
}

// weakHead is the part of a transaction that the pass needs, without its operations.
type weakHead struct {
	id, session uint32
	rank        uint32 // its place in the history
	committed   bool
}

// installed is a version that a transaction left; older is the version of the key before it.
type installed struct{ by, held, older uint32 }

// current is the transaction's own last write of a key.
type current struct{ by, held uint32 }

// external is a read of another transaction's version (Weak.v, external).
type external struct{ key, held, from uint32 }

// pass is the state after a part of the order (WeakOrder.v, pass).
type pass struct {
	v        Weak
	txns     []weakHead
	heads    []uint32 // in the history's order
	sessions uint32
	ill      bool
	bad      uint32

	places []uint32 // transaction → its place, from 1
	init   []uint32
	newest []uint32 // key → entry of the log, 0: none
	log    []installed
	own    []current
	reads  []external
	dirty  []uint32 // keys that the transaction wrote
	heard  []uint32 // session → its clock, sessions+1 numbers each
	clocks []uint32 // transaction → its clock
	seen   []uint32 // transaction → one more than its last reader
	blind  bool     // the check needs clocks
	left   int      // budget: writers still to be looked at
}

func newPass(v Weak, h Txns, verKey []uint32) *pass {
	txns, keys, sessions := h.Size()
	p := &pass{v: v, txns: make([]weakHead, txns+1), init: make([]uint32, keys),
		own: make([]current, keys), seen: make([]uint32, txns+1)}
	for k := range p.init {
		if x := h.Init(uint32(k) + 1); len(x) == 1 {
			p.init[k] = x[0]
		} else if len(x) > 1 {
			p.ill = true
		}
	}
	// session → its number here, so that clocks are short; far has the sessions beyond near
	near, far := make([]uint32, min(sessions, txns)+1), map[uint32]uint32{}
	h.Heads(func(t *Txn) bool {
		if t.ID == 0 || t.ID > txns || t.Session > sessions || p.txns[t.ID].id != 0 {
			p.ill, p.bad = true, t.ID
			return false
		}
		named := far[t.Session]
		if t.Session < uint32(len(near)) {
			named = near[t.Session]
		}
		if named == 0 {
			p.sessions++
			if named = p.sessions; t.Session < uint32(len(near)) {
				near[t.Session] = named
			} else {
				far[t.Session] = named
			}
		}
		p.txns[t.ID] = weakHead{t.ID, named, uint32(len(p.heads)), t.Committed}
		p.heads = append(p.heads, t.ID)
		return true
	})
	p.places, p.newest = make([]uint32, txns+1), make([]uint32, keys)
	p.left = 16*len(verKey) + 1<<22
	p.log = make([]installed, 0, len(verKey)+1)
	p.start(false)
	return p
}

func (p *pass) start(clocks bool) {
	clear(p.places)
	clear(p.newest)
	clear(p.own)
	clear(p.seen)
	p.log, p.blind = append(p.log[:0], installed{}), false
	if clocks {
		n := p.sessions + 1
		p.heard, p.clocks = make([]uint32, n*n), make([]uint32, uint32(len(p.places))*n)
	}
}

func (p *pass) clock(t uint32) []uint32 {
	n := p.sessions + 1
	return p.clocks[t*n : (t+1)*n]
}

// must reports whether t comes before u in their session (Refutation.v, must, of session_serializable).
func (p *pass) must(t, u *weakHead) bool {
	return t.committed && t.id != u.id && t.session == u.session && t.rank < u.rank
}

// turn replays transaction i, at place n from 0 (WeakOrder.v, turn).
func turn[K ~uint8](p *pass, c *Columns[K], n, i uint32, saw []uint32) bool {
	if p.places[i] != 0 {
		return false
	}
	p.reads, p.dirty = p.reads[:0], p.dirty[:0]
	for op := c.Off[i-1]; op < c.Off[i]; op++ {
		v := c.Ver[op]
		k, held := c.Keys[v], c.Held[v]
		own := &p.own[k]
		switch {
		case c.Kind[op] != 0:
			if own.by != i {
				p.dirty = append(p.dirty, k)
			}
			*own = current{i, held}
		case own.by != i && int(saw[op]) >= len(p.places):
			return false
		case own.by != i:
			p.reads = append(p.reads, external{k, held, saw[op]})
		case own.held != held:
			return false
		}
	}
	t := &p.txns[i]
	if p.clocks != nil {
		p.hear(t)
	}
	if p.v == ReadAtomic {
		for _, r := range p.reads {
			p.seen[r.from] = i + 1
		}
	}
	for _, r := range p.reads {
		if !p.explains(t, r) {
			return false
		}
		if p.v == ReadCommitted {
			p.seen[r.from] = i + 1
		}
	}
	p.places[i] = n + 1
	for _, k := range p.dirty {
		p.log = append(p.log, installed{i, p.own[k].held, p.newest[k]})
		p.newest[k] = uint32(len(p.log) - 1)
	}
	if p.clocks != nil {
		at := t.session * (p.sessions + 1)
		heard := p.heard[at : at+p.sessions+1]
		copy(heard, p.clock(i))
		heard[t.session] = max(heard[t.session], n+1)
	}
	return true
}

// hear computes a transaction's clock from its session's clock and the clocks of the transactions that it reads from
// (WeakOrder.v, hear).
func (p *pass) hear(t *weakHead) {
	c := p.clock(t.id)
	at := t.session * (p.sessions + 1)
	copy(c, p.heard[at:at+p.sessions+1])
	for _, r := range p.reads {
		if r.from == 0 || p.places[r.from] == 0 {
			continue
		}
		for s, x := range p.clock(r.from) {
			c[s] = max(c[s], x)
		}
		s := p.txns[r.from].session
		c[s] = max(c[s], p.places[r.from])
	}
}

// explains reports whether a read saw its writer's version, and no newer version may be visible (WeakOrder.v,
// explains_read, unseen).
func (p *pass) explains(t *weakHead, r external) bool {
	for at := p.newest[r.key]; at > 0; {
		e := &p.log[at]
		if e.by == r.from {
			return e.held == r.held
		}
		if p.left--; p.left < 0 || p.maySee(t, e.by) {
			return false
		}
		at = e.older
	}
	return r.from == 0 && p.init[r.key] == r.held
}

// maySee reports whether u may be visible to a read of t (WeakOrder.v, may_see).
func (p *pass) maySee(t *weakHead, u uint32) bool {
	switch p.v {
	case ReadCommitted:
		return p.seen[u] == t.id+1
	case ReadAtomic:
		return p.seen[u] == t.id+1 || p.must(&p.txns[u], t)
	}
	if p.clocks == nil {
		p.blind = true
		return true
	}
	return p.places[u] <= p.clock(t.id)[p.txns[u].session]
}

// complete checks that every committed transaction takes part, and that the order keeps each session's (Replay.v,
// complete).
func (p *pass) complete() Answer {
	after := make([]uint32, p.sessions+1)
	for _, i := range p.heads {
		t, at := &p.txns[i], p.places[i]
		switch {
		case at == 0 && t.committed, at > 0 && at <= after[t.session]:
			return Answer{FailsFor, i}
		case at > 0 && t.committed:
			after[t.session] = at
		}
	}
	return Answer{Proved, 0}
}
