package jepsen

import (
	"isovet/history"
	"isovet/history/format/edn"
)

// The functions of this file use edn.Plain to read the usual output of Jepsen and similar tools: maps of plain fields,
// and micro-operations and registers of integers. Each reports whether the text was plain. If not, it has changed
// nothing, and its general counterpart must read the same place.

// plainEvent reads an operation that is a map; t is its bracket.
func (r *reader) plainEvent(t edn.Token) (done bool, err error) {
	p := r.s.Plain()
	e := newEvent(t.Pos)
	typed := false
	for {
		name, ok := p.Field()
		if !ok {
			if p.Take('}') {
				break
			}
			if name, ok = p.Word(); !ok {
				return false, nil
			}
		}
		switch string(name) {
		case "type":
			typed = true
			var k []byte
			if k, ok = p.Word(); ok {
				e.kind, ok = kindNamed(k)
			}
		case "process":
			e.process, ok = plainInteger(&p)
		case "f":
			if p.Nil() {
				break
			}
			var f []byte
			if f, ok = p.Word(); ok {
				if e.f, ok = fnNamed(f); !ok {
					return false, nil
				}
			}
		case "value":
			e.value = p.Pos()
			ok = p.Skip()
		case "key":
			e.key = p.Pos()
			ok = p.Skip()
		case "time":
			if e.time, ok = plainInteger(&p); ok && e.time != history.NoTime {
				if r.timeLine == 0 {
					r.timeKind, r.timeLine = edn.Int, r.s.Line(p.Pos()-1)
				}
				ok = r.timeKind == edn.Int
			}
		case "index":
			e.index, ok = plainInteger(&p)
		case "start-timestamp":
			e.start, ok = plainInteger(&p)
		case "commit-timestamp":
			e.end, ok = plainInteger(&p)
		case "client", "history":
			return false, nil
		default:
			ok = p.Skip()
		}
		if !ok {
			return false, nil
		}
	}
	if !typed {
		return false, nil
	}
	r.s.WentOut(&p)
	return true, r.add(e)
}

// plainInteger reads an integer, or nil for none.
func plainInteger(p *edn.Plain) (int64, bool) {
	if p.Peek() == 'n' {
		return history.NoTime, p.Nil()
	}
	return p.Int()
}

func kindNamed(name []byte) (kind, bool) {
	switch string(name) {
	case "invoke":
		return invoke, true
	case "ok":
		return ok, true
	case "fail":
		return fail, true
	case "info":
		return info, true
	}
	return 0, false
}

// plainMicro reports whether the value at a place begins with a micro-operation.
func (r *reader) plainMicro(at int) bool {
	p := r.plainAt(at)
	for range 2 {
		if !p.Take('[') {
			return false
		}
	}
	_, ok := microNamed(&p)
	return ok
}

func (r *reader) plainAt(at int) edn.Plain {
	p := edn.NewPlain(r.s.Data, r.s.JSON)
	p.Back(at)
	return p
}

// microNamed reads a micro-operation's name: 'r', 'w' or 'a'.
func microNamed(p *edn.Plain) (byte, bool) {
	f, ok := p.Word()
	if !ok {
		return 0, false
	}
	switch string(f) {
	case "r", "read":
		return 'r', true
	case "w", "write":
		return 'w', true
	case "append":
		return 'a', true
	}
	return 0, false
}

// plainMicroOps adds micro-operations as long as they are plain, and leaves the scanner behind the last of them. any
// reports whether it added an operation.
func (r *reader) plainMicroOps(status history.Status) (any bool) {
	p := r.s.Plain()
	for {
		f, ok := p.Micro()
		if !ok {
			if !p.Take('[') {
				return any
			}
			if f, ok = microNamed(&p); !ok {
				return any
			}
		}
		k, ok := p.Int()
		if !ok {
			return any
		}
		var v history.Value
		switch {
		case f != 'r':
			n, ok := p.Int()
			if !ok || !p.Take(']') {
				return any
			}
			key := r.b.Key(history.IntValue(k))
			r.did = append(r.did, did{f, k, n})
			if any = true; f == 'a' {
				r.b.Append(key, history.IntValue(n))
			} else {
				r.b.Write(key, history.IntValue(n))
			}
		case status != history.Committed:
			if !p.Skip() || !p.Take(']') {
				return any
			}
			r.b.Key(history.IntValue(k)) // keys are numbered in the order of their first use
			r.did = append(r.did, did{f: 'r', key: k})
		case r.model == listModel:
			if r.nilMeans == "unknown" && p.Peek() == 'n' || !r.plainList(&p, k) {
				return any
			}
			any = true
			r.did = append(r.did, did{f: 'r', key: k})
		default:
			if p.Peek() == 'n' {
				if r.nilMeans == "unknown" || !p.Nil() {
					return any
				}
			} else {
				n, ok := p.Int()
				if !ok {
					return any
				}
				v = history.IntValue(n)
			}
			if !p.Take(']') {
				return any
			}
			r.b.Read(r.b.Key(history.IntValue(k)), v)
			any = true
			r.did = append(r.did, did{f: 'r', key: k})
		}
		r.s.Went(&p)
	}
}

// plainList adds the read of a list of integers, up to the end of the micro-operation.
func (r *reader) plainList(p *edn.Plain, k int64) (ok bool) {
	r.elems = r.elems[:0]
	if p.Peek() == 'n' {
		if !p.Nil() || !p.Take(']') {
			return false
		}
		key := r.b.Key(history.IntValue(k))
		r.said(key).to = 0
		r.b.ReadList(key, nil)
		return true
	}
	if !p.Take('[') {
		return false
	}
	key := r.b.Key(history.IntValue(k))
	said := r.said(key)
	from, more := p.Pos(), false
	if said.to > said.from && p.Begins(r.s.Data[said.from:said.to]) {
		p.Back(from + said.to - said.from)
		more = true
	}
	if r.elems, ok = p.Ints(r.elems); !ok {
		return false
	}
	to := p.Pos() - 1
	if !p.Take(']') {
		return false
	}
	if said.from, said.to = from, to; more {
		r.b.ReadListMore(key, r.elems)
	} else {
		r.b.ReadList(key, r.elems)
	}
	return true
}

// saidList is the place in the file of the list that was read last of a key; to is 0 if it was not plain.
type saidList struct{ from, to int }

func (r *reader) said(key uint32) *saidList {
	if int(key) >= len(r.lists) {
		r.lists = append(r.lists, make([]saidList, int(key)+1+len(r.lists)/2-len(r.lists))...)
	}
	return &r.lists[key]
}

// simple is a plain value of a register: nil, an integer, or a pair of an integer with nil or an integer.
type simple struct {
	pair, null bool
	key, n     int64
}

// simple reads the value at a place.
func (r *reader) simple(at int) (v simple, ok bool) {
	p := r.plainAt(at)
	if c := p.Peek(); c == '[' {
		p.Take('[')
		v.pair = true
		if v.key, ok = p.Int(); !ok {
			return v, false
		}
	}
	if p.Peek() == 'n' {
		v.null, ok = true, p.Nil()
	} else {
		v.n, ok = p.Int()
	}
	return v, ok && (!v.pair || p.Take(']'))
}

// simpleRegister adds a read or a write of a register with a simple value; done is false if it is something else.
func (r *reader) simpleRegister(e *event, status history.Status) (done, any bool, err error) {
	if e.f != readFn && e.f != writeFn || r.model != registers || e.key >= 0 || e.value < 0 {
		return false, false, nil
	}
	v, ok := r.simple(e.value)
	if !ok || v.null {
		return false, false, nil
	}
	if e.f == readFn && status != history.Committed {
		return true, false, nil
	}
	s := alone
	if v.pair {
		s = withKey
	}
	if err := r.shaped(s, e); err != nil {
		return false, false, err
	}
	var key uint32
	if v.pair {
		key = r.b.Key(history.IntValue(v.key))
	} else {
		key = r.b.Key(r.b.StringValue([]byte("register")))
	}
	if e.f == writeFn {
		r.b.Write(key, history.IntValue(v.n))
	} else {
		r.b.Read(key, history.IntValue(v.n))
	}
	return true, true, nil
}
