// Package split reads one history that stands in many files, or in large ones, piece by piece, in memory that does not
// grow with the history.
//
// # Files and pieces
//
// [Plan] looks at the files of one history, in their order: the transactions of a file follow those of the file before
// it, as if the files' lines stood in one. It divides them into pieces. A [Piece] is a small value that another process
// or machine can be sent as JSON; its Each reads it in batches of some thousand transactions, each a history of its own
// with its own numbering of keys, versions and texts. Native files, JSON lines and Parquet files are read in part; a
// compressed file of JSON lines is one piece, read as a stream; any other file is one piece that is read whole.
//
// # What a batch does not say
//
// A batch knows of itself only. What holds for the whole history is told thus:
//
//   - Batch.First is the place of its first transaction in the whole history; places count all transactions.
//   - Keys, values, sessions and ids are the same in all batches if they are equal as the file has them (Keys with
//     Texts, SessName, Txns.ID): numbers within a batch mean nothing outside it.
//   - The header's facts are the Set's: the files must agree on the initial value and the model ("initial", "model");
//     a file without a header has those of the others. InitVer has only versions that the batch itself names.
//   - The initial transaction, if there is one, is in one batch, wherever it stands in the files: Batch.H.Init.
//   - A session's transactions stand in its order, over all batches in the order of their places: a history of which
//     that is not so is refused with an [OrderError], as it takes all of it to put it in order.
//   - A line without an id names its transaction by its ordinal in the whole history.
//
// Plan checks what takes all files to see, so that whoever reads pieces need not: that ids are unique, sessions' places
// (seq) without gaps, and initial transactions one at most.
//
// # Files of this package
//
//   - split.go: Set, Piece, Batch; plan.go: from paths to pieces; read.go: from a piece to batches
//   - facts.go: what is checked over all files; whole.go: all of a history in parts, in memory
//   - write.go: writing one in parts
//
// Experimental: this package may still change.
package split

import (
	"context"
	"fmt"
	"math"

	"isovet/history"
	"isovet/history/format"
	"isovet/internal/bounds"
)

// Options says how to divide a history. The zero value detects formats.
type Options struct {
	Format   string // a format's name; "" or "auto": each file's by its content
	RealTime format.RealTime
	Initial  format.InitialValue // "": what the files say

	PieceBytes int64 // of a file, about, in a piece; 0: 64 MiB
	// Whole is the largest file, in bytes as decompressed, that is read as a whole where its format demands that; 0: 1
	// GiB. Reading it takes some times that in memory.
	Whole   int64
	Workers int // cores to use; 0: all
	// Progress, if set, is told now and then how much of the files' bytes Plan has looked at. By one goroutine at a
	// time.
	Progress func(done, total int64)

	anyOrder bool // sessions need not stand in their order: see Read
}

const (
	pieceBytes = 64 << 20
	wholeBytes = 1 << 30
)

// Bounds of a batch.
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
	// Grows says that it is the recording of a run in progress: its first Bytes bytes are what counts.
	Grows bool `json:"grows,omitempty"`
}

// Initial is what registers hold at first: a value, and the text of one that is a string or row.
type Initial struct {
	Kind history.ValueKind `json:"kind"`
	N    int64             `json:"n,omitempty"`
	Text []byte            `json:"text,omitempty"`
}

// Header is what holds for a whole history.
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
	// Keys is the files' numbers of keys together: the whole has at most so many. 0: not known.
	Keys int64 `json:"keys,omitempty"`
}

// How a piece is read. One by rows may be cut: From, To, First and Txns then say which transactions it is.
const (
	ByRows   = "rows"   // transactions From to To of a native file
	byBytes  = "bytes"  // lines of a file of JSON lines, from byte From to byte To
	byFlow   = "flow"   // all lines of a compressed file of JSON lines, as a stream
	byGroups = "groups" // transactions that begin in row groups From to To of a Parquet file
	asWhole  = "whole"  // all of a file
)

// Piece is a part of a history: some transactions of one file. It is read by Each, and can be written as JSON and read
// again elsewhere, where the file has the same path.
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

// Batch is some transactions of a history that follow one another, as a history of their own.
type Batch struct {
	H     *history.History
	Piece int   // index of the piece that it is of
	First int64 // place of H's first transaction in the whole history
	// seqs are the places in their sessions that a file of JSON lines gives; nil: it gives none.
	seqs []int64
	part int // of the file among the set's
}

// OrderError says that a session's transactions do not stand in the file in their order, so that it takes all of the
// file to put them in order.
type OrderError struct {
	File string
	Line int // 0: unknown
	Msg  string
}

func (e *OrderError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return at + ": " + e.Msg + "; isovet reads this history piece by piece, which needs each session's " +
		"transactions in their order"
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

// line makes a line's number one that a history can hold, 0 if it cannot.
func line(n int64) uint32 {
	if n > math.MaxUint32 {
		return 0
	}
	return uint32(n)
}
