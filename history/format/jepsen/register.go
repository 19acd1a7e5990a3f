package jepsen

import (
	"cmp"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/plural"
)

// form is a node of a value: a scalar, or a sequence of forms.
type form struct {
	pos   int
	value history.Value
	token edn.Kind
	found string // a description, if it is neither
	child int    // the first element's place
	next  int    // the next element's in the sequence around it; 0: none
	n     int    // elements; -1: it is no sequence
}

// deep bounds the nesting of values: [key [version [old new]]].
const deep = 3

// form reads the value that t begins into r.forms and returns its place.
func (r *reader) form(t edn.Token, depth int) (int, error) {
	at := len(r.forms)
	r.forms = append(r.forms, form{pos: t.Pos, token: t.Kind, n: -1})
	switch t.Kind {
	case edn.Int, edn.Nil, edn.Bool, edn.Word, edn.Text, edn.Number:
		v, err := r.scalar(t, "value")
		r.forms[at].value = v
		return at, err
	}
	if t.OpensMap() && depth < deep {
		if done, err := r.oldNew(at, depth); done || err != nil {
			return at, err
		}
	}
	if !t.Opens() || depth == deep {
		r.forms[at].found = t.String()
		return at, r.leave(t, nil)
	}
	n, last := 0, 0
	for {
		t, err := r.s.Next()
		if err != nil {
			return at, err
		}
		if t.Kind == edn.Close {
			break
		}
		if n++; n > deep {
			if err := r.s.SkipRest(t); err != nil {
				return at, err
			}
			continue
		}
		child, err := r.form(t, depth+1)
		if err != nil {
			return at, err
		}
		if n == 1 {
			r.forms[at].child = child
		} else {
			r.forms[last].next = child
		}
		last = child
	}
	r.forms[at].n = n
	return at, nil
}

// oldNew reads the map {:old o :new n}, behind its bracket, as the sequence [o n] into the form at a place. done is
// false, and nothing is read, if it is another map.
func (r *reader) oldNew(at, depth int) (done bool, err error) {
	forms := len(r.forms)
	var parts [2]int
	for range 2 {
		name, err := r.s.Next()
		if err != nil {
			return false, err
		}
		i := -1
		switch {
		case name.Is("old"), name.Is("from"):
			i = 0
		case name.Is("new"), name.Is("to"):
			i = 1
		}
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.Close || t.Kind == edn.Open || i < 0 || parts[i] != 0 {
			parts = [2]int{}
			break
		}
		if parts[i], err = r.form(t, depth+1); err != nil {
			return false, err
		}
	}
	if parts[0] > 0 && parts[1] > 0 {
		if t, err := r.s.Next(); err == nil && t.Kind == edn.Close {
			r.forms[at].n, r.forms[at].child, r.forms[parts[0]].next = 2, parts[0], parts[1]
			return true, nil
		}
	}
	r.forms = r.forms[:forms]
	r.s.Seek(r.forms[at].pos)
	_, err = r.s.Next() // its bracket
	return false, err
}

// elements returns the places of a sequence's elements, if it has n of them.
func (r *reader) elements(at, n int) (e [deep]int, ok bool) {
	if r.forms[at].n != n {
		return e, false
	}
	for i, c := 0, r.forms[at].child; i < n; i, c = i+1, r.forms[c].next {
		e[i] = c
	}
	return e, true
}

func (r *reader) isScalar(at int) bool { return r.forms[at].n < 0 && r.forms[at].found == "" }

// wrong returns an error about a value that is not the expected one.
func (r *reader) wrong(at int, expected string) error {
	f := &r.forms[at]
	switch {
	case f.found != "":
		return r.s.Errorf(f.pos, "value", "found %s; expected %s", f.found, expected)
	case f.n >= 0:
		return r.s.Errorf(f.pos, "value", "found a sequence of %s; expected %s", plural.Phrase(f.n, "value", "values"),
			expected)
	}
	return r.s.Errorf(f.pos, "value", "found %s; expected %s", r.b.Texts.AppendValue(nil, f.value), expected)
}

// oneFormAt is oneForm of a form.
func (r *reader) oneFormAt(at int, words *[]int) error {
	f := &r.forms[at]
	if f.value.Kind != history.String {
		return nil
	}
	text := r.b.Texts.Text(uint32(f.value.N))
	return r.oneForm(edn.Token{Kind: f.token, Pos: f.pos, Text: text}, "value", words)
}

// named returns the key that a field names, if the operation has one.
func (r *reader) named(e *event) (t edn.Token, has bool, err error) {
	if e.key < 0 {
		return t, false, nil
	}
	r.s.Seek(e.key)
	t, err = r.s.Next()
	return t, t.Kind != edn.Nil, err
}

// versioned reports whether the value of a write has a version: [key [version value]], or with a field key [version
// value].
func (r *reader) versioned(e *event) (bool, error) {
	back := r.s.Pos()
	defer r.s.Seek(back)
	_, keyed, err := r.named(e)
	if err != nil {
		return false, err
	}
	r.s.Seek(e.value)
	t, err := r.s.Next()
	if err != nil {
		return false, err
	}
	r.forms = r.forms[:0]
	at, err := r.form(t, 0)
	if err != nil {
		return false, err
	}
	pair, is := r.elements(at, 2)
	if keyed || !is {
		return keyed && is, nil
	}
	_, is = r.elements(pair[1], 2)
	return is, nil
}

// register adds an operation on the only register, or on one of several; v is the first token of its value.
func (r *reader) register(e *event, v edn.Token, status history.Status) (bool, error) {
	if e.f == readFn && status != history.Committed || e.f == casFn && status == history.Aborted {
		return false, nil
	}
	r.forms = r.forms[:0]
	at, err := r.form(v, 0)
	if err != nil {
		return false, err
	}
	name, keyed, err := r.named(e)
	if err != nil {
		return false, err
	}
	k := -1 // the form that is the key
	version := false
	var old int
	expected := "a value or [key value]"
	if e.f == casFn {
		old, at, k, version, expected = r.cas(at, keyed)
		if old < 0 {
			return false, r.wrong(at, expected)
		}
	} else if r.forms[at].n >= 0 {
		if keyed {
			expected = "a value or [version value]"
		}
		pair, is := r.elements(at, 2)
		if !is {
			return false, r.wrong(at, expected)
		}
		switch inner, nested := r.elements(pair[1], 2); {
		case keyed:
			at, version = pair[1], true
		case nested:
			k, at, version = pair[0], inner[1], true
		default:
			k, at = pair[0], pair[1]
		}
	}
	if !r.isScalar(at) {
		return false, r.wrong(at, expected)
	}
	x := r.forms[at].value
	if e.f == deleteFn && x.Kind != history.Null {
		return false, r.wrong(at, "nil or [key nil], since a delete leaves no value")
	}
	// A write of nil writes it, but an ok with nil may say nothing: see unsaid.
	null := e.f != casFn && e.f != deleteFn && x.Kind == history.Null && (e.f != writeFn ||
		status == history.Committed || e.value < 0)
	if null && (e.f == writeFn || r.nilMeans == "" || r.nilMeans == "unknown") {
		if e.f == readFn {
			r.unjudged(e.pos)
		}
		return false, nil
	}
	if keyed || k >= 0 {
		err = r.shaped(withKey, e)
	} else if !null || r.shape == withKey {
		err = r.shaped(alone, e)
	}
	if err != nil {
		return false, err
	}
	var key uint32
	switch {
	case keyed:
		if err = r.oneForm(name, "key", &r.keyWords); err == nil {
			key, err = r.key(name)
		}
	case k >= 0:
		if f := &r.forms[k]; f.token != edn.Int && f.token != edn.Word && f.token != edn.Text && f.token != edn.Number {
			return false, r.wrong(k, "a key: a number or a word")
		}
		key, err = r.b.Key(r.forms[k].value), r.oneFormAt(k, &r.keyWords)
	default:
		key = r.b.Key(r.b.StringValue([]byte("register")))
	}
	if e.f == casFn {
		err = cmp.Or(err, r.oneFormAt(old, &r.values))
	}
	if err = cmp.Or(err, r.oneFormAt(at, &r.values)); err != nil {
		return false, err
	}
	if version {
		r.versions++
	}
	switch e.f {
	case casFn:
		r.b.Meta.Single = true
		r.b.Read(key, r.forms[old].value)
		r.b.Write(key, x)
	case writeFn, deleteFn:
		r.b.Write(key, x)
	default:
		r.b.Read(key, x)
	}
	return true, nil
}

// cas finds the parts of a compare-and-set: [old new], [key [old new]], [key old new] or, with versions, [key [version
// [old new]]] and, where a field names the key, [version [old new]]. old is -1 if it is none of them; new is then the
// wrong form.
func (r *reader) cas(at int, keyed bool) (old, new, key int, version bool, expected string) {
	expected = "[old new] or [key [old new]]"
	if keyed {
		expected = "[old new]"
	}
	if three, is := r.elements(at, 3); is && !keyed && r.isScalar(three[0]) && r.isScalar(three[1]) &&
		r.isScalar(three[2]) {
		return three[1], three[2], three[0], false, expected
	}
	pair, is := r.elements(at, 2)
	if !is || !r.isScalar(pair[0]) {
		return -1, at, -1, false, expected
	}
	if r.isScalar(pair[1]) {
		return pair[0], pair[1], -1, false, expected
	}
	inner, is := r.elements(pair[1], 2)
	switch {
	case !is || !r.isScalar(inner[0]):
		return -1, pair[1], -1, false, "[old new]"
	case keyed:
		return inner[0], inner[1], -1, true, expected
	case r.isScalar(inner[1]):
		return inner[0], inner[1], pair[0], false, expected
	}
	last, is := r.elements(inner[1], 2)
	if !is || !r.isScalar(last[0]) {
		return -1, inner[1], -1, false, "[old new]"
	}
	return last[0], last[1], pair[0], true, expected
}

// mutex adds an operation on a lock: a register that is 0, then 1, then 0 again. v is the first token of its value;
// only a key in it matters: [key …].
func (r *reader) mutex(e *event, v edn.Token, status history.Status) (bool, error) {
	if status == history.Aborted {
		return false, nil
	}
	name := []byte("lock")
	r.forms = r.forms[:0]
	at, err := r.form(v, 0)
	if err != nil {
		return false, err
	}
	if pair, is := r.elements(at, 2); is && r.isScalar(pair[0]) && r.forms[pair[0]].token != edn.Nil {
		name, err = r.b.Texts.AppendValue(append(name, ' '), r.forms[pair[0]].value), r.oneFormAt(pair[0], &r.keyWords)
	}
	t, keyed, wrong := r.named(e)
	if err = cmp.Or(err, wrong); err != nil {
		return false, err
	}
	if keyed {
		x, err := r.scalar(t, "key")
		if err = cmp.Or(err, r.oneForm(t, "key", &r.keyWords)); err != nil {
			return false, err
		}
		name = r.b.Texts.AppendValue(append(name, ' '), x)
	}
	k := r.b.Key(r.b.StringValue(name))
	before, after := history.IntValue(0), history.IntValue(1)
	if e.f == releaseFn {
		before, after = after, before
	}
	if !r.b.Meta.Single {
		r.b.Note(history.NoteInitial, 0, "acquire and release are judged as those of a mutex that is free at first; "+
			"--workload names another object")
	}
	r.b.Meta.Single = true
	r.b.Read(k, before)
	r.b.Write(k, after)
	return true, nil
}
