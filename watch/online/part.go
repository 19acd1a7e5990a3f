package online

import (
	"cmp"
	"slices"

	"isovet/history"
)

// Kind is the kind of a finding.
type Kind uint8

const (
	// Violated says that Members, with the writers of their versions, violate the level by themselves.
	Violated Kind = iota
	// Undecided says that no order was found that keeps the forgotten transactions fixed, and no proof of a violation
	// either.
	Undecided
	// Late says that a read is not judged because its writer came late.
	Late
)

// Reasons why a read is undecided that a larger budget might decide.
const (
	// Skipped: earlier searches and proofs used up the credit.
	Skipped = "not judged: earlier searches and proofs used up the budget, which grows with each transaction"
	// GaveUp: the search reached maxSteps.
	GaveUp = "watch gave up its search for an order that explains this: it took too long"
)

// Finding is a finding about a read, or about a transaction's place in its session.
type Finding struct {
	Kind  Kind
	Why   string // of Undecided: Skipped, GaveUp, or ""
	Line  int64  // of the transaction
	Op    uint32
	Other int64 // the writer of the version read, if it matters; −1: nobody, or the initial state
	// Members are the transactions of a proof, in the order of their sessions.
	Members []Member
	// Thin are reads of versions that no transaction can have written unless it aborted.
	Thin   []ReadAt
	Itself bool // the transaction contradicts itself, whoever wrote its versions
	// Initial are reads of first values. Unseen has a read of each version whose writer is outside the stream; other
	// reads may have seen the same version.
	Initial, Unseen []ReadAt
}

// Contradicts returns the finding for a transaction with two operations that contradict each other.
func Contradicts(line int64, op, other uint32) Finding {
	return Finding{Kind: Violated, Line: line, Op: op, Other: noLine, Itself: true, Members: []Member{{Line: line}},
		Thin: []ReadAt{{line, op}, {line, other}}}
}

// Member is a transaction of a proof.
type Member struct {
	Line    int64
	Without []uint32 // places of reads to leave out, with later ones of the same key
	Alone   bool     // treated as a transaction without session
	// Outside says that the proof needs only its writes, which members read.
	Outside bool
}

// ReadAt identifies a read by its transaction's line and its index.
type ReadAt struct {
	Line int64
	Op   uint32
}

// outsider is a transaction whose writes the members of a part read and that is not itself a member.
type outsider struct {
	line, start, end int64
	sess             uint32
	seq              int64
	status           history.Status
	writes           []kv
}

// refute checks whether transactions of the window violate the level by themselves: first the few that the solver used
// to refute the window, then all.
func (e *Engine) refute(ms []misfit) bool {
	less := slices.Clone(e.w.seed)
	for _, m := range ms {
		less = append(less, m.slot)
	}
	slices.Sort(less)
	less = slices.Compact(less)
	return len(less) < len(e.w.members) && e.prove(less, ms) || e.prove(slices.Clone(e.w.members), ms)
}

// refuteAlone checks only the readers, with the transactions that overwrote the versions they read.
func (e *Engine) refuteAlone(ms []misfit) bool {
	var members []uint32
	for _, m := range ms {
		members = append(members, m.slot)
		// who overwrote what was seen
		if c := &e.cells[e.slots[m.slot].reads[m.i].key]; c.head != none {
			for at := c.head; at != none; {
				y, w := e.at(at)
				if w.prev == none || y.commit < e.slots[m.slot].begin && at.slot() != m.slot {
					members = append(members, at.slot())
					break
				}
				at = w.prev
			}
		}
	}
	slices.Sort(members)
	return e.prove(slices.Compact(members), ms)
}

func (e *Engine) prove(members []uint32, ms []misfit) bool {
	p := e.part(members, false)
	dead := p == nil && e.attempt.dead
	if dead {
		p = e.part(members, true)
	}
	if p == nil {
		return false
	}
	for range 4 { // reduce the proof to the transactions that its refutation used
		var less []uint32
		for _, s := range p.seed {
			if int(s) < len(p.txns) && p.txns[s] != noSlot {
				less = append(less, p.txns[s])
			}
		}
		slices.Sort(less)
		less = slices.Compact(less)
		if len(less) == 0 || len(less) >= len(members) {
			break
		}
		q := e.part(less, dead)
		if q == nil {
			break
		}
		p, members = q, less
	}
	first := ms[0]
	f := Finding{Kind: Violated, Line: e.slots[first.slot].line, Other: noLine, Members: e.membersOf(p), Thin: p.thin}
	if first.i >= 0 {
		f.Op = e.slots[first.slot].reads[first.i].at
	}
	f.Initial, f.Unseen = e.strange(p, members)
	e.attempt.size = len(f.Members)
	e.report(f, members)
	return true
}

// membersOf returns the transactions of a proof for a finding.
func (e *Engine) membersOf(p *proof) (all []Member) {
	for i, t := range p.txns {
		if o := p.outside[i]; o != nil {
			if o.line >= 0 {
				all = append(all, Member{Line: o.line, Outside: true})
			}
			continue
		}
		x := &e.slots[t]
		if x.line < 0 {
			continue
		}
		m := Member{Line: x.line, Alone: x.sess == NoSession}
		for i := range x.reads {
			if r := &x.reads[i]; r.state != counts || e.isOut(t, i) || p.dropped[ReadAt{x.line, r.at}] {
				m.Without = append(m.Without, r.at)
			}
		}
		all = append(all, m)
	}
	return all
}

// strange returns the reads of members that saw first values, and those that saw versions from outside the stream.
func (e *Engine) strange(p *proof, members []uint32) (initial, unseen []ReadAt) {
	wrote := map[kv]int{} // number of writers outside the stream
	for _, t := range members {
		if x := &e.slots[t]; x.line == unseenLine {
			for _, w := range x.writes {
				wrote[kv{w.key, w.val}]++
			}
		}
	}
	for _, o := range p.others {
		for _, k := range o.writes {
			if o.line == unseenLine {
				wrote[k]++
			}
		}
	}
	for _, t := range members {
		x := &e.slots[t]
		for i := range x.reads {
			r := &x.reads[i]
			if e.isOut(t, i) {
				continue
			}
			if v, first := p.initial[r.key]; first && v == r.val {
				initial = append(initial, ReadAt{x.line, r.at})
			}
			if k := (kv{r.key, r.val}); wrote[k] > 0 {
				wrote[k]--
				unseen = append(unseen, ReadAt{x.line, r.at})
			}
		}
	}
	return initial, unseen
}

// proof is a part that violates the level, or is tried as one.
type proof struct {
	txns     []uint32 // of the part's history; noSlot: an outsider
	outside  []*outsider
	seed     []uint32
	others   []*outsider
	by       map[int64]*outsider // others, by their lines
	dropped  map[ReadAt]bool
	thin     []ReadAt // of unknown outcomes
	keepThin bool
	initial  map[uint32]uint64
	b        *history.Builder
}

// add adds an outsider that wrote version k.
func (p *proof) add(k kv, o outsider) {
	y := p.by[o.line]
	if y == nil || o.line == unseenLine {
		y = &o
		p.by[o.line] = y
		p.others = append(p.others, y)
	}
	if !slices.Contains(y.writes, k) {
		y.writes = append(y.writes, k)
	}
}

// part makes the history of members and of the writers of their reads. It returns the part if this history violates
// the level. If dead is not set, it leaves out the unexplained reads of transactions of unknown outcome; with dead it
// keeps them, which shows that such a transaction cannot have committed.
func (e *Engine) part(members []uint32, dead bool) *proof {
	e.stamp++
	for _, t := range members {
		e.slots[t].stamp = e.stamp
	}
	p := &proof{by: map[int64]*outsider{}, dropped: map[ReadAt]bool{}, keepThin: dead, initial: map[uint32]uint64{}}
	e.attempt.dead = false
	e.addWriters(p, e.wanted(members))
	has := map[kv]bool{}
	for _, t := range members {
		for _, w := range e.slots[t].writes {
			has[kv{w.key, w.val}] = true
		}
	}
	for _, o := range p.others {
		for _, k := range o.writes {
			has[k] = true
		}
	}
	e.build(p, members, has)
	return p.judged(e)
}

// addWriters adds outsiders that wrote the wanted versions, which are sorted by key.
func (e *Engine) addWriters(p *proof, wanted []kv) {
	for lo := 0; lo < len(wanted); {
		hi := lo + 1
		for hi < len(wanted) && wanted[hi].key == wanted[lo].key {
			hi++
		}
		c := &e.cells[wanted[lo].key]
		for at := c.head; at != none; {
			y, w := e.at(at)
			if y.stamp != e.stamp {
				if _, ok := slices.BinarySearchFunc(wanted[lo:hi], w.val, byVal); ok {
					p.add(kv{w.key, w.val}, e.outsider(at.slot()))
				}
			}
			at = w.prev
		}
		for i, k := range wanted[lo:hi] {
			if i == 0 || k != wanted[lo+i-1] {
				e.addKnown(p, k, c)
			}
			// Each read may have another writer.
			if e.mayRepeat(k) {
				p.add(k, outsider{line: unseenLine, start: history.NoTime, end: history.NoTime, sess: NoSession,
					status: history.Unknown})
			}
		}
		lo = hi
	}
}

func (e *Engine) outsider(t uint32) outsider {
	x := &e.slots[t]
	return outsider{x.line, x.start, x.end, x.sess, x.seq, x.status, nil}
}

// addKnown adds known writers of version k that are not in the order.
func (e *Engine) addKnown(p *proof, k kv, c *cell) {
	if c.forgotten && c.val == k.val {
		p.add(k, outsider{line: c.line, start: c.start, end: c.end, sess: NoSession})
	}
	if !c.forgotten && !c.open && c.val == k.val || c.init == k.val && !e.stream.attached {
		p.initial[k.key] = k.val
	}
	for _, y := range e.unknown.pool[k] {
		if e.slots[y].stamp != e.stamp && e.slots[y].commit == nowhere {
			p.add(k, e.outsider(y))
		}
	}
	switch g := e.dug(k); {
	case g != nil && g.kind == overwritten && g.line != noLine:
		p.add(k, outsider{line: g.line, start: g.start, end: g.end, sess: NoSession})
	case g != nil && g.kind == dropped:
		p.add(k, outsider{line: g.line, start: history.NoTime, end: history.NoTime, sess: NoSession,
			status: history.Unknown})
	}
	// A transaction that has arrived but is not placed yet may also have written it.
	e.pendingWriters(k, func(t uint32) {
		p.add(k, e.outsider(t))
		e.attempt.others = max(e.attempt.others, e.slots[t].end)
	})
}

// wanted returns the versions that members read, sorted, with one entry for each read.
func (e *Engine) wanted(members []uint32) (all []kv) {
	for _, t := range members {
		x := &e.slots[t]
		for i := range x.reads {
			if r := &x.reads[i]; r.state == counts && !e.isOut(t, i) {
				all = append(all, kv{r.key, r.val})
			}
		}
	}
	slices.SortFunc(all, func(a, b kv) int { return cmp.Or(e.byHash(a.key, b.key), cmp.Compare(a.val, b.val)) })
	return all
}

func byVal(k kv, val uint64) int { return cmp.Compare(k.val, val) }
