package jsonl

import (
	"errors"

	"isovet/history"
)

// Margin is the number of bytes that must follow the last line that Stream reads, so that the scanner need not look for
// the end of the data at every step.
const Margin = scanMargin

// Stream reads lines of a stream into a draft, each by itself: a wrong line does not affect the others. It is not safe
// for concurrent use; several can read different lines at once.
type Stream struct {
	// Draft has the transactions of the valid lines, one a line, in their order.
	Draft *history.Draft
	p     *parser
}

// NewStream returns an empty reader of lines.
func NewStream() *Stream {
	l := &Stream{Draft: history.NewDraft(), p: newParser("")}
	l.p.b, l.p.draft = l.Draft.Builder(), l.Draft
	return l
}

// Add reads the transaction at data[lo:hi]; a line feed and Margin more bytes must follow. It returns false for a blank
// line. Errors are *history.InputError without a line number; a header is an error too. A line with an error leaves
// only keys and texts in the draft.
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

// Reset empties the draft.
func (l *Stream) Reset() { l.Draft.Reset() }

// MayBeHeader reports whether a line could be a header, which ReadPiece reads.
func MayBeHeader(line []byte) bool { return (*parser)(nil).mayBeHeader(line) }

// IsHeader reports whether a line has a field "format", whatever else is wrong with it.
func IsHeader(line []byte) bool {
	p := newParser("")
	p.tol.b = line
	return p.tol.isHeader()
}
