// Package viper reads the logs of Viper's clients: a folder with a file J<n>.log for each session, and in it a JSON
// object on each line for each committed transaction.
//
//	{"value": [["r", key, value, dead], ["w", key, value, ok], ["i", key, value, read, dead, ok], ["d", …], ["range",
//	from, to, [rows], [dead rows]]]}
//
// # Meaning
//
// Rows are never deleted: a delete writes a value that is marked dead, and a later read returns that value. So every
// version has its own value, and dead versions are normal versions here. i and d read the value before they write. ok
// false means that the write matched no row and did nothing. A range is a predicate read on the key. The log lacks
// initial values: the initial value of a key is the first value read that no transaction wrote. Four optional fields
// are the client's clock, in nanoseconds, around begin and commit. The transaction marked isInitial is the initial
// one, with its writes or the rows of its range; the one marked isFinal is a normal transaction without session.
//
// Experimental: this package may still change.
package viper

import (
	"bytes"
	"context"
	"math"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/history/format/logs"
	"isovet/internal/plural"
)

// Is reports whether the folder has such logs, and the first that is not empty holds objects. Empty logs with the right
// names count: Read says what is wrong with them.
func Is(dir string) bool {
	head, ok := logs.Head(dir, "J", 64)
	head = bytes.TrimSpace(head)
	return ok && (len(head) == 0 || head[0] == '{')
}

// reader fills a builder.
type reader struct {
	s       edn.Scanner
	b       *history.Builder
	before  bool // the transaction that is read is the initial one
	rows    []history.PredRow
	rowKeys []history.Value
	pred    []byte
}

// Read reads all logs of a folder as one history. Errors are *history.InputError with file and line. Cost: one pass
// over the bytes, and history.Builder.Build.
func Read(ctx context.Context, dir string) (*history.History, error) {
	files, err := logs.List(dir, "J")
	if err != nil {
		return nil, err
	}
	r := reader{b: history.NewBuilder()}
	r.b.File, r.b.FirstReads = dir, true
	texts := make([][]byte, len(files))
	any := false
	for i, l := range files {
		if texts[i], err = l.Read(); err != nil {
			return nil, err
		}
		any = any || len(bytes.TrimSpace(texts[i])) > 0
	}
	if !any {
		return nil, &history.InputError{File: files[0].Path, Line: 1, Msg: "the file is empty, like all logs of the " +
			"folder; expected transactions"}
	}
	for i, l := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.s = edn.Scanner{Data: texts[i], File: l.Path, JSON: true}
		for r.s.Peek() != 0 {
			r.txn(l.Number)
		}
		r.s.End("transaction")
		if err := r.s.Err(); err != nil {
			return nil, err
		}
	}
	return r.b.Build()
}

func (r *reader) txn(session int64) {
	h := history.NewTxnHead()
	at := r.s.Map("")
	h.Line = uint32(r.s.Line(at))
	value, final, rest := false, false, -1
	for name, ok := r.s.Field(""); ok; name, ok = r.s.Field("") {
		switch string(name) {
		case "value":
			if value {
				r.s.Fail(r.s.Pos(), "value", "found a second array; expected one a transaction")
			}
			value = true
			r.s.Array("value")
			rest = r.ops(false)
		case "isInitial":
			h.Init = r.s.Bool("isInitial")
		case "isFinal":
			final = r.s.Bool("isFinal")
		case "preBeginTS":
			h.Start = r.time()
		case "preCommitTS":
			h.Commit = r.time()
		case "postCommitTS":
			h.End = r.time()
		default:
			r.s.Pass()
		}
	}
	if !value {
		r.s.Fail(at, "value", "missing; expected an array of operations")
	}
	if rest >= 0 && r.s.Err() == nil {
		r.before = h.Init
		end := r.s.Pos()
		r.s.Seek(rest)
		if r.ops(true); r.s.Err() == nil {
			r.s.SeekOut(end)
		}
	}
	h.HasSess, h.Session = !h.Init && !final, session
	r.b.EndTxn(h)
}

func (r *reader) time() int64 {
	if r.s.Peek() == 'n' {
		r.s.Pass()
		return history.NoTime
	}
	return r.s.Int("time")
}

// ops reads operations behind their opening bracket, and the bracket that closes them. Without ranges it adds those
// before the first range alone, since what a range means depends on fields that may follow. It returns the place of
// that range; -1: there is none.
func (r *reader) ops(ranges bool) (rest int) {
	for r.s.More() {
		at := r.s.Pos()
		scans := false
		switch r.s.Peek() {
		case '{':
			scans = r.objectOp(ranges)
		case '[':
			scans = r.arrayOp(ranges)
		default:
			t := r.s.Token()
			r.s.Fail(t.Pos, "value", "found %v; expected an operation", t)
		}
		if scans && !ranges {
			for r.s.More() {
				r.s.Pass()
			}
			return at
		}
	}
	return -1
}

// value reads a key or value. null and the text "nil" are null: a bound left open, or the value of an absent row.
func (r *reader) value() history.Value { return r.valueOf(r.s.Token()) }

func (r *reader) valueOf(t *edn.Token) history.Value {
	switch {
	case t.Kind == edn.Int:
		return history.IntValue(t.N)
	case t.Kind == edn.Nil || t.Kind == edn.Text && string(t.Text) == "nil":
	case t.Kind == edn.Text:
		return r.b.StringValue(t.Text)
	default:
		r.s.Fail(t.Pos, "value", "found %v; expected an integer, a string or null", t)
	}
	return history.Value{}
}

// arrayOp reads ["r", …] and its kin, and reports whether it is a range. It adds a range only with ranges.
func (r *reader) arrayOp(ranges bool) (scans bool) {
	r.s.Array("value")
	t := r.s.Token()
	at, name, want := t.Pos, byte(0), 3
	switch string(t.Text) { // a bracket has no text
	case "i", "d":
		want = 5
		fallthrough
	case "r", "w":
		name = t.Text[0]
	case "range":
		if !ranges {
			for r.s.More() {
				r.s.Pass()
			}
			return true
		}
		from, to := r.value(), r.value()
		r.rows, r.rowKeys = r.rows[:0], r.rowKeys[:0]
		r.rowList()
		r.rowList()
		r.end("range")
		r.scan(from, to)
		return true
	default:
		r.s.Fail(t.Pos, "value", "found the operation %v; expected r, w, i, d or range", t)
	}
	var args [5]history.Value
	ok := false
	for i := range want {
		switch t := r.s.Token(); {
		case t.Kind == edn.Bool && i >= want-(want-1)/2: // i and d have two
			ok = t.N == 1
		case t.Kind == edn.Close:
			r.s.Fail(t.Pos, "value", "an operation %c with %s; expected %d", name, plural.Of(i, "argument"), want)
		case i == want-1 && name != 'r':
			r.s.Fail(t.Pos, "value", "found %v; expected true or false, the last argument of %c", t, name)
		default:
			args[i] = r.valueOf(t)
		}
	}
	r.end(string(name))
	if args[0].Kind == history.Null {
		r.s.Fail(at, "value", "an operation %c without a key; expected an integer or a string", name)
	}
	r.point(name, args[0], args[1], args[2], ok)
	return false
}

func (r *reader) end(name string) {
	if t := r.s.Token(); t.Kind != edn.Close {
		r.s.Fail(t.Pos, "value", "found %v behind the arguments of %s; expected ]", t, name)
	}
}

// point adds an operation on one row; ok is its last flag.
func (r *reader) point(name byte, key, v, old history.Value, ok bool) {
	k := r.b.Key(key)
	switch name {
	case 'r':
		r.b.Read(k, v)
	case 'i', 'd':
		r.b.Read(k, old)
		fallthrough
	case 'w':
		if ok {
			r.b.Write(k, v)
		}
	}
}

// objectOp reads an operation in the form of the newer bench, an object with named fields, as arrayOp does.
func (r *reader) objectOp(ranges bool) (scans bool) {
	at := r.s.Map("value")
	var name string
	var key, v, old, from, to history.Value
	ok := true
	r.rows, r.rowKeys = r.rows[:0], r.rowKeys[:0]
	for field, more := r.s.Field("value"); more; field, more = r.s.Field("value") {
		switch string(field) {
		case "opType":
			name = string(r.s.Str("opType"))
		case "key":
			key = r.value()
		case "value":
			v = r.value()
		case "readValue":
			old = r.value()
		case "key1":
			from = r.value()
		case "key2":
			to = r.value()
		case "succ":
			ok = r.s.Bool("succ")
		case "liveKVs", "deadKVs":
			r.rowList()
		default:
			r.s.Pass()
		}
	}
	switch name {
	case "commit":
	case "range":
		if ranges {
			r.scan(from, to)
		}
		return true
	case "r", "w", "i", "d":
		if key.Kind == history.Null {
			r.s.Fail(at, "key", "missing; expected an integer or a string")
		}
		r.point(name[0], key, v, old, ok)
	default:
		r.s.Fail(at, "opType", "found %q; expected r, w, i, d, range or commit", name)
	}
	return false
}

// rowList reads an array of rows, or null.
func (r *reader) rowList() {
	if r.s.Peek() == 'n' {
		r.value()
		return
	}
	for r.s.Array("range"); r.s.More(); {
		var key, value history.Value
		at := r.s.Map("range")
		for name, ok := r.s.Field("range"); ok; name, ok = r.s.Field("range") {
			switch string(name) {
			case "id", "key":
				key = r.value()
			case "val", "value":
				value = r.value()
			default:
				r.s.Pass()
			}
		}
		if key.Kind == history.Null {
			r.s.Fail(at, "range", "a row without id; expected {id, sk, val}")
		}
		r.rows = append(r.rows, history.PredRow{Key: r.b.Key(key), Old: value})
		r.rowKeys = append(r.rowKeys, key)
	}
}

// scan adds a predicate read of the keys between two bounds; null is no bound. In the initial transaction it adds
// writes of the rows found.
func (r *reader) scan(from, to history.Value) {
	if r.before {
		for i, row := range r.rows {
			r.b.Write(r.b.Key(r.rowKeys[i]), row.Old)
		}
		return
	}
	r.pred = append(r.pred[:0], `{"key":{`...)
	for i, bound := range [...]struct {
		op string
		v  history.Value
	}{{">=", from}, {"<=", to}} {
		if bound.v.Kind == history.Null || bound.v == history.IntValue(math.MinInt64) ||
			bound.v == history.IntValue(math.MaxInt64) {
			continue
		}
		if i == 1 && r.pred[len(r.pred)-1] != '{' {
			r.pred = append(r.pred, ',')
		}
		r.pred = append(r.pred, '"')
		r.pred = append(r.pred, bound.op...)
		r.pred = append(r.pred, `":`...)
		r.pred = r.b.Texts.AppendValue(r.pred, bound.v)
	}
	r.pred = append(r.pred, `}}`...)
	if len(r.pred) == len(`{"key":{}}`) {
		r.pred = append(r.pred[:0], `{}`...)
	}
	r.b.Predicate(history.PredRead, r.pred, r.rows)
}
