package jsonl

import (
	"errors"

	"isovet/history"
)

// Margin is the number of bytes that must follow the last line that Stream reads, so that the scanner need not look for
// the end of the data at every step.
const Margin = scanMargin

// Stream reads lines of a stream, each by itself, into a draft: no line makes another one wrong. It is not safe for
// concurrent use; several can read different lines at once.
type Stream struct {
	// Draft has the transactions of the lines that were understood, one a line, in their order.
	Draft *history.Draft
	p     *parser
}

// NewStream returns an empty reader of lines.
func NewStream() *Stream {
	l := &Stream{Draft: history.NewDraft(), p: newParser("")}
	l.p.b, l.p.draft = l.Draft.Builder(), l.Draft
	return l
}

// Add reads the transaction at data[lo:hi], behind which a line feed and Margin more bytes stand. It returns false for
// a blank line. Errors, of type *history.InputError and without a line's number: what is wrong with it; a header, too,
// is no transaction. Nothing of such a line is left in the draft but keys and texts.
func (l *Stream) Add(data []byte, lo, hi int) (bool, error) {
	p, b := l.p, l.Draft.Builder()
	m := l.Draft.Mark()
	p.lines, p.any, p.ended = 0, true, nil
	ops := b.NumOps()
	if p.scan(data, lo) == 0 {
		if blank(data[lo:hi]) {
			return false, nil
		}
		if err := p.tol.line(data[lo:hi], b.NumOps()-ops); err != nil {
			l.Draft.Undo(m)
			in, _ := errors.AsType[*history.InputError](err)
			in.Line = 0
			return false, in
		}
	}
	if p.ended != nil {
		l.Draft.Undo(m)
		return false, p.ended
	}
	return true, nil
}

// Reset begins anew.
func (l *Stream) Reset() { l.Draft.Reset() }

// MayBeHeader reports whether a line could be a header, which ReadPiece reads.
func MayBeHeader(line []byte) bool { return (*parser)(nil).mayBeHeader(line) }

// IsHeader reports whether a line has a field "format", whatever else is wrong with it.
func IsHeader(line []byte) bool {
	p := newParser("")
	p.tol.b = line
	return p.tol.isHeader()
}
