package jsonl

import (
	"strconv"

	"isovet/history"
)

// scalar reads null, an integer, a string or a boolean. others names further kinds that the place allows, for messages.
func (t *tolerant) scalar(others string) (history.Value, bool) {
	switch c := t.peek(); {
	case c == '"':
		keep := len(t.strs)
		s, ok := t.str()
		t.strs = t.strs[:keep]
		if !ok {
			return history.Value{}, false
		}
		return t.p.b.StringValue(s), true
	case c == 'n':
		return history.Value{}, t.literal("null")
	case c == 't':
		return history.BoolValue(true), t.literal("true")
	case c == 'f':
		return history.BoolValue(false), t.literal("false")
	case c == '-' || c >= '0' && c <= '9':
		n, ok := t.int()
		return history.IntValue(n), ok
	}
	return history.Value{}, t.wrong("null, an integer, a string, a boolean" + others)
}

// value reads a value: a scalar or a row.
func (t *tolerant) value() (history.Value, bool) {
	if t.peek() == '{' {
		if end := plainRow(t.b, t.i, len(t.b)-scanMargin); end > 0 {
			row := t.b[t.i:end]
			t.i = end
			return t.p.b.RowValue(row), true
		}
		return t.row()
	}
	return t.scalar(" or a row (an object)")
}

// row reads a row and makes it canonical: columns sorted by their bytes, no white space, only needed escapes.
func (t *tolerant) row() (history.Value, bool) {
	keep := len(t.strs)
	defer func() { t.strs = t.strs[:keep] }()
	t.cols = t.cols[:0]
	t.i++
	for first := true; ; first = false {
		c := t.peek()
		if c == '}' && first {
			t.i++
			break
		}
		if c != '"' {
			return history.Value{}, t.syntax(`a column's name: '"'`)
		}
		var col column
		at := len(t.strs)
		name, ok := t.str()
		if !ok {
			return history.Value{}, false
		}
		// A name with escapes stands at the end of strs already.
		if len(t.strs) == at {
			t.strs = append(t.strs, name...)
		}
		col.name, col.end = at, len(t.strs)
		if t.peek() != ':' {
			return history.Value{}, t.syntax("':'")
		}
		t.i++
		t.path = append(t.path, step{name: t.strs[col.name:col.end:col.end]})
		if c = t.peek(); c == '{' || c == '[' {
			return history.Value{}, t.wrong("a column's value: null, an integer, a string or a boolean")
		}
		col.val = len(t.strs)
		if !t.canonicalScalar() {
			return history.Value{}, false
		}
		t.path = t.path[:len(t.path)-1]
		col.valEnd = len(t.strs)
		t.cols = append(t.cols, col)
		c = t.peek()
		t.i++
		if c == '}' {
			break
		}
		if c != ',' {
			t.i--
			return history.Value{}, t.syntax("',' or '}'")
		}
	}
	if i := t.sortColumns(); i >= 0 {
		return history.Value{}, t.fail("column %s of a row is given twice; expected each once",
			clip(t.strs[t.cols[i].name:t.cols[i].end]))
	}
	from := len(t.strs)
	t.strs = append(t.strs, '{')
	for i, col := range t.cols {
		if i > 0 {
			t.strs = append(t.strs, ',')
		}
		t.strs = history.AppendJSONString(t.strs, string(t.strs[col.name:col.end]))
		t.strs = append(t.strs, ':')
		t.strs = append(t.strs, t.strs[col.val:col.valEnd]...)
	}
	t.strs = append(t.strs, '}')
	return t.p.b.RowValue(t.strs[from:]), true
}

// canonicalScalar reads a scalar and appends its canonical JSON to strs.
func (t *tolerant) canonicalScalar() bool {
	switch c := t.peek(); {
	case c == '"':
		at := len(t.strs)
		s, ok := t.str()
		if !ok {
			return false
		}
		t.strs = history.AppendJSONString(t.strs[:at], string(s))
		return true
	case c == '-' || c >= '0' && c <= '9':
		n, ok := t.int()
		t.strs = strconv.AppendInt(t.strs, n, 10)
		return ok
	}
	v, ok := t.scalar("")
	t.strs = t.p.b.Texts.AppendValue(t.strs, v)
	return ok
}

func (t *tolerant) keyValue() (history.Value, bool) {
	switch c := t.peek(); {
	case c == '"':
		return t.scalar("")
	case c == '-' || c >= '0' && c <= '9':
		return t.scalar("")
	}
	return history.Value{}, t.wrong("a key: a string or an integer")
}

// partAt reads and adds the operation at data[i], or only reads the predicate there into t.pred, and returns the
// position behind it. It returns 0 at an error: the line must then be read from its beginning to get the right message.
func (t *tolerant) partAt(data []byte, i int, predicate bool) int {
	t.b, t.i, t.err, t.field, t.path = data, i, nil, "ops", append(t.path[:0], step{})
	t.strs, t.pred = t.strs[:0], t.pred[:0]
	if predicate && !t.predicate(0) || !predicate && !t.operation(true) {
		return 0
	}
	return t.i
}

// operation reads an operation and, if add, hands it to the builder.
func (t *tolerant) operation(add bool) bool {
	if t.peek() != '[' {
		return t.wrong(`an operation: an array ["r", key, value]`)
	}
	var o opReader
	o.start, o.end = history.NoTime, history.NoTime
	n, ok := t.array(func(i int) bool {
		t.at(1, i)
		return t.part(i, &o)
	})
	if !ok {
		return false
	}
	t.path = t.path[:1]
	switch {
	case n == 0:
		return t.fail(`an empty array; expected an operation: ["r", key, value]`)
	case n != 3 && n != 5:
		return t.fail("number of elements is %d; expected 3, or 5 with the operation's start and end times", n)
	case o.start != history.NoTime && o.end != history.NoTime && o.end < o.start:
		t.at(1, 4)
		return t.fail("the operation ends at %d, before its start at %d", o.end, o.start)
	}
	if !add {
		return true
	}
	b := t.p.b
	switch {
	case o.kind == history.PredRead || o.kind == history.PredWrite:
		b.Predicate(o.kind, t.pred, t.rows)
	case o.list:
		b.ReadList(b.Key(o.key), t.elems)
	default:
		b.Item(o.kind, b.Key(o.key), o.val)
	}
	if o.start != history.NoTime || o.end != history.NoTime {
		b.OpTimes(o.start, o.end)
	}
	return true
}

// opReader is the state of the operation being read.
type opReader struct {
	kind       history.OpKind
	key, val   history.Value
	list       bool
	start, end int64
}

// part reads element i of an operation.
func (t *tolerant) part(i int, o *opReader) bool {
	pred := o.kind == history.PredRead || o.kind == history.PredWrite
	var ok bool
	switch i {
	case 0:
		if t.peek() != '"' {
			return t.wrong(`the operation's kind: "r", "w", "a", "pr" or "pw"`)
		}
		s, ok := t.str()
		if !ok {
			return false
		}
		for k := history.Read; k <= history.PredWrite; k++ {
			if k.String() == string(s) {
				o.kind = k
				return true
			}
		}
		return t.fail(`unknown operation %s; expected "r", "w", "a", "pr" or "pw"`, clip(s))
	case 1:
		if pred {
			t.pred = t.pred[:0]
			return t.predicate(0)
		}
		o.key, ok = t.keyValue()
		return ok
	case 2:
		switch {
		case pred:
			return t.predRows(o.kind)
		case t.peek() == '[' && o.kind == history.Read:
			o.list = true
			return t.list()
		case o.kind == history.Append:
			if c := t.peek(); c == '{' || c == '[' {
				return t.wrong("an element: null, an integer, a string or a boolean")
			}
			o.val, ok = t.scalar("")
			return ok
		}
		o.val, ok = t.value()
		return ok
	case 3:
		o.start, ok = t.opTime()
		return ok
	case 4:
		o.end, ok = t.opTime()
		return ok
	}
	return t.skip(0) // too many: reported when they are counted
}

// opTime reads an operation's time; null: it is not known.
func (t *tolerant) opTime() (int64, bool) {
	if t.peek() == 'n' {
		return history.NoTime, t.literal("null")
	}
	n, ok := t.int()
	if ok && n == history.NoTime {
		return n, t.fail("integer %d is out of range; expected more than that", n)
	}
	return n, ok
}

func (t *tolerant) list() bool {
	t.elems = t.elems[:0]
	_, ok := t.array(func(i int) bool {
		t.at(2, i)
		if c := t.peek(); c == '{' || c == '[' {
			return t.wrong("an element: null, an integer, a string or a boolean")
		}
		v, ok := t.scalar("")
		t.elems = append(t.elems, v)
		return ok
	})
	return ok
}

func (t *tolerant) predRows(kind history.OpKind) bool {
	t.rows = t.rows[:0]
	form, most := "[key, value]", 2
	if kind == history.PredWrite {
		form, most = "[key, old, new] or [key, new]", 3
	}
	if t.peek() != '[' {
		return t.wrong("an array of rows " + form)
	}
	_, ok := t.array(func(i int) bool {
		t.at(2, i)
		if t.peek() != '[' {
			return t.wrong("a row " + form)
		}
		var key history.Value
		var vals [2]history.Value
		n, ok := t.array(func(j int) bool {
			t.at(3, j)
			var ok bool
			switch {
			case j == 0:
				key, ok = t.keyValue()
			case j < most:
				vals[j-1], ok = t.value()
			default:
				ok = t.skip(0)
			}
			return ok
		})
		if !ok {
			return false
		}
		t.path = t.path[:3]
		if n != 2 && n != most {
			return t.fail("number of elements is %d; expected %s", n, form)
		}
		r := history.PredRow{Key: t.p.b.Key(key), Old: vals[0]}
		if kind == history.PredWrite {
			r.New = vals[1]
			if n == 2 {
				r.OldUnknown, r.Old, r.New = true, history.Value{}, vals[0]
			}
		}
		t.rows = append(t.rows, r)
		return true
	})
	return ok
}
