package dbcop

import (
	"bytes"
	"fmt"
	"strconv"

	"isovet/history"
)

// IsText reports whether the first line that is neither blank nor a comment begins with a transaction of the text form.
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
// := writes a version and == reads one. ==? reads the initial version, and so does ==0 if no transaction writes 0. A !
// after a transaction says that it did not commit. Keys are absent at first. Errors are *history.InputError with the
// line. Cost: one pass, and history.Builder.Build. data is not referenced afterwards.
func ReadText(data []byte, file string) (*history.History, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return read(file, len(data), func(to *sink) error {
		p := textReader{sink: to}
		return p.history(data, file)
	})
}

// history reads the whole file.
func (p *textReader) history(data []byte, file string) error {
	session, lineNo := int64(0), 0
	first, firstText := 0, []byte(nil)
	for pos := 0; pos < len(data); {
		lineNo++
		begin := pos
		line := data[pos:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		pos += len(line) + 1
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
			committed, err := p.txn()
			if err != nil {
				return &history.InputError{File: file, Line: lineNo, Off: -1, Msg: err.Error()}
			}
			p.end(session, lineNo, committed, begin)
		}
	}
	if p.b.NumTxns() == 0 {
		return nothing(file, first, firstText)
	}
	return nil
}

func nothing(file string, line int, text []byte) error {
	if text == nil {
		return &history.InputError{File: file, Line: 1, Off: -1, Msg: "the file is empty; expected transactions: " +
			"[x:=1 y==2]"}
	}
	return &history.InputError{File: file, Line: line, Off: -1, Msg: fmt.Sprintf("found %.60q, and no transaction "+
		"in the file; expected [x:=1 y==2]", text)}
}

// textReader reads a file in the text form.
type textReader struct {
	*sink
	line []byte // what is left of it
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
	p.events = p.events[:0]
	if p.line[0] != '[' {
		return false, p.errorf("a transaction: [x:=1 y==2]")
	}
	p.line = p.line[1:]
	for {
		p.blank()
		if len(p.line) > 0 && p.line[0] == ']' && len(p.events) > 0 {
			break
		}
		e, err := p.event()
		if err != nil {
			return false, err
		}
		p.events = append(p.events, e)
	}
	p.line = p.line[1:]
	if len(p.line) > 0 && p.line[0] == '!' {
		p.line = p.line[1:]
		return false, nil
	}
	return true, nil
}

// named marks the bytes of a variable's name.
var named [256]bool

func init() {
	for c := range named {
		named[c] = c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
}

func (p *textReader) event() (e event, err error) {
	n, line := 0, p.line
	for n < len(line) && named[line[n]] {
		n++
	}
	name := line[:n]
	if n == 0 {
		return e, p.errorf("an event: x:=1, x==1 or x==?")
	}
	line = line[n:]
	if p.line = line; len(line) < 2 || line[0] != ':' && line[0] != '=' || line[1] != '=' {
		return e, p.errorf(":=, == or ==? behind the variable")
	}
	e.write = line[0] == ':'
	line = line[2:]
	if e.none = !e.write && len(line) > 0 && line[0] == '?'; e.none {
		line = line[1:]
	} else {
		for n = 0; n < len(line) && line[n]-'0' <= 9; n++ {
			e.version = 10*e.version + int64(line[n]-'0')
		}
		if n == 0 || n > 18 {
			e.version, err = strconv.ParseInt(string(line[:n]), 10, 64)
		}
		if err != nil {
			p.line = line
			return e, p.errorf("a version: an integer from 0 on, of 63 bits")
		}
		line = line[n:]
	}
	if p.line = line; len(line) > 0 && line[0] != ' ' && line[0] != '\t' && line[0] != ']' {
		return e, p.errorf("a space or ] behind the event")
	}
	if p.sink != nil {
		e.key = p.b.Key(p.b.StringValue(name))
	}
	return e, nil
}
