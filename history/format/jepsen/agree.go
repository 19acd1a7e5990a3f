package jepsen

import (
	"bytes"
	"slices"

	"isovet/history/format/edn"
)

// did is a micro-operation of integers that was read last: 'r', 'w' or 'a', its key and its value.
type did struct {
	f      byte
	key, n int64
}

// agrees returns an error if an ok completion does something else than its invocation: another function, key,
// micro-operation or written value. Only the completion says which values were read, and may fill in what the
// invocation left nil. unsaid handles a completion without content. Cost: linear in the invocation, or in both if they
// are not plain integers.
func (r *reader) agrees(asked, done *event) error {
	differs := func(does, asks string) error {
		return r.s.Errorf(done.pos, "value", "the completion %s, its invocation (line %d) %s; expected the "+
			"invoked operations, with the values of the reads", does, asked.line, asks)
	}
	if asked.f != noFn && done.f != noFn && asked.f != done.f {
		return differs("has another :f", "has not")
	}
	if asked.key >= 0 && done.key >= 0 {
		a, b := r.span(asked.key), r.span(done.key)
		if string(a) != "nil" && string(a) != "null" && !r.same(a, b) {
			return differs("has the key "+short(b), "the key "+short(a))
		}
	}
	if asked.value < 0 || done.value < 0 || len(r.did) > 0 && r.didAll(asked.value) {
		return nil
	}
	a, b := asked.value, done.value
	if v, ok := r.simple(a); ok && r.plain {
		w, ok := r.simple(b)
		if ok && v.pair == w.pair && v.key == w.key && (asked.f == readFn || v.null || v.n == w.n && !w.null) {
			return nil
		}
	}
	inA, microA, err := r.microAt(a)
	if err != nil {
		return err
	}
	inB, microB, err := r.microAt(b)
	switch {
	case err != nil || microA != microB:
		return err // one without content, or of another shape
	case microA:
		if inA != a && inB != b {
			if x, y := r.first(a), r.first(b); !r.same(x, y) {
				return differs("has the key "+short(y), "the key "+short(x))
			}
		}
		return r.sameMicros(inA, inB, differs)
	}
	switch asked.f {
	case readFn, writeFn, casFn, deleteFn, addFn:
	default:
		return nil
	}
	r.forms = r.forms[:0]
	var at [2]int
	for i, pos := range []int{a, b} {
		r.s.Seek(pos)
		t, err := r.s.Next()
		if err != nil {
			return err
		}
		if at[i], err = r.form(t, 0); err != nil {
			return err
		}
	}
	if asked.f == readFn {
		p, isP := r.elements(at[0], 2)
		if q, isQ := r.elements(at[1], 2); !isP || !isQ || !r.isScalar(q[0]) || r.covers(p[0], q[0]) {
			return nil
		}
	} else if r.covers(at[0], at[1]) || asked.f != casFn && r.unsays(at[1]) {
		return nil
	}
	return differs("has "+short(r.span(b)), "has "+short(r.span(a)))
}

// unsays reports whether a form is nil, or a key and nil.
func (r *reader) unsays(at int) bool {
	if pair, is := r.elements(at, 2); is {
		at = pair[1]
	}
	return r.isScalar(at) && r.forms[at].token == edn.Nil
}

// didAll reports whether the micro-operations at a place equal those that were read last, except for the values read.
func (r *reader) didAll(at int) bool {
	p := r.plainAt(at)
	if !p.Take('[') {
		return false
	}
	for _, d := range r.did {
		f, ok := p.Micro()
		if !ok {
			if !p.Take('[') {
				return false
			}
			if f, ok = microNamed(&p); !ok {
				return false
			}
		}
		k, ok := p.Int()
		if !ok || f != d.f || k != d.key {
			return false
		}
		if f == 'r' {
			ok = p.Skip()
		} else {
			var n int64
			n, ok = p.Int()
			ok = ok && n == d.n
		}
		if !ok || !p.Take(']') {
			return false
		}
	}
	return p.Take(']')
}

// microText is the text of a micro-operation. value is nil if it has none.
type microText struct {
	f          byte
	key, value []byte
}

func (m *microText) String() string {
	switch {
	case m.f == 'r':
		return "reads key " + short(m.key)
	case m.f == 'a':
		return "appends " + short(m.value) + " to key " + short(m.key)
	}
	return "writes " + short(m.value) + " to key " + short(m.key)
}

// sameMicros is agrees for two sequences of micro-operations. Some clients execute them in another order and report
// that order. Then each key must have the same writes in the same order, and the same keys must be read.
func (r *reader) sameMicros(asked, done int, differs func(does, asks string) error) error {
	a, err := r.micros(asked)
	if err != nil {
		return err
	}
	b, err := r.micros(done)
	if err != nil {
		return err
	}
	taken := make([]bool, len(b))
	from := 0 // all before it are matched
	for i := range a {
		x := &a[i]
		j := -1
		for ; from < len(b) && taken[from]; from++ {
		}
		for k := from; k < len(b); k++ {
			if !taken[k] && b[k].f == x.f && r.same(x.key, b[k].key) {
				j = k
				break
			}
		}
		switch {
		case j < 0:
			return differs("lacks one", x.String())
		case x.f != 'r' && !none(x.value) && !r.same(x.value, b[j].value):
			return differs(b[j].String(), x.String())
		}
		taken[j] = true
	}
	if j := slices.Index(taken, false); j >= 0 {
		return differs(b[j].String(), "lacks that")
	}
	return nil
}

func none(text []byte) bool { return len(text) == 0 || string(text) == "nil" || string(text) == "null" }

// micros returns the micro-operations at a place.
func (r *reader) micros(at int) (all []microText, err error) {
	r.s.Seek(at)
	if _, err := r.s.Next(); err != nil {
		return nil, err
	}
	for {
		t, err := r.s.Next()
		if err != nil || !t.Opens() {
			return all, err
		}
		f, err := r.s.Next()
		if err != nil {
			return nil, err
		}
		m := microText{f: 'w'}
		switch {
		case isRead(f):
			m.f = 'r'
		case f.Is("append"):
			m.f = 'a'
		}
		for n := 0; ; n++ {
			from := r.s.Pos()
			if t, err = r.s.Next(); err != nil {
				return nil, err
			}
			if t.Kind == edn.Close {
				break
			}
			if err := r.s.SkipRest(t); err != nil {
				return nil, err
			}
			switch text := trimmed(r.s.Data[from:r.s.Pos()]); n {
			case 0:
				m.key = text
			case 1:
				m.value = text
			}
		}
		all = append(all, m)
	}
}

// trimmed returns a value's text without the white space, commas and colons around it.
func trimmed(text []byte) []byte { return bytes.Trim(text, " \t\r\n,:") }

// span returns the text of the value at a place.
func (r *reader) span(at int) []byte {
	r.s.Seek(at)
	if r.s.Skip() != nil {
		return nil
	}
	return trimmed(r.s.Data[at:r.s.Pos()])
}

// first returns the text of the first element of the sequence at a place.
func (r *reader) first(at int) []byte {
	r.s.Seek(at)
	if _, err := r.s.Next(); err != nil {
		return nil
	}
	return r.span(r.s.Pos())
}

// same reports whether two texts are the same value: equal texts, or equal scalars.
func (r *reader) same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	scalar := func(text []byte) (kind edn.Kind, n int64, s string) {
		one := edn.Scanner{Data: text, JSON: r.s.JSON}
		t, err := one.Next()
		if err != nil {
			return edn.EOF, 0, ""
		}
		if kind = t.Kind; kind == edn.Word {
			kind = edn.Text
		}
		return kind, t.N, string(t.Text)
	}
	ka, na, sa := scalar(a)
	kb, nb, sb := scalar(b)
	return ka == kb && ka != edn.Open && ka != edn.EOF && na == nb && sa == sb
}

// covers reports whether the completion's form equals the invocation's wherever the latter is not nil.
func (r *reader) covers(asked, done int) bool {
	a, b := r.forms[asked], r.forms[done]
	switch {
	case r.isScalar(asked) && a.token == edn.Nil, a.found != "" && b.found != "":
		return true
	case r.isScalar(asked) && r.isScalar(done):
		return a.value == b.value
	case a.n < 0 || a.n != b.n:
		return false
	}
	for i, x, y := 0, a.child, b.child; i < min(a.n, deep); i, x, y = i+1, r.forms[x].next, r.forms[y].next {
		if !r.covers(x, y) {
			return false
		}
	}
	return true
}

// short cuts a text for messages.
func short(text []byte) string {
	const most = 40
	if len(text) > most {
		return string(bytes.ToValidUTF8(text[:most], nil)) + "…"
	}
	return string(text)
}
