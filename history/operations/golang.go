package operations

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/history/format/edn"
)

// member maps the names that Go programs give to members of operations, inputs and outputs, in lower case, to their
// meaning.
type member map[string]string

var (
	goMembers = member{"clientid": "client", "client": "client", "process": "client", "call": "call",
		"return": "return", "input": "input", "output": "output", "metadata": "", "status": "status"}
	goInputs = member{"op": "f", "f": "f", "kind": "f", "type": "f", "operation": "f", "method": "f", "key": "key",
		"k": "key", "value": "value", "val": "value", "v": "value", "arg": "value", "arg1": "value", "old": "old",
		"expected": "old", "new": "new", "arg2": "new"}
	goOutputs = member{"value": "value", "val": "value", "v": "value", "result": "value", "ok": "ok", "success": "ok",
		"exists": "exists", "found": "exists", "unknown": "unknown", "error": "error", "err": "error"}
)

var unspaced = strings.NewReplacer("_", "", "-", "", " ", "")

// small returns a name in lower case.
func small(name any) string {
	s, _ := name.(string)
	return unspaced.Replace(strings.ToLower(s))
}

// isGo reports whether a map is an operation of a Go program in Porcupine's form.
func (m Map) isGo() bool {
	has := func(name string) bool {
		return slices.ContainsFunc(m, func(p Pair) bool {
			s, is := p.Key.(string)
			return is && strings.EqualFold(s, name)
		})
	}
	return has("call") && has("input")
}

// beginsGo reports by its beginning whether a file has a Go program's operations: in JSON, or in CSV with a line of
// names.
func beginsGo(head []byte) (json, comma bool) {
	head = bytes.ToLower(beginning(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	if bytes.HasPrefix(head, []byte("{")) {
		has := func(name string) bool { return bytes.Contains(head, []byte(name)) }
		return has(`"call"`) && has(`"input"`) && !has(`"ops"`), false
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	names := strings.Split(strings.TrimSpace(string(line)), ",")
	for i, name := range names {
		names[i] = strings.Trim(name, ` "`)
	}
	return false, slices.Contains(names, "call") && slices.Contains(names, "return")
}

// goReader reads one operation of a Go program.
type goReader struct {
	bad *history.InputError
	e   event
}

func (r *goReader) fail(field string, found any, expected string) error {
	r.bad.Field, r.bad.Msg = field, fmt.Sprintf("found %s; expected %s", Text(found), expected)
	return r.bad
}

// members returns the members of a map by their known names, and the map's own names for them. A member without a
// known name must be zero, since Go also writes members that are not set.
func (r *goReader) members(of string, m Map, known member) (at map[string]any, name map[string]string, err error) {
	at, name = map[string]any{}, map[string]string{}
	for _, p := range m {
		field := of + strings.TrimPrefix(Text(p.Key), ":")
		as, is := known[small(p.Key)]
		switch {
		case !is && !slices.Contains([]string{"nil", `""`, "0", "false", "[]", "{}"}, Text(p.Value)):
			return nil, nil, r.fail(field, p.Value, "a member of operations of Porcupine's models, or an empty value")
		case name[as] != "" && at[as] != nil && p.Value != nil && is && as != "":
			return nil, nil, r.fail(field, p.Value, "it only once, beside "+name[as])
		case is && at[as] == nil:
			at[as], name[as] = p.Value, field
		}
	}
	return at, name, nil
}

// times reads the client and the times of call and return.
func (r *goReader) times(at map[string]any, name map[string]string) error {
	var is bool
	if r.e.process = at["client"]; r.e.process != nil {
		if _, is = r.e.process.(int64); !is {
			return r.fail(name["client"], r.e.process, "an integer")
		}
	}
	if r.e.start, is = at["call"].(int64); !is {
		return r.fail(name["call"], at["call"], "an integer, the time of the call")
	}
	if r.e.end, is = at["return"].(int64); !is && at["return"] != nil {
		return r.fail(name["return"], at["return"], "an integer, the time of the return")
	}
	if at["return"] == nil || r.e.end == math.MaxInt64 {
		r.e.end = NoTime
	} else if r.e.end < r.e.start {
		return r.fail(name["return"], r.e.end, "no time before the call")
	}
	return nil
}

// goEvent reads a map as an operation of a Go program, in Porcupine's form. Its input has an operation, a key and a
// value. Its output is a value, or has a value and the outcome. Without a return and an output, the outcome is unknown.
func goEvent(m Map, bad *history.InputError) (event, error) {
	r := &goReader{bad: bad, e: event{own: true, golang: true, time: NoTime, index: NoTime, line: bad.Line}}
	at, name, err := r.members("", m, goMembers)
	if err != nil {
		return r.e, err
	}
	in, is := at["input"].(Map)
	if is && in.isEtcd() {
		return r.e, r.etcd(in, at, name)
	}
	if err := r.times(at, name); err != nil {
		return r.e, err
	}
	if !is {
		return r.e, r.fail(name["input"], at["input"], "an object with an operation, a key and a value")
	}
	input, names, err := r.members(name["input"]+".", in, goInputs)
	if err != nil {
		return r.e, err
	}
	switch f := input["f"].(type) {
	case string, int64, bool:
		r.e.f = small(fmt.Sprint(f))
	default:
		return r.e, r.fail(name["input"], at["input"], "an operation in it, as in "+`{"Op": "put", "Value": 5}`)
	}
	r.e.value, r.e.result = input["value"], at["output"]
	for _, k := range []string{"key", "old", "new"} {
		if input[k] != nil {
			r.e.extra = append(r.e.extra, Pair{k, input[k]})
		}
	}
	if at["output"] == nil && r.e.end == NoTime {
		r.e.status = "unknown"
	}
	if out, is := at["output"].(Map); is {
		if err := r.output(name["output"]+".", out); err != nil {
			return r.e, err
		}
	}
	if status, is := at["status"].(string); is {
		r.e.status = cmp.Or(map[string]string{"info": "unknown", "failed": "fail"}[status], status)
		if !slices.Contains([]string{"ok", "fail", "unknown"}, r.e.status) {
			return r.e, r.fail(name["status"], status, "ok, fail or unknown")
		}
	}
	if r.e.end == NoTime && r.e.status == "fail" {
		return r.e, r.fail(names["f"], r.e.f, "a time at which it failed")
	}
	return r.e, nil
}

func (r *goReader) output(of string, m Map) error {
	at, name, err := r.members(of, m, goOutputs)
	if err != nil {
		return err
	}
	there := true
	for _, k := range []string{"ok", "exists", "unknown"} {
		b, is := at[k].(bool)
		switch {
		case at[k] == nil:
			continue
		case !is:
			return r.fail(name[k], at[k], "true or false")
		case k == "unknown" && b:
			r.e.status = "unknown"
		case k != "unknown":
			there = b
		}
		if k == "ok" {
			r.e.extra = append(r.e.extra, Pair{k, b})
		}
	}
	if r.e.result = nil; there {
		r.e.result = at["value"]
	}
	if text, is := at["error"].(string); at["error"] != nil && (!is || text != "" && small(text) != "ok") {
		r.e.status = "unknown" // it may have taken effect before
	}
	return nil
}

// rows reads a table in CSV. Its first line names the columns, which are the members of operations. If there is no
// column for the output, the results of reads are in the column of values.
func (h *History) rows(data []byte) (events []event, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	r.ReuseRecord, r.TrimLeadingSpace = true, true
	var names []string
	for {
		row, err := r.Read()
		switch p := (*csv.ParseError)(nil); {
		case errors.Is(err, io.EOF):
			return events, nil
		case errors.As(err, &p):
			return nil, &history.InputError{File: h.File, Line: p.Line, Off: -1, Msg: p.Err.Error()}
		case err != nil:
			return nil, err
		case names == nil:
			names = slices.Clone(row)
			continue
		}
		line, _ := r.FieldPos(0)
		e, err := h.row(names, row, line)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
}

func (h *History) row(names, row []string, line int) (e event, err error) {
	bad := &history.InputError{File: h.File, Line: line, Off: -1}
	m, in, out := Map{}, Map{}, Map{}
	answers := false // there is a column for outputs
	for i, cell := range row {
		name := small(names[i])
		v, err := Cell(cell)
		if err != nil {
			bad.Field, bad.Msg = names[i], err.Error()
			return e, bad
		}
		switch _, top := goMembers[name]; {
		case name == "output" || name == "result":
			out, answers = append(out, Pair{"value", v}), true
		case top:
			m = append(m, Pair{names[i], v})
		case goInputs[name] != "":
			in = append(in, Pair{names[i], v})
		case goOutputs[name] != "":
			out = append(out, Pair{names[i], v})
		default:
			bad.Field, bad.Msg = names[i], "found a column of an unknown name; expected call, return, client, op, "+
				"key, value, output"
			return e, bad
		}
	}
	open := slices.ContainsFunc(m, func(p Pair) bool { return small(p.Key) == "return" && p.Value == nil })
	m = append(m, Pair{"input", in})
	if !answers || !open || out.Get("value") != nil {
		m = append(m, Pair{"output", out})
	}
	if e, err = goEvent(m, bad); err == nil && !answers {
		if open && e.status == "" {
			e.status = "unknown"
		}
		if e.f != "append" {
			e.result = e.value
		}
	}
	bad.Field = strings.TrimPrefix(strings.TrimPrefix(bad.Field, "input."), "output.")
	return e, err
}

// Cell returns the value of a table's cell: nothing, a number, true or false, a collection in JSON or EDN, or a text.
func Cell(cell string) (any, error) {
	switch cell = strings.TrimSpace(cell); {
	case cell == "" || cell == "null" || cell == "nil":
		return nil, nil
	case cell == "true" || cell == "false":
		return cell == "true", nil
	case strings.HasPrefix(cell, "[") || strings.HasPrefix(cell, "{") || strings.HasPrefix(cell, "#{"):
		s := edn.Scanner{Data: []byte(cell)}
		t, err := s.Next()
		if err != nil {
			return nil, errors.New("found no collection; expected one in JSON or EDN")
		}
		return rest(&s, t)
	}
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil && strconv.FormatInt(n, 10) == cell {
		return n, nil
	}
	return cell, nil
}
