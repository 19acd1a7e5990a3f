package escape

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer lets a text through to a terminal as Text does, so that no message has to think of it. JSON stays what it was;
// other data must go to W itself. It may be used from several goroutines.
type Writer struct {
	W io.Writer

	names *strings.Replacer // nil: none
	mu    sync.Mutex
	rest  []byte // the begin of a character
}

// NewWriter is a Writer to w. names are words that may stand in what is written and that have to stay in their line,
// such as the command line's: the names of files.
func NewWriter(w io.Writer, names []string) *Writer {
	var pairs []string
	for _, n := range names {
		if line := Line(n); line != n && strings.TrimSpace(n) != "" {
			pairs = append(pairs, n, line)
		}
	}
	out := &Writer{W: w}
	if pairs != nil {
		out.names = strings.NewReplacer(pairs...)
	}
	return out
}

// Write writes whole characters; what is left of the last one waits for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := string(w.rest) + string(p)
	w.rest = w.rest[:0]
	for cut := len(s) - 1; cut >= 0 && cut >= len(s)-utf8.UTFMax+1; cut-- {
		if utf8.RuneStart(s[cut]) {
			if !utf8.FullRuneInString(s[cut:]) {
				w.rest = append(w.rest, s[cut:]...)
				s = s[:cut]
			}
			break
		}
	}
	if w.names != nil {
		s = w.names.Replace(s)
	}
	if _, err := io.WriteString(w.W, Text(s)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is left of a character that did not come to its end. It does not close W.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Text(string(w.rest))
	w.rest = w.rest[:0]
	_, err := io.WriteString(w.W, s)
	return err
}

// Unwrap is what a Writer, or any other, writes to: of a terminal, its file.
func Unwrap(w io.Writer) io.Writer {
	for {
		switch x := w.(type) {
		case *Writer:
			w = x.W
		case interface{ Unwrap() io.Writer }:
			w = x.Unwrap()
		default:
			return w
		}
	}
}
