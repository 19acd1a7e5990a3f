package bench

import (
	"strings"
	"unicode/utf8"
)

// pageColumns is the width of a page's lines, in characters.
const pageColumns = 120

// wrapped breaks a paragraph, or a list item that begins with mark, into lines of at most pageColumns.
func wrapped(mark, text string) string {
	var b strings.Builder
	line := mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > pageColumns:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(mark)) + word
			if word == "-" || word == "+" || strings.HasPrefix(word, "#") {
				line = strings.Repeat(" ", len(mark)) + `\` + word // it would begin a list or a heading
			}
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
	return b.String()
}

// upper writes the first letter of a sentence in upper case.
func upper(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}
