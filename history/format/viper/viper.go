// Package viper reads the logs of Viper's clients: a folder, one file J<n>.log a session, one JSON object a line for
// each committed transaction.
//
//	{"value": [["r", key, value, dead], ["w", key, value, ok], ["i", key, value, read, dead, ok], ["d", …], ["range",
//	from, to, [rows], [dead rows]]]}
//
// # Meaning
//
// Rows are never deleted: a delete writes a value that is marked dead, and a read that finds it tells that value. So
// every version has a value of its own, and dead ones are versions like others here. i and d read the value before they
// write. ok false: the write matched no row and did nothing. A range is a predicate read on the key. What a key held
// before the run is not logged: it is the first value read of the key that nobody wrote. Four optional fields are the
// client's clock, in nanoseconds, around begin and commit. The transaction marked isInitial is the initial one, its
// writes or the rows of its range; the one marked isFinal is an ordinary transaction without session.
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
)

// Is reports whether the folder has such logs, and the first that is not empty holds objects. Empty logs of the right
// names are such too: Read says what is wrong with them.
func Is(dir string) bool {
	head, ok := logs.Head(dir, "J", 64)
	head = bytes.TrimSpace(head)
	return ok && (len(head) == 0 || head[0] == '{')
}

// reader fills a builder, in two passes: which values are written, then the operations.
type reader struct {
	s        edn.Scanner
	b        *history.Builder
	written  [history.Row + 1][history.Row + 1]logs.Set // by the kinds of key and value
	initial  map[uint32]history.Value                   // by key, of values that nobody wrote
	known    []bool                                     // by key, whether it is in initial
	order    []uint32
	survey   bool
	slow     bool // nothing is taken for plain
	explicit bool // the file has an initial transaction
	before   bool // the transaction that is read is it
	rows     []history.PredRow
	rowKeys  []history.Value
	pred     []byte
}

// Read reads all logs of a folder as one history. Errors are *history.InputError with file and line. Cost: two passes
// over the bytes, a hash lookup for each operation, history.Builder.Build.
func Read(ctx context.Context, dir string) (*history.History, error) { return read(ctx, dir, false) }

// read is Read; slow: by way of the scanner alone.
func read(ctx context.Context, dir string, slow bool) (*history.History, error) {
	files, err := logs.List(dir, "J")
	if err != nil {
		return nil, err
	}
	r := reader{b: history.NewBuilder(), slow: slow, initial: map[uint32]history.Value{}}
	r.b.File = dir
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
	for _, survey := range [...]bool{true, false} {
		r.survey = survey
		for i, l := range files {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.s = edn.Scanner{Data: texts[i], File: l.Path, JSON: true}
			if err := r.log(l.Number); err != nil {
				return nil, err
			}
		}
	}
	r.init()
	return r.b.Build()
}

// init adds what keys held before the run, unless the file has a transaction for that.
func (r *reader) init() {
	if len(r.order) == 0 || r.explicit {
		return
	}
	for _, k := range r.order {
		r.b.Write(k, r.initial[k])
	}
	h := history.NewTxnHead()
	h.Init = true
	r.b.EndTxn(h)
	r.b.Note(history.NoteInitial, len(r.order), "what %d keys held at first is the first value read of them that "+
		"nobody wrote", len(r.order))
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
	h := history.NewTxnHead()
	h.Line = uint32(r.s.Line(t.Pos))
	h.HasSess, h.Session = true, session
	initial, value := false, -1
	if err := r.s.Fields(t, "", func(name edn.Token) (err error) {
		switch {
		case name.Is("value"):
			value = r.s.Pos()
			err = r.s.Skip()
		case name.Is("isInitial"):
			initial, err = r.flag("isInitial")
		case name.Is("isFinal"):
			var final bool
			if final, err = r.flag("isFinal"); final {
				h.HasSess = false
			}
		case name.Is("preBeginTS"):
			h.Start, err = r.time()
		case name.Is("preCommitTS"):
			h.Commit, err = r.time()
		case name.Is("postCommitTS"):
			h.End, err = r.time()
		default:
			err = r.s.Skip()
		}
		return err
	}); err != nil {
		return err
	}
	if value < 0 {
		return r.s.Errorf(t.Pos, "value", "missing; expected an array of operations")
	}
	r.before = initial
	end := r.s.Pos()
	r.s.Seek(value)
	if err := r.ops(); err != nil {
		return err
	}
	r.s.Seek(end)
	if r.survey {
		return nil
	}
	if initial {
		h.Init, h.HasSess, r.explicit = true, false, true
	}
	r.b.EndTxn(h)
	return nil
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

func (r *reader) ops() error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	if t.Opens() && !r.slow {
		r.plainOps()
	}
	return r.s.Elements(t, "value", func(t edn.Token) error {
		switch {
		case t.OpensMap():
			return r.objectOp(t)
		case t.Opens():
			return r.arrayOp(t)
		}
		return r.s.Errorf(t.Pos, "value", "found %v; expected an operation", t)
	})
}

// value makes a key or value of a token; null bounds and values of absent rows are null, the text "nil" too.
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

// write adds a write, or notes it in the first pass.
func (r *reader) write(key, v history.Value) {
	if r.survey {
		r.written[key.Kind][v.Kind].Add(uint64(key.N), uint64(v.N))
		return
	}
	r.b.Write(r.b.Key(key), v)
}

func (r *reader) read(key, v history.Value) {
	if !r.survey {
		k := r.b.Key(key)
		r.seen(k, key, v)
		r.b.Read(k, v)
	}
}

// seen notes what a key held before the run, if this read tells it.
func (r *reader) seen(k uint32, key, v history.Value) {
	if v.Kind == history.Null || int(k) < len(r.known) && r.known[k] ||
		r.written[key.Kind][v.Kind].Has(uint64(key.N), uint64(v.N)) {
		return
	}
	r.initial[k] = v
	r.order = append(r.order, k)
	r.known = append(r.known, make([]bool, max(0, int(k)+1-len(r.known)))...)
	r.known[k] = true
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
				return r.s.Errorf(a.Pos, "value", "an operation %s with %d arguments; expected %d", name, i, want)
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
		r.point(name, args[0], args[1], args[2], flags[want-1])
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
func (r *reader) point(name string, key, v, old history.Value, ok bool) {
	switch name {
	case "r":
		r.read(key, v)
	case "i", "d":
		r.read(key, old)
		fallthrough
	case "w":
		if ok {
			r.write(key, v)
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
		r.point(name, key, v, old, ok)
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
		if !r.survey && !r.before {
			r.seen(row.Key, key, row.Old)
		}
		r.rows, r.rowKeys = append(r.rows, row), append(r.rowKeys, key)
		return nil
	})
}

// scan adds a predicate read of the keys between two bounds, null for none; the initial transaction has written what it
// found.
func (r *reader) scan(from, to history.Value) {
	if r.before {
		for i, row := range r.rows {
			r.write(r.rowKeys[i], row.Old)
		}
		return
	}
	if r.survey {
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
