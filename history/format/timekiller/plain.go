package timekiller

import (
	"bytes"
	"slices"
	"strconv"

	"isovet/history"
	"isovet/history/format/edn"
)

// plain reads files as TimeKiller and similar tools write them, in one pass. For other files it gives up, and [reader]
// reads them or says what is wrong with them.
type plain struct {
	p edn.Plain
	reader
	list     bool // the operation's value is a list
	value    history.Value
	hasValue bool
}

// readPlain reads a file that is plain throughout; false if it is not.
func readPlain(data []byte, file string) (*history.History, bool) {
	r := plain{p: edn.NewPlain(data, true)}
	r.names = map[string]int64{}
	r.b = history.NewBuilder()
	r.b.File = file
	if !r.p.Take('[') {
		return nil, false
	}
	var stamps []txn // of all transactions, if one has a logical part
	line, counted := 1, 0
	var sts, cts []stamp
	logical := false
	for !r.p.Take(']') {
		if !r.p.Take('{') {
			return nil, false
		}
		at := r.p.Pos()
		line += bytes.Count(data[counted:at], []byte{'\n'})
		counted = at
		var x txn
		x.head = history.NewTxnHead()
		x.head.Line = uint32(line)
		if !r.object(&x) {
			return nil, false
		}
		x.head.StartTS, x.head.CommitTS = x.sts.p, x.cts.p
		r.b.EndTxn(x.head)
		sts, cts = append(sts, x.sts), append(cts, x.cts)
		logical = logical || x.sts.l != 0 || x.cts.l != 0
	}
	if r.p.Peek() != 0 || r.p.Pos() < len(data) || len(sts) == 0 {
		return nil, false
	}
	if logical {
		stamps = make([]txn, len(sts))
		for i := range stamps {
			stamps[i].sts, stamps[i].cts = sts[i], cts[i]
		}
	}
	r.notes(logical)
	h, err := r.b.Build()
	if err != nil {
		return nil, false
	}
	if logical {
		ticks(stamps)
		for i := range stamps {
			h.Txns.StartTS[i], h.Txns.CommitTS[i] = stamps[i].head.StartTS, stamps[i].head.CommitTS
		}
	}
	return h, true
}

// object reads a transaction behind its bracket.
func (r *plain) object(x *txn) bool {
	ops := false
	for !r.p.Take('}') {
		name, ok := r.p.Text()
		if !ok {
			return false
		}
		switch string(name) {
		case "tid":
			x.head.HasID = true
			x.head.ID, ok = r.id()
		case "sid":
			x.head.HasSess = true
			x.head.Session, ok = r.id()
		case "sts":
			x.hasS = true
			x.sts, ok = r.time()
		case "cts":
			x.hasC = true
			x.cts, ok = r.time()
		case "ops":
			if ops {
				return false
			}
			ops = true
			ok = r.operations()
		default:
			ok = r.p.Skip()
		}
		if !ok {
			return false
		}
	}
	return ops && x.hasC && x.hasS && compare(x.sts, x.cts) <= 0
}

// integer reads an integer, as a number or a string.
func (r *plain) integer() (int64, bool) {
	if r.p.Peek() != '"' {
		return r.p.Int()
	}
	text, ok := r.p.Text()
	if !ok {
		return 0, false
	}
	return digits(text)
}

// digits reads a plain integer.
func digits(text []byte) (int64, bool) {
	n := int64(0)
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func (r *plain) id() (int64, bool) {
	if r.p.Peek() != '"' {
		return r.p.Int()
	}
	text, ok := r.p.Text()
	if !ok {
		return 0, false
	}
	if n, ok := digits(text); ok {
		return n, true
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	return r.named(text), true
}

func (r *plain) time() (s stamp, ok bool) {
	if r.p.Peek() != '{' {
		s.p, ok = r.p.Int()
		return s, ok
	}
	r.p.Take('{')
	has := false
	for !r.p.Take('}') {
		name, ok := r.p.Text()
		if !ok {
			return s, false
		}
		switch string(name) {
		case "p":
			has = true
			s.p, ok = r.integer()
		case "l":
			s.l, ok = r.integer()
		default:
			ok = r.p.Skip()
		}
		if !ok {
			return s, false
		}
	}
	return s, has
}

func (r *plain) operations() bool {
	if !r.p.Take('[') {
		return false
	}
	for !r.p.Take(']') {
		if !r.p.Take('{') || !r.operation() {
			return false
		}
	}
	return true
}

func (r *plain) operation() bool {
	kind, key, hasKey := byte(0), int64(0), false
	r.hasValue, r.list, r.value = false, false, history.Value{}
	for !r.p.Take('}') {
		name, ok := r.p.Text()
		if !ok {
			return false
		}
		switch string(name) {
		case "t":
			var text []byte
			if text, ok = r.p.Text(); ok {
				if kind = kindOf(text); kind == 0 {
					return false
				}
			}
		case "k":
			hasKey = true
			key, ok = r.integer()
		case "v":
			if r.hasValue {
				return false
			}
			r.hasValue = true
			ok = r.plainValue()
		default:
			ok = r.p.Skip()
		}
		if !ok {
			return false
		}
	}
	if kind == 0 || !hasKey || r.list && kind != 'r' || kind == 'a' && r.value.Kind == history.Null {
		return false
	}
	k := r.b.Key(history.IntValue(key))
	if r.list {
		r.b.Meta.Lists = true
		r.b.ReadList(k, r.elems)
		return true
	}
	r.scalarOp(kind, k, r.value)
	return true
}

// plainValue reads an operation's value.
func (r *plain) plainValue() bool {
	if r.p.Peek() != '[' {
		var ok bool
		r.value, ok = r.plainScalar()
		return ok
	}
	r.p.Take('[')
	r.list = true
	r.elems = r.elems[:0]
	for !r.p.Take(']') {
		v, ok := r.plainScalar()
		if !ok || v.Kind == history.Null {
			return false
		}
		r.elems = append(r.elems, v)
	}
	return true
}

func (r *plain) plainScalar() (history.Value, bool) {
	switch r.p.Peek() {
	case '"':
		text, ok := r.p.Text()
		if !ok {
			return history.Value{}, false
		}
		return r.b.StringValue(text), true
	case 'n':
		return history.Value{}, r.p.Nil()
	}
	n, ok := r.p.Int()
	return history.IntValue(n), ok
}

// hasLogical reports whether a timestamp has a logical part.
func hasLogical(txns []txn) bool {
	return slices.ContainsFunc(txns, func(x txn) bool { return x.sts.l != 0 || x.cts.l != 0 })
}
