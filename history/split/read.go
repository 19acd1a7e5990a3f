package split

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
)

// Each reads the piece and calls f with its batches in order. f may keep a batch. Errors about the file are
// *history.InputError; an error of f ends Each. Several pieces may be read at the same time. Memory: a batch and, for
// JSON lines, its text; for a native file, the pages of the versions that the piece names; for a file that is read
// whole, all of it.
func (p *Piece) Each(ctx context.Context, f func(*Batch) error) error {
	if p.early == nil {
		if err := p.unchanged(); err != nil {
			return err
		}
	}
	n := int64(0)
	give := func(h *history.History, seqs []int64) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		b := &Batch{H: h, Piece: p.Index, First: p.First + n, seqs: seqs, part: p.Part}
		if n += int64(h.NumTxns()); n > p.Txns {
			return p.countError(n)
		}
		if h.NumTxns() == 0 {
			return nil
		}
		if err := p.timed(h); err != nil {
			return err
		}
		return f(b)
	}
	var err error
	switch p.By {
	case ByRows:
		err = p.rows(ctx, give)
	case byBytes, byFlow:
		err = p.lines(ctx, give)
	case byGroups:
		err = p.groups(ctx, give)
	case asWhole:
		var h *history.History
		if p.early != nil {
			h = new(*p.early)
		} else {
			h, err = readWhole(ctx, &p.File, p.RealTime, p.Whole)
		}
		if err == nil {
			if err = p.whole(h); err == nil {
				var seqs []int64
				if p.anyOrder {
					seqs = places(h)
				}
				err = give(h, seqs)
			}
		}
	default:
		return fmt.Errorf("a piece is to be read by %q; expected %s, %s, %s, %s or %s", p.By, ByRows, byBytes,
			byFlow, byGroups, asWhole)
	}
	if err == nil && n != p.Txns {
		return p.countError(n)
	}
	return err
}

// unchanged returns an error if the file has changed since Plan.
func (p *Piece) unchanged() error {
	st, err := os.Stat(p.File.Path)
	if err != nil {
		return cannotOpen(p.File.Path, err)
	}
	if p.File.Grows && st.Size() >= p.File.Bytes {
		return nil
	}
	if !st.IsDir() && (st.Size() != p.File.Bytes || st.ModTime().UnixNano() != p.File.MTime) {
		return &history.InputError{File: p.File.Path, Off: -1, Msg: "the file changed after isovet divided it; " +
			"expected an unchanged file"}
	}
	return nil
}

func (p *Piece) countError(n int64) error {
	return &history.InputError{File: p.File.Path, Off: -1, Msg: fmt.Sprintf("found %d transactions or more from byte "+
		"or transaction %d on; expected %d", n, p.From, p.Txns)}
}

// timed applies Options.RealTime to a batch.
func (p *Piece) timed(h *history.History) error {
	if p.By == asWhole {
		return nil // its reader has
	}
	switch p.RealTime {
	case format.Untimed:
		h.Txns.Start, h.Txns.Commit, h.Txns.End, h.Ops.Start, h.Ops.End = nil, nil, nil, nil, nil
	case format.ByIndex:
		return &history.InputError{File: h.File, Off: -1, Msg: "--real-time index: format " + p.File.Format + " has " +
			"no order of invocations and completions; expected time or none"}
	}
	return nil
}

// View reads a piece of a native file in place. It calls f with transactions lo to hi of the file's history, some
// thousand at a time; first is the place of transaction lo in the whole history. The history has all transactions,
// keys and versions of the file; it is invalid when View returns, and must not be changed. ok is false, and f was not
// called, if the piece cannot be read so; use Each then. Several pieces may be read at the same time. Memory: the
// pages of the versions that the piece names.
func (p *Piece) View(ctx context.Context, f func(h *history.History, lo, hi uint32, first int64) error) (ok bool,
	err error) {
	if p.By != ByRows || p.anyOrder || p.Override != "" {
		return false, nil
	}
	if err := p.unchanged(); err != nil {
		return true, err
	}
	n, err := p.open()
	if err != nil {
		return true, err
	}
	defer n.Close()
	h := *n.History()
	// What is known by key of the file may take no more than what is known of the piece's transactions.
	if int64(h.NumKeys()) > max(1<<16, 2*p.Txns) {
		return false, nil
	}
	h.Meta = p.Header.Meta
	if err := p.timed(&h); err != nil {
		return true, err
	}
	return true, p.runs(ctx, n, func(lo, hi uint32) error {
		defer n.ReleaseRows(lo, hi)
		return n.Do(func() error { return f(&h, lo, hi, p.First+int64(lo)-p.From) })
	})
}

// open opens a native file that has the piece's transactions.
func (p *Piece) open() (*native.File, error) {
	n, err := native.Open(p.File.Path)
	if err != nil {
		return nil, err
	}
	if txns := int64(n.History().NumTxns()); p.From < 0 || p.From > p.To || p.To > txns || p.To-p.From != p.Txns {
		n.Close()
		return nil, fmt.Errorf("%s: the piece has transactions %d to %d, and the file has %d; expected %d in the piece",
			p.File.Path, p.From, p.To, txns, p.Txns)
	}
	return n, nil
}

// runs divides a piece of a native file into batches.
func (p *Piece) runs(ctx context.Context, n *native.File, f func(lo, hi uint32) error) error {
	for lo, end := uint32(p.From), uint32(p.To); lo < end; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		hi := min(lo+uint32(batchTxns), end)
		for hi > lo+1 && n.Ops(lo, hi) > batchOps {
			hi = lo + (hi-lo)/2
		}
		if err := f(lo, hi); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// rows reads transactions of a native file.
func (p *Piece) rows(ctx context.Context, give func(*history.History, []int64) error) error {
	n, err := p.open()
	if err != nil {
		return err
	}
	defer n.Close()
	var seqs []int64
	if p.anyOrder {
		seqs = places(n.History())
	}
	s := n.Slicer()
	return p.runs(ctx, n, func(lo, hi uint32) error {
		h, err := s.Slice(lo, hi)
		if err != nil {
			return err
		}
		h.Meta = p.Header.Meta
		if p.Override != "" {
			if err := p.Override.Apply(h); err != nil {
				return err
			}
		}
		var its []int64
		if seqs != nil {
			its = seqs[lo:hi]
		}
		return give(h, its)
	})
}

// lines reads JSON lines.
func (p *Piece) lines(ctx context.Context, give func(*history.History, []int64) error) error {
	var r io.Reader
	if p.By == byBytes {
		file, err := os.Open(p.File.Path)
		if err != nil {
			return &history.InputError{File: p.File.Path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
		}
		defer file.Close()
		r = io.NewSectionReader(file, p.From, p.To-p.From)
	} else {
		in, err := format.Open(p.File.Path)
		if err != nil {
			return err
		}
		defer in.Close()
		if r, err = in.Reader(); err != nil {
			return err
		}
	}
	i := p.Header.Initial
	at := jsonl.Lines{File: p.File.Path, Lines: line(p.Lines), Txns: p.First, Head: p.From == 0, Meta: p.Header.Meta,
		Initial: history.Value{Kind: i.Kind, N: i.N}, InitialText: i.Text}
	lines := p.Lines
	return eachBlock(ctx, r, p.File.Path, func(block []byte) error {
		h, seqs, err := jsonl.ReadLines(ctx, block, at)
		if err != nil {
			return err
		}
		if p.Override != "" {
			if err := p.Override.Apply(h); err != nil {
				return err
			}
		}
		lines += int64(bytes.Count(block, []byte("\n")))
		at.Lines = line(lines)
		at.Txns += int64(h.NumTxns())
		at.Head = at.Head && len(bytes.TrimSpace(block)) == 0
		return give(h, seqs)
	})
}

// Lines calls f with the JSON lines of r in batches, like [Piece.Each]. header is the header of all; file is a name
// for messages. It does not check properties of the whole.
func Lines(ctx context.Context, r io.Reader, file string, header *history.History,
	f func(*history.History) error) error {
	i := headerOf(header).Initial
	at := jsonl.Lines{File: file, Head: true, Meta: header.Meta, Initial: history.Value{Kind: i.Kind, N: i.N},
		InitialText: i.Text}
	return eachBlock(ctx, r, file, func(block []byte) error {
		h, _, err := jsonl.ReadLines(ctx, block, at)
		if err != nil {
			return err
		}
		at.Lines += uint32(bytes.Count(block, []byte("\n")))
		at.Txns += int64(h.NumTxns())
		at.Head = false
		if h.NumTxns() == 0 {
			return nil
		}
		return f(h)
	})
}

// readWhole reads a file, or folder, in any format.
func readWhole(ctx context.Context, f *File, by format.RealTime, most int64) (*history.History, error) {
	o := format.Options{Format: f.Format, RealTime: by, MaxBytes: most, Workers: 1}
	if f.Grows {
		o.Recorded = f.Bytes
	}
	h, err := format.Read(ctx, f.Path, o)
	if err != nil && f.Grows {
		if _, serr := os.Stat(f.Path); serr != nil {
			return nil, cannotOpen(f.Path, serr)
		}
	}
	return h, err
}

// places returns the transactions' places in their sessions, or nil if the transactions are in that order.
func places(h *history.History) []int64 {
	seqs := make([]int64, h.NumTxns())
	ordered := true
	for s := range h.NumSessions() {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, t := range txns {
			seqs[t] = int64(i)
			ordered = ordered && (i == 0 || txns[i-1] < t)
		}
	}
	if ordered {
		return nil
	}
	return seqs
}

// ordered returns an error if the sessions of a history that was read whole are not in order in the file.
func (p *Piece) ordered(h *history.History) error {
	for s := range h.NumSessions() {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i := 1; i < len(txns) && !p.anyOrder; i++ {
			if txns[i] < txns[i-1] {
				return &OrderError{File: p.File.Path, Line: int(h.Txns.Line[txns[i]]), Msg: fmt.Sprintf("transaction "+
					"%d comes after a later transaction of session %d", h.Txns.ID[txns[i]], h.SessName[s])}
			}
		}
	}
	return nil
}

// whole makes a batch of a history that was read whole.
func (p *Piece) whole(h *history.History) error {
	name := h.Meta.Name
	h.Meta = p.Header.Meta
	h.Meta.Name = cmp.Or(h.Meta.Name, name)
	if p.Override != "" {
		return p.Override.Apply(h)
	}
	return nil
}
