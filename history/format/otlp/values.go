package otlp

import (
	"encoding/base64"
	"strconv"
	"strings"

	"isovet/history"
)

// keyed reads an attribute: its key, and its value as JSON, which it appends to val at from. text says that the value
// is a text.
func (p *plainReader) keyed(depth int) (key []byte, from int, text, ok bool) {
	from, p.bare = len(p.val), false
	keyed := false
	seen, ok := p.fields(func(field []byte) (bit int, ok bool) {
		switch string(field) {
		case "key":
			var simple bool
			if key, simple, ok = p.raw(); !simple && ok {
				key = unescape(nil, key)
			}
			p.bare = depth == 0 && !keyed && string(key) == "isovet.ops"
			return 1, ok
		case "value":
			keyed = true
			text, ok = p.value(depth)
			return 2, ok
		}
		return 0, p.other(field, "key", "value")
	})
	if !ok {
		return nil, 0, false, false
	}
	if seen&2 == 0 {
		p.val = append(p.val, "null"...)
	}
	return key, from, text, true
}

// value reads OTLP's AnyValue and appends it to val as JSON of the project's format.
func (p *plainReader) value(depth int) (text, ok bool) {
	if depth > maxDepth {
		return false, false
	}
	some, ok := p.fields(func(field []byte) (bit int, ok bool) {
		switch string(field) {
		case "stringValue":
			text = true
			if p.bare && depth == 0 {
				if p.opsText, ok = nil, p.plainOps(); !ok {
					p.opsText, _, ok = p.raw()
				}
			} else {
				p.val, ok = p.str(p.val)
			}
		case "intValue":
			var n int64
			n, ok = p.integer()
			p.val = strconv.AppendInt(p.val, n, 10)
		case "boolValue":
			is := p.next() == 't'
			ok = is && p.literal("true") || !is && p.literal("false")
			p.val = strconv.AppendBool(p.val, is)
		case "doubleValue":
			var lit []byte
			lit, ok = p.number()
			if n, err := strconv.ParseInt(string(lit), 10, 64); err == nil {
				p.val = strconv.AppendInt(p.val, n, 10)
			} else {
				p.val = history.AppendJSONString(p.val, string(lit))
			}
		case "bytesValue":
			var raw []byte
			var simple bool
			raw, simple, ok = p.raw()
			b, err := base64.StdEncoding.DecodeString(string(raw))
			ok = ok && simple && err == nil
			p.val = history.AppendJSONString(p.val, strings.ToValidUTF8(string(b), "\ufffd"))
		case "arrayValue", "kvlistValue":
			ok = p.values(string(field) == "kvlistValue", depth)
		default:
			return 0, p.other(field, "stringValue", "intValue", "boolValue", "doubleValue", "bytesValue", "arrayValue",
				"kvlistValue")
		}
		return 1, ok
	})
	if some == 0 {
		p.val = append(p.val, "null"...)
	}
	return text, ok
}

// values reads an array of values, or a list of keys with values.
func (p *plainReader) values(keyed bool, depth int) bool {
	bracket := "[]"
	if keyed {
		bracket = "{}"
	}
	p.val = append(p.val, bracket[0])
	more := false
	if !p.member("values", func() bool {
		if more {
			p.val = append(p.val, ',')
		}
		more = true
		if !keyed {
			_, ok := p.value(depth + 1)
			return ok
		}
		// The key comes before the value, whatever their order is.
		key, from, _, ok := p.keyed(depth + 1)
		if !ok {
			return false
		}
		n := len(p.val)
		p.val = append(history.AppendJSONString(p.val, string(key)), ':')
		head := string(p.val[n:])
		copy(p.val[from+len(head):], p.val[from:n])
		copy(p.val[from:], head)
		return true
	}) {
		return false
	}
	p.val = append(p.val, bracket[1])
	return true
}

// plainOps reads the text of isovet.ops as programs write it: a list of reads, writes and appends. Keys are integers or
// plain texts; values are such, null, or lists of integers. It appends the operations to said. It returns false,
// reading nothing, for other texts. It accepts only texts that unescape and skip accept.
func (p *plainReader) plainOps() bool {
	if p.next() != '"' {
		return false
	}
	d, i, said := p.data, p.i+1, p.said
	if i == len(d) || d[i] != '[' {
		return false
	}
	for first := true; ; first = false {
		// The shortest operation has 11 bytes, [\"r\",1,2], and the text is in brackets.
		i++ // behind the bracket or comma
		if len(d)-i < 13 {
			return false
		}
		if d[i] == ' ' {
			i++
		}
		c := d[i+3]
		if string(d[i:i+3]) != `[\"` || c != 'r' && c != 'w' && c != 'a' || string(d[i+4:i+7]) != `\",` {
			return false
		}
		if !first {
			said = append(said, ',')
		}
		said = append(said, '[', '"', c, '"', ',')
		i += 7
		from := i
		if i = plainInt(d, i); i > from {
			said = append(said, d[from:i]...)
		} else if said, i = plainKey(said, d, i); i == 0 {
			return false
		}
		if len(d)-i < 8 || d[i] != ',' {
			return false
		}
		if i++; d[i] == ' ' {
			i++
		}
		said = append(said, ',')
		from = i
		switch {
		case d[i] == '[':
			i = plainInts(d, i)
		case string(d[i:i+4]) == "null":
			i += 4
		default:
			i = plainInt(d, i)
		}
		if i > from {
			said = append(said, d[from:i]...)
		} else if said, i = plainKey(said, d, i); i == 0 {
			return false
		}
		if len(d)-i < 3 || d[i] != ']' {
			return false
		}
		said = append(said, ']')
		i++
		switch {
		case d[i] == ',':
		case d[i] == ']' && d[i+1] == '"':
			p.i, p.said = i+2, said
			return true
		default:
			return false
		}
	}
}

// plainInt returns the end of an integer of at most 18 digits that begins at i; i if there is none.
func plainInt(d []byte, i int) int {
	begin := i
	if i < len(d) && d[i] == '-' {
		i++
	}
	first := i
	for i < len(d) && d[i]-'0' <= 9 {
		i++
	}
	if i == first || i-first > 18 || d[first] == '0' && i-first > 1 {
		return begin
	}
	return i
}

// plainInts returns the end of a list of integers that begins at i; i if there is none.
func plainInts(d []byte, i int) int {
	begin := i
	if i++; i < len(d) && d[i] == ']' {
		return i + 1
	}
	for {
		from := i
		if i = plainInt(d, i); i == from || i == len(d) {
			return begin
		}
		i++
		switch {
		case d[i-1] == ']':
			return i
		case d[i-1] != ',':
			return begin
		case i < len(d) && d[i] == ' ':
			i++
		}
	}
}

// plainKey appends a plain text whose quotes are escaped, and returns its end; 0 if there is none.
func plainKey(dst, d []byte, i int) ([]byte, int) {
	if len(d)-i < 2 || d[i] != '\\' || d[i+1] != '"' {
		return dst, 0
	}
	from := i + 2
	for i = from; i < len(d) && ordinary[d[i]]; i++ {
	}
	if len(d)-i < 2 || d[i] != '\\' || d[i+1] != '"' {
		return dst, 0
	}
	return append(append(append(dst, '"'), d[from:i]...), '"'), i + 2
}
