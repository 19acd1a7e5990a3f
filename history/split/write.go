package split

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
	"isovet/internal/atomicfile"
)

// Endings returns the name endings of the parts that Out can write.
func Endings() []string {
	all := []string{".ivh", ".jsonl", ".jsonl.gz", ".jsonl.zst"}
	if f, _ := format.ByName("parquet"); f.Write != nil {
		all = append(all, ".parquet")
	}
	return all
}

// Out writes a history that comes in batches to the parts of a folder. Each part is also a history by itself. Memory:
// a part's keys and versions (native.Writer), or a buffer.
type Out struct {
	dir, ending string
	header      *history.History
	made        bool // the folder was not there
	sync        bool // parts are to be safe on disk
	list        format.PartList
	n           int // of the next part

	// The part that is being written.
	part   format.Part
	tmp    *os.File
	native *native.Writer
	jsonl  *jsonl.Writer
	table  format.TableWriter
	buf    *bufio.Writer
	pack   io.WriteCloser // nil: not compressed
	size   *counter
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Create begins a folder, which must be new or empty. header is a history with the header of the whole.
func Create(dir, ending string, header *history.History) (*Out, error) {
	if !slices.Contains(Endings(), ending) {
		return nil, noEnding(ending)
	}
	o := &Out{dir: dir, ending: ending, header: header, n: 1}
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		o.made = true
	case err != nil:
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("%s: the folder has files, such as %s; expected a new or empty one", dir,
			entries[0].Name())
	}
	o.list.Unfinished = true
	if err := format.WritePartList(dir, o.list); err != nil {
		return nil, errors.Join(err, o.Abort())
	}
	return o, nil
}

// Add appends the transactions of a batch to the current part.
func (o *Out) Add(h *history.History) error {
	if o.tmp == nil {
		if err := o.open(o.n); err != nil {
			return err
		}
		o.n++
	}
	o.part.Txns += int64(h.NumTxns())
	o.part.Ops += int64(h.NumOps())
	switch {
	case o.native != nil:
		return o.native.Add(h)
	case o.table != nil:
		return o.table.Add(h)
	}
	return o.jsonl.Add(h)
}

// Now returns the number of transactions and the approximate number of bytes in the current part.
func (o *Out) Now() (txns, bytes int64) {
	switch {
	case o.tmp == nil:
		return 0, 0
	case o.native != nil:
		return o.part.Txns, o.native.Size()
	}
	return o.part.Txns, o.size.n + int64(o.buf.Buffered())
}

// Written returns how many transactions and operations all parts have, and their number.
func (o *Out) Written() (txns, ops int64, parts int) {
	for _, p := range append(o.list.Parts[:len(o.list.Parts):len(o.list.Parts)], o.part) {
		txns += p.Txns
		ops += p.Ops
	}
	parts = len(o.list.Parts)
	if o.tmp != nil {
		parts++
	}
	return txns, ops, parts
}

func (o *Out) open(n int) (err error) {
	o.part = format.Part{File: fmt.Sprintf("part-%05d%s", n, o.ending)}
	if o.tmp, err = atomicfile.Create(filepath.Join(o.dir, o.part.File)); err != nil {
		return err
	}
	if o.ending == ".ivh" {
		o.native = native.NewWriter(o.dir, o.header)
		return nil
	}
	o.size = &counter{w: o.tmp}
	o.buf = bufio.NewWriterSize(o.size, 1<<18)
	if filepath.Ext(o.ending) == ".parquet" {
		o.table, err = format.NewTable(o.buf, o.header)
		return err
	}
	if o.pack, err = format.Compressed(o.buf, o.ending); err != nil {
		return err
	}
	o.jsonl = jsonl.NewWriter(o.pack, o.header, false)
	return nil
}

// Cut ends the current part, if there is one.
func (o *Out) Cut() error {
	if o.tmp == nil {
		return nil
	}
	err := o.finish()
	st, serr := o.tmp.Stat()
	if err = cmp.Or(err, serr); err == nil {
		o.part.Bytes = st.Size()
	}
	if err = atomicfile.End(o.tmp, filepath.Join(o.dir, o.part.File), o.sync, err); err != nil {
		o.tmp = nil
		return err
	}
	o.list.Parts = append(o.list.Parts, o.part)
	o.part, o.tmp, o.native, o.jsonl, o.table, o.pack = format.Part{}, nil, nil, nil, nil, nil
	return nil
}

func (o *Out) finish() error {
	if o.native != nil {
		w := bufio.NewWriterSize(o.tmp, 1<<18)
		return errors.Join(o.native.Finish(w), w.Flush(), o.native.Close())
	}
	if o.table != nil {
		return errors.Join(o.table.Close(), o.buf.Flush())
	}
	err := o.jsonl.Flush()
	if o.pack != nil {
		err = errors.Join(err, o.pack.Close())
	}
	return errors.Join(err, o.buf.Flush())
}

// First writes a part before all others, and ends the current part.
func (o *Out) First(h *history.History) error {
	if err := o.Cut(); err != nil {
		return err
	}
	if err := o.open(0); err != nil {
		return err
	}
	next := o.n
	err := o.Add(h)
	if o.n = next; err != nil {
		return err
	}
	if err := o.Cut(); err != nil {
		return err
	}
	last := len(o.list.Parts) - 1
	o.list.Parts = slices.Insert(o.list.Parts[:last:last], 0, o.list.Parts[last])
	return nil
}

// Finish ends the last part and writes the list of parts; more is added to the list. A history without transactions
// has one part.
func (o *Out) Finish(more map[string]any) error {
	if o.tmp == nil && len(o.list.Parts) == 0 {
		if err := o.open(o.n); err != nil {
			return err
		}
	}
	if err := o.Cut(); err != nil {
		return err
	}
	o.list.Unfinished, o.list.More = false, more
	return format.WritePartList(o.dir, o.list)
}

// WritePart writes one part of a folder whose list the caller writes, atomically, and syncs it. batches adds its
// transactions.
func WritePart(dir string, n int, ending string, header *history.History, batches func(add func(*history.History) error,
) error) (format.Part, error) {
	if !slices.Contains(Endings(), ending) {
		return format.Part{}, noEnding(ending)
	}
	o := &Out{dir: dir, ending: ending, header: header, sync: true}
	err := o.open(n)
	if err == nil {
		err = batches(o.Add)
	}
	if err == nil {
		err = o.Cut()
	}
	if err != nil {
		return format.Part{}, errors.Join(err, o.drop())
	}
	return o.list.Parts[0], nil
}

func noEnding(ending string) error {
	return fmt.Errorf("parts with the ending %q; expected %s", ending, strings.Join(Endings(), ", "))
}

// drop removes the part that is being written.
func (o *Out) drop() (err error) {
	if o.tmp == nil {
		return nil
	}
	if o.native != nil {
		err = o.native.Close()
	}
	err = errors.Join(err, o.tmp.Close(), os.Remove(o.tmp.Name()))
	o.tmp = nil
	return err
}

// Abort removes everything that was written, and the folder if Create made it.
func (o *Out) Abort() error {
	errs := []error{o.drop()}
	for _, p := range o.list.Parts {
		errs = append(errs, os.Remove(filepath.Join(o.dir, p.File)))
	}
	if err := os.Remove(filepath.Join(o.dir, format.PartsName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	if o.made {
		errs = append(errs, os.Remove(o.dir))
	}
	return errors.Join(errs...)
}
