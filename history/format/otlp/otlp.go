// Package otlp reads OpenTelemetry traces as JSON, one object or one a line, as OTLP's file exporter writes them
// (opentelemetry.io/docs/specs/otel/protocol/file-exporter).
//
// A span is a transaction if it has the attribute isovet.session. docs/recording.md lists the attributes and events.
//
// Experimental: this package may still change.
package otlp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/history/format/jsonl"
	"isovet/internal/sorts"
)

// Is reports whether a file begins as a trace does.
func Is(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return ok && bytes.HasPrefix(rest, []byte(`"resourceSpans"`))
}

// line is a transaction as a line of the project's format, with its place in the file.
type line struct {
	from, to int // range in the text made of all lines
	start    int64
	at       int // the line where the span begins
	span     string
}

// reader makes a line of the project's format from each span that is a transaction.
type reader struct {
	s        edn.Scanner
	sessions map[string]int
	text     []byte // the lines
	lines    []line
	seen     map[string]line // by their spans
	passed   int             // spans that are no transactions

	val []byte // JSON of the values of the span
	str []byte // the text of the last value, if it was one
	raw bool   // the next value is isovet.ops: only str gets its text
	ops []byte // the operations of the span

	rest, said []byte // room for those of the span
}

// Read reads a file. passed counts the spans without the attribute. Errors about the content are *history.InputError.
// Cost: one pass over the data, and the reading of its transactions as JSON lines.
func Read(data []byte, file string) (h *history.History, passed int, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) { // one text of some program is no reason to refuse all
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	r := reader{s: edn.Scanner{Data: data, File: file, JSON: true}, sessions: map[string]int{}, seen: map[string]line{}}
	for r.s.Peek() != 0 {
		r.member("resourceSpans", func() {
			r.member("scopeSpans", func() { r.member("spans", r.span) })
		})
	}
	r.s.End("trace")
	if err := r.s.Err(); err != nil {
		return nil, 0, err
	}
	h, err = readLines(r.text, r.lines, file)
	return h, r.passed, err
}

// member reads an object of which only one field matters, an array, and calls each for every element.
func (r *reader) member(name string, each func()) {
	r.s.Map("")
	for field, ok := r.field(""); ok; field, ok = r.field("") {
		if string(field) == name {
			r.array(name, each)
		} else {
			r.s.Pass()
		}
	}
}

// field is Scanner.Field without the fields that are null: they are absent.
func (r *reader) field(what string) (name []byte, ok bool) {
	for {
		if name, ok = r.s.Field(what); !ok || r.s.Peek() != 'n' {
			return name, ok
		}
		r.s.Pass()
	}
}

// array reads an array, without elements that are null.
func (r *reader) array(what string, each func()) {
	for r.s.Array(what); r.s.More(); {
		if r.s.Peek() == 'n' {
			r.s.Pass()
			continue
		}
		each()
	}
}

// span is a span as far as it matters.
type span struct {
	id, name              string
	start, end            int64 // in nanoseconds since 1970; NoTime: not given
	failed                bool
	session               int    // -1: not given
	lostAttrs, lostEvents int64  // dropped by the program, which limits them
	status                string // in JSON; "": not given
	rest                  []byte // other fields of the transaction
	said                  []byte // operations of the attribute
}

func (r *reader) span() {
	at := r.s.Map("spans")
	x := span{session: -1, start: history.NoTime, end: history.NoTime, rest: r.rest[:0], said: r.said[:0]}
	r.val, r.ops = r.val[:0], r.ops[:0]
	for field, ok := r.field("span"); ok; field, ok = r.field("span") {
		switch string(field) {
		case "spanId":
			x.id = string(r.s.Str("spanId"))
		case "name":
			x.name = string(r.s.Str("name"))
		case "startTimeUnixNano":
			x.start = r.s.Integer("startTimeUnixNano")
		case "endTimeUnixNano":
			x.end = r.s.Integer("endTimeUnixNano")
		case "attributes":
			r.array("attributes", func() { r.attribute(&x) })
		case "events":
			r.array("events", func() { r.event(&x) })
		case "droppedAttributesCount":
			x.lostAttrs = r.s.Integer("droppedAttributesCount")
		case "droppedEventsCount":
			x.lostEvents = r.s.Integer("droppedEventsCount")
		case "status":
			r.s.Map("status")
			for field, ok := r.field("status"); ok; field, ok = r.field("status") {
				if c := r.s.Peek(); string(field) != "code" || c != '"' && c-'0' > 9 {
					r.s.Pass()
					continue
				}
				code := string(r.s.Token().Text)
				x.failed = code == "2" || code == "STATUS_CODE_ERROR"
			}
		default:
			r.s.Pass()
		}
	}
	r.rest, r.said = x.rest, x.said
	switch {
	case x.session < 0:
		r.passed++
	case x.start == history.NoTime || x.end == history.NoTime:
		r.s.Fail(at, "", "span %s: startTimeUnixNano or endTimeUnixNano is missing; expected both", x.id)
	case x.lostAttrs > 0 || x.lostEvents > 0 && (len(r.ops) > 0 || len(x.said) == 0):
		r.s.Fail(at, "", "span %s: its program dropped %d attributes and %d events, perhaps operations; expected all; "+
			"raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT or OTEL_SPAN_EVENT_COUNT_LIMIT", x.id, x.lostAttrs, x.lostEvents)
	default:
		if len(r.lines) == 1<<10 {
			r.text = slices.Grow(r.text, int(1.02*float64(len(r.s.Data)-at)/float64(at)*float64(len(r.text))))
		}
		from := len(r.text)
		r.text = append(x.appendLine(r.text, r.ops), '\n')
		l := line{from, len(r.text), x.start, r.s.Line(at), x.id}
		if old := r.seen[x.id]; x.id != "" && bytes.Equal(r.text[old.from:old.to], r.text[from:]) {
			r.text = r.text[:from] // an exporter that got no answer sends its spans again
			return
		}
		r.seen[x.id] = l
		r.lines = append(r.lines, l)
	}
}

func (x *span) appendLine(b, ops []byte) []byte {
	b = strconv.AppendInt(append(b, `{"session":`...), int64(x.session), 10)
	b = strconv.AppendInt(append(b, `,"start":`...), x.start, 10)
	if x.status == "" && x.failed {
		x.status = `"unknown"` // it may have taken effect
	}
	if x.status != `"unknown"` {
		b = strconv.AppendInt(append(b, `,"end":`...), x.end, 10)
	}
	if x.status != "" {
		b = append(append(b, `,"status":`...), x.status...)
	}
	b = append(history.AppendJSONString(append(b, `,"name":`...), x.name), x.rest...)
	b = append(append(b, `,"ops":[`...), x.said...)
	if len(ops) > 0 && len(bytes.TrimSpace(x.said)) > 0 {
		b = append(b, ',')
	}
	return append(append(b, ops...), "]}"...)
}

func (r *reader) attribute(x *span) {
	at := r.s.Pos()
	key, v, text := r.keyed(false)
	name, ours := bytes.CutPrefix(key, []byte("isovet."))
	if !ours {
		return
	}
	switch string(name) {
	case "session":
		n, known := r.sessions[string(v)]
		if !known {
			n = len(r.sessions)
			r.sessions[string(v)] = n
		}
		x.session = n
	case "ops":
		found := v
		if text {
			found = r.str
		}
		s := edn.Scanner{Data: bytes.TrimSpace(found), JSON: true}
		if s.Pass(); !text || s.Err() != nil || s.Pos() < len(s.Data) || len(s.Data) == 0 || s.Data[0] != '[' {
			r.s.Fail(at, "", "span %s: attribute isovet.ops: found %.60q; expected a text, an array of operations as "+
				"JSON", x.id, found)
			return
		}
		x.said = append(x.said[:0], s.Data[1:len(s.Data)-1]...)
		jsonl.OneLine(x.said)
	case "status":
		x.status = string(v)
	case "id", "commit", "start_ts", "commit_ts", "node", "init":
		x.rest = append(append(append(append(x.rest, `,"`...), name...), `":`...), v...)
	default:
		r.s.Fail(at, "", "span %s: attribute %s is not known; expected isovet.session, ops, status, id, commit, "+
			"start_ts, commit_ts, node or init", x.id, key)
	}
}

var kinds = map[string]byte{"read": 'r', "write": 'w', "delete": 'w', "append": 'a'}

// event reads an event; some are operations.
func (r *reader) event(x *span) {
	at := r.s.Map("events")
	var name, key []byte
	value := []byte("null")
	for field, ok := r.field("event"); ok; field, ok = r.field("event") {
		switch string(field) {
		case "name":
			name = r.hold(r.s.Str("name"))
		case "attributes":
			r.array("attributes", func() {
				switch k, v, _ := r.keyed(false); string(k) {
				case "isovet.key":
					key = v
				case "isovet.value":
					value = v
				}
			})
		default:
			r.s.Pass()
		}
	}
	what, ours := bytes.CutPrefix(name, []byte("isovet."))
	if !ours {
		return
	}
	kind, known := kinds[string(what)]
	if !known {
		r.s.Fail(at, "", "span %s: event %s: not known; expected isovet.read, write, delete or append", x.id, name)
	}
	if string(what) == "delete" {
		value = []byte("null")
	}
	if key == nil {
		r.s.Fail(at, "", "span %s: event %s: no attribute isovet.key", x.id, name)
	}
	if len(r.ops) > 0 {
		r.ops = append(r.ops, ',')
	}
	r.ops = append(append(append(r.ops, '[', '"', kind, '"', ','), key...), ',')
	r.ops = append(append(r.ops, value...), ']')
}

// hold copies a text to val, where it stays until the next span.
func (r *reader) hold(text []byte) []byte {
	from := len(r.val)
	r.val = append(r.val, text...)
	return r.val[from:len(r.val):len(r.val)]
}

// keyed reads a key and its value, which it returns as JSON of the project's format. text says that it is a text; str
// has it. Unless it is nested in a value, it skips the value of a key that is not isovet's.
func (r *reader) keyed(nested bool) (key, value []byte, text bool) {
	value = []byte("null")
	foreign := false
	r.raw = false
	r.s.Map("attributes")
	for field, ok := r.field("attribute"); ok; field, ok = r.field("attribute") {
		switch string(field) {
		case "key":
			key = r.hold(r.s.Str("key"))
			foreign = !nested && !bytes.HasPrefix(key, []byte("isovet."))
			r.raw = !nested && string(key) == "isovet.ops"
		case "value":
			if foreign {
				r.s.Pass()
				break
			}
			from := len(r.val)
			text = r.value()
			value = r.val[from:len(r.val):len(r.val)]
		default:
			r.s.Pass()
		}
	}
	return key, value, text
}

// value reads OTLP's AnyValue and appends it to val as JSON. It reports whether it is a text, and puts that into str.
func (r *reader) value() (text bool) {
	from, raw := len(r.val), r.raw
	r.raw = false
	r.s.Map("value")
	for field, ok := r.field("value"); ok; field, ok = r.field("value") {
		before := len(r.val)
		text = text || string(field) == "stringValue"
		switch string(field) {
		case "stringValue":
			r.str = append(r.str[:0], r.s.Str("stringValue")...)
			if !raw {
				r.val = history.AppendJSONString(r.val, string(r.str))
			}
		case "doubleValue":
			t := r.s.Token()
			if n, err := strconv.ParseInt(string(t.Text), 10, 64); err == nil {
				r.val = strconv.AppendInt(r.val, n, 10)
			} else if _, err := strconv.ParseFloat(string(t.Text), 64); err == nil {
				r.val = history.AppendJSONString(r.val, string(t.Text))
			} else {
				r.s.Fail(t.Pos, "doubleValue", "found %v; expected a number", t)
			}
		case "intValue":
			r.val = strconv.AppendInt(r.val, r.s.Integer("intValue"), 10)
		case "boolValue":
			r.val = strconv.AppendBool(r.val, r.s.Bool("boolValue"))
		case "bytesValue":
			t := r.s.Token()
			b, err := base64.StdEncoding.DecodeString(string(t.Text))
			if err != nil || t.Kind != edn.Text || !utf8.Valid(b) {
				r.s.Fail(t.Pos, "bytesValue", "found %v; expected a text of UTF-8, in base 64", t)
			}
			r.val = history.AppendJSONString(r.val, string(b))
		case "arrayValue":
			r.values('[', func() { r.value() })
		case "kvlistValue":
			r.values('{', func() {
				at := len(r.val)
				key, value, _ := r.keyed(true)
				pair := append(append(history.AppendJSONString(nil, string(key)), ':'), value...)
				r.val = append(r.val[:at], pair...)
			})
		default:
			r.s.Pass()
		}
		if before > from && len(r.val) > before {
			r.s.Fail(r.s.Pos(), "value", "found a second value; expected one")
		}
	}
	if len(r.val) == from {
		r.val = append(r.val, "null"...)
	}
	return text
}

// values reads an object with an array of values, or of keys with values.
func (r *reader) values(bracket byte, each func()) {
	r.val = append(r.val, bracket)
	r.member("values", func() {
		if r.val[len(r.val)-1] != bracket { // no value ends so
			r.val = append(r.val, ',')
		}
		each()
	})
	r.val = append(r.val, bracket+2) // ] follows [ two places behind, and so does } follow {
}

// readLines reads transactions. Spans are exported as they end, in batches: a session's order is that of their starts.
func readLines(text []byte, lines []line, file string) (*history.History, error) {
	byStart := func(a, b line) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(lines, byStart) {
		sorts.Stable(lines, byStart)
		all := make([]byte, 0, len(text))
		for _, l := range lines {
			all = append(all, text[l.from:l.to]...)
		}
		text = all
	}
	h, err := jsonl.Read(text, file)
	if in, ok := errors.AsType[*history.InputError](err); ok && in.Line > 0 && in.Line <= len(lines) {
		l := lines[in.Line-1]
		in.Line, in.Msg = l.at, fmt.Sprintf("span %s: %s", l.span, in.Msg)
	}
	if err != nil {
		return nil, err
	}
	// Transactions get the lines of the file, not those of the text made from it.
	for t, l := range h.Txns.Line {
		if l > 0 {
			h.Txns.Line[t] = uint32(lines[l-1].at)
		}
	}
	return h, nil
}
