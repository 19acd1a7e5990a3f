package dbcop

import (
	"bytes"
	"fmt"
	"strconv"

	"isovet/history"
)

// IsText reports whether the first line with content that is no comment begins with a transaction of the text form.
func IsText(head []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || dashes(line) || bytes.HasPrefix(line, []byte("//")) {
			continue
		}
		if line[0] != '[' {
			return false
		}
		p := textReader{line: line[1:]}
		_, err := p.event()
		return err == nil
	}
	return false
}

func dashes(line []byte) bool { return len(bytes.Trim(line, "-")) == 0 }

// ReadText reads a history in dbcop's text form (.hist) of 2026:
//
//	// session 1
//	[x:=1 y:=1] [x==1 z==?]
//	---
//	[y==1 y:=2]!
//
// := writes a version, == reads one, ==? reads what was never written, and so does ==0 where nobody writes 0. ! behind
// a transaction: it did not commit. Nothing is there at first. Errors are *history.InputError with the line. Cost: one
// pass, and history.Builder.Build. data is not referenced afterwards.
func ReadText(data []byte, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.File = file
	var txns []transaction
	session, lineNo := int64(0), 0
	first, firstText := 0, []byte(nil)
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		lineNo++
		line = bytes.TrimSpace(line)
		if len(line) > 0 && firstText == nil {
			first, firstText = lineNo, line
		}
		switch {
		case len(line) == 0 || bytes.HasPrefix(line, []byte("//")):
			continue
		case dashes(line):
			session++
			continue
		}
		p := textReader{line: line, b: b}
		for p.blank(); len(p.line) > 0; p.blank() {
			events, committed, err := p.txn()
			if err != nil {
				return nil, &history.InputError{File: file, Line: lineNo, Off: -1, Msg: err.Error()}
			}
			txns = append(txns, transaction{session: session, line: uint32(lineNo), committed: committed,
				events: events})
		}
	}
	if len(txns) == 0 {
		return nil, nothing(file, first, firstText)
	}
	return build(b, txns)
}

func nothing(file string, line int, text []byte) error {
	if text == nil {
		return &history.InputError{File: file, Line: 1, Off: -1, Msg: "the file is empty; expected transactions: " +
			"[x:=1 y==2]"}
	}
	return &history.InputError{File: file, Line: line, Off: -1, Msg: fmt.Sprintf("found %.60q, and no transaction "+
		"in the file; expected [x:=1 y==2]", text)}
}

// textReader reads a line.
type textReader struct {
	line []byte
	b    *history.Builder
}

func (p *textReader) blank() { p.line = bytes.TrimLeft(p.line, " \t\r") }

func (p *textReader) errorf(expected string) error {
	if len(p.line) == 0 {
		return fmt.Errorf("found the end of the line; expected %s", expected)
	}
	return fmt.Errorf("found %.40q; expected %s", p.line, expected)
}

func (p *textReader) txn() (events []event, committed bool, err error) {
	if p.line[0] != '[' {
		return nil, false, p.errorf("a transaction: [x:=1 y==2]")
	}
	p.line = p.line[1:]
	for {
		p.blank()
		if len(p.line) > 0 && p.line[0] == ']' && len(events) > 0 {
			break
		}
		e, err := p.event()
		if err != nil {
			return nil, false, err
		}
		events = append(events, e)
	}
	p.line = p.line[1:]
	if len(p.line) > 0 && p.line[0] == '!' {
		p.line = p.line[1:]
		return events, false, nil
	}
	return events, true, nil
}

func (p *textReader) event() (e event, err error) {
	n := 0
	for n < len(p.line) && (p.line[n] == '_' || p.line[n] >= 0x80 || '0' <= p.line[n] && p.line[n] <= '9' ||
		'a' <= p.line[n]|0x20 && p.line[n]|0x20 <= 'z') {
		n++
	}
	name := p.line[:n]
	if n == 0 {
		return e, p.errorf("an event: x:=1, x==1 or x==?")
	}
	p.line = p.line[n:]
	switch {
	case bytes.HasPrefix(p.line, []byte("==?")):
		e.none = true
		p.line = p.line[3:]
	case bytes.HasPrefix(p.line, []byte(":=")), bytes.HasPrefix(p.line, []byte("==")):
		e.write = p.line[0] == ':'
		p.line = p.line[2:]
		n := 0
		for n < len(p.line) && '0' <= p.line[n] && p.line[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(string(p.line[:n]), 10, 64)
		if err != nil {
			return e, p.errorf("a version: an integer from 0 on, of 63 bits")
		}
		e.version = v
		p.line = p.line[n:]
	default:
		return e, p.errorf(":=, == or ==? behind the variable")
	}
	if len(p.line) > 0 && p.line[0] != ' ' && p.line[0] != '\t' && p.line[0] != ']' {
		return e, p.errorf("a space or ] behind the event")
	}
	if p.b != nil {
		e.key = p.b.StringValue(name)
	}
	return e, nil
}
