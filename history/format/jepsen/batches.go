package jepsen

import (
	"math"

	"isovet/history"
	"isovet/internal/bounds"
)

// Bounds of a batch, and how many operations are looked at to tell what those of the file mean.
var (
	batchTxns  = 8192
	batchOps   = 1 << 16
	firstLooks = 1 << 10
)

func init() {
	bounds.Register("jepsen.batch-txns", &batchTxns)
	bounds.Register("jepsen.batch-ops", &batchOps)
	bounds.Register("jepsen.first-looks", &firstLooks)
}

// Batches reads a file as [Read] does and gives what it has in batches of some thousand transactions that follow one
// another, each a history with its own numbering of keys and versions; ids, sessions, times and lines are those that
// Read has. notes are those of the whole file. ok is false, and give was not called, where it takes all operations at
// once to read the file: operations that mean anything but micro-operations, that no invocation belongs to, that have
// no process or one with a name, whose indices are not in order, or of which some have no time; Read is for these.
// Errors are Read's, or give's. Cost: two passes over the bytes; memory for a batch, and 100 bytes for each operation
// of the file between an invocation and its completion.
func Batches(data []byte, file string, o Options, give func(*history.History) error) (notes []history.Note, ok bool,
	err error) {
	r := newReader(data, file, o)
	t := &tally{index: math.MinInt64, least: math.MaxInt64, most: math.MinInt64, last: map[int64]int64{},
		open: map[int64]int64{}}
	size := int64(len(data))
	r.sink = func(e *event) error {
		t.add(e)
		if len(r.events) < firstLooks {
			r.events = append(r.events, *e)
		}
		return o.tell(t.n, int64(e.pos), 2*size)
	}
	if err := r.file(); err != nil || t.n == 0 || t.odd {
		return nil, false, err
	}
	if err := r.choose(); err != nil || !r.settled || !t.clock(r) {
		return nil, false, err
	}
	p, q := newReader(data, file, o), newReader(data, file, o)
	// q makes transactions of what p reads, with a scanner of its own, since values are looked at where they stand.
	q.used, q.other, q.model, q.b.Meta = r.used, r.other, r.model, r.b.Meta
	q.byTime, q.indexed, q.realTime = r.byTime, r.indexed, r.realTime
	w := &window{r: q, open: map[int64]int64{}, never: map[int64]bool{}, give: give}
	for _, i := range t.open {
		w.never[i] = true
	}
	p.sink = func(e *event) error {
		if err := w.add(e); err != nil {
			return err
		}
		return o.tell(p.base, size+int64(e.pos), 2*size)
	}
	if err = p.file(); err == nil {
		if err = w.emit(); err == nil {
			err = w.flush()
		}
	}
	if err != nil {
		return nil, true, err
	}
	var said history.History
	if t.said {
		said.AddNote(history.NoteTimes, t.back, "%s, the first at line %d: real time is told by time (--real-time "+
			"index takes the order)", goBack(t.back), t.backLine)
	}
	q.saySkipped(said.AddNote)
	return said.Notes, true, nil
}

// tell tells how far the n-th operation is, of some of them.
func (o *Options) tell(n, done, total int64) error {
	if o.Told == nil || n%(1<<12) != 0 {
		return nil
	}
	return o.Told(done, total)
}

// tally is what is known of a file's operations without keeping them.
type tally struct {
	n    int64
	odd  bool            // only Read can read them
	open map[int64]int64 // by process, which operation invoked what is not completed

	index, unindexed int64 // the last one; how many have none
	back, missing    int   // times that go back, and operations without time
	backLine         uint32
	least, most      int64
	last             map[int64]int64 // by process, its time
	unlike           bool            // a process's times go back
	said             bool            // times go back, and real time is told by them
}

func (t *tally) add(e *event) {
	_, open := t.open[e.process]
	switch {
	case e.process == noProcess || e.named || open == (e.kind == invoke):
		t.odd = true
	case open:
		delete(t.open, e.process)
	default:
		t.open[e.process] = t.n
	}
	t.n++
	switch {
	case e.index == history.NoTime:
		t.unindexed++
	case e.index <= t.index:
		t.odd = true
	default:
		t.index = e.index
	}
	if e.time == history.NoTime {
		t.missing++
		return
	}
	if e.time < t.most {
		if t.back++; t.back == 1 {
			t.backLine = e.line
		}
	}
	if before, known := t.last[e.process]; known && e.time < before {
		t.unlike = true
	}
	t.last[e.process] = e.time
	t.least, t.most = min(t.least, e.time), max(t.most, e.time)
}

// clock is the reader's clock: false where that has something to say that takes all operations.
func (t *tally) clock(r *reader) bool {
	r.indexed = t.unindexed == 0
	switch {
	case t.unindexed > 0 && t.unindexed < t.n:
		return false
	case r.realTime == "none" || r.realTime == "index":
		return true
	case int64(t.missing) == t.n:
		return r.realTime != "time"
	case t.missing > 0 || t.unlike || t.least == t.most:
		return false
	}
	r.byTime, t.said = true, t.back > 0
	return r.realTime != "time" || t.back == 0
}

// window is some operations that follow one another, of which transactions are made as soon as they are complete.
type window struct {
	r     *reader // r.events are the operations, from number r.base on
	open  map[int64]int64
	never map[int64]bool // invocations that nothing completes
	tried int            // how many operations there were when transactions were made last
	give  func(*history.History) error
}

func (w *window) add(e *event) error {
	r := w.r
	i := len(r.events)
	r.events = append(r.events, *e)
	r.completion = append(r.completion, -1)
	if e.kind == invoke {
		w.open[e.process] = r.base + int64(i)
	} else {
		j := int(w.open[e.process] - r.base)
		delete(w.open, e.process)
		r.completion[i], r.completion[j] = int32(j), int32(i)
	}
	if i+1-w.tried < batchTxns {
		return nil
	}
	return w.emit()
}

// emit makes the transactions up to the first that may still be completed.
func (w *window) emit() error {
	r := w.r
	n := 0
	for ; n < len(r.events); n++ {
		if r.events[n].kind != invoke {
			continue
		}
		if r.completion[n] < 0 && !w.never[r.base+int64(n)] {
			break
		}
		if err := r.txn(int32(n), r.completion[n]); err != nil {
			return err
		}
		if r.b.NumTxns() >= batchTxns || r.b.NumOps() >= batchOps {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	r.base += int64(n)
	r.events = r.events[:copy(r.events, r.events[n:])]
	r.completion = r.completion[:copy(r.completion, r.completion[n:])]
	for i := range r.completion {
		if r.completion[i] >= 0 {
			r.completion[i] -= int32(n) // below zero: of an invocation that has been dealt with
		}
	}
	w.tried = len(r.events)
	return nil
}

// flush gives the batch that has been made, and begins the next.
func (w *window) flush() error {
	r := w.r
	if r.b.NumTxns() == 0 {
		return nil
	}
	made := int64(r.b.NumTxns())
	meta, initial := r.b.Meta, r.b.Initial
	h, err := r.b.Build()
	if err != nil {
		return err
	}
	h.Positions = h.Txns.Start != nil && !r.byTime
	r.b = history.NewBuilder()
	r.b.File, r.b.Meta, r.b.Initial = r.s.File, meta, initial
	r.lists = r.lists[:0]
	r.made += made
	return w.give(h)
}
