package certify

import (
	"fmt"
	"maps"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// doubled is a list with an element that was appended more than once, as the reads of committed transactions show it.
// All states of a list are prefixes of one another. So the longest one consists of whole transactions' appends, each at
// most once, and every reader sees the same assignment of places to transactions.
type doubled struct {
	list   []uint32 // the longest read, without the reader's own appends
	inits  int      // the initial elements
	blocks []block  // where a transaction's appends may be; grouped by transaction
	err    error    // why nothing can be proved
}

// block says that list[from:to] are the appends of transaction t.
type block struct {
	t        uint32
	from, to int
}

// maxBlocks bounds the blocks, because the number of clauses is quadratic in it.
var maxBlocks = 1 << 11

// isDoubled reports whether an element of the list was appended more than once.
func (x *index) isDoubled(key uint32) bool {
	if x.doubledKeys == nil {
		h := x.h
		x.doubledKeys = make(map[uint32]bool)
		done := make([]uint64, h.NumVersions()/64+1)
		for t := range uint32(h.NumTxns()) {
			if h.Txns.Status[t] == history.Aborted {
				continue
			}
			for op := range h.EachOp(t) {
				if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Append {
					if done[v/64]>>(v%64)&1 == 1 {
						x.doubledKeys[h.VerKey[v]] = true
					}
					done[v/64] |= 1 << (v % 64)
				}
			}
		}
	}
	return x.doubledKeys[key]
}

// appended returns what each transaction that did not abort appends to a list, and the list reads of it by committed
// transactions.
func (x *index) appended(key uint32) (by map[uint32][]uint32, reads []uint32) {
	h := x.h
	by = make(map[uint32][]uint32)
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted {
			continue
		}
		for op := range h.EachOp(t) {
			switch {
			case h.Ops.Kind[op] == history.Append && h.OpKey(op) == key:
				by[t] = append(by[t], h.Ops.Ver[op])
			case h.Ops.Kind[op] == history.ReadList && h.OpKey(op) == key && h.Txns.Status[t] == history.Committed:
				reads = append(reads, op)
			}
		}
	}
	return by, reads
}

// takeApart finds the blocks: all places in the longest of the given reads where a transaction's appends may be. If
// d.err is set, the reads do not allow that.
func (x *index) takeApart(key uint32, by map[uint32][]uint32, reads []uint32) *doubled {
	h := x.h
	d := &doubled{}
	end := map[int]bool{}
	own := map[uint32]int{}
	for _, op := range reads {
		t := h.TxnOf(op)
		lo, _ := h.TxnOps(t)
		seen, ok := others(h, op, lo)
		if n := min(len(seen), len(d.list)); !ok || !slices.Equal(seen[:n], d.list[:n]) {
			d.err = fmt.Errorf("the reads of list %s are not prefixes of one another", h.KeyString(key))
			return d
		}
		if len(seen) > len(d.list) {
			d.list = seen
		}
		end[len(seen)] = true
		own[t] = max(own[t], len(seen))
	}
	if h.Init != history.None {
		inits := by[h.Init]
		d.inits = len(inits)
		for n := range end {
			if n < d.inits || !slices.Equal(inits, d.list[:d.inits]) {
				d.err = fmt.Errorf("a read of list %s does not begin with the initial elements", h.KeyString(key))
				return d
			}
		}
		if len(d.list) < d.inits { // no read of the list
			d.list = inits
		}
	}
	end[len(d.list)] = true
	for _, t := range slices.Sorted(maps.Keys(by)) {
		if t == h.Init {
			continue
		}
	place:
		for from := max(d.inits, own[t]); from+len(by[t]) <= len(d.list); from++ {
			for i, v := range by[t] {
				if d.list[from+i] != v || i > 0 && end[from+i] {
					continue place
				}
			}
			d.blocks = append(d.blocks, block{t, from, from + len(by[t])})
			if len(d.blocks) > maxBlocks {
				d.err = &Unsupported{fmt.Sprintf("a proof on list %s: its reads split into appends in too many ways",
					h.KeyString(key))}
				return d
			}
		}
	}
	return d
}

// doubledProof is a doubled list in a proof. Each block has a variable, "the transaction's appends are there".
type doubledProof struct {
	*doubled
	lits   []Lit
	linked map[[2]uint32]bool
	within map[block]Lit // t and to → "what t appended is among the first to"
}

// doubled returns the doubledProof of a list and adds the clauses of its reads. It returns nil for a list with unique
// elements.
func (p *proof) doubled(key uint32) (*doubledProof, error) {
	if !p.x.isDoubled(key) {
		return nil, nil
	}
	d, ok := p.lists[key]
	if !ok {
		by, reads := p.x.appended(key)
		d = &doubledProof{doubled: p.x.takeApart(key, by, reads), linked: make(map[[2]uint32]bool),
			within: make(map[block]Lit)}
		p.lists[key] = d
		if d.err == nil {
			p.takenApart(d)
		}
	}
	return d, d.err
}

// takenApart adds the clauses that each place of a list is in a block, and that no place and no transaction is in two.
func (p *proof) takenApart(d *doubledProof) {
	cover := make([][]Lit, len(d.list))
	for i, b := range d.blocks {
		l := p.newVar()
		d.lits = append(d.lits, l)
		for at := b.from; at < b.to; at++ {
			cover[at] = append(cover[at], l)
		}
		for _, c := range p.counts(nil, b.t) {
			p.clause([]Lit{l.Not(), c})
		}
		for j, c := range d.blocks[:i] {
			if c.t == b.t || b.from < c.to && c.from < b.to {
				p.clause([]Lit{l.Not(), d.lits[j].Not()})
			}
		}
	}
	for _, c := range cover[d.inits:] {
		p.clause(c)
	}
}

// in returns the assumption that t's appends are among the first n elements; never says that they cannot be.
func (p *proof) in(d *doubledProof, t uint32, n int) (l Lit, never bool) {
	if l, ok := d.within[block{t: t, to: n}]; ok {
		return l, false
	}
	var some []Lit
	for i, b := range d.blocks {
		if b.t == t && b.to <= n {
			some = append(some, d.lits[i])
		}
	}
	if len(some) == 0 {
		return 0, true
	}
	l = p.newVar()
	d.within[block{t: t, to: n}] = l
	for _, s := range some {
		p.clause([]Lit{s.Not(), l})
	}
	p.clause(append(some, l.Not()))
	return l, false
}

// seen returns how many elements of other transactions a list read of t shows. They are a prefix of the longest read.
func (p *proof) seen(d *doubledProof, t, key uint32) (n int, err error) {
	lo, _ := p.h.TxnOps(t)
	ops := listReads(p.h, t, key)
	if len(ops) == 0 {
		return 0, fmt.Errorf("%s does not read the list %s", name(p.h, t), p.h.KeyString(key))
	}
	list, ok := others(p.h, ops[0], lo) // the other reads show the same, or are anomalies themselves
	if !ok || len(list) > len(d.list) || !slices.Equal(list, d.list[:len(list)]) {
		return 0, fmt.Errorf("the read of %s of list %s is not a prefix of the committed reads", name(p.h, t),
			p.h.KeyString(key))
	}
	return len(list), nil
}

// doubledWR checks a wr edge of a doubled list.
func (p *proof) doubledWR(d *doubledProof, needs []Lit, e evidence.Edge) ([]Lit, error) {
	n, err := p.seen(d, e.To, e.Key)
	if err != nil {
		return nil, err
	}
	if _, v := finalWrite(p.h, e.From, e.Key); v != e.Ver {
		return nil, fmt.Errorf("%s does not append %s last", name(p.h, e.From), p.h.ValueString(e.Ver))
	}
	l, never := p.in(d, e.From, n)
	if never {
		return nil, fmt.Errorf("%s did not read the elements that %s appended", name(p.h, e.To), name(p.h, e.From))
	}
	return append(needs, l), nil
}

// doubledRW checks an rw edge of a doubled list, and assumes that From did not read what To appended.
func (p *proof) doubledRW(d *doubledProof, needs []Lit, e evidence.Edge) ([]Lit, error) {
	n, err := p.seen(d, e.From, e.Key)
	if err != nil {
		return nil, err
	}
	l, never := p.in(d, e.To, n)
	if never {
		return needs, nil
	}
	return append(needs, l.Not()), nil
}

// link adds the order that a doubled list shows for two appenders: the one with the earlier element is first, or the
// only one with an element in the list.
func (p *proof) link(d *doubledProof, a, b uint32) {
	if a > b {
		a, b = b, a
	}
	if d.linked[[2]uint32{a, b}] {
		return
	}
	d.linked[[2]uint32{a, b}] = true
	before := p.before(nil, a, b)[0]
	var as, bs []Lit
	for i, x := range d.blocks {
		switch x.t {
		case a:
			as = append(as, d.lits[i])
			for j, y := range d.blocks {
				if y.t == b && x.to <= y.from {
					p.clause([]Lit{d.lits[i].Not(), d.lits[j].Not(), before})
				} else if y.t == b && y.to <= x.from {
					p.clause([]Lit{d.lits[i].Not(), d.lits[j].Not(), before.Not()})
				}
			}
		case b:
			bs = append(bs, d.lits[i])
		}
	}
	for _, l := range as {
		p.clause(append([]Lit{l.Not(), before}, bs...))
	}
	for _, l := range bs {
		p.clause(append([]Lit{l.Not(), before.Not()}, as...))
	}
}

// nobodyAppended proves that no choice of whole transactions' appends, each used once at most, yields what these list
// reads of one list show together.
func (x *index) nobodyAppended(ops []uint32, o Options) error {
	h := x.h
	key := history.None
	for _, op := range ops {
		if int(op) >= h.NumOps() || h.Ops.Kind[op] != history.ReadList {
			return fmt.Errorf("operation %d is not a list read", op)
		}
		if k := h.OpKey(op); key != history.None && k != key {
			return fmt.Errorf("the operations are not on the same key")
		}
		key = h.OpKey(op)
		t := h.TxnOf(op)
		if h.Txns.Status[t] != history.Committed {
			return fmt.Errorf("%s did not commit", name(h, t))
		}
		lo, _ := h.TxnOps(t)
		if _, ok := others(h, op, lo); !ok {
			return fmt.Errorf("the list that %s read does not end with its own appends: that is another anomaly",
				name(h, t))
		}
	}
	by, _ := x.appended(key)
	d := x.takeApart(key, by, ops)
	if d.err != nil {
		if u, ok := d.err.(*Unsupported); ok {
			return u
		}
		return nil
	}
	p := newProof(x, level.Serializable, 0) // any transaction of unknown outcome may have committed
	p.takenApart(&doubledProof{doubled: d})
	unsat, err := Unsatisfiable(p.clauses, o)
	if err == nil && !unsat {
		err = fmt.Errorf("some order of the appends explains these reads")
	}
	return err
}
