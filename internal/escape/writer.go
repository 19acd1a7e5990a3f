package escape

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer writes to a terminal like Text, so that messages need not escape. JSON keeps its meaning; other data must be
// written to W directly. Several goroutines may use it.
type Writer struct {
	W io.Writer

	names *strings.Replacer // nil: none
	mu    sync.Mutex
	rest  []byte // the begin of a character
}

// NewWriter returns a Writer to w. names are words that must stay on one line if they occur, such as file names in the
// command line.
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

// Write writes complete characters. It stores an incomplete last one for the next call.
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

// Close writes the bytes of an incomplete last character. It does not close W.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Text(string(w.rest))
	w.rest = w.rest[:0]
	_, err := io.WriteString(w.W, s)
	return err
}

// Unwrap returns what a Writer, or a similar one, writes to: for a terminal, its file.
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
