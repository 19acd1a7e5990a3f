package jsonl

import (
	"bytes"
	"encoding/binary"
	"math"

	"isovet/history"
)

const (
	headPredRead  = uint64('[') | '"'<<8 | 'p'<<16 | 'r'<<24 | '"'<<32 | ','<<40
	headPredWrite = uint64('[') | '"'<<8 | 'p'<<16 | 'w'<<24 | '"'<<32 | ','<<40
	headPredMask  = 1<<48 - 1
)

// scanPredicate adds the predicate operation at data[i] and returns the position behind it; 0, adding nothing, if it is
// something else or there is a surprise. It allocates nothing. tolerant.operation is its simple counterpart.
func (p *parser) scanPredicate(data []byte, i int) int {
	limit := len(data) - scanMargin
	var kind history.OpKind
	switch binary.LittleEndian.Uint64(data[i:]) & headPredMask {
	case headPredRead:
		kind = history.PredRead
	case headPredWrite:
		kind = history.PredWrite
	default:
		return 0
	}
	i += 6
	from := i
	t := &p.tol
	if i = plainPredicate(data, from, limit); i > 0 {
		t.pred = append(t.pred[:0], data[from:i]...)
	} else if i = t.partAt(data, from, true); i == 0 {
		return 0
	}
	if i > limit || data[i] != ',' || data[i+1] != '[' {
		return 0
	}
	if i = p.scanRows(data, i+2, limit, kind); i == 0 {
		return 0
	}
	start, end, i := p.opTimes(data, i)
	if i == 0 {
		return 0
	}
	p.b.Predicate(kind, t.pred, t.rows)
	if start != history.NoTime {
		p.b.OpTimes(start, end)
	}
	return i
}

// scanRows reads matched rows into the list of rows, up to the bracket behind them.
func (p *parser) scanRows(data []byte, i, limit int, kind history.OpKind) int {
	t := &p.tol
	t.rows = t.rows[:0]
	for more := data[i] != ']'; more; {
		var r history.PredRow
		if r, i = p.scanRow(data, i, limit, kind); i == 0 || i > limit {
			return 0
		}
		t.rows = append(t.rows, r)
		if more = data[i] == ','; more {
			i++
		}
	}
	if data[i] != ']' {
		return 0
	}
	return i + 1
}

// scanRow reads a row that a predicate matched: [key, value] for a read, [key, old, new] or [key, new] for a write.
func (p *parser) scanRow(data []byte, i, limit int, kind history.OpKind) (r history.PredRow, end int) {
	if data[i] != '[' {
		return r, 0
	}
	i++
	key := history.Value{Kind: history.Int}
	if data[i] == '"' {
		from := i + 1
		if i = plainString(data, from, limit); i == 0 {
			return r, 0
		}
		key = p.b.StringValue(data[from : i-1])
	} else if key.N, i = integer(data, i); i == 0 {
		return r, 0
	}
	if data[i] != ',' {
		return r, 0
	}
	i++
	r.Key = p.b.Key(key)
	p.b.Expect(r.Key)
	if r.OldRef, r.Old, i = p.rowValue(data, i, limit, r.Key); i == 0 || i > limit {
		return r, 0
	}
	if kind == history.PredWrite {
		if data[i] == ',' {
			if r.NewRef, r.New, i = p.rowValue(data, i+1, limit, r.Key); i == 0 || i > limit {
				return r, 0
			}
		} else {
			r.OldUnknown, r.NewRef, r.New, r.OldRef, r.Old = true, r.OldRef, r.Old, 0, history.Value{}
		}
	}
	if data[i] != ']' {
		return r, 0
	}
	return r, i + 1
}

// rowValue is plainValue for the value of a matched row; ref, if not 0, is Builder.RowRef's number of the value.
func (p *parser) rowValue(data []byte, i, limit int, key uint32) (ref uint32, v history.Value, end int) {
	if i > limit || data[i] != '{' {
		v, end = p.plainValue(data, i, limit)
		return 0, v, end
	}
	if row, end := p.intRow(data, i, limit); end > 0 {
		ref, v = p.b.RowRef(key, row)
		return ref, v, end
	}
	from := i
	if i = plainRow(data, i, limit); i == 0 || i > limit {
		return 0, v, 0
	}
	p.shape(data[from:i])
	return 0, p.b.RowAt(key, data[from:i]), i
}

// plainValue reads a scalar, or a row in canonical form; end is 0 if it is something else.
func (p *parser) plainValue(data []byte, i, limit int) (v history.Value, end int) {
	if i > limit {
		return v, 0
	}
	switch c := data[i]; {
	case c == '{':
		if row, end := p.intRow(data, i, limit); end > 0 {
			return p.b.PackedValue(row), end
		}
		from := i
		if i = plainRow(data, i, limit); i == 0 || i > limit {
			return v, 0
		}
		p.shape(data[from:i])
		return p.b.RowValue(data[from:i]), i
	case c == '"':
		from := i + 1
		if i = plainString(data, from, limit); i == 0 || i > limit {
			return v, 0
		}
		return p.b.StringValue(data[from : i-1]), i
	case c == 'n' && string(data[i:i+4]) == "null":
		return v, i + 4
	case c == 't' && string(data[i:i+4]) == "true":
		return history.BoolValue(true), i + 4
	case c == 'f' && string(data[i:i+5]) == "false":
		return history.BoolValue(false), i + 5
	case c <= '9':
		n, i := integer(data, i)
		return history.IntValue(n), i
	}
	return v, 0
}

// opTimes reads an operation's times, if it has any, and its closing bracket; behind is 0 at a surprise.
func (p *parser) opTimes(data []byte, i int) (start, end int64, behind int) {
	start, end = history.NoTime, history.NoTime
	if data[i] == ',' {
		if start, i = p.time(data, i+1); i == 0 || data[i] != ',' {
			return start, end, 0
		}
		if end, i = p.time(data, i+1); i == 0 || end < start {
			return start, end, 0
		}
	}
	if data[i] != ']' {
		return start, end, 0
	}
	return start, end, i + 1
}

// century is the unit of the first eight of 19 digits: in times in ns since 1970 it is 100 s.
const century = 100_000_000_000

// time is integer for times. Most have 19 digits and share the first eight.
func (p *parser) time(data []byte, i int) (int64, int) {
	head := binary.LittleEndian.Uint64(data[i:])
	if head == p.head && p.headTime > 0 {
		t := binary.LittleEndian.Uint64(data[i+8:]) ^ 0x3030303030303030
		u := binary.LittleEndian.Uint64(data[i+16:]) ^ 0x3030303030303030
		if digits(t) == 8 && digits(u) == 3 {
			return p.headTime + int64(eight(t)*1000+eight(u<<40)), i + 19
		}
	}
	n, behind := integer(data, i)
	if c := n / century; behind == i+19 && c >= 10_000_000 && c < math.MaxInt64/century {
		p.head, p.headTime = head, c*century
	}
	return n, behind
}

// plainPredicate returns the position behind the predicate at data[i] if it compares columns with scalars and its text
// is already what tolerant.predicate would make of it: no white space, no escapes, and columns and comparisons in
// ascending order, so that none repeats. Otherwise it returns 0.
func plainPredicate(data []byte, i, limit int) int {
	if i > limit || data[i] != '{' {
		return 0
	}
	var column []byte
	for first := true; ; first = false {
		i++
		from := i + 1
		if data[i] != '"' {
			return 0
		}
		if i = plainString(data, from, limit); i == 0 || i > limit || data[i] != ':' || data[i+1] != '{' {
			return 0
		}
		name := data[from : i-1]
		if !first && bytes.Compare(column, name) >= 0 {
			return 0
		}
		switch column = name; string(name) {
		case "and", "or", "not":
			return 0
		}
		if i = plainComparisons(data, i+1, limit); i == 0 || i > limit {
			return 0
		}
		switch data[i] {
		case '}':
			return i + 1
		case ',':
		default:
			return 0
		}
	}
}

// plainComparisons returns the position behind the object of comparisons at data[i]; 0 if it is not plain.
func plainComparisons(data []byte, i, limit int) int {
	var last []byte
	for first := true; ; first = false {
		i++
		if i > limit || data[i] != '"' {
			return 0
		}
		n := 1
		if data[i+2] != '"' {
			n = 2
		}
		op := data[i+1 : i+1+n]
		if !first && bytes.Compare(last, op) >= 0 {
			return 0
		}
		switch last = op; string(op) {
		case "=", "!=", "<", "<=", ">", ">=":
		default:
			return 0
		}
		i += n + 3
		if data[i-2] != '"' || data[i-1] != ':' {
			return 0
		}
		if i = plainScalar(data, i, limit); i == 0 {
			return 0
		}
		switch {
		case i > limit:
			return 0
		case data[i] == '}':
			return i + 1
		case data[i] != ',':
			return 0
		}
	}
}
