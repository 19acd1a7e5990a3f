package jepsen

import (
	"bytes"
	"cmp"
	"math"
	"strconv"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/slice"
)

// shape is the form in which an operation names its key.
type shape uint8

const (
	noShape  shape = iota
	alone          // a value: of the one register, or the one set
	withKey        // [key value], or a value and a field key
	txnShape       // micro-operations
	keyedTxn       // [key micro-operations], as jepsen.independent has them
)

var shapes = [...]string{alone: "a value without a key", withKey: "a value with a key", txnShape: "micro-operations",
	keyedTxn: "a key with micro-operations"}

// shaped returns an error if an operation has another shape than earlier ones. The reader would misunderstand one of
// them, and so accuse the database of reads that no transaction wrote.
func (r *reader) shaped(s shape, e *event) error {
	switch {
	case r.shape == s:
		return nil
	case r.shape == noShape:
		r.shape, r.shapeLine = s, e.line
		return nil
	}
	expected := "all operations with a key, [key value], or all without"
	switch {
	case r.model == sets && !r.used[addFn]:
		expected = "writes and reads of the same values (write k with read [k [subkeys]] is Jepsen's sequential " +
			"workload, not a set: --workload sequential)"
	case r.model == sets:
		expected = "add v and read #{v …}, or add [key v] and read [key #{v …}]"
	case s >= txnShape && r.shape >= txnShape:
		expected = "all transactions with a key, [key [[:r k v] …]], or all without"
	case s >= txnShape || r.shape >= txnShape:
		expected = "transactions, or operations on registers"
	}
	return r.s.Errorf(e.pos, "value", "found %s, where line %d has %s; expected one form in the file: %s", shapes[s],
		r.shapeLine, shapes[r.shape], expected)
}

// independent finds the parts of [key micro-operations]. in is the place of the micro-operations, -1 if the value is no
// such pair; appends says whether they are on lists.
func (r *reader) independent(at int) (key edn.Token, in int, appends bool, err error) {
	back := r.s.Pos()
	defer r.s.Seek(back)
	r.s.Seek(at)
	t, err := r.s.Next()
	if err != nil || !t.Opens() {
		return key, -1, false, err
	}
	if key, err = r.s.Next(); err != nil || key.Kind == edn.Open || key.Kind == edn.Close || key.Kind == edn.Nil {
		return key, -1, false, err
	}
	key.Text = append([]byte(nil), key.Text...)
	in = r.s.Pos()
	micro, appends, err := r.micro(in)
	if err != nil || !micro {
		return key, -1, false, err
	}
	return key, in, appends, nil
}

// number returns the integer that a text stands for, or a number with a point or exponent in JSON, which has one kind
// of numbers.
func (r *reader) number(t edn.Token) (int64, bool) {
	if t.Kind == edn.Number && r.s.JSON {
		x, err := strconv.ParseFloat(string(t.Text), 64)
		return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
	}
	if !r.numbers {
		return 0, false
	}
	n, err := strconv.ParseInt(string(t.Text), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(t.Text)
}

// scalar makes a key or value from a token.
func (r *reader) scalar(t edn.Token, field string) (history.Value, error) {
	switch t.Kind {
	case edn.Int:
		return history.IntValue(t.N), nil
	case edn.Nil:
		return history.Value{Kind: history.Null}, nil
	case edn.Bool:
		return history.BoolValue(t.N == 1), nil
	case edn.Word, edn.Text, edn.Number:
		if n, is := r.number(t); is {
			return history.IntValue(n), nil
		}
		return r.b.StringValue(t.Text), nil
	}
	return history.Value{}, r.s.Errorf(t.Pos, field, "found %v; expected a number, a word or nil", t)
}

// oneForm returns an error if a key or value stood before as a text where it now is a keyword or a number, or the
// reverse. They are two keys or values, which the history does not tell apart.
func (r *reader) oneForm(t edn.Token, field string, words *[]int) error {
	if t.Kind != edn.Word && t.Kind != edn.Text && t.Kind != edn.Number {
		return nil
	}
	id, at, is, was := int(r.b.Text(t.Text)), t.Pos+1, "a text", "a keyword"
	if bytes.IndexAny(t.Text, "-0123456789") == 0 {
		was = "a number"
	}
	if t.Kind != edn.Text {
		at, is, was = -at, was, is
	}
	if n := id + 1 - len(*words); n > 0 {
		*words = append(*words, make([]int, n)...)
	}
	first := &(*words)[id]
	if *first == 0 {
		*first = at
	}
	if (*first < 0) == (at < 0) {
		return nil
	}
	return r.s.Errorf(t.Pos, field, "found %v as %s, where line %d has it as %s; expected one form in the file", t, is,
		r.s.Line(max(*first, -*first)-1), was)
}

// microKey makes the key of a micro-operation. In an independent transaction it is the text "key key".
func (r *reader) microKey(t edn.Token) (uint32, error) {
	if err := r.oneForm(t, "key", &r.keyWords); err != nil {
		return 0, err
	}
	if r.prefix == nil {
		return r.key(t)
	}
	switch t.Kind {
	case edn.Int, edn.Word, edn.Text, edn.Number:
		r.buf = spelled(append(r.buf[:0], r.prefix...), t)
		return r.b.Key(r.b.StringValue(r.buf)), nil
	}
	return r.key(t) // says what is wrong
}

// keyedTxn adds a transaction of jepsen.independent; done is false if the value is no such transaction.
func (r *reader) keyedTxn(e *event, status history.Status) (done, any bool, err error) {
	key, in, _, err := r.independent(e.value)
	if err != nil || in < 0 {
		return false, false, err
	}
	if err := cmp.Or(r.shaped(keyedTxn, e), r.oneForm(key, "key", &r.around)); err != nil {
		return true, false, err
	}
	r.prefix = append(spelled(r.prefix[:0], key), ' ')
	any, err = r.microOps(in, status)
	r.prefix = nil
	return true, any, err
}

// mayWrite reports whether the file has the word w or write, as a keyword, symbol or text. Without them no
// micro-operation is a write. Cost: the time to look for each letter w.
func (r *reader) mayWrite() bool {
	inWord := func(c byte) bool {
		return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	data := r.s.Data
	for i := bytes.IndexByte(data, 'w'); i >= 0; {
		rest := bytes.TrimPrefix(data[i+1:], []byte("rite"))
		if (i == 0 || !inWord(data[i-1])) && len(rest) > 0 && !inWord(rest[0]) {
			return true
		}
		next := bytes.IndexByte(data[i+1:], 'w')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// findRegisters finds the keys that some micro-operation writes. In a history of lists a read of such a key returns the
// value of a register; every other read returns a list.
func (r *reader) findRegisters() error {
	for i := range r.events {
		at := r.events[i].value
		if at < 0 {
			continue
		}
		at, micro, err := r.microAt(at)
		if err != nil {
			return err
		} else if !micro {
			continue
		}
		all, err := r.micros(at)
		if err != nil {
			return err
		}
		for _, m := range all {
			if m.f == 'w' {
				slice.MakeMap(&r.registers)
				r.registers[string(m.key)], r.plain = true, false
			}
		}
	}
	return nil
}
