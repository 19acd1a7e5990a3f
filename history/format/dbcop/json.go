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
	t, err := s.Next()
	switch {
	case err != nil:
		return false
	case t.OpensMap():
		for {
			name, err := s.Next()
			if err != nil || name.Kind != edn.Text {
				return false
			}
			t, err := s.Next()
			if err != nil {
				return false
			}
			switch {
			case name.Is("data"):
				return t.Opens() && isSessions(&s)
			case name.Is("params"):
				return t.OpensMap() && bytes.Contains(head, []byte(`"n_transaction"`))
			case s.SkipRest(t) != nil:
				return false
			}
		}
	case t.Opens():
		return isSessions(&s)
	}
	return false
}

// isSessions reports whether the first non-empty session begins with a transaction. The outermost bracket has been
// read.
func isSessions(s *edn.Scanner) bool {
	for {
		t, err := s.Next()
		if err != nil || !t.Opens() {
			return false
		}
		if t, err = s.Next(); err != nil {
			return false
		}
		if t.Kind == edn.Close {
			continue
		}
		if !t.OpensMap() {
			return false
		}
		t, err = s.Next()
		return err == nil && (t.Is("events") || t.Is("committed"))
	}
}

// ReadJSON reads a history in dbcop's JSON since its rewrite of 2026: an array of sessions, or an object with this
// array in its field data. A session is an array of transactions, {"events": […], "committed": true}; an event is
// {"Write": {"variable": 0, "version": 1}} or {"Read": {…}}, or ["w", 0, 1], ["r", 0, 1]. In a read, version null is
// the initial version, and so is 0 if no transaction writes 0. Transactions that are not committed are aborted. Errors
// are *history.InputError with the line. Cost: one pass, and history.Builder.Build. data is not referenced afterwards.
func ReadJSON(data []byte, file string) (*history.History, error) { return readJSON(data, file, false) }

// readJSON is ReadJSON. With slow it uses the scanner alone.
func readJSON(data []byte, file string, slow bool) (*history.History, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return read(file, len(data), func(to *sink) error {
		r := jsonReader{s: edn.Scanner{Data: data, File: file, JSON: true}, sink: to, slow: slow}
		return r.history()
	})
}

// history reads the whole file.
func (r *jsonReader) history() error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	if t.OpensMap() {
		has := false
		err = r.s.Fields(t, "", func(name edn.Token) error {
			t, err := r.s.Next()
			switch {
			case err != nil:
				return err
			case name.Is("data"):
				if has {
					return r.s.Errorf(name.Pos, "data", "given twice")
				}
				has = true
				return r.sessions(t)
			case name.Is("info") && t.Kind == edn.Text:
				r.b.Meta.Note = string(t.Text)
			}
			return r.s.SkipRest(t)
		})
		if err == nil && !has {
			err = r.s.Errorf(t.Pos, "data", "missing; expected an array of sessions")
		}
	} else {
		err = r.sessions(t)
	}
	if err != nil {
		return err
	}
	if t, err := r.s.Next(); err != nil {
		return err
	} else if t.Kind != edn.EOF {
		return r.s.Errorf(t.Pos, "", "found %v behind the history; expected the end of the file", t)
	}
	return nil
}

type jsonReader struct {
	*sink
	s    edn.Scanner
	slow bool // use the scanner alone
}

func (r *jsonReader) sessions(t edn.Token) error {
	session := int64(0)
	return r.s.Elements(t, "sessions", func(t edn.Token) error {
		if t.Opens() {
			r.plainTxns(session)
		}
		err := r.s.Elements(t, "session", func(t edn.Token) error {
			err := r.txn(t, session)
			if err == nil {
				r.plainTxns(session)
			}
			return err
		})
		session++
		return err
	})
}

func (r *jsonReader) txn(t edn.Token, session int64) error {
	line := r.s.Line(t.Pos)
	r.events = r.events[:0]
	events, committed, is := false, false, false
	if err := r.s.Fields(t, "transaction", func(name edn.Token) error {
		v, err := r.s.Next()
		switch {
		case err != nil:
			return err
		case name.Is("events"):
			if events {
				return r.s.Errorf(name.Pos, "events", "given twice")
			}
			events = true
			return r.s.Elements(v, "events", func(t edn.Token) error {
				e, err := r.event(t)
				r.events = append(r.events, e)
				return err
			})
		case name.Is("committed"):
			if v.Kind != edn.Bool {
				return r.s.Errorf(v.Pos, "committed", "found %v; expected true or false", v)
			}
			committed, is = true, v.N == 1
			return nil
		}
		return r.s.SkipRest(v)
	}); err != nil {
		return err
	}
	switch {
	case !events:
		return r.s.Errorf(t.Pos, "events", "missing; expected an array of events")
	case !committed:
		return r.s.Errorf(t.Pos, "committed", "missing; expected true or false")
	}
	r.end(session, line, is, t.Pos)
	return nil
}

// plainTxns reads transactions of a session as long as they are plain (see edn.Plain), and stops before the first other
// one.
func (r *jsonReader) plainTxns(session int64) {
	p := r.s.Plain()
	for !r.slow && p.Take('{') {
		at := p.Pos() - 1
		line := r.s.Line(at)
		r.events = r.events[:0]
		committed, ok := r.plainTxn(&p)
		if !ok {
			return
		}
		r.end(session, line, committed, at)
		r.s.Went(&p)
	}
}

// plainTxn reads a transaction behind its bracket.
func (r *jsonReader) plainTxn(p *edn.Plain) (is, ok bool) {
	events, committed := false, false
	for !p.Take('}') {
		name, ok := p.Text()
		if !ok {
			return false, false
		}
		switch string(name) {
		case "events":
			if events || !p.Take('[') {
				return false, false
			}
			for events = true; !p.Take(']'); {
				var e event
				if e, ok = r.plainEvent(p); !ok {
					return false, false
				}
				r.events = append(r.events, e)
			}
		case "committed":
			committed = true
			is, ok = p.Bool()
		default:
			ok = p.Skip()
		}
		if !ok {
			return false, false
		}
	}
	return is, events && committed
}

// plainEvent reads an event, in either form.
func (r *jsonReader) plainEvent(p *edn.Plain) (e event, ok bool) {
	if f, key, n, ok := p.Register(); ok {
		if f != 'r' && f != 'w' {
			return e, false
		}
		return event{write: f == 'w', key: r.b.Key(history.IntValue(key)), version: n}, true
	}
	if p.Take('[') {
		kind, ok := p.Text()
		if !ok || len(kind) != 1 || kind[0] != 'r' && kind[0] != 'w' {
			return e, false
		}
		e.write = kind[0] == 'w'
		return e, r.plainVariable(p, &e) && plainVersion(p, &e) && p.Take(']')
	}
	if !p.Take('{') {
		return e, false
	}
	kind, ok := p.Text()
	if !ok || string(kind) != "Read" && string(kind) != "Write" || !p.Take('{') {
		return e, false
	}
	e.write = len(kind) == len("Write")
	variable, version := false, false
	for !p.Take('}') {
		name, ok := p.Text()
		if !ok {
			return e, false
		}
		switch string(name) {
		case "variable":
			variable, ok = true, r.plainVariable(p, &e)
		case "version":
			if version {
				return e, false
			}
			version, ok = true, plainVersion(p, &e)
		default:
			ok = p.Skip()
		}
		if !ok {
			return e, false
		}
	}
	return e, variable && version && p.Take('}')
}

func (r *jsonReader) plainVariable(p *edn.Plain, e *event) (ok bool) {
	if p.Peek() == '"' {
		text, ok := p.Text()
		if ok {
			e.key = r.b.Key(r.b.StringValue(text))
		}
		return ok
	}
	n, ok := p.Int()
	if ok {
		e.key = r.b.Key(history.IntValue(n))
	}
	return ok
}

func plainVersion(p *edn.Plain, e *event) (ok bool) {
	if !e.write && p.Peek() == 'n' {
		e.none = true
		return p.Nil()
	}
	e.version, ok = p.Int()
	return ok
}

// event reads an event, in either form.
func (r *jsonReader) event(t edn.Token) (e event, err error) {
	if t.Opens() {
		n := 0
		err = r.s.Elements(t, "event", func(t edn.Token) error {
			n++
			switch n {
			case 1:
				if !t.Is("r") && !t.Is("w") {
					return r.s.Errorf(t.Pos, "event", "found %v; expected r or w", t)
				}
				e.write = t.Is("w")
				return nil
			case 2:
				return r.variable(t, &e)
			case 3:
				return r.version(t, &e)
			}
			return r.s.Errorf(t.Pos, "event", "found a fourth element, %v; expected [kind, variable, version]", t)
		})
		if err == nil && n < 3 {
			err = r.s.Errorf(t.Pos, "event", "found %d elements; expected [kind, variable, version]", n)
		}
		return e, err
	}
	kinds := 0
	err = r.s.Fields(t, "event", func(name edn.Token) error {
		if !name.Is("Read") && !name.Is("Write") {
			return r.s.Errorf(name.Pos, "event", "found %v; expected Read or Write", name)
		}
		kinds++
		e.write = name.Is("Write")
		m, err := r.s.Next()
		if err != nil {
			return err
		}
		variable, version := false, false
		err = r.s.Fields(m, "event", func(name edn.Token) error {
			t, err := r.s.Next()
			switch {
			case err != nil:
				return err
			case name.Is("variable"):
				variable = true
				return r.variable(t, &e)
			case name.Is("version"):
				version = true
				return r.version(t, &e)
			}
			return r.s.SkipRest(t)
		})
		if err == nil && (!variable || !version) {
			err = r.s.Errorf(m.Pos, "event", "variable or version is missing; expected both")
		}
		return err
	})
	if err == nil && kinds != 1 {
		err = r.s.Errorf(t.Pos, "event", "found %d of Read and Write; expected one", kinds)
	}
	return e, err
}

func (r *jsonReader) variable(t edn.Token, e *event) error {
	switch t.Kind {
	case edn.Int:
		e.key = r.b.Key(history.IntValue(t.N))
	case edn.Text:
		e.key = r.b.Key(r.b.StringValue(t.Text))
	default:
		return r.s.Errorf(t.Pos, "variable", "found %v; expected an integer or a string", t)
	}
	return nil
}

func (r *jsonReader) version(t edn.Token, e *event) error {
	switch {
	case t.Kind == edn.Int:
		e.version = t.N
	case t.Kind == edn.Nil && !e.write:
		e.none = true
	default:
		return r.s.Errorf(t.Pos, "version", "found %v; expected an integer, or null in a read", t)
	}
	return nil
}
