package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/safego"
)

const (
	minPiece  = 1 << 20 // least size of one core's piece
	blockSize = 1 << 20 // of decompressed input; the first ones are smaller
	sample    = 1 << 18 // bytes scanned before the rest is estimated
)

// parser fills one builder from consecutive lines.
type parser struct {
	release func(part []byte) // see ReadMapped
	b       *history.Builder
	file    string
	lines   uint32          // lines begun so far
	any     bool            // a line with content has been seen: no header may follow
	piece   bool            // see ReadPiece
	draft   *history.Draft  // see Stream; nil: b is a history's
	ended   error           // of the draft, at the end of a transaction
	last    history.TxnHead // of a piece's last transaction
	some    bool            // see ReadLines
	before  int64           // transactions before these, for ReadLines
	seqs    Seqs            // for ReadLines
	whole   int             // bytes of the input that the builder will take in all; 0: unknown

	tol tolerant

	shapes shapes

	head     uint64 // the first eight digits of the latest time, see time
	headTime int64  // their value
	level    []byte // a level's name, see levelText
}

func newParser(file string) *parser {
	p := &parser{b: history.NewBuilder(), file: file}
	p.b.File = file
	p.tol.p = p
	p.tol.strs = make([]byte, 0, 256) // not nil, so that a member's name never is
	return p
}

// Read reads a whole file from memory, on one core. file is its name for messages. Errors are *history.InputError. data
// is not referenced afterwards. Cost: one pass over the data, then history.Builder.Build.
func Read(data []byte, file string) (*history.History, error) {
	return ReadParallel(context.Background(), data, file, 1)
}

// ReadPiece is Read for some lines of a stream, behind its header. It skips sessions and places in them, since a piece
// does not have whole sessions. A line without id gets an id of its own, see Unnamed. One call for many lines costs
// less than one call a line.
func ReadPiece(data []byte) (*history.History, error) {
	p := newParser("")
	p.piece = true
	if err := p.run(context.Background(), append(slices.Clip(data), blanks[:]...)); err != nil {
		return nil, err
	}
	return p.finish(1)
}

// Line is the content of a line of a stream: a header, or a transaction.
type Line struct {
	// H is a history of the one transaction, in no session. For a header it has no transaction, but Meta and Initial.
	H *history.History
	// Head has the line's other fields of the transaction, including session and place.
	Head history.TxnHead
}

// ReadLine reads a line of a stream by itself. lists says that the stream's keys are lists, by its header. Errors are
// *history.InputError, with line 1. Cost: linear in the line, and a few microseconds.
func ReadLine(line []byte, lists bool) (Line, error) {
	p := newParser("")
	p.piece = true
	p.b.Meta.Lists = lists
	if err := p.run(context.Background(), append(append(make([]byte, 0, len(line)+1+len(blanks)), line...),
		blanks[:]...)); err != nil {
		return Line{}, err
	}
	h, err := p.finish(1)
	if err == nil && h.NumTxns() > 0 { // texts are renumbered in the built history
		x := &h.Txns
		for _, c := range [...]struct {
			to  *uint32
			col []uint32
		}{{&p.last.Node, x.Node}, {&p.last.Name, x.Name}, {&p.last.Locking, x.Locking}, {&p.last.Level, x.Level}} {
			if *c.to != history.None {
				*c.to = c.col[0]
			}
		}
	}
	return Line{h, p.last}, err
}

// unnamed is the first of the ids that ReadPiece gives to lines without one.
const unnamed = math.MinInt64 + 1

// Unnamed reports whether ReadPiece gave an id to a line that had none.
func Unnamed(id int64) bool { return id < unnamed+math.MaxUint32 }

var blanks = [scanMargin]byte([]byte(strings.Repeat(" ", scanMargin)))

func (p *parser) endTxn(h history.TxnHead) {
	if p.draft != nil {
		p.ended = p.draft.End(h)
		return
	}
	if p.piece {
		p.last = h
		h.HasSess, h.HasSeq = false, false
		if !h.HasID {
			h.ID, h.HasID = unnamed+int64(p.lines), true
		}
	}
	if p.some {
		n := p.b.NumTxns()
		if h.HasSeq || p.seqs != nil {
			for len(p.seqs) < n {
				p.seqs = append(p.seqs, history.NoTime)
			}
			seq := int64(history.NoTime)
			if h.HasSeq && h.HasSess {
				seq = h.Seq
			}
			p.seqs = append(p.seqs, seq)
		}
		h.HasSeq = false
		if !h.HasID {
			h.ID, h.HasID = p.before+int64(n), true
		}
	}
	p.b.EndTxn(h)
}

// ReadParallel is Read on up to workers cores; it ends early when ctx does. The history does not depend on the number
// of workers.
func ReadParallel(ctx context.Context, data []byte, file string, workers int) (*history.History, error) {
	return ReadMapped(ctx, data, file, workers, nil)
}

// ReadMapped is ReadParallel for a mapped file. It calls release, if set, with parts that can leave memory: they are
// read again only to describe an error. Several goroutines call it, each with its own parts.
func ReadMapped(ctx context.Context, data []byte, file string, workers int, release func(part []byte)) (
	*history.History, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	first := newParser(file)
	data = first.skipBlank(data)
	workers = min(workers, len(data)/minPiece)
	first.whole = len(data)
	first.release = release
	if workers < 2 {
		if err := first.run(ctx, data); err != nil {
			return nil, err
		}
		return first.finish(1)
	}

	parsers := make([]*parser, workers)
	errs := make([]error, workers)
	var wg safego.Group
	lo := 0
	for i := range parsers {
		parsers[i] = first
		if i > 0 {
			parsers[i] = newParser(file)
			parsers[i].any = true
			parsers[i].release = release
		}
		hi := len(data)
		if i < workers-1 {
			hi = max(lo, len(data)/workers*(i+1))
			if nl := bytes.IndexByte(data[hi:], '\n'); nl >= 0 {
				hi += nl + 1
			} else {
				hi = len(data)
			}
		}
		piece := data[lo:hi]
		if i > 0 {
			parsers[i].whole = len(piece)
		}
		wg.Go(func() { errs[i] = parsers[i].run(ctx, piece) })
		lo = hi
	}
	wg.Wait()
	lines := uint32(0)
	for i, p := range parsers {
		if err := errs[i]; err != nil {
			if in, ok := errors.AsType[*history.InputError](err); ok && in.Line > 0 {
				in.Line += int(lines)
			}
			return nil, err
		}
		if i > 0 {
			first.b.Merge(p.b, lines)
		}
		lines += p.lines
		parsers[i] = nil
	}
	return first.finish(workers)
}

// ReadFrom reads a stream, block by block. Memory beyond the history: a few blocks of 1 MB, or of the longest line.
func ReadFrom(ctx context.Context, r io.Reader, file string) (*history.History, error) {
	p := newParser(file)
	full := make(chan []byte)
	free := make(chan []byte, 3)
	for range cap(free) {
		free <- nil
	}
	stop := make(chan struct{})
	var readErr error
	var reader safego.Group
	reader.Go(func() {
		defer close(full)
		readErr = cutBlocks(r, full, free, stop)
	})
	var err error
	bom := []byte("\xef\xbb\xbf")
	for block := range full {
		if err == nil {
			if p.lines == 0 {
				block = bytes.TrimPrefix(block, bom)
			}
			if err = p.run(ctx, block); err != nil {
				close(stop)
			}
		}
		free <- block[:0]
	}
	reader.Wait()
	if err != nil {
		return nil, err
	}
	if readErr != nil {
		return nil, &history.InputError{File: file, Line: int(p.lines) + 1, Msg: "cannot read on: " + readErr.Error()}
	}
	return p.finish(1)
}

// cutBlocks sends r's content in blocks that end at line ends.
func cutBlocks(r io.Reader, full chan<- []byte, free <-chan []byte, stop <-chan struct{}) error {
	var rest []byte // the beginning of a line whose end is not yet read
	for size := blockSize / 16; ; size = min(2*size, blockSize) {
		var buf []byte
		select {
		case buf = <-free:
		case <-stop:
			return nil
		}
		if want := max(size, 2*len(rest)); cap(buf) < want {
			buf = make([]byte, 0, want)
		}
		buf = append(buf[:0], rest...)
		// Not io.ReadFull: a decompressor whose input is cut short returns ErrUnexpectedEOF too.
		for len(buf) < cap(buf) {
			n, err := r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if err == io.EOF {
				full <- buf
				return nil
			}
			if err != nil {
				return err
			}
		}
		cut := bytes.LastIndexByte(buf, '\n') + 1
		rest = append(rest[:0], buf[cut:]...)
		full <- buf[:cut]
	}
}

func (p *parser) finish(workers int) (*history.History, error) {
	if !p.any {
		return nil, p.errorf(1, "", "the file is empty; expected a header or a transaction")
	}
	p.b.Workers = workers
	return p.b.Build()
}

// skipBlank counts and drops leading blank lines, so that the header stands in the first piece.
func (p *parser) skipBlank(data []byte) []byte {
	for {
		nl := bytes.IndexByte(data, '\n')
		if nl < 0 || !blank(data[:nl]) {
			return data
		}
		p.lines++
		data = data[nl+1:]
	}
}

func blank(line []byte) bool {
	return !slices.ContainsFunc(line, func(c byte) bool { return !space(c) })
}

// releaseEvery is the size of the parts that a mapped file is released in.
const releaseEvery = 4 << 20

// faults, deferred, turns a fault on memory that is gone into an error.
func (p *parser) faults(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		if _, fault := r.(interface{ Addr() uintptr }); !fault {
			panic(r)
		}
		*err = p.errorf(p.lines, "", "the file changed while it was read")
	}
}

// run reads data, which consists of whole lines.
func (p *parser) run(ctx context.Context, data []byte) (err error) {
	defer p.faults(debug.SetPanicOnFault(true), &err)
	released := 0
	first := data
	if p.any {
		first = nil
	}
	estimate := p.whole > 2*sample
	again := p.whole / 16
	if again < 4*sample {
		again = len(data)
	}
	for i := 0; i < len(data); {
		p.lines++
		if p.lines&1023 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if p.release != nil && i-released >= releaseEvery {
				p.release(data[released:i])
				released = i
			}
		}
		done := 0
		if first == nil || !p.mayBeHeader(first) {
			ops := p.b.NumOps()
			if end := p.scan(data, i); end > 0 {
				i = end
				p.any, first = true, nil
				if estimate && i >= sample {
					estimate = false
					more := float64(p.whole-i) / float64(i) * 65 / 64
					p.b.Reserve(int(more*float64(p.b.NumTxns())), int(more*float64(p.b.NumOps())))
				}
				if i >= again && i < len(data)/2 {
					again = len(data)
					// The rest may have more and longer texts. Unused room costs nothing.
					p.b.ReserveRows(float64(p.whole-i) / float64(i) * 5 / 4)
				}
				continue
			}
			done = p.b.NumOps() - ops
		}
		line := data[i:]
		i = len(data)
		if nl := bytes.IndexByte(line, '\n'); nl >= 0 {
			i -= len(line) - nl - 1
			line = line[:nl]
		}
		if blank(line) {
			if first != nil {
				first = data[i:]
			}
			continue
		}
		if err := p.tol.line(line, done); err != nil {
			return err
		}
		p.any, first = true, nil
	}
	return nil
}

// mayBeHeader reports whether the first line of data could have a field "format".
func (p *parser) mayBeHeader(data []byte) bool {
	if nl := bytes.IndexByte(data, '\n'); nl >= 0 {
		data = data[:nl]
	}
	return bytes.IndexByte(data, '\\') >= 0 || bytes.Contains(data, []byte(`"format"`))
}

func (p *parser) errorf(line uint32, field, format string, args ...any) *history.InputError {
	return &history.InputError{File: p.file, Line: int(line), Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}
