// Package escape has a function for each way in which names, values and a file's words reach people: a terminal,
// Markdown, Graphviz, a shell, and XML. Whoever recorded a history, or sends lines to a watch, can choose these words,
// so that nothing in them may act as a command or markup. html/template and JSON escape by themselves; Text makes
// visible what both let through.
package escape

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// hidden reports whether a character is invisible or acts on a terminal or page: control characters, those that change
// the direction of writing or break a line, and those without width.
func hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

const hex = "0123456789abcdef"

// appendCode writes a hidden character as in JSON, so that a JSON string keeps its meaning.
func appendCode(dst []byte, r rune) []byte {
	if r > 0xffff {
		a, b := utf16.EncodeRune(r)
		return appendCode(appendCode(dst, a), b)
	}
	switch r {
	case '\n':
		return append(dst, `\n`...)
	case '\t':
		return append(dst, `\t`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// appendText writes a text without hidden characters. Line ends and tabs stay if lines is set. A byte that is not
// UTF-8 becomes \xNN.
func appendText(dst []byte, s string, lines bool) []byte {
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
		case hidden(r) && !(lines && (r == '\n' || r == '\t')):
			dst = appendCode(dst, r)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

// clean reports whether a text has no hidden characters.
func clean(s string, lines bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' && !(lines && (c == '\n' || c == '\t')) || c == 0x7f {
			return false
		}
		if c >= utf8.RuneSelf {
			return utf8.ValidString(s[i:]) && !strings.ContainsFunc(s[i:], func(r rune) bool {
				return hidden(r) && !(lines && (r == '\n' || r == '\t'))
			})
		}
	}
	return true
}

// Text makes the hidden characters of a text of several lines visible: \u001b for the escape character, \u202e for a
// mark that changes the direction of writing, \xff for a byte that is not UTF-8. A JSON string keeps its meaning.
func Text(s string) string {
	if clean(s, true) {
		return s
	}
	return string(appendText(nil, s, true))
}

// JSON is Text for JSON of complete characters, which has hidden characters only in strings. It leaves bytes that are
// not UTF-8.
func JSON(b []byte) []byte {
	plain := true
	for _, c := range b {
		plain = plain && c < 0x7f
	}
	if plain || !utf8.Valid(b) {
		return b
	}
	return []byte(Text(string(b)))
}

// Line is Text for a text that must stay on one line: it also makes line ends and tabs visible.
func Line(s string) string {
	if clean(s, false) {
		return s
	}
	return string(appendText(nil, s, false))
}

// XML replaces characters that XML forbids, and hidden ones, by the character U+FFFD. It does not escape markup.
func XML(s string) string {
	if clean(s, true) && !strings.ContainsAny(s, "\ufffe\uffff") {
		return s
	}
	return strings.Map(func(r rune) rune { // which gives U+FFFD for a byte that is no UTF-8
		if r == 0xfffe || r == 0xffff || hidden(r) && r != '\n' && r != '\t' && r != '\r' {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Page writes the output of an html/template, which escapes markup, without the characters that XML removes.
func Page(w io.Writer, execute func(io.Writer) error) error {
	var b strings.Builder
	if err := execute(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, XML(b.String()))
	return err
}

// Shell returns a word quoted for a shell, to be copied from a page or terminal. If it has hidden characters, it uses
// the quotes $'…' of POSIX 2024, which bash, zsh and ksh have had for long.
func Shell(s string) string {
	safe := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=,+@%", r)
	}
	switch {
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0:
		return s
	case clean(s, false):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	b := []byte("$'")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, hidden(r):
			for _, c := range []byte(s[i : i+n]) { // three octal digits at most: what follows is none of the code's
				b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			}
		case r == '\'' || r == '\\':
			b = append(b, '\\', byte(r))
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(append(b, '\''))
}
