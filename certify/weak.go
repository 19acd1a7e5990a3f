package certify

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// weak reports whether the level is one of Biswas and Enea's axioms on a commit order: where t3 reads key x from t1 and t2, another
// writer of x, is visible to t3, t2 is before t1. Visible is what t3 read from before that read (read-committed), what it read from
// or follows in its session (read-atomic), what is before it by reads and sessions (causal).
func weak(l level.Level) bool {
	return l == level.ReadCommitted || l == level.ReadAtomic || l == level.Causal
}

// weakCycle demands that a cycle is one that the level's axiom excludes. Without anti-dependency it is: a commit order is total and
// keeps sessions and reads. With one, the rest must make the overwriter visible to the reader.
func (p *proof) weakCycle(c []evidence.Edge) error {
	at := -1
	for i, e := range c {
		if anti(e.Dep) {
			if at >= 0 {
				return fmt.Errorf("two anti-dependencies, which %s allows", p.level)
			}
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	path := slices.Concat(c[at+1:], c[:at])
	for _, e := range path {
		switch {
		case e.Dep != evidence.SO && e.Dep != evidence.WR:
			return fmt.Errorf("an anti-dependency beside an edge %s, which %s allows", e.Dep, p.level)
		case e.Dep == evidence.WR && !readsFrom(p.h, e.To, e.Ver):
			return fmt.Errorf("%s read a list in which %s is not the last of others", name(p.h, e.To), p.h.ValueString(e.Ver))
		}
	}
	switch {
	case p.level == level.Causal:
		return nil
	case len(path) > 1:
		return fmt.Errorf("%s does not make visible what is seen through other transactions", p.level)
	case p.level == level.ReadCommitted && (path[0].Dep != evidence.WR || !readsInTurn(p.h, path[0].To, path[0].Ver, c[at])):
		return fmt.Errorf("%s did not read from %s before what that overwrote", name(p.h, c[at].From), name(p.h, c[at].To))
	}
	return nil
}

// readsFrom reports whether t reads version a, or a list in which it is the last element of others.
func readsFrom(h *history.History, t, a uint32) bool {
	lo, _ := h.TxnOps(t)
	for _, op := range listReads(h, t, h.VerKey[a]) {
		if lastOfOthers(h, op, lo) == a {
			return true
		}
	}
	return reads(h, t, a)
}

// readsInTurn reports whether t reads version a and later what the anti-dependency says, each before any own write of
// its register.
func readsInTurn(h *history.History, t, a uint32, e evidence.Edge) bool {
	lo, hi := h.TxnOps(t)
	seen := false
	for op := lo; op < hi; op++ {
		if seen && (shows(h, op, lo, e.Ver) || showsState(h, op, lo, e)) {
			return true
		}
		seen = seen || shows(h, op, lo, a)
		if overwrites(h, op, e.Key) || !seen && overwrites(h, op, h.VerKey[a]) {
			return false
		}
	}
	return false
}

// shows reports whether an operation of a transaction whose operations begin at lo reads version v, or a list of which it
// is the last element of others.
func shows(h *history.History, op, lo, v uint32) bool {
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op] == v
	case history.ReadList:
		return lastOfOthers(h, op, lo) == v && v != history.None
	case history.PredRead, history.PredWrite:
		if v == history.None {
			return false
		}
		r := rowOf(h, op, h.VerKey[v])
		return r != history.None && h.Preds.Old[r] == v
	}
	return false
}

// showsState reports whether an operation reads the list in the state that an anti-dependency says.
func showsState(h *history.History, op, lo uint32, e evidence.Edge) bool {
	if h.Ops.Kind[op] != history.ReadList || h.OpKey(op) != e.Key {
		return false
	}
	v := lastOfOthers(h, op, lo)
	return v == e.Ver || v == h.InitVer[e.Key] && e.Writer == history.None
}

// overwrites reports whether an operation writes register k.
func overwrites(h *history.History, op, k uint32) bool {
	return h.Ops.Kind[op] != history.Append && writtenTo(h, op, k) != history.None
}

// commitOrder checks an order against the axiom of a weak level. Places count from 1; 0 is the initial state's.
type commitOrder struct {
	h     *history.History
	level level.Level
	order []uint32
	pos   []uint32 // transaction → place
	// wrote are the keys that the transaction at place i installs, keys[wOff[i]:wOff[i+1]], ascending; read are its external reads
	// in program order.
	wOff, keys []uint32
	rOff       []uint32
	reads      []weakRead

	truths  *predicates.Truths  // nil: no predicate operations
	sources map[uint32]uint32   // read operation → its writer, where several can explain it
	writers map[uint32][]uint32 // version → the places of those who install it, if they are several

	low   []uint32 // scratch by key: the earliest place read from, where stamp says so
	stamp []uint32
}

// weakRead is a read of key from the transaction at place from.
type weakRead struct{ key, from, op uint32 }

// checkCommitOrder demands that the order keeps sessions, that each read sees its own last write or the final write of an earlier
// transaction, and the axiom. A list has to be what the appends up to an earlier transaction make in this order, and then the own ones.
// Cost: linear, and for each reader and each writer that it read from the smaller of what was written and what was read. Causal:
// sessions × transactions, and for each read that did not see a current version the later ones before it.
func checkCommitOrder(r *evidence.Result, o Options) error {
	h, l, order := r.H, r.Level, r.Order
	if h.HasPredicates() && l != level.ReadCommitted {
		return &Unsupported{fmt.Sprintf("an order of predicates at level %s", l)}
	}
	pos, err := places(h, order)
	if err != nil {
		return err
	}
	if err := serialSessions(h, pos); err != nil {
		return err
	}
	for t, p := range pos {
		if p != history.None {
			pos[t] = p + 1
		}
	}
	x := &commitOrder{h: h, level: l, order: order, pos: pos, low: make([]uint32, h.NumKeys()), stamp: make([]uint32, h.NumKeys()), sources: make(map[uint32]uint32), writers: make(map[uint32][]uint32)}
	if h.HasPredicates() {
		if x.truths, err = predicates.NewTruths(h); err != nil {
			return err
		}
	}
	for _, s := range r.Sources {
		if int(s.Op) >= h.NumOps() || h.Ops.Kind[s.Op] != history.Read || s.Writer != history.None && int(s.Writer) >= h.NumTxns() {
			return fmt.Errorf("operation %d from transaction index %d: no read, or nobody", s.Op, s.Writer)
		}
		x.sources[s.Op] = s.Writer
	}
	if err := x.resolve(); err != nil {
		return err
	}
	switch l {
	case level.ReadCommitted:
		return x.readCommitted()
	case level.ReadAtomic:
		if err := x.readAtomic(); err != nil {
			return err
		}
		return x.sessionsAtomic()
	}
	return x.causal(o)
}

// several marks a version with more writers than can be told apart.
const several = history.None - 1

// resolve fills wrote and reads.
func (x *commitOrder) resolve() error {
	h := x.h
	writer := make([]uint32, h.NumVersions()) // place of who installs it; none: nobody
	for v := range writer {
		writer[v] = history.None
	}
	for _, v := range h.InitVer {
		if v != history.None {
			writer[v] = 0
		}
	}
	x.wOff, x.rOff = make([]uint32, 1, len(x.order)+2), make([]uint32, 1, len(x.order)+2)
	x.wOff = append(x.wOff, 0) // the initial state installs none
	x.rOff = append(x.rOff, 0)
	for i, t := range x.order {
		p := uint32(i) + 1
		lo, hi := h.TxnOps(t)
		first := len(x.keys)
		for op := hi; op > lo; op-- {
			kind := h.Ops.Kind[op-1]
			wrote(h, op-1, func(v uint32) {
				if k := h.VerKey[v]; x.stamp[k] != p {
					x.stamp[k] = p
					x.keys = append(x.keys, k)
					if kind == history.Append {
						return
					}
					switch writer[v] {
					case history.None:
						writer[v] = p
					case several:
						x.writers[v] = append(x.writers[v], p)
					default:
						x.writers[v] = append(x.writers[v], writer[v], p)
						writer[v] = several
					}
				}
			})
		}
		slices.Sort(x.keys[first:])
		x.wOff = append(x.wOff, uint32(len(x.keys)))
	}
	clear(x.stamp)
	lists := x.lists()
	own := make([]uint32, h.NumKeys()) // the own last write, or the version read before, where stamp says so
	wrote := make([]bool, h.NumKeys())
	for i, t := range x.order {
		p := uint32(i) + 1
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v, kind := h.Ops.Ver[op], h.Ops.Kind[op]
			if kind == history.ReadList {
				r, err := lists.read(t, p, op, lo)
				if err != nil {
					return err
				}
				if first := lists.first[r.key]; first.by == p && first.from != r.from && x.level != level.ReadCommitted {
					return fmt.Errorf("%s reads two states of the list %s", name(h, t), h.KeyString(r.key))
				}
				lists.first[r.key] = firstRead{p, r.from}
				x.reads = append(x.reads, r)
				continue
			}
			if isPredicate(h, op) {
				if err := x.rows(t, p, op, writer, own, wrote); err != nil {
					return err
				}
				continue
			}
			k := h.VerKey[v]
			if kind == history.Write || kind == history.Append {
				x.stamp[k], own[k], wrote[k] = p, v, true
				continue
			}
			if x.stamp[k] == p {
				if own[k] != v && (wrote[k] || x.level != level.ReadCommitted) {
					return wrongRead(h, op, t, own[k])
				}
				if wrote[k] || x.level != level.ReadCommitted {
					continue // read from where it was read before
				}
			}
			x.stamp[k], own[k], wrote[k] = p, v, false
			w := writer[v]
			if w == several || len(x.sources) > 0 {
				var err error
				if w, err = x.source(op, t, v, w); err != nil {
					return err
				}
			}
			switch {
			case w == history.None:
				return fmt.Errorf("%s reads %s = %s, which no transaction of the order installs", name(h, t), h.KeyString(k), h.ValueString(v))
			case w >= p:
				return fmt.Errorf("%s reads from %s, which comes not before it", name(h, t), name(h, x.order[w-1]))
			default:
				x.reads = append(x.reads, weakRead{k, w, op})
			}
		}
		x.rOff = append(x.rOff, uint32(len(x.reads)))
	}
	clear(x.stamp)
	return nil
}

// listStates are the lists that an order makes: of key k the elements elem[off[k]:off[k+1]], each appended by the transaction at a
// place, 0 being the initial one.
type listStates struct {
	x     *commitOrder
	off   []uint32
	elem  []uint32
	place []uint32
	first []firstRead // by key
}

// firstRead is from where the transaction at place by read a list.
type firstRead struct{ by, from uint32 }

// lists makes the states; nil where the history has no lists.
func (x *commitOrder) lists() *listStates {
	h := x.h
	if !h.HasLists() {
		return nil
	}
	l := &listStates{x: x, off: make([]uint32, h.NumKeys()+1), first: make([]firstRead, h.NumKeys())}
	each := func(f func(k, v, p uint32)) {
		appends := func(t, p uint32) {
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
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

// read checks list read op of transaction t, at place p, whose operations begin at lo.
func (l *listStates) read(t, p, op, lo uint32) (weakRead, error) {
	h := l.x.h
	k := h.OpKey(op)
	seen, ok := others(h, op, lo)
	if !ok {
		return weakRead{}, fmt.Errorf("the list %s that %s reads does not end with its own appends", h.KeyString(k), name(h, t))
	}
	list, place := l.elem[l.off[k]:l.off[k+1]], l.place[l.off[k]:l.off[k+1]]
	n, from := len(seen), uint32(0)
	if n > 0 && n <= len(list) {
		from = place[n-1]
	}
	switch {
	case n > len(list) || !slices.Equal(seen, list[:n]):
		return weakRead{}, fmt.Errorf("the list %s that %s reads is no state that the order makes", h.KeyString(k), name(h, t))
	case n < len(list) && place[n] == from:
		return weakRead{}, fmt.Errorf("the list %s that %s reads ends amid a transaction's appends", h.KeyString(k), name(h, t))
	case from >= p:
		return weakRead{}, fmt.Errorf("%s reads from %s, which comes not before it", name(h, t), name(h, l.x.order[from-1]))
	}
	return weakRead{k, from, op}, nil
}

// source returns the place of the writer of a read of t: the one that the evidence names; else only, the one there is; where there are
// several, a read being earlier than an own write of its key, the only one but t.
func (x *commitOrder) source(op, t, v, only uint32) (uint32, error) {
	h := x.h
	w, ok := x.sources[op]
	if !ok && only != several {
		return only, nil
	}
	if others := slices.DeleteFunc(slices.Clone(x.writers[v]), func(p uint32) bool { return p == x.pos[t] }); !ok && len(others) == 1 {
		return others[0], nil
	}
	switch {
	case !ok:
		return 0, fmt.Errorf("%s reads %s = %s, which several wrote, and its writer is not named", name(h, t), h.KeyString(h.VerKey[v]), h.ValueString(v))
	case w == history.None || w == h.Init:
		if h.InitVer[h.VerKey[v]] != v {
			return 0, fmt.Errorf("%s is not the initial value of %s", h.ValueString(v), h.KeyString(h.VerKey[v]))
		}
		return 0, nil
	case x.pos[w] == history.None:
		return 0, fmt.Errorf("%s reads from %s, which takes no part", name(h, t), name(h, w))
	}
	if _, last := finalWrite(h, w, h.VerKey[v]); last != v {
		return 0, fmt.Errorf("%s does not install %s = %s", name(h, w), h.KeyString(h.VerKey[v]), h.ValueString(v))
	}
	return x.pos[w], nil
}

func (x *commitOrder) readsOf(p uint32) []weakRead { return x.reads[x.rOff[p]:x.rOff[p+1]] }
func (x *commitOrder) wrote(p uint32) []uint32     { return x.keys[x.wOff[p]:x.wOff[p+1]] }

// broken says that reader read key from a transaction before one that is visible to it and wrote it too.
func (x *commitOrder) broken(reader, key, visible uint32) error {
	return fmt.Errorf("%s reads %s from before %s, which wrote it and is visible to it", name(x.h, x.order[reader-1]), x.h.KeyString(key), name(x.h, x.order[visible-1]))
}

// visible demands that no stamped key that the transaction at place u wrote was read from before u.
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
		rs := x.readsOf(p)
		first = first[:0]
		for _, r := range rs {
			first = append(first, seen[r.from] != p)
			seen[r.from] = p
		}
		for end := len(rs); end > 0; {
			from := end - 1
			for from > 0 && rs[from-1].op == rs[end-1].op { // rows that a predicate matched, none before another
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
		rs := x.readsOf(p)
		for _, r := range rs {
			x.stamp[r.key], x.low[r.key] = p, r.from // a key's reads agree
		}
		for _, r := range rs {
			if seen[r.from] != p {
				seen[r.from] = p
				if err := x.visible(p, r.from, rs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sessionsAtomic demands that no read is from before the last earlier writer of its key in the session.
func (x *commitOrder) sessionsAtomic() error {
	h := x.h
	clear(x.stamp)
	for s := range uint32(h.NumSessions()) {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			p := x.pos[t]
			if p == history.None {
				continue
			}
			for _, r := range x.readsOf(p) {
				if x.stamp[r.key] == s+1 && r.from < x.low[r.key] {
					return x.broken(p, r.key, x.low[r.key])
				}
			}
			if h.Txns.Status[t] == history.Committed {
				for _, k := range x.wrote(p) {
					x.stamp[k], x.low[k] = s+1, p
				}
			}
		}
	}
	return nil
}

// causal replays the order. Whoever does not see the current version of a key must not have in its past a writer of it that is
// later than what it saw. Who is in a past is read off clocks, which say up to which place of each session a transaction sees; the
// past of a transaction to which that does not apply, because a writer in question is no part of a session, is walked.
func (x *commitOrder) causal(o Options) error {
	c := x.newClocks()
	cur := make([]uint32, x.h.NumKeys())
	older := make([]uint32, len(x.keys)) // place in keys → that of the write of the same key before it, plus one; 0: none
	last := make([]uint32, x.h.NumKeys())
	writer := make([]uint32, len(x.keys))
	mark := make([]uint32, len(x.order)+1)
	var stale []weakRead
	var runs *writerRuns
	for p := uint32(1); int(p) <= len(x.order); p++ {
		if p&0xfff == 0 && o.Stop != nil && o.Stop() {
			return ErrStopped
		}
		c.enter(p)
		stale = stale[:0]
		walk := false
		for _, r := range x.readsOf(p) {
			if cur[r.key] == r.from {
				continue
			}
			stale = append(stale, r)
			i, steps := last[r.key], 0
			for ; i > 0 && writer[i-1] > r.from && steps < fewWriters; i, steps = older[i-1], steps+1 {
				w := writer[i-1]
				if c.session[w] == history.None {
					walk = true
				} else if c.sees(w) {
					return x.broken(p, r.key, w)
				}
			}
			if steps == fewWriters && i > 0 {
				if runs == nil {
					runs = c.runs()
				}
				w, alone := runs.visible(p, r, c.now)
				if w > 0 {
					return x.broken(p, r.key, w)
				}
				walk = walk || alone
			}
		}
		if walk {
			if err := x.walkPast(p, c.before, stale, mark); err != nil {
				return err
			}
		}
		c.leave(p)
		for i := x.wOff[p]; i < x.wOff[p+1]; i++ {
			k := x.keys[i]
			cur[k], writer[i], older[i], last[k] = p, p, last[k], i+1
		}
	}
	return nil
}

// fewWriters is up to how many writers of a key, the latest first, are looked at one by one; beyond, sessions are.
const fewWriters = 16

// writerRuns are the places of the writers of each key by session: key k has the runs off[k] to off[k+1], and run i is that of session[i],
// None for writers without clock, place[lo[i]:lo[i+1]], ascending.
type writerRuns struct {
	off, session, lo, place []uint32
}

func (c *clocks) runs() *writerRuns {
	x := c.x
	nk := x.h.NumKeys()
	at := make([]uint32, nk+1)
	for _, k := range x.keys {
		at[k+1]++
	}
	for k := range nk {
		at[k+1] += at[k]
	}
	r := &writerRuns{off: make([]uint32, nk+1), place: make([]uint32, len(x.keys))}
	next := slices.Clone(at)
	for p := uint32(1); int(p) <= len(x.order); p++ {
		for _, k := range x.wrote(p) {
			r.place[next[k]] = p
			next[k]++
		}
	}
	for k := range nk {
		ps := r.place[at[k]:at[k+1]]
		slices.SortStableFunc(ps, func(a, b uint32) int { return cmp.Compare(c.session[a], c.session[b]) })
		for i, p := range ps {
			if i == 0 || c.session[p] != c.session[ps[i-1]] {
				r.session = append(r.session, c.session[p])
				r.lo = append(r.lo, at[k]+uint32(i))
			}
		}
		r.off[k+1] = uint32(len(r.session))
	}
	r.lo = append(r.lo, uint32(len(r.place)))
	return r
}

// visible returns a writer of the read's key, later than what it read from and among those that the clock sees, 0 if there is none; alone
// reports one without clock between the two.
// Cost: logarithmic in the key's writers for each session that has one.
func (r *writerRuns) visible(p uint32, read weakRead, now []uint32) (w uint32, alone bool) {
	for i := r.off[read.key]; i < r.off[read.key+1]; i++ {
		until := p - 1
		if s := r.session[i]; s != history.None {
			until = now[s]
		}
		ps := r.place[r.lo[i]:r.lo[i+1]]
		n, found := slices.BinarySearch(ps, until)
		if found {
			n++
		}
		if n == 0 || ps[n-1] <= read.from {
			continue
		}
		if r.session[i] != history.None {
			return ps[n-1], false
		}
		alone = true
	}
	return 0, alone
}

// walkPast looks at all that is before p by sessions and reads and later than what it saw.
func (x *commitOrder) walkPast(p uint32, before []uint32, stale []weakRead, mark []uint32) error {
	oldest := p
	for _, r := range stale {
		oldest = min(oldest, r.from)
	}
	stack := []uint32{p}
	look := func(w uint32) error {
		if w <= oldest || mark[w] == p {
			return nil
		}
		mark[w] = p
		stack = append(stack, w)
		for _, r := range stale {
			if _, ok := slices.BinarySearch(x.wrote(w), r.key); ok && r.from < w {
				return x.broken(p, r.key, w)
			}
		}
		return nil
	}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if err := look(before[u]); err != nil {
			return err
		}
		for _, r := range x.readsOf(u) {
			if err := look(r.from); err != nil {
				return err
			}
		}
	}
	return nil
}

// clocks are the clocks of the transactions that somebody later will ask. Sessions of which one transaction takes part have none.
type clocks struct {
	x       *commitOrder
	before  []uint32 // place → that of the committed transaction before it in its session, or 0
	session []uint32 // place → its session among those with clocks, None for the others and for unknown outcomes
	n       int
	waiting []uint32   // place → readers and session successors to come
	clock   [][]uint32 // place → up to which place it sees each session
	spare   [][]uint32
	now     []uint32
}

func (x *commitOrder) newClocks() *clocks {
	h := x.h
	c := &clocks{x: x, before: x.sessionPredecessors()}
	size := len(x.order) + 1
	c.session, c.waiting, c.clock = make([]uint32, size), make([]uint32, size), make([][]uint32, size)
	for p, b := range c.before {
		c.session[p] = history.None
		c.waiting[b]++
	}
	for s := range h.NumSessions() {
		any := false
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			p := x.pos[t]
			if p != history.None && h.Txns.Status[t] == history.Committed && (c.before[p] > 0 || c.waiting[p] > 0) {
				c.session[p] = uint32(c.n)
				any = true
			}
		}
		if any {
			c.n++
		}
	}
	for _, r := range x.reads {
		c.waiting[r.from]++
	}
	c.now = make([]uint32, c.n)
	return c
}

// enter makes now what the transaction at place p sees.
func (c *clocks) enter(p uint32) {
	clear(c.now)
	c.join(c.before[p])
	for _, r := range c.x.readsOf(p) {
		c.join(r.from)
	}
}

func (c *clocks) join(u uint32) {
	if u == 0 {
		return
	}
	if s := c.session[u]; s == history.None || c.now[s] < u {
		for i, q := range c.clock[u] {
			if q > c.now[i] {
				c.now[i] = q
			}
		}
		if s != history.None {
			c.now[s] = u
		}
	}
	if c.waiting[u]--; c.waiting[u] == 0 {
		c.spare = append(c.spare, c.clock[u])
		c.clock[u] = nil
	}
}

// sees reports whether the transaction that entered sees u, one with a session. A session's places ascend.
func (c *clocks) sees(u uint32) bool { return c.now[c.session[u]] >= u }

// leave keeps now for those to come.
func (c *clocks) leave(p uint32) {
	if c.waiting[p] == 0 {
		return
	}
	if n := len(c.spare); n > 0 {
		c.clock[p] = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		c.clock[p] = make([]uint32, c.n)
	}
	copy(c.clock[p], c.now)
}

// sessionPredecessors returns for each place that of the last committed transaction before it in its session, or 0.
func (x *commitOrder) sessionPredecessors() []uint32 {
	h := x.h
	out := make([]uint32, len(x.order)+1)
	for s := range h.NumSessions() {
		last := uint32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if p := x.pos[t]; p != history.None {
				out[p] = last
				if h.Txns.Status[t] == history.Committed {
					last = p
				}
			}
		}
	}
	return out
}
