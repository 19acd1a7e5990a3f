package parquet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/safego"
)

// Read reads a history from a file's whole content, on up to workers cores; it ends early when ctx does. name is for
// messages. Several goroutines call release, if it is set, with parts of data that will not be read again. Errors are
// *history.InputError: the line is the row, from 1, and the field the column. data is not referenced afterwards. Cost:
// one pass over the columns, then history.Builder.Build; memory beyond the history: a page of each column and core.
func Read(ctx context.Context, data []byte, name string, workers int, release func(part []byte)) (
	h *history.History, err error) {
	f, err := Open(data, name)
	if err != nil {
		return nil, err
	}
	defer f.changed(&err)()
	b, err := f.read(ctx, workers, release)
	if err != nil {
		return nil, err
	}
	b.Workers = workers
	if h, err = b.Build(); err != nil {
		return nil, renamed(err)
	}
	if n := len(f.unknown); n > 0 {
		h.AddNote(history.NoteIgnored, n, "columns that the format does not know were ignored: %s",
			strings.ToValidUTF8(listed(f.unknown), "\ufffd"))
	}
	return h, nil
}

func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// renamed puts an error about a transaction's id into the words of this format.
func renamed(err error) error {
	if e, ok := errors.AsType[*history.InputError](err); ok && e.Field == "id" {
		e.Field = table[cTxn].name
		e.Msg = strings.Replace(e.Msg, "first in line", "first in row", 1) +
			", and the rows of each one after the other (ORDER BY txn, op)"
	}
	return err
}

// minRows is the least number of rows that a core gets; tests set fewer.
var minRows int64 = 1 << 16

func (f *File) read(ctx context.Context, workers int, release func([]byte)) (*history.Builder, error) {
	workers = min(workers, f.NumGroups(), int(min(f.NumRows()/minRows, math.MaxInt32)))
	if workers < 2 {
		r, err := f.newReader()
		if err != nil {
			return nil, err
		}
		return r.b, r.all(ctx, 0, f.NumGroups(), release)
	}
	readers := make([]*reader, workers)
	errs := make([]error, workers)
	var wg safego.Group
	from := 0
	for i := range readers {
		r, err := f.newReader()
		if err != nil {
			return nil, err
		}
		readers[i] = r
		to := from
		for to < f.NumGroups() && (i == workers-1 || f.row[to+1]*int64(workers) <= f.NumRows()*int64(i+1)) {
			to++
		}
		lo := from
		wg.Go(func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			errs[i] = r.all(ctx, lo, to, nil)
		})
		from = to
	}
	wg.Wait()
	// A transaction may cross the end of a row group in files of other programs.
	var last *reader
	for i, r := range readers {
		if last != nil && r.any && last.head.ID == r.first {
			return f.read(ctx, 1, release)
		}
		if errs[i] != nil {
			return nil, errs[i]
		}
		if r.any {
			last = r
		}
	}
	for _, r := range readers[1:] {
		readers[0].b.Merge(r.b, 0)
	}
	if release != nil {
		release(f.data)
	}
	return readers[0].b, nil
}

// reader makes transactions from rows.
type reader struct {
	f     *File
	b     *history.Builder
	parts *jsonl.Parts
	cur   [numColumns]*cursor
	view  [numColumns]view
	open  int64 // memory of the current pages
	row   int64 // of the window's first row

	any   bool  // a transaction has begun
	first int64 // the id of the first one
	head  history.TxnHead
	ops   int64 // operations of the current one
	empty bool  // it has a row without an operation
	last  [lastOfTxn + 1]cell

	batches *batches // nil: the history is not read in batches
	heads   func(group int, h *history.TxnHead) error
	group   int
	skip    cell // the transaction whose rows are skipped: they belong to the part before
	past    bool // the row group is behind the part: only its last transaction may go on here
	done    bool // another transaction has begun there
	keyed   bool // the column key has texts
}

// cell is the value of a row in a column.
type cell struct {
	v  int64
	ok bool
}

// view is a window of a column.
type view struct {
	vals    []int64
	present []byte // nil: every row has a value
	on      bool   // some row has a value
}

func (v *view) get(i int) (int64, bool) {
	if !v.on || v.present != nil && v.present[i] == 0 {
		return 0, false
	}
	return v.vals[i], true
}

// newReader returns a reader that has read the file's metadata.
func (f *File) newReader() (*reader, error) {
	r := &reader{f: f, b: history.NewBuilder()}
	r.b.File = f.name
	r.parts = jsonl.NewParts(r.b)
	for id, c := range f.columns {
		if c == nil {
			continue
		}
		cur := f.cursor(id, &r.open)
		r.cur[id] = cur
		switch {
		case id == cKind:
			cur.code = kindOf
		case id == cStatus:
			cur.code = statusOf
		case table[id].role == document:
		case id == cKey || id == cKeyText:
			cur.code = func(s []byte) (int64, error) {
				v, err := r.text(s)
				if err != nil {
					return 0, err
				}
				return int64(r.b.Key(history.Value{Kind: history.String, N: v})), nil
			}
		default:
			cur.code = r.text
		}
	}
	r.keyed = f.columns[cKey] != nil && f.columns[cKey].form == fText
	return r, r.header()
}

func (r *reader) text(s []byte) (int64, error) {
	if !utf8.Valid(s) {
		return 0, errors.New("a text is not valid UTF-8")
	}
	return int64(r.b.Text(s)), nil
}

func kindOf(s []byte) (int64, error) {
	for k := history.Read; k <= history.PredWrite; k++ {
		if string(s) == k.String() {
			return int64(k), nil
		}
	}
	return 0, fmt.Errorf(`unknown operation %.40q; expected "r", "w", "a", "pr" or "pw"`, s)
}

func statusOf(s []byte) (int64, error) {
	for st := history.Committed; st <= history.Unknown; st++ {
		if string(s) == st.String() {
			return int64(st), nil
		}
	}
	return 0, fmt.Errorf(`unknown status %.40q; expected "committed", "aborted" or "unknown"`, s)
}

// located returns an error of package jsonl with its place.
func (r *reader) located(err error, line int64) error {
	if e, ok := errors.AsType[*history.InputError](err); ok {
		e.File, e.Line = r.f.name, int(line)
	}
	return err
}

// wrong returns an error about a row of the window.
func (r *reader) wrong(i, id int, format string, args ...any) error {
	e := r.f.errAt(-1, table[id].name, format, args...)
	e.Line = int(r.row) + i + 1
	return e
}

// all reads row groups.
func (r *reader) all(ctx context.Context, from, to int, release func([]byte)) error {
	const estimate = 1 << 14 // rows read before the rest is estimated
	rows := r.f.row[to] - r.f.row[from]
	for g := from; g < r.f.NumGroups() && !r.done; g++ {
		if r.past = g >= to; r.past && (r.batches == nil || !r.any) {
			break
		}
		for _, c := range r.cur {
			if c != nil {
				c.enter(g)
			}
		}
		r.group = g
		for r.row = r.f.row[g]; r.row < r.f.row[g+1] && !r.done; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := int(min(maxWindow, r.f.row[g+1]-r.row))
			for _, c := range r.cur {
				if c == nil {
					continue
				}
				if err := c.next(); err != nil {
					return err
				}
				n = min(n, c.n-c.at)
			}
			if err := r.window(n); err != nil {
				return err
			}
			if done := r.row - r.f.row[from]; done < estimate && done+int64(n) >= estimate && r.batches == nil {
				more := float64(rows)/float64(done+int64(n)) - 1
				r.b.Reserve(int(more*float64(r.b.NumTxns())), int(more*float64(r.b.NumOps())))
			}
			r.row += int64(n)
		}
		if release != nil {
			release(r.f.span(g))
		}
	}
	if r.any && r.heads == nil {
		r.b.EndTxn(r.head)
	}
	return nil
}

// span returns the bytes of a row group's columns.
func (f *File) span(g int) []byte {
	lo, hi := int64(len(f.data)), int64(0)
	for _, c := range f.columns {
		if c != nil && f.row[g+1] > f.row[g] {
			from, size := chunk(&f.meta.RowGroups[g].Columns[c.leaf].MetaData)
			lo, hi = min(lo, from), max(hi, from+size)
		}
	}
	return f.data[min(lo, hi):hi]
}

// maxWindow is the number of rows that are read together, so that their columns stay in the second-level cache.
const maxWindow = 4096

// window reads n rows, which lie in one page of every column.
func (r *reader) window(n int) error {
	for id, c := range r.cur {
		v := &r.view[id]
		*v = view{}
		if c == nil {
			continue
		}
		if !c.none {
			v.on, v.vals = true, c.vals[c.at:c.at+n]
			if c.present != nil {
				v.present = c.present[c.at : c.at+n]
			}
		}
		c.at += n
	}
	txn := &r.view[cTxn]
	if !txn.on || txn.present != nil {
		for i := range n {
			if _, ok := txn.get(i); !ok {
				return r.wrong(i, cTxn, "missing; expected the transaction's id")
			}
		}
	}
	for i := 0; i < n; {
		id := txn.vals[i]
		j := i + 1
		for j < n && txn.vals[j] == id {
			j++
		}
		if r.skip.ok && id == r.skip.v {
			i = j
			continue
		}
		r.skip.ok = false
		same := r.any && id == r.head.ID
		if !same && r.past {
			r.done = true
			return nil
		}
		if !same && r.batches != nil {
			if err := r.full(); err != nil {
				return err
			}
		}
		if !same {
			if err := r.begin(i); err != nil {
				return err
			}
		}
		if err := r.agree(i, j, same); err != nil {
			return err
		}
		if r.heads == nil {
			if err := r.operations(i, j); err != nil {
				return err
			}
		} else if !same {
			if err := r.heads(r.group, &r.head); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

// begin begins the transaction of row i, and ends the one before.
func (r *reader) begin(i int) error {
	if r.any && r.heads == nil {
		r.b.EndTxn(r.head)
	} else if !r.any {
		r.any, r.first = true, r.view[cTxn].vals[i]
	}
	h := history.NewTxnHead()
	h.ID, h.HasID = r.view[cTxn].vals[i], true
	if line := r.row + int64(i) + 1; line <= math.MaxUint32 {
		h.Line = uint32(line)
	}
	r.ops, r.empty = 0, false
	for _, t := range [...]struct {
		id int
		to *int64
	}{{cSession, &h.Session}, {cStart, &h.Start}, {cCommit, &h.Commit}, {cEnd, &h.End}, {cStartTS, &h.StartTS},
		{cCommitTS, &h.CommitTS}} {
		if v, ok := r.view[t.id].get(i); ok {
			if v == history.NoTime {
				return r.wrong(i, t.id, "integer %d is out of range; expected more than that", v)
			}
			*t.to = v
		}
	}
	_, h.HasSess = r.view[cSession].get(i)
	h.Seq, h.HasSeq = r.view[cSeq].get(i)
	if r.batches != nil && h.HasSeq {
		r.batches.place(r.b.NumTxns(), h.Seq)
		h.HasSeq = false
	}
	if v, ok := r.view[cStatus].get(i); ok {
		h.Status = history.Status(v)
	}
	if v, ok := r.view[cInit].get(i); ok {
		h.Init = v != 0
	}
	if v, ok := r.view[cNode].get(i); ok {
		h.Node = uint32(v)
	}
	if v, ok := r.view[cName].get(i); ok {
		h.Name = uint32(v)
	}
	r.head = h
	return nil
}

// agree checks that rows i to j, which belong to one transaction, have equal heads. With same they must equal the rows
// before, too.
func (r *reader) agree(i, j int, same bool) error {
	for id := cSession; id <= lastOfTxn; id++ {
		v := &r.view[id]
		if !v.on && !r.last[id].ok {
			continue
		}
		var now cell
		now.v, now.ok = v.get(i)
		if same && now != r.last[id] {
			return r.disagree(i, id)
		}
		r.last[id] = now
		switch {
		case !v.on:
		case v.present == nil:
			for k := i + 1; k < j; k++ {
				if v.vals[k] != now.v {
					return r.disagree(k, id)
				}
			}
		default:
			for k := i + 1; k < j; k++ {
				if x, ok := v.get(k); x != now.v || ok != now.ok {
					return r.disagree(k, id)
				}
			}
		}
	}
	return nil
}

func (r *reader) disagree(i, id int) error {
	return r.wrong(i, id, "differs from the row before, of the same transaction %d; expected the same in all "+
		"rows of a transaction", r.head.ID)
}
