package online

import (
	"math"

	"isovet/history"
	"isovet/internal/bounds"
)

// waiting is a read whose version has no writer yet. Its transaction is in the order, or may have committed.
type waiting struct {
	kv
	slot       uint32 // noSlot: the reader is forgotten
	i          int
	line       int64
	at         uint32
	start, end int64
	done       bool
	vague      bool // see mayBePast
}

type suspect struct {
	w   *waiting
	due int64 // by the clock
}

// maxSuspects bounds the waiting reads. Further ones are undecided, since their writers may be late.
var maxSuspects = 1 << 18

func init() { bounds.Register("online.maxSuspects", &maxSuspects) }

func (e *Engine) wait(m misfit) {
	e.await.waitq.push(e.waiting(m))
	for e.await.waitq.len() > maxSuspects { // before its time
		if w := e.await.waitq.pop(); !w.done {
			e.ripe(w)
		}
	}
}

// waiting stops checking a read until its wait is over.
func (e *Engine) waiting(m misfit) *waiting {
	x := &e.slots[m.slot]
	r := &x.reads[m.i]
	r.state = waits
	k := kv{r.key, r.val}
	w := &waiting{k, m.slot, m.i, x.line, r.at, x.start, x.end, false, e.inOrder(k, m.slot) || e.mayBePast(k, x.start)}
	if x.status != history.Committed {
		w.end = e.mark
	}
	e.cells[r.key].waits++
	e.await.waits[w.kv] = append(e.await.waits[w.kv], w)
	e.await.nWaiting++
	return w
}

// awaitDeadWriters makes reads wait if the only possible writers of their versions read versions without a writer. It
// then decides without these reads whether transactions are in the right place of their sessions.
func (e *Engine) awaitDeadWriters(ms []misfit) {
	var places []misfit
	for _, m := range ms {
		if m.i < 0 {
			places = append(places, m)
		}
	}
	reads := len(ms) - len(places)
	for _, m := range ms {
		if m.i >= 0 {
			e.suspect(e.waiting(m))
		}
	}
	switch {
	case len(places) == 0:
	case reads > 0:
		e.resolve(places)
	default:
		e.undecided(places)
	}
}

// patient reports whether reads wait for late writers at all.
func (e *Engine) patient() bool { return e.await.patience > 0 && e.await.clock != 0 }

// suspect makes a read wait for a late writer.
func (e *Engine) suspect(w *waiting) {
	if !e.patient() {
		e.convictOf(w)
		return
	}
	q := &e.await.suspects
	for q.len() > 0 && q.top().w.done {
		q.pop()
	}
	if q.len() >= maxSuspects {
		e.leaveOpen(w)
		return
	}
	e.tell(ReadAt{w.line, w.at})
	q.push(suspect{w, Plus(e.await.clock, e.await.patience)})
}

// over ends a wait. It returns a function that reports the end, once it is known what was found.
func (e *Engine) over(w *waiting) (end func(writer int64)) {
	w.done = true
	e.await.nWaiting--
	e.cells[w.key].waits--
	l := e.await.waits[w.kv]
	for i := range l {
		if l[i] == w {
			l = append(l[:i], l[i+1:]...)
			break
		}
	}
	if len(l) == 0 {
		delete(e.await.waits, w.kv)
	} else {
		e.await.waits[w.kv] = l
	}
	found := len(e.out.found)
	return func(writer int64) { e.settle(ReadAt{w.line, w.at}, found, writer) }
}

// wake ends the waits for versions that the transaction wrote.
func (e *Engine) wake(t uint32) {
	line := e.slots[t].line
	for i := 0; i < len(e.slots[t].writes) && e.slots[t].line == line; i++ {
		w := &e.slots[t].writes[i]
		e.wakeAll(kv{w.key, w.val}, t)
	}
}

func (e *Engine) wakeAll(k kv, writer uint32) {
	if e.cells[k.key].waits == 0 {
		return
	}
	for _, w := range append([]*waiting(nil), e.await.waits[k]...) {
		if w.done {
			continue
		}
		end, by := e.over(w), int64(noLine)
		if writer != noSlot {
			by = e.slots[writer].line
		}
		if w.slot == noSlot {
			e.orphan(w, writer)
			end(by)
			continue
		}
		e.slots[w.slot].reads[w.i].state = counts
		if m := (misfit{w.slot, w.i}); !e.sees(m) {
			e.resolve([]misfit{m})
		}
		if s := e.stateOf(w.slot, w.i, w.line); s == counts || s == excused {
			end(by)
		}
	}
}

// stateOf returns the state of a read. A forgotten read is not checked any more.
func (e *Engine) stateOf(t uint32, i int, line int64) readState {
	if x := &e.slots[t]; x.line == line && i < len(x.reads) {
		return x.reads[i].state
	}
	return excused
}

// orphan handles a read whose transaction is forgotten and whose writer has now arrived.
func (e *Engine) orphan(w *waiting, writer uint32) {
	f := Finding{Kind: Undecided, Line: w.line, Op: w.at, Other: noLine}
	if writer != noSlot {
		x := &e.slots[writer]
		switch f.Other = x.line; {
		case x.foreign:
			f.Kind = Late
		case e.o.Level.RealTime() && Plus(w.end, e.o.Skew) < Plus(x.start, -e.o.Skew) && !e.mayRepeat(w.kv):
			f.Kind, f.Members = Violated, []Member{{Line: w.line}, {Line: x.line, Outside: true}}
		}
	}
	if f.Other < 0 {
		f.Other = noLine
	}
	if f.Kind == Undecided {
		e.stats.Undecided++
	}
	e.out.found = append(e.out.found, f)
}

// sees reports whether the order explains a read: it has the read's version at that place.
func (e *Engine) sees(m misfit) bool {
	x := &e.slots[m.slot]
	r := &x.reads[m.i]
	c := &e.cells[r.key]
	for at := c.head; at != none; {
		y, w := e.at(at)
		if y.commit < x.begin {
			return w.val == r.val
		}
		at = w.prev
	}
	return c.val == r.val && !c.open
}

// ripen examines the waiting reads whose writers should have been placed by now.
func (e *Engine) ripen(mark int64) (done bool) {
	for e.await.waitq.len() > 0 && Plus((*e.await.waitq.top()).end, e.o.Lateness) < mark {
		if e.stops() {
			return false
		}
		e.ripeNext()
	}
	return true
}

func (e *Engine) ripeNext() {
	if w := e.await.waitq.pop(); !w.done {
		e.fuel()
		e.ripe(w)
	}
}

// EndWaits says that no transaction is under way: all that arrived are placed. Reads then wait for the patience only.
func (e *Engine) EndWaits() {
	e.call.cut = false
	e.endWaits()
}

func (e *Engine) endWaits() {
	o := &e.call.owes
	if !o.waits {
		*o = owed{o.advance, true, e.await.waitq.len(), -1}
	}
	for ; o.waitq > 0; o.waitq-- {
		if e.stops() {
			return
		}
		e.ripeNext()
	}
	if o.suspects < 0 {
		// Those that wait anew are of those that nobody explains.
		for n := e.await.waitq.len(); n > 0; n-- {
			if w := e.await.waitq.pop(); !w.done {
				e.await.suspects.push(suspect{w, Plus(e.await.clock, e.await.patience)})
			}
		}
		if o.suspects = 0; e.stream.ended || !e.patient() {
			o.suspects = e.await.suspects.len()
		}
	}
	for ; o.suspects > 0; o.suspects-- {
		if e.stops() {
			return
		}
		e.convictFirst()
	}
	for e.await.waitq.len() > 0 {
		if w := e.await.waitq.pop(); !w.done {
			e.convictOf(w)
		}
	}
	if e.stream.ended || !e.patient() {
		e.reportHeld(math.MaxInt64)
	}
	o.waits = false
}

func (e *Engine) ripe(w *waiting) {
	c := &e.cells[w.key]
	g := e.dug(w.kv)
	switch may, _, some := e.mayPool(w.kv); {
	case may, e.inOrder(w.kv, w.slot): // the pool has one, which another read brought into the order
		e.wakeAll(w.kv, noSlot)
	case g != nil && g.kind == dropped:
		e.foreignWrite(w.kv)
	case !some && g != nil && g.kind == overwritten:
		e.stale(w)
	case !some && g != nil && !e.mayRepeat(w.kv) && g.start <= Plus(w.end, 2*e.o.Skew):
		e.convict(w, g)
	case e.mayUnseen(w.key, w.start) && e.hasCome(w.kv, w.end): // the read is woken once that one is placed
	case e.mayUnseen(w.key, w.start):
		c.open = c.open && w.start <= e.stream.origin
		e.foreignWrite(w.kv)
	default:
		e.suspect(w)
	}
}

// Clock sets the time, in ns. patience is how long a read waits for a late writer before it becomes a violation.
func (e *Engine) Clock(now, patience int64) {
	e.await.clock, e.await.patience = max(e.await.clock, now), patience
	e.call.cut = false
	e.reportHeld(e.await.clock)
	for e.await.suspects.len() > 0 && e.await.suspects.top().due <= e.await.clock && !e.stops() {
		e.convictFirst()
	}
}

func (e *Engine) convictFirst() {
	if s := e.await.suspects.pop(); !s.w.done {
		e.fuel()
		e.convictOf(s.w)
	}
}

// convictOf reports a read of a version that nobody wrote, unless a transaction of the pool did.
func (e *Engine) convictOf(w *waiting) {
	g := e.dug(w.kv)
	switch may, bad, some := e.mayPool(w.kv); {
	case may, e.inOrder(w.kv, w.slot):
		was := e.stream.final
		e.stream.final = true
		e.wakeAll(w.kv, noSlot)
		e.stream.final = was
	case g != nil && g.kind == dropped, g == nil && e.stream.lost:
		e.foreignWrite(w.kv)
	case !some && g != nil && g.kind == overwritten:
		e.stale(w)
	case e.stream.attached && !e.o.Level.RealTime(): // a version from before the stream may be read at any time
		e.leaveOpen(w)
	case some:
		e.convict(w, nil, bad)
	default:
		e.convict(w, g)
	}
}

// leaveOpen reports that a read is undecided.
func (e *Engine) leaveOpen(w *waiting) {
	defer e.over(w)(noLine)
	if w.slot != noSlot {
		e.undecided([]misfit{{w.slot, w.i}})
		return
	}
	e.orphan(w, noSlot)
}

// convict reports a read of a version that no committed transaction can have written. g is a writer that did not
// commit. more has reads which show that its other possible writers did not commit either.
func (e *Engine) convict(w *waiting, g *grave, more ...ReadAt) {
	if g == nil && (w.vague || e.doubted(w.kv)) {
		e.leaveOpen(w)
		return
	}
	defer e.over(w)(noLine)
	if w.slot != noSlot {
		e.slots[w.slot].reads[w.i].state = excused
	}
	if e.budget.credit < leastEver {
		e.stats.Skipped++
		e.out.found = append(e.out.found, Finding{Kind: Undecided, Why: Skipped, Line: w.line, Op: w.at, Other: noLine})
		return
	}
	e.budget.credit -= directCost
	f := Finding{Kind: Violated, Line: w.line, Op: w.at, Members: []Member{{Line: w.line}},
		Thin: []ReadAt{{w.line, w.at}}, Other: noLine}
	for _, r := range more {
		f.Members, f.Thin, f.Other = append(f.Members, Member{Line: r.Line}), append(f.Thin, r), r.Line
	}
	if g != nil && g.line != w.line && g.kind != impossible {
		f.Members, f.Other = append(f.Members, Member{Line: g.line, Outside: true}), g.line
	}
	e.out.found = append(e.out.found, f)
}

// stale reports a read whose version was overwritten by a forgotten transaction.
func (e *Engine) stale(w *waiting) {
	defer e.over(w)(noLine)
	if w.slot == noSlot {
		e.out.found = append(e.out.found, Finding{Kind: Undecided, Line: w.line, Op: w.at, Other: noLine})
		return
	}
	e.slots[w.slot].reads[w.i].state = counts
	m := []misfit{{w.slot, w.i}}
	e.stats.Misfits++
	if e.refuteAlone(m) {
		e.excuse(m)
		return
	}
	e.undecided(m)
}

// undecided reports contradicting reads for which no order was found.
func (e *Engine) undecided(ms []misfit) {
	e.stats.Undecided++
	why := ""
	if e.budget.steps <= 0 {
		why = GaveUp
	}
	e.leftOut(ms, why)
}

// leftOut reports contradicting reads as undecided.
func (e *Engine) leftOut(ms []misfit, why string) {
	e.excuse(ms)
	f := Finding{Kind: Undecided, Why: why, Line: e.slots[ms[0].slot].line, Other: noLine}
	if ms[0].i >= 0 {
		f.Op = e.slots[ms[0].slot].reads[ms[0].i].at
	}
	e.out.found = append(e.out.found, f)
}

// postponed is a contradicting read that a transaction may explain that has arrived but is not placed yet.
type postponed struct {
	misfit
	line  int64
	read  ReadAt
	until int64 // the end of the last of those
}

func (e *Engine) postpone(ms []misfit) {
	for _, m := range ms {
		x := &e.slots[m.slot]
		at := ReadAt{x.line, math.MaxUint32}
		if m.i >= 0 {
			x.reads[m.i].state = put
			at.Op = x.reads[m.i].at
		}
		e.out.later = append(e.out.later, postponed{m, x.line, at, e.attempt.others})
	}
}

// revisit examines again the postponed reads for which all transactions up to end were needed.
func (e *Engine) revisit(end int64) {
	var due []postponed
	left := e.out.later[:0]
	for _, p := range e.out.later {
		if p.until <= end {
			due = append(due, p)
		} else {
			left = append(left, p)
		}
	}
	e.out.later = left
	for _, p := range due {
		x := &e.slots[p.slot]
		if x.line != p.line { // it is forgotten
			e.stats.Undecided++
			f := Finding{Kind: Undecided, Line: p.line, Other: noLine}
			if p.i >= 0 {
				f.Op = p.read.Op
			}
			e.out.found = append(e.out.found, f)
			e.settle(p.read, len(e.out.found), noLine)
			continue
		}
		if p.i < 0 {
			for n := x.snext; n != noSlot; n = e.slots[n].snext {
				if e.slots[n].begin < x.commit {
					e.resolve([]misfit{p.misfit})
					break
				}
			}
			continue
		}
		found := len(e.out.found)
		if x.reads[p.i].state = counts; !e.sees(p.misfit) {
			e.resolve([]misfit{p.misfit})
		}
		if s := e.stateOf(p.slot, p.i, p.line); s == counts || s == excused {
			e.settle(p.read, found, noLine)
		}
	}
}
