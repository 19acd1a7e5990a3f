package jepsen

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/plural"
)

// columns holds the columns of an operation in a log: process, type, f and value, separated by white space. Text before
// them is ignored, and so is text behind the value: the reason of a failure.
type columns struct {
	process []byte
	kind    kind
	f       []byte
	value   int  // its place in the line; the line's length: it has none
	first   bool // the line begins with the process
	nemesis bool
	quoted  bool // the process is a string
	modern  bool // in a log as Jepsen has written it since 2015
}

// plainColumns is parse for a line of history.txt: a number, a type and a function, each followed by a tab or blank,
// and the value.
func plainColumns(text []byte) (l columns, found bool) {
	i := 0
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	if i == 0 || i > 18 || i == len(text) || !white(text[i]) {
		return l, false
	}
	l.process, l.first = text[:i], true
	if i++; i == len(text) || text[i] != ':' {
		return l, false
	}
	from := i + 1
	for i < len(text) && !white(text[i]) {
		i++
	}
	if l.kind, found = kindNamed(text[from:i]); !found || len(text)-i < 2 || text[i+1] != ':' {
		return l, false
	}
	from = i + 1
	for i++; i < len(text) && !white(text[i]); i++ {
	}
	l.f = text[from:i]
	if i++; len(l.f) < 2 || i >= len(text) || white(text[i]) {
		return l, false
	}
	l.value = i
	return l, true
}

// parse finds the columns of a line; false if it is no operation.
func parse(text []byte) (l columns, found bool) {
	var last []byte
	at := -1
	for pos := 0; ; {
		for pos < len(text) && white(text[pos]) {
			pos++
		}
		from := pos
		for pos < len(text) && !white(text[pos]) {
			pos++
		}
		if from == pos {
			return l, false
		}
		word := text[from:pos]
		k, is := kindOf(word)
		if !is {
			last, at = word, from
			continue
		}
		if l.kind = k; !l.by(last) {
			return l, false
		}
		l.first = len(bytes.TrimSpace(text[:at])) == 0
		l.modern = bytes.HasSuffix(bytes.TrimSpace(text[:at]), []byte("jepsen.util:"))
		for pos < len(text) && white(text[pos]) {
			pos++
		}
		from = pos
		for pos < len(text) && !white(text[pos]) {
			pos++
		}
		l.f = text[from:pos]
		if string(l.f) != "nil" && (len(l.f) < 2 || l.f[0] != ':') {
			return l, false
		}
		for pos < len(text) && white(text[pos]) {
			pos++
		}
		l.value = pos
		return l, true
	}
}

// by takes a word for the process.
func (l *columns) by(word []byte) bool {
	switch {
	case len(word) == 0:
		return false
	case bytes.HasPrefix(word, []byte(":nemesis")):
		l.nemesis = true
	case len(word) > 2 && word[0] == '"' && word[len(word)-1] == '"':
		l.quoted = true
		word = word[1 : len(word)-1]
	default:
		if _, err := strconv.ParseInt(string(word), 10, 64); err != nil {
			return false
		}
	}
	l.process = word
	return true
}

func kindOf(word []byte) (kind, bool) {
	if word[0] == ':' {
		return kindNamed(word[1:])
	}
	return 0, false
}

func white(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// IsLog reports whether [ReadLog] reads a file with this beginning. Its first operation of a client must stand at the
// beginning of the line or behind "jepsen.util:", or be no operation on one register: those logs are package
// porcupine's.
func IsLog(head []byte) bool {
	cut := len(head) > 0 && head[len(head)-1] != '\n'
	for text := range bytes.Lines(head) {
		l, found := parse(text)
		switch {
		case !found || l.nemesis:
			continue
		case l.first || l.modern:
			return true
		case !bytes.Contains(text, []byte("jepsen.util - ")):
			return false
		case cut && text[len(text)-1] != '\n':
			return false
		}
		switch string(l.f) {
		case ":read", ":write":
			return l.value < len(text) && text[l.value] == '['
		case ":cas":
			return bytes.Count(text[l.value:], []byte("[")) > 1
		}
		return true
	}
	return false
}

// ReadLog reads the operations of a log, a line each: Jepsen's history.txt, and jepsen.log, where they stand among
// other lines. Other lines are skipped and counted in a note. Positions are line numbers.
//
//	3	:invoke	:txn	[[:append 7 1] [:r 8 nil]]
//	2021-02-26 23:39:01,300{GMT}	INFO	[jepsen worker 3] jepsen.util: 3	:info	:txn	[[:append 7 1] [:r 8
//	nil]]	:timeout
//
// Errors are *history.InputError with the line; a file without an operation is one. Cost as of [Read].
func ReadLog(data []byte, file string, o Options) (*history.History, error) {
	o.JSON = false
	return newReader(data, file, o).log()
}

// log is ReadLog.
func (r *reader) log() (*history.History, error) {
	data, file := r.s.Data, r.s.File
	r.inLog = true
	n, end, passed, first := 0, 0, 0, 0
	var firstText []byte
	for text := range bytes.Lines(data) {
		n++
		begin := end
		end += len(text)
		l, found := columns{}, false
		if r.plain {
			l, found = plainColumns(text)
		}
		if !found {
			l, found = parse(text)
		}
		if !found {
			if text = bytes.TrimSpace(text); len(text) > 0 {
				if passed++; passed == 1 {
					first, firstText = n, text
				}
			}
			continue
		}
		e := newEvent(begin)
		e.kind, e.line = l.kind, uint32(n)
		t := edn.Token{Kind: edn.Text, Text: l.process}
		if !l.quoted {
			t.Kind = edn.Int
			t.N, _ = strconv.ParseInt(string(l.process), 10, 64)
		}
		client, err := r.process(&e, t)
		if err != nil {
			return nil, err
		}
		if !client || l.nemesis {
			r.byNemesis(e, l.f)
			continue
		}
		f := edn.Token{Kind: edn.Word, Text: l.f[1:]}
		if l.f[0] != ':' {
			f.Kind = edn.Nil
		}
		if err := r.function(&e, f); err != nil {
			return nil, err
		}
		if l.value < len(text) {
			// The text in place of a value may be none, such as the reason of a failure. It is ignored.
			r.s.Data = data[:end]
			if p := r.plainAt(begin + l.value); r.plain && p.Skip() {
				e.value = begin + l.value
			} else if r.s.Seek(begin + l.value); r.s.Skip() == nil {
				e.value = begin + l.value
			} else if e.kind == invoke || e.kind == ok {
				return nil, &history.InputError{File: file, Line: n, Off: -1, Field: "value", Msg: "found " +
					quote(text[l.value:]) + "; expected a value in EDN"}
			}
		}
		if err := r.add(e); err != nil {
			return nil, err
		}
	}
	r.s.Data = data
	if len(r.events) == 0 && r.noClient == 0 {
		return nil, &history.InputError{File: file, Line: max(first, 1), Off: -1,
			Msg: "no line is an operation; expected process, type, f and value, as in 0 :invoke :read nil; the " +
				"first line is " + quote(firstText)}
	}
	if passed > 0 {
		r.b.Note(history.NoteSkipped, passed, "%s ignored; the first is line %d: %s", plural.Phrase(passed,
			"line without an operation was", "lines without an operation were"), first, quote(firstText))
	}
	return r.build()
}

// quote quotes the beginning of a line.
func quote(text []byte) string {
	const most = 60
	text = bytes.TrimSpace(text)
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return strconv.Quote(string(text[:n])) + "…"
}
