// Package edn scans extensible data notation (Clojure's) and JSON, token by token, without allocating. The readers of
// dbcop, Jepsen, OTLP, Porcupine, TimeKiller and Viper use it. They look at each value once and store only numbers and
// interned texts, so that a tree of values would cost far more than the reading.
//
// EDN: vectors, lists, sets, maps, strings, characters, keywords, symbols, integers, other numbers; commas are white
// space, "; …" is a comment, "#_ value" is skipped, "#tag value" is the value. JSON: its colon is white space and null
// is nil; the rest of JSON is EDN. The scanner checks that brackets match; the reader must check that maps have an
// even number of elements.
//
// Clojure's printer, and programs that write JSON, also write ##NaN and NaN, which are numbers, 0x1f, an integer, and
// #"…", a text. #object[…], #<…> and words that are no value are tokens of their own kind. [Scanner.Skip] accepts
// anything with matching brackets and quotes.
//
// Experimental: this package may still change.
package edn

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"isovet/history"
)

// Kind is the kind of a token.
type Kind uint8

const (
	EOF    Kind = iota
	Nil         // nil, null
	Bool        // N is 0 or 1
	Int         // N
	Number      // any other number: Text
	Text        // a string or character, without quotes and escapes: Text
	Word        // a keyword, without its colon, or a symbol: Text
	Odd         // a word that is no value: Text
	Open        // ( [ { or, for a set, #: Bracket
	Close       // ) ] }: Bracket
)

// Token is one token. Text is valid until the next call of a method.
type Token struct {
	Kind    Kind
	Bracket byte
	N       int64
	Text    []byte
	Pos     int // where it begins
}

// Is reports whether the token is the keyword, symbol or string s: JSON has strings where EDN has keywords.
func (t Token) Is(s string) bool { return (t.Kind == Word || t.Kind == Text) && string(t.Text) == s }

// Opens reports whether the token opens a sequence: a vector or list.
func (t Token) Opens() bool { return t.Kind == Open && (t.Bracket == '[' || t.Bracket == '(') }

// OpensMap reports whether the token opens a map.
func (t Token) OpensMap() bool { return t.Kind == Open && t.Bracket == '{' }

func (t Token) String() string {
	switch t.Kind {
	case EOF:
		return "the end of the file"
	case Nil:
		return "nil"
	case Bool:
		return strconv.FormatBool(t.N == 1)
	case Int:
		return strconv.FormatInt(t.N, 10)
	case Open:
		if t.Bracket == '#' {
			return "#{"
		}
		return string(t.Bracket)
	case Close:
		return string(t.Bracket)
	}
	if len(t.Text) > 40 {
		return string(t.Text[:40]) + "…"
	}
	return string(t.Text)
}

const maxDepth = 1 << 10

// Scanner reads tokens. With JSON colons are white space. With Keywords a string that begins with a colon is a keyword:
// programs that know only JSON write keywords so.
type Scanner struct {
	Data     []byte
	File     string
	JSON     bool
	Keywords bool

	pos     int
	open    []byte // brackets to be closed
	within  int    // depth of values that #_ leaves out
	loose   int    // depth of calls of Skip: a skipped value's content need not be valid
	scratch []byte // of a string with escapes
	again   bool   // after Seek
	line    int    // of lineAt, from 0
	lineAt  int
	token   Token // of quick, or of Token
	err     error // see Err
}

// Pos returns where the next token is looked for.
func (s *Scanner) Pos() int { return s.pos }

// Seek goes to a position that Pos or a Token returned. The text there was scanned before, so closing brackets are no
// longer matched with those opened earlier.
func (s *Scanner) Seek(pos int) { s.pos, s.open, s.again = pos, s.open[:0], true }

// SeekOut goes to a position outside all brackets.
func (s *Scanner) SeekOut(pos int) { s.pos, s.open, s.again = pos, s.open[:0], false }

// Line returns the line of a position, from 1. Cost: linear in the distance from the position of the call before.
func (s *Scanner) Line(pos int) int {
	if pos < s.lineAt {
		s.line, s.lineAt = 0, 0
	}
	s.line += bytes.Count(s.Data[s.lineAt:pos], []byte{'\n'})
	s.lineAt = pos
	return s.line + 1
}

// Errorf returns an input error at a position.
func (s *Scanner) Errorf(pos int, field, format string, args ...any) error {
	return &history.InputError{File: s.File, Line: s.Line(min(pos, len(s.Data))), Off: -1, Field: field,
		Msg: fmt.Sprintf(format, args...)}
}

// space marks white space, delim the bytes that end a word, numeric the bytes of numbers, including ratios and
// Clojure's N and M.
var space, delim, numeric [256]bool

func init() {
	for _, c := range " \t\r\n\f\v," {
		space[c], delim[c] = true, true
	}
	for _, c := range "()[]{}\";" {
		delim[c] = true
	}
	for _, c := range "0123456789+-.eE/NM" {
		numeric[c] = true
	}
}

// white returns the class bits of white space.
func (s *Scanner) white() uint16 {
	if s.JSON {
		return isBlank | isColon
	}
	return isBlank
}

// skipSpace goes to the next token.
func (s *Scanner) skipSpace() error {
	for s.pos < len(s.Data) {
		c := s.Data[s.pos]
		switch {
		case space[c] || (c == ':' && s.JSON):
			s.pos = blanks(s.Data, s.pos+1, s.white())
		case c == ';' && !s.JSON:
			if i := bytes.IndexByte(s.Data[s.pos:], '\n'); i >= 0 {
				s.pos += i
			} else {
				s.pos = len(s.Data)
			}
		case c == '#' && !s.JSON && s.pos+1 < len(s.Data) && s.Data[s.pos+1] == '_':
			if s.within++; s.within > maxDepth {
				return s.Errorf(s.pos, "", "more than %d #_, one within the other; expected a history", maxDepth)
			}
			s.pos += 2
			if err := s.Skip(); err != nil {
				return err
			}
			s.within--
		case c == '^' && !s.JSON: // metadata: the value behind it is what counts
			if s.within++; s.within > maxDepth {
				return s.Errorf(s.pos, "", "more than %d values with metadata, one within the other; expected a "+
					"history", maxDepth)
			}
			s.pos++
			if err := s.Skip(); err != nil {
				return err
			}
			s.within--
		case c == '#' && !s.JSON && s.pos+1 < len(s.Data) && !delim[s.Data[s.pos+1]] && s.Data[s.pos+1] != '#' &&
			s.Data[s.pos+1] != '<' && s.Data[s.pos+1] != '\'' && !bytes.HasPrefix(s.Data[s.pos:], object):
			// A tag: the value behind it is what counts.
			for s.pos++; s.pos < len(s.Data) && !delim[s.Data[s.pos]]; s.pos++ {
			}
		default:
			return nil
		}
	}
	return nil
}

// Next returns the next token.
func (s *Scanner) Next() (Token, error) {
	if s.quick() {
		return s.token, nil
	}
	return s.other()
}

// other is Next for every token.
func (s *Scanner) other() (Token, error) {
	if err := s.skipSpace(); err != nil {
		return Token{}, err
	}
	t := Token{Pos: s.pos}
	if s.pos >= len(s.Data) {
		if len(s.open) > 0 {
			return t, s.Errorf(s.pos, "", "found the end of the file; expected %c", closer(s.open[len(s.open)-1]))
		}
		return t, nil
	}
	switch c := s.Data[s.pos]; c {
	case '(', '[', '{', '#':
		if s.JSON && (c == '(' || c == '#') {
			return t, s.Errorf(t.Pos, "", "found %c; expected a value of JSON", c)
		}
		t.Kind, t.Bracket = Open, c
		s.pos++
		if c == '#' {
			if s.pos >= len(s.Data) || s.Data[s.pos] != '{' {
				return s.dispatch(t)
			}
			s.pos++
		}
		if len(s.open) >= maxDepth {
			return t, s.Errorf(t.Pos, "", "nested deeper than %d; expected a history", maxDepth)
		}
		s.open = append(s.open, c)
	case ')', ']', '}':
		t.Kind, t.Bracket = Close, c
		s.pos++
		if len(s.open) == 0 {
			if s.again {
				return t, nil
			}
			return t, s.Errorf(t.Pos, "", "found %c, which closes nothing", c)
		}
		if want := closer(s.open[len(s.open)-1]); want != c {
			return t, s.Errorf(t.Pos, "", "found %c; expected %c", c, want)
		}
		s.open = s.open[:len(s.open)-1]
	case '"':
		return s.text(t)
	case '\\':
		if s.JSON {
			return t, s.Errorf(t.Pos, "", "found %c; expected a value of JSON", c)
		}
		return s.char(t)
	case ':':
		s.pos++
		t.Kind, t.Text = Word, s.word()
		if len(t.Text) == 0 {
			return t, s.Errorf(t.Pos, "", "found a colon by itself; expected a keyword")
		}
		if s.loose == 0 && !utf8.Valid(t.Text) {
			return t, s.Errorf(t.Pos, "", "found a keyword that is not UTF-8")
		}
	default:
		w := s.word()
		if len(w) == 0 {
			return t, s.Errorf(t.Pos, "", "found the byte %#02x; expected a value", c)
		}
		return s.atom(t, w)
	}
	return t, nil
}

func closer(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// object is the tag of a value that is no data: Clojure prints objects of Java as #object[class hash text].
var object = []byte("#object[")

// dispatch reads the values behind a # that are neither sets, tags nor #_: ##NaN, #"…", #<…>, #object[…].
func (s *Scanner) dispatch(t Token) (Token, error) {
	c := byte(0)
	if s.pos < len(s.Data) {
		c = s.Data[s.pos]
	}
	switch c {
	case '#':
		s.pos++
		t.Kind, t.Text = Number, s.word()
		switch string(t.Text) {
		case "NaN", "Inf", "-Inf":
			return t, nil
		}
		return t, s.Errorf(t.Pos, "", "found ##%s; expected ##NaN, ##Inf or ##-Inf", t)
	case '"': // a pattern: backslashes mean themselves
		for i := s.pos + 1; i < len(s.Data); i++ {
			switch s.Data[i] {
			case '\\':
				i++
			case '"':
				t.Kind, t.Text = Text, s.Data[s.pos+1:i]
				s.pos = i + 1
				return t, nil
			}
		}
		return t, s.Errorf(t.Pos, "", "a string without end")
	case '\'': // a variable
		s.pos++
		t.Kind, t.Text = Odd, s.word()
		if len(t.Text) == 0 {
			return t, s.Errorf(t.Pos, "", "found #' by itself; expected a variable's name")
		}
		return t, nil
	case '<': // how Clojure printed objects of Java before 1.7
		for i, depth := s.pos, 0; i < len(s.Data); i++ {
			switch s.Data[i] {
			case '<':
				depth++
			case '>':
				if depth--; depth == 0 {
					t.Kind, t.Text = Odd, s.Data[t.Pos:i+1]
					s.pos = i + 1
					return t, nil
				}
			}
		}
		return t, s.Errorf(t.Pos, "", "found #< without its >")
	case 'o':
		if !bytes.HasPrefix(s.Data[t.Pos:], object) {
			break
		}
		s.pos = t.Pos + len(object) - 1
		err := s.Skip()
		t.Kind, t.Text = Odd, s.Data[t.Pos:s.pos]
		return t, err
	}
	return t, s.Errorf(t.Pos, "", "found #; expected a set, #{…}, or a tag")
}

// word returns the bytes up to the next delimiter.
func (s *Scanner) word() []byte {
	start := s.pos
	for s.pos < len(s.Data) && !delim[s.Data[s.pos]] && !(s.JSON && s.Data[s.pos] == ':') {
		s.pos++
	}
	return s.Data[start:s.pos]
}

// atom returns the token of a word without quotes.
func (s *Scanner) atom(t Token, w []byte) (Token, error) {
	t.Text = w
	c := w[0]
	if (c == '-' || c == '+') && len(w) > 1 {
		c = w[1]
	}
	if c-'0' > 9 {
		switch string(w) {
		case "nil", "null":
			t.Kind = Nil
		case "true":
			t.Kind, t.N = Bool, 1
		case "false":
			t.Kind = Bool
		default:
			t.Kind = Word
			switch {
			case s.JSON && (string(w) == "NaN" || string(w) == "Infinity" || string(w) == "-Infinity"):
				t.Kind = Number
			case s.JSON || s.loose == 0 && !utf8.Valid(w):
				return t, s.Errorf(t.Pos, "", "found %q; expected a value", t.String())
			}
		}
		return t, nil
	}
	t.Kind = Number
	if n, ok := integer(w); ok {
		t.Kind, t.N = Int, n
		return t, nil
	}
	for _, c := range w {
		if numeric[c] {
			continue
		}
		if s.JSON {
			return t, s.Errorf(t.Pos, "", "found %q; expected a value", t.String())
		}
		t.Kind = Odd
		if n, ok := hexadecimal(w); ok {
			t.Kind, t.N = Int, n
		}
		return t, nil
	}
	if !s.JSON { // to Clojure an integer beyond 64 bits is the same with an N
		t.Text = bytes.TrimSuffix(w, []byte("N"))
	}
	return t, nil
}

// integer reads a decimal integer of 64 bits. Clojure's N may follow.
func integer(w []byte) (int64, bool) {
	neg := w[0] == '-'
	if neg || w[0] == '+' {
		w = w[1:]
	}
	if len(w) > 1 && w[len(w)-1] == 'N' {
		w = w[:len(w)-1]
	}
	if len(w) == 0 || len(w) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range w {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case neg && n <= math.MaxInt64+1:
		return -int64(n), true
	case !neg && n <= math.MaxInt64:
		return int64(n), true
	}
	return 0, false
}

// hexadecimal reads a number such as 0x1f, which may have a sign.
func hexadecimal(w []byte) (int64, bool) {
	digits, neg := bytes.CutPrefix(w, []byte("-"))
	digits = bytes.TrimPrefix(digits, []byte("+"))
	if len(digits) < 3 || len(digits) > 18 || digits[0] != '0' || digits[1]|0x20 != 'x' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits[2:]), 16, 63)
	if neg {
		return -int64(n), err == nil
	}
	return int64(n), err == nil
}
