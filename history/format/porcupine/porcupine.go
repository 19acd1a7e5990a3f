// Package porcupine reads the logs of Porcupine's tests: the console logs of Jepsen's etcd test, with one register and
// one event on each line, and the logs of a key-value store (see [ReadKV]).
//
//	INFO  jepsen.util - 2	:invoke	:cas	[1 4]
//	INFO  jepsen.util - 2	:fail	:cas	[1 4]
//
// Tabs or spaces separate the columns; text before the process is ignored. Lines without an event are skipped and
// counted. Events of a nemesis are skipped.
//
// The register is absent at first (nil). A read, write or cas that is ok took effect. A failed cas found another value
// than the one it compared with. This is a definite answer, which becomes a predicate read without matches (except for
// a comparison with nil: no predicate says that the register existed). A read that failed or timed out says nothing.
// An operation that was never completed, and a write or cas that timed out, may take effect at any later time. Times
// are positions in the file.
//
// Experimental: this package may still change.
package porcupine

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"isovet/history"
)

// Is reports whether the first event in a file's first lines is an event of such a log; sure says that it is written as
// by etcd's test.
func Is(head []byte) (is, sure bool) {
	const most = 100
	n := 0
	for line := range bytes.Lines(head) {
		if n++; n > most {
			break
		}
		e, ok := split(line)
		if !ok || e.prefix == 0 {
			continue // a line that begins with the process belongs to another format
		}
		if is = e.nemesis() || slices.Contains([]string{":read", ":write", ":cas"}, string(e.name)); is {
			return true, bytes.Contains(line, []byte("jepsen.util - "))
		}
	}
	return false, false
}

// event is the columns of a line.
type event struct {
	prefix              int // bytes before the process
	process, kind, name []byte
	value               []byte // the rest
	alone               bool   // nothing follows it
}

func (e *event) nemesis() bool { return e.process[0] == ':' }

// split finds the event of a line: a process, a type, an operation and the value; false if there is none.
func split(line []byte) (e event, ok bool) {
	var last, before []byte
	for pos := 0; ; {
		for pos < len(line) && space(line[pos]) {
			pos++
		}
		from := pos
		for pos < len(line) && !space(line[pos]) {
			pos++
		}
		if from == pos {
			return e, false
		}
		switch word := line[from:pos]; string(word) {
		case ":invoke", ":ok", ":fail", ":info":
			if last == nil || last[0] != ':' && (last[0] < '0' || last[0] > '9') {
				return e, false
			}
			e = event{prefix: len(before), process: last, kind: word}
			rest := bytes.TrimSpace(line[pos:])
			n := 0
			for n < len(rest) && !space(rest[n]) {
				n++
			}
			rest, e.name = bytes.TrimSpace(rest[n:]), rest[:n]
			e.value = form(rest)
			e.alone = len(e.value) == len(rest)
			return e, true
		default:
			before, last = line[:from], word
		}
	}
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// form returns the value at the beginning of a text: brackets with their content, or a word. The reason of a failure
// may follow.
func form(text []byte) []byte {
	if len(text) > 0 && text[0] == '[' {
		if end := bytes.IndexByte(text, ']'); end > 0 {
			return text[:end+1]
		}
		return text
	}
	for i, c := range text {
		if space(c) {
			return text[:i]
		}
	}
	return text
}

// op is an operation. It has no pointers, so that the garbage collector need not scan the many of them.
type op struct {
	start, end int64
	line       uint32
	process    int64
	f          fn
	args       [2]int64
	nils       [2]bool
	status     history.Status
	failed     bool // a cas
	skip       bool
}

// fn is the function of an operation.
type fn uint8

const (
	noFn fn = iota
	readFn
	writeFn
	casFn
)

func fnOf(name []byte) fn {
	switch string(name) {
	case ":read":
		return readFn
	case ":write":
		return writeFn
	case ":cas":
		return casFn
	}
	return noFn
}

// integer is strconv.ParseInt in base 10, but faster for most texts.
func integer(text []byte) (int64, error) {
	n := int64(0)
	for _, c := range text {
		if c-'0' > 9 {
			return strconv.ParseInt(string(text), 10, 64)
		}
		n = 10*n + int64(c-'0')
	}
	if len(text) == 0 || len(text) > 18 {
		return strconv.ParseInt(string(text), 10, 64)
	}
	return n, nil
}

// Read reads a log. With unknownNil a read of nil says nothing; a note counts such reads. passed is the number of lines
// without an event. Errors are *history.InputError with the line; a file without any event is one. Cost: one pass, and
// history.Builder.Build.
func Read(data []byte, file string, unknownNil bool) (h *history.History, passed int, err error) {
	const usual = 120 // bytes of an invocation and a completion, at least
	ops := make([]op, 0, min(len(data)/usual, 1<<24))
	var open history.Index // by process: its open operation
	lineNo, events, first, nils := 0, 0, 0, 0
	var firstText []byte
	for line := range bytes.Lines(data) {
		lineNo++
		e, ok := split(line)
		if !ok {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				if passed++; passed == 1 {
					first, firstText = lineNo, line
				}
			}
			continue // an operation of another part of the test
		}
		events++
		wrong := func(field, found, expected string) error {
			return &history.InputError{File: file, Line: lineNo, Off: -1, Field: field,
				Msg: fmt.Sprintf("found %.60q; expected %s", found, expected)}
		}
		if e.nemesis() {
			continue
		}
		p, err := integer(e.process)
		if err != nil {
			return nil, 0, wrong("process", string(e.process), "an integer")
		}
		kind, name, value := e.kind, fnOf(e.name), e.value
		if name == noFn {
			return nil, 0, wrong("operation", string(e.name), ":read, :write or :cas")
		}
		at, pending := open.Get(p)
		if string(kind) == ":invoke" {
			if pending {
				return nil, 0, wrong("process", string(e.process), "the completion of its operation of line "+
					strconv.Itoa(int(ops[at].line)))
			}
			o := op{start: int64(lineNo), end: history.NoTime, line: uint32(lineNo), process: p, f: name,
				status: history.Unknown, skip: name == readFn}
			if name != readFn {
				if err := o.values(value); err != nil {
					return nil, 0, wrong("value", string(value), err.Error())
				}
			}
			open.Set(p, uint32(len(ops)))
			ops = append(ops, o)
			continue
		}
		if !pending || ops[at].f != name {
			return nil, 0, wrong("type", string(kind), ":invoke before a completion")
		}
		open.Delete(p)
		o := &ops[at]
		switch string(kind) {
		case ":ok":
			asked := *o
			o.status, o.end, o.skip = history.Committed, int64(lineNo), false
			if err := o.values(value); err != nil {
				return nil, 0, wrong("value", string(value), err.Error())
			}
			if name != readFn && (o.args != asked.args || o.nils != asked.nils) {
				return nil, 0, wrong("value", string(value), "what line "+strconv.Itoa(int(o.line))+" invoked")
			}
			if unknownNil && name == readFn && o.nils[0] {
				o.skip = true
				nils++
			}
		case ":fail":
			switch {
			case name == casFn && bytes.HasPrefix(value, []byte("[")) && e.alone: // without another reason
				o.status, o.end, o.failed, o.skip = history.Committed, int64(lineNo), true, o.nils[0]
			case name == readFn:
			default:
				o.status = history.Aborted
			}
		case ":info":
		}
	}
	if events == 0 {
		return nil, 0, nothing(file, first, firstText, "an event: INFO  jepsen.util - 0	:invoke	:read	nil")
	}
	if h, err = build(ops, file); err == nil && nils > 0 {
		h.AddNote(history.NoteNil, nils, "isovet does not judge reads of nil: %d (as --nil unknown says; --nil "+
			"absent judges them)", nils)
	}
	return h, passed, err
}

// nothing returns the error for a file without any event.
func nothing(file string, line int, text []byte, expected string) error {
	if text == nil {
		return &history.InputError{File: file, Line: 1, Off: -1, Msg: "the file is empty; expected " + expected}
	}
	return &history.InputError{File: file, Line: line, Off: -1,
		Msg: fmt.Sprintf("found %.60q, and no line is part of a history; expected %s", text, expected)}
}

// values reads nil, n or [n n].
func (o *op) values(text []byte) error {
	one := [1][]byte{text}
	fields := one[:]
	if o.f == casFn {
		fields = bytes.Fields(bytes.Trim(text, "[]"))
		if len(fields) != 2 {
			return fmt.Errorf("[old new]")
		}
	}
	for i, f := range fields {
		if o.nils[i] = string(f) == "nil"; o.nils[i] {
			continue
		}
		n, err := integer(f)
		if err != nil {
			return fmt.Errorf("an integer or nil")
		}
		o.args[i] = n
	}
	return nil
}

func build(ops []op, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.File, b.Meta.Single = file, true
	key := b.Key(b.StringValue([]byte("register")))
	b.Reserve(len(ops), len(ops))
	for i := range ops {
		o := &ops[i]
		if o.skip {
			continue
		}
		value := func(i int) history.Value {
			if o.nils[i] {
				return history.Value{Kind: history.Null}
			}
			return history.IntValue(o.args[i])
		}
		switch {
		case o.failed:
			b.Predicate(history.PredRead, fmt.Appendf(nil, `{"":{"=":%d}}`, o.args[0]), nil)
		case o.f == readFn:
			b.Read(key, value(0))
		case o.f == writeFn:
			b.Write(key, value(0))
		case o.f == casFn:
			b.Read(key, value(0))
			b.Write(key, value(1))
		}
		h := history.NewTxnHead()
		h.HasSess, h.Session, h.Status, h.Line = true, o.process, o.status, o.line
		h.Start, h.End = o.start, o.end
		b.EndTxn(h)
	}
	return b.Build()
}
