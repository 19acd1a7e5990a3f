package watch

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/logline"
	"isovet/internal/safego"
)

// Batch is some consecutive lines of a stream, with the transactions that the reader of the history format made from
// them. Batches are read in parallel and judged in order.
type Batch struct {
	// First is the number of the first line in the stream.
	First int64
	// Lines describes each line.
	Lines []LineRead
	// Header is the stream's header, if the first line is one.
	Header *history.History
	// H has one transaction for each line that has one, as a draft. Heads has the other fields of these lines.
	H     *history.History
	Heads []history.TxnHead

	text   []byte      // as in the log, with a margin behind
	most   int         // recent maximum of text's length
	last   []lastPlace // for each stream with lines here
	lines  *jsonl.Stream
	ready  chan struct{} // closed when H is made
	broken *safego.Panic
}

// LineRead describes a line. It is a transaction of H, an error (Err), or neither, such as a header.
type LineRead struct {
	N      int64 // its number in the stream
	Place  int64
	Txn    uint32 // history.None
	Err    error
	lo, hi int // in text
}

// outsized limits an oversized text buffer: a batch frees it if it exceeds eight times the needed size plus outsized.
const outsized = 16 << 20

func newBatch() *Batch {
	return &Batch{lines: jsonl.NewStream(), ready: make(chan struct{}, 1)}
}

// NewBatch reads lines. first is the number of the first line.
func NewBatch(first int64, lines [][]byte) *Batch {
	b := newBatch()
	b.reset(first)
	for i, l := range lines {
		b.add(Line{Place: first + int64(i), Text: l})
	}
	b.seal()
	b.read()
	return b
}

func (b *Batch) reset(first int64) {
	if b.most = max(len(b.text), b.most/2); cap(b.text) > 8*b.most+outsized { // there was a very long line
		b.text, b.lines = nil, jsonl.NewStream()
	}
	b.First, b.Lines, b.Header, b.H, b.Heads, b.text = first, b.Lines[:0], nil, nil, nil, b.text[:0]
	b.last = b.last[:0]
	b.lines.Reset()
}

// add appends a line in the form in which the log stores it.
func (b *Batch) add(l Line) {
	b.moved(l.Of, l.Place)
	b.addNumber(b.First+int64(len(b.Lines)), l)
}

// lastPlace is the place of a stream's last line in a batch.
type lastPlace struct {
	of    string
	place int64
}

func (b *Batch) moved(of string, place int64) {
	for i := range b.last {
		if b.last[i].of == of {
			b.last[i].place = place
			return
		}
	}
	b.last = append(b.last, lastPlace{of, place})
}

// moves sets p to the places of the batch's last lines.
func (b *Batch) moves(p Places) {
	for _, x := range b.last {
		p.set(x.of, x.place)
	}
}

func (b *Batch) addNumber(n int64, l Line) {
	place, line := l.Place, l.Text
	begin := len(b.text)
	b.text = logline.Begin(b.text, place, l.Of)
	lo := len(b.text)
	if len(line) > 0 && line[0] == '!' {
		b.text = append(b.text, ' ') // '!' begins the log's own lines
	}
	b.text = append(b.text, line...)
	if bytes.IndexByte(line, '\n') >= 0 { // white space inside a message; JSON allows none in a string
		for i, c := range b.text[lo:] {
			if c == '\n' {
				b.text[lo+i] = ' '
			}
		}
	}
	logline.End(b.text[begin:])
	b.Lines = append(b.Lines, LineRead{N: n, Place: place, Txn: history.None, lo: lo, hi: len(b.text)})
	b.text = append(b.text, '\n')
}

func (b *Batch) logged() []byte {
	if len(b.Lines) == 0 {
		return nil
	}
	return b.text[:b.Lines[len(b.Lines)-1].hi+1]
}

var margin [jsonl.Margin]byte

// seal appends the margin that the reader needs. No line can follow.
func (b *Batch) seal() { b.text = append(b.text, margin[:]...) }

// Text returns line i. It is valid while the batch is in use.
func (b *Batch) Text(i int) []byte { return b.text[b.Lines[i].lo:b.Lines[i].hi] }

// idOf returns the id of the transaction in line i; without one, the line's number.
func (b *Batch) idOf(i int) int64 {
	if h := &b.Heads[b.Lines[i].Txn]; h.HasID {
		return h.ID
	}
	return b.Lines[i].N
}

// read reads the lines. Cost: that of the history format's scanner, and 13 bytes for each operation.
func (b *Batch) read() {
	begins := b.First == 0 // a header may stand here
	for i := range b.Lines {
		l := &b.Lines[i]
		if begins {
			if i == 0 && bytes.HasPrefix(b.Text(i), bom) {
				l.lo += len(bom)
			}
			if b.header(i) {
				begins = false
				continue
			}
		}
		n := uint32(len(b.lines.Draft.Heads))
		ok, err := b.lines.Add(b.text, l.lo, l.hi)
		switch {
		case err != nil:
			l.Err = plain(err)
		case ok:
			l.Txn = n
		}
		begins = begins && !ok && err == nil
	}
	b.H, b.Heads = b.lines.Draft.History(), b.lines.Draft.Heads
}

var bom = []byte("\xef\xbb\xbf")

// header stores line i as the header and returns true, if it is one.
func (b *Batch) header(i int) bool {
	line := b.Text(i)
	if !jsonl.MayBeHeader(line) {
		return false
	}
	h, err := jsonl.ReadPiece(line)
	if err == nil && h.NumTxns() == 0 {
		b.Header = h
		return true
	}
	if err != nil && jsonl.IsHeader(line) {
		b.Lines[i].Err = plain(err)
		return true
	}
	return false
}

// comesAgain reports whether a line repeats the stream's header. A sender repeats it when it starts again, with
// another file or as another process.
func (l *LineRead) comesAgain(header, text []byte) bool {
	return l.Err != nil && len(header) > 0 && bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(header))
}

// plain returns an input error without the line number, which would always be 1.
func plain(err error) error {
	in, ok := errors.AsType[*history.InputError](err)
	switch {
	case !ok:
		return err
	case in.Field != "":
		return fmt.Errorf("field %q: %s", in.Field, in.Msg)
	}
	return errors.New(in.Msg)
}

// readers reads batches, several at once.
type readers struct {
	jobs  chan *Batch
	group safego.Group
}

func newReaders(n int) *readers {
	r := &readers{jobs: make(chan *Batch, batches)}
	for range max(n, 1) {
		r.group.Go(func() {
			for b := range r.jobs {
				b.tryRead()
			}
		})
	}
	return r
}

// tryRead calls read. It stores a panic for the goroutine that waits for the batch.
func (b *Batch) tryRead() {
	defer func() {
		if v := recover(); v != nil {
			b.broken = &safego.Panic{Value: v, Stack: debug.Stack()}
		}
		b.ready <- struct{}{}
	}()
	b.read()
}

func (b *Batch) wait() {
	<-b.ready
	if b.broken != nil {
		panic(b.broken)
	}
}

func (r *readers) close() {
	close(r.jobs)
	r.group.Wait()
}
