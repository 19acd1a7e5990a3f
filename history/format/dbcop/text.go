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
		p.line, p.at = line, 0
		for p.blank(); p.at < len(line); p.blank() {
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
	names history.NamedKeys
	line  []byte
	at    int // position in the line
}

func (p *textReader) blank() {
	for p.at < len(p.line) && (p.line[p.at] == ' ' || p.line[p.at] == '\t' || p.line[p.at] == '\r') {
		p.at++
	}
}

func (p *textReader) errorf(expected string) error {
	if p.at == len(p.line) {
		return fmt.Errorf("found the end of the line; expected %s", expected)
	}
	return fmt.Errorf("found %.40q; expected %s", p.line[p.at:], expected)
}

// take goes behind c, if that is next.
func (p *textReader) take(c byte) bool {
	if p.at == len(p.line) || p.line[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *textReader) txn() (committed bool, err error) {
	p.events = p.events[:0]
	if !p.take('[') {
		return false, p.errorf("a transaction: [x:=1 y==2]")
	}
	for p.blank(); len(p.events) == 0 || !p.take(']'); p.blank() {
		e, err := p.event()
		if err != nil {
			return false, err
		}
		p.events = append(p.events, e)
	}
	return !p.take('!'), nil
}

// named marks the bytes of a variable's name.
var named [256]bool

func init() {
	for c := range named {
		named[c] = c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
}

func (p *textReader) event() (e event, err error) {
	line, i := p.line, p.at
	for i < len(line) && named[line[i]] {
		i++
	}
	name := line[p.at:i]
	if len(name) == 0 {
		return e, p.errorf("an event: x:=1, x==1 or x==?")
	}
	if p.at = i; len(line)-i < 2 || line[i] != ':' && line[i] != '=' || line[i+1] != '=' {
		return e, p.errorf(":=, == or ==? behind the variable")
	}
	e.write = line[i] == ':'
	i += 2
	if e.none = !e.write && i < len(line) && line[i] == '?'; e.none {
		i++
	} else {
		from := i
		for ; i < len(line) && line[i]-'0' <= 9; i++ {
			e.version = 10*e.version + int64(line[i]-'0')
		}
		if uint(i-from-1) >= 18 {
			e.version, err = strconv.ParseInt(string(line[from:i]), 10, 64)
		}
		if err != nil {
			p.at = from
			return e, p.errorf("a version: an integer from 0 on, of 63 bits")
		}
	}
	if p.at = i; i < len(line) && line[i] != ' ' && line[i] != '\t' && line[i] != ']' {
		return e, p.errorf("a space or ] behind the event")
	}
	if p.sink != nil {
		e.key = p.names.Key(p.b, name)
	}
	return e, nil
}
