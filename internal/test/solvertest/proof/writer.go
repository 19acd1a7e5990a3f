package proof

import (
	"bufio"
	"io"
	"strconv"

	"isovet/solver"
)

// Writer writes a proof as text. It is a [solver.Proof]. Call Flush at the end.
type Writer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

var _ solver.Proof = (*Writer)(nil)

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 1<<16)} }

// Input writes an input clause.
func (w *Writer) Input(lits []solver.Lit) { w.line("i ", lits) }

// Lemma writes a theory lemma.
func (w *Writer) Lemma(lits []solver.Lit) { w.line("t ", lits) }

// Learn writes a learned clause.
func (w *Writer) Learn(lits []solver.Lit) { w.line("", lits) }

// Delete writes a deletion.
func (w *Writer) Delete(lits []solver.Lit) { w.line("d ", lits) }

// Flush writes what is buffered and returns the first error of all writing.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

func (w *Writer) line(prefix string, lits []solver.Lit) {
	if w.err != nil {
		return
	}
	b := append(w.buf[:0], prefix...)
	for _, l := range lits {
		b = strconv.AppendInt(b, int64(l.Dimacs()), 10)
		b = append(b, ' ')
	}
	b = append(b, '0', '\n')
	w.buf = b
	_, w.err = w.w.Write(b)
}
