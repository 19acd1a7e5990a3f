package otlp

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/history"
)

// The functions of this file read JSON as strictly as encoding/json does.

// next skips white space and returns the next byte; 0 at the end, or for a zero byte.
func (p *plainReader) next() byte {
	for ; p.i < len(p.data); p.i++ {
		if c := p.data[p.i]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

func (p *plainReader) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.i++
	return true
}

// fields reads an object. For each field it calls each, which reads the value and returns the field's bit, or 0 if the
// field does not matter. It refuses a bit that it gets twice, and names that are not plain: with escapes or beyond
// ASCII.
func (p *plainReader) fields(each func(name []byte) (bit int, ok bool)) (seen int, ok bool) {
	if !p.take('{') {
		return 0, false
	}
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') {
			return 0, false
		}
		name, simple, ok := p.raw()
		if !ok || !simple || !p.take(':') {
			return 0, false
		}
		bit, ok := each(name)
		if !ok || seen&bit != 0 {
			return 0, false
		}
		seen |= bit
	}
	return seen, true
}

// ordinary marks the bytes that need no escape in a string.
var ordinary [256]bool

func init() {
	for c := range 0x80 {
		ordinary[c] = c >= 0x20 && c != '"' && c != '\\'
	}
}

// raw reads a string; simple says that it is ASCII without escapes.
func (p *plainReader) raw() (text []byte, simple, ok bool) {
	if p.next() != '"' {
		return nil, false, false
	}
	d, i := p.data, p.i+1
	from := i
	for i < len(d) && ordinary[d[i]] {
		i++
	}
	for simple = true; i < len(d); i++ {
		switch c := d[i]; {
		case c == '"':
			p.i = i + 1
			return d[from:i], simple, true
		case c < 0x20:
			return nil, false, false
		case c == '\\':
			simple = false
			if i++; i < len(d) && d[i] == 'u' {
				if len(d)-i < 5 || !hex(d[i+1]) || !hex(d[i+2]) || !hex(d[i+3]) || !hex(d[i+4]) {
					return nil, false, false
				}
				i += 4
			} else if i < len(d) && !strings.ContainsRune(`"\/bfnrt`, rune(d[i])) {
				return nil, false, false
			}
		case c >= 0x80:
			simple = false
		}
	}
	return nil, false, false
}

func hex(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

// unescape appends the text of a string that raw has read.
func unescape(dst, raw []byte) []byte {
	if !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\u`)) {
		var s string
		if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s) == nil {
			return append(dst, s...)
		}
	}
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		}
		dst, raw = append(dst, c), raw[i+2:]
	}
}

// str reads a string and appends it as JSON, as history.AppendJSONString writes it.
func (p *plainReader) str(dst []byte) ([]byte, bool) {
	raw, simple, ok := p.raw()
	if !ok {
		return dst, false
	}
	if simple {
		return append(append(append(dst, '"'), raw...), '"'), true
	}
	return history.AppendJSONString(dst, string(unescape(nil, raw))), true
}

// integer reads an integer of 64 bits, in quotes or not.
func (p *plainReader) integer() (int64, bool) {
	quoted := p.take('"')
	d, i := p.data, p.i
	neg := i < len(d) && d[i] == '-'
	if neg {
		i++
	}
	first, n := i, uint64(0)
	for ; i < len(d) && d[i]-'0' <= 9; i++ {
		n = 10*n + uint64(d[i]-'0')
	}
	// 19 digits fit into 64 bits without a sign.
	if i == first || i-first > 19 || n > math.MaxInt64 || !quoted && d[first] == '0' && i-first > 1 {
		return 0, false
	}
	if quoted {
		if i == len(d) || d[i] != '"' {
			return 0, false
		}
		i++
	}
	p.i = i
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}

// number reads a number of JSON.
func (p *plainReader) number() (text []byte, ok bool) {
	p.next()
	d, i := p.data, p.i
	digits := func() bool {
		from := i
		for i < len(d) && d[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(d) && d[i] == '-' {
		i++
	}
	first := i
	if !digits() || d[first] == '0' && i-first > 1 {
		return nil, false
	}
	if i < len(d) && d[i] == '.' {
		if i++; !digits() {
			return nil, false
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		if i++; i < len(d) && (d[i] == '-' || d[i] == '+') {
			i++
		}
		if !digits() {
			return nil, false
		}
	}
	text, p.i = d[p.i:i], i
	return text, true
}

func (p *plainReader) literal(name string) bool {
	if !bytes.HasPrefix(p.data[p.i:], []byte(name)) {
		return false
	}
	p.i += len(name)
	return true
}

// skip skips a value.
func (p *plainReader) skip(depth int) bool {
	switch c := p.next(); {
	case depth > maxDepth:
		return false
	case c == '"':
		_, _, ok := p.raw()
		return ok
	case c == '{':
		p.i++
		for first := true; ; first = false {
			if p.take('}') {
				return true
			} else if !first && !p.take(',') {
				return false
			}
			if _, _, ok := p.raw(); !ok || !p.take(':') || !p.skip(depth+1) {
				return false
			}
		}
	case c == '[':
		p.i++
		return p.elements(func() bool { return p.skip(depth + 1) })
	case c == 't':
		return p.literal("true")
	case c == 'f':
		return p.literal("false")
	case c == 'n':
		return p.literal("null")
	}
	_, ok := p.number()
	return ok
}

// other skips the value of an unknown field. It refuses a name that encoding/json would take for one of the known.
func (p *plainReader) other(name []byte, known ...string) bool {
	for _, k := range known {
		if len(k) == len(name) && strings.EqualFold(k, string(name)) {
			return false
		}
	}
	return p.skip(0)
}

// member reads an object of which only one field matters: an array. It calls each for every element.
func (p *plainReader) member(name string, each func() bool) bool {
	_, ok := p.fields(func(field []byte) (bit int, ok bool) {
		if string(field) != name {
			return 0, p.other(field, name)
		}
		return 1, p.take('[') && p.elements(each)
	})
	return ok
}

// elements reads the elements of an array, behind its bracket.
func (p *plainReader) elements(each func() bool) bool {
	for first := true; !p.take(']'); first = false {
		if !first && (!p.take(',') || p.next() == ']') || !each() {
			return false
		}
	}
	return true
}
