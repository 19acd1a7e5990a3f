package console

import (
	"strings"
	"unicode/utf8"
)

// HelpColumns is how many characters a line of a help text may have.
const HelpColumns = 120

// InColumns breaks the lines of a help text that are longer than helpColumns. A paragraph with one is filled anew, and
// so is an item of a list: a line that is indented, and those behind it that begin where its text does. A single word
// that is longer stays whole.
func InColumns(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); {
		hang := hanging(lines[i])
		long, j := false, i
		for ; j < len(lines) && lines[j] != "" && (j == i || indentOf(lines[j]) == hang); j++ {
			long = long || utf8.RuneCountInString(lines[j]) > HelpColumns
		}
		j = max(j, i+1)
		if long {
			out = append(out, filled(lines[i:j], hang)...)
		} else {
			out = append(out, lines[i:j]...)
		}
		i = j
	}
	return strings.Join(out, "\n")
}

// filled breaks a paragraph or an item anew; what stands before hang in its first line stays.
func filled(lines []string, hang int) []string {
	out, line, words := []string(nil), lines[0][:hang], 0
	for _, word := range strings.Fields(lines[0][hang:] + " " + strings.Join(lines[1:], " ")) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > HelpColumns {
			out, line, words = append(out, line), strings.Repeat(" ", hang), 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	return append(out, line)
}

// hanging is where the text of a line begins: behind its indentation and, in a list, behind a name and two spaces.
func hanging(line string) int {
	n := indentOf(line)
	if n == 0 {
		return 0
	}
	if gap := strings.Index(line[n:], "  "); gap > 0 {
		return n + gap + indentOf(line[n+gap:])
	}
	return n
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
