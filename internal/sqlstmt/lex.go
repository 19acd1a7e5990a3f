// Package sqlstmt understands simple SQL statements well enough to say which rows of which versions they read and
// wrote: single-row and range SELECT, INSERT, UPDATE and DELETE, with RETURNING, on tables whose key and version
// columns are declared. What it does not understand it says so of, with the reason; it guesses nothing.
//
// lex.go makes tokens, parse.go and clause.go statements, of the text alone; log.go records what they did, from
// arguments and results, and counts what was not understood; outcome.go tells errors apart.
package sqlstmt

import "strings"

type kind uint8

const (
	end kind = iota
	word
	quoted // an identifier in quotes: its case counts
	number
	text
	param // ?, $1, :name, @name
	punct
)

type token struct {
	kind kind
	s    string // of a quoted one: what is in the quotes
}

// is reports whether a token is a keyword or a sign.
func (t token) is(s string) bool {
	return t.kind == word && strings.EqualFold(t.s, s) || t.kind == punct && t.s == s
}

// lex makes tokens of SQL; false: something in quotes, or a comment, does not end, or is of a dialect.
func lex(sql string) (out []token, ok bool) {
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case strings.HasPrefix(sql[i:], "--"):
			n := strings.IndexByte(sql[i:], '\n')
			if n < 0 {
				return out, true
			}
			i += n
		case strings.HasPrefix(sql[i:], "/*"):
			n := strings.Index(sql[i:], "*/")
			if n < 0 || strings.HasPrefix(sql[i:], "/*!") || strings.HasPrefix(sql[i:], "/*+") {
				return nil, false
			}
			i += n + 2
		case c == '\'' || c == '"' || c == '`' || c == '[':
			s, n, ok := inQuotes(sql[i:])
			if !ok {
				return nil, false
			}
			k := quoted
			if c == '\'' {
				k = text
			}
			out = append(out, token{k, s})
			i += n
		case letter(c):
			n := i
			for n < len(sql) && (letter(sql[n]) || digit(sql[n]) || sql[n] == '$') {
				n++
			}
			if n < len(sql) && sql[n] == '\'' {
				return nil, false // E'…', X'…'
			}
			out = append(out, token{word, sql[i:n]})
			i = n
		case digit(c):
			n := i
			for n < len(sql) && (digit(sql[n]) || letter(sql[n]) || sql[n] == '.') {
				n++
			}
			out = append(out, token{number, sql[i:n]})
			i = n
		case c == '?' || (c == '$' || c == ':' || c == '@') && i+1 < len(sql) && (letter(sql[i+1]) || digit(sql[i+1])):
			n := i + 1
			for n < len(sql) && (letter(sql[n]) || digit(sql[n])) {
				n++
			}
			out = append(out, token{param, sql[i:n]})
			i = n
		default:
			n := 1
			for _, two := range []string{"<=", ">=", "<>", "!=", "::", "||"} {
				if strings.HasPrefix(sql[i:], two) {
					n = 2
				}
			}
			out = append(out, token{punct, sql[i : i+n]})
			i += n
		}
	}
	return out, true
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// inQuotes reads what is in quotes, in which two of them are one, and how many bytes it takes.
func inQuotes(s string) (string, int, bool) {
	end := s[0]
	if end == '[' {
		end = ']'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && end == '\'':
			return "", 0, false // databases differ in what it means
		case s[i] != end:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == end:
			b.WriteByte(end)
			i++
		default:
			return b.String(), i + 1, true
		}
	}
	return "", 0, false
}
