package console

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Prose is a writer whose sentences are folded to the terminal between words. It is w itself where w is no terminal.
func Prose(w io.Writer) io.Writer {
	if TerminalWidth(w) == 0 {
		return w
	}
	return prose{w, func() int { return TerminalWidth(w) }}
}

type prose struct {
	io.Writer
	width func() int
}

func (p prose) Unwrap() io.Writer { return p.Writer }

func (p prose) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, foldedLines(string(b), p.width())); err != nil {
		return 0, err
	}
	return len(b), nil
}

// firstColumn is the name before a value in a row of two columns, with the blanks between them.
var firstColumn = regexp.MustCompile(`^\S+(?: \S+)*  +`)

// foldedLines folds each line that is wider than a terminal, with its further lines two columns behind its own begin,
// or below the value if the line is a name and a value. JSON and commands stay whole: they are to be copied.
func foldedLines(text string, columns int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		plain := strings.TrimLeft(line, " ")
		if columns == 0 || utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= columns ||
			strings.HasPrefix(plain, "{") || strings.HasPrefix(plain, "[") || strings.HasPrefix(plain, "isovet ") ||
			strings.Contains(line, ": isovet ") || strings.ContainsAny(line, "\r\x1b") {
			out.WriteString(line)
			continue
		}
		begin := len(line) - len(plain)
		head, hang := strings.Repeat(" ", begin), begin+2
		if name := firstColumn.FindString(plain); name != "" && begin+utf8.RuneCountInString(name) <= columns/2 {
			head, plain, hang = head+name, plain[len(name):], begin+utf8.RuneCountInString(name)
		}
		parts := fold(strings.TrimSuffix(plain, "\n"), max(columns-hang, LeastColumn))
		out.WriteString(head + strings.Join(parts, "\n"+strings.Repeat(" ", hang)))
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
