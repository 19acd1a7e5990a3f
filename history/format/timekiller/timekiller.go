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
	stamps      [][2]stamp // of all transactions: start and commit
	zeroWritten bool
	zeroRead    bool
	nullRead    bool

	elems []history.Value
	names map[string]int64 // numbers of tids and sids that are words
}

// Read reads a file. Errors are *history.InputError with the line. Cost: one pass over the bytes, sorting of
// timestamps with logical parts, and history.Builder.Build. data is not referenced afterwards.
func Read(data []byte, file string) (*history.History, error) {
	r := reader{s: edn.Scanner{Data: data, File: file, JSON: true}, b: history.NewBuilder(), names: map[string]int64{}}
	r.b.File = file
	for r.s.Array(""); r.s.More(); {
		r.txn()
	}
	r.s.End("array")
	if err := r.s.Err(); err != nil {
		return nil, err
	}
	logical := slices.ContainsFunc(r.stamps, func(s [2]stamp) bool { return s[0].l != 0 || s[1].l != 0 })
	if logical {
		r.b.Note(history.NoteTimes, 0, "timestamps have logical parts; isovet shows their ranks")
	}
	if r.zeroRead && !r.zeroWritten && !r.nullRead {
		r.b.Initial = history.IntValue(0)
		r.b.Note(history.NoteInitial, 0, "keys hold 0 at first: reads return 0, and nobody writes it")
	}
	h, err := r.b.Build()
	if err == nil && logical {
		r.ranks(h)
	}
	return h, err
}

// name reads a transaction's or session's id: a number, or a word, which gets a number.
func (r *reader) name(field string) int64 {
	t := r.s.Token()
	switch t.Kind {
	case edn.Int:
		return t.N
	case edn.Text:
		n, err := strconv.ParseInt(string(t.Text), 10, 64)
		if err != nil {
			ok := false
			if n, ok = r.names[string(t.Text)]; !ok {
				n = -1 - int64(len(r.names))
				r.names[string(t.Text)] = n
			}
		}
		return n
	}
	r.s.Fail(t.Pos, field, "found %v; expected an integer or a string", t)
	return 0
}

func (r *reader) stamp(field string) (s stamp) {
	if r.s.Peek() != '{' {
		return stamp{r.s.Int(field), 0}
	}
	has, at := false, r.s.Map(field)
	for name, ok := r.s.Field(field); ok; name, ok = r.s.Field(field) {
		switch string(name) {
		case "p":
			has = true
			s.p = r.s.Integer(field + ".p")
		case "l":
			s.l = r.s.Integer(field + ".l")
		default:
			r.s.Pass()
		}
	}
	if !has {
		r.s.Fail(at, field, "p is missing; expected a timestamp {p, l}")
	}
	return s
}

func (r *reader) txn() {
	h := history.NewTxnHead()
	at := r.s.Map("")
	h.Line = uint32(r.s.Line(at))
	var start, commit stamp
	ops, hasStart, hasCommit := false, false, false
	for name, ok := r.s.Field(""); ok; name, ok = r.s.Field("") {
		switch string(name) {
		case "tid":
			h.HasID = true
			h.ID = r.name("tid")
		case "sid":
			h.HasSess = true
			h.Session = r.name("sid")
		case "sts":
			hasStart = true
			start = r.stamp("sts")
		case "cts":
			hasCommit = true
			commit = r.stamp("cts")
		case "ops":
			if ops {
				r.s.Fail(at, "ops", "given twice; expected one array of operations")
			}
			ops = true
			for r.s.Array("ops"); r.s.More(); {
				r.op()
			}
		default:
			r.s.Pass()
		}
	}
	switch {
	case !ops:
		r.s.Fail(at, "ops", "missing; expected an array of operations")
	case !hasCommit || !hasStart:
		r.s.Fail(at, "sts", "sts or cts is missing; expected both timestamps")
	case compare(start, commit) > 0:
		r.s.Fail(at, "cts", "is before sts; expected a commit not before the start")
	}
	h.StartTS, h.CommitTS = start.p, commit.p
	r.stamps = append(r.stamps, [2]stamp{start, commit})
	r.b.EndTxn(h)
}

// ranks replaces timestamps that have logical parts by their ranks.
func (r *reader) ranks(h *history.History) {
	all := make([]stamp, 0, 2*len(r.stamps))
	for _, s := range r.stamps {
		all = append(all, s[:]...)
	}
	sorts.Func(all, compare)
	all = slices.Compact(all)
	rank := func(s stamp) int64 {
		i, _ := slices.BinarySearchFunc(all, s, compare)
		return int64(i) + 1
	}
	h.Txns.StartTS, h.Txns.CommitTS = make([]int64, h.NumTxns()), make([]int64, h.NumTxns())
	for t, s := range r.stamps {
		h.Txns.StartTS[t], h.Txns.CommitTS[t] = rank(s[0]), rank(s[1])
	}
}

// op reads an operation. Its fields may have any order.
func (r *reader) op() {
	kind, key, hasKey, list := byte(0), int64(0), false, false
	var value history.Value
	at := r.s.Map("ops")
	for name, ok := r.s.Field("ops"); ok; name, ok = r.s.Field("ops") {
		switch string(name) {
		case "t":
			t := r.s.Token()
			if kind = 0; t.Kind == edn.Text {
				kind = kindOf(t.Text)
			}
			if kind == 0 {
				r.s.Fail(t.Pos, "t", "found %v; expected r, w or a", t)
			}
		case "k":
			hasKey = true
			key = r.s.Integer("k")
		case "v":
			if list = r.s.Peek() == '['; !list {
				value = r.scalar(r.s.Token())
				break
			}
			r.s.Array("v")
			for r.elems = r.elems[:0]; r.s.More(); {
				e := r.s.Token()
				if e.Kind == edn.Nil {
					r.s.Fail(e.Pos, "v", "found %v in a list; expected an integer or a string", e)
				}
				r.elems = append(r.elems, r.scalar(e))
			}
		default:
			r.s.Pass()
		}
	}
	switch {
	case kind == 0 || !hasKey:
		r.s.Fail(at, "ops", "an operation without t or k; expected both")
	case list && kind != 'r':
		r.s.Fail(at, "v", "found an array; expected an integer, a string or null")
	case kind == 'a' && value.Kind == history.Null:
		r.s.Fail(at, "v", "found nothing; expected the element that is appended")
	}
	k := r.b.Key(history.IntValue(key))
	// A file with an append or a read of an array has lists: null is then the empty list.
	r.b.Meta.Lists = r.b.Meta.Lists || list || kind == 'a'
	switch {
	case list:
		r.b.ReadList(k, r.elems)
	case kind == 'r':
		r.nullRead = r.nullRead || value.Kind == history.Null
		r.zeroRead = r.zeroRead || value == history.IntValue(0)
		r.b.Read(k, value)
	case kind == 'w':
		r.zeroWritten = r.zeroWritten || value == history.IntValue(0)
		r.b.Write(k, value)
	default:
		r.b.Append(k, value)
	}
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

// scalar makes a value or a list's element from a token.
func (r *reader) scalar(t *edn.Token) history.Value {
	switch t.Kind {
	case edn.Int:
		return history.IntValue(t.N)
	case edn.Text:
		if n, err := strconv.ParseInt(string(t.Text), 10, 64); err == nil {
			return history.IntValue(n)
		}
		return r.b.StringValue(t.Text)
	case edn.Nil:
	default:
		r.s.Fail(t.Pos, "v", "found %v; expected an integer, a string or null", t)
	}
	return history.Value{}
}
