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
	const usual = 12 // bytes of an event
	p := textReader{b: b, all: make([]event, 0, len(data)/usual)}
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
		p.line = line
		for p.blank(); len(p.line) > 0; p.blank() {
			lo := len(p.all)
			committed, err := p.txn()
			if err != nil {
				return nil, &history.InputError{File: file, Line: lineNo, Off: -1, Msg: err.Error()}
			}
			txns = append(txns, transaction{session: session, line: uint32(lineNo), committed: committed, lo: lo,
				hi: len(p.all)})
		}
	}
	if len(txns) == 0 {
		return nil, nothing(file, first, firstText)
	}
	return build(b, txns, p.all)
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
	all  []event // of all transactions
	// The texts of names that are a letter and a small number, plus one: what most names are.
	names ['z' + 1][]uint32
}

// name makes the text of a name.
func (p *textReader) name(name []byte) history.Value {
	const most = 5 // digits
	if len(name) < 2 || len(name) > 1+most || name[0] > 'z' || name[1] == '0' {
		return p.b.StringValue(name)
	}
	n := 0
	for _, c := range name[1:] {
		if c-'0' > 9 {
			return p.b.StringValue(name)
		}
		n = 10*n + int(c-'0')
	}
	of := &p.names[name[0]]
	if n >= len(*of) {
		*of = append(*of, make([]uint32, 2*n+16-len(*of))...)
	}
	if (*of)[n] == 0 {
		(*of)[n] = uint32(p.b.StringValue(name).N) + 1
	}
	return history.Value{Kind: history.String, N: int64((*of)[n] - 1)}
}

func (p *textReader) blank() {
	for len(p.line) > 0 && (p.line[0] == ' ' || p.line[0] == '\t' || p.line[0] == '\r') {
		p.line = p.line[1:]
	}
}

func (p *textReader) errorf(expected string) error {
	if len(p.line) == 0 {
		return fmt.Errorf("found the end of the line; expected %s", expected)
	}
	return fmt.Errorf("found %.40q; expected %s", p.line, expected)
}

func (p *textReader) txn() (committed bool, err error) {
	lo := len(p.all)
	if p.line[0] != '[' {
		return false, p.errorf("a transaction: [x:=1 y==2]")
	}
	p.line = p.line[1:]
	for {
		p.blank()
		if len(p.line) > 0 && p.line[0] == ']' && len(p.all) > lo {
			break
		}
		e, err := p.event()
		if err != nil {
			return false, err
		}
		p.all = append(p.all, e)
	}
	p.line = p.line[1:]
	if len(p.line) > 0 && p.line[0] == '!' {
		p.line = p.line[1:]
		return false, nil
	}
	return true, nil
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
		v := int64(0)
		for _, c := range p.line[:n] {
			v = 10*v + int64(c-'0')
		}
		var err error
		if n == 0 || n > 18 {
			v, err = strconv.ParseInt(string(p.line[:n]), 10, 64)
		}
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
		e.key = p.name(name)
	}
	return e, nil
}
