package online

import (
	"isovet/history"
	"isovet/internal/bounds"
)

// Searches and proofs for contradicting reads cost much more than valid transactions. A budget keeps the judge as fast
// as the stream even with many violations: each transaction adds credit, and a search that finds no order uses credit.
// A search that finds an order uses credit only if it takes more than some ms, or after many contradictions. At the
// levels without real time every search uses credit, since stale reads may be valid there and each needs a long window.
//
// The searches for one transaction end after maxSteps, so that no window delays the stream.

// maxCredit bounds the credit, to 10 s of work. A unit is about 10 µs.
var maxCredit = 1 << 20

// maxSteps bounds the searches for one transaction, or for the end of a wait, in steps of solver.WithSteps: 0.5 s.
var maxSteps = 1 << 23

func init() {
	bounds.Register("online.maxCredit", &maxCredit)
	bounds.Register("online.maxSteps", &maxSteps)
}

const (
	creditEach = 1       // from each transaction
	directCost = 24      // of a certified proof of two transactions
	stepsEach  = 200     // steps of a search for a unit of credit
	freeSteps  = 1 << 16 // of a search that finds an order
	stepsOp    = 4       // for an operation of a history that is made for a search
	proofCost  = 6       // a member of a certified proof
	manyWrong  = 1000
	leastPaid  = -1 << 18 // by windows; the rest is for proofs of one or two transactions, which cost little
	leastEver  = -1 << 19
)

// fuel sets the steps for the next transaction, or for the end of the next wait: all or, without credit, a few.
func (e *Engine) fuel() {
	if e.budget.steps = int64(maxSteps); e.budget.credit < 0 {
		e.budget.steps /= 128
	}
}

// use counts the steps of a search.
func (e *Engine) use(steps int64) {
	e.budget.steps -= steps
	e.budget.spent += steps
}

// pay takes credit for the searches so far, and for a further cost.
func (e *Engine) pay(cost int64) {
	e.budget.credit = min(e.budget.credit, max(e.budget.credit-cost-e.budget.spent/stepsEach, leastPaid))
	e.budget.spent = 0
}

// payFound takes credit for a window in which an order was found.
func (e *Engine) payFound() {
	if e.budget.wrong < manyWrong && e.o.Level.RealTime() {
		e.budget.spent = max(0, e.budget.spent-freeSteps)
	}
	e.pay(0)
}

// skip reports contradicting reads as undecided because there is no credit.
func (e *Engine) skip(ms []misfit) {
	e.stats.Skipped++
	e.leftOut(ms, Skipped)
}

// direct proves that a read is stale: the transaction that overwrote its version ended before the reader began, or
// precedes it in their session. The two transactions and the writers of their versions prove it, whatever the rest of
// the stream has.
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
	before := e.o.Level.RealTime() && Plus(y.end, e.o.Skew) < Plus(x.start, -e.o.Skew) ||
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

// isOut reports whether a proof for a single read must leave out this read.
func (e *Engine) isOut(t uint32, i int) bool {
	return e.attempt.only.slot != noSlot && e.attempt.only != misfit{t, i}
}
