package edn

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

func (s *Scanner) text(t Token) (Token, error) {
	t.Kind = Text
	start := s.pos + 1
	end := bytes.IndexByte(s.Data[start:], '"')
	if end < 0 {
		return t, s.Errorf(t.Pos, "", "a string without end")
	}
	t.Text = s.Data[start : start+end]
	if bytes.IndexByte(t.Text, '\\') < 0 {
		s.pos = start + end + 1
	} else if err := s.escaped(&t, start); err != nil {
		return t, err
	}
	if s.loose == 0 && !utf8.Valid(t.Text) {
		return t, s.Errorf(t.Pos, "", "found a string that is not UTF-8")
	}
	if s.Keywords && len(t.Text) > 1 && t.Text[0] == ':' {
		t.Kind, t.Text = Word, t.Text[1:]
	}
	return t, nil
}

// escaped reads a string that has escapes into scratch.
func (s *Scanner) escaped(t *Token, start int) error {
	buf := s.scratch[:0]
	for i := start; i < len(s.Data); i++ {
		from := i
		for i < len(s.Data)-1 && class[s.Data[i]]&isText != 0 {
			i++
		}
		buf = append(buf, s.Data[from:i]...)
		switch c := s.Data[i]; c {
		case '"':
			s.pos = i + 1
			s.scratch, t.Text = buf, buf
			return nil
		case '\\':
			if i++; i == len(s.Data) {
				break
			}
			switch e := s.Data[i]; e {
			case 'n':
				buf = append(buf, '\n')
			case 't':
				buf = append(buf, '\t')
			case 'r':
				buf = append(buf, '\r')
			case 'b':
				buf = append(buf, '\b')
			case 'f':
				buf = append(buf, '\f')
			case '"', '\\', '/':
				buf = append(buf, e)
			case 'u':
				if len(s.Data)-i < 5 {
					return s.Errorf(i, "", "a string without end")
				}
				n, err := strconv.ParseUint(string(s.Data[i+1:i+5]), 16, 16)
				if err != nil {
					if s.loose > 0 {
						continue
					}
					return s.Errorf(i, "", "found \\%s; expected four hexadecimal digits behind \\u", s.Data[i:i+5])
				}
				r := rune(n)
				i += 4
				// A pair of surrogates is one character.
				if utf16.IsSurrogate(r) && len(s.Data)-i > 6 && s.Data[i+1] == '\\' && s.Data[i+2] == 'u' {
					low, err := strconv.ParseUint(string(s.Data[i+3:i+7]), 16, 16)
					if pair := utf16.DecodeRune(r, rune(low)); err == nil && pair != utf8.RuneError {
						r = pair
						i += 6
					}
				}
				buf = utf8.AppendRune(buf, r)
			default:
				if s.loose == 0 {
					return s.Errorf(i, "", "found \\%c in a string; expected an escape", e)
				}
			}
		default:
			buf = append(buf, c)
		}
	}
	return s.Errorf(t.Pos, "", "a string without end")
}

// char reads \c, \newline and the other names, \u0041.
func (s *Scanner) char(t Token) (Token, error) {
	t.Kind = Text
	s.pos++
	if s.pos >= len(s.Data) {
		return t, s.Errorf(t.Pos, "", `found \ at the end of the file; expected a character`)
	}
	start := s.pos
	_, n := utf8.DecodeRune(s.Data[s.pos:])
	s.pos += n
	s.word() // the character's name ends at a delimiter
	t.Text = s.Data[start:s.pos]
	switch string(t.Text) {
	case "newline":
		t.Text = []byte("\n")
	case "space":
		t.Text = []byte(" ")
	case "tab":
		t.Text = []byte("\t")
	case "return":
		t.Text = []byte("\r")
	case "formfeed":
		t.Text = []byte("\f")
	case "backspace":
		t.Text = []byte("\b")
	default:
		if len(t.Text) == n {
			break
		}
		code, err := strconv.ParseUint(string(t.Text[1:]), 16, 16)
		if len(t.Text) != 5 || t.Text[0] != 'u' || err != nil {
			if s.loose > 0 {
				return t, nil
			}
			return t, s.Errorf(t.Pos, "", "found the character %q; expected one, its name, or u and four "+
				"hexadecimal digits", `\`+t.String())
		}
		t.Text = utf8.AppendRune(nil, rune(code))
	}
	if s.loose == 0 && !utf8.Valid(t.Text) {
		return t, s.Errorf(t.Pos, "", "found a character that is not UTF-8")
	}
	return t, nil
}
