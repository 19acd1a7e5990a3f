package edn

import "isovet/history"

// Plain reads JSON and EDN as programs write them: integers of 64 bits, strings in ASCII without escapes, no comments
// and no tags. It reads them as [Scanner] does. For everything else, right or wrong, its methods return false; the
// caller then goes back to a Scanner, which reads the text or says what is wrong. Jepsen's reader uses it, since a
// Plain costs half of a Scanner, or less.
type Plain struct {
	data []byte
	pos  int
	json bool
	// The class bits of white space.
	white uint16
}

// NewPlain returns a Plain at the beginning of a text.
func NewPlain(data []byte, json bool) Plain {
	if json {
		return Plain{data: data, json: json, white: isBlank | isColon}
	}
	return Plain{data: data, white: isBlank}
}

// Plain returns a Plain at the position of the next token.
func (s *Scanner) Plain() Plain {
	p := NewPlain(s.Data, s.JSON)
	p.pos = s.pos
	return p
}

// Went moves the scanner to p's position, which is behind whole values.
func (s *Scanner) Went(p *Plain) { s.pos = p.pos }

// WentOut is Went for a p behind the bracket that closes the innermost open one.
func (s *Scanner) WentOut(p *Plain) {
	s.pos = p.pos
	if n := len(s.open); n > 0 {
		s.open = s.open[:n-1]
	}
}

// Pos returns the position.
func (p *Plain) Pos() int { return p.pos }

// Back goes back to an earlier position.
func (p *Plain) Back(pos int) { p.pos = pos }

// Classes of bytes.
const (
	isBlank = 1 << iota // in JSON and EDN
	isColon             // white space in JSON
	isDelim             // ends a word
	isPlain             // bytes of words that Skip leaves out: letters, digits, operators
	isOpen
	isClose
	isQuiet // isPlain or isBlank
	isText  // of a string in ASCII without escapes
	isDull  // white space, or what may be a comment
)

var class [256]uint16

func init() {
	for c := range class {
		if space[c] {
			class[c] |= isBlank
		}
		if delim[c] {
			class[c] |= isDelim
		}
	}
	class[':'] |= isColon
	for _, c := range ":#;^ \t\r\n\f\v," {
		class[c] |= isDull
	}
	for c := '0'; c <= 'z'; c++ {
		if c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c {
			class[c] |= isPlain
		}
	}
	for _, c := range "+-._/*!?<>=$%&|" {
		class[c] |= isPlain
	}
	for c := range class {
		if class[c]&(isPlain|isBlank) != 0 {
			class[c] |= isQuiet
		}
		if c < 0x80 && c != '"' && c != '\\' {
			class[c] |= isText
		}
	}
	for _, c := range "([{" {
		class[c] |= isOpen
	}
	for _, c := range ")]}" {
		class[c] |= isClose
	}
}

// Peek skips white space and returns the next byte; 0 at the end.
func (p *Plain) Peek() byte {
	if p.pos < len(p.data) {
		if c := p.data[p.pos]; class[c]&p.white == 0 {
			return c
		}
	}
	return p.blanks()
}

// blanks is Peek if there is white space. It is a function of its own so that Peek can be inlined.
//
//go:noinline
func (p *Plain) blanks() byte {
	p.pos = blanks(p.data, p.pos+1, p.white)
	if p.pos == len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

// blanks returns the position of the first byte from i on that is not white.
//
//go:noinline
func blanks(d []byte, i int, white uint16) int {
	for i < len(d) && class[d[i]]&white != 0 {
		i++
		// The indentation of a value a line.
		for len(d)-i >= 8 && string(d[i:i+8]) == "        " {
			i += 8
		}
	}
	return min(i, len(d))
}

// Take skips white space and then the next byte, if that is c.
func (p *Plain) Take(c byte) bool {
	if p.Peek() != c {
		return false
	}
	p.pos++
	return true
}

// Int reads an integer.
func (p *Plain) Int() (n int64, ok bool) {
	neg := p.Peek() == '-'
	d, i := p.data, p.pos
	if neg {
		i++
	}
	first := i
	for i < len(d) {
		c := d[i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int64(c)
		i++
	}
	// At the end of the text the number may be cut off.
	if i == first || i-first > 19 || n < 0 || i == len(d) || class[d[i]]&isDelim == 0 && (d[i] != ':' || !p.json) {
		return 0, false
	}
	p.pos = i
	if neg {
		n = -n
	}
	return n, true
}

// Ints reads the integers of a sequence behind its bracket, and the bracket that closes it, and appends them to dst.
func (p *Plain) Ints(dst []history.Value) ([]history.Value, bool) {
	d, i := p.data, p.pos
	for i < len(d) {
		c := d[i] - '0'
		if c > 9 {
			switch d[i] {
			case ']':
				p.pos = i + 1
				return dst, true
			case ' ', ',':
				i++
				continue
			}
			p.pos = i
			if p.Take(']') {
				return dst, true
			}
			n, ok := p.Int()
			if !ok {
				return dst, false
			}
			dst = append(dst, history.IntValue(n))
			i = p.pos
			continue
		}
		n, first := int64(c), i
		for i++; i < len(d); i++ {
			c := d[i] - '0'
			if c > 9 {
				break
			}
			n = n*10 + int64(c)
		}
		if i-first > 19 || n < 0 || i == len(d) || class[d[i]]&isDelim == 0 {
			return dst, false
		}
		dst = append(dst, history.IntValue(n))
	}
	return dst, false
}

// Begins reports whether the next bytes are text, followed by a blank, a comma or a closing bracket.
func (p *Plain) Begins(text []byte) bool {
	i := p.pos + len(text)
	if i >= len(p.data) || string(p.data[p.pos:i]) != string(text) {
		return false
	}
	c := p.data[i]
	return c == ' ' || c == ',' || c == ']'
}

// Text reads a string.
func (p *Plain) Text() (text []byte, ok bool) {
	if p.Peek() != '"' {
		return nil, false
	}
	d, i := p.data, p.pos+1
	end := textEnd(d, i)
	if end == len(d) || d[end] != '"' {
		return nil, false
	}
	p.pos = end + 1
	return d[i:end], true
}

// Word reads a keyword or symbol in EDN, a string in JSON: without its colon or quotes.
func (p *Plain) Word() (text []byte, ok bool) {
	if p.json {
		return p.Text()
	}
	c := p.Peek()
	d, i := p.data, p.pos
	if c == ':' {
		i++
	} else if c-'0' <= 9 || c == '-' || c == '+' {
		return nil, false // may be a number
	}
	first := i
	for i < len(d) && class[d[i]]&isPlain != 0 {
		i++
	}
	if i == first || i == len(d) || class[d[i]]&isDelim == 0 {
		return nil, false
	}
	text = d[first:i]
	if c != ':' {
		switch string(text) {
		case "nil", "null", "true", "false":
			return nil, false
		}
	}
	p.pos = i
	return text, true
}

// Nil reads nil, null in JSON.
func (p *Plain) Nil() bool {
	if p.Peek(); p.json {
		return p.atom("null")
	}
	return p.atom("nil")
}

// Skip skips a value: a scalar, or brackets with their content, nested up to 32 deep.
func (p *Plain) Skip() bool {
	c := p.Peek()
	if c == '^' { // metadata, and a value
		return false
	}
	if class[c]&isOpen == 0 {
		return p.skipScalar(c)
	}
	if p.json {
		return p.skipJSON()
	}
	d, i := p.data, p.pos
	open, depth := uint64(0), 0 // two bits for each open bracket
	for ; i < len(d); i++ {
		c := d[i]
		k := class[c]
		if k&isQuiet != 0 {
			for len(d)-i > 4 && class[d[i+1]]&class[d[i+2]]&class[d[i+3]]&class[d[i+4]]&isQuiet != 0 {
				i += 4
			}
			continue
		}
		switch {
		case k&isOpen != 0:
			if depth++; depth > 32 {
				return false
			}
			open = open<<2 | uint64(c>>5&3)
		case k&isClose != 0:
			// ( and ) are 0x28 and 0x29, the others two apart: bits 5 and 6 tell which they are.
			if open&3 != uint64(c>>5&3) {
				return false
			}
			open >>= 2
			if depth--; depth == 0 {
				p.pos = i + 1
				return true
			}
		case c == ':':
			if i+1 == len(d) || class[d[i+1]]&isDelim != 0 {
				return false // no bracket is open
			}
		case c == '"':
			p.pos = i
			if _, ok := p.Text(); !ok {
				return false
			}
			i = p.pos - 1
		case c == '#' && i+1 < len(d) && d[i+1] == '{' && class[d[i-1]]&(isBlank|isOpen) != 0: // a set
		default:
			return false
		}
	}
	return false
}

// skipJSON is Skip for arrays and objects of JSON. Their scalars must be valid.
func (p *Plain) skipJSON() bool {
	open, depth := uint64(0), 0
	d, i := p.data, p.pos
	for i < len(d) {
		c := d[i]
		switch k := class[c]; {
		case k&p.white != 0:
			i++
		case c-'0' <= 9:
			// As Int, without the number.
			first := i
			for i++; i < len(d) && d[i]-'0' <= 9; i++ {
			}
			if i-first > 18 || i == len(d) || class[d[i]]&(isDelim|isColon) == 0 {
				if p.pos = first; !p.skipScalar(c) {
					return false
				}
				i = p.pos
			}
		case c == '"':
			if i = textEnd(d, i+1); i == len(d) || d[i] != '"' {
				return false
			}
			i++
		case c == '[' || c == '{':
			if depth++; depth > 32 {
				return false
			}
			open = open<<2 | uint64(c>>5&3)
			i++
		case c == ']' || c == '}':
			if open&3 != uint64(c>>5&3) {
				return false
			}
			open >>= 2
			i++
			if depth--; depth == 0 {
				p.pos = i
				return true
			}
		default:
			if p.pos = i; !p.skipScalar(c) {
				return false
			}
			i = p.pos
		}
	}
	return false
}

// skipScalar skips a value without brackets that begins with c.
func (p *Plain) skipScalar(c byte) bool {
	switch {
	case c == '"':
		_, ok := p.Text()
		return ok
	case c == '-' || c-'0' <= 9:
		_, ok := p.Int()
		return ok
	case !p.json:
		if p.Nil() {
			return true
		}
		_, ok := p.Word()
		return ok
	case c == 't':
		return p.atom("true")
	case c == 'f':
		return p.atom("false")
	}
	return p.Nil()
}

func (p *Plain) atom(name string) bool {
	i := p.pos + len(name)
	if i >= len(p.data) || string(p.data[p.pos:i]) != name || class[p.data[i]]&isDelim == 0 {
		return false
	}
	p.pos = i
	return true
}
