// Package jepsen reads and writes the histories of Jepsen and Elle: operations as EDN maps or JSON objects, one after another, a
// line each or in one vector.
//
//	{:type :invoke, :process 3, :f :txn, :value [[:append 7 1] [:r 8 nil]], :time 57677097, :index 0}
//	{:type :ok,     :process 3, :f :txn, :value [[:append 7 1] [:r 8 [2 4]]], :time 67936298, :index 1}
//
// # Transactions
//
// An invocation is completed by its process's next operation: ok has committed, fail has not, info or none may have. A process is a
// session. Operations without process have no session, and of one :f only one may be open at a time. What is not a
// client's (:nemesis) is left out, and so is what cannot matter: reads of transactions that did not say what they read. Of a failed
// transaction its writes stay, as invoked, so that whoever saw them is an aborted read. Completions alone have no times. Times are
// :time where every operation has one, they never go back and are not all 0, else the operation's position, which is what
// Jepsen's own checkers go by. :start-timestamp and :commit-timestamp of a completion are database timestamps.
//
// # Models
//
// A value that is a sequence of micro-operations ([:r k v], [:w k v], [:append k v]) is a transaction, whatever :f says; with an append
// anywhere the history is one of lists. Otherwise :f says what it is:
//
//   - read, write, cas: one register, or one for each key where values are [key value] (independent). A cas is a read and a write.
//     A failed cas says nothing, since Jepsen's fail has many reasons. A read of nil says nothing either: Knossos's registers take it for
//     one whose answer is not known.
//   - acquire, release: a mutex, a register that is 0, then 1, then 0 again.
//   - add, and a read that is a collection: a set; each element is a key, and a read is a predicate read of all of them.
//   - add with a read that is a number (a counter), transfer (a bank), get/put/append of strings (Porcupine's key-value logs) do not say what
//     was written: no reads and writes explain them, and they are refused with that reason.
package jepsen

import (
	"bytes"

	"isovet/history"
	"isovet/history/format/edn"
)

// Is reports whether a file begins as one of this format; json says which of the two notations.
func Is(head []byte, json bool) bool {
	s := edn.Scanner{Data: head, JSON: json}
	t, err := s.Next()
	if err == nil && t.Opens() && (!json || t.Bracket == '[') {
		t, err = s.Next()
	}
	if err != nil || !t.OpensMap() {
		return false
	}
	// The first map has a type, cut off by the head's end or not.
	for {
		t, err := s.Next()
		if err != nil || t.Kind == edn.Close {
			return false
		}
		if json != (t.Kind == edn.Text) || (t.Kind != edn.Text && t.Kind != edn.Word) {
			return false
		}
		if t.Is("type") {
			v, err := s.Next()
			return err == nil && (v.Is("invoke") || v.Is("ok") || v.Is("fail") || v.Is("info"))
		}
		name := bytes.Clone(t.Text)
		if err := s.Skip(); err != nil {
			return string(name) == "value" && len(head) > 1<<15
		}
	}
}

// event is one operation of the file.
type event struct {
	process    int64
	time       int64
	index      int64
	start, end int64 // database timestamps
	value, key int   // where they stand; -1: nowhere
	pos        int
	line       uint32
	kind       kind
	f          fn
}

type kind uint8

const (
	invoke kind = iota
	ok
	fail
	info
)

var kinds = [...]string{"invoke", "ok", "fail", "info"}

type fn uint8

const (
	noFn fn = iota
	txnFn
	readFn
	writeFn
	casFn
	acquireFn
	releaseFn
	addFn
	transferFn
	getFn
	putFn
	appendFn
	otherFn
)

var fns = map[string]fn{
	"txn": txnFn, "read": readFn, "write": writeFn, "cas": casFn, "acquire": acquireFn, "release": releaseFn, "add": addFn,
	"transfer": transferFn, "get": getFn, "put": putFn, "append": appendFn,
}

const noProcess = history.NoTime

// reader holds a file's operations until they are paired.
type reader struct {
	s      edn.Scanner
	events []event
	used   [otherFn + 1]bool
	model  model

	anyProcess, allTimes, allIndexed bool

	b     *history.Builder
	elems []history.Value
	rows  []history.PredRow
	buf   []byte
}

// Read reads a file in EDN or JSON. Errors are *history.InputError with the line. Cost: two passes over the bytes, memory for 80
// bytes an operation of the file, history.Builder.Build. data is not referenced afterwards.
func Read(data []byte, file string, json bool) (*history.History, error) {
	r := reader{s: edn.Scanner{Data: data, File: file, JSON: json}, b: history.NewBuilder(), allTimes: true, allIndexed: true}
	r.b.File = file
	if err := r.file(); err != nil {
		return nil, err
	}
	if err := r.choose(); err != nil {
		return nil, err
	}
	if err := r.pair(); err != nil {
		return nil, err
	}
	return r.b.Build()
}

// file reads all operations, in a vector or one after another.
func (r *reader) file() error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	inVector := t.Opens()
	if inVector {
		t, err = r.s.Next()
	}
	for ; err == nil; t, err = r.s.Next() {
		switch {
		case t.Kind == edn.EOF:
			return nil
		case t.Kind == edn.Close && inVector:
			t, err = r.s.Next()
			if err == nil && t.Kind != edn.EOF {
				err = r.s.Errorf(t.Pos, "", "found %v behind the history; expected the end of the file", t)
			}
			return err
		}
		if err := r.event(t); err != nil {
			return err
		}
	}
	return err
}

// event reads one operation; t is its bracket.
func (r *reader) event(t edn.Token) error {
	if !t.OpensMap() {
		return r.s.Errorf(t.Pos, "", "found %v; expected an operation: a map", t)
	}
	e := event{process: noProcess, time: history.NoTime, index: history.NoTime, start: history.NoTime, end: history.NoTime, value: -1, key: -1, pos: t.Pos, line: uint32(r.s.Line(t.Pos))}
	client, typed := true, false
	for {
		name, err := r.s.Next()
		if err != nil {
			return err
		}
		if name.Kind == edn.Close {
			break
		}
		if name.Kind != edn.Word && name.Kind != edn.Text {
			return r.s.Errorf(name.Pos, "", "found %v; expected the name of a field", name)
		}
		switch string(name.Text) {
		case "type":
			typed = true
			e.kind, err = r.kind()
		case "process":
			var t edn.Token
			if t, err = r.s.Next(); err != nil {
				return err
			}
			switch t.Kind {
			case edn.Int:
				e.process = t.N
			case edn.Nil:
			case edn.Word, edn.Text:
				client = false
			default:
				err = r.s.Errorf(t.Pos, "process", "found %v; expected an integer, or the name of what is no client", t)
			}
		case "f":
			var t edn.Token
			if t, err = r.s.Next(); err != nil {
				return err
			}
			switch f, known := fns[string(t.Text)]; {
			case t.Kind == edn.Nil:
			case t.Kind != edn.Word && t.Kind != edn.Text:
				err = r.s.Errorf(t.Pos, "f", "found %v; expected a keyword", t)
			case known:
				e.f = f
			default:
				e.f = otherFn
			}
		case "value":
			e.value = r.s.Pos()
			err = r.s.Skip()
		case "key":
			e.key = r.s.Pos()
			err = r.s.Skip()
		case "time":
			e.time, err = r.integer("time")
		case "index":
			e.index, err = r.integer("index")
		case "start-timestamp":
			e.start, err = r.integer("start-timestamp")
		case "commit-timestamp":
			e.end, err = r.integer("commit-timestamp")
		default:
			err = r.s.Skip()
		}
		if err != nil {
			return err
		}
	}
	if !client {
		return nil
	}
	if !typed {
		return r.s.Errorf(t.Pos, "type", "missing; expected invoke, ok, fail or info")
	}
	r.anyProcess = r.anyProcess || e.process != noProcess
	if n := len(r.events); e.time == history.NoTime || (n > 0 && e.time < r.events[n-1].time) {
		r.allTimes = false
	}
	r.allIndexed = r.allIndexed && e.index != history.NoTime && (len(r.events) == 0 || e.index > r.events[len(r.events)-1].index)
	r.used[e.f] = true
	r.events = append(r.events, e)
	return nil
}

func (r *reader) kind() (kind, error) {
	t, err := r.s.Next()
	if err != nil {
		return 0, err
	}
	for k, name := range kinds {
		if t.Is(name) {
			return kind(k), nil
		}
	}
	return 0, r.s.Errorf(t.Pos, "type", "found %v; expected invoke, ok, fail or info", t)
}

// integer reads a time or an index; nil is none.
func (r *reader) integer(field string) (int64, error) {
	t, err := r.s.Next()
	switch {
	case err != nil:
		return 0, err
	case t.Kind == edn.Int:
		return t.N, nil
	case t.Kind == edn.Nil:
		return history.NoTime, nil
	}
	return 0, r.s.Errorf(t.Pos, field, "found %v; expected an integer", t)
}

// pair finds each invocation's completion and adds the transactions, in the order of the invocations.
func (r *reader) pair() error {
	completion := make([]int32, len(r.events))
	pending := map[int64]int32{}
	var loose [otherFn + 1][]int32 // those without process
	invoked := false
	for i := range r.events {
		e := &r.events[i]
		completion[i] = -1
		if e.kind == invoke {
			invoked = true
			if e.process == noProcess {
				loose[e.f] = append(loose[e.f], int32(i))
				continue
			}
			if j, open := pending[e.process]; open {
				return r.s.Errorf(e.pos, "process", "process %d invokes while its operation of line %d is not completed; expected ok, fail or info", e.process, r.events[j].line)
			}
			pending[e.process] = int32(i)
			continue
		}
		if e.process == noProcess {
			switch open := loose[e.f]; {
			case len(open) > 1:
				return r.s.Errorf(e.pos, "process", "missing, so that it may complete the operation of line %d or that of line %d; expected an integer", r.events[open[0]].line, r.events[open[1]].line)
			case len(open) == 1:
				completion[open[0]], completion[i] = int32(i), open[0]
				loose[e.f] = open[:0]
			}
			continue
		}
		if j, open := pending[e.process]; open {
			completion[j], completion[i] = int32(i), j
			delete(pending, e.process)
		}
	}
	if n := len(r.events); n > 0 && r.events[0].time == 0 && r.events[n-1].time == 0 {
		r.allTimes = false // no clock, and an order only where there are invocations
	}
	for i := range r.events {
		e := &r.events[i]
		first, last := int32(i), completion[i]
		if e.kind != invoke {
			if last >= 0 {
				continue // added with its invocation
			}
			first, last = -1, int32(i)
		}
		if err := r.txn(first, last, invoked); err != nil {
			return err
		}
	}
	return nil
}

// txn adds a transaction: invocation first and completion last, either of which may be missing (-1).
func (r *reader) txn(first, last int32, timed bool) error {
	h := history.NewTxnHead()
	var e event // the one that says most
	h.Status = history.Unknown
	if first >= 0 {
		e = r.events[first]
		if timed {
			h.Start = r.time(first)
		}
	}
	if last >= 0 {
		c := r.events[last]
		if c.value < 0 {
			c.value = e.value
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
		// What a transaction that did not finish asked for is in its invocation.
		if c.kind != ok && first >= 0 {
			c.value = e.value
		}
		e = c
	}
	any, err := r.ops(&e, h.Status)
	if err != nil || !any {
		return err
	}
	if r.anyProcess && e.process != noProcess {
		h.HasSess, h.Session = true, e.process
	}
	if r.allIndexed {
		h.HasID, h.ID = true, e.index
	}
	h.Line = e.line
	r.b.EndTxn(h)
	return nil
}

func (r *reader) time(i int32) int64 {
	if r.allTimes {
		return r.events[i].time
	}
	return int64(i)
}
