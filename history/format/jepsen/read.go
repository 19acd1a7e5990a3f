package jepsen

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/history"
	"isovet/history/format/edn"
)

// file reads all operations, in a vector or one after another.
func (r *reader) file() error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	if !t.Opens() {
		return r.operations(t, edn.EOF)
	}
	first, err := r.s.Next()
	if err != nil {
		return err
	}
	if first.Kind != edn.Open && first.Kind != edn.Close {
		// This vector is not around the history: it is the first operation.
		if err := r.vector(t, first); err != nil {
			return err
		}
		if t, err = r.s.Next(); err != nil {
			return err
		}
		return r.operations(t, edn.EOF)
	}
	if err := r.operations(first, edn.Close); err != nil {
		return err
	}
	if t, err = r.s.Next(); err == nil && t.Kind != edn.EOF {
		err = r.s.Errorf(t.Pos, "", "found %v behind the history; expected the end of the file", t)
	}
	return err
}

// operations reads operations from t on, up to a token of the kind end.
func (r *reader) operations(t edn.Token, end edn.Kind) (err error) {
	for ; err == nil; t, err = r.s.Next() {
		switch {
		case t.Kind == end:
			return nil
		case t.OpensMap():
			done := false
			if r.plain {
				done, err = r.plainEvent(t)
			}
			if !done && err == nil {
				err = r.event(t)
			}
		case t.Opens():
			var process edn.Token
			if process, err = r.s.Next(); err == nil {
				err = r.vector(t, process)
			}
		default:
			err = r.s.Errorf(t.Pos, "", "found %v; expected an operation: a map, or a vector [process type f value]", t)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// event reads one operation that is a map; t is its bracket.
func (r *reader) event(t edn.Token) error {
	e := newEvent(t.Pos)
	client, typed, process := true, false, false
	var f []byte
	for {
		name, err := r.s.Next()
		if err != nil {
			return err
		}
		if name.Kind == edn.Close {
			break
		}
		if name.Kind != edn.Word && name.Kind != edn.Text {
			return r.s.Errorf(name.Pos, "", "found %v; expected the name of a field", name)
		}
		switch string(name.Text) {
		case "type":
			typed = true
			var v edn.Token
			if v, err = r.s.Next(); err == nil {
				e.kind, err = r.kind(v)
			}
		case "process", "client":
			isProcess := len(name.Text) == len("process")
			var v edn.Token
			if v, err = r.s.Next(); err != nil {
				return err
			}
			if process && !isProcess {
				err = r.s.SkipRest(v) // both :process and another field: :process counts
				break
			}
			process = process || isProcess
			client, err = r.process(&e, v)
		case "f":
			var v edn.Token
			if v, err = r.s.Next(); err == nil {
				f, err = r.s.Data[v.Pos:r.s.Pos()], r.function(&e, v)
			}
		case "value":
			e.value = r.s.Pos()
			err = r.s.Skip()
		case "key":
			e.key = r.s.Pos()
			err = r.s.Skip()
		case "time":
			e.time, err = r.instant()
		case "index":
			e.index, err = r.integer("index")
		case "start-timestamp":
			e.start, err = r.integer("start-timestamp")
		case "commit-timestamp":
			e.end, err = r.integer("commit-timestamp")
		case "history":
			var v edn.Token
			if v, err = r.s.Next(); err != nil {
				return err
			}
			if !v.Opens() || typed || r.wrapped || len(r.events) > 0 {
				err = r.s.SkipRest(v)
				break
			}
			r.wrapped = true
			if v, err = r.s.Next(); err == nil {
				err = r.operations(v, edn.Close)
			}
		default:
			err = r.s.Skip()
		}
		if err != nil {
			return err
		}
	}
	if !typed && r.wrapped {
		return nil // a map around the history
	}
	if !client {
		r.byNemesis(e, f)
		return nil
	}
	if !typed {
		return r.s.Errorf(t.Pos, "type", "missing; expected invoke, ok, fail or info")
	}
	return r.add(e)
}

// vector reads one operation in Knossos's first form, a vector [process type f value error]; t is its bracket.
func (r *reader) vector(t, process edn.Token) error {
	e := newEvent(t.Pos)
	client, err := r.process(&e, process)
	if err != nil {
		return err
	}
	v, err := r.s.Next()
	if err != nil {
		return err
	}
	if e.kind, err = r.kind(v); err != nil {
		return err
	}
	if v, err = r.s.Next(); err != nil {
		return err
	}
	if v.Kind == edn.Close {
		return r.s.Errorf(v.Pos, "f", "missing; expected [process type f value]")
	}
	f := r.s.Data[v.Pos:r.s.Pos()]
	if err := r.function(&e, v); err != nil {
		return err
	}
	for n := 0; ; n++ {
		at := r.s.Pos()
		if v, err = r.s.Next(); err != nil {
			return err
		}
		if v.Kind == edn.Close {
			break
		}
		if n == 0 {
			e.value = at
		}
		if err := r.s.SkipRest(v); err != nil {
			return err
		}
	}
	if !client {
		r.byNemesis(e, f)
		return nil
	}
	return r.add(e)
}

// add adds an operation of a client.
func (r *reader) add(e event) error {
	if e.line == 0 {
		e.line = uint32(r.s.Line(e.pos))
	}
	r.used[e.f] = true
	if n := len(r.events); n == cap(r.events) && n >= 1<<10 {
		r.events = slices.Grow(r.events, int(float64(n)*1.05*float64(r.size)/float64(max(e.pos, 1)))-n+1<<10)
	}
	r.events = append(r.events, e)
	return nil
}

// process reads the process of an operation; false if it is no client.
func (r *reader) process(e *event, t edn.Token) (client bool, err error) {
	switch t.Kind {
	case edn.Int:
		e.process, e.named = t.N, false
		return true, nil
	case edn.Nil:
		e.process, e.named = noProcess, false
		return true, nil
	case edn.Word, edn.Text:
		if strings.HasPrefix(string(t.Text), "nemesis") {
			return false, nil
		}
		id, known := r.names[string(t.Text)]
		if !known {
			id = int64(len(r.names))
			r.names[string(t.Text)] = id
		}
		e.process, e.named = id, true
		return true, nil
	}
	return false, r.s.Errorf(t.Pos, "process", "found %v; expected an integer or a name", t)
}

// nameProcesses gives processes with names numbers below zero that no other has.
func (r *reader) nameProcesses() {
	if len(r.names) == 0 {
		return
	}
	least := int64(0)
	for i := range r.events {
		if e := &r.events[i]; !e.named && e.process != noProcess {
			least = min(least, e.process)
		}
	}
	least = max(least, history.NoTime+1+int64(len(r.names)))
	for i := range r.events {
		if e := &r.events[i]; e.named {
			e.process = least - 1 - e.process
		}
	}
}

func (r *reader) function(e *event, t edn.Token) error {
	switch f, known := fnNamed(t.Text); {
	case t.Kind == edn.Nil:
	case t.Kind != edn.Word && t.Kind != edn.Text:
		return r.s.Errorf(t.Pos, "f", "found %v; expected a keyword", t)
	case known:
		e.f = f
	default:
		if e.f = otherFn; r.other == "" {
			r.other = t.String()
		}
	}
	return nil
}

func (r *reader) kind(t edn.Token) (kind, error) {
	if t.Kind == edn.Word || t.Kind == edn.Text {
		if k, is := kindNamed(t.Text); is {
			return k, nil
		}
	}
	return 0, r.s.Errorf(t.Pos, "type", "found %v; expected invoke, ok, fail or info", t)
}

// instant reads a time: nanoseconds; a number with a fraction, which is seconds; or a date, as RFC 3339 has it. nil is
// none. A file has one kind.
func (r *reader) instant() (ns int64, err error) {
	t, err := r.s.Next()
	if err != nil || t.Kind == edn.Nil {
		return history.NoTime, err
	}
	wrong := func() error {
		return r.s.Errorf(t.Pos, "time", "found %v; expected an integer (nanoseconds), a number of seconds with a "+
			"fraction, or a date such as 2020-01-02T03:04:05Z", t)
	}
	switch t.Kind {
	case edn.Int:
		ns = t.N
	case edn.Number:
		x, err := strconv.ParseFloat(strings.TrimSuffix(string(t.Text), "M"), 64)
		if err != nil || !(math.Abs(x) < 1<<63/1e9) { // NaN too
			return 0, wrong()
		}
		ns = int64(math.Round(x * 1e9))
	case edn.Text:
		at, err := time.Parse(time.RFC3339Nano, string(t.Text))
		if ns = at.UnixNano(); err != nil || !time.Unix(0, ns).Equal(at) {
			return 0, wrong()
		}
	default:
		return 0, wrong()
	}
	switch {
	case r.timeLine == 0:
		r.timeKind, r.timeLine = t.Kind, r.s.Line(t.Pos)
	case r.timeKind != t.Kind:
		return 0, r.s.Errorf(t.Pos, "time", "found %v, a time of another kind than the one at line %d; expected all "+
			"integers, all numbers with a fraction, or all dates", t, r.timeLine)
	}
	return ns, nil
}

// integer reads an index or a timestamp; nil is none.
func (r *reader) integer(field string) (int64, error) {
	t, err := r.s.Next()
	switch {
	case err != nil:
		return 0, err
	case t.Kind == edn.Int:
		return t.N, nil
	case t.Kind == edn.Nil:
		return history.NoTime, nil
	}
	return 0, r.s.Errorf(t.Pos, field, "found %v; expected an integer", t)
}
