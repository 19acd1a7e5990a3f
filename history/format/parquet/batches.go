package parquet

import (
	"context"
	"runtime/debug"

	"isovet/history"
	"isovet/history/format"
)

// Heads calls do for each transaction of the file, with the row group in which it begins. The head has the line, id,
// session, place in the session, and whether it is the initial transaction, as the first row has them. Errors are
// *history.InputError, or do's. Cost: decoding these columns.
func (f *File) Heads(ctx context.Context, do func(group int, h *history.TxnHead) error) (err error) {
	defer f.changed(&err)()
	r, err := f.newReader()
	if err != nil {
		return err
	}
	for id := range r.cur {
		if id != cTxn && id != cSession && id != cSeq && id != cInit {
			r.cur[id] = nil
		}
	}
	r.heads = do
	return r.all(ctx, 0, f.NumGroups(), nil)
}

// each calls do with the ids of a row group's rows.
func (c *cursor) each(ctx context.Context, g int, do func(id int64)) error {
	c.enter(g)
	for c.left > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := c.next(); err != nil {
			return err
		}
		for i := range c.n {
			if c.none || c.present != nil && c.present[i] == 0 {
				e := c.f.errAt(-1, c.c.name, "missing; expected the transaction's id")
				e.Line = int(c.row) + i + 1
				return e
			}
			do(c.vals[i])
		}
		c.at = c.n
	}
	return nil
}

// changed is deferred by functions that read the file. If the file is mapped into memory and was cut off meanwhile, it
// returns an error about the file.
func (f *File) changed(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			*err = f.errAt(-1, "", "the file changed while it was read")
		}
	}
}

// Each reads a part of the file and calls do with its transactions in batches, each a history of its own. seqs has each
// transaction's place in its session, as the rows give it (seq); history.NoTime if they give none, and nil if no row
// gives any. A batch has its sessions in the order of the rows. The caller must check that this is the order of the
// places: it takes more than a batch. Errors are *history.InputError, with the row in the file, or do's. Cost: that of
// Read; memory: a batch, and a page of each column.
func (f *File) Each(ctx context.Context, p format.TablePart, do func(h *history.History, seqs []int64) error) (
	err error,
) {
	defer f.changed(&err)()
	r, err := f.newReader()
	if err != nil {
		return err
	}
	r.batches = &batches{TablePart: p, do: do}
	r.fresh()
	// The last transaction before the part may go on in the first row group.
	for g := p.From - 1; g >= 0 && !r.skip.ok; g-- {
		open := int64(0)
		if err := f.cursor(cTxn, &open).each(ctx, g, func(id int64) { r.skip = cell{id, true} }); err != nil {
			return err
		}
	}
	if err := r.all(ctx, p.From, p.To, nil); err != nil {
		return err
	}
	return r.give()
}

// batches is the additional state of a reader that reads in batches.
type batches struct {
	format.TablePart
	do   func(h *history.History, seqs []int64) error
	seqs []int64
}

// place notes the place of a batch's transaction in its session.
func (x *batches) place(t int, seq int64) {
	for len(x.seqs) < t {
		x.seqs = append(x.seqs, history.NoTime)
	}
	x.seqs = append(x.seqs, seq)
}

// full hands on the current batch if it is large enough. It is called before a transaction begins.
func (r *reader) full() error {
	if x := r.batches; !r.any || r.b.NumTxns()+1 < x.Txns && r.b.NumOps() < x.Ops {
		return nil
	}
	r.b.EndTxn(r.head)
	r.any = false
	return r.give()
}

// give hands on the current batch and begins another.
func (r *reader) give() error {
	x := r.batches
	if r.b.NumTxns() == 0 {
		return nil
	}
	if x.seqs != nil {
		for len(x.seqs) < r.b.NumTxns() {
			x.seqs = append(x.seqs, history.NoTime)
		}
	}
	h, err := r.b.Build()
	if err != nil {
		return renamed(err)
	}
	if err := x.do(h, x.seqs); err != nil {
		return err
	}
	x.seqs = nil
	r.fresh()
	return r.recode()
}

// fresh begins a batch's builder.
func (r *reader) fresh() {
	meta, initial := r.b.Meta, r.b.Initial
	texts := &r.b.Texts
	if h := r.batches.Header; h != nil {
		meta, initial, texts = h.Meta, h.Initial, h.Texts
	}
	b := history.NewBuilder()
	b.File, b.Meta, b.Initial = r.f.name, meta, initial
	if k := initial.Kind; k == history.String || k == history.Row {
		b.Initial.N = int64(b.Text(texts.Text(uint32(initial.N))))
	}
	r.b = b
	r.parts.Reset(b)
}

// recode renumbers the texts in the current pages for the current builder.
func (r *reader) recode() error {
	for id, c := range r.cur {
		if c == nil || c.code == nil || id == cKind || id == cStatus || c.c.form != fText {
			continue
		}
		for i := range c.dict.vals {
			c.dict.vals[i] = -1
		}
		if c.n == 0 || c.none {
			continue
		}
		c.vals = c.vals[:0]
		var err error
		if c.numbered {
			err = c.numbers(c.values)
		} else {
			err = c.codes(c.values)
		}
		if err != nil {
			return err
		}
		c.spread()
	}
	return nil
}
