// Package timekiller reads the JSON of TimeKiller, the tool of CHRONOS and AION: one array of transactions
//
//	{"tid", "sid", "sts": {"p", "l"}, "cts": {"p", "l"}, "ops": [{"t", "k", "v"}]}
//
// with the database's start and commit timestamps, registers (r, w) or lists (r, a). Numbers may be strings.
// Timestamps are hybrid logical clocks: p is the physical part, l the logical one, compared in this order. A history
// has plain integers: if every l is 0, the timestamp is p; otherwise ranks replace all timestamps, with equal ranks
// for equal timestamps, so that comparisons stay the same.
//
// The file does not give initial values. They are null, or 0 if no transaction writes 0, some read 0, and none reads
// null. Both occur in files.
//
// Experimental: this package may still change.
package timekiller

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/sorts"
)

// Is reports whether a file begins as one of this format: an array whose first object has one of the format's own
// fields.
func Is(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	s := edn.Scanner{Data: head, JSON: true}
	s.Next()
	if t, err := s.Next(); err != nil || !t.OpensMap() {
		return false
	}
	for {
		t, err := s.Next()
		if err != nil || t.Kind != edn.Text {
			return false
		}
		switch string(t.Text) {
		case "sts", "cts":
			return true
		case "type", "process", "f":
			return false
		}
		if s.Skip() != nil {
			// The end of the head cuts off a long list of operations.
			return string(t.Text) == "ops"
		}
	}
}

type stamp struct{ p, l int64 }

func compare(a, b stamp) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.l, b.l)) }

// reader fills a builder.
type reader struct {
	s           edn.Scanner
	b           *history.Builder
	zeroWritten bool
	zeroRead    bool
	nullRead    bool

	elems []history.Value
	names map[string]int64 // numbers of tids and sids that are words
}

// txn has the fields of a transaction's object; its operations are in the builder already.
type txn struct {
	head     history.TxnHead
	sts, cts stamp
	hasS     bool
	hasC     bool
	opsAt    int
}

// Read reads a file. Errors are *history.InputError with the line. Cost: one pass over the bytes, or three if they are
// not plain (see edn.Plain), sorting of timestamps with logical parts, and history.Builder.Build. data is not
// referenced afterwards.
func Read(data []byte, file string) (*history.History, error) {
	if h, ok := readPlain(data, file); ok {
		return h, nil
	}
	return read(data, file)
}

// read is Read with edn.Scanner, for any content.
func read(data []byte, file string) (*history.History, error) {
	r := reader{s: edn.Scanner{Data: data, File: file, JSON: true}, names: map[string]int64{}}
	var txns []txn
	if err := r.array("", func(t edn.Token) error {
		x, err := r.txn(t)
		txns = append(txns, x)
		return err
	}); err != nil {
		return nil, err
	}
	if t, err := r.s.Next(); err != nil {
		return nil, err
	} else if t.Kind != edn.EOF {
		return nil, r.s.Errorf(t.Pos, "", "found %v behind the array; expected the end of the file", t)
	}
	ticks(txns)
	r.b = history.NewBuilder()
	r.b.File = file
	for _, x := range txns {
		r.s.Seek(x.opsAt)
		if err := r.ops(); err != nil {
			return nil, err
		}
		r.b.EndTxn(x.head)
	}
	r.notes(hasLogical(txns))
	return r.b.Build()
}

// notes adds notes on the conversion of timestamps and on initial values.
func (r *reader) notes(logical bool) {
	if logical {
		r.b.Note(history.NoteTimes, 0, "timestamps have logical parts; isovet shows their ranks")
	}
	if r.zeroRead && !r.zeroWritten && !r.nullRead {
		r.b.Initial = history.IntValue(0)
		r.b.Note(history.NoteInitial, 0, "keys hold 0 at first: reads return 0, and nobody writes it")
	}
}

// array reads an array. It calls each with every element's first token.
func (r *reader) array(field string, each func(t edn.Token) error) error {
	t, err := r.s.Next()
	if err != nil {
		return err
	}
	return r.s.Elements(t, field, each)
}

// number reads an integer, as a number or as a string.
func (r *reader) number(field string) (int64, error) {
	t, err := r.s.Next()
	if err != nil {
		return 0, err
	}
	if t.Kind == edn.Int {
		return t.N, nil
	}
	if t.Kind == edn.Text {
		if n, err := strconv.ParseInt(string(t.Text), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, r.s.Errorf(t.Pos, field, "found %v; expected an integer", t)
}

// name reads a transaction's or session's id: a number, or a word, which gets a number.
func (r *reader) name(field string) (int64, error) {
	t, err := r.s.Next()
	if err != nil {
		return 0, err
	}
	switch t.Kind {
	case edn.Int:
		return t.N, nil
	case edn.Text:
		if n, err := strconv.ParseInt(string(t.Text), 10, 64); err == nil {
			return n, nil
		}
		return r.named(t.Text), nil
	}
	return 0, r.s.Errorf(t.Pos, field, "found %v; expected an integer or a string", t)
}

// named returns the number of an id that is a word.
func (r *reader) named(text []byte) int64 {
	n, ok := r.names[string(text)]
	if !ok {
		n = -1 - int64(len(r.names))
		r.names[string(text)] = n
	}
	return n
}

func (r *reader) stamp(field string) (stamp, error) {
	var s stamp
	t, err := r.s.Next()
	if err != nil {
		return s, err
	}
	if t.Kind == edn.Int {
		return stamp{t.N, 0}, nil
	}
	has := false
	err = r.s.Fields(t, field, func(name edn.Token) (err error) {
		switch string(name.Text) {
		case "p":
			has = true
			s.p, err = r.number(field + ".p")
		case "l":
			s.l, err = r.number(field + ".l")
		default:
			err = r.s.Skip()
		}
		return err
	})
	if err == nil && !has {
		err = r.s.Errorf(t.Pos, field, "p is missing; expected a timestamp {p, l}")
	}
	return s, err
}

func (r *reader) txn(t edn.Token) (txn, error) {
	x := txn{head: history.NewTxnHead(), opsAt: -1}
	h := &x.head
	h.Line = uint32(r.s.Line(t.Pos))
	err := r.s.Fields(t, "", func(name edn.Token) (err error) {
		switch string(name.Text) {
		case "tid":
			h.HasID = true
			h.ID, err = r.name("tid")
		case "sid":
			h.HasSess = true
			h.Session, err = r.name("sid")
		case "sts":
			x.hasS = true
			x.sts, err = r.stamp("sts")
		case "cts":
			x.hasC = true
			x.cts, err = r.stamp("cts")
		case "ops":
			x.opsAt = r.s.Pos()
			err = r.s.Skip()
		default:
			err = r.s.Skip()
		}
		return err
	})
	switch {
	case err != nil:
	case x.opsAt < 0:
		err = r.s.Errorf(t.Pos, "ops", "missing; expected an array of operations")
	case !x.hasC || !x.hasS:
		err = r.s.Errorf(t.Pos, "sts", "sts or cts is missing; expected both timestamps")
	case compare(x.sts, x.cts) > 0:
		err = r.s.Errorf(t.Pos, "cts", "is before sts; expected a commit not before the start")
	}
	return x, err
}

// ticks turns timestamps into integers.
func ticks(txns []txn) {
	if !hasLogical(txns) {
		for i := range txns {
			txns[i].head.StartTS, txns[i].head.CommitTS = txns[i].sts.p, txns[i].cts.p
		}
		return
	}
	all := make([]stamp, 0, 2*len(txns))
	for _, x := range txns {
		all = append(all, x.sts, x.cts)
	}
	sorts.Func(all, compare)
	all = slices.Compact(all)
	rank := func(s stamp) int64 {
		i, _ := slices.BinarySearchFunc(all, s, compare)
		return int64(i) + 1
	}
	for i := range txns {
		txns[i].head.StartTS, txns[i].head.CommitTS = rank(txns[i].sts), rank(txns[i].cts)
	}
}

func (r *reader) ops() error {
	return r.array("ops", func(t edn.Token) error {
		kind, key := byte(0), int64(0)
		hasKey, valueAt := false, -1
		err := r.s.Fields(t, "ops", func(name edn.Token) (err error) {
			switch string(name.Text) {
			case "t":
				t, err := r.s.Next()
				if err != nil {
					return err
				}
				if t.Kind == edn.Text {
					if k := kindOf(t.Text); k != 0 {
						kind = k
					}
				}
				if kind == 0 {
					return r.s.Errorf(t.Pos, "t", "found %v; expected r, w or a", t)
				}
			case "k":
				hasKey = true
				key, err = r.number("k")
			case "v":
				valueAt = r.s.Pos()
				err = r.s.Skip()
			default:
				err = r.s.Skip()
			}
			return err
		})
		if err != nil {
			return err
		}
		if kind == 0 || !hasKey {
			return r.s.Errorf(t.Pos, "ops", "an operation without t or k; expected both")
		}
		back := r.s.Pos()
		if valueAt >= 0 {
			r.s.Seek(valueAt)
		}
		err = r.op(kind, r.b.Key(history.IntValue(key)), valueAt >= 0)
		r.s.Seek(back)
		return err
	})
}

// kindOf returns the kind of an operation's name; 0 if it is unknown.
func kindOf(text []byte) byte {
	if len(text) == 1 {
		switch c := text[0] | 0x20; c {
		case 'w', 'r', 'a':
			return c
		}
		return 0
	}
	switch string(bytes.ToLower(text)) {
	case "write":
		return 'w'
	case "read":
		return 'r'
	case "append":
		return 'a'
	}
	return 0
}

// op adds an operation; its value, if it has one, is next.
func (r *reader) op(kind byte, key uint32, hasValue bool) error {
	t := edn.Token{Kind: edn.Nil, Pos: r.s.Pos()}
	if hasValue {
		var err error
		if t, err = r.s.Next(); err != nil {
			return err
		}
	}
	// A file with an append or a read of an array has lists: null is then the empty list.
	if kind == 'r' && t.Opens() {
		r.b.Meta.Lists = true
		r.elems = r.elems[:0]
		if err := r.s.Elements(t, "v", func(e edn.Token) error {
			v, err := r.scalar(e)
			if err == nil && v.Kind == history.Null {
				err = r.s.Errorf(e.Pos, "v", "found %v in a list; expected an integer or a string", e)
			}
			r.elems = append(r.elems, v)
			return err
		}); err != nil {
			return err
		}
		r.b.ReadList(key, r.elems)
		return nil
	}
	v, err := r.scalar(t)
	if err != nil {
		return err
	}
	if kind == 'a' && v.Kind == history.Null {
		return r.s.Errorf(t.Pos, "v", "found nothing; expected the element that is appended")
	}
	r.scalarOp(kind, key, v)
	return nil
}

// scalarOp adds an operation other than a read of a list.
func (r *reader) scalarOp(kind byte, key uint32, v history.Value) {
	switch kind {
	case 'r':
		r.nullRead = r.nullRead || v.Kind == history.Null
		r.zeroRead = r.zeroRead || v == history.IntValue(0)
		r.b.Read(key, v)
	case 'w':
		r.zeroWritten = r.zeroWritten || v == history.IntValue(0)
		r.b.Write(key, v)
	case 'a':
		r.b.Meta.Lists = true
		r.b.Append(key, v)
	}
}

// scalar makes a value or a list's element from a token.
func (r *reader) scalar(t edn.Token) (history.Value, error) {
	switch t.Kind {
	case edn.Int:
		return history.IntValue(t.N), nil
	case edn.Text:
		return r.b.StringValue(t.Text), nil
	case edn.Nil:
		return history.Value{Kind: history.Null}, nil
	}
	return history.Value{}, r.s.Errorf(t.Pos, "v", "found %v; expected an integer, a string or null", t)
}
