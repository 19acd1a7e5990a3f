// Package split reads one history that is in many files, or in large ones, piece by piece, in memory that does not
// grow with the history.
//
// # Files and pieces
//
// [Plan] examines the files of one history, in order: the transactions of a file follow those of the file before, as
// if all lines were in one file. It divides them into pieces. A [Piece] is a small value that can be sent as JSON to
// another process or machine. Piece.Each reads it in batches of some thousand transactions; each batch is a history
// with its own numbers of keys, versions and texts. Native files, JSON lines and Parquet files are read in pieces; a
// compressed file of JSON lines is one piece, read as a stream; any other file is one piece that is read whole.
//
// # The whole history
//
// A batch does not know the other batches. The following tells about the whole history:
//
//   - Batch.First is the place of its first transaction in the whole history; places count all transactions.
//   - Keys, values, sessions and ids are the same in all batches if they are equal in the files (Keys with Texts,
//     SessName, Txns.ID). Numbers within a batch have no meaning outside it.
//   - The Set has the header: the files must agree on the initial value and the model ("initial", "model"); a file
//     without a header has those of the others. InitVer has only versions that the batch itself names.
//   - The initial transaction, if there is one, is in one batch, wherever it is in the files: Batch.H.Init.
//   - A session's transactions are in its order, over all batches. A history that is not so is refused with an
//     [OrderError], since sorting it would need all of it.
//   - A line without an id names its transaction by its ordinal in the whole history.
//
// Plan checks properties of the whole, so that readers of pieces need not: ids are unique, sessions' places (seq) have
// no gaps, and there is at most one initial transaction.
//
// # Files of this package
//
//   - split.go: Set, Piece, Batch; plan.go: from paths to pieces; read.go: from a piece to batches
//   - facts.go: checks over all files; whole.go: all of a history in parts, in memory
//   - write.go: writing a history in parts
//
// Experimental: this package may still change.
package split

import (
	"context"
	"math"

	"isovet/history"
	"isovet/history/format"
	"isovet/internal/bounds"
)

// Options say how to divide a history. The zero value detects formats.
type Options struct {
	Format   string // a format's name; "" or "auto": each file's by its content
	RealTime format.RealTime
	Initial  format.InitialValue // "": what the files say

	PieceBytes int64 // of a file, about, in a piece; 0: 64 MiB
	// Whole is the largest decompressed size, in bytes, of a file that is read whole because its format requires it; 0
	// means 1 GiB. Reading it takes several times as much memory.
	Whole   int64
	Workers int // cores to use; 0: all
	// Progress, if set, is called from time to time with the number of bytes that Plan has examined. Only one
	// goroutine calls it at a time.
	Progress func(done, total int64)

	anyOrder bool // sessions need not stand in their order: see Read
}

const (
	pieceBytes = 64 << 20
	wholeBytes = 1 << 30
)

// Limits of a batch.
var (
	batchTxns  = 8192    // of native files
	batchOps   = 1 << 16 // unless a single transaction has more
	batchBytes = 1 << 20 // of JSON lines, unless one is longer
)

func init() {
	bounds.Register("split.batch-txns", &batchTxns)
	bounds.Register("split.batch-ops", &batchOps)
	bounds.Register("split.batch-bytes", &batchBytes)
}

// File is one of the files of a history.
type File struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Bytes  int64  `json:"bytes"`
	MTime  int64  `json:"mtime"` // ns since 1970
	Txns   int64  `json:"transactions"`
	// Grows says that it is the recording of a run in progress, of which only the first Bytes bytes are used.
	Grows bool `json:"grows,omitempty"`
}

// Initial is the initial value of registers, with its text if it is a string or row.
type Initial struct {
	Kind history.ValueKind `json:"kind"`
	N    int64             `json:"n,omitempty"`
	Text []byte            `json:"text,omitempty"`
}

// Header has what is the same for a whole history.
type Header struct {
	Meta    history.Meta `json:"meta"`
	Initial Initial      `json:"initial"`
}

// Set is a history in pieces.
type Set struct {
	Name   string  `json:"name"` // for messages
	Header Header  `json:"header"`
	Files  []File  `json:"files"`
	Pieces []Piece `json:"pieces"`
	Txns   int64   `json:"transactions"`
	Bytes  int64   `json:"bytes"`
	Init   bool    `json:"init"` // there is an initial transaction
	// Keys is the sum of the files' numbers of keys, which bounds the number of keys of the whole; 0 means unknown.
	Keys int64 `json:"keys,omitempty"`
}

// How a piece is read. A piece by rows may be divided further: From, To, First and Txns then say which transactions it
// has.
const (
	ByRows   = "rows"   // transactions From to To of a native file
	byBytes  = "bytes"  // lines of a file of JSON lines, from byte From to byte To
	byFlow   = "flow"   // all lines of a compressed file of JSON lines, as a stream
	byGroups = "groups" // transactions that begin in row groups From to To of a Parquet file
	asWhole  = "whole"  // all of a file
)

// Piece is a part of a history: some transactions of one file. Each reads it. It can be written as JSON and read
// elsewhere, if the file has the same path there.
type Piece struct {
	File  File   `json:"file"`
	Index int    `json:"index"` // among the set's pieces
	Part  int    `json:"part"`  // of the file among the set's
	By    string `json:"by"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	First int64  `json:"first"` // place of its first transaction in the history
	Txns  int64  `json:"transactions"`
	Lines int64  `json:"lines,omitempty"` // lines of the file before it

	Header   Header              `json:"header"`
	RealTime format.RealTime     `json:"real_time,omitempty"`
	Override format.InitialValue `json:"override,omitempty"` // the initial value, whatever the file says
	Whole    int64               `json:"whole,omitempty"`

	anyOrder bool             // see Options
	early    *history.History // of a recording in progress, as Plan has read it
}

// Batch is some consecutive transactions of a history, as a history.
type Batch struct {
	H     *history.History
	Piece int   // index of the piece that it is of
	First int64 // place of H's first transaction in the whole history
	// seqs are the places in sessions that a file of JSON lines gives, or nil.
	seqs []int64
	part int // of the file among the set's
}

// OrderError says that a session's transactions are not in order in the file, so that sorting them needs the whole
// file.
type OrderError struct {
	File string
	Line int // 0: unknown
	Msg  string
}

func (e *OrderError) Error() string {
	return (&history.InputError{File: e.File, Line: e.Line, Off: -1, Msg: e.Msg + "; isovet reads this history piece " +
		"by piece, which needs each session's transactions in their order"}).Error()
}

// Each reads all pieces, one after the other: see [Piece.Each].
func (s *Set) Each(ctx context.Context, f func(*Batch) error) error {
	for i := range s.Pieces {
		if err := s.Pieces[i].Each(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// line returns a line's number if a history can store it, otherwise 0.
func line(n int64) uint32 {
	if n > math.MaxUint32 {
		return 0
	}
	return uint32(n)
}
