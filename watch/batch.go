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

// Batch is some lines of a stream in their order, and what the reader of the history format makes of them. Batches are
// read side by side, and judged one after the other.
type Batch struct {
	// First is the number of the first line in the stream.
	First int64
	// Lines say what each line is.
	Lines []LineRead
	// Header is what the first line of the stream says, if it is a header.
	Header *history.History
	// H has the transactions, one a line, as a draft shows them; Heads what else the lines say of them.
	H     *history.History
	Heads []history.TxnHead

	text   []byte      // as in the log, with a margin behind
	most   int         // bytes of text that it had lately
	last   []lastPlace // of each stream that has lines here
	lines  *jsonl.Stream
	ready  chan struct{} // H is there
	broken *safego.Panic
}

// LineRead is what a line is: a transaction of H; else bad input, if Err is set, or nothing, such as a header.
type LineRead struct {
	N      int64 // its number in the stream
	Place  int64
	Txn    uint32 // history.None
	Err    error
	lo, hi int // in text
}

// outsized is how much more room for text than what is needed is not kept, beside eight times that.
const outsized = 16 << 20

func newBatch() *Batch {
	return &Batch{lines: jsonl.NewStream(), ready: make(chan struct{}, 1)}
}

// NewBatch reads lines, the first of which has the number first.
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
	if b.most = max(len(b.text), b.most/2); cap(b.text) > 8*b.most+outsized { // there was a line of very many
		b.text, b.lines = nil, jsonl.NewStream()
	}
	b.First, b.Lines, b.Header, b.H, b.Heads, b.text = first, b.Lines[:0], nil, nil, nil, b.text[:0]
	b.last = b.last[:0]
	b.lines.Reset()
}

// add adds a line as it stands in the log.
func (b *Batch) add(l Line) {
	b.moved(l.Of, l.Place)
	b.addNumber(b.First+int64(len(b.Lines)), l)
}

// lastPlace is where a stream has got in a batch.
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

// moves moves the places on.
func (b *Batch) moves(p Places) {
	for _, x := range b.last {
		p.set(x.of, x.place)
	}
}

// addNumber adds line n.
func (b *Batch) addNumber(n int64, l Line) {
	place, line := l.Place, l.Text
	begin := len(b.text)
	b.text = logline.Begin(b.text, place, l.Of)
	lo := len(b.text)
	if len(line) > 0 && line[0] == '!' {
		b.text = append(b.text, ' ') // '!' begins lines of our own
	}
	b.text = append(b.text, line...)
	if bytes.IndexByte(line, '\n') >= 0 { // white space in a message; inside of a string it is none of JSON
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

// logged is what goes to the log.
func (b *Batch) logged() []byte {
	if len(b.Lines) == 0 {
		return nil
	}
	return b.text[:b.Lines[len(b.Lines)-1].hi+1]
}

var margin [jsonl.Margin]byte

// seal says that no line is added any more.
func (b *Batch) seal() { b.text = append(b.text, margin[:]...) }

// Text returns line i; it is valid as long as the batch.
func (b *Batch) Text(i int) []byte { return b.text[b.Lines[i].lo:b.Lines[i].hi] }

// read reads the lines. Cost: that of the history format's scanner, and 13 bytes an operation.
func (b *Batch) read() {
	begins := b.First == 0 // a header may come
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

// header takes line i if it is a header.
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

// comesAgain reports whether a line is the stream's header as it was: whoever sends may begin anew, with another file
// or as another process, and that says nothing new.
func (l *LineRead) comesAgain(header, text []byte) bool {
	return l.Err != nil && len(header) > 0 && bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(header))
}

// plain is an input error without the number of the line, which is 1 of 1.
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

// readers read batches, several at once.
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

// tryRead is read for another goroutine: a panic is handed to who waits for the batch.
func (b *Batch) tryRead() {
	defer func() {
		if v := recover(); v != nil {
			b.broken = &safego.Panic{Value: v, Stack: debug.Stack()}
		}
		b.ready <- struct{}{}
	}()
	b.read()
}

// wait waits until the batch has been read.
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
