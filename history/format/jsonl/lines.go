package jsonl

import (
	"bytes"
	"context"

	"isovet/history"
)

// Lines says where some lines stand in their file, and in the history, which may span several files.
type Lines struct {
	File  string // for messages
	Lines uint32 // lines of the file before these
	Txns  int64  // transactions of the history before these: they number lines without ids
	Head  bool   // these begin the file: the first may be a header
	// Meta and Initial apply to the whole history; InitialText is the text of an initial value that has one. They
	// override a header among the lines.
	Meta        history.Meta
	Initial     history.Value
	InitialText []byte
}

// Seqs lists, for each transaction, its place in its session as its line gives it (seq), or history.NoTime. The slice
// is nil if no line gives one.
type Seqs []int64

// ReadLines is Read for some complete lines of a file, on one core. Sessions have their transactions in the order of
// the lines. The caller must check that this is the order of their places (seq), since this depends on other lines
// too. It is no error if the lines have no transaction. Errors are *history.InputError, with the line in the file.
// data is not referenced afterwards. Cost: that of Read.
func ReadLines(ctx context.Context, data []byte, at Lines) (*history.History, Seqs, error) {
	p := newParser(at.File)
	if at.Head && at.Lines == 0 {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	}
	p.some = true
	p.lines, p.before = at.Lines, at.Txns
	p.any = !at.Head
	if err := p.run(ctx, data); err != nil {
		return nil, nil, err
	}
	p.b.Meta, p.b.Initial = at.Meta, at.Initial
	if k := at.Initial.Kind; k == history.String || k == history.Row {
		p.b.Initial.N = int64(p.b.Text(at.InitialText))
	}
	if p.seqs != nil {
		for len(p.seqs) < p.b.NumTxns() {
			p.seqs = append(p.seqs, history.NoTime)
		}
	}
	h, err := p.b.Build()
	return h, p.seqs, err
}

// ReadHeader reads the header from the first lines of a file. It returns false if the first line is no header, or no
// line is complete. data ends at the end of a line or of the file.
func ReadHeader(data []byte, file string) (h *history.History, is bool, err error) {
	p := newParser(file)
	data = p.skipBlank(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if nl := bytes.IndexByte(data, '\n'); nl >= 0 {
		data = data[:nl+1]
	}
	if !p.mayBeHeader(data) {
		return nil, false, nil
	}
	p.tol.b = data
	if !p.tol.isHeader() {
		return nil, false, nil
	}
	if err := p.run(context.Background(), data); err != nil {
		return nil, true, err
	}
	h, err = p.finish(1)
	return h, true, err
}
