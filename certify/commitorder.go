package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// commitOrder checks an order against the axiom of a weak level. Places count from 1; place 0 is the initial state.
type commitOrder struct {
	h     *history.History
	level level.Level
	order []uint32
	pos   []uint32 // transaction → place
	// The transaction at place i installs the keys keys[wOff[i]:wOff[i+1]], ascending. Its reads of other transactions
	// are reads[rOff[i]:rOff[i+1]], in program order.
	wOff, keys []uint32
	rOff       []uint32
	reads      []weakRead

	truths  *predicates.Truths   // nil: no predicate operations
	writer  []uint32             // version → the place that installs it; None: no place does
	sources map[[2]uint32]uint32 // read operation and key → its writer, where several can explain it
	seen    map[uint32][]uint32  // place → the places that its predicate operations see
	writers map[uint32][]uint32  // version → the places that install it, if they are several

	low   []uint32 // scratch by key: the earliest place read from, where stamp says so
	stamp []uint32
}

// weakRead is a read of key from the transaction at place from.
type weakRead struct{ key, from, op uint32 }

// checkCommitOrder demands that the order keeps sessions and obeys the axiom, and that each read sees the transaction's
// own last write or the final write of an earlier transaction. A list read has to show a prefix of the appends that the
// order gives, up to a whole transaction, and then the reader's own appends. Cost: linear, and for each reader and each
// writer that it read from the smaller of the number of writes and of reads. Causal: sessions × transactions, and for
// each read of an older version than the current one the later versions.
func checkCommitOrder(r *evidence.Result, o Options) error {
	h, l := r.H, r.Level
	if h.HasPredicates() && h.HasLists() && l != level.ReadCommitted {
		return &Unsupported{fmt.Sprintf("an order of lists and predicates at level %s", l)}
	}
	pos, err := places(h, r.Order)
	if err != nil {
		return err
	}
	if err := keepsSessions(h, pos, pos, asksAlways); err != nil {
		return err
	}
	x := newCommitOrder(r, pos)
	if h.HasPredicates() {
		if x.truths, err = predicates.NewTruths(h); err != nil {
			return err
		}
	}
	for _, s := range r.Sources {
		if err := x.named(s); err != nil {
			return err
		}
	}
	if err := x.resolve(); err != nil {
		return err
	}
	switch l {
	case level.ReadCommitted:
		return x.readCommitted()
	case level.ReadAtomic:
		err := x.weakRules(l, o)
		if err != nil && x.truths != nil && x.weakRules(level.Causal, o) == nil {
			return nil // implies it, unless predicate operations saw others' versions
		}
		return err
	}
	return x.weakRules(l, o)
}

func newCommitOrder(r *evidence.Result, pos []uint32) *commitOrder {
	for t, p := range pos {
		if p != history.None {
			pos[t] = p + 1
		}
	}
	n := r.H.NumKeys()
	x := &commitOrder{h: r.H, level: r.Level, order: r.Order, pos: pos, low: make([]uint32, n), stamp: make([]uint32,
		n), sources: make(map[[2]uint32]uint32), seen: make(map[uint32][]uint32), writers: make(map[uint32][]uint32)}
	x.installs()
	return x
}

// several marks a version that more than one transaction of the order installs.
const several = history.None - 1

// resolve finds from where each transaction of the order reads.
func (x *commitOrder) resolve() error {
	r := &resolver{x: x, lists: x.lists(), own: make([]uint32, x.h.NumKeys()), wrote: make([]bool, x.h.NumKeys())}
	x.rOff = append(make([]uint32, 0, len(x.order)+2), 0, 0) // the initial state reads nothing
	for i, t := range x.order {
		if err := r.txn(t, uint32(i)+1); err != nil {
			return err
		}
		x.rOff = append(x.rOff, uint32(len(x.reads)))
	}
	clear(x.stamp)
	return nil
}

// installs finds the transactions that install each version, by their final writes.
func (x *commitOrder) installs() {
	h := x.h
	x.writer = nowhere(h.NumVersions())
	for _, v := range h.InitVer {
		if v != history.None {
			x.writer[v] = 0
		}
	}
	x.wOff = append(make([]uint32, 0, len(x.order)+2), 0, 0) // the initial state installs none
	reads, writes := 0, 0
	for _, kind := range h.Ops.Kind {
		switch kind {
		case history.Read, history.ReadList:
			reads++
		case history.Write, history.Append:
			writes++
		}
	}
	x.keys, x.reads = make([]uint32, 0, writes), make([]weakRead, 0, reads)
	for i, t := range x.order {
		p := uint32(i) + 1
		lo, hi := h.TxnOps(t)
		first := len(x.keys)
		for op := hi; op > lo; op-- {
			kind := h.Ops.Kind[op-1]
			if kind == history.Read || kind == history.ReadList {
				continue
			}
			wrote(h, op-1, func(v uint32) {
				if k := h.VerKey[v]; x.stamp[k] != p {
					x.stamp[k] = p
					x.keys = append(x.keys, k)
					if kind != history.Append {
						x.install(v, p)
					}
				}
			})
		}
		slices.Sort(x.keys[first:])
		x.wOff = append(x.wOff, uint32(len(x.keys)))
	}
	clear(x.stamp)
}

// install records that the transaction at place p installs version v.
func (x *commitOrder) install(v, p uint32) {
	switch x.writer[v] {
	case history.None:
		x.writer[v] = p
	case several:
		x.writers[v] = append(x.writers[v], p)
	default:
		x.writers[v] = append(x.writers[v], x.writer[v], p)
		x.writer[v] = several
	}
}

// resolver finds the writers of all reads, one transaction after the other.
type resolver struct {
	x     *commitOrder
	lists *listStates
	own   []uint32 // key → the own last write, or the version read before, where stamp says so
	wrote []bool   // key → own has a write
	match []uint32 // key → 1 + the last predicate operation that matched it
}

// txn finds the writer that each read of t, at place p, reads from.
func (r *resolver) txn(t, p uint32) (err error) {
	h, x := r.x.h, r.x
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi && err == nil; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Write, history.Append:
			k := h.VerKey[v]
			x.stamp[k], r.own[k], r.wrote[k] = p, v, true
		case history.ReadList:
			err = r.list(t, p, op, lo)
		case history.Read:
			err = r.read(t, p, op, v)
		default:
			if x.level == level.ReadCommitted {
				err = r.rows(t, p, op)
			} else {
				err = r.rowsOnce(t, p, op)
			}
		}
	}
	return err
}

// list finds the writer that list read op of t reads from.
func (r *resolver) list(t, p, op, lo uint32) error {
	read, err := r.lists.read(t, p, op, lo)
	if err != nil {
		return err
	}
	first := &r.lists.first[read.key]
	if first.by == p && first.from != read.from && r.x.level != level.ReadCommitted {
		return fmt.Errorf("%s reads list %s twice, in two different states", name(r.x.h, t), r.x.h.KeyString(read.key))
	}
	*first = firstRead{p, read.from}
	r.x.reads = append(r.x.reads, read)
	return nil
}

// read finds the source of a read of a register: the transaction's own last write; above read-committed its own earlier
// read, with which it must agree; or an earlier transaction.
func (r *resolver) read(t, p, op, v uint32) error {
	x, k := r.x, r.x.h.VerKey[v]
	if x.stamp[k] == p && (r.wrote[k] || levelOf(x.h, x.level, t) != level.ReadCommitted) {
		if r.own[k] != v {
			return wrongRead(x.h, op, t, r.own[k])
		}
		return nil
	}
	x.stamp[k], r.own[k], r.wrote[k] = p, v, false
	return x.from(t, p, op, v)
}

// from finds the writer of version v, which operation op of t reads, and records the read.
func (x *commitOrder) from(t, p, op, v uint32) (err error) {
	h, w := x.h, x.writer[v]
	if w == several || len(x.sources) > 0 {
		if w, err = x.source(op, t, v, w); err != nil {
			return err
		}
	}
	k := h.VerKey[v]
	switch {
	case w == history.None:
		return fmt.Errorf("%s reads %s = %s, which no transaction of the order installs", name(h, t), h.KeyString(k),
			h.ValueString(v))
	case w >= p:
		return fmt.Errorf("%s reads from %s, which does not precede it in the order", name(h, t), name(h, x.order[w-1]))
	}
	x.reads = append(x.reads, weakRead{k, w, op})
	return nil
}

// listStates has the lists that an order builds: list k has the elements elem[off[k]:off[k+1]], and place says which
// transaction appended each; place 0 is the initial transaction.
type listStates struct {
	x     *commitOrder
	off   []uint32
	elem  []uint32
	place []uint32
	first []firstRead // by key
}

// firstRead records that the transaction at place by read a list from the transaction at place from.
type firstRead struct{ by, from uint32 }

// lists builds listStates; nil if the history has no lists.
func (x *commitOrder) lists() *listStates {
	h := x.h
	if !h.HasLists() {
		return nil
	}
	l := &listStates{x: x, off: make([]uint32, h.NumKeys()+1), first: make([]firstRead, h.NumKeys())}
	each := func(f func(k, v, p uint32)) {
		appends := func(t, p uint32) {
			for op := range h.EachOp(t) {
				if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Append {
					f(h.VerKey[v], v, p)
				}
			}
		}
		if h.Init != history.None {
			appends(h.Init, 0)
		}
		for i, t := range x.order {
			appends(t, uint32(i)+1)
		}
	}
	each(func(k, _, _ uint32) { l.off[k+1]++ })
	for k := range h.NumKeys() {
		l.off[k+1] += l.off[k]
	}
	l.elem, l.place = make([]uint32, l.off[h.NumKeys()]), make([]uint32, l.off[h.NumKeys()])
	next := slices.Clone(l.off)
	each(func(k, v, p uint32) {
		l.elem[next[k]], l.place[next[k]] = v, p
		next[k]++
	})
	return l
}

// read checks list read op of transaction t, at place p. The operations of t begin at lo.
func (l *listStates) read(t, p, op, lo uint32) (weakRead, error) {
	h := l.x.h
	k := h.OpKey(op)
	seen, ok := others(h, op, lo)
	if !ok {
		return weakRead{}, fmt.Errorf("the list %s that %s reads does not end with its own appends", h.KeyString(k),
			name(h, t))
	}
	list, place := l.elem[l.off[k]:l.off[k+1]], l.place[l.off[k]:l.off[k+1]]
	n, from := len(seen), uint32(0)
	if n > 0 && n <= len(list) {
		from = place[n-1]
	}
	switch {
	case n > len(list) || !slices.Equal(seen, list[:n]):
		return weakRead{}, fmt.Errorf("list %s never has the state that %s reads", h.KeyString(k), name(h, t))
	case n < len(list) && place[n] == from:
		return weakRead{}, fmt.Errorf("the list %s that %s reads has only a part of another transaction's appends",
			h.KeyString(k), name(h, t))
	case from >= p:
		return weakRead{}, fmt.Errorf("%s reads from %s, which does not precede it in the order", name(h, t),
			name(h, l.x.order[from-1]))
	}
	return weakRead{k, from, op}, nil
}

// source returns the place of the writer that op of t reads v from. The evidence may name it; else it is only, if the
// version has one writer, or the latest writer before t.
func (x *commitOrder) source(op, t, v, only uint32) (uint32, error) {
	h := x.h
	w, ok := x.sources[[2]uint32{op, h.VerKey[v]}]
	if !ok && only != several {
		return only, nil
	}
	switch {
	case !ok: // if any version fits, the newest does
		all := x.writers[v]
		at, _ := slices.BinarySearch(all, x.pos[t])
		return all[max(at-1, 0)], nil
	case w == history.None || w == h.Init:
		if h.InitVer[h.VerKey[v]] != v {
			return 0, fmt.Errorf("%s is not the initial value of key %s", h.ValueString(v), h.KeyString(h.VerKey[v]))
		}
		return 0, nil
	case x.pos[w] == history.None:
		return 0, fmt.Errorf("%s reads from %s, which is not in the order", name(h, t), name(h, w))
	}
	if _, last := finalWrite(h, w, h.VerKey[v]); last != v {
		return 0, fmt.Errorf("%s does not install %s = %s", name(h, w), h.KeyString(h.VerKey[v]), h.ValueString(v))
	}
	return x.pos[w], nil
}

func (x *commitOrder) readsOf(p uint32) []weakRead { return x.reads[x.rOff[p]:x.rOff[p+1]] }
func (x *commitOrder) wrote(p uint32) []uint32     { return x.keys[x.wOff[p]:x.wOff[p+1]] }

// judged reports whether the transaction at place p must satisfy the axiom of level l.
func (x *commitOrder) judged(p uint32, l level.Level) bool {
	return !x.level.IsMixed() || levelOf(x.h, x.level, x.order[p-1]) == l
}

// broken is the error for a read of key that misses the write of a transaction which is visible to the reader.
func (x *commitOrder) broken(reader, key, visible uint32) error {
	return fmt.Errorf("%s reads an older version of %s than the one by %s, which it must see", name(x.h,
		x.order[reader-1]), x.h.KeyString(key), name(x.h, x.order[visible-1]))
}

// visible demands that reader's stamped reads saw nothing older than the writes of place u, which is visible to it.
func (x *commitOrder) visible(reader, u uint32, stamped []weakRead) error {
	w := x.wrote(u)
	if len(w) > 16 && len(w) > 4*len(stamped) {
		for _, r := range stamped {
			if _, ok := slices.BinarySearch(w, r.key); ok && x.stamp[r.key] == reader && x.low[r.key] < u {
				return x.broken(reader, r.key, u)
			}
		}
		return nil
	}
	for _, k := range w {
		if x.stamp[k] == reader && x.low[k] < u {
			return x.broken(reader, k, u)
		}
	}
	return nil
}

func (x *commitOrder) readCommitted() error {
	seen := make([]uint32, len(x.order)+1)
	var first []bool
	for p := uint32(1); int(p) <= len(x.order); p++ {
		if !x.judged(p, level.ReadCommitted) {
			continue
		}
		rs := x.readsOf(p)
		first = first[:0]
		for _, r := range rs {
			first = append(first, seen[r.from] != p)
			seen[r.from] = p
		}
		for end := len(rs); end > 0; {
			from := end - 1
			for from > 0 && rs[from-1].op == rs[end-1].op { // rows of one predicate operation: no order
				from--
			}
			for i, r := range rs[from:end] {
				if first[from+i] {
					if err := x.visible(p, r.from, rs[end:]); err != nil {
						return err
					}
				}
			}
			for _, r := range rs[from:end] {
				if x.stamp[r.key] != p {
					x.stamp[r.key], x.low[r.key] = p, r.from
				}
				x.low[r.key] = min(x.low[r.key], r.from)
			}
			end = from
		}
	}
	return nil
}

func (x *commitOrder) readAtomic() error {
	seen := make([]uint32, len(x.order)+1)
	for p := uint32(1); int(p) <= len(x.order); p++ {
		if !x.judged(p, level.ReadAtomic) {
			continue
		}
		rs := x.readsOf(p)
		for _, r := range rs {
			x.stamp[r.key], x.low[r.key] = p, r.from // all reads of the key agree
		}
		for _, r := range rs {
			if seen[r.from] != p {
				seen[r.from] = p
				if err := x.visible(p, r.from, rs); err != nil {
					return err
				}
			}
		}
		for _, u := range x.seen[p] {
			if err := x.visible(p, u, rs); err != nil {
				return err
			}
		}
	}
	return nil
}

// sessionsAtomic demands that no read saw an older version than the last earlier write of its key in the session.
func (x *commitOrder) sessionsAtomic() error {
	h := x.h
	clear(x.stamp)
	for s := range uint32(h.NumSessions()) {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			p := x.pos[t]
			if p == history.None {
				continue
			}
			atomic := x.judged(p, level.ReadAtomic)
			for _, r := range x.readsOf(p) {
				if atomic && x.stamp[r.key] == s+1 && r.from < x.low[r.key] {
					return x.broken(p, r.key, x.low[r.key])
				}
			}
			if h.Txns.Status[t] == history.Committed {
				for _, k := range x.wrote(p) {
					if x.stamp[k] != s+1 || x.low[k] < p { // with mixed levels, a session may be out of order
						x.stamp[k], x.low[k] = s+1, p
					}
				}
			}
		}
	}
	return nil
}
