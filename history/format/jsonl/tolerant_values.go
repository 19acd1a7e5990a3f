package jsonl

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// wrong records an error about the value at the present position: it is malformed, or of another type than expected.
func (t *tolerant) wrong(expected string) bool {
	what := t.kind()
	return t.skip(0) && t.fail("%s; expected %s", what, expected)
}

// kind names the value at the present position.
func (t *tolerant) kind() string {
	c := t.peek()
	switch {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 't', c == 'f', c == 'n':
		return string(t.word())
	case c == '-', c >= '0' && c <= '9':
		return "the number " + string(t.word())
	}
	return "nothing"
}

// word returns the literal or number at the present position, clipped.
func (t *tolerant) word() []byte {
	i := t.i
	for i < len(t.b) && i < t.i+40 {
		c := t.b[i]
		if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		i++
	}
	return t.b[t.i:i]
}

// clip quotes a string for a message.
func clip(s []byte) string {
	if len(s) > 40 {
		return strconv.Quote(string(s[:40])) + "…"
	}
	return strconv.Quote(string(s))
}

// text reads a string, or records an error.
func (t *tolerant) text() ([]byte, bool) {
	if t.peek() != '"' {
		return nil, t.wrong("a string")
	}
	return t.str()
}

// str reads the string at the present position. The result is a piece of the line, or of strs, and lives as long as
// those.
func (t *tolerant) str() ([]byte, bool) {
	t.i++
	from := t.i
	ascii := true
	for ; t.i < len(t.b); t.i++ {
		switch c := t.b[t.i]; {
		case c == '"':
			s := t.b[from:t.i]
			if !ascii && !utf8.Valid(s) {
				return nil, t.fail("a string is not valid UTF-8")
			}
			t.i++
			return s, true
		case c == '\\':
			return t.escaped(from)
		case c < 0x20:
			return nil, t.syntax("'\"' or an escape sequence: control characters are not allowed in strings")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, t.syntax("'\"'")
}

// escaped reads the rest of a string with escapes whose content begins at from.
func (t *tolerant) escaped(from int) ([]byte, bool) {
	keep := len(t.strs)
	t.strs = append(t.strs, t.b[from:t.i]...)
	for t.i < len(t.b) {
		c := t.b[t.i]
		switch {
		case c == '"':
			s := t.strs[keep:]
			if !utf8.Valid(s) {
				return nil, t.fail("a string is not valid UTF-8")
			}
			t.i++
			return s, true
		case c < 0x20:
			return nil, t.syntax("'\"' or an escape sequence: control characters are not allowed in strings")
		case c != '\\':
			t.strs = append(t.strs, c)
			t.i++
			continue
		}
		t.i++
		if t.atEnd() {
			return nil, t.syntax("an escape sequence")
		}
		c = t.b[t.i]
		switch c {
		case '"', '\\', '/':
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
		case 'u':
			t.i++
			r, ok := t.hex4()
			if !ok {
				return nil, false
			}
			if r >= 0xd800 && r < 0xe000 {
				low := rune(0)
				if r < 0xdc00 && t.i+1 < len(t.b) && t.b[t.i] == '\\' && t.b[t.i+1] == 'u' {
					t.i += 2
					if low, ok = t.hex4(); !ok {
						return nil, false
					}
				}
				if low < 0xdc00 || low >= 0xe000 {
					return nil, t.fail("half of a surrogate pair in a string; expected both halves")
				}
				r = 0x10000 + (r-0xd800)<<10 + low - 0xdc00
			}
			t.strs = utf8.AppendRune(t.strs, r)
			continue
		default:
			return nil, t.syntax("an escape sequence")
		}
		t.strs = append(t.strs, c)
		t.i++
	}
	return nil, t.syntax("'\"'")
}

func (t *tolerant) hex4() (rune, bool) {
	var r rune
	for range 4 {
		if t.i >= len(t.b) {
			return 0, t.syntax("a hexadecimal digit")
		}
		c := t.b[t.i]
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 + rune(c|0x20-'a'+10)
		default:
			return 0, t.syntax("a hexadecimal digit")
		}
		t.i++
	}
	return r, true
}

// number reads a number of JSON's grammar and reports whether it is written as a whole one.
func (t *tolerant) number() (digits []byte, whole, ok bool) {
	from := t.i
	if t.i < len(t.b) && t.b[t.i] == '-' {
		t.i++
	}
	if t.i < len(t.b) && t.b[t.i] == '0' {
		t.i++
	} else if !t.digits() {
		return nil, false, false
	}
	whole = true
	if t.i < len(t.b) && t.b[t.i] == '.' {
		whole = false
		t.i++
		if !t.digits() {
			return nil, false, false
		}
	}
	if t.i < len(t.b) && t.b[t.i]|0x20 == 'e' {
		whole = false
		t.i++
		if t.i < len(t.b) && (t.b[t.i] == '+' || t.b[t.i] == '-') {
			t.i++
		}
		if !t.digits() {
			return nil, false, false
		}
	}
	return t.b[from:t.i], whole, true
}

func (t *tolerant) digits() bool {
	from := t.i
	for t.i < len(t.b) && t.b[t.i] >= '0' && t.b[t.i] <= '9' {
		t.i++
	}
	if t.i == from {
		return t.syntax("a digit")
	}
	return true
}

// int reads an integer, or records an error.
func (t *tolerant) int() (int64, bool) {
	if c := t.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, t.wrong("an integer")
	}
	if t.i < len(t.b)-scanMargin {
		if n, end := integer(t.b, t.i); end > 0 && t.b[end] != '.' && t.b[end]|0x20 != 'e' {
			t.i = end
			return n, true
		}
	}
	digits, whole, ok := t.number()
	if !ok {
		return 0, false
	}
	if !whole {
		return 0, t.fail("the number %s; expected an integer", clipNumber(digits))
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0, t.fail("integer %s is out of range; expected one of 64 bits, -9223372036854775808 to "+
			"9223372036854775807", clipNumber(digits))
	}
	return n, true
}

func clipNumber(digits []byte) string {
	if len(digits) > 40 {
		return fmt.Sprintf("%s… (%d characters)", digits[:40], len(digits))
	}
	return string(digits)
}

// skip reads any value and forgets it.
func (t *tolerant) skip(depth int) bool {
	if depth > maxDepth {
		return t.fail("nested more than %d deep; expected less", maxDepth)
	}
	switch c := t.peek(); {
	case c == '{':
		return t.object(func([]byte) bool { return t.skip(depth + 1) })
	case c == '[':
		_, ok := t.array(func(int) bool { return t.skip(depth + 1) })
		return ok
	case c == '"':
		keep := len(t.strs)
		_, ok := t.str()
		t.strs = t.strs[:keep]
		return ok
	case c == 't':
		return t.literal("true")
	case c == 'f':
		return t.literal("false")
	case c == 'n':
		return t.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		_, _, ok := t.number()
		return ok
	}
	return t.syntax("a value")
}

func (t *tolerant) literal(word string) bool {
	for k := range len(word) {
		if t.i >= len(t.b) || t.b[t.i] != word[k] {
			return t.syntax(word)
		}
		t.i++
	}
	return true
}
