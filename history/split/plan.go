package split

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
	"isovet/internal/plural"
)

type planner struct {
	o     Options
	set   *Set
	early map[string]*history.History // recordings in progress
	done  int64                       // bytes of files looked at
	total int64
	facts facts
	said  string // the file whose header the set's is; "": none has one
	files int    // native ones, of which the number of keys is known
}

// Plan examines the files of one history and divides it into pieces. A path is a file, a folder with parts of the
// history, or a history in a format of folders. Errors about the files are *history.InputError and *OrderError. It
// checks properties of the whole: ids are unique, sessions' places (seq) are in order and without gaps, and there is
// at most one initial transaction. Cost: a pass over JSON lines, and over native files for their checksums. Memory:
// some bytes a key and a bit a transaction of the largest native file, and 40 bytes a session. If ids are in no order,
// they are sorted in a temporary file, 8 bytes each. Files in other formats are read whole.
func Plan(ctx context.Context, paths []string, o Options) (*Set, error) {
	o.PieceBytes = cmp.Or(o.PieceBytes, pieceBytes)
	o.Whole = cmp.Or(o.Whole, wholeBytes)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Format == "auto" {
		o.Format = ""
	}
	if err := (&format.Options{Initial: o.Initial}).OneFile(); err != nil {
		return nil, err
	}
	if err := o.Initial.Check(); err != nil {
		return nil, err
	}
	p := &planner{o: o, set: &Set{Name: strings.Join(paths, " ")}}
	defer p.facts.ids.out.close() // where it ends early
	var files []string
	txns := map[string]int64{} // as the lists of parts say
	for _, path := range paths {
		if !format.IsParts(path) {
			files = append(files, path)
			continue
		}
		parts, list, err := format.Parts(path)
		if err != nil {
			return nil, err
		}
		for i, f := range parts {
			files = append(files, f)
			if list != nil && i < len(list.Parts) {
				txns[f] = list.Parts[i].Txns
			}
		}
	}
	if len(files) == 0 {
		return nil, &history.InputError{File: p.set.Name, Off: -1, Msg: "no files; expected a history"}
	}
	stats := make([]os.FileInfo, len(files))
	for i, f := range slices.Backward(files) { // the last first: what is being recorded reads what stands before it
		st, err := os.Stat(f)
		if err != nil {
			return nil, cannotOpen(f, err)
		}
		stats[i] = st
		p.total += st.Size()
	}
	// Before all others, which may take long: these may soon be other files.
	for i, f := range slices.Backward(files) {
		if err := p.recording(ctx, f, stats[i].Size()); err != nil {
			return nil, err
		}
	}
	for i, f := range files {
		known, listed := txns[f]
		if !listed {
			known = -1
		}
		if err := p.file(ctx, f, stats[i], known); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := p.facts.done(p.set.Name); err != nil {
		return nil, err
	}
	s := p.set
	if p.files < len(s.Files) {
		s.Keys = 0
	}
	s.Init = p.facts.init
	if o.Initial != "" {
		h, err := s.Header.History()
		if err == nil {
			err = o.Initial.Apply(h)
		}
		if err != nil {
			return nil, err
		}
		s.Header.Initial = headerOf(h).Initial
	}
	for i := range s.Pieces {
		q := &s.Pieces[i]
		q.anyOrder = o.anyOrder
		q.Index, q.Header, q.RealTime, q.Override, q.Whole = i, s.Header, o.RealTime, o.Initial, o.Whole
		q.File = s.Files[q.Part]
	}
	return s, nil
}

func (p *planner) tell(bytes int64) {
	p.done += bytes
	if p.o.Progress != nil {
		p.o.Progress(p.done, p.total)
	}
}

// file adds a file's pieces. txns is the number of transactions in the list of parts, or −1.
func (p *planner) file(ctx context.Context, path string, st os.FileInfo, txns int64) error {
	f := File{Path: path, Bytes: st.Size(), MTime: st.ModTime().UnixNano(), Format: p.o.Format}
	plain := false
	var head []byte
	if h := p.early[path]; h != nil {
		f.Format, f.Grows = "isovet-history", true
	} else if in, err := format.Open(path); err != nil {
		return err
	} else if !in.Dir {
		_, plain = in.Mapped()
		head, err = in.Head()
		head = bytes.Clone(head)
		if err == nil && f.Format == "" {
			var g format.Format
			g, err = format.Detect(in)
			f.Format = g.Name
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	} else {
		in.Close()
	}
	f.Grows = f.Grows || f.Format == "isovet-history" && jsonl.IsPartial(head)
	first, before := len(p.set.Pieces), p.set.Txns
	var err error
	switch {
	case f.Format == "isovet-native" && plain:
		err = p.native(ctx, &f)
	case f.Format == "isovet-history" && plain && !f.Grows:
		err = p.lines(ctx, &f)
	case f.Format == "isovet-history" && !st.IsDir() && !f.Grows:
		err = p.flow(ctx, &f)
	case f.Format == "parquet" && plain:
		err = p.table(ctx, &f)
	default:
		err = p.whole(ctx, &f)
	}
	if err != nil {
		return err
	}
	for i := first; i < len(p.set.Pieces); i++ {
		p.set.Pieces[i].Part = len(p.set.Files)
	}
	f.Txns = p.set.Txns - before
	if txns >= 0 && f.Txns != txns {
		return &history.InputError{File: path, Off: -1, Msg: fmt.Sprintf("found %s; expected %d, as %s says",
			plural.Of(f.Txns, "transaction"), txns, format.PartsName)}
	}
	p.set.Files = append(p.set.Files, f)
	p.set.Bytes += f.Bytes
	return nil
}

// add adds a piece after the earlier ones.
func (p *planner) add(q Piece) {
	q.First = p.set.Txns
	p.set.Txns += q.Txns
	p.set.Pieces = append(p.set.Pieces, q)
}

// header merges a file's header into the set's. Both must agree, except for texts: the first file that has one decides.
func (p *planner) header(file string, h Header) error {
	s := &p.set.Header
	if p.said == "" {
		p.said, *s = file, h
		return nil
	}
	model := func(lists bool) string {
		if lists {
			return "list"
		}
		return "register"
	}
	if h.Meta.Lists != s.Meta.Lists {
		return &history.InputError{File: file, Line: 1, Field: "model", Msg: fmt.Sprintf("%q here, %q in %s; expected "+
			"the same in all files of a history", model(h.Meta.Lists), model(s.Meta.Lists), p.said)}
	}
	if p.o.Initial == "" && (h.Initial.Kind != s.Initial.Kind || h.Initial.N != s.Initial.N ||
		!bytes.Equal(h.Initial.Text, s.Initial.Text)) {
		return &history.InputError{File: file, Line: 1, Field: "initial", Msg: fmt.Sprintf("%s here, %s in %s; "+
			"expected the same in all files of a history", h.Initial, s.Initial, p.said)}
	}
	for _, t := range [...]struct{ to, from *string }{{&s.Meta.Name, &h.Meta.Name}, {&s.Meta.DB, &h.Meta.DB},
		{&s.Meta.Isolation, &h.Meta.Isolation}, {&s.Meta.Workload, &h.Meta.Workload}, {&s.Meta.Note, &h.Meta.Note}} {
		*t.to = cmp.Or(*t.to, *t.from)
	}
	return nil
}

func headerOf(h *history.History) Header {
	i := Initial{Kind: h.Initial.Kind, N: h.Initial.N}
	if i.Kind == history.String || i.Kind == history.Row {
		i.Text, i.N = bytes.Clone(h.Texts.Text(uint32(h.Initial.N))), 0
	}
	return Header{h.Meta, i}
}

// History returns a history without transactions that has this header, for functions that need one.
func (h *Header) History() (*history.History, error) {
	b := history.NewBuilder()
	b.Meta, b.Initial = h.Meta, h.Initial.in(&b.Texts)
	return b.Build()
}

// in returns the value in a history with these texts.
func (i Initial) in(t *history.Texts) history.Value {
	if i.Kind == history.String || i.Kind == history.Row {
		i.N = int64(t.Intern(i.Text))
	}
	return history.Value{Kind: i.Kind, N: i.N}
}

// String returns the value as JSON.
func (i Initial) String() string {
	var t history.Texts
	return string(t.AppendValue(nil, i.in(&t)))
}

func (p *planner) native(ctx context.Context, f *File) error {
	n, err := native.Open(f.Path)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.Verify(ctx, p.o.Workers); err != nil {
		return err
	}
	h := n.History()
	if err := p.header(f.Path, headerOf(h)); err != nil {
		return err
	}
	if p.o.anyOrder {
		// It is seen when it is read.
	} else if ok, err := n.Ordered(); err != nil {
		return err
	} else if !ok {
		return &OrderError{File: f.Path, Msg: "the transactions of a session are not in session order"}
	}
	if err := n.Do(func() error { return p.facts.history(f.Path, len(p.set.Files), h) }); err != nil {
		return err
	}
	n.Release()
	p.set.Keys += int64(h.NumKeys())
	p.files++
	txns := int64(h.NumTxns())
	pieces := max(1, min((f.Bytes+p.o.PieceBytes-1)/p.o.PieceBytes, txns))
	for i := range pieces {
		from, to := txns*i/pieces, txns*(i+1)/pieces
		p.add(Piece{By: ByRows, From: from, To: to, Txns: to - from})
	}
	p.tell(f.Bytes)
	return nil
}

// lines adds the pieces of a plain file of JSON lines.
func (p *planner) lines(ctx context.Context, f *File) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return &history.InputError{File: f.Path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	}
	defer file.Close()
	if err := p.linesHeader(io.NewSectionReader(file, 0, f.Bytes), f.Path); err != nil {
		return err
	}
	q := Piece{By: byBytes}
	err = p.heads(ctx, io.NewSectionReader(file, 0, f.Bytes), f, func(bytes int, txns, lines int64) {
		q.Txns += txns
		q.To += int64(bytes)
		if q.To-q.From >= p.o.PieceBytes && q.To < f.Bytes {
			p.add(q)
			q = Piece{By: byBytes, From: q.To, To: q.To, Lines: lines}
		}
		p.tell(int64(bytes))
	})
	if err != nil {
		return err
	}
	p.add(q)
	return nil
}

// heads reads the heads of all lines of a file. For each block it passes on its bytes and transactions, and the number
// of lines of the file up to its end.
func (p *planner) heads(ctx context.Context, r io.Reader, f *File, block func(bytes int, txns, lines int64)) error {
	before, lines := p.set.Txns, int64(0)
	begins := true
	part := len(p.set.Files)
	return eachBlock(ctx, r, f.Path, func(b []byte) error {
		k := int64(0)
		txns, n, err := jsonl.Heads(b, f.Path, lines, begins, func(h *jsonl.Head) error {
			x := head{id: h.ID, line: h.Line, init: h.Init, session: h.Session, has: h.HasSess, seq: history.NoTime}
			if h.HasSeq {
				x.seq = h.Seq
			}
			if !h.HasID {
				x.id = before + k
			}
			k++
			return p.facts.add(f.Path, part, &x, !p.o.anyOrder)
		})
		if err != nil {
			return err
		}
		before += txns
		lines += n
		begins = begins && txns == 0
		block(len(b), txns, lines)
		return nil
	})
}

// linesHeader reads the header of a file of JSON lines, if it has one.
func (p *planner) linesHeader(r io.Reader, path string) error {
	head := make([]byte, 0, 1<<16)
	for {
		n, err := r.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		// The line must be whole.
		text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
		if err != nil || bytes.IndexByte(text, '\n') >= 0 {
			break
		}
		if !bytes.Contains(text[:min(len(text), 1<<16)], []byte(`"format"`)) && len(text) >= 1<<16 {
			return nil // a long first transaction
		}
		if len(head) == cap(head) {
			head = slices.Grow(head, len(head))
		}
	}
	h, is, err := jsonl.ReadHeader(head, path)
	if err != nil || !is {
		return err
	}
	return p.header(path, headerOf(h))
}

// flow adds the piece of a compressed file of JSON lines.
func (p *planner) flow(ctx context.Context, f *File) error {
	in, err := format.Open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := in.Reader()
	if err != nil {
		return err
	}
	first := &prefix{r: r}
	if err := p.linesHeader(first, f.Path); err != nil {
		return err
	}
	q := Piece{By: byFlow}
	err = p.heads(ctx, io.MultiReader(bytes.NewReader(first.seen), r), f, func(_ int, txns, _ int64) { q.Txns += txns })
	if err != nil {
		return err
	}
	p.add(q)
	p.tell(f.Bytes)
	return nil
}

// prefix stores everything that is read through it.
type prefix struct {
	r    io.Reader
	seen []byte
}

func (p *prefix) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.seen = append(p.seen, b[:n]...)
	return n, err
}

// whole adds the piece of a file, or folder, that is read whole.
func (p *planner) whole(ctx context.Context, f *File) error {
	if f.Bytes > p.o.Whole {
		return &history.InputError{File: f.Path, Off: -1, Msg: fmt.Sprintf("format %s can only be read as a whole, "+
			"and the file has %d bytes; expected at most %d (isovet convert makes JSON lines or a native file of it)",
			f.Format, f.Bytes, p.o.Whole)}
	}
	h := p.early[f.Path]
	if h == nil {
		var err error
		if h, err = readWhole(ctx, f, p.o.RealTime, p.o.Whole); err != nil {
			return err
		}
	}
	if err := p.header(f.Path, headerOf(h)); err != nil {
		return err
	}
	if err := (&Piece{File: *f, anyOrder: p.o.anyOrder}).ordered(h); err != nil {
		return err
	}
	if err := p.facts.history(f.Path, len(p.set.Files), h); err != nil {
		return err
	}
	p.add(Piece{By: asWhole, Txns: int64(h.NumTxns()), early: p.early[f.Path]})
	p.tell(f.Bytes)
	return nil
}

// eachBlock calls f with the content of r in blocks that end at line ends, or at the end. f must not keep a block.
func eachBlock(ctx context.Context, r io.Reader, file string, f func(block []byte) error) error {
	buf := make([]byte, 0, min(batchBytes, 1<<16)) // most files need no more
	lines := 0
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*len(buf)), buf...) // a long file, or line
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil && err != io.EOF {
			lines += bytes.Count(buf, []byte("\n"))
			return &history.InputError{File: file, Line: lines + 1, Msg: "cannot read on: " + err.Error()}
		}
		cut := len(buf)
		if err == nil {
			if len(buf) < max(batchBytes, cap(buf)) {
				continue
			}
			if cut = bytes.LastIndexByte(buf, '\n') + 1; cut == 0 {
				continue
			}
		}
		if cut > 0 {
			lines += bytes.Count(buf[:cut], []byte("\n"))
			if err := f(buf[:cut]); err != nil {
				return err
			}
		}
		buf = buf[:copy(buf, buf[cut:])]
		if err == io.EOF {
			return nil
		}
	}
}
