package online

// A read of what nobody wrote who has come may be explained by a transaction that comes late, for some time. It is told
// of when it begins to wait for that, and once it is settled. Nothing else that is found can be overturned: a proof
// stands on transactions that are there, with all that are known to have written what they read, and a history to which
// more is added violates a level that its part violates, as long as each value is written once.

// Doubt is a read that waits, or waited, for a writer that may arrive late.
type Doubt struct {
	ReadAt
	Settled   bool  // it waits no longer
	Confirmed bool  // it is a violation; else it is explained, or not judged
	Other     int64 // the line of who wrote it; −1: nobody, or it is not known
}

// tell says that a read waits for a writer that may come late.
func (e *Engine) tell(at ReadAt) {
	if e.out.told == nil {
		e.out.told = map[ReadAt]bool{}
	}
	if !e.out.told[at] {
		e.out.told[at] = true
		e.out.doubts = append(e.out.doubts, Doubt{ReadAt: at, Other: noLine})
	}
}

// settle says what has become of a read, by what was found since there were so many findings.
func (e *Engine) settle(at ReadAt, found int, writer int64) {
	if !e.out.told[at] {
		return
	}
	delete(e.out.told, at)
	d := Doubt{ReadAt: at, Settled: true, Other: max(writer, noLine)}
	for i := range e.out.found[found:] {
		f := &e.out.found[found+i]
		d.Confirmed = d.Confirmed || f.Kind == Violated && f.Line == at.Line && f.Op == at.Op
	}
	if d.Confirmed {
		e.stats.Confirmed++
	} else {
		e.stats.Withdrawn++
	}
	e.out.doubts = append(e.out.doubts, d)
}

// lineOf is the line of who has a slot.
func (e *Engine) lineOf(t uint32) int64 {
	if t == noSlot {
		return noLine
	}
	return e.slots[t].line
}

// TakeDoubts hands over what was told of doubts since it was last called.
func (e *Engine) TakeDoubts() []Doubt {
	out := e.out.doubts
	e.out.doubts = nil
	return out
}

// Doubts lists reads that wait for a writer, the first ones.
func (e *Engine) Doubts(most int) (out []ReadAt) {
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
