package console

import (
	"io"
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

// foldedLines folds each line that is wider than a terminal, with its further lines two columns behind its own begin.
// JSON and commands stay whole: they are to be copied.
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
		first := true
		for _, part := range fold(strings.TrimSuffix(plain, "\n"), max(columns-begin-2, LeastColumn)) {
			if !first {
				out.WriteString("\n" + strings.Repeat(" ", begin+2))
			} else {
				out.WriteString(strings.Repeat(" ", begin))
			}
			out.WriteString(part)
			first = false
		}
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
