package dbcop

import (
	"bytes"

	"isovet/history"
	"isovet/history/format/edn"
)

// IsJSON reports whether a file begins as a history in JSON: an array of arrays of objects with events, or an object
// with such an array and the run's parameters.
func IsJSON(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	s := edn.Scanner{Data: head, JSON: true}
	if s.Peek() == '[' {
		return isSessions(&s)
	}
	s.Map("")
	for name, ok := s.Field(""); ok; name, ok = s.Field("") {
		switch string(name) {
		case "data":
			return isSessions(&s)
		case "params":
			return s.Peek() == '{' && bytes.Contains(head, []byte(`"n_transaction"`))
		}
		s.Pass()
	}
	return false
}

// isSessions reports whether the first non-empty session begins with a transaction.
func isSessions(s *edn.Scanner) bool {
	for s.Array(""); s.More(); {
		if s.Array(""); s.More() {
			s.Map("")
			name, _ := s.Field("")
			return string(name) == "events" || string(name) == "committed"
		}
	}
	return false
}

// ReadJSON reads a history in dbcop's JSON since its rewrite of 2026: an array of sessions, or an object with this
// array in its field data. A session is an array of transactions, {"events": […], "committed": true}; an event is
// {"Write": {"variable": 0, "version": 1}} or {"Read": {…}}, or ["w", 0, 1], ["r", 0, 1]. In a read, version null is
// the initial version, and so is 0 if no transaction writes 0. Transactions that are not committed are aborted. Errors
// are *history.InputError with the line. Cost: one pass, and history.Builder.Build. data is not referenced afterwards.
func ReadJSON(data []byte, file string) (*history.History, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return read(file, len(data), func(to *sink) error {
		r := jsonReader{s: edn.Scanner{Data: data, File: file, JSON: true}, sink: to}
		r.history()
		return r.s.Err()
	})
}

type jsonReader struct {
	*sink
	s edn.Scanner
}

// history reads the whole file.
func (r *jsonReader) history() {
	if r.s.Peek() != '{' {
		r.sessions()
		r.s.End("history")
		return
	}
	has, at := false, r.s.Map("")
	for name, ok := r.s.Field(""); ok; name, ok = r.s.Field("") {
		switch {
		case string(name) == "data":
			if has {
				r.s.Fail(r.s.Pos(), "data", "given twice")
			}
			has = true
			r.sessions()
		case string(name) == "info" && r.s.Peek() == '"':
			r.b.Meta.Note = string(r.s.Token().Text)
		default:
			r.s.Pass()
		}
	}
	if !has {
		r.s.Fail(at, "data", "missing; expected an array of sessions")
	}
	r.s.End("history")
}

func (r *jsonReader) sessions() {
	session := int64(0)
	for r.s.Array("sessions"); r.s.More(); session++ {
		for r.s.Array("session"); r.s.More(); {
			r.txn(session)
		}
	}
}

func (r *jsonReader) txn(session int64) {
	at := r.s.Map("transaction")
	line := r.s.Line(at)
	r.events = r.events[:0]
	events, committed, is := false, false, false
	for name, ok := r.s.Field("transaction"); ok; name, ok = r.s.Field("transaction") {
		switch string(name) {
		case "events":
			if events {
				r.s.Fail(r.s.Pos(), "events", "given twice")
			}
			events = true
			for r.s.Array("events"); r.s.More(); {
				if r.s.Enter('[') {
					r.short()
				} else {
					r.event()
				}
			}
		case "committed":
			committed, is = true, r.s.Bool("committed")
		default:
			r.s.Pass()
		}
	}
	switch {
	case r.s.Err() != nil:
		return
	case !events:
		r.s.Fail(at, "events", "missing; expected an array of events")
	case !committed:
		r.s.Fail(at, "committed", "missing; expected true or false")
	default:
		r.end(session, line, is, at)
	}
}

// short reads an event ["r", 0, 1] behind its bracket.
func (r *jsonReader) short() {
	var e event
	kind := r.s.Str("event")
	if e.write = string(kind) == "w"; !e.write && string(kind) != "r" {
		r.s.Fail(r.s.Pos(), "event", "found %.40q; expected r or w", kind)
	}
	r.variable(&e)
	r.version(&e)
	if r.s.More() {
		r.s.Fail(r.s.Pos(), "event", "found a fourth element; expected [kind, variable, version]")
	}
	r.events = append(r.events, e)
}

// event reads an event {"Read": {"variable": 0, "version": 1}}.
func (r *jsonReader) event() {
	var e event
	kinds, at := 0, r.s.Map("event")
	for kind, ok := r.s.Field("event"); ok; kind, ok = r.s.Field("event") {
		e.write = string(kind) == "Write"
		if !e.write && string(kind) != "Read" {
			r.s.Fail(r.s.Pos(), "event", "found %.40s; expected Read or Write", kind)
		}
		kinds++
		variable, version, at := false, false, r.s.Map("event")
		for name, ok := r.s.Field("event"); ok; name, ok = r.s.Field("event") {
			switch string(name) {
			case "variable":
				variable = true
				r.variable(&e)
			case "version":
				version = true
				r.version(&e)
			default:
				r.s.Pass()
			}
		}
		if !variable || !version {
			r.s.Fail(at, "event", "variable or version is missing; expected both")
		}
	}
	if kinds != 1 {
		r.s.Fail(at, "event", "found %d of Read and Write; expected one", kinds)
	}
	r.events = append(r.events, e)
}

func (r *jsonReader) variable(e *event) {
	if n, ok := r.s.Digits(false); ok {
		e.key = r.b.Key(history.IntValue(n))
		return
	}
	switch t := r.s.Token(); t.Kind {
	case edn.Int:
		e.key = r.b.Key(history.IntValue(t.N))
	case edn.Text:
		e.key = r.b.Key(r.b.StringValue(t.Text))
	default:
		r.s.Fail(t.Pos, "variable", "found %v; expected an integer or a string", t)
	}
}

func (r *jsonReader) version(e *event) {
	if n, ok := r.s.Digits(false); ok {
		e.version, e.none = n, false
		return
	}
	switch t := r.s.Token(); {
	case t.Kind == edn.Int:
		e.version, e.none = t.N, false
	case t.Kind == edn.Nil && !e.write:
		e.none = true
	default:
		r.s.Fail(t.Pos, "version", "found %v; expected an integer, or null in a read", t)
	}
}
