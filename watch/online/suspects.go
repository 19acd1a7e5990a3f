package online

import (
	"math"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
)

// A late transaction may explain a read of a value without a writer. The engine reports such a read when its wait
// begins, and again when it is settled. It never withdraws another finding: a proof uses transactions that have
// arrived, with all known writers of their reads, and if a part of a history violates a level, the whole does, as long
// as each value is written once.

// SuspectRead is a read that waits, or waited, for a late writer.
type SuspectRead struct {
	ReadAt
	Settled   bool  // the wait is over
	Confirmed bool  // it is a violation; otherwise it is explained, or not judged
	Other     int64 // the line of the writer; −1: nobody, or unknown
}

// tell reports that a read waits for a late writer.
func (e *Engine) tell(at ReadAt) {
	slice.MakeMap(&e.out.told)
	if !e.out.told[at] {
		e.out.told[at] = true
		e.out.suspects = append(e.out.suspects, SuspectRead{ReadAt: at, Other: noLine})
	}
}

// settle reports the end of a wait. found is the number of findings before it ended; later ones may confirm the
// violation.
func (e *Engine) settle(at ReadAt, found int, writer int64) {
	if !e.out.told[at] {
		return
	}
	delete(e.out.told, at)
	d := SuspectRead{ReadAt: at, Settled: true, Other: max(writer, noLine)}
	for i := range e.out.found[found:] {
		f := &e.out.found[found+i]
		d.Confirmed = d.Confirmed || f.Kind == Violated && f.Line == at.Line && f.Op == at.Op
	}
	if d.Confirmed {
		e.stats.Confirmed++
	} else {
		e.stats.Withdrawn++
	}
	e.out.suspects = append(e.out.suspects, d)
}

// TakeSuspects returns the reports since its last call.
func (e *Engine) TakeSuspects() []SuspectRead {
	out := e.out.suspects
	e.out.suspects = nil
	return out
}

// Suspects lists the first reads that wait for a writer.
func (e *Engine) Suspects(most int) (out []ReadAt) {
	list := func(w *waiting) {
		if !w.done && len(out) < most {
			out = append(out, ReadAt{w.line, w.at})
		}
	}
	for _, s := range e.await.suspects.all[e.await.suspects.from:] {
		list(s.w)
	}
	for _, w := range e.await.waitq.all[e.await.waitq.from:] {
		list(w)
	}
	return out
}

// heldProof is a violation that waits for its report: members read that keys are absent, and a delete that has not
// arrived may explain that. Null has no writer of its own, so such reads do not wait before a proof.
type heldProof struct {
	f      Finding
	keys   []uint64 // their hashes
	end    int64    // of the last member; a transaction that began later explains nothing
	due    int64    // by the clock
	spoilt bool     // a delete has arrived
}

// maxHeld bounds these. Further ones do not wait.
const maxHeld = 1 << 10

// report reports a proof, after the patience if a delete may still explain it.
func (e *Engine) report(f Finding, members []uint32) {
	h := heldProof{f: f, end: math.MinInt64, due: Plus(e.await.clock, e.await.patience)}
	for _, t := range members {
		x := &e.slots[t]
		if h.end = max(h.end, Plus(x.end, 2*e.o.Skew)); x.end == history.NoTime || !e.o.Level.RealTime() {
			h.end = math.MaxInt64
		}
		for i := range x.reads {
			if r := &x.reads[i]; r.val == 0 && r.state == counts && !e.isOut(t, i) {
				h.keys = append(h.keys, e.cells[r.key].hash)
			}
		}
	}
	if len(h.keys) > 0 && e.patient() && !e.stream.final && !e.stream.ended && e.out.held.len() < maxHeld {
		e.out.held.push(h)
		return
	}
	e.out.found = append(e.out.found, f)
}

// spoil notes that a transaction has arrived that deleted a key.
func (e *Engine) spoil(key uint64, a *Arrival) {
	for i := e.out.held.from; i < len(e.out.held.all) && a.Status != history.Aborted; i++ {
		h := &e.out.held.all[i]
		h.spoilt = h.spoilt || a.Start <= h.end && slices.Contains(h.keys, key)
	}
}

// reportHeld ends the waits of proofs that are over by the clock.
func (e *Engine) reportHeld(clock int64) {
	for e.out.held.len() > 0 && e.out.held.top().due <= clock {
		h := e.out.held.pop()
		if h.spoilt {
			e.stats.Undecided++
			h.f = Finding{Kind: Undecided, Line: h.f.Line, Op: h.f.Op, Other: noLine}
		}
		e.out.found = append(e.out.found, h.f)
	}
}
