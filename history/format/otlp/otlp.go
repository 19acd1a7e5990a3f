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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
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

type traces struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []span `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type span struct {
	SpanID     string      `json:"spanId"`
	Name       string      `json:"name"`
	Start      integer     `json:"startTimeUnixNano"`
	End        integer     `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Events     []struct {
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	} `json:"events"`
	Status struct {
		Code json.RawMessage `json:"code"`
	} `json:"status"`
}

type attribute struct {
	Key   string `json:"key"`
	Value anyVal `json:"value"`
}

// anyVal is OTLP's AnyValue.
type anyVal struct {
	String *string      `json:"stringValue"`
	Int    *integer     `json:"intValue"`
	Bool   *bool        `json:"boolValue"`
	Double *json.Number `json:"doubleValue"`
	Bytes  *string      `json:"bytesValue"`
	Array  *struct {
		Values []anyVal `json:"values"`
	} `json:"arrayValue"`
	List *struct {
		Values []attribute `json:"values"`
	} `json:"kvlistValue"`
}

// integer is an integer of 64 bits. JSON of protocol buffers has it as a text.
type integer struct {
	n   int64
	set bool
}

func (i *integer) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("found %s; expected an integer of 64 bits", b)
	}
	*i = integer{n, true}
	return nil
}

// line is a transaction as a line of the project's format, with its place in the file.
type line struct {
	from, to int // range in the text made of all lines
	start    int64
	at       int // the line where the span begins
	span     string
}

// Read reads a file. passed counts the spans without the attribute. Errors about the content are *history.InputError.
// Cost: one pass over the data, and the reading of its transactions as JSON lines; some copies of the file and ten
// times the time where it is not plain, see plainReader.
func Read(data []byte, file string) (h *history.History, passed int, err error) {
	if h, passed, ok := readPlain(data, file); ok {
		return h, passed, nil
	}
	return read(data, file)
}

// read is Read with encoding/json, for any content.
func read(data []byte, file string) (h *history.History, passed int, err error) {
	sessions := map[string]int{}
	var lines []line
	var all []byte
	d := json.NewDecoder(bytes.NewReader(data))
	at, counted := 1, 0 // the line that data[counted] is in
	for {
		var t traces
		n := 0
		begin := len(data) - len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n"))
		at += bytes.Count(data[counted:begin], []byte{'\n'})
		counted = begin
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, &history.InputError{File: file, Line: at, Off: -1, Msg: fmt.Sprintf(
				"no trace of OTLP's JSON: %v; expected {\"resourceSpans\":[…]}", err)}
		}
		begins, spans := spanLines(data[begin:d.InputOffset()], at), 0
		for _, r := range t.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans += len(s.Spans)
			}
		}
		for _, r := range t.ResourceSpans {
			for _, s := range r.ScopeSpans {
				for i := range s.Spans {
					at := at
					if len(begins) == spans {
						at = begins[n]
					}
					n++
					text, err := s.Spans[i].line(sessions)
					if err == nil && text != nil {
						_, err = jsonl.ReadLine(text, false)
					}
					if err != nil {
						return nil, 0, &history.InputError{File: file, Line: at, Off: -1,
							Msg: fmt.Sprintf("span %s: %s", s.Spans[i].SpanID, plain(err))}
					}
					if text == nil {
						passed++
						continue
					}
					from := len(all)
					all = append(append(all, text...), '\n')
					lines = append(lines, line{from, len(all), s.Spans[i].Start.n, at, s.Spans[i].SpanID})
				}
			}
		}
	}
	h, err = readLines(all, lines, file)
	return h, passed, err
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

// spanLines returns the lines where the spans of a trace begin; the trace begins in the given line. A trace that has a
// list of spans twice has fewer spans than lines.
func spanLines(text []byte, line int) (at []int) {
	levels := [...]string{"resourceSpans", "scopeSpans", "spans"}
	d := json.NewDecoder(bytes.NewReader(text))
	var skipped json.RawMessage
	counted := 0
	var object func(level int)
	object = func(level int) {
		for d.More() {
			name, err := d.Token()
			field, _ := name.(string)
			if err != nil {
				return
			}
			rest := bytes.TrimLeft(text[d.InputOffset():], ": \t\r\n")
			if !strings.EqualFold(field, levels[level]) || len(rest) == 0 || rest[0] != '[' {
				if d.Decode(&skipped) != nil {
					return
				}
				continue
			}
			_, _ = d.Token()
			for d.More() {
				rest := bytes.TrimLeft(text[d.InputOffset():], ", \t\r\n")
				if level == len(levels)-1 {
					begin := len(text) - len(rest)
					line += bytes.Count(text[counted:begin], []byte{'\n'})
					counted = begin
					at = append(at, line)
				} else if rest[0] == '{' {
					_, _ = d.Token()
					object(level + 1)
					continue
				}
				if d.Decode(&skipped) != nil {
					return
				}
			}
			_, _ = d.Token()
		}
		_, _ = d.Token()
	}
	_, _ = d.Token()
	object(0)
	return at
}

// plain returns an input error without its place: the line that it names is not in the file.
func plain(err error) string {
	if in, ok := errors.AsType[*history.InputError](err); ok {
		if in.Field != "" {
			return fmt.Sprintf("field %q: %s", in.Field, in.Msg)
		}
		return in.Msg
	}
	return err.Error()
}

// oneLine replaces line ends in a text of JSON by blanks: they can only be white space there.
func oneLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	return text
}

// line makes a transaction from a span; nil if the span is none.
func (s *span) line(sessions map[string]int) ([]byte, error) {
	var session, ops, status []byte
	var rest []byte
	for _, a := range s.Attributes {
		name, ours := strings.CutPrefix(a.Key, "isovet.")
		if !ours {
			continue
		}
		v, err := a.Value.json()
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Key, err)
		}
		switch name {
		case "session":
			n, ok := sessions[string(v)]
			if !ok {
				n = len(sessions)
				sessions[string(v)] = n
			}
			session = strconv.AppendInt(nil, int64(n), 10)
		case "ops":
			if a.Value.String == nil {
				return nil, errors.New("attribute isovet.ops: expected a text, the operations as JSON")
			}
			if ops = bytes.TrimSpace([]byte(*a.Value.String)); !json.Valid(ops) || len(ops) < 2 || ops[0] != '[' {
				return nil, fmt.Errorf("attribute isovet.ops: found %.60q; expected an array of operations", ops)
			}
			ops = oneLine(ops[1 : len(ops)-1])
		case "status":
			status = v
		case "id", "commit", "start_ts", "commit_ts", "node", "init":
			rest = append(append(append(append(rest, `,"`...), name...), `":`...), v...)
		default:
			return nil, fmt.Errorf("attribute %s is not known; expected isovet.session, ops, status, id, commit, "+
				"start_ts, commit_ts, node or init", a.Key)
		}
	}
	if session == nil {
		return nil, nil
	}
	if !s.Start.set || !s.End.set {
		return nil, errors.New("startTimeUnixNano or endTimeUnixNano is missing; expected both")
	}
	for _, e := range s.Events {
		op, err := operation(e.Name, e.Attributes)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", e.Name, err)
		}
		if len(op) > 0 {
			if len(bytes.TrimSpace(ops)) > 0 {
				ops = append(ops, ',')
			}
			ops = append(ops, op...)
		}
	}
	if code := strings.Trim(string(s.Status.Code), `"`); status == nil && (code == "2" || code == "STATUS_CODE_ERROR") {
		status = []byte(`"unknown"`) // it may have taken effect
	}
	b := append([]byte(`{"session":`), session...)
	b = strconv.AppendInt(append(b, `,"start":`...), s.Start.n, 10)
	if string(status) != `"unknown"` {
		b = strconv.AppendInt(append(b, `,"end":`...), s.End.n, 10)
	}
	if status != nil {
		b = append(append(b, `,"status":`...), status...)
	}
	b = history.AppendJSONString(append(b, `,"name":`...), s.Name)
	b = append(append(append(b, rest...), `,"ops":[`...), ops...)
	return append(b, "]}"...), nil
}

// operation makes an operation from an event; nil if the event is none.
func operation(event string, attributes []attribute) ([]byte, error) {
	kind, ok := map[string]string{"isovet.read": "r", "isovet.write": "w", "isovet.delete": "w",
		"isovet.append": "a"}[event]
	if !ok {
		if strings.HasPrefix(event, "isovet.") {
			return nil, errors.New("not known; expected isovet.read, write, delete or append")
		}
		return nil, nil
	}
	var key []byte
	v := []byte("null")
	for _, a := range attributes {
		x, err := a.Value.json()
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Key, err)
		}
		switch a.Key {
		case "isovet.key":
			key = x
		case "isovet.value":
			v = x
		}
	}
	if key == nil {
		return nil, errors.New("no attribute isovet.key")
	}
	if event == "isovet.delete" {
		v = []byte("null")
	}
	return fmt.Appendf(nil, `[%q,%s,%s]`, kind, key, v), nil
}

// json returns the value as JSON of the project's format.
func (v *anyVal) json() ([]byte, error) {
	switch {
	case v.String != nil:
		return history.AppendJSONString(nil, *v.String), nil
	case v.Int != nil:
		return strconv.AppendInt(nil, v.Int.n, 10), nil
	case v.Bool != nil:
		return strconv.AppendBool(nil, *v.Bool), nil
	case v.Double != nil:
		if n, err := v.Double.Int64(); err == nil {
			return strconv.AppendInt(nil, n, 10), nil
		}
		return history.AppendJSONString(nil, v.Double.String()), nil
	case v.Bytes != nil:
		b, err := base64.StdEncoding.DecodeString(*v.Bytes)
		if err != nil {
			return nil, err
		}
		return history.AppendJSONString(nil, strings.ToValidUTF8(string(b), "\ufffd")), nil
	case v.Array != nil:
		b := []byte{'['}
		for i := range v.Array.Values {
			x, err := v.Array.Values[i].json()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, x...)
		}
		return append(b, ']'), nil
	case v.List != nil:
		b := []byte{'{'}
		for i, a := range v.List.Values {
			x, err := a.Value.json()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(history.AppendJSONString(b, a.Key), ':'), x...)
		}
		return append(b, '}'), nil
	}
	return []byte("null"), nil
}
