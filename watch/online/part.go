package online

import (
	"cmp"
	"slices"

	"isovet/history"
)

// Kind says what a finding is.
type Kind uint8

const (
	// Violated: Members and Others violate the level by themselves.
	Violated Kind = iota
	// Undecided: no order was found beside what is forgotten.
	Undecided
	// Late: a read is not judged, for its writer came late.
	Late
)

// Why a read is undecided that more time might decide.
const (
	// Skipped: searches and proofs before it have used up the credit.
	Skipped = "not judged: earlier searches and proofs used up the budget, which grows with each transaction"
	// GaveUp: by maxSteps.
	GaveUp = "the search for an order that explains this was given up: it took too long"
)

// Finding is what was found of a read, or of a transaction's place in its session.
type Finding struct {
	Kind  Kind
	Why   string // of Undecided, what was given up: Skipped, GaveUp, or ""
	Line  int64  // of the transaction
	Op    uint32
	Other int64 // the writer of the version read, where that is the point; −1: nobody, or the initial state
	// Members are the transactions of a proof, in the order of their sessions.
	Members []Member
	// Thin are reads of what nobody wrote who may have committed.
	Thin   []ReadAt
	Itself bool // the transaction contradicts itself, whoever wrote what it read
	// Initial are reads of what a key held at first. Each of Unseen is of what somebody else wrote who is not in the
	// stream; other reads of that version may have seen the same.
	Initial, Unseen []ReadAt
}

// Contradicts is the finding of a transaction that contradicts itself by two operations.
func Contradicts(line int64, op, other uint32) Finding {
	return Finding{Kind: Violated, Line: line, Op: op, Other: noLine, Itself: true, Members: []Member{{Line: line}},
		Thin: []ReadAt{{line, op}, {line, other}}}
}

// Member is a transaction of a proof.
type Member struct {
	Line    int64
	Without []uint32 // places of reads that are to be left out, with later ones of the same key
	Alone   bool     // as one that has no session
	// Outside: it has no part but the writes that the others read.
	Outside bool
}

// ReadAt names a read by its line and its place.
type ReadAt struct {
	Line int64
	Op   uint32
}

// outsider is a writer of what members read, and no member.
type outsider struct {
	line, start, end int64
	sess             uint32
	seq              int64
	status           history.Status
	writes           []kv
}

// refute looks whether the transactions of the window violate the level by themselves: first those that the refutation
// of its order rests on, which are few, then all.
func (e *Engine) refute(ms []misfit) bool {
	less := slices.Clone(e.w.seed)
	for _, m := range ms {
		less = append(less, m.slot)
	}
	slices.Sort(less)
	less = slices.Compact(less)
	return len(less) < len(e.w.members) && e.prove(less, ms) || e.prove(slices.Clone(e.w.members), ms)
}

// refuteAlone looks whether readers do.
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

// shrinks bounds how often a proof is made smaller by what refuted it.
const shrinks = 4

func (e *Engine) prove(members []uint32, ms []misfit) bool {
	p := e.part(members, false)
	dead := p == nil && e.attempt.dead
	if dead {
		p = e.part(members, true)
	}
	if p == nil {
		return false
	}
	for range shrinks {
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
	e.out.found = append(e.out.found, f)
	return true
}

// membersOf names the transactions of a proof.
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

// strange are the reads of members that saw what a key held at first, and what somebody wrote who is not in the stream.
func (e *Engine) strange(p *proof, members []uint32) (initial, unseen []ReadAt) {
	wrote := map[kv]int{} // by how many who are not in the stream
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

// proof is a part that violates the level.
type proof struct {
	txns     []uint32 // of the part's history, noSlot: an outsider
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

// add adds who wrote a version.
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

// part makes the history of some transactions with the writers of what they read, and returns it if it violates the
// level. Of those of unknown outcome it leaves out reads that nobody explains, unless dead: who has one cannot have
// committed.
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

// addWriters adds who wrote the versions wanted, which are in order: those of one key stand together.
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
			// For each read another one.
			if _, first := p.initial[k.key]; e.mayComeAgain(k) || !first && e.mayRepeat(k) {
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

// addKnown adds who wrote a version, of those that do not stand in the order.
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
	if g := e.dug(k); g != nil && g.kind == overwritten && g.line != noLine {
		p.add(k, outsider{line: g.line, start: g.start, end: g.end, sess: NoSession})
	}
	// Who has come and is not placed yet may have written it, too.
	e.pendingWriters(k, func(t uint32) {
		p.add(k, e.outsider(t))
		e.attempt.others = max(e.attempt.others, e.slots[t].end)
	})
}

// wanted are the versions that members read, in order, one for each read.
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
