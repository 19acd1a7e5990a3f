package edn

import (
	"encoding/binary"
	"math/bits"
)

// textEnd returns the position of the first byte from i on that is a quote, a backslash or no ASCII.
func textEnd(d []byte, i int) int {
	const each = 0x0101010101010101
	for ; len(d)-i >= 8; i += 8 {
		// The subtraction sets the upper bit of a byte that is 0, and perhaps of those above it.
		w := binary.LittleEndian.Uint64(d[i:])
		if end := (((w ^ '"'*each) - each) | ((w ^ '\\'*each) - each) | w) & (0x80 * each); end != 0 {
			return i + bits.TrailingZeros64(end)/8
		}
	}
	for i < len(d) && class[d[i]]&isText != 0 {
		i++
	}
	return i
}

// ahead returns the position behind a comma or colon and a blank. It is small so that it can be inlined.
func (s *Scanner) ahead() int {
	d, i := s.Data, s.pos
	if i < len(d) && (d[i] == ',' || s.JSON && d[i] == ':') {
		i++
	}
	if i < len(d) && d[i] == ' ' {
		i++
	}
	return i
}

// quick reads the next token if it is of the usual ones: integers of 64 bits, strings in ASCII without escapes,
// keywords, brackets, true, false and null. It reports whether it did.
func (s *Scanner) quick() bool {
	d, i := s.Data, s.pos
	white := s.white()
	if i < len(d) && class[d[i]]&white != 0 {
		if i++; i < len(d) && class[d[i]]&white != 0 { // usually it is one byte
			i = blanks(d, i+1, white)
		}
		s.pos = i
	}
	if i >= len(d) {
		return false
	}
	t := &s.token
	t.Pos = i
	k := i + 1
	switch c := d[i]; {
	case c == '"':
		if k = textEnd(d, k); k >= len(d) || d[k] != '"' || s.Keywords {
			return false
		}
		t.Kind, t.Text = Text, d[i+1:k]
		k++
	case c-'0' <= 9 || c == '-':
		n, first := int64(0), i
		if c == '-' {
			first++
		}
		for k = first; k < len(d) && d[k]-'0' <= 9; k++ {
			n = n*10 + int64(d[k]-'0')
		}
		if uint(k-first-1) >= 19 || n < 0 || k >= len(d) || class[d[k]]&(isDelim|white) == 0 {
			return false
		}
		if c == '-' {
			n = -n
		}
		t.Kind, t.N, t.Text = Int, n, d[i:k]
	case c == ':': // in EDN
		for k < len(d) && class[d[k]]&isPlain != 0 {
			k++
		}
		if k == i+1 || k >= len(d) || class[d[k]]&isDelim == 0 {
			return false
		}
		t.Kind, t.Text = Word, d[i+1:k]
	case c == '[' || c == '{':
		t.Kind, t.Bracket, t.Text = Open, c, nil
		return s.Enter(c)
	case c == ']' || c == '}':
		t.Kind, t.Bracket, t.Text = Close, c, nil
		return s.leave(i)
	case c == 't' || c == 'f' || c == 'n':
		for k < len(d) && d[k]-'a' <= 'z'-'a' {
			k++
		}
		if k >= len(d) || class[d[k]]&isDelim == 0 {
			return false
		}
		t.Text = d[i:k]
		switch string(t.Text) {
		case "true", "false":
			if t.Kind, t.N = Bool, 0; c == 't' {
				t.N = 1
			}
		case "null", "nil":
			t.Kind = Nil
		default:
			return false
		}
	default:
		return false
	}
	s.pos = k
	return true
}

// leave reads the bracket at i if it closes the innermost open one.
func (s *Scanner) leave(i int) bool {
	n := len(s.open)
	if n == 0 || closer(s.open[n-1]) != s.Data[i] {
		return false
	}
	s.pos, s.open = i+1, s.open[:n-1]
	return true
}
