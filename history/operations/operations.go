// Package operations has the operations of clients on objects that are not databases of keys and transactions: a
// queue, a set, a counter, the accounts of a bank. It reads histories of Jepsen's tests, in EDN, JSON, test.jepsen and
// the lines of history.txt and jepsen.log, and isovet's own form, a JSON object on each line for each operation:
//
//	{:type :invoke, :process 3, :f :enqueue, :value 5, :time 57677097, :index 0}
//	{:type :ok, :process 3, :f :enqueue, :value 5, :time 67936298, :index 1}
//	3	:invoke	:dequeue	nil
//	{"process": 3, "f": "dequeue", "value": null, "result": 5, "start": 57677097, "end": 67936298, "status": "ok"}
//
// It also reads the operations of Go programs in Porcupine's form, in JSON or as a table in CSV:
//
//	{"ClientId": 3, "Input": {"Op": "get", "Key": "x"}, "Call": 57, "Output": {"Value": "a"}, "Return": 67}
//	call,return,client,op,key,value,output
//
// The next operation of its process completes an invocation: ok took effect, fail did not, info or a missing one may
// have. Operations of no client (processes with names) are left out. Real time is the order of the file, by :index if
// all have one, as in Jepsen's checkers. In isovet's own form it is start and end, and status is ok, fail or unknown.
//
// Experimental: this package may still change.
package operations

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/history/format/fressian"
	"isovet/internal/slice"
)

// Status is the outcome of an operation.
type Status uint8

const (
	Unknown Status = iota // it took effect, perhaps later, or did not
	OK
	Failed
)

// NoTime is the time of an operation without one.
const NoTime = math.MinInt64

// Op is an operation of a client.
type Op struct {
	Process int64
	F       string
	In, Out any // the values of the invocation and of the completion
	Status  Status
	// Call and Return order the operations in real time. They are positions in the file, or times. An operation of
	// unknown outcome has the largest possible Return.
	Call, Return int64
	Time, End    int64  // nanoseconds, or NoTime
	Line, Lines  int    // of the invocation and of the completion, 0 where there is none
	File         string // that has the lines, of a history of several files; "": the history's
	Extra        Map    // other members of the completion
}

// History has the operations of clients, sorted by call.
type History struct {
	File string
	Ops  []Op
	// Times says that Call and Return are times instead of positions.
	Times bool
	// Go says that a Go program made the operations, with its own names for functions.
	Go     bool
	Events []history.Event // operations of Jepsen's nemesis, if they have times
	// Test has those settings of the test's map that workloads use, if the file has it.
	Test Map
}

// event is an operation of a Jepsen file.
type event struct {
	kind, f     string
	process     any
	value       any
	time, index int64
	line        int
	extra       Map
	// start and end are for isovet's own form.
	start, end int64
	result     any
	status     string
	own        bool
	golang     bool // of a Go program
}

// Read reads a file. Errors are *history.InputError with the line.
func Read(data []byte, file string) (*History, error) {
	h := &History{File: file}
	var events []event
	var err error
	_, table := beginsGo(data[:min(len(data), 4096)])
	switch json, text := notation(data); {
	case table:
		events, err = h.rows(data)
	case stored(data):
		if data, err = fressian.EDN(data, file); err == nil {
			events, err = h.scan(data, false)
		}
	case text:
		events, err = h.lines(data)
	default:
		events, err = h.scan(data, json)
	}
	if err != nil {
		return nil, err
	}
	if len(events) > 0 && events[0].own {
		return h, h.ownEvents(events)
	}
	return h, h.pair(events)
}

// beginning returns a file from its first operation on, without comments and the opening brackets of a collection of
// all.
func beginning(data []byte) []byte {
	for {
		data = bytes.TrimLeft(data, " \t\r\n[(")
		if len(data) == 0 || data[0] != ';' {
			return data
		}
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
}

// notation finds a file's notation by its beginning: JSON or EDN, or lines of text.
func notation(data []byte) (json, text bool) {
	head := beginning(data)
	if len(head) == 0 || head[0] != '{' {
		return false, len(head) > 0 && head[0] != '#'
	}
	head = bytes.TrimLeft(head[1:], " \t\r\n")
	return len(head) > 0 && head[0] == '"', false
}

// scan reads operations in EDN or JSON: one after the other, in a vector, or in a test's :history.
func (h *History) scan(data []byte, json bool) (events []event, err error) {
	s := edn.Scanner{Data: data, File: h.File, JSON: json}
	depth := 0
	for {
		t, err := s.Next()
		switch {
		case err != nil:
			return nil, err
		case t.Kind == edn.EOF:
			return events, nil
		case t.Opens() && depth == 0:
			depth++
		case t.Kind == edn.Close && depth > 0:
			depth--
		case t.OpensMap() && depth == 0 && bytes.HasPrefix(data[t.Pos:], testBegins):
			if err := h.settings(&s, func() error {
				for s.Array("history"); s.More(); {
					e, err := operation(&s, *s.Token())
					if err != nil {
						return cmp.Or(s.Err(), err)
					}
					events = append(events, e)
				}
				return nil
			}); err != nil {
				return nil, err
			}
		case t.OpensMap():
			e, err := operation(&s, t)
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		default:
			return nil, s.Errorf(t.Pos, "", "found %s; expected an operation, {:type …} or {\"process\": …}", t)
		}
	}
}

// operation reads an operation, whose bracket is t.
func operation(s *edn.Scanner, t edn.Token) (e event, err error) {
	line := s.Line(t.Pos)
	v, err := rest(s, t)
	if err != nil {
		return e, err
	}
	bad := &history.InputError{File: s.File, Line: line, Off: -1}
	m, is := v.(Map)
	switch {
	case !is:
		bad.Msg = fmt.Sprintf("found %s; expected an operation, {:type …}", Text(v))
		return e, bad
	case m.isGo():
		return goEvent(m, bad)
	case m.Get("Request") != nil:
		return watchEvent(m, line), nil
	}
	return eventOf(m, bad)
}

func eventOf(m Map, bad *history.InputError) (e event, err error) {
	e = event{time: NoTime, index: NoTime, start: NoTime, end: NoTime, line: bad.Line}
	fail := func(field string, found any, expected string) (event, error) {
		bad.Field, bad.Msg = field, fmt.Sprintf("found %s; expected %s", Text(found), expected)
		return e, bad
	}
	numbers := map[string]*int64{"time": &e.time, "index": &e.index, "start": &e.start, "end": &e.end}
	words := map[string]*string{"type": &e.kind, "f": &e.f, "status": &e.status}
	for _, p := range m {
		name, _ := p.Key.(string)
		if to, is := words[name]; is {
			word, ok := p.Value.(string)
			if !ok && p.Value != nil {
				return fail(name, p.Value, "a name")
			}
			*to = strings.TrimPrefix(word, ":")
			continue
		}
		if to, is := numbers[name]; is {
			n, ok := p.Value.(int64)
			if !ok && p.Value != nil {
				return fail(name, p.Value, "an integer")
			}
			if ok {
				*to = n
			}
			continue
		}
		switch name {
		case "process":
			e.process = p.Value
		case "value":
			e.value = p.Value
		case "result":
			e.result = p.Value
		default:
			e.extra = append(e.extra, p)
		}
	}
	if e.own = e.kind == ""; !e.own {
		if !slices.Contains([]string{"invoke", "ok", "fail", "info"}, e.kind) {
			return fail("type", e.kind, "invoke, ok, fail or info")
		}
		return e, nil
	}
	switch {
	case e.f == "":
		return fail("f", nil, "the operation's name")
	case e.start == NoTime:
		return fail("start", nil, "an integer, the time of the call")
	case !slices.Contains([]string{"", "ok", "fail", "unknown"}, e.status):
		return fail("status", e.status, "ok, fail or unknown")
	case e.end == NoTime && (e.status == "" || e.status == "ok"):
		return fail("end", nil, "an integer, the time of the return")
	case e.end != NoTime && e.end < e.start:
		return fail("end", e.end, "no time before start")
	}
	return e, nil
}

// client returns a process's number. ok is false if the process is no client.
func (e *event) client() (n int64, ok bool) {
	n, ok = e.process.(int64)
	return n, ok
}

// ownEvents makes operations from events in isovet's own form.
func (h *History) ownEvents(events []event) error {
	h.Times, h.Go = true, events[0].golang
	for i, e := range slice.Refs(events) {
		if !e.own || e.golang != h.Go {
			return &history.InputError{File: h.File, Line: e.line, Off: -1, Field: "type",
				Msg: "found an operation in another form than the first; expected one form"}
		}
		n, ok := e.client()
		if !ok {
			n = int64(-1 - i) // a client of its own
		}
		op := Op{Process: n, F: e.f, In: e.value, Out: e.result, Call: e.start, Return: e.end, Time: e.start,
			End: e.end, Line: e.line, Lines: e.line, Extra: e.extra}
		switch e.status {
		case "", "ok":
			op.Status = OK
		case "fail":
			op.Status = Failed
		}
		if op.Status == Unknown || op.End == NoTime {
			op.Return = math.MaxInt64
		}
		h.Ops = append(h.Ops, op)
	}
	slices.SortStableFunc(h.Ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	return nil
}

// pair makes operations from Jepsen's invocations and completions.
func (h *History) pair(events []event) error {
	indexed := true
	for _, e := range events {
		indexed = indexed && e.index != NoTime
	}
	if indexed {
		slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.index, b.index) })
	}
	open, names := map[int64]int{}, map[string]int64{} // clients with names have numbers below 0
	for at, e := range slice.Refs(events) {
		bad := func(field, format string, args ...any) error {
			return &history.InputError{File: h.File, Line: e.line, Off: -1, Field: field,
				Msg: fmt.Sprintf(format, args...)}
		}
		p, client := e.client()
		name, named := e.process.(string)
		name = strings.Trim(name, ":")
		switch {
		case e.own:
			return bad("type", "found none; expected invoke, ok, fail or info")
		case !client && !named && (e.process != nil || e.kind != "info"):
			return bad("process", "found %s; expected an integer of 64 bits, or a name", Text(e.process))
		case !client && strings.HasPrefix(name, "nemesis"):
			if e.time != NoTime {
				h.Events = append(h.Events, history.Event{At: e.time, F: e.f})
			}
			continue
		case !client && (!named || e.f == "" && e.kind == "info"):
			continue
		case e.f == "":
			return bad("f", "found none; expected the operation's name")
		case !client:
			if names[name] == 0 {
				names[name] = int64(-1 - len(names))
			}
			p = names[name]
		}
		i, called := open[p]
		switch {
		case e.kind == "invoke" && called:
			return bad("type", "process %d invokes %s while its operation of line %d is open; expected its completion",
				p, e.f, h.Ops[i].Line)
		case e.kind == "invoke":
			open[p] = len(h.Ops)
			h.Ops = append(h.Ops, Op{Process: p, F: e.f, In: e.value, Call: int64(at), Return: math.MaxInt64,
				Time: e.time, End: NoTime, Line: e.line, Extra: e.extra})
			continue
		case !called && e.kind == "info": // of no client
			continue
		case !called:
			return bad("type", "%s completes nothing; expected an invocation of process %d before it", e.kind, p)
		case h.Ops[i].F != e.f:
			return bad("f", "found %s; expected %s, which process %d invoked in line %d", e.f, h.Ops[i].F, p,
				h.Ops[i].Line)
		}
		delete(open, p)
		op := &h.Ops[i]
		op.Lines, op.Out, op.End, op.Extra = e.line, e.value, e.time, e.extra
		switch e.kind {
		case "ok":
			op.Status, op.Return = OK, int64(at)
		case "fail":
			op.Status, op.Return = Failed, int64(at)
		}
	}
	return nil
}
