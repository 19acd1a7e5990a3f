package escape

import (
	"fmt"
	"strings"
)

// longest returns the length of the longest run of back-ticks in a text.
func longest(s string) (most int) {
	n := 0
	for _, c := range []byte(s) {
		if c != '`' {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}

// Code returns a text as a code span of Markdown on one line: nothing in it is markup, a link, or a mention of a user.
// An empty text stays empty.
func Code(s string) string {
	if s == "" {
		return ""
	}
	s = Line(s)
	mark := strings.Repeat("`", longest(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = " " + s + " " // of which Markdown takes one away at either end
	}
	return mark + s + mark
}

// Markdown returns a text for a line of Markdown: words unchanged, anything else as Code.
func Markdown(s string) string {
	for i, c := range []byte(s) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			continue
		}
		if i == 0 && c != '"' || !(c >= '0' && c <= '9' || strings.IndexByte(" -.,;/()'\"%!", c) >= 0 ||
			c == ':' && (i+1 == len(s) || s[i+1] == ' ')) { // else :x: is a picture, and https://x a link
			return Code(s)
		}
	}
	if strings.HasSuffix(s, " ") || strings.Contains(strings.ToLower(s), "www.") {
		return Code(s)
	}
	return s
}

// Cell returns a text for a cell of a Markdown table, where a bar ends even a code span.
func Cell(s string) string {
	if !strings.Contains(s, "|") {
		return Markdown(s)
	}
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range Line(s) {
		if r < 0x80 && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ') {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// Fence returns a text as a code block of Markdown, which nothing in it can end, and an empty line. language is one of
// our own words.
func Fence(language, text string) string {
	text = strings.TrimRight(Text(text), "\n")
	mark := strings.Repeat("`", max(3, longest(text)+1))
	return mark + language + "\n" + text + "\n" + mark + "\n\n"
}

// DOT returns a text as a quoted string of Graphviz.
func DOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(Text(s)) + `"`
}

// Record returns a text for a cell of a Graphviz record, inside a quoted string.
func Record(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "{", `\{`, "}", `\}`, "|", `\|`, "<", `\<`, ">",
		`\>`).Replace(Text(s))
}
