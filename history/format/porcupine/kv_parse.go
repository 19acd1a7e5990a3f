package porcupine

import (
	"bytes"

	"isovet/history"
	"isovet/history/format/edn"
)

// kvEvent has the fields of an event; a missing field has Kind EOF.
type kvEvent struct{ process, kind, f, key, value edn.Token }

func (r *kvReader) parse(data []byte, file string) error {
	s := edn.Scanner{Data: data, File: file}
	var e kvEvent
	for pos := int64(1); s.Peek() != 0; pos++ {
		e = kvEvent{}
		first := e.scan(&s)
		if err := s.Err(); err != nil {
			return err
		}
		if err := r.event(&s, &e, first, pos); err != nil {
			return err
		}
	}
	if s.End("events"); s.Err() == nil && len(r.counts) == 0 {
		return nothing(file, 1, nil, "events of a key-value store")
	}
	return s.Err()
}

// scan reads an event and returns where it begins.
func (e *kvEvent) scan(s *edn.Scanner) (at int) {
	at = s.Map("event")
	for name, ok := s.Field("event"); ok; name, ok = s.Field("event") {
		var to *edn.Token
		switch string(name) {
		case "process":
			to = &e.process
		case "type":
			to = &e.kind
		case "f":
			to = &e.f
		case "key":
			to = &e.key
		case "value":
			to = &e.value
		default:
			s.Pass()
			continue
		}
		*to = *s.Token()
		// A string with escapes has its text in the scanner, not in the file.
		if to.Kind == edn.Text && len(to.Text) > 0 && &to.Text[0] != &s.Data[to.Pos+1] {
			to.Text = bytes.Clone(to.Text)
		}
		s.PassRest(to)
	}
	return at
}

func (r *kvReader) event(s *edn.Scanner, e *kvEvent, first int, pos int64) error {
	wrong := func(t edn.Token, field, expected string) error {
		if t.Kind == edn.EOF {
			return s.Errorf(first, field, "missing; expected %s", expected)
		}
		return s.Errorf(t.Pos, field, "found %v; expected %s", t, expected)
	}
	switch {
	case e.process.Kind == edn.Word:
		return nil // a nemesis
	case e.process.Kind != edn.Int:
		return wrong(e.process, "process", "an integer")
	case !e.f.Is("get") && !e.f.Is("put") && !e.f.Is("append"):
		return wrong(e.f, "f", ":get, :put or :append")
	case e.key.Kind != edn.Text:
		return wrong(e.key, "key", "a string")
	}
	f := e.f.Text[0]
	pending, busy := r.open.Get(e.process.N)
	switch {
	case e.kind.Is("invoke") && busy:
		return s.Errorf(e.process.Pos, "process", "process %d invokes while its operation of line %d is not completed",
			e.process.N, r.op(pending).line)
	case e.kind.Is("invoke"):
		if f != 'g' && (e.value.Kind != edn.Text || len(e.value.Text) == 0) {
			return wrong(e.value, "value", "the string that is written, not an empty one")
		}
		r.invoke(kvOp{start: pos, end: history.NoTime, line: uint32(s.Line(first)), process: e.process.N, f: f,
			status: history.Unknown}, e)
		return nil
	case !e.kind.Is("ok") && !e.kind.Is("fail") && !e.kind.Is("info"):
		return wrong(e.kind, "type", ":invoke, :ok, :fail or :info")
	case !busy || r.op(pending).f != f || r.key(e.key.Text) != r.op(pending).key:
		return wrong(e.kind, "type", ":invoke of the operation before its completion")
	}
	r.open.Delete(e.process.N)
	o := r.op(pending)
	switch e.kind.Text[0] {
	case 'o':
		o.end, o.status = pos, history.Committed
		if f == 'g' {
			if e.value.Kind != edn.Text {
				return wrong(e.value, "value", "the string that was there")
			}
			o.text = r.textOf(&e.value)
		} else if e.value.Kind == edn.Text && !bytes.Equal(e.value.Text, r.text(o.text)) {
			return s.Errorf(e.value.Pos, "value", "found %v; expected what line %d invoked", e.value, o.line)
		}
	case 'f':
		o.end, o.status = pos, history.Aborted
	}
	return nil
}

func (r *kvReader) invoke(o kvOp, e *kvEvent) {
	o.key = r.key(e.key.Text)
	r.counts[o.key]++
	if o.f != 'g' {
		o.text = r.textOf(&e.value)
		for bytes.Contains(e.value.Text, r.mark) {
			r.mark = append(r.mark, '@')
		}
	}
	r.open.Set(o.process, uint32(r.count))
	if r.count%kvChunk == 0 {
		r.ops = append(r.ops, make([]kvOp, 0, kvChunk))
	}
	last := &r.ops[len(r.ops)-1]
	*last = append(*last, o)
	r.count++
}

// textOf keeps the text of a string.
func (r *kvReader) textOf(t *edn.Token) kvText {
	if at := t.Pos + 1; len(t.Text) == 0 || &t.Text[0] == &r.data[at] {
		return kvText{at: int64(at), size: uint32(len(t.Text))}
	}
	r.escaped = append(r.escaped, t.Text)
	return kvText{at: -int64(len(r.escaped)), size: uint32(len(t.Text))}
}

// key returns the key of a name, and adds it if it is new.
func (r *kvReader) key(text []byte) int32 {
	key := int32(r.names.Key(r.b, text))
	if int(key) == len(r.counts) {
		r.counts = append(r.counts, 0)
	}
	return key
}
