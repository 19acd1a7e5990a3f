package sqlwork

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token of SQL.
type tokenKind uint8

const (
	word      tokenKind = iota // a keyword or a plain name
	quoted                     // a name in quotes, "…" or `…`
	text                       // a text, '…' or $tag$…$tag$
	number                     // digits, with a fraction and an exponent
	parameter                  // :name
	sign                       // any other character, and "::"
)

// token is a token of a statement. Blanks and comments are no tokens.
type token struct {
	kind       tokenKind
	text       string // a name without its quotes; a parameter without its colon
	start, end int    // in the statement
	// depth is the number of parentheses, brackets and CASEs around it; these have the outer depth themselves.
	depth int
}

// is reports whether a token is a keyword or a sign.
func (t *token) is(words ...string) bool {
	return (t.kind == word || t.kind == sign) && slices.ContainsFunc(words, func(w string) bool {
		return strings.EqualFold(w, t.text)
	})
}

// name reports whether a token may be a name.
func (t *token) name() bool { return t.kind == word || t.kind == quoted }

var dollarTag = regexp.MustCompile(`^\$(?:[A-Za-z_]\w*)?\$`)

// tokens splits a statement into tokens by SQL:2016 (§5), with the quotes, comments and casts of PostgreSQL, MySQL and
// SQLite. Errors are an unclosed quote, comment or bracket, and a backslash before a quote, which is an escape for some
// databases only. Cost: linear in the text.
func tokens(sql string) ([]token, error) {
	var out []token
	var open []string // closing tokens of the open brackets
	for i := 0; i < len(sql); {
		c, rest := sql[i], sql[i:]
		t := token{kind: sign, start: i, end: i + 1, depth: len(open)}
		switch {
		case strings.ContainsRune(" \t\r\n\f\v", rune(c)):
			i++
			continue
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return out, nil
			}
			i += n
			continue
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return nil, errors.New("a comment that is not closed")
			}
			i += n + 4
			continue
		case c == '\'' || c == '"' || c == '`':
			n, inner, err := closing(rest)
			if err != nil {
				return nil, err
			}
			if t.kind = quoted; c == '\'' {
				t.kind = text
			}
			t.text, t.end = inner, i+n
		case dollarTag.MatchString(rest):
			tag := dollarTag.FindString(rest)
			n := strings.Index(rest[len(tag):], tag)
			if n < 0 {
				return nil, fmt.Errorf("a text that is not closed, behind %s", tag)
			}
			t.kind, t.end = text, i+n+2*len(tag)
		case strings.HasPrefix(rest, "::"):
			t.text, t.end = "::", i+2
		case c == ':' && len(wordOf(rest[1:])) > 0 && rest[1] < utf8.RuneSelf:
			t.kind, t.text = parameter, parameterName.FindString(rest[1:])
			t.end = i + 1 + len(t.text)
		case c >= '0' && c <= '9':
			n := 1
			for n < len(rest) && (rest[n] == '.' || rest[n] < utf8.RuneSelf && len(wordOf("x"+rest[n:n+1])) == 2) {
				n++
			}
			t.kind, t.text, t.end = number, rest[:n], i+n
		case len(wordOf(rest)) > 0:
			t.kind, t.text = word, wordOf(rest)
			t.end = i + len(t.text)
		default:
			_, n := utf8.DecodeRuneInString(rest)
			t.text, t.end = rest[:n], i+n
		}
		var err error
		if open, err = t.nest(open); err != nil {
			return nil, err
		}
		out = append(out, t)
		i = t.end
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%q is missing", open[len(open)-1])
	}
	return out, nil
}

// nest updates the open brackets; open has their closing tokens.
func (t *token) nest(open []string) ([]string, error) {
	switch {
	case t.is("("):
		return append(open, ")"), nil
	case t.is("["):
		return append(open, "]"), nil
	case t.is("case"):
		return append(open, "end"), nil
	case len(open) > 0 && t.is(open[len(open)-1]):
		open = open[:len(open)-1]
		t.depth = len(open)
	case t.is(")", "]"):
		return nil, fmt.Errorf("a %q that nothing opens", t.text)
	}
	return open, nil
}

// closing finds the end of a text in quotes, in which a quote is doubled.
func closing(s string) (n int, inner string, err error) {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q != '`' && i+1 < len(s) && s[i+1] == q:
			return 0, "", errors.New("a backslash before a quote, which not all databases read alike; expected the " +
				"quote doubled, or a parameter")
		case s[i] != q:
		case i+1 < len(s) && s[i+1] == q:
			i++
		default:
			return i + 1, strings.ReplaceAll(s[1:i], string(q)+string(q), string(q)), nil
		}
	}
	return 0, "", fmt.Errorf("a quote %c that is not closed", q)
}

var parameterName = regexp.MustCompile(`^[A-Za-z_]\w*`)

// wordOf returns the name at the beginning of a text.
func wordOf(s string) string {
	for i, r := range s {
		if r == '_' || unicode.IsLetter(r) || i > 0 && (r == '$' || unicode.IsDigit(r)) {
			continue
		}
		return s[:i]
	}
	return s
}

// names reads a name of parts separated by dots. It returns the parts without quotes, and the number of tokens.
func names(toks []token) (parts []string, n int) {
	for n < len(toks) && toks[n].name() {
		parts = append(parts, toks[n].text)
		n++
		if n+1 >= len(toks) || !toks[n].is(".") || !toks[n+1].name() {
			break
		}
		n++
	}
	return parts, n
}

// bare returns a name of the file without its quotes.
func bare(name string) (string, bool) {
	toks, err := tokens(name)
	if err != nil {
		return "", false
	}
	parts, n := names(toks)
	return strings.Join(parts, "."), n > 0 && n == len(toks)
}

// next finds the first token from i on, at the given depth, that is one of the words; len(toks) if there is none.
func next(toks []token, i, depth int, words ...string) int {
	for ; i < len(toks); i++ {
		if toks[i].depth == depth && toks[i].is(words...) {
			return i
		}
	}
	return len(toks)
}

// splitAt splits tokens at a separator of the given depth.
func splitAt(toks []token, depth int, separators ...string) [][]token {
	var out [][]token
	for {
		i := next(toks, 0, depth, separators...)
		out = append(out, toks[:i])
		if i == len(toks) {
			return out
		}
		toks = toks[i+1:]
	}
}
