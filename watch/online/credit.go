package online

import (
	"isovet/history"
	"isovet/internal/bounds"
)

// What is wrong costs more than what is right: windows that have no order, and proofs. So that a stream with many
// violations is still judged as fast as it comes, transactions bring credit, and what does not end in an order takes
// some. A window that has one takes none until many things are wrong: what is right is never left out, however long it
// takes. But at the levels without real time it does: stale reads may be right there, each with a long window.

// maxCredit is what there can be: 20 s. One is about 10 µs.
var maxCredit = 1 << 21

func init() { bounds.Register("online.maxCredit", &maxCredit) }

const (
	creditEach = 1  // by each transaction
	directCost = 24 // of a proof of two transactions, certified
	windowCost = 1  // a member, of a window that has no order and of a proof in it
	proofCost  = 6  // a member, of a proof that is certified
	hardCost   = 1  // a conflict of a search
	manyWrong  = 1000
	leastPaid  = -1 << 18 // by windows; what is below is left for proofs of one or two transactions, which cost little
	leastEver  = -1 << 19
)

func (e *Engine) pay(cost int64) {
	e.credit = min(e.credit, max(e.credit-cost-hardCost*e.hard, leastPaid))
}

// skip leaves misfits undecided, for want of credit.
func (e *Engine) skip(ms []misfit) {
	e.stats.Skipped++
	e.excuse(ms)
	f := Finding{Kind: Undecided, Skipped: true, Line: e.slots[ms[0].slot].line, Other: noLine}
	if ms[0].i >= 0 {
		f.Op = e.slots[ms[0].slot].reads[ms[0].i].at
	}
	e.found = append(e.found, f)
}

// direct proves a read that saw what had been overwritten by somebody who ended before the reader began, or stands
// before it in their session: the two of them and who wrote what was seen are the proof, whatever else there is.
func (e *Engine) direct(m misfit) bool {
	if m.i < 0 || e.credit < leastEver || !e.o.Level.RealTime() && !e.o.Level.Sessions() {
		return false
	}
	x := &e.slots[m.slot]
	r := &x.reads[m.i]
	c := &e.cells[r.key]
	next := none
	for at := c.head; at != none; {
		_, w := e.at(at)
		if at.slot() != m.slot {
			if w.val == r.val {
				break
			}
			next = at
		}
		if at = w.prev; at == none && (c.val != r.val || c.open) {
			return false
		}
	}
	if next == none {
		return false
	}
	y := &e.slots[next.slot()]
	before := e.o.Level.RealTime() && satAdd(y.end, e.o.Skew) < satAdd(x.start, -e.o.Skew) ||
		e.o.Level.Sessions() && x.sess != NoSession && y.sess == x.sess && y.seq < x.seq
	if !before || y.status == history.Unknown {
		return false
	}
	e.only = m
	proved := e.prove([]uint32{m.slot, next.slot()}, []misfit{m})
	e.only = misfit{slot: noSlot}
	if proved {
		e.credit -= directCost
	}
	return proved
}

// isOut reports whether a part that is made for one read leaves another one out.
func (e *Engine) isOut(t uint32, i int) bool { return e.only.slot != noSlot && e.only != misfit{t, i} }
