package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/internal/test/must"
)

// MustParse is Parse for tests and examples: it panics on an error.
func MustParse(text string) *history.History {
	return must.Have(Parse(text))
}

// Parse reads a history in the notation of the package comment. Errors are *history.InputError with the offset in the
// text.
func Parse(text string) (*history.History, error) {
	p := &parser{text: text, b: history.NewBuilder()}
	p.b.File = "notation"
	if !p.history() {
		return nil, p.err
	}
	return p.b.Build()
}

// parser reads the text by recursive descent. Its methods return false after an error, which err then holds.
type parser struct {
	text string
	i    int
	b    *history.Builder
	err  *history.InputError
	txns int64 // read so far, init apart
}

func (p *parser) fail(format string, args ...any) bool {
	p.err = &history.InputError{File: "notation", Off: int64(p.i), Msg: fmt.Sprintf(format, args...)}
	return false
}

func (p *parser) expected(what string) bool {
	if p.peek() == 0 {
		return p.fail("found the end; expected %s", what)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.i:])
	return p.fail("found %q; expected %s", r, what)
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.i < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.i]) >= 0 {
		p.i++
	}
	if p.i == len(p.text) {
		return 0
	}
	return p.text[p.i]
}

// eat takes a token if it comes next.
func (p *parser) eat(token string) bool {
	p.peek()
	if !strings.HasPrefix(p.text[p.i:], token) {
		return false
	}
	p.i += len(token)
	return true
}

func (p *parser) must(token string) bool {
	return p.eat(token) || p.expected(strconv.Quote(token))
}

func (p *parser) history() bool {
	if p.eat("init=") {
		v, ok := p.value()
		if !ok || !p.must(":") {
			return false
		}
		p.b.Initial = v
		p.eat("|")
	}
	if p.peek() == 0 {
		return true
	}
	for {
		if !p.segment() {
			return false
		}
		if p.peek() == 0 {
			return true
		}
		if !p.must("|") {
			return false
		}
	}
}

func (p *parser) segment() bool {
	h := history.NewTxnHead()
	h.HasID = true
	switch {
	case p.eat("init"):
		h.Init = true
	case p.eat("_"):
		p.txns++
		h.ID = p.txns
	case p.eat("s"):
		p.txns++
		h.ID, h.HasSess = p.txns, true
		var ok bool
		if h.Session, ok = p.int("a session's number"); !ok {
			return false
		}
	default:
		return p.expected(`a transaction: "s1:", "_:" or "init:"`)
	}
	if p.eat("/") {
		var ok bool
		if h.ID, ok = p.int("a transaction's id"); !ok {
			return false
		}
	}
	if !p.must(":") {
		return false
	}
	for {
		ok := true
		switch {
		case p.eat("!"):
			h.Status = history.Aborted
		case p.eat("?"):
			h.Status = history.Unknown
		case p.eat("@["):
			ok = p.clientTimes(&h)
		case p.eat("ts["):
			ok = p.times(&h.StartTS, &h.CommitTS) && p.must("]")
		case p.peek() == '|' || p.peek() == 0:
			p.b.EndTxn(h)
			return true
		default:
			ok = p.operation()
		}
		if !ok {
			return false
		}
	}
}

func (p *parser) clientTimes(h *history.TxnHead) bool {
	if !p.times(&h.Start, &h.End) {
		return false
	}
	if p.eat(",") {
		var ok bool
		h.Commit = h.End
		if h.End, ok = p.time(); !ok {
			return false
		}
	}
	return p.must("]")
}

// times reads two times.
func (p *parser) times(a, b *int64) (ok bool) {
	if *a, ok = p.time(); !ok || !p.must(",") {
		return false
	}
	*b, ok = p.time()
	return ok
}

func (p *parser) time() (int64, bool) {
	if p.eat("_") {
		return history.NoTime, true
	}
	return p.int(`a time: an integer or "_"`)
}

func (p *parser) int(what string) (int64, bool) {
	p.peek()
	end := p.i
	for end < len(p.text) && (p.text[end] >= '0' && p.text[end] <= '9' || p.text[end] == '-' && end == p.i) {
		end++
	}
	n, err := strconv.ParseInt(p.text[p.i:end], 10, 64)
	switch {
	case end == p.i || p.text[p.i:end] == "-":
		return 0, p.expected(what)
	case err != nil:
		return 0, p.fail("%s is out of range; expected an integer of 64 bits", p.text[p.i:end])
	}
	p.i = end
	return n, true
}

func (p *parser) operation() bool {
	switch {
	case p.eat("pr"):
		return p.predicate(history.PredRead)
	case p.eat("pw"):
		return p.predicate(history.PredWrite)
	case p.eat("r("):
		return p.item(history.Read)
	case p.eat("w("):
		return p.item(history.Write)
	case p.eat("a("):
		return p.item(history.Append)
	}
	return p.expected(`an operation such as r(x,1), or a mark: "!", "?", "@[1,2]", "ts[1,2]"`)
}

// item reads an operation on a key behind its parenthesis.
func (p *parser) item(kind history.OpKind) bool {
	key, ok := p.key()
	if !ok || !p.must(",") {
		return false
	}
	if kind == history.Read && p.eat("[") {
		var elems []history.Value
		if !p.list("]", func() bool {
			v, ok := p.value()
			elems = append(elems, v)
			return ok
		}) {
			return false
		}
		p.b.ReadList(key, elems)
	} else {
		v, ok := p.value()
		if !ok {
			return false
		}
		switch kind {
		case history.Read:
			p.b.Read(key, v)
		case history.Write:
			p.b.Write(key, v)
		default:
			p.b.Append(key, v)
		}
	}
	if p.eat(",") && !p.opTimes() {
		return false
	}
	return p.must(")")
}

// opTimes reads the times of the operation added last.
func (p *parser) opTimes() bool {
	var start, end int64
	at := p.i
	if !p.times(&start, &end) {
		return false
	}
	if start != history.NoTime && end != history.NoTime && end < start {
		p.i = at
		return p.fail("the operation ends at %d, before its start at %d", end, start)
	}
	p.b.OpTimes(start, end)
	return true
}

// list reads elements separated by commas up to a closing token.
func (p *parser) list(end string, elem func() bool) bool {
	if p.eat(end) {
		return true
	}
	for {
		if !elem() {
			return false
		}
		if p.eat(end) {
			return true
		}
		if !p.must(",") {
			return false
		}
	}
}

// predicate reads a predicate operation behind its name.
func (p *parser) predicate(kind history.OpKind) bool {
	raw, ok := p.object("a predicate")
	if !ok || !p.must("[") {
		return false
	}
	var pred bytes.Buffer
	if err := json.Compact(&pred, raw); err != nil {
		return p.fail("%v", err)
	}
	var rows []history.PredRow
	if !p.list("]", func() bool {
		r, ok := p.row(kind)
		rows = append(rows, r)
		return ok
	}) {
		return false
	}
	p.b.Predicate(kind, pred.Bytes(), rows)
	if p.eat("(") {
		return p.opTimes() && p.must(")")
	}
	return true
}

func (p *parser) row(kind history.OpKind) (r history.PredRow, ok bool) {
	if r.Key, ok = p.key(); !ok {
		return r, false
	}
	if kind == history.PredRead {
		if !p.must("=") {
			return r, false
		}
		r.Old, ok = p.value()
		return r, ok
	}
	r.OldUnknown = !p.eat("=")
	if !r.OldUnknown {
		if r.Old, ok = p.value(); !ok {
			return r, false
		}
	}
	if !p.must("->") {
		return r, false
	}
	r.New, ok = p.value()
	return r, ok
}

// object takes the JSON object that comes next.
func (p *parser) object(what string) (json.RawMessage, bool) {
	if p.peek() != '{' {
		return nil, p.expected(what + ": a JSON object")
	}
	var raw json.RawMessage
	d := json.NewDecoder(strings.NewReader(p.text[p.i:]))
	if err := d.Decode(&raw); err != nil {
		return nil, p.fail("malformed JSON: %v", err)
	}
	p.i += int(d.InputOffset())
	return raw, true
}

// quoted takes the JSON string that comes next.
func (p *parser) quoted() (string, bool) {
	var s string
	d := json.NewDecoder(strings.NewReader(p.text[p.i:]))
	if err := d.Decode(&s); err != nil {
		return "", p.fail("malformed string: %v", err)
	}
	p.i += int(d.InputOffset())
	return s, true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isWord reports whether s is a word of the notation.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '.') {
			return false
		}
	}
	return s != ""
}

func (p *parser) word() string {
	end := p.i
	for end < len(p.text) && isWord(p.text[p.i:end+1]) {
		end++
	}
	w := p.text[p.i:end]
	p.i = end
	return w
}

func (p *parser) key() (uint32, bool) {
	switch c := p.peek(); {
	case c == '"':
		s, ok := p.quoted()
		return p.b.Key(p.b.StringValue([]byte(s))), ok
	case letter(c):
		return p.b.Key(p.b.StringValue([]byte(p.word()))), true
	}
	n, ok := p.int("a key: a word, an integer or a string")
	return p.b.Key(history.IntValue(n)), ok
}

func (p *parser) value() (history.Value, bool) {
	switch c := p.peek(); {
	case c == '_':
		p.i++
		return history.Value{}, true
	case c == '"':
		s, ok := p.quoted()
		return p.b.StringValue([]byte(s)), ok
	case c == '{':
		return p.rowValue()
	case letter(c):
		switch w := p.word(); w {
		case "null":
			return history.Value{}, true
		case "true", "false":
			return history.BoolValue(w == "true"), true
		default:
			return p.b.StringValue([]byte(w)), true
		}
	}
	n, ok := p.int(`a value: an integer, "_", a word, a string or a row {…}`)
	return history.IntValue(n), ok
}

// rowValue reads a row.
func (p *parser) rowValue() (history.Value, bool) {
	raw, ok := p.object("a row")
	if !ok {
		return history.Value{}, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var cols map[string]any
	if err := d.Decode(&cols); err != nil {
		return history.Value{}, p.fail("malformed row: %v", err)
	}
	var names []string
	for n := range cols {
		names = append(names, n)
	}
	slices.Sort(names)
	row := []byte{'{'}
	for i, n := range names {
		if i > 0 {
			row = append(row, ',')
		}
		row = append(history.AppendJSONString(row, n), ':')
		switch x := cols[n].(type) {
		case nil:
			row = append(row, "null"...)
		case bool:
			row = strconv.AppendBool(row, x)
		case string:
			row = history.AppendJSONString(row, x)
		case json.Number:
			k, err := strconv.ParseInt(string(x), 10, 64)
			if err != nil {
				return history.Value{}, p.fail("column %q of a row is %s; expected an integer of 64 bits", n, x)
			}
			row = strconv.AppendInt(row, k, 10)
		default:
			return history.Value{}, p.fail("column %q of a row is no scalar; expected null, an integer, a string or "+
				"a boolean", n)
		}
	}
	return p.b.RowValue(append(row, '}')), true
}
