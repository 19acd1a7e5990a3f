package jsonl

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"isovet/history"
	"isovet/level"
)

// The fields of a transaction, as bits: a field that occurs twice is an error.
const (
	fID = 1 << iota
	fSession
	fSeq
	fStatus
	fStart
	fEnd
	fCommit
	fStartTS
	fCommitTS
	fInit
	fNode
	fName
	fLocking
	fLevel
	fOps
)

// scanMargin is the number of bytes that must follow a position so that the scanner can read an operation without
// checking for the end of the data. An operation of integers with times takes 5+4·21 bytes, and eight are loaded at a
// time. The tolerant reader reads lines nearer to the end.
const scanMargin = 128

const (
	headRead   = uint64('[') | '"'<<8 | 'r'<<16 | '"'<<24 | ','<<32
	headWrite  = uint64('[') | '"'<<8 | 'w'<<16 | '"'<<24 | ','<<32
	headAppend = uint64('[') | '"'<<8 | 'a'<<16 | '"'<<24 | ','<<32
	headMask   = 1<<40 - 1
)

// scan reads the transaction whose line begins at data[i] and returns where the next line begins. It returns 0 at a
// surprise: the tolerant reader must read the line. Operations before the surprise have been added to the builder.
func (p *parser) scan(data []byte, i int) int {
	limit := len(data) - scanMargin
	if i > limit || data[i] != '{' {
		return 0
	}
	h := history.NewTxnHead()
	seen := 0
	for {
		i++
		if i > limit || data[i] != '"' {
			return 0
		}
		f := data[i+1 : i+16]
		field := 0
		var num *int64
		switch f[0] {
		case 'i':
			switch {
			case string(f[:4]) == `id":`:
				field, num, i = fID, &h.ID, i+5
				h.HasID = true
			case string(f[:10]) == `init":true`:
				field, i = fInit, i+11
				h.Init = true
			case string(f[:11]) == `init":false`:
				field, i = fInit, i+12
			}
		case 's':
			switch {
			case string(f[:9]) == `session":`:
				field, num, i = fSession, &h.Session, i+10
				h.HasSess = true
			case string(f[:5]) == `seq":`:
				field, num, i = fSeq, &h.Seq, i+6
				h.HasSeq = true
			case string(f[:7]) == `start":`:
				field, num, i = fStart, &h.Start, i+8
			case string(f[:10]) == `start_ts":`:
				field, num, i = fStartTS, &h.StartTS, i+11
			case string(f[:9]) == `status":"`:
				field, i = fStatus, i+10
				s := data[i : i+10]
				switch {
				case string(s) == `committed"`:
					h.Status, i = history.Committed, i+10
				case string(s[:8]) == `aborted"`:
					h.Status, i = history.Aborted, i+8
				case string(s[:8]) == `unknown"`:
					h.Status, i = history.Unknown, i+8
				default:
					return 0
				}
			}
		case 'e':
			if string(f[:5]) == `end":` {
				field, num, i = fEnd, &h.End, i+6
			}
		case 'c':
			switch {
			case string(f[:8]) == `commit":`:
				field, num, i = fCommit, &h.Commit, i+9
			case string(f[:11]) == `commit_ts":`:
				field, num, i = fCommitTS, &h.CommitTS, i+12
			}
		case 'n':
			if string(f[:7]) == `name":"` || string(f[:7]) == `node":"` {
				from := i + 8
				i = plainString(data, from, limit)
				if i == 0 {
					return 0
				}
				id := p.b.Text(data[from : i-1])
				if f[1] == 'a' {
					field, h.Name = fName, id
				} else {
					field, h.Node = fNode, id
				}
			}
		case 'l':
			if string(f[:8]) == `level":"` {
				from := i + 9
				if i = plainString(data, from, limit); i == 0 {
					return 0
				}
				if field, h.Level = fLevel, p.levelText(data[from:i-1]); h.Level == history.None {
					return 0
				}
			}
			if string(f[:10]) == `locking":"` {
				from := i + 11
				if i = plainString(data, from, limit); i == 0 {
					return 0
				}
				field, h.Locking = fLocking, p.b.Text(data[from:i-1])
			}
		case 'o':
			if string(f[:6]) == `ops":[` {
				if seen&fOps != 0 {
					return 0 // no operation has been added
				}
				field = fOps
				i = p.scanOps(data, i+7)
				if i == 0 {
					return 0
				}
			}
		}
		if field == 0 || seen&field != 0 {
			return 0
		}
		seen |= field
		if num != nil {
			if *num, i = integer(data, i); i == 0 {
				return 0
			}
		}
		if data[i] != ',' {
			break
		}
	}
	if data[i] != '}' || seen&fOps == 0 {
		return 0
	}
	i++
	if data[i] == '\r' {
		i++
	}
	if data[i] != '\n' {
		return 0
	}
	h.Line = p.lines
	p.endTxn(h)
	return i + 1
}

// levelText returns the text of a level in the spelling of package level, or None for another one.
func (p *parser) levelText(name []byte) uint32 {
	if !bytes.Equal(name, p.level) {
		if l, err := level.Parse(string(name)); err != nil || l.String() != string(name) {
			return history.None
		}
		p.level = append(p.level[:0], name...)
	}
	return p.b.Text(name)
}

// scanOps adds the operations of the array whose first element begins at data[i] and returns the position behind the
// array; 0 at a surprise.
func (p *parser) scanOps(data []byte, i int) int {
	limit := len(data) - scanMargin
	if i > limit {
		return 0
	}
	if data[i] == ']' {
		return i + 1
	}
	for {
		if i > limit {
			return 0
		}
		if end := p.scanOp(data, i); end > 0 {
			i = end
		} else if i = p.tol.partAt(data, i, false); i == 0 || i > limit {
			return 0
		}
		switch data[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return 0
		}
	}
}

// scanOp adds the operation at data[i]: a read, write or append of a scalar, a read of a list of integers, or a
// predicate operation. It returns the position behind it; 0, adding nothing, if it is something else.
func (p *parser) scanOp(data []byte, i int) int {
	limit := len(data) - scanMargin
	var kind history.OpKind
	switch binary.LittleEndian.Uint64(data[i:]) & headMask {
	case headRead:
		kind = history.Read
	case headWrite:
		kind = history.Write
	case headAppend:
		kind = history.Append
	default:
		return p.scanPredicate(data, i)
	}
	i += 5
	key, val := history.Value{Kind: history.Int}, history.Value{Kind: history.Int}
	if data[i] == '"' {
		from := i + 1
		if i = plainString(data, from, limit); i == 0 {
			return 0
		}
		key = p.b.StringValue(data[from : i-1])
	} else if key.N, i = integer(data, i); i == 0 {
		return 0
	}
	if data[i] != ',' {
		return 0
	}
	i++
	list := false
	switch c := data[i]; {
	case c <= '9' && c != '"':
		if val.N, i = integer(data, i); i == 0 {
			return 0
		}
	case c == '"':
		from := i + 1
		if i = plainString(data, from, limit); i == 0 {
			return 0
		}
		val = p.b.StringValue(data[from : i-1])
	case c == '[' && kind == history.Read:
		list = true
		if i = p.scanInts(data, i+1, limit); i == 0 {
			return 0
		}
	case c == '{' && kind == history.Append:
		return 0
	default:
		if val, i = p.plainValue(data, i, limit); i == 0 {
			return 0
		}
	}
	start, end, i := p.opTimes(data, i)
	if i == 0 {
		return 0
	}
	if k := p.b.Key(key); list {
		p.b.ReadList(k, p.tol.elems)
	} else {
		p.b.Item(kind, k, val)
	}
	if start != history.NoTime {
		p.b.OpTimes(start, end)
	}
	return i
}

// scanInts reads integers up to a closing bracket into the list of elements.
func (p *parser) scanInts(data []byte, i, limit int) int {
	p.tol.elems = p.tol.elems[:0]
	if data[i] == ']' {
		return i + 1
	}
	for {
		var n int64
		if n, i = integer(data, i); i == 0 || i > limit {
			return 0
		}
		p.tol.elems = append(p.tol.elems, history.IntValue(n))
		i++
		if data[i-1] == ']' {
			return i
		}
		if data[i-1] != ',' {
			return 0
		}
	}
}

// plainRow returns the position behind the row at data[i] if its text is canonical: no white space, no escapes, columns
// in order; else 0.
func plainRow(data []byte, i, limit int) int {
	if i > limit {
		return 0
	}
	i++ // the brace
	if data[i] == '}' {
		return i + 1
	}
	var last []byte
	for first := true; ; first = false {
		if data[i] != '"' {
			return 0
		}
		from := i + 1
		if i = plainString(data, from, limit); i == 0 || data[i] != ':' {
			return 0
		}
		name := data[from : i-1]
		if !first && bytes.Compare(last, name) >= 0 {
			return 0
		}
		last = name
		i++
		if i = plainScalar(data, i, limit); i == 0 {
			return 0
		}
		i++
		if data[i-1] == '}' {
			return i
		}
		if data[i-1] != ',' || i > limit {
			return 0
		}
	}
}

// plainScalar returns the position behind the scalar at data[i] if its text is canonical, otherwise 0.
func plainScalar(data []byte, i, limit int) int {
	switch c := data[i]; {
	case c == '"':
		return plainString(data, i+1, limit)
	case string(data[i:i+4]) == "null" || string(data[i:i+4]) == "true":
		return i + 4
	case string(data[i:i+5]) == "false":
		return i + 5
	case c == '-' && data[i+1] == '0':
		return 0 // a zero, but not as we write it
	}
	_, i = integer(data, i)
	return i
}

// plainString returns the position behind the closing quote of the string whose content begins at data[i]. It returns 0
// if the string has an escape or a byte beyond ASCII, or comes near the end of the data.
func plainString(data []byte, i, limit int) int {
	for ; i <= limit; i++ {
		c := data[i]
		if c == '"' {
			return i + 1
		}
		if c < 0x20 || c >= 0x80 || c == '\\' {
			return 0
		}
	}
	return 0
}

var pow10 = [9]uint64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// integer reads an integer of at most 19 digits at data[i] and returns the position after it. At least 32 bytes must
// follow. It returns position 0 if there is no integer, it has a leading zero, or it is too large.
func integer(data []byte, i int) (int64, int) {
	neg := data[i] == '-'
	if neg {
		i++
	}
	t := binary.LittleEndian.Uint64(data[i:]) ^ 0x3030303030303030
	n := digits(t)
	if t&0xff == 0 && n > 1 || n == 0 {
		return 0, 0
	}
	v := eight(t << (64 - 8*n))
	i += int(n)
	if n == 8 {
		t = binary.LittleEndian.Uint64(data[i:]) ^ 0x3030303030303030
		n = digits(t)
		v = v*pow10[n&15] + eight(t<<(64-8*n))
		i += int(n)
		if n == 8 {
			t = binary.LittleEndian.Uint64(data[i:]) ^ 0x3030303030303030
			n = digits(t)
			if n > 3 {
				return 0, 0
			}
			v = v*pow10[n] + eight(t<<(64-8*n))
			i += int(n)
		}
	}
	if v > math.MaxInt64 {
		return 0, 0
	}
	if neg {
		return -int64(v), i
	}
	return int64(v), i
}

// digits counts the decimal digits at the beginning of t, which is eight bytes xor '0'. A byte that is no digit may
// cause a carry, which affects only later bytes.
func digits(t uint64) uint {
	return uint(bits.TrailingZeros64(((t+0x7676767676767676)|t)&0x8080808080808080)) >> 3
}

// eight returns the number of eight digit values, the first byte most significant. It combines pairs, then fours, then
// all eight.
func eight(t uint64) uint64 {
	t = (t*10 + t>>8) & 0x00ff00ff00ff00ff
	t = (t*100 + t>>16) & 0x0000ffff0000ffff
	return (t*10000 + t>>32) & 0xffffffff
}
