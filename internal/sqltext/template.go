package sqltext

import (
	"slices"
	"strconv"
	"strings"
)

// Template is a text whose literals were replaced by parameters, so that texts that differ only in literals are parsed
// once.
type Template struct {
	Text  string
	Lits  []any // int64, string; nil of another number
	spans []span
}

// span is a literal: its bytes in the text, and the bytes of its parameter in the template.
type span struct{ from, to, at, end int }

// Place converts a position in the template to one in the text.
func (t *Template) Place(n int) int {
	shift := 0
	for _, s := range t.spans {
		if n <= s.at {
			break
		}
		shift = s.to - s.end
	}
	return n + shift
}

// Generalize returns a text's template. It returns false if the text has parameters already, or no literal. Numbers
// after the first ORDER BY, GROUP BY, LIMIT, OFFSET or FETCH stay, since they may have another meaning there. Cost:
// linear in the text.
func Generalize(sql string) (*Template, bool) {
	t := &Template{}
	var b strings.Builder
	b.Grow(len(sql))
	last, stays := 0, false
	before := byte(0) // the last byte that is no space
	mask := func(from, to int, lit any) {
		b.WriteString(sql[last:from])
		t.Lits = append(t.Lits, lit)
		at := b.Len()
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(len(t.Lits)))
		t.spans = append(t.spans, span{from, to, at, b.Len()})
		last = to
	}
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"), strings.HasPrefix(sql[i:], "/*"):
			n := comment(sql[i:])
			if n == 0 {
				return nil, false
			}
			i += n
			continue
		case c == '\'' && before != '&':
			end := strings.IndexByte(sql[i+1:], '\'')
			if end < 0 || strings.IndexByte(sql[i:i+1+end], '\\') >= 0 || strings.HasPrefix(sql[i+end+2:], "'") {
				return nil, false // it has quotes or backslashes in it: rare enough
			}
			mask(i, i+end+2, sql[i+1:i+1+end])
			i += end + 2
		case c == '"':
			end := strings.IndexByte(sql[i+1:], '"')
			if end < 0 {
				return nil, false
			}
			i += end + 2
		case c == '$', c == '\'':
			return nil, false
		case isLetter(c):
			from := i
			for i < len(sql) && (isLetter(sql[i]) || isDigit(sql[i]) || sql[i] == '$') {
				i++
			}
			if i < len(sql) && sql[i] == '\'' { // E'…', B'…', U&'…'
				return nil, false
			}
			if word := sql[from:i]; len(word) < 7 && !stays {
				stays = slices.Contains([]string{"BY", "LIMIT", "OFFSET", "FETCH"}, strings.ToUpper(word))
			}
		case isDigit(c), (c == '-' || c == '.') && i+1 < len(sql) && isDigit(sql[i+1]) &&
			strings.IndexByte("=(,<>", before) >= 0:
			from := i
			i++
			for i < len(sql) && (isLetter(sql[i]) || isDigit(sql[i]) || sql[i] == '.' ||
				(sql[i] == '-' || sql[i] == '+') && (sql[i-1] == 'e' || sql[i-1] == 'E')) {
				i++
			}
			if stays {
				break
			}
			var lit any
			if n, err := strconv.ParseInt(sql[from:i], 10, 64); err == nil {
				lit = n
			}
			mask(from, i, lit)
		default:
			i++
		}
		before = sql[i-1]
	}
	if len(t.spans) == 0 {
		return nil, false
	}
	b.WriteString(sql[last:])
	t.Text = b.String()
	return t, true
}

// comment returns the length of the comment at the beginning of a text, or 0 if it does not end.
func comment(s string) int {
	if s[1] == '-' {
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	}
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}
