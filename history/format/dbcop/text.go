package dbcop

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"

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
func ReadText(data []byte, file string) (*history.History, error) { return readText(data, file, false) }

// readText is ReadText. With slow it uses the general reader alone.
func readText(data []byte, file string, slow bool) (*history.History, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return read(file, len(data), func(to *sink) error {
		p := textReader{sink: to, slow: slow}
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
		if !p.slow && data[pos] == '[' {
			if pos = p.plainLine(data, pos, session, lineNo); pos > begin && data[pos-1] == '\n' {
				continue
			}
		}
		begun := pos > begin
		line := data[pos:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		pos += len(line) + 1
		if line = bytes.TrimRightFunc(line, unicode.IsSpace); !begun {
			line = bytes.TrimLeftFunc(line, unicode.IsSpace)
		}
		if len(line) > 0 && firstText == nil {
			first, firstText = lineNo, line
		}
		switch {
		case begun:
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
	slow bool // use the general reader alone
	line []byte
	// names has keys, plus one, whose names are a letter and a small number. Most names are.
	names ['z' + 1][]uint32
}

// maxPlain bounds the number in a variable's name that names has a place for.
const maxPlain = 1 << 20

// plainLine reads transactions of the line at pos as long as they look as dbcop writes them. It returns where the next
// line begins, or where the first other transaction of this line begins.
func (p *textReader) plainLine(data []byte, pos int, session int64, lineNo int) int {
	for {
		i, committed := p.plainTxn(data, pos)
		if i == 0 {
			return pos
		}
		p.end(session, lineNo, committed, pos)
		if data[i] == '\n' {
			return i + 1
		}
		pos = i + 1
		if data[i] == ' ' && pos < len(data) && data[pos] == '[' {
			continue
		}
		return i
	}
}

// plainTxn reads the transaction whose bracket is data[i] and returns where it ends, before the end of the data; 0 if
// it is not plain.
func (p *textReader) plainTxn(data []byte, i int) (next int, committed bool) {
	p.events = p.events[:0]
	for i+8 < len(data) {
		c := data[i+1] // behind the bracket or a blank
		if c|0x20 < 'a' || c > 'z' || c > 'Z' && c < 'a' {
			return 0, false
		}
		i += 2
		from, n := i, uint(0)
		for ; i < len(data) && data[i]-'0' <= 9 && n < maxPlain; i++ {
			n = 10*n + uint(data[i]-'0')
		}
		if i == from || data[from] == '0' && i > from+1 || n >= maxPlain || len(data)-i < 4 || data[i+1] != '=' {
			return 0, false
		}
		var e event
		switch data[i] {
		case ':':
			e.write = true
		case '=':
		default:
			return 0, false
		}
		nameEnd := i
		i += 2
		if digits := i; data[i] == '?' && !e.write {
			e.none = true
			i++
		} else {
			v := int64(0)
			for ; i < len(data) && data[i]-'0' <= 9; i++ {
				v = 10*v + int64(data[i]-'0')
			}
			if i == digits || i-digits > 18 {
				return 0, false
			}
			e.version = v
		}
		of := p.names[c]
		if n < uint(len(of)) && of[n] != 0 {
			e.key = of[n] - 1
		} else {
			e.key = p.named(c, n, data[from-1:nameEnd])
		}
		p.events = append(p.events, e)
		if len(data)-i < 3 {
			return 0, false
		}
		switch data[i] {
		case ' ':
		case ']':
			i++
			if data[i] == '!' {
				return i + 1, false
			}
			return i, true
		default:
			return 0, false
		}
	}
	return 0, false
}

// named makes the key of a name that is a letter and a number.
func (p *textReader) named(letter byte, n uint, name []byte) uint32 {
	of := &p.names[letter]
	if n >= uint(len(*of)) && n <= uint(4*p.b.NumOps()+4096) {
		*of = append(*of, make([]uint32, 2*n+16-uint(len(*of)))...)
	}
	key := p.b.Key(p.b.StringValue(name))
	if n < uint(len(*of)) {
		(*of)[n] = key + 1
	}
	return key
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
	if p.sink != nil {
		e.key = p.b.Key(p.b.StringValue(name))
	}
	return e, nil
}
