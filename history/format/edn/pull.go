package edn

import (
	"cmp"
	"strconv"
)

// The methods of this file read maps and sequences without calls back. The first error of any of them stays: the
// scanner is then at the end of the file, all of them return nothing, and Err returns the error.

// Err returns the first error.
func (s *Scanner) Err() error { return s.err }

// Fail notes an error at a position, unless there was one before.
func (s *Scanner) Fail(pos int, field, format string, args ...any) {
	s.fail(s.Errorf(pos, field, format, args...))
}

func (s *Scanner) fail(err error) {
	s.err = cmp.Or(s.err, err)
	s.pos, s.open = len(s.Data), nil
}

// Token is Next. The token is valid until the next call of a method; after an error it is of kind EOF.
func (s *Scanner) Token() *Token {
	if !s.quick() {
		var err error
		if s.token, err = s.other(); err != nil {
			s.fail(err)
			s.token = Token{Pos: s.pos}
		}
	}
	return &s.token
}

// Enter reads an opening bracket if it is next, and nothing else.
func (s *Scanner) Enter(bracket byte) bool {
	i := s.ahead()
	if i == len(s.Data) || s.Data[i] != bracket || len(s.open) >= maxDepth {
		return false
	}
	s.pos, s.open = i+1, append(s.open, bracket)
	return true
}

// Map reads the bracket that opens a map, which errors call what, and returns its position.
func (s *Scanner) Map(what string) (pos int) {
	if s.Enter('{') {
		return s.pos - 1
	}
	t := s.Token()
	if !t.OpensMap() {
		s.Fail(t.Pos, what, "found %v; expected a map", t)
	}
	return t.Pos
}

// Array reads the bracket that opens a sequence.
func (s *Scanner) Array(what string) {
	if s.Enter('[') {
		return
	}
	if t := s.Token(); !t.Opens() {
		s.Fail(t.Pos, what, "found %v; expected an array", t)
	}
}

// PassRest skips the rest of the value that t begins.
func (s *Scanner) PassRest(t *Token) {
	if t.Kind == Open || t.Kind == Close || t.Kind == EOF {
		if err := s.SkipRest(*t); err != nil {
			s.fail(err)
		}
	}
}

// Peek skips white space and returns the next byte; 0 at the end.
func (s *Scanner) Peek() byte {
	s.pos = s.ahead()
	if s.pos < len(s.Data) && class[s.Data[s.pos]]&isDull == 0 {
		return s.Data[s.pos]
	}
	if err := s.skipSpace(); err != nil {
		s.fail(err)
	}
	if s.pos == len(s.Data) {
		return 0
	}
	return s.Data[s.pos]
}

// Digits reads an integer of 64 bits without sign, or with quotes one in quotes, if it is next, and nothing else.
func (s *Scanner) Digits(quotes bool) (n int64, ok bool) {
	first := s.ahead()
	if first >= len(s.Data) {
		return 0, false
	}
	d, i, quote := s.Data[first:], 0, 0
	if quotes && d[0] == '"' {
		i, quote = 1, 1
	}
	for ; i < len(d) && d[i]-'0' <= 9; i++ {
		n = n*10 + int64(d[i]-'0')
	}
	if uint(i-quote-1) >= 19 || n < 0 || i == len(d) || class[d[i]]&isDelim == 0 || (quote == 1) != (d[i] == '"') {
		return 0, false
	}
	s.pos = first + i + quote
	return n, true
}

// Integer reads an integer of 64 bits, as a number or as a string.
func (s *Scanner) Integer(what string) int64 {
	if n, ok := s.Digits(true); ok {
		return n
	}
	t := s.Token()
	if t.Kind == Int {
		return t.N
	}
	n, err := strconv.ParseInt(string(t.Text), 10, 64)
	if t.Kind != Text || err != nil {
		s.Fail(t.Pos, what, "found %v; expected an integer of 64 bits", t)
	}
	return n
}

// Int reads an integer.
func (s *Scanner) Int(what string) int64 {
	t := s.Token()
	if t.Kind != Int {
		s.Fail(t.Pos, what, "found %v; expected an integer", t)
	}
	return t.N
}

// Pass skips the next value.
func (s *Scanner) Pass() {
	if err := s.Skip(); err != nil {
		s.fail(err)
	}
}

// plain reads a text in quotes, in ASCII without escapes, or a keyword of the usual bytes, if one is next, and nothing
// else.
func (s *Scanner) plain() (text []byte, ok bool) {
	d, i := s.Data, s.ahead()
	if i >= len(d) {
		return nil, false
	}
	end := i + 1
	switch {
	case d[i] == '"' && !s.Keywords:
		if end = textEnd(d, end); end == len(d) || d[end] != '"' {
			return nil, false
		}
		s.pos = end + 1
	case d[i] == ':' && !s.JSON:
		for end < len(d) && class[d[end]]&isPlain != 0 {
			end++
		}
		if end == i+1 || end == len(d) || class[d[end]]&isDelim == 0 {
			return nil, false
		}
		s.pos = end
	default:
		return nil, false
	}
	return d[i+1 : end], true
}

// Field reads the name of the next field of a map: a keyword, a symbol or a string. It returns false behind the bracket
// that closes the map.
func (s *Scanner) Field(what string) (name []byte, ok bool) {
	if name, ok = s.plain(); ok {
		return name, true
	}
	t := s.Token()
	if t.Kind != Word && t.Kind != Text && t.Kind != Close {
		s.Fail(t.Pos, what, "found %v; expected the name of a field", t)
	}
	return t.Text, t.Kind == Word || t.Kind == Text
}

// More reports whether a sequence has another element. If not, it goes behind the bracket that closes the sequence.
func (s *Scanner) More() bool {
	i := s.ahead()
	if i >= len(s.Data) || class[s.Data[i]]&isDull != 0 {
		s.Peek()
		i = s.pos
	}
	if i < len(s.Data) && class[s.Data[i]]&isClose == 0 {
		s.pos = i
		return true
	}
	if i < len(s.Data) && s.leave(i) {
		return false
	}
	if t := s.Token(); t.Kind != Close {
		s.Fail(t.Pos, "", "found %v; expected the end of a sequence", t)
	}
	return false
}

// End demands that the text ends here; errors call it what.
func (s *Scanner) End(what string) {
	if t := s.Token(); t.Kind != EOF {
		s.Fail(t.Pos, "", "found %v behind the %s; expected the end of the file", t, what)
	}
}

// Str reads a text, or nil for none. It is valid until the next call.
func (s *Scanner) Str(what string) []byte {
	if text, ok := s.plain(); ok {
		return text
	}
	t := s.Token()
	switch t.Kind {
	case Text, Word:
		return t.Text
	case Nil:
	default:
		s.Fail(t.Pos, what, "found %v; expected a text", t)
	}
	return nil
}

// Bool reads true or false.
func (s *Scanner) Bool(what string) bool {
	t := s.Token()
	if t.Kind != Bool {
		s.Fail(t.Pos, what, "found %v; expected true or false", t)
	}
	return t.N == 1
}
