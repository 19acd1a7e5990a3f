package jsonl

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
)

// maxDepth bounds the nesting of values that are skipped, and of predicates.
const maxDepth = 1000

// tolerant reads lines of any JSON, and describes what is wrong with those that are no transaction or header. Its
// methods return false after an error and set err. A line feed always ends the line.
type tolerant struct {
	p   *parser
	b   []byte // the line, or more than it
	i   int
	err *history.InputError

	field string // the field that is being read
	path  []step // the path into it

	strs  []byte // decoded strings of the value being read
	elems []history.Value
	rows  []history.PredRow
	cols  []column
	pred  []byte
}

// column is a column of a row: its name and value in canonical JSON, as ranges of tolerant.strs.
type column struct{ name, end, val, valEnd int }

// maxSteps bounds the steps into a value that a message shows.
const maxSteps = 12

// step is one step into a value: an element, or a member if name is not nil.
type step struct {
	elem int
	name []byte
}

// at sets the last step: the one at depth d.
func (t *tolerant) at(d, elem int) { t.path = append(t.path[:d], step{elem: elem}) }

// fail records an error at the present field.
func (t *tolerant) fail(format string, args ...any) bool {
	field := t.field
	for i, s := range t.path {
		if i == maxSteps {
			field += "…"
			break
		}
		if s.name != nil && len(s.name) == 0 {
			field += `.""`
		} else if s.name != nil {
			field += "." + strings.ToValidUTF8(string(s.name), "\ufffd")
		} else {
			field += "[" + strconv.Itoa(s.elem) + "]"
		}
	}
	t.err = t.p.errorf(t.p.lines, field, format, args...)
	return false
}

// syntax records malformed JSON.
func (t *tolerant) syntax(expected string) bool {
	return t.fail("malformed JSON at byte %d of the line: found %s; expected %s", t.i+1, t.found(), expected)
}

// found describes what stands at the present position.
func (t *tolerant) found() string {
	if t.atEnd() {
		return "the end of the line"
	}
	r, _ := utf8.DecodeRune(t.b[t.i:])
	return strconv.QuoteRune(r)
}

func (t *tolerant) atEnd() bool { return t.i >= len(t.b) || t.b[t.i] == '\n' }

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// peek skips white space and returns the next byte, 0 at the end of the line.
func (t *tolerant) peek() byte {
	for t.i < len(t.b) && space(t.b[t.i]) {
		t.i++
	}
	if t.i >= len(t.b) || t.b[t.i] == '\n' {
		return 0
	}
	return t.b[t.i]
}

// line reads one line. The builder has its first done operations already.
func (t *tolerant) line(line []byte, done int) error {
	t.b, t.i, t.err, t.field, t.path = line, 0, nil, "", t.path[:0]
	t.strs = t.strs[:0]
	header := t.isHeader()
	t.i, t.err, t.field, t.path = 0, nil, "", t.path[:0]
	switch {
	case header && t.p.draft != nil:
		t.field = "format"
		t.fail("a header; expected it in the first line only")
	case header && t.p.any:
		t.field = "format"
		t.fail("a header in line %d; expected it in the first line only", t.p.lines)
	case header:
		t.header()
	default:
		t.txn(done)
	}
	if t.err != nil {
		return t.err
	}
	return nil
}

// isHeader reports whether the line has a field "format". It does not report errors: the reading of the line does.
func (t *tolerant) isHeader() bool {
	header := false
	if t.p.mayBeHeader(t.b) {
		t.object(func(name []byte) bool {
			header = header || string(name) == "format"
			return t.skip(0)
		})
	}
	return header
}

// object reads an object. It calls member behind the colon of each member; member must read the value.
func (t *tolerant) object(member func(name []byte) bool) bool {
	if t.peek() != '{' {
		if t.field == "" {
			return t.syntax("an object: '{'")
		}
		return t.syntax("'{'")
	}
	t.i++
	if t.peek() == '}' {
		t.i++
		return true
	}
	for {
		if t.peek() != '"' {
			return t.syntax(`a field's name: '"'`)
		}
		keep := len(t.strs)
		name, ok := t.str()
		if !ok {
			return false
		}
		if t.peek() != ':' {
			return t.syntax("':'")
		}
		t.i++
		if !member(name) {
			return false
		}
		t.strs = t.strs[:keep]
		switch t.peek() {
		case ',':
			t.i++
		case '}':
			t.i++
			return true
		default:
			return t.syntax("',' or '}'")
		}
	}
}

// array reads an array. It calls elem for each element; elem must read it. It returns the number of elements.
func (t *tolerant) array(elem func(i int) bool) (n int, ok bool) {
	t.i++ // the bracket
	if t.peek() == ']' {
		t.i++
		return 0, true
	}
	for {
		if !elem(n) {
			return n, false
		}
		n++
		switch t.peek() {
		case ',':
			t.i++
		case ']':
			t.i++
			return n, true
		default:
			return n, t.syntax("',' or ']'")
		}
	}
}

// end checks that nothing follows the line's object.
func (t *tolerant) end() bool {
	t.field, t.path = "", t.path[:0]
	if t.peek() != 0 || t.i < len(t.b) && t.b[t.i] == 0 {
		return t.syntax("the end of the line after its object")
	}
	return true
}

func (t *tolerant) header() {
	seen := map[string]bool{}
	m, named := &t.p.b.Meta, "" // the isolation level, under its other name
	texts := map[string]*string{"name": &m.Name, "db": &m.DB, "isolation": &m.Isolation, "workload": &m.Workload,
		"note": &m.Note, "level": &named}
	ok := t.object(func(name []byte) bool {
		t.field = string(name)
		switch t.field {
		case "format", "version", "initial", "model", "name", "db", "isolation", "level", "workload", "note":
			if seen[t.field] {
				return t.fail("given twice")
			}
			seen[t.field] = true
		default:
			return t.skip(0)
		}
		switch t.field {
		case "format":
			s, ok := t.text()
			if ok && string(s) != "isovet-history" {
				return t.fail("unknown format %s; expected \"isovet-history\"", clip(s))
			}
			return ok
		case "version":
			n, ok := t.int()
			if ok && n != 1 {
				return t.fail("unknown version %d; expected 1", n)
			}
			return ok
		case "model":
			s, ok := t.text()
			if ok && string(s) != "register" && string(s) != "list" {
				return t.fail("unknown model %s; expected \"register\" or \"list\"", clip(s))
			}
			m.Lists = ok && string(s) == "list"
			return ok
		case "initial":
			v, ok := t.value()
			t.p.b.Initial = v
			return ok
		}
		s, ok := t.text()
		*texts[t.field] = string(s)
		return ok
	})
	m.Isolation = cmp.Or(m.Isolation, named)
	if ok && t.end() && !seen["version"] {
		t.field = "version"
		t.fail("missing; expected 1")
	}
}

func (t *tolerant) txn(done int) {
	h := history.NewTxnHead()
	seen := 0
	ok := t.object(func(name []byte) bool {
		f, num, text := 0, (*int64)(nil), (*uint32)(nil)
		switch string(name) {
		case "id":
			f, num = fID, &h.ID
			h.HasID = true
		case "session":
			f, num = fSession, &h.Session
			h.HasSess = true
		case "seq":
			f, num = fSeq, &h.Seq
			h.HasSeq = true
		case "start":
			f, num = fStart, &h.Start
		case "end":
			f, num = fEnd, &h.End
		case "commit":
			f, num = fCommit, &h.Commit
		case "start_ts":
			f, num = fStartTS, &h.StartTS
		case "commit_ts":
			f, num = fCommitTS, &h.CommitTS
		case "status":
			f = fStatus
		case "init":
			f = fInit
		case "node":
			f, text = fNode, &h.Node
		case "name":
			f, text = fName, &h.Name
		case "locking":
			f, text = fLocking, &h.Locking
		case "level":
			f, text = fLevel, &h.Level
		case "ops":
			f = fOps
		default:
			t.field = string(name)
			return t.skip(0)
		}
		t.field = string(name)
		if seen&f != 0 {
			return t.fail("given twice")
		}
		seen |= f
		switch f {
		case fStatus:
			s, ok := t.text()
			if !ok {
				return false
			}
			for st := history.Committed; st <= history.Unknown; st++ {
				if st.String() == string(s) {
					h.Status = st
					return true
				}
			}
			return t.fail("unknown status %s; expected \"committed\", \"aborted\" or \"unknown\"", clip(s))
		case fInit:
			switch t.peek() {
			case 't', 'f':
				h.Init = t.b[t.i] == 't'
				return t.skip(0)
			}
			return t.wrong("true or false")
		case fNode, fName, fLocking, fLevel:
			s, ok := t.text()
			if !ok {
				return false
			}
			if f == fLevel {
				l, err := level.Parse(string(s))
				if err != nil {
					return t.fail("%v", err)
				}
				s = []byte(l.String())
			}
			*text = t.p.b.Text(s)
			return true
		case fOps:
			if t.peek() != '[' {
				return t.wrong("an array of operations")
			}
			_, ok := t.array(func(i int) bool {
				t.at(0, i)
				return t.operation(i >= done)
			})
			t.path = t.path[:0]
			return ok
		}
		n, ok := t.int()
		if ok && n == history.NoTime && f != fID {
			return t.fail("integer %d is out of range; expected more than that", n)
		}
		*num = n
		return ok
	})
	if !ok || !t.end() {
		return
	}
	if seen&fOps == 0 {
		t.field = "ops"
		t.fail("missing; expected an array of operations")
		return
	}
	h.Line = t.p.lines
	t.p.endTxn(h)
}

// sortColumns sorts a row's columns and returns the index of one that repeats its predecessor's name; -1 if none does.
func (t *tolerant) sortColumns() int {
	sorts.Func(t.cols, func(a, b column) int { return bytes.Compare(t.strs[a.name:a.end], t.strs[b.name:b.end]) })
	for i := 1; i < len(t.cols); i++ {
		if a, b := t.cols[i-1], t.cols[i]; bytes.Equal(t.strs[a.name:a.end], t.strs[b.name:b.end]) {
			return i
		}
	}
	return -1
}
