package online

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
	if e.out.told == nil {
		e.out.told = map[ReadAt]bool{}
	}
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
