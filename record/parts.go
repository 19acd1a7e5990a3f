package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"isovet/history"
	"isovet/history/partlist"
	"isovet/internal/atomicfile"
	"isovet/internal/safego"
)

// Rotation says when the next part begins: at each of these limits that is not 0. Without any limit a part has 256 MiB.
type Rotation struct {
	Bytes int64         // of lines, as they are recorded
	Every time.Duration // since the part began
	Txns  int64         // transactions
	// Finish writes the file of a complete part to the folder, atomically, and syncs it. nil means JSON lines. Only
	// one part is finished at a time.
	Finish func(*Whole) (partlist.Part, error)
}

// Parts writes a recording to a folder, in parts, in memory that does not grow with it. The current part is a file
// part-….partial, like a file of Create, with the lines of its transactions and their outcomes. When the next part has
// begun and all transactions of this one have ended, it becomes a complete file in the list isovet-parts.json. So the
// folder is a history at any time, even if the program is killed. Memory: 24 bytes for each transaction of a part, and
// the memory of Rotation.Finish.
type Parts struct {
	dir    string
	header []byte // of a part that is being recorded
	meta   history.Meta
	r      Rotation

	mu        sync.Mutex
	done      sync.Cond // finishing has changed
	now       *part
	finishing *part // the one before, until it is whole
	work      safego.Group
	list      partlist.List
	err       error // the first; nothing is finished behind it
	closed    bool
}

// part is a part that is not complete yet.
type part struct {
	n         int
	path      string
	stream    *Stream
	began     time.Time
	bytes     int64
	txns, ops int64
	open      int // transactions that have not ended, and lines on their way
	past      bool
	outcomes  []outcome
}

// outcome is the outcome of a transaction that was recorded before its commit.
type outcome struct {
	id, end int64
	how     history.Status
}

// Open is a transaction that is in a part and has not ended.
type Open struct {
	p  *part
	id int64
}

// Whole is a part whose transactions have all ended.
type Whole struct {
	Dir       string
	Number    int
	Txns, Ops int64
	Meta      history.Meta
	path      string
	outcomes  []outcome
}

const (
	partBytes = 256 << 20
	partName  = "part-%05d"
)

// NewParts begins a recording in a folder, which must be new or empty.
func NewParts(dir string, meta history.Meta, r Rotation) (*Parts, error) {
	if r.Bytes < 0 || r.Every < 0 || r.Txns < 0 {
		return nil, fmt.Errorf("record: a new part after %d bytes, %v, %d transactions; none may be negative",
			r.Bytes, r.Every, r.Txns)
	}
	if r.Bytes == 0 && r.Every == 0 && r.Txns == 0 {
		r.Bytes = partBytes
	}
	if r.Finish == nil {
		r.Finish = func(w *Whole) (partlist.Part, error) { return w.file(w.Lines) }
	}
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("%s: the folder has files, such as %s; expected a new or empty one", dir,
			entries[0].Name())
	}
	p := &Parts{dir: dir, meta: meta, header: Header(nil, meta, true), r: r, list: partlist.List{Recording: true}}
	p.done.L = &p.mu
	if err := partlist.Write(dir, p.list); err != nil {
		return nil, err
	}
	now, err := p.begin(1)
	p.now = now
	return p, err
}

// begin makes a part. Its file gets its name only with its first line.
func (p *Parts) begin(n int) (*part, error) {
	t := &part{n: n, path: filepath.Join(p.dir, fmt.Sprintf(partName+partlist.Recording, n)), began: time.Now()}
	f, err := os.CreateTemp(p.dir, "."+filepath.Base(t.path)+".*")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(p.header)
	if err = errors.Join(err, f.Chmod(0o644)); err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	t.stream = NewStream(f)
	return t, nil
}

// First writes the initial transaction, as one JSON line, to a part before all others. Call it at most once, before
// the first transaction.
func (p *Parts) First(line []byte, ops int64) error {
	w := &Whole{Dir: p.dir, Meta: p.meta, Txns: 1, Ops: ops}
	made, err := w.file(func(to io.Writer) error {
		_, err := to.Write(append(Header(nil, p.meta, false), line...))
		return err
	})
	if err != nil {
		return err
	}
	return p.Listed(made)
}

// Listed is First for a caller that has written the part already, in any format.
func (p *Parts) Listed(made partlist.Part) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list.Parts = append(p.list.Parts, made)
	return partlist.Write(p.dir, p.list)
}

// Ended adds the line of a transaction that has ended. ops is its number of operations.
func (p *Parts) Ended(line []byte, ops int) error {
	t, err := p.enter(len(line), ops)
	if err != nil {
		return err
	}
	err = t.stream.Append(line, false)
	p.leave(t)
	return err
}

// Intend adds the line of a transaction that is about to be committed, and passes it to the operating system. Outcome
// must follow.
func (p *Parts) Intend(id int64, line []byte, ops int) (*Open, error) {
	t, err := p.enter(len(line), ops)
	if err != nil {
		return nil, err
	}
	return &Open{t, id}, t.stream.Append(line, true)
}

// Outcome adds the outcome of a transaction. end is history.NoTime if it is unknown.
func (p *Parts) Outcome(o *Open, how history.Status, end int64) error {
	line := appendOutcome(make([]byte, 0, 64), o.id, how, end)
	err := o.p.stream.Append(line, false)
	p.mu.Lock()
	o.p.bytes += int64(len(line))
	o.p.outcomes = append(o.p.outcomes, outcome{o.id, end, how})
	p.mu.Unlock()
	p.leave(o.p)
	return err
}

// enter returns the part for a transaction, after starting a new one if necessary.
func (p *Parts) enter(bytes, ops int) (*part, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return nil, p.err
	case p.closed:
		return nil, ErrClosed
	}
	t := p.now
	if p.finishing == nil && t.txns > 0 && (p.r.Bytes > 0 && t.bytes >= p.r.Bytes || p.r.Txns > 0 &&
		t.txns >= p.r.Txns || p.r.Every > 0 && time.Since(t.began) >= p.r.Every) {
		if err := p.next(); err != nil {
			p.err = err
			return nil, err
		}
		t = p.now
	}
	t.open++
	t.txns++
	t.ops += int64(ops)
	t.bytes += int64(bytes)
	return t, nil
}

func (p *Parts) next() error {
	t := p.now
	// Whoever reads both has all that stands in the old one where something stands in the new one.
	if err := t.stream.Append(nil, true); err != nil {
		return err
	}
	now, err := p.begin(t.n + 1)
	if err != nil {
		return err
	}
	p.now, p.finishing, t.past = now, t, true
	if t.open == 0 {
		p.work.Go(func() { p.finish(t) })
	}
	return nil
}

// leave says that a transaction has ended, or that its line was written.
func (p *Parts) leave(t *part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.open--; t.open == 0 && t.past {
		p.work.Go(func() { p.finish(t) })
	}
}

// finish completes a part. If it fails, the file of the part stays as it is.
func (p *Parts) finish(t *part) {
	err := errors.Join(t.stream.Append([]byte(completeLine), false), t.stream.Close())
	var made partlist.Part
	if err == nil {
		slices.SortFunc(t.outcomes, func(a, b outcome) int { return cmp.Compare(a.id, b.id) })
		w := &Whole{Dir: p.dir, Number: t.n, Txns: t.txns, Ops: t.ops, Meta: p.meta, path: t.path, outcomes: t.outcomes}
		err = safely(func() (err error) {
			made, err = p.r.Finish(w)
			return err
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.list.Parts = append(p.list.Parts, made)
		if err = partlist.Write(p.dir, p.list); err != nil {
			p.list.Parts = p.list.Parts[:len(p.list.Parts)-1]
		}
	}
	if err == nil {
		err = os.Remove(t.path)
	}
	if p.err == nil {
		p.err = err
	}
	p.finishing = nil
	p.done.Broadcast()
}

// Close completes all parts and the list. A transaction that has not ended gets an unknown outcome. If something
// cannot be written, the folder stays like that of an interrupted recording.
func (p *Parts) Close() error {
	p.mu.Lock()
	if p.closed {
		defer p.mu.Unlock()
		return p.err
	}
	p.closed = true
	if t := p.finishing; t != nil && t.open > 0 {
		t.open, t.past = 0, false
		p.work.Go(func() { p.finish(t) })
	}
	for p.finishing != nil {
		p.done.Wait()
	}
	t, err := p.now, p.err
	last := t.txns > 0 || len(p.list.Parts) == 0
	t.past = false
	p.mu.Unlock()
	switch {
	case err != nil:
		t.stream.Close()
	case last:
		p.finish(t)
	default:
		if err := errors.Join(t.stream.Close(), os.Remove(t.path)); err != nil {
			p.err = err
		}
	}
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.list.Recording = false
		p.err = partlist.Write(p.dir, p.list)
	}
	return p.err
}

// Written counts the transactions, operations and parts that the list has.
func (p *Parts) Written() (txns, ops int64, parts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.list.Parts {
		txns += t.Txns
		ops += t.Ops
	}
	return txns, ops, len(p.list.Parts)
}

// Lines writes the part as JSON lines after a header, each transaction with its outcome.
func (w *Whole) Lines(to io.Writer) error {
	f, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, out := bufio.NewReaderSize(f, 1<<16), bufio.NewWriterSize(to, 1<<16)
	out.Write(Header(nil, w.Meta, false))
	var line, b []byte
	for n := 0; ; n++ {
		line = line[:0]
		for {
			piece, err := in.ReadSlice('\n')
			if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
				return err
			}
			line = append(line, piece...)
			if err == nil {
				break
			}
			if err == io.EOF {
				return out.Flush() // a torn line cannot be: the stream was closed
			}
		}
		switch {
		case n == 0, bytes.HasPrefix(line, []byte(`{"outcome":`)), string(line) == completeLine:
		case bytes.HasPrefix(line, []byte(intended)):
			if b, err = w.ended(b[:0], line); err != nil {
				return fmt.Errorf("%s:%d: %w", w.path, n+1, err)
			}
			out.Write(b)
		default:
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
	}
}

// intended begins the line of a transaction that is about to be committed.
const intended = `{"intent":true,"id":`

// ended appends to b the line of such a transaction with its outcome.
func (w *Whole) ended(b, line []byte) ([]byte, error) {
	rest := line[len(intended):]
	digits, _, _ := bytes.Cut(rest, []byte(","))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("found %.60q; expected a transaction with its id", line)
	}
	o := outcome{end: history.NoTime, how: history.Unknown}
	if i, ok := slices.BinarySearchFunc(w.outcomes, id, func(o outcome, id int64) int {
		return cmp.Compare(o.id, id)
	}); ok {
		o = w.outcomes[i]
	}
	b = append(append(append(b, `{"status":"`...), o.how.String()...), `",`...)
	b = append(appendTime(b, "end", o.end), `"id":`...)
	return append(b, rest...), nil
}

func (w *Whole) file(content func(io.Writer) error) (partlist.Part, error) {
	made := partlist.Part{File: fmt.Sprintf(partName+".jsonl", w.Number), Txns: w.Txns, Ops: w.Ops}
	path := filepath.Join(w.Dir, made.File)
	f, err := atomicfile.Create(path)
	if err != nil {
		return made, err
	}
	err = content(f)
	if st, serr := f.Stat(); serr == nil {
		made.Bytes = st.Size()
	}
	return made, atomicfile.End(f, path, true, err)
}
