package record

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"isovet/history"
	"isovet/level"
)

// Session is one client of a Recorder. Its transactions follow each other.
type Session struct {
	r    *Recorder
	id   int64
	node string
	txn  *Txn   // that has not ended; nil: none
	ops  []op   // the last transaction's, for the next
	line []byte // of a stream
}

// Txn is a transaction of a session, until it ends.
type Txn struct {
	s                  *Session
	name, level        string
	ops                []op
	start, commit, end int64
	startTS, commitTS  int64
	last               int64 // time of the last call
	intent             int64 // its id in the stream; 0: it is not there yet
	open               *Open // the same in parts
	wrote, ended       bool
	past               bool // it stands for what was there before
}

type op struct {
	key, val   value
	start, end int64
	kind       history.OpKind
	more       *more // nil: nothing
}

// more has what only reads of lists and predicate operations need.
type more struct {
	list []value
	pred []byte
	rows []row
}

// row is a row that a predicate matched.
type row struct {
	key, old, new value
	oldUnknown    bool
}

// errEnded says that the caller used a transaction after its end.
var errEnded = errors.New("record: the transaction has ended, or is being committed")

// Begin begins a transaction. name is its template, for reports. Call it just before begin is sent. If the session's
// last transaction has not ended, it gets an unknown outcome.
func (s *Session) Begin(name string) *Txn {
	if s.txn != nil {
		_ = s.txn.Unknown() // what goes wrong is kept
	}
	t := &Txn{s: s, name: name, ops: s.ops[:0], start: s.r.clock(), commit: history.NoTime, end: history.NoTime,
		startTS: history.NoTime, commitTS: history.NoTime}
	t.last, s.txn = t.start, t
	s.r.born.CompareAndSwap(0, t.start)
	return t
}

// Close says that the session has no further transactions.
func (s *Session) Close() error {
	var err error
	if s.txn != nil {
		err = s.txn.Unknown()
	}
	s.r.mu.Lock()
	delete(s.r.sessions, s)
	s.r.mu.Unlock()
	s.ops, s.line = nil, nil
	return err
}

// Read records the value that a read returned; nil means that the key is absent.
func (t *Txn) Read(key, v any) error { return t.one(history.Read, key, v) }

// Write records a write (insert, update, upsert) of a value. Record also a write that failed, unless it is known that
// the transaction had no effect: others may see it.
func (t *Txn) Write(key, v any) error { return t.one(history.Write, key, v) }

// Delete records that a key was deleted.
func (t *Txn) Delete(key any) error { return t.one(history.Write, key, nil) }

// Append records an append of an element to the list at key.
func (t *Txn) Append(key, element any) error { return t.one(history.Append, key, element) }

// ReadList records the read of a whole list. list is a slice or an array, or nil if nothing was appended yet.
func (t *Txn) ReadList(key, list any) error {
	if list == nil {
		return t.one(history.Read, key, nil)
	}
	v := reflect.ValueOf(list)
	if k := v.Kind(); k != reflect.Slice && k != reflect.Array {
		return t.s.r.fail(fmt.Errorf("record: list %s: a %T; expected a slice", show(key), list))
	}
	o, err := t.op(history.ReadList, key)
	if err != nil {
		return err
	}
	o.more = &more{}
	for i := range v.Len() {
		e, err := t.s.r.value(v.Index(i).Interface())
		if err == nil && (e.kind == history.Null || e.kind == history.Row) {
			err = fmt.Errorf("a %v; expected an integer, a string or a boolean", e.kind)
		}
		if err != nil {
			return t.s.r.fail(fmt.Errorf("record: list %s, element %d: %w", show(key), i, err))
		}
		o.more.list = append(o.more.list, e)
	}
	t.add(&o)
	return nil
}

// Row is a row that a predicate matched.
type Row struct {
	Key any
	// Old is the version that was read, or that a predicate write replaced. Unread means that the client does not know
	// it.
	Old any
	// New is the version that a predicate write made of the row; nil means that it deleted the row.
	New any
}

// Unread is Row.Old if a predicate write does not return what it replaced.
var Unread any = unread{}

type unread struct{}

// Predicate records a read of all rows that satisfy a condition, with the rows that it returned. The condition is a
// text, or a value with such JSON, as docs/history-format.md defines it: {"room":{"=":6},"end":{">":41}}.
func (t *Txn) Predicate(condition any, rows ...Row) error {
	return t.predicate(history.PredRead, condition, rows)
}

// PredicateWrite records an update or delete of all rows that satisfy a condition.
func (t *Txn) PredicateWrite(condition any, rows ...Row) error {
	return t.predicate(history.PredWrite, condition, rows)
}

func (t *Txn) predicate(kind history.OpKind, condition any, rows []Row) error {
	r := t.s.r
	if t.ended || t.intent != 0 {
		return r.fail(errEnded)
	}
	o := op{kind: kind, start: history.NoTime, end: history.NoTime, more: &more{}}
	var err error
	if o.more.pred, err = predicate(condition); err != nil {
		return r.fail(fmt.Errorf("record: predicate %s: %w", show(condition), err))
	}
	for _, in := range rows {
		x := row{oldUnknown: in.Old == Unread && kind == history.PredWrite}
		if x.key, err = r.key(in.Key); err == nil && !x.oldUnknown {
			x.old, err = r.value(in.Old)
		}
		if err == nil && kind == history.PredWrite {
			x.new, err = r.value(in.New)
		}
		if err != nil {
			return r.fail(fmt.Errorf("record: predicate %s, row %s: %w", o.more.pred, show(in.Key), err))
		}
		o.more.rows = append(o.more.rows, x)
	}
	t.add(&o)
	return nil
}

// one records an operation on one key.
func (t *Txn) one(kind history.OpKind, key, v any) error {
	o, err := t.op(kind, key)
	if err != nil {
		return err
	}
	if o.val, err = t.s.r.value(v); err == nil && kind == history.Append &&
		(o.val.kind == history.Null || o.val.kind == history.Row) {
		err = fmt.Errorf("a %v; expected an integer, a string or a boolean", o.val.kind)
	}
	if err != nil {
		return t.s.r.fail(fmt.Errorf("record: %s of key %s: %w", kindName(kind), show(key), err))
	}
	t.add(&o)
	return nil
}

func kindName(k history.OpKind) string {
	return [...]string{history.Read: "read", history.Write: "write", history.Append: "append",
		history.ReadList: "read", history.PredRead: "predicate read", history.PredWrite: "predicate write"}[k]
}

func (t *Txn) op(kind history.OpKind, key any) (op, error) {
	o := op{kind: kind, start: history.NoTime, end: history.NoTime}
	if t.ended || t.intent != 0 {
		return o, t.s.r.fail(errEnded)
	}
	var err error
	if o.key, err = t.s.r.key(key); err != nil {
		return o, t.s.r.fail(fmt.Errorf("record: key %s: %w", show(key), err))
	}
	return o, nil
}

func (t *Txn) add(o *op) {
	if t.s.r.o.OpTimes && o.start == history.NoTime {
		o.start = t.last
		t.last = t.s.r.clock()
		o.end = t.last
	}
	t.wrote = t.wrote || o.kind == history.Write || o.kind == history.Append || o.kind == history.PredWrite
	t.ops = append(t.ops, *o)
}

// Rename gives the transaction another name for reports, if it becomes known only at the end.
func (t *Txn) Rename(name string) {
	if !t.ended && t.intent == 0 {
		t.name = name
	}
}

// At sets the isolation level at which the transaction runs, as the session has set it, if it is not the recorder's
// Promised one. check judges the transaction at that level.
func (t *Txn) At(l level.Level) {
	if p := t.s.r.o.Promised; !t.ended && t.intent == 0 && (p == nil || l != *p) {
		t.level = l.String()
		t.s.r.level.Store(uint32(l) + 1)
	}
}

// Mark is a position among a transaction's operations: a savepoint.
type Mark int

// Mark returns the position after the operations recorded so far.
func (t *Txn) Mark() Mark { return Mark(len(t.ops)) }

// Undo removes the writes since the mark, and the reads that may have seen them, because the transaction has rolled
// back to a savepoint. Other reads stay.
func (t *Txn) Undo(m Mark) {
	if t.ended || t.intent != 0 || int(m) < 0 || int(m) >= len(t.ops) {
		return
	}
	type version struct{ key, val value }
	gone := map[version]bool{}
	wrote := false
	t.ops = append(t.ops[:m], slices.DeleteFunc(slices.Clone(t.ops[m:]), func(o op) bool {
		switch o.kind {
		case history.Read:
			return gone[version{o.key, o.val}]
		case history.Write:
			gone[version{o.key, o.val}] = true
		case history.PredWrite:
			for _, x := range o.more.rows {
				gone[version{x.key, x.new}] = true
			}
		case history.PredRead, history.ReadList:
			return wrote // perhaps of what is undone
		}
		wrote = true
		return true
	})...)
}

// ReadWith runs a read and records its result, with the times around it. It does not record a read that fails.
func (t *Txn) ReadWith(key any, read func() (any, error)) (any, error) {
	start := t.s.r.clock()
	v, err := read()
	if err != nil {
		return v, err
	}
	return v, t.timed(start, t.Read(key, v))
}

// WriteWith runs a write of a value, nil for a delete, and records it with the times around it. It records a failed
// write too: if only the answer was lost, others may have seen it. Roll back after a failed write.
func (t *Txn) WriteWith(key, v any, write func() error) error {
	start := t.s.r.clock()
	err := write()
	return errors.Join(err, t.timed(start, t.Write(key, v)))
}

// timed sets the times of the last operation, unless it failed.
func (t *Txn) timed(start int64, err error) error {
	if err == nil {
		o := &t.ops[len(t.ops)-1]
		o.start, o.end = start, t.s.r.clock()
		t.last = o.end
	}
	return err
}

// Timestamps sets the database's own snapshot and commit timestamps, for checkers that trust them.
func (t *Txn) Timestamps(start, commit int64) { t.startTS, t.commitTS = start, commit }

// Committing says that the commit is about to be sent. Commit calls it. A program that commits without Commit must
// call it first.
func (t *Txn) Committing() error {
	if t.ended || t.commit != history.NoTime {
		return t.s.r.fail(errEnded)
	}
	t.commit = t.s.r.clock()
	r := t.s.r
	if !r.intents && r.parts == nil || !t.wrote {
		return nil
	}
	t.intent = r.ids.Add(1)
	t.s.line = t.appendLine(append(t.s.line[:0], `{"intent":true,`...), t.intent)
	if r.parts != nil {
		r.writeInitial()
		var err error
		t.open, err = r.parts.Intend(t.intent, t.s.line, len(t.ops))
		return r.fail(err)
	}
	return t.s.r.fail(t.s.r.stream.Append(t.s.line, false))
}

// Commit runs the commit and records the outcome: committed without an error, aborted with an error that
// Options.Aborted knows, otherwise unknown. It returns the commit's error. If commit is nil, the transaction has
// committed already.
func (t *Txn) Commit(commit func() error) error {
	if commit == nil {
		return t.finish(history.Committed)
	}
	if t.ended {
		return errors.Join(commit(), t.s.r.fail(errEnded))
	}
	var said error
	if t.commit == history.NoTime {
		said = t.Committing()
	}
	err := commit()
	how := history.Committed
	if err != nil {
		how = history.Unknown
		if t.s.r.o.Aborted != nil && t.s.r.o.Aborted(err) {
			how = history.Aborted
		}
	}
	return errors.Join(err, said, t.finish(how))
}

// Abort runs the rollback and records the transaction as aborted. If rollback is nil, it has been rolled back already.
func (t *Txn) Abort(rollback func() error) error {
	if rollback == nil {
		return t.finish(history.Aborted)
	}
	if !t.ended && t.commit == history.NoTime {
		t.commit = t.s.r.clock()
	}
	return errors.Join(rollback(), t.finish(history.Aborted))
}

// Drop forgets a transaction that was not sent after all. One with operations, or with a line in the stream, is
// recorded as aborted.
func (t *Txn) Drop() error {
	if t.ended || len(t.ops) > 0 || t.intent != 0 || t.open != nil {
		return t.Abort(nil)
	}
	t.ended, t.s.txn = true, nil
	return nil
}

// Unknown records that nobody knows whether the transaction committed: the answer to its commit was lost.
func (t *Txn) Unknown() error { return t.finish(history.Unknown) }

func (t *Txn) finish(how history.Status) error {
	if t.ended {
		return t.s.r.fail(errEnded)
	}
	if how != history.Unknown {
		t.end = t.s.r.clock()
	}
	t.ended, t.s.txn, t.s.ops = true, nil, t.ops
	r := t.s.r
	r.n[how].Add(1)
	r.ops.Add(int64(len(t.ops)))
	if r.stream != nil || r.parts != nil {
		return r.fail(t.write(how))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.take(t, how)
	return nil
}

// write streams a transaction that has ended.
func (t *Txn) write(how history.Status) error {
	r := t.s.r
	r.writeInitial()
	id := t.intent
	if id == 0 {
		id = r.ids.Add(1)
	}
	if t.intent == 0 || r.o.Tee != nil {
		b := append(append(append(t.s.line[:0], `{"status":"`...), how.String()...), `",`...)
		t.s.line = t.appendLine(appendTime(b, "end", t.end), id)
		if r.o.Tee != nil && !t.past {
			r.o.Tee(t.s.line)
		}
	}
	switch {
	case t.open != nil:
		return r.parts.Outcome(t.open, how, t.end)
	case r.parts != nil:
		return r.parts.Ended(t.s.line, len(t.ops))
	case t.intent != 0:
		t.s.line = appendOutcome(t.s.line[:0], id, how, t.end)
	}
	return r.stream.Append(t.s.line, false)
}
