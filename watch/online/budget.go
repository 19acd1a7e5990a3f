package online

import (
	"isovet/history"
	"isovet/internal/bounds"
)

// What is wrong costs more than what is right: windows that have no order, and proofs. So that a stream with many
// violations is still judged as fast as it comes, transactions bring credit, and what does not end in an order takes
// some. A window that has one takes none until many things are wrong, but for what its search took beyond some ms. At
// the levels without real time it does: stale reads may be right there, each with a long window.
//
// Whatever the credit, the searches for what one transaction brings end after maxSteps, so that no window has the
// stream wait.

// maxCredit is what there can be: 10 s. One is about 10 µs.
var maxCredit = 1 << 20

// maxSteps are those of solver.WithSteps that the placement of a transaction, or the end of a wait, may take: 0.5 s.
var maxSteps = 1 << 23

func init() {
	bounds.Register("online.maxCredit", &maxCredit)
	bounds.Register("online.maxSteps", &maxSteps)
}

const (
	creditEach = 1       // by each transaction
	directCost = 24      // of a proof of two transactions, certified
	stepsEach  = 200     // steps of a search that take one
	freeSteps  = 1 << 16 // of a search that finds an order
	stepsOp    = 4       // of an operation of a history that is made for a search
	proofCost  = 6       // a member, of a proof that is certified
	manyWrong  = 1000
	leastPaid  = -1 << 18 // by windows; what is below is left for proofs of one or two transactions, which cost little
	leastEver  = -1 << 19
)

// fuel has the searches for the next transaction, or for the end of the next wait, begin with all steps; without credit
// they have few.
func (e *Engine) fuel() {
	if e.budget.steps = int64(maxSteps); e.budget.credit < 0 {
		e.budget.steps /= 128
	}
}

// use notes steps that were taken.
func (e *Engine) use(steps int64) {
	e.budget.steps -= steps
	e.budget.spent += steps
}

// pay takes credit for what searches have taken, and what else something cost.
func (e *Engine) pay(cost int64) {
	e.budget.credit = min(e.budget.credit, max(e.budget.credit-cost-e.budget.spent/stepsEach, leastPaid))
	e.budget.spent = 0
}

// payFound pays for a window that has an order.
func (e *Engine) payFound() {
	if e.budget.wrong < manyWrong && e.o.Level.RealTime() {
		e.budget.spent = max(0, e.budget.spent-freeSteps)
	}
	e.pay(0)
}

// skip leaves contradicting reads undecided, for want of credit.
func (e *Engine) skip(ms []misfit) {
	e.stats.Skipped++
	e.leftOut(ms, Skipped)
}

// direct proves a read that saw what had been overwritten by somebody who ended before the reader began, or stands
// before it in their session: the two of them and the writers of what they saw are the proof, whatever else there is.
func (e *Engine) direct(m misfit) bool {
	if m.i < 0 || e.budget.credit < leastEver || !e.o.Level.RealTime() && !e.o.Level.Sessions() {
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
	e.attempt.only = m
	proved := e.prove([]uint32{m.slot, next.slot()}, []misfit{m})
	e.attempt.only = misfit{slot: noSlot}
	if proved {
		e.budget.credit -= directCost
	}
	return proved
}

// isOut reports whether a part that is made for one read leaves another one out.
func (e *Engine) isOut(t uint32, i int) bool {
	return e.attempt.only.slot != noSlot && e.attempt.only != misfit{t, i}
}
