// Package porcupine reads the console logs of Jepsen's etcd test that Porcupine's tests use: one register, a line an event.
//
//	INFO  jepsen.util - 2	:invoke	:cas	[1 4]
//	INFO  jepsen.util - 2	:fail	:cas	[1 4]
//
// The register is absent at first (nil). A read, write or cas that is ok took effect. A cas that failed found another value than
// the one it compared with: a definite answer, kept as a predicate read that matches nothing (but for one that compared with nil:
// that the register was there no predicate says). A read that failed or timed out says nothing. What was never completed, and a write or cas that timed out, may have taken effect any time later. Times are positions in the file.
package porcupine

import (
	"bytes"
	"fmt"
	"strconv"

	"isovet/history"
)

var marker = []byte("jepsen.util - ")

// Is reports whether a file's first line with content is an event of such a log.
func Is(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			_, rest, ok := bytes.Cut(line, marker)
			return ok && len(bytes.Split(rest, []byte{'\t'})) >= 4
		}
	}
	return false
}

type op struct {
	start, end int64
	line       uint32
	process    int64
	f          string
	args       [2]int64
	nils       [2]bool
	status     history.Status
	failed     bool // a cas
	skip       bool
}

// Read reads a log. Errors are *history.InputError with the line. Cost: one pass, and history.Builder.Build.
func Read(data []byte, file string) (*history.History, error) {
	var ops []op
	open := map[int64]int{}
	lineNo := 0
	for line := range bytes.Lines(data) {
		lineNo++
		_, rest, ok := bytes.Cut(bytes.TrimSpace(line), marker)
		if !ok {
			continue // of another part of the test
		}
		f := bytes.Split(rest, []byte{'\t'})
		wrong := func(field, found, expected string) error {
			return &history.InputError{File: file, Line: lineNo, Off: -1, Field: field, Msg: fmt.Sprintf("found %q; expected %s", found, expected)}
		}
		if len(f) < 4 {
			return nil, wrong("", string(rest), "process, type, operation and value, with tabs between them")
		}
		if bytes.HasPrefix(f[0], []byte(":")) {
			continue // :nemesis
		}
		p, err := strconv.ParseInt(string(f[0]), 10, 64)
		if err != nil {
			return nil, wrong("process", string(f[0]), "an integer")
		}
		kind, name, value := string(f[1]), string(f[2]), bytes.TrimSpace(f[3])
		if name != ":read" && name != ":write" && name != ":cas" {
			return nil, wrong("operation", name, ":read, :write or :cas")
		}
		at, pending := open[p]
		if kind == ":invoke" {
			if pending {
				return nil, wrong("process", string(f[0]), "the completion of its operation of line "+strconv.Itoa(int(ops[at].line)))
			}
			o := op{start: int64(lineNo), end: history.NoTime, line: uint32(lineNo), process: p, f: name, status: history.Unknown, skip: name == ":read"}
			if name != ":read" {
				if err := o.values(value); err != nil {
					return nil, wrong("value", string(value), err.Error())
				}
			}
			open[p] = len(ops)
			ops = append(ops, o)
			continue
		}
		if !pending || ops[at].f != name {
			return nil, wrong("type", kind, ":invoke before a completion")
		}
		delete(open, p)
		o := &ops[at]
		switch kind {
		case ":ok":
			o.status, o.end, o.skip = history.Committed, int64(lineNo), false
			if err := o.values(value); err != nil {
				return nil, wrong("value", string(value), err.Error())
			}
		case ":fail":
			switch {
			case name == ":cas" && bytes.HasPrefix(value, []byte("[")):
				o.status, o.end, o.failed, o.skip = history.Committed, int64(lineNo), true, o.nils[0]
			case name == ":read":
			default:
				o.status = history.Aborted
			}
		case ":info":
		default:
			return nil, wrong("type", kind, ":invoke, :ok, :fail or :info")
		}
	}
	return build(ops, file)
}

// values reads nil, n or [n n].
func (o *op) values(text []byte) error {
	fields := [][]byte{text}
	if o.f == ":cas" {
		fields = bytes.Fields(bytes.Trim(text, "[]"))
		if len(fields) != 2 {
			return fmt.Errorf("[old new]")
		}
	}
	for i, f := range fields {
		if o.nils[i] = string(f) == "nil"; o.nils[i] {
			continue
		}
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return fmt.Errorf("an integer or nil")
		}
		o.args[i] = n
	}
	return nil
}

func build(ops []op, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.File = file
	key := b.Key(b.StringValue([]byte("register")))
	for _, o := range ops {
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
		case o.f == ":read":
			b.Read(key, value(0))
		case o.f == ":write":
			b.Write(key, value(0))
		case o.f == ":cas":
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
