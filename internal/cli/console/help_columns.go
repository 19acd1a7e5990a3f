package console

import (
	"strings"
	"unicode/utf8"
)

// HelpColumns is how many characters a line of a help has, where no terminal says how wide it is.
const HelpColumns = 100

// Folded fills each paragraph of a text into lines of so many characters, and each item of a list: an indented line,
// and those after it that begin where its text does. A longer word stays whole.
func Folded(text string, columns int) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); {
		hang := hanging(lines[i])
		long, j := false, i
		for ; j < len(lines) && lines[j] != "" && (j == i || indentOf(lines[j]) == hang); j++ {
			long = long || utf8.RuneCountInString(lines[j]) > columns
		}
		j = max(j, i+1)
		if long {
			out = append(out, filled(lines[i:j], hang, columns)...)
		} else {
			out = append(out, lines[i:j]...)
		}
		i = j
	}
	return strings.Join(out, "\n")
}

// filled breaks a paragraph or an item anew. Its first line keeps what stands before hang.
func filled(lines []string, hang, columns int) []string {
	out, line, words := []string(nil), lines[0][:hang], 0
	for _, word := range strings.Fields(lines[0][hang:] + " " + strings.Join(lines[1:], " ")) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
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
