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
	slow    bool // use the scanner alone
	before  bool // the transaction that is read is the initial one
	rows    []history.PredRow
	rowKeys []history.Value
	pred    []byte
}

// txn has the fields of a transaction.
type txn struct {
	head           history.TxnHead
	initial, final bool
	value          int // the place of its operations, -1: unknown yet
	rest           int // the place of the first operation not read yet, if some are read; all: all are read
}

const all = -1

// Read reads all logs of a folder as one history. Errors are *history.InputError with file and line. Cost: one pass
// over the bytes, and history.Builder.Build.
func Read(ctx context.Context, dir string) (*history.History, error) { return read(ctx, dir, false) }

// read is Read. With slow it uses the scanner alone.
func read(ctx context.Context, dir string, slow bool) (*history.History, error) {
	files, err := logs.List(dir, "J")
	if err != nil {
		return nil, err
	}
	r := reader{b: history.NewBuilder(), slow: slow}
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
		if err := r.log(l.Number); err != nil {
			return nil, err
		}
	}
	return r.b.Build()
}

func (r *reader) log(session int64) error {
	for {
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.EOF {
			return err
		}
		if err := r.txn(t, session); err != nil {
			return err
		}
	}
}

func (r *reader) txn(t edn.Token, session int64) error {
	x := txn{head: history.NewTxnHead(), value: -1}
	h := &x.head
	h.Line = uint32(r.s.Line(t.Pos))
	done := false
	if t.OpensMap() && !r.slow {
		var err error
		if done, err = r.plainTxn(&x); err != nil {
			return err
		}
	}
	if !done {
		if err := r.fields(t, &x); err != nil {
			return err
		}
	}
	if x.value < 0 {
		return r.s.Errorf(t.Pos, "value", "missing; expected an array of operations")
	}
	if x.rest != all {
		r.before = x.initial
		end := r.s.Pos()
		r.s.Seek(x.value)
		if err := r.ops(x.rest); err != nil {
			return err
		}
		r.s.SeekOut(end)
	}
	h.Init, h.HasSess, h.Session = x.initial, !x.initial && !x.final, session
	r.b.EndTxn(*h)
	return nil
}

// fields reads the fields, or the remaining fields, of a transaction whose bracket is t.
func (r *reader) fields(t edn.Token, x *txn) error {
	return r.s.Fields(t, "", func(name edn.Token) (err error) {
		switch {
		case name.Is("value"):
			if x.value >= 0 {
				return r.s.Errorf(name.Pos, "value", "found a second array; expected one a transaction")
			}
			x.value = r.s.Pos()
			err = r.s.Skip()
		case name.Is("isInitial"):
			x.initial, err = r.flag("isInitial")
		case name.Is("isFinal"):
			x.final, err = r.flag("isFinal")
		case name.Is("preBeginTS"):
			x.head.Start, err = r.time()
		case name.Is("preCommitTS"):
			x.head.Commit, err = r.time()
		case name.Is("postCommitTS"):
			x.head.End, err = r.time()
		default:
			err = r.s.Skip()
		}
		return err
	})
}

func (r *reader) flag(field string) (bool, error) {
	t, err := r.s.Next()
	if err == nil && t.Kind != edn.Bool {
		err = r.s.Errorf(t.Pos, field, "found %v; expected true or false", t)
	}
	return t.N == 1, err
}

func (r *reader) time() (int64, error) {
	t, err := r.s.Next()
	if err == nil && t.Kind == edn.Nil {
		return history.NoTime, nil
	}
	if err == nil && t.Kind != edn.Int {
		err = r.s.Errorf(t.Pos, "time", "found %v; expected nanoseconds", t)
	}
	return t.N, err
}

// ops reads operations, from their opening bracket. rest is the place of the first that is not read yet; 0: all are to
// be read.
func (r *reader) ops(rest int) error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	if rest > 0 {
		p := r.s.Plain()
		p.Back(rest)
		r.s.Went(&p)
	}
	return r.s.Elements(t, "value", func(t edn.Token) (err error) {
		switch {
		case t.OpensMap():
			err = r.objectOp(t)
		case t.Opens():
			err = r.arrayOp(t)
		default:
			err = r.s.Errorf(t.Pos, "value", "found %v; expected an operation", t)
		}
		if err == nil && !r.slow {
			p := r.s.Plain()
			r.plainOps(&p)
			r.s.Went(&p)
		}
		return err
	})
}

// value makes a key or value from a token. null and the text "nil" are null: a bound left open, or the value of an
// absent row.
func (r *reader) value(t edn.Token) (history.Value, error) {
	switch {
	case t.Kind == edn.Int:
		return history.IntValue(t.N), nil
	case t.Kind == edn.Nil || (t.Kind == edn.Text && string(t.Text) == "nil"):
		return history.Value{Kind: history.Null}, nil
	case t.Kind == edn.Text || t.Kind == edn.Word:
		return r.b.StringValue(t.Text), nil
	}
	return history.Value{}, r.s.Errorf(t.Pos, "value", "found %v; expected an integer, a string or null", t)
}

func (r *reader) scalar() (history.Value, error) {
	t, err := r.s.Next()
	if err != nil {
		return history.Value{}, err
	}
	return r.value(t)
}

// arrayOp reads ["r", …] and its kin; t is its bracket.
func (r *reader) arrayOp(t edn.Token) error {
	kind, err := r.s.Next()
	if err != nil {
		return err
	}
	if kind.Kind != edn.Text && kind.Kind != edn.Word {
		return r.s.Errorf(kind.Pos, "value", "found %v; expected r, w, i, d or range", kind)
	}
	var args [5]history.Value
	var flags [5]bool
	switch name := string(kind.Text); name {
	case "r", "w", "i", "d":
		want := map[string]int{"r": 3, "w": 3, "i": 5, "d": 5}[name]
		for i := range want {
			a, err := r.s.Next()
			if err != nil {
				return err
			}
			switch {
			case a.Kind == edn.Bool:
				flags[i] = a.N == 1
			case a.Kind == edn.Close:
				return r.s.Errorf(a.Pos, "value", "an operation %s with %s; expected %d", name,
					plural.Of(i, "argument"), want)
			default:
				if args[i], err = r.value(a); err != nil {
					return err
				}
			}
		}
		if err := r.end(name); err != nil {
			return err
		}
		if args[0].Kind == history.Null {
			return r.s.Errorf(kind.Pos, "value", "an operation %s without a key; expected an integer or a string", name)
		}
		r.point(name[0], args[0], args[1], args[2], flags[want-1])
		return nil
	case "range":
		from, err := r.scalar()
		if err != nil {
			return err
		}
		to, err := r.scalar()
		if err != nil {
			return err
		}
		r.rows, r.rowKeys = r.rows[:0], r.rowKeys[:0]
		for range 2 {
			if err := r.rowList(); err != nil {
				return err
			}
		}
		if err := r.end(name); err != nil {
			return err
		}
		r.scan(from, to)
		return nil
	}
	return r.s.Errorf(kind.Pos, "value", "found the operation %v; expected r, w, i, d or range", kind)
}

func (r *reader) end(name string) error {
	t, err := r.s.Next()
	if err == nil && t.Kind != edn.Close {
		err = r.s.Errorf(t.Pos, "value", "found %v behind the arguments of %s; expected ]", t, name)
	}
	return err
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

// objectOp reads an operation in the form of the newer bench, an object with named fields; t is its bracket.
func (r *reader) objectOp(t edn.Token) error {
	var name string
	var key, v, old, from, to history.Value
	ok := true
	r.rows, r.rowKeys = r.rows[:0], r.rowKeys[:0]
	if err := r.s.Fields(t, "value", func(field edn.Token) (err error) {
		switch {
		case field.Is("opType"):
			var k edn.Token
			if k, err = r.s.Next(); err == nil {
				name = string(k.Text)
			}
		case field.Is("key"):
			key, err = r.scalar()
		case field.Is("value"):
			v, err = r.scalar()
		case field.Is("readValue"):
			old, err = r.scalar()
		case field.Is("key1"):
			from, err = r.scalar()
		case field.Is("key2"):
			to, err = r.scalar()
		case field.Is("succ"):
			ok, err = r.flag("succ")
		case field.Is("liveKVs"), field.Is("deadKVs"):
			err = r.rowList()
		default:
			err = r.s.Skip()
		}
		return err
	}); err != nil {
		return err
	}
	switch name {
	case "commit":
	case "range":
		r.scan(from, to)
	case "r", "w", "i", "d":
		if key.Kind == history.Null {
			return r.s.Errorf(t.Pos, "key", "missing; expected an integer or a string")
		}
		r.point(name[0], key, v, old, ok)
	default:
		return r.s.Errorf(t.Pos, "opType", "found %q; expected r, w, i, d, range or commit", name)
	}
	return nil
}

func (r *reader) rowList() error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	if t.Kind == edn.Nil {
		return nil
	}
	return r.s.Elements(t, "range", func(t edn.Token) error {
		row := history.PredRow{}
		var key history.Value
		if err := r.s.Fields(t, "range", func(name edn.Token) (err error) {
			switch {
			case name.Is("id"), name.Is("key"):
				key, err = r.scalar()
			case name.Is("val"), name.Is("value"):
				row.Old, err = r.scalar()
			default:
				err = r.s.Skip()
			}
			return err
		}); err != nil {
			return err
		}
		if key.Kind == history.Null {
			return r.s.Errorf(t.Pos, "range", "a row without id; expected {id, sk, val}")
		}
		row.Key = r.b.Key(key)
		r.rows, r.rowKeys = append(r.rows, row), append(r.rowKeys, key)
		return nil
	})
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
