package fressian

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// newStruct reads a tag with its number of fields, and the struct.
func (d *decoder) newStruct() error {
	from := len(d.out)
	if err := d.value(); err != nil {
		return err
	}
	tag, err := strconv.Unquote(string(d.out[from:]))
	if d.out = d.out[:from]; err != nil {
		return fmt.Errorf("found a tag that is no text; expected the name of a type")
	}
	n, err := d.length()
	if err != nil {
		return err
	}
	if n > int64(len(d.data)-d.pos) {
		return fmt.Errorf("found a struct of %d fields; expected at most %d", n, len(d.data)-d.pos)
	}
	d.structs = append(d.structs, structType{tag, int(n)})
	return d.structure(int64(len(d.structs) - 1))
}

// opFields are an operation's fields before the map of the rest.
var opFields = [...]string{":index ", ":time ", ":type ", ":process ", ":f ", ":value "}

// structure appends a struct whose type was defined before.
func (d *decoder) structure(i int64) error {
	if i >= int64(len(d.structs)) {
		return fmt.Errorf("found a struct of type %d of %d; expected one that was named", i, len(d.structs))
	}
	s := d.structs[i]
	switch {
	case s.tag == "jepsen.history.Op" && s.fields == len(opFields)+1:
		return d.operation()
	case s.fields == 2 && s.tag == "map-entry":
		return d.sequence('[', ']', 2, false)
	case s.fields == 2 && s.tag == "ratio":
		return d.ratio()
	case s.fields == 2 && s.tag == "record":
		from := len(d.out)
		if err := d.value(); err != nil { // its class
			return err
		}
		d.out = d.out[:from]
		return d.value()
	case s.fields == 1 && (s.tag == "persistent-hash-set" || s.tag == "persistent-sorted-set"):
		from := len(d.out)
		if err := d.value(); err != nil {
			return err
		}
		switch text := d.out[from:]; {
		case string(text) == "nil":
			d.out = append(d.out[:from], "#{}"...)
		case text[0] == '[':
			text[0], text[len(text)-1] = '{', '}'
			d.out = append(d.out, 0)
			copy(d.out[from+1:], d.out[from:])
			d.out[from] = '#'
		}
		return nil
	case s.fields == 1:
		switch s.tag {
		case "multiset", "atom", "date-time", "instant", "throwable", "byte", "char", "vec":
			return d.value()
		}
	}
	if tag := s.tag; word([]byte(tag)) && tag[0] != '_' && tag != "object" {
		d.out = append(append(append(d.out, '#'), tag...), ' ')
	}
	if s.fields == 1 {
		return d.value()
	}
	return d.sequence('[', ']', int64(s.fields), false)
}

// operation appends an operation of a history.
func (d *decoder) operation() error {
	d.out = append(d.out, '{')
	for _, f := range opFields {
		d.out = append(d.out, f...)
		if err := d.value(); err != nil {
			return err
		}
		d.out = append(d.out, ' ')
	}
	from := len(d.out)
	if err := d.value(); err != nil {
		return err
	}
	switch rest := d.out[from:]; {
	case string(rest) == "nil":
		d.out = append(d.out[:from], '}')
	case isMap(rest):
		rest[0] = ' '
	default:
		return fmt.Errorf("found %.20q for the rest of an operation; expected a map", rest)
	}
	return nil
}

func (d *decoder) ratio() error {
	if err := d.value(); err != nil {
		return err
	}
	d.out = append(d.out, '/')
	return d.value()
}

// name appends a keyword or a symbol.
func (d *decoder) name(keyword bool) error {
	from := len(d.out)
	var whole []byte
	for i := range 2 {
		if err := d.value(); err != nil {
			return err
		}
		part := d.out[from:]
		if i == 0 && string(part) == "nil" {
			d.out = d.out[:from]
			continue
		}
		text, err := strconv.Unquote(string(part))
		if err != nil {
			return fmt.Errorf("found %.20q in a name; expected a text", part)
		}
		if d.out = d.out[:from]; len(whole) > 0 {
			whole = append(whole, '/')
		}
		whole = append(whole, text...)
	}
	switch {
	case !word(whole): // EDN has no form for it
		d.out = appendString(d.out, whole)
	case keyword:
		d.out = append(append(d.out, ':'), whole...)
	default:
		d.out = append(d.out, whole...)
	}
	return nil
}

// word reports whether a text can stand as a keyword or symbol.
func word(text []byte) bool {
	if len(text) == 0 || '0' <= text[0] && text[0] <= '9' || !utf8.Valid(text) {
		return false
	}
	for _, c := range text {
		switch {
		case c <= ' ', c == 0x7f:
			return false
		}
		switch c {
		case '(', ')', '[', ']', '{', '}', '"', ';', ',', '#', '\\', ':', '^', '`', '~', '@':
			return false
		}
	}
	return true
}

// text reads a text that begins with a code. Its pieces are joined before it is decoded.
func (d *decoder) text(c byte) ([]byte, error) {
	var all []byte
	for {
		n := int64(c) - codeText
		var err error
		if c >= codeTextPart {
			n, err = d.length()
		}
		if err != nil {
			return nil, err
		}
		part, err := d.take(n)
		if err != nil {
			return nil, err
		}
		if c != codeTextPart && all == nil {
			return fromCESU(part), nil
		}
		if all = append(all, part...); c != codeTextPart {
			return fromCESU(all), nil
		}
		if c, err = d.byte(); err != nil {
			return nil, err
		}
		if c < codeText || c > codeTextLong {
			return nil, fmt.Errorf("found the byte %#02x within a text; expected its next piece", c)
		}
	}
}

// bytes reads bytes that begin with a code.
func (d *decoder) bytes(c byte) (all []byte, err error) {
	for {
		n := int64(c) - codeBytes
		if c >= codeBytesPart {
			if n, err = d.length(); err != nil {
				return nil, err
			}
		}
		part, err := d.take(n)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); c != codeBytesPart {
			return all, nil
		}
		if c, err = d.byte(); err != nil {
			return nil, err
		}
		if c < codeBytes || c > codeBytesLong {
			return nil, fmt.Errorf("found the byte %#02x within bytes; expected the next piece", c)
		}
	}
}

func (d *decoder) rawBytes() ([]byte, error) {
	c, err := d.byte()
	if err != nil {
		return nil, err
	}
	if c < codeBytes || c > codeBytesLong {
		return nil, fmt.Errorf("found the byte %#02x; expected bytes", c)
	}
	return d.bytes(c)
}

// fromCESU converts Java's CESU-8 to UTF-8. CESU-8 writes a character beyond the basic plane as two surrogates of three
// bytes each.
func fromCESU(b []byte) []byte {
	surrogate := func(i int) rune {
		if i+2 < len(b) && b[i] == 0xed && b[i+1]&0xe0 == 0xa0 && b[i+2]&0xc0 == 0x80 {
			return 0xd000 | rune(b[i+1]&0x3f)<<6 | rune(b[i+2]&0x3f)
		}
		return 0
	}
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if hi := surrogate(i); hi != 0 {
			if r := utf16.DecodeRune(hi, surrogate(i+3)); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 6
				continue
			}
			out = utf8.AppendRune(out, utf8.RuneError)
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}

// appendString appends a text as an EDN string on one line. [strconv.Unquote] returns the same text.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"', c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ', c == 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
