package jsonl

import (
	"bytes"
	"strings"

	"isovet/history"
)

// Parts reads JSON from the columns of other formats: values, lists, predicates and their matched rows, written as in a
// line's operations. It is not safe for concurrent use.
type Parts struct {
	p   *parser
	buf []byte
}

// NewParts returns a reader of parts whose texts, keys and operations go to b.
func NewParts(b *history.Builder) *Parts {
	p := newParser("")
	p.b = b
	return &Parts{p: p}
}

// Reset switches to another builder.
func (x *Parts) Reset(b *history.Builder) { x.p.b = b }

// begin prepares a text for reading: it copies the text into one line, with room behind it for the scanner.
func (x *Parts) begin(field string, text []byte) {
	x.buf = append(append(x.buf[:0], text...), blanks[:]...)
	OneLine(x.buf[:len(text)])
	t := &x.p.tol
	t.b, t.i, t.err, t.field, t.path, t.strs = x.buf[:len(text)], 0, nil, field, t.path[:0], t.strs[:0]
}

// OneLine replaces the line feeds in a text of JSON, outside its strings, by blanks.
func OneLine(text []byte) {
	if bytes.IndexByte(text, '\n') < 0 {
		return
	}
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case c == '\n' && !inString:
			text[i] = ' '
		}
	}
}

// limit returns the index at which the scanner must stop.
func (x *Parts) limit() int { return len(x.buf) - scanMargin }

// rest checks that nothing follows the value read.
func (x *Parts) rest() bool {
	t := &x.p.tol
	t.path = t.path[:0]
	t.peek()
	return t.i == len(t.b) || t.syntax("the end")
}

// err returns the error of the last read. Its line is unknown; its field has the path into the text.
func (x *Parts) err(prefix string) error {
	e := x.p.tol.err
	e.Line, e.Off = 0, -1
	e.Field = strings.Replace(e.Field, prefix, "", 1)
	return e
}

// Value reads a scalar or a row; or, if list is true, the elements of a list, which are valid until the next call.
// field names the text in errors, which are *history.InputError.
func (x *Parts) Value(field string, text []byte) (v history.Value, elems []history.Value, list bool, err error) {
	x.begin(field, text)
	t := &x.p.tol
	if x.buf[0] == '{' && plainRow(x.buf, 0, x.limit()) == len(text) {
		return x.p.b.RowValue(text), nil, false, nil
	}
	if t.peek() == '[' {
		if i := x.p.scanInts(x.buf, t.i+1, x.limit()); i == x.limit() {
			return v, t.elems, true, nil
		}
		t.path = append(t.path, step{}, step{})
		if !t.list() || !x.rest() {
			return v, nil, true, x.err("[0][0]")
		}
		return v, t.elems, true, nil
	}
	v, ok := t.value()
	if !ok || !x.rest() {
		return v, nil, false, x.err("")
	}
	return v, nil, false, nil
}

// Predicate adds a predicate read or write to the builder: its condition, and the array of rows that it matched. Errors
// are *history.InputError in the field "predicate" or "rows"; then nothing has been added.
func (x *Parts) Predicate(kind history.OpKind, pred, rows []byte) error {
	x.begin("predicate", pred)
	t := &x.p.tol
	t.pred = t.pred[:0]
	if end := plainPredicate(x.buf, 0, x.limit()); end == len(pred) && end > 0 {
		t.pred = append(t.pred, pred...)
	} else if !t.predicate(0) || !x.rest() {
		return x.err("")
	}
	x.begin("rows", rows)
	plain := len(rows) > 1 && x.buf[0] == '[' && x.p.scanRows(x.buf, 1, x.limit(), kind) == len(rows)
	if !plain {
		t.path = append(t.path, step{}, step{})
		if !t.predRows(kind) || !x.rest() {
			return x.err("[0][0]")
		}
	}
	x.p.b.Predicate(kind, t.pred, t.rows)
	return nil
}
