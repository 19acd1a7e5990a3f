package jepsen

import (
	"cmp"
	"math"
	"slices"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/plural"
	"isovet/internal/sorts"
)

// sort orders the operations by their indices, if all have one and all differ.
func (r *reader) sort() {
	before := int64(math.MinInt64)
	back := 0
	for i := range r.events {
		switch x := r.events[i].index; {
		case x == history.NoTime:
			return
		case x <= before:
			back++
		default:
			before = x
		}
	}
	if r.indexed = true; back == 0 {
		return
	}
	byIndex := slices.Clone(r.events)
	sorts.Stable(byIndex, func(a, b event) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(byIndex); i++ {
		if byIndex[i].index == byIndex[i-1].index {
			r.indexed = false
			r.b.Note(history.NoteTimes, 0, "the index %d occurs at lines %d and %d; isovet ignores indices",
				byIndex[i].index, byIndex[i-1].line, byIndex[i].line)
			return
		}
	}
	r.events = byIndex
	r.b.Note(history.NoteTimes, back, "%s not where its index says; isovet sorted all operations by their indices",
		plural.Phrase(back, "operation was", "operations were"))
}

// dropped marks an operation that belongs to no client.
const dropped = -2

// pair finds each invocation's completion.
func (r *reader) pair() error {
	r.completion = make([]int32, len(r.events))
	var pending history.Index      // by process: its open invocation
	var loose [otherFn + 1][]int32 // those without process
	for i := range r.events {
		e := &r.events[i]
		r.completion[i] = -1
		if e.kind == invoke {
			if e.process == noProcess {
				loose[e.f] = append(loose[e.f], int32(i))
				continue
			}
			if j, open := pending.Get(e.process); open {
				return r.s.Errorf(e.pos, "process", "process %d invokes while its operation of line %d is not "+
					"completed; expected ok, fail or info", e.process, r.events[j].line)
			}
			pending.Set(e.process, uint32(i))
			continue
		}
		if e.process == noProcess {
			switch open := loose[e.f]; {
			case len(open) > 1:
				return r.s.Errorf(e.pos, "process", "missing, so that it may complete the operation of line %d or "+
					"that of line %d; expected an integer", r.events[open[0]].line, r.events[open[1]].line)
			case len(open) == 1:
				r.completion[open[0]], r.completion[i] = int32(i), open[0]
				loose[e.f] = open[:0]
			}
			continue
		}
		if j, open := pending.Get(e.process); open {
			r.completion[j], r.completion[i] = int32(i), int32(j)
			pending.Delete(e.process)
		} else if e.named && e.kind == info {
			r.completion[i] = dropped
			r.noClient++
		}
	}
	return nil
}

// clock decides the source of real time, and adds a note if it is an unexpected one.
func (r *reader) clock() error {
	invoked, orphans, orphan := false, 0, 0
	for i := range r.events {
		switch {
		case r.events[i].kind == invoke:
			invoked = true
		case r.completion[i] == -1:
			if orphans++; orphans == 1 {
				orphan = i
			}
		}
	}
	if !invoked {
		r.realTime = "none" // without an invocation the begin is unknown
	}
	if r.realTime == "none" {
		return nil
	}
	if orphans > 0 {
		start := "its start is"
		if orphans > 1 {
			start = "their starts are"
		}
		r.b.Note(history.NoteTimes, orphans, "%s completed without an invocation, the first at line %d: %s unknown",
			operations(orphans), r.events[orphan].line, start)
	}
	if r.realTime == "index" {
		return nil
	}
	missing, back := 0, 0
	var noTime, firstBack int
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range r.events {
		if r.completion[i] == dropped {
			continue
		}
		t := r.events[i].time
		switch {
		case t == history.NoTime:
			if missing++; missing == 1 {
				noTime = i
			}
			continue
		case t < most:
			if back++; back == 1 {
				firstBack = i
			}
		}
		least, most = min(least, t), max(most, t)
	}
	if r.realTime == "time" {
		if missing > 0 {
			if r.inLog {
				return r.s.Errorf(r.events[noTime].pos, "time", "missing: lines of a log have none; expected real "+
					"time by index or none")
			}
			return r.s.Errorf(r.events[noTime].pos, "time", "missing; expected an integer, since real time is taken "+
				"from it")
		}
		r.byTime = true
		if back > 0 {
			r.b.Note(history.NoteTimes, back, "%s, the first at line %d: real time is taken from the times",
				goBack(back), r.events[firstBack].line)
		}
		return nil
	}
	order := "their order in the file"
	if r.indexed {
		order = "index"
	}
	switch {
	case missing == len(r.events) || missing > 0 && least == math.MaxInt64:
	case missing > 0:
		r.b.Note(history.NoteTimes, missing, "%s no time, the first at line %d: real time is taken from %s",
			have(missing), r.events[noTime].line, order)
	case least == most && len(r.events) == 1:
		r.byTime = true
	case least == most:
		r.b.Note(history.NoteTimes, len(r.events), "all operations have the time %d: real time is taken from %s", least,
			order)
	default:
		r.byTime = true
	}
	if !r.byTime || back == 0 {
		return nil
	}
	if bad, first := r.unlike(); bad > 0 {
		r.byTime = false
		r.b.Note(history.NoteTimes, back, "%s, and %s before what the same process did before, the first at line "+
			"%d: real time is taken from %s (--real-time time takes the times)", goBack(back),
			plural.Phrase(bad, "operation is", "operations are"), r.events[first].line, order)
		return nil
	}
	r.b.Note(history.NoteTimes, back, "%s, the first at line %d: real time is taken from the times (--real-time "+
		"index takes the order)", goBack(back), r.events[firstBack].line)
	return nil
}

func operations(n int) string { return plural.Of(n, "operation") }

func have(n int) string { return plural.Phrase(n, "operation has", "operations have") }

func goBack(n int) string { return plural.Phrase(n, "time goes back", "times go back") }

// unlike counts the operations with impossible times: before their invocation, or before their process's last
// operation. It returns the first of them too.
func (r *reader) unlike() (bad, first int) {
	last := map[int64]int64{}
	for i := range r.events {
		e := &r.events[i]
		if r.completion[i] == dropped {
			continue
		}
		wrong := false
		if e.process != noProcess {
			before, known := last[e.process]
			wrong = known && e.time < before
			last[e.process] = e.time
		} else if j := r.completion[i]; e.kind != invoke && j >= 0 {
			wrong = e.time < r.events[j].time
		}
		if wrong {
			if bad++; bad == 1 {
				first = i
			}
		}
	}
	return bad, first
}

// txns adds the transactions, in the order of the invocations.
func (r *reader) txns() error {
	for i := range r.events {
		first, last := int32(i), r.completion[i]
		if last == dropped {
			continue
		}
		if r.events[i].kind != invoke {
			if last >= 0 {
				continue // added with its invocation
			}
			first, last = -1, int32(i)
		}
		if err := r.txn(first, last); err != nil {
			return err
		}
		if i == 1<<10 {
			more := 1.02 * float64(len(r.events)-i) / (1 << 10)
			r.b.Reserve(int(more*float64(r.b.NumTxns())), int(more*float64(r.b.NumOps())))
		}
	}
	r.saySkipped()
	return nil
}

// saySkipped adds notes about operations that are not judged.
func (r *reader) saySkipped() {
	if r.nils > 0 {
		means := "Knossos takes nil for an unknown answer"
		if r.nilMeans != "" {
			means = "--nil unknown says so"
		}
		r.b.Note(history.NoteNil, r.nils, "%s not judged, the first at line %d: %s (--nil absent or --nil initial "+
			"judges them)", plural.Phrase(r.nils, "read of nil is", "reads of nil are"), r.nilLine, means)
	}
	if r.again > 0 {
		r.b.Note(history.NoteTwice, r.again, "%s twice in one read of a set, the first at line %d: isovet judges "+
			"each as if it occurred once", plural.Phrase(r.again, "element occurs", "elements occur"), r.againLine)
	}
	if r.versions > 0 {
		r.b.Note(history.NoteIgnored, r.versions, "%s with a version that the database gave it; isovet ignores "+
			"these versions", plural.Phrase(r.versions, "value comes", "values come"))
	}
}

// txn adds a transaction: invocation first and completion last, either of which may be missing (-1).
func (r *reader) txn(first, last int32) error {
	timed := r.realTime != "none"
	h := history.NewTxnHead()
	e := newEvent(0) // the one with the most content
	h.Status = history.Unknown
	end := int64(history.NoTime)
	if first >= 0 {
		e = r.events[first]
		if timed {
			h.Start = r.time(first)
		}
	}
	if last >= 0 {
		c := r.events[last]
		end = r.time(last)
		if c.value < 0 {
			c.value = e.value
			if c.kind == ok && first >= 0 {
				if err := r.onlyWrites(&c, e); err != nil {
					return err
				}
			}
		}
		if c.f == noFn {
			c.f = e.f
		}
		if c.key < 0 {
			c.key = e.key
		}
		switch c.kind {
		case ok:
			h.Status = history.Committed
			if timed && first >= 0 {
				h.End = r.time(last)
			}
		case fail:
			h.Status = history.Aborted
		}
		h.StartTS, h.CommitTS = c.start, c.end
		// The invocation has the content of a transaction that did not finish.
		if c.kind != ok && first >= 0 {
			c.value, c.f, c.key = e.value, e.f, e.key
		}
		e = c
	}
	r.did = r.did[:0]
	any, err := r.ops(&e, h.Status)
	if err == nil && first >= 0 && h.Status == history.Committed {
		err = r.agrees(&r.events[first], &r.events[last])
	}
	if err == nil && !any && first >= 0 && h.Status == history.Committed {
		any, err = r.unsaid(&e, r.events[first])
	}
	if err == nil && first >= 0 && timed && (!any || h.Status != history.Committed) {
		r.calls = append(r.calls, history.Call{Start: h.Start, End: end, Status: h.Status})
	}
	if err != nil || !any {
		return err
	}
	if e.process != noProcess {
		h.HasSess, h.Session = true, e.process
	}
	if r.indexed {
		h.HasID, h.ID = true, e.index
	}
	h.Line = e.line
	r.b.EndTxn(h)
	return nil
}

// unsaid adds an operation whose ok has no content, such as the value nil. Its writes come from the invocation, since
// others may have read them. Its reads are unknown.
func (r *reader) unsaid(e *event, invoked event) (any bool, err error) {
	if invoked.value < 0 {
		return false, nil
	}
	if e.f == writeFn && r.model == registers {
		r.forms = r.forms[:0]
		r.s.Seek(invoked.value)
		t, err := r.s.Next()
		if err != nil {
			return false, err
		}
		at, err := r.form(t, 0)
		if err != nil {
			return false, err
		}
		if r.unsays(at) {
			r.s.Seek(invoked.value)
			t, _ = r.s.Next()
			e.value = invoked.value
			return r.register(e, t, history.Unknown)
		}
	}
	if invoked.value == e.value {
		return false, nil
	}
	if _, said, err := r.microAt(e.value); err != nil || said { // reads without values
		return false, err
	}
	_, asked, err := r.microAt(invoked.value)
	if err != nil {
		return false, err
	}
	if asked {
		err = r.onlyWrites(e, invoked)
	}
	if err != nil || !asked && e.f != writeFn && e.f != addFn {
		return false, err
	}
	e.value = invoked.value
	return r.ops(e, history.Committed)
}

// onlyWrites returns an error if an invocation has a read among its micro-operations and its ok does not repeat them.
func (r *reader) onlyWrites(done *event, invoked event) error {
	if invoked.value < 0 {
		return nil
	}
	in, micro, err := r.microAt(invoked.value)
	if err != nil || !micro {
		return err
	}
	r.s.Seek(in)
	if _, err := r.s.Next(); err != nil {
		return err
	}
	for {
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.Close {
			return err
		}
		if !t.Opens() {
			return nil // the reader of the value will report it
		}
		f, err := r.s.Next()
		if err != nil {
			return err
		}
		if isRead(f) {
			return r.s.Errorf(done.pos, "value", "missing or empty, but the transaction is ok and reads (line %d); "+
				"expected its micro-operations with the values read", invoked.line)
		}
		for f.Kind != edn.Close {
			if err := r.s.SkipRest(f); err != nil {
				return err
			}
			if f, err = r.s.Next(); err != nil {
				return err
			}
		}
	}
}

// isMicro reports whether the value at a place is a sequence of micro-operations.
func (r *reader) isMicro(at int) (bool, error) {
	if micro, err := r.begins(at); err != nil || micro {
		return micro, err
	}
	micro, _, err := r.micro(at)
	return micro, err
}

// microAt is isMicro for a value that may be a key and a sequence. It returns the place of the sequence.
func (r *reader) microAt(at int) (in int, micro bool, err error) {
	if micro, err := r.isMicro(at); err != nil || micro {
		return at, micro, err
	}
	_, in, _, err = r.independent(at)
	return in, in >= 0, err
}

// time returns the time of an operation: its own, or its place in the file.
func (r *reader) time(i int32) int64 { return r.timeOf(&r.events[i], int(i)) }

// timeOf is time for an operation that is the i-th.
func (r *reader) timeOf(e *event, i int) int64 {
	switch {
	case r.byTime:
		return e.time
	case r.inLog:
		return int64(e.line)
	case r.indexed:
		return e.index
	}
	return int64(i)
}
