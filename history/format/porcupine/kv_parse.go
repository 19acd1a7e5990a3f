package porcupine

import (
	"bytes"

	"isovet/history"
	"isovet/history/format/edn"
)

// kvEvent is the fields of an event; Kind EOF: a field is missing.
type kvEvent struct{ process, kind, f, key, value edn.Token }

// parse reads the events.
func (r *kvReader) parse(data []byte, file string) error {
	s := edn.Scanner{Data: data, File: file}
	for pos := int64(1); ; pos++ {
		var e kvEvent
		first := 0
		p := s.Plain()
		if p.Peek(); !r.slow {
			first = p.Pos()
		}
		if !r.slow && e.plain(&p) {
			s.Went(&p)
		} else {
			t, err := s.Next()
			if err != nil {
				return err
			}
			if t.Kind == edn.EOF {
				if len(r.keys) == 0 {
					return nothing(file, 1, nil, "events of a key-value store")
				}
				return nil
			}
			e, first = kvEvent{}, t.Pos
			if err := e.scan(&s, t); err != nil {
				return err
			}
		}
		if err := r.event(&s, &e, first, pos); err != nil {
			return err
		}
	}
}

// plain reads an event that is plain, see edn.Plain.
func (e *kvEvent) plain(p *edn.Plain) bool {
	if !p.Take('{') {
		return false
	}
	for !p.Take('}') {
		name, ok := p.Word()
		if !ok {
			return false
		}
		var t *edn.Token
		switch string(name) {
		case "process":
			t = &e.process
		case "type":
			t = &e.kind
		case "f":
			t = &e.f
		case "key":
			t = &e.key
		case "value":
			t = &e.value
		default:
			if !p.Skip() {
				return false
			}
			continue
		}
		switch c := p.Peek(); {
		case c == '"':
			t.Kind = edn.Text
			t.Pos = p.Pos()
			t.Text, ok = p.Text()
		case c == ':':
			t.Kind = edn.Word
			t.Pos = p.Pos()
			t.Text, ok = p.Word()
		case c == 'n':
			t.Kind = edn.Nil
			t.Pos = p.Pos()
			ok = p.Nil()
		default:
			t.Kind = edn.Int
			t.Pos = p.Pos()
			t.N, ok = p.Int()
		}
		if !ok {
			return false
		}
	}
	return true
}

// scan reads an event whose bracket is t.
func (e *kvEvent) scan(s *edn.Scanner, t edn.Token) error {
	return s.Fields(t, "event", func(name edn.Token) error {
		field := string(name.Text)
		t, err := s.Next()
		if err != nil {
			return err
		}
		// The text of a string with escapes is the scanner's own.
		if t.Kind == edn.Text && len(t.Text) > 0 && &t.Text[0] != &s.Data[t.Pos+1] {
			t.Text = bytes.Clone(t.Text)
		}
		switch field {
		case "process":
			e.process = t
		case "type":
			e.kind = t
		case "f":
			e.f = t
		case "key":
			e.key = t
		case "value":
			e.value = t
		}
		if t.Kind != edn.Open && t.Kind != edn.Close && t.Kind != edn.EOF {
			return nil
		}
		return s.SkipRest(t)
	})
}

// event adds an event, which stands at first.
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
	pending, busy := r.pending(e.process.N)
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
	case !busy || r.op(pending).f != f || r.keys[r.op(pending).key].name != string(e.key.Text):
		return wrong(e.kind, "type", ":invoke of the operation before its completion")
	}
	r.begun(e.process.N, -1)
	o := r.op(pending)
	switch e.kind.Text[0] {
	case 'o':
		o.end, o.status = pos, history.Committed
		if f == 'g' {
			if e.value.Kind != edn.Text {
				return wrong(e.value, "value", "the string that was there")
			}
			o.text = e.value.Text
		}
	case 'f':
		o.end, o.status = pos, history.Aborted
	}
	return nil
}

// pending returns what a process has begun.
func (r *kvReader) pending(process int64) (op int32, busy bool) {
	if uint64(process) < uint64(len(r.few)) {
		op = r.few[process]
	} else if len(r.more) > 0 {
		op = r.more[process]
	}
	return op - 1, op > 0
}

// begun notes what a process has begun; -1: nothing.
func (r *kvReader) begun(process int64, op int32) {
	const few = 1 << 16
	if uint64(process) >= few {
		r.more[process] = op + 1
		return
	}
	for int64(len(r.few)) <= process {
		r.few = append(r.few, 0)
	}
	r.few[process] = op + 1
}

// invoke adds an operation.
func (r *kvReader) invoke(o kvOp, e *kvEvent) {
	name := r.b.Text(e.key.Text)
	for int(name) >= len(r.keyOf) {
		r.keyOf = append(r.keyOf, 0)
	}
	if r.keyOf[name] == 0 {
		id := r.b.Key(history.Value{Kind: history.String, N: int64(name)})
		r.keys = append(r.keys, &kvKey{id: int32(id), name: string(e.key.Text)})
		r.keyOf[name] = int32(id) + 1
	}
	o.key = r.keyOf[name] - 1
	k := r.keys[o.key]
	k.count++
	if o.f != 'g' {
		o.text = e.value.Text
		o.token = r.use(k, o.text)
	}
	r.begun(o.process, int32(r.count))
	if r.count%kvChunk == 0 {
		r.ops = append(r.ops, make([]kvOp, 0, kvChunk))
	}
	last := &r.ops[len(r.ops)-1]
	*last = append(*last, o)
	r.count++
}

// use returns which token of a key a text is that is put or appended.
func (r *kvReader) use(k *kvKey, text []byte) (token int32) {
	name := r.b.Text(text)
	token, ok := r.find(k, name)
	if ok {
		return token
	}
	for bytes.Contains(text, r.mark) {
		r.mark = append(r.mark, '@')
	}
	token = int32(len(k.tokens))
	k.tokens = append(k.tokens, kvToken{name: name})
	if r.token[name].key < 0 {
		r.token[name] = kvPlace{k.id, token}
	} else {
		r.others[kvPlace{k.id, int32(name)}] = token
	}
	// Where all tokens end with the same byte, which stands nowhere else in them, that byte parts them.
	end := text[len(text)-1]
	if !k.mixed {
		was := r.b.Texts.Text(k.tokens[0].name)
		k.mixed = bytes.IndexByte(text, end) < len(text)-1 || was[len(was)-1] != end
	}
	return token
}

// find finds the token of a key that a text is.
func (r *kvReader) find(k *kvKey, name uint32) (token int32, ok bool) {
	for int(name) >= len(r.token) {
		r.token = append(r.token, kvPlace{key: -1})
	}
	at := r.token[name]
	if at.key == k.id {
		return at.at, true
	}
	if at.key < 0 || len(r.others) == 0 {
		return 0, false
	}
	token, ok = r.others[kvPlace{k.id, int32(name)}]
	return token, ok
}
