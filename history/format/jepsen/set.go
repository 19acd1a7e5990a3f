package jepsen

import (
	"bytes"
	"cmp"
	"strconv"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/pattern"
)

// set adds an operation on a set: an element is a key. Of independent sets the keys are texts, "set element".
func (r *reader) set(e *event, v edn.Token, status history.Status) (bool, error) {
	if e.f == readFn && status != history.Committed {
		return false, nil
	}
	t, keyed, err := r.named(e)
	if err != nil {
		return false, err
	}
	name := []byte(nil)
	if keyed {
		if t.Kind == edn.Open || t.Kind == edn.Close {
			return false, r.s.Errorf(t.Pos, "key", "found %v; expected a number or a word", t)
		}
		if err := r.oneForm(t, "key", &r.keyWords); err != nil {
			return false, err
		}
		name = append(spelled(nil, t), ' ')
		r.s.Seek(v.Pos)
		if v, err = r.s.Next(); err != nil {
			return false, err
		}
	}
	pair := false // [key value]
	if v.Opens() && !keyed {
		if name, v, err = r.pairOf(e, v); err != nil {
			return false, err
		}
		pair = name != nil
	}
	if e.f != readFn || v.Kind == edn.Open {
		s := alone
		if name != nil {
			s = withKey
		}
		if err := r.shaped(s, e); err != nil {
			return false, err
		}
	}
	key := func(t edn.Token) (uint32, error) {
		if name == nil {
			return r.key(t)
		}
		if t.Kind == edn.Open {
			return 0, r.s.Errorf(t.Pos, "value", "found %v; expected an element: a number or a word", t)
		}
		r.buf = spelled(append(r.buf[:0], name...), t)
		return r.b.Key(r.b.StringValue(r.buf)), nil
	}
	if e.f != readFn {
		if v.Kind == edn.Nil {
			return false, nil
		}
		k, err := key(v)
		if err = cmp.Or(err, r.oneForm(v, "value", &r.values), r.ends(pair)); err != nil {
			return false, err
		}
		r.b.Write(k, history.IntValue(1))
		return true, nil
	}
	r.rows = r.rows[:0]
	if v.Kind != edn.Open && v.Kind != edn.Nil {
		return false, r.s.Errorf(v.Pos, "value", "found %v; expected a set", v)
	}
	if v.Kind == edn.Nil && (r.nilMeans == "" || r.nilMeans == "unknown") {
		r.unjudged(e.pos)
		return false, r.ends(pair)
	}
	r.reads++
	if v.Kind == edn.Open {
		if err := r.setElements(e, key); err != nil {
			return false, err
		}
	}
	if err := r.ends(pair); err != nil {
		return false, err
	}
	pred := []byte(`{}`)
	if name != nil {
		pred = append([]byte(`{"key":{">=":`), history.AppendJSONString(nil, string(name))...)
		pred = append(pred, `,"<":`...)
		pred = append(pred, history.AppendJSONString(nil, string(name[:len(name)-1])+"!")...)
		pred = append(pred, `}}`...)
	}
	r.b.Predicate(history.PredRead, pred, r.rows)
	return true, nil
}

// pairOf reads the key of an independent set's value [key value], which v opens. It returns the key as a name and the
// token of the value; if the value is no such pair, it returns no name, and v. Both a pair and a set that is written
// as a vector may begin with a scalar. So the second element decides: a pair of an add is always independent, a pair
// of a read only if its second element is a collection.
func (r *reader) pairOf(e *event, v edn.Token) (name []byte, value edn.Token, err error) {
	at := v.Pos
	first, err := r.s.Next()
	if err != nil {
		return nil, v, err
	}
	if first.Kind != edn.Close && first.Kind != edn.Open {
		kept := append(spelled(nil, first), ' ')
		first.Text = bytes.Clone(first.Text)
		second, err := r.s.Next()
		if err != nil {
			return nil, v, err
		}
		if e.f == addFn && second.Kind != edn.Close || second.Kind == edn.Open || second.Kind == edn.Nil {
			return kept, second, r.oneForm(first, "value", &r.keyWords)
		}
	}
	r.s.Seek(at)
	v, err = r.s.Next()
	return nil, v, err
}

// setElements reads the elements of a set up to its end, each once, as rows.
func (r *reader) setElements(e *event, key func(t edn.Token) (uint32, error)) error {
	for {
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.Close {
			return err
		}
		k, err := key(t)
		if err = cmp.Or(err, r.oneForm(t, "value", &r.values)); err != nil {
			return err
		}
		for int(k) >= len(r.mark) {
			r.mark = append(r.mark, 0)
		}
		if r.mark[k] == r.reads {
			if !r.used[addFn] {
				return r.s.Errorf(t.Pos, "value", "found %v twice in one read; expected a set (--workload dirty-reads "+
					"judges reads of all rows)", t)
			}
			if r.again++; r.again == 1 {
				r.againLine = e.line
			}
			continue
		}
		r.mark[k] = r.reads
		r.rows = append(r.rows, history.PredRow{Key: k, Old: history.IntValue(1)})
	}
}

// ends reads the end of [key value].
func (r *reader) ends(pair bool) error {
	if !pair {
		return nil
	}
	t, err := r.s.Next()
	if err == nil && t.Kind != edn.Close {
		err = r.s.Errorf(t.Pos, "value", "found %v; expected the end of [key value]", t)
	}
	return err
}

// spelled appends the text of a scalar. Different ones have different texts, and none has a blank outside of quotes.
func spelled(dst []byte, t edn.Token) []byte {
	switch {
	case t.Kind == edn.Int:
		return strconv.AppendInt(dst, t.N, 10)
	case t.Kind == edn.Number || simpleWord().Match(t.Text):
		return append(dst, t.Text...)
	}
	return strconv.AppendQuote(dst, string(t.Text))
}

var simpleWord = pattern.Lazy(`^[A-Za-z_][\w.:/*!?-]*$`)
