package otlp

import (
	"bytes"
	"strconv"

	"isovet/history"
)

// plainReader reads traces as exporters write them. It makes no values: it turns each span into a line of the project's
// format at once. It is as strict as encoding/json. For unusual texts (fields given twice, in another case, or null)
// and for errors it gives up, and [read] takes over.
type plainReader struct {
	data     []byte
	i        int
	line     int // that data[counted] is in, from 1
	counted  int
	sessions map[string]int

	text  []byte // the lines
	lines []line
	none  int // spans that are no transactions

	val  []byte // of the values being read
	ops  []byte // of the span: those of its events,
	said []byte // and those of its attribute
	rest []byte // other fields

	bare    bool   // the next value is isovet.ops: its text goes to the two fields below
	opsText []byte // the text as in the file; nil: it is in said already
	array   []byte // the text without escapes
}

// maxDepth bounds the nesting of plain values.
const maxDepth = 64

// readPlain is Read for plain files; ok is false if the file is not plain, or wrong.
func readPlain(data []byte, file string) (h *history.History, passed int, ok bool) {
	p := plainReader{data: data, line: 1, sessions: map[string]int{}}
	for p.next() != 0 {
		if !p.resources() {
			return nil, 0, false
		}
	}
	if p.i < len(data) {
		return nil, 0, false
	}
	h, err := readLines(p.text, p.lines, file)
	return h, p.none, err == nil
}

func (p *plainReader) resources() bool {
	return p.member("resourceSpans", func() bool {
		return p.member("scopeSpans", func() bool {
			return p.member("spans", p.span)
		})
	})
}

// The fields of a span, as bits.
const (
	spanID = 1 << iota
	spanName
	spanStart
	spanEnd
	spanAttributes
	spanEvents
	spanStatus
	// and its attributes
	isSession
	isOps
	isStatus
)

// span reads a span and makes its line.
func (p *plainReader) span() bool {
	p.next()
	p.line += bytes.Count(p.data[p.counted:p.i], []byte{'\n'})
	p.counted = p.i
	p.ops, p.said, p.rest, p.val = p.ops[:0], p.said[:0], p.rest[:0], p.val[:0]
	ours := plainSpan{status: -1}
	var start, stop int64
	var name []byte
	failed := false
	seen, ok := p.fields(func(field []byte) (bit int, ok bool) {
		switch string(field) {
		case "spanId":
			_, _, ok = p.raw()
			return spanID, ok
		case "name":
			from := len(p.val)
			p.val, ok = p.str(p.val)
			name = p.val[from:len(p.val):len(p.val)]
			return spanName, ok
		case "startTimeUnixNano":
			start, ok = p.integer()
			return spanStart, ok
		case "endTimeUnixNano":
			stop, ok = p.integer()
			return spanEnd, ok
		case "attributes":
			return spanAttributes, p.take('[') && p.elements(func() bool { return p.attribute(&ours) })
		case "events":
			return spanEvents, p.take('[') && p.elements(p.event)
		case "status":
			failed, ok = p.status()
			return spanStatus, ok
		}
		return 0, p.other(field, "spanId", "name", "startTimeUnixNano", "endTimeUnixNano", "attributes", "events",
			"status")
	})
	if !ok {
		return false
	}
	if ours.seen&isSession == 0 {
		p.none++
		return true
	}
	if seen&(spanStart|spanEnd) != spanStart|spanEnd {
		return false
	}
	from := len(p.text)
	b := strconv.AppendInt(append(p.text, `{"session":`...), int64(ours.session), 10)
	b = strconv.AppendInt(append(b, `,"start":`...), start, 10)
	status := ""
	if ours.status >= 0 {
		status = string(p.val[ours.status:ours.statusEnd])
	} else if failed {
		status = `"unknown"` // it may have taken effect: nobody says that it has not
	}
	if status != `"unknown"` {
		b = strconv.AppendInt(append(b, `,"end":`...), stop, 10)
	}
	if status != "" {
		b = append(append(b, `,"status":`...), status...)
	}
	if b = append(b, `,"name":`...); name == nil {
		name = []byte(`""`)
	}
	b = append(append(b, name...), p.rest...)
	b = append(append(b, `,"ops":[`...), p.said...)
	if len(p.ops) > 0 && len(bytes.TrimSpace(p.said)) > 0 {
		b = append(b, ',')
	}
	p.text = append(append(b, p.ops...), "]}\n"...)
	p.lines = append(p.lines, line{from: from, to: len(p.text), start: start, at: p.line})
	return true
}

// plainSpan has the attributes of a span.
type plainSpan struct {
	seen, session     int
	status, statusEnd int // in val; -1: not given
}

// status reads the status of a span.
func (p *plainReader) status() (failed, ok bool) {
	_, ok = p.fields(func(field []byte) (bit int, ok bool) {
		if string(field) != "code" {
			return 0, p.other(field, "code")
		}
		p.next()
		from := p.i
		ok = p.skip(0)
		code := bytes.Trim(p.data[from:p.i], `"`)
		failed = string(code) == "2" || string(code) == "STATUS_CODE_ERROR"
		return 1, ok
	})
	return failed, ok
}

// attribute reads an attribute of a span.
func (p *plainReader) attribute(s *plainSpan) bool {
	key, from, text, ok := p.keyed(0)
	if !ok {
		return false
	}
	name, ours := bytes.CutPrefix(key, []byte("isovet."))
	if !ours {
		p.val = p.val[:from]
		return true
	}
	v := p.val[from:]
	bit := 0
	switch string(name) {
	case "session":
		bit = isSession
		n, known := p.sessions[string(v)]
		if !known {
			n = len(p.sessions)
			p.sessions[string(v)] = n
		}
		s.session = n
		p.val = p.val[:from]
	case "ops":
		bit = isOps
		ok = text && p.bare && p.operations()
		p.val = p.val[:from]
	case "status":
		bit = isStatus
		s.status, s.statusEnd = from, len(p.val)
	case "id", "commit", "start_ts", "commit_ts", "node", "init":
		p.rest = append(append(append(append(p.rest, `,"`...), name...), `":`...), v...)
		p.val = p.val[:from]
	default:
		return false
	}
	if s.seen&bit != 0 {
		return false
	}
	s.seen |= bit
	return ok
}

// operations reads the operations from an attribute's text.
func (p *plainReader) operations() bool {
	if p.opsText == nil {
		return true
	}
	p.array = unescape(p.array[:0], p.opsText)
	in := plainReader{data: p.array}
	if in.next() != '[' {
		return false
	}
	from := in.i
	if !in.skip(0) {
		return false
	}
	to := in.i
	if in.next(); in.i < len(p.array) {
		return false
	}
	p.said = append(p.said, oneLine(p.array[from+1:to-1])...)
	return true
}

// event reads an event and makes an operation from it.
func (p *plainReader) event() bool {
	back := len(p.val)
	defer func() { p.val = p.val[:back] }()
	var name []byte
	key, keyEnd, value, valueEnd := -1, 0, -1, 0
	if _, ok := p.fields(func(field []byte) (bit int, ok bool) {
		switch string(field) {
		case "name":
			var simple bool
			if name, simple, ok = p.raw(); !simple && ok {
				name = unescape(nil, name)
			}
			return 1, ok
		case "attributes":
			return 2, p.take('[') && p.elements(func() bool {
				k, from, _, ok := p.keyed(0)
				switch {
				case !ok:
				case string(k) == "isovet.key":
					ok = key < 0
					key, keyEnd = from, len(p.val)
				case string(k) == "isovet.value":
					ok = value < 0
					value, valueEnd = from, len(p.val)
				default:
					p.val = p.val[:from]
				}
				return ok
			})
		}
		return 0, p.other(field, "name", "attributes")
	}); !ok {
		return false
	}
	what, ours := bytes.CutPrefix(name, []byte("isovet."))
	if !ours {
		return true
	}
	kind := byte('w')
	switch string(what) {
	case "read":
		kind = 'r'
	case "append":
		kind = 'a'
	case "write":
	case "delete":
		value = -1
	default:
		return false
	}
	if key < 0 {
		return false
	}
	if len(p.ops) > 0 {
		p.ops = append(p.ops, ',')
	}
	p.ops = append(append(p.ops, '[', '"', kind, '"', ','), p.val[key:keyEnd]...)
	if p.ops = append(p.ops, ','); value < 0 {
		p.ops = append(p.ops, "null]"...)
	} else {
		p.ops = append(append(p.ops, p.val[value:valueEnd]...), ']')
	}
	return true
}
