// Package jepsen reads and writes the histories of Jepsen, Elle and Knossos. Operations are EDN maps or JSON objects,
// one on each line or all in one vector; or vectors, Knossos's first form; or lines of a log.
//
//	{:type :invoke, :process 3, :f :txn, :value [[:append 7 1] [:r 8 nil]], :time 57677097, :index 0}
//	{:type :ok,     :process 3, :f :txn, :value [[:append 7 1] [:r 8 [2 4]]], :time 67936298, :index 1}
//	[3 :invoke :write 5]
//	2021-02-26 23:39:01,300{GMT}	INFO	[jepsen worker 3] jepsen.util: 3	:invoke	:write	5
//
// # Transactions
//
// The next operation of an invocation's process completes it: ok has committed, fail has not, info or a missing one
// may have. A process is a session, or without it a client; one with a name gets an unused number below zero.
// Operations without process have no session, and only one of each :f may be open at a time. Left out are operations
// of no client (:nemesis, and names whose infos complete nothing), and reads that do not say what they read. A failed
// transaction keeps the writes of its invocation, so that a read of one is an aborted read. Completions alone have no
// times. :start-timestamp and :commit-timestamp of a completion are database timestamps.
//
// An ok completion repeats its invocation with the values read; the invocation may have nil for a value that it did
// not know. A completion that does something else is an error: if either is wrong, reads of its writes would look like
// violations.
//
// # Real time
//
// Real time comes from :time (nanoseconds, seconds with a fraction, or dates), if every operation has one, they are
// not all the same, no operation ends before it begins, and each process's operations follow one another. Otherwise it
// comes from :index, if all operations have one, or from the order in the file, as in Jepsen's own checkers. If time
// and order disagree, a note says which one was used; [Options] decides. Operations are first sorted by index.
//
// # Models
//
// If a value is a sequence of micro-operations ([:r k v], [:w k v], [:append k v], or read and write in full), it is a
// transaction, whatever :f says. With an append anywhere in the file, keys are lists, except those that some [:w k v]
// writes, which are registers. [key [[:r k v] …]] is a transaction of jepsen.independent, with keys "key k". A read of
// nil reads the absent key, or the empty list. Otherwise :f names the operation:
//
//   - read, write, delete (a write of nil), cas: one register, or one for each key if the operation has a :key or
//     values are [key value] (independent). A cas is a read and a write; its value is [old new], [key [old new]],
//     [key old new] or {:old o :new n}. Values with the version that a database gave them, [key [version value]],
//     count without it, which a note says. A failed cas says nothing, since Jepsen's fail has many reasons. A read of
//     nil says nothing either: Knossos's registers take it for a read whose answer is unknown. A note counts such
//     reads, and [Options] decides.
//   - acquire, release: a mutex, a register that is 0, then 1, then 0 again.
//   - add, and a read that is a collection: a set; each element is a key, and a read is a predicate read of all of
//     them.
//   - add with a read that is a number (a counter), transfer (a bank), get/put/append of strings (Porcupine's key-value
//     logs) do not say what was written: no reads and writes explain them, and they are refused with that reason.
//
// A file with keyed and unkeyed operations, or with transactions and registers, is an error that names both lines.
//
// Experimental: this package may still change.
package jepsen

import (
	"bytes"
	"strings"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/plural"
)

// Is reports whether a file begins as one of this format, in JSON or in EDN.
func Is(head []byte, json bool) bool {
	s := edn.Scanner{Data: head, JSON: json, Keywords: json && keywords(head)}
	t, err := s.Next()
	if err == nil && t.Opens() {
		if t, err = s.Next(); err == nil && t.Opens() {
			t, err = s.Next()
		}
		if err == nil && !t.OpensMap() {
			return isVector(&s, t, json)
		}
	}
	if err != nil || !t.OpensMap() {
		return false
	}
	// The first map has a type; the head's end may cut the map off.
	for {
		t, err := s.Next()
		if err != nil || t.Kind == edn.Close {
			return false
		}
		if !s.Keywords && json != (t.Kind == edn.Text) || (t.Kind != edn.Text && t.Kind != edn.Word) {
			return false
		}
		if t.Is("type") {
			v, err := s.Next()
			return err == nil && isKind(v)
		}
		if t.Is("history") {
			v, err := s.Next()
			return err == nil && v.Opens() && Is(head[v.Pos:], json)
		}
		name := bytes.Clone(t.Text)
		if err := s.Skip(); err != nil {
			return string(name) == "value" && len(head) > 1<<15
		}
	}
}

// keywords reports whether a file of JSON has keywords as texts that begin with a colon.
func keywords(data []byte) bool { return bytes.Contains(data, []byte(`":type"`)) }

// isVector reports whether the rest of an operation that is a vector follows its process.
func isVector(s *edn.Scanner, process edn.Token, json bool) bool {
	if process.Kind != edn.Int && process.Kind != edn.Word && process.Kind != edn.Text {
		return false
	}
	t, err := s.Next()
	if err != nil || json != (t.Kind == edn.Text) || !isKind(t) {
		return false
	}
	t, err = s.Next()
	return err == nil && (t.Kind == edn.Word || t.Kind == edn.Text)
}

func isKind(t edn.Token) bool { return t.Is("invoke") || t.Is("ok") || t.Is("fail") || t.Is("info") }

// Options says how to read.
type Options struct {
	JSON     bool   // the notation
	RealTime string // source of real time: "time", "index", "none"; else the one that fits
	// Nil is the meaning of an ok read of nil. "unknown" means that the read says nothing. "absent" means that the key
	// is absent, or the list or set is empty; "initial" means the same here, and the caller distinguishes them. ""
	// means "unknown" for registers and sets, otherwise "absent".
	Nil string
	// TextNumbers reads a text that is an integer as that integer, in keys and values.
	TextNumbers bool
}

// event is one operation of the file.
type event struct {
	process    int64 // a named process has its index among the names
	time       int64
	index      int64
	start, end int64 // database timestamps
	value, key int   // their places; -1: none
	pos        int
	line       uint32
	kind       kind
	f          fn
	named      bool
}

func newEvent(pos int) event {
	return event{process: noProcess, time: history.NoTime, index: history.NoTime, start: history.NoTime,
		end: history.NoTime, value: -1, key: -1, pos: pos}
}

type kind uint8

const (
	invoke kind = iota
	ok
	fail
	info
)

type fn uint8

const (
	noFn fn = iota
	txnFn
	readFn
	writeFn
	casFn
	deleteFn
	acquireFn
	releaseFn
	addFn
	transferFn
	getFn
	putFn
	appendFn
	otherFn
)

func fnNamed(name []byte) (fn, bool) {
	switch string(name) {
	case "txn":
		return txnFn, true
	case "read":
		return readFn, true
	case "write":
		return writeFn, true
	case "cas":
		return casFn, true
	case "delete":
		return deleteFn, true
	case "acquire":
		return acquireFn, true
	case "release":
		return releaseFn, true
	case "add":
		return addFn, true
	case "transfer":
		return transferFn, true
	case "get":
		return getFn, true
	case "put":
		return putFn, true
	case "append":
		return appendFn, true
	}
	return noFn, false
}

const noProcess = history.NoTime

// reader holds a file's operations until they are paired.
type reader struct {
	s        edn.Scanner
	size     int // of the file; a log is scanned line by line
	realTime string
	plain    bool // try plain readers first, see plainEvent
	events   []event
	dialect
	names    map[string]int64 // of processes
	noClient int              // operations of no client
	nemesis  []event          // those of the nemesis, and their :f
	nemesisF []string
	wrapped  bool       // the operations are a field of a map
	inLog    bool       // they are lines of a log
	lists    []saidList // by key
	model    model
	pairing

	nilMeans string // Options.Nil
	numbers  bool   // Options.TextNumbers

	b     *history.Builder
	forms []form
	elems []history.Value
	rows  []history.PredRow
	buf   []byte
}

// byNemesis notes an operation of no client, for figures. f is its :f as text. The event's value becomes its place.
func (r *reader) byNemesis(e event, f []byte) {
	r.noClient++
	e.value = len(r.events)
	r.nemesis, r.nemesisF = append(r.nemesis, e), append(r.nemesisF, strings.Trim(string(f), `":`))
}

// pairing is the state after pairing invocations with completions, with the counts for notes.
type pairing struct {
	completion []int32 // invocation → its completion, and the reverse; -1: none
	byTime     bool
	indexed    bool // all have an index, in order
	versions   int  // values that have a version
	nils       int  // reads of nil without meaning, and the place of the first
	nilLine    uint32
	again      int // repeated elements of reads of sets, and the place of the first
	againLine  uint32
	mark       []int32        // key → the last read of a set that contained it
	reads      int32          // of sets
	calls      []history.Call // that are not committed transactions
}

// dialect is the form of the operations read so far.
type dialect struct {
	used      [otherFn + 1]bool
	other     string   // an :f of otherFn
	did       []did    // the micro-operations that were read last, if all are of integers
	timeKind  edn.Kind // of times: an integer, a number, a text
	timeLine  int      // the first that is not nil
	shape     shape    // of the operations so far, and the first's line
	shapeLine uint32
	registers map[string]bool // keys, as texts, that are written in a history of lists
	keyedTxns bool            // some transactions are [key micro-operations]
	prefix    []byte          // the key of the one being read, and a blank
	// text → 1 + the place where it first is a key, a key around a transaction, or a value; below zero if not in quotes
	keyWords, around, values []int
}

func newReader(data []byte, file string, o Options) *reader {
	r := &reader{s: edn.Scanner{Data: data, File: file, JSON: o.JSON}, size: len(data), realTime: o.RealTime,
		nilMeans: o.Nil, numbers: o.TextNumbers, b: history.NewBuilder(), names: map[string]int64{}, plain: true}
	if o.JSON && keywords(data) {
		r.s.Keywords, r.plain = true, false
	}
	r.b.File = file
	return r
}

// Read reads a file in EDN or JSON. Errors are *history.InputError with the line. Cost: two passes over the bytes,
// memory for 100 bytes an operation of the file, history.Builder.Build. data is not referenced afterwards.
func Read(data []byte, file string, o Options) (*history.History, error) {
	r := newReader(data, file, o)
	if err := r.file(); err != nil {
		return nil, err
	}
	return r.build()
}

func (r *reader) build() (*history.History, error) {
	if len(r.events) == 0 {
		found := "no operation"
		if r.noClient > 0 {
			found = plural.Phrase(r.noClient, "operation, not of a client", "operations, none of a client")
		}
		return nil, r.s.Errorf(0, "", "found %s; expected a history", found)
	}
	r.nameProcesses()
	if err := r.choose(); err != nil {
		return nil, err
	}
	r.sort()
	if err := r.pair(); err != nil {
		return nil, err
	}
	if err := r.clock(); err != nil {
		return nil, err
	}
	if err := r.txns(); err != nil {
		return nil, err
	}
	h, err := r.b.Build()
	if err == nil {
		h.Run = &history.Run{Calls: r.calls}
		for i := range r.nemesis {
			e := &r.nemesis[i]
			if at := r.timeOf(e, e.value); at != history.NoTime && r.realTime != "none" {
				h.Run.Events = append(h.Run.Events, history.Event{At: at, F: r.nemesisF[i]})
			}
		}
		h.Positions = h.Txns.Start != nil && !r.byTime
		h.Meta.Asks = r.asks(h)
	}
	return h, err
}

// asks returns the level that a test with such operations checks, if the file has real time. Jepsen's checkers of sets
// allow stale reads.
func (r *reader) asks(h *history.History) string {
	switch {
	case h.Txns.Start == nil || r.model == sets:
		return ""
	case r.shape >= txnShape:
		return "strict-serializable"
	}
	return "linearizable"
}
