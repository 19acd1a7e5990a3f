package format

import (
	"context"
	"errors"
	"io"

	"isovet/history"
)

// Parquet has the functions that read and write Parquet files. Package history/format/parquet registers them in
// programs that import it; other programs are a third smaller.
type Parquet struct {
	Read func(ctx context.Context, data []byte, name string, workers int, done func(part []byte)) (*history.History,
		error)
	Write func(w io.Writer, h *history.History) error
	// Open and NewWriter are for histories larger than memory.
	Open      func(data []byte, name string) (Table, error)
	NewWriter func(w io.Writer, header *history.History) (TableWriter, error)
}

// Table is an open Parquet file.
type Table interface {
	Header() (*history.History, error)
	NumGroups() int
	GroupBytes(group int) int64
	Heads(ctx context.Context, do func(group int, h *history.TxnHead) error) error
	Each(ctx context.Context, p TablePart, do func(h *history.History, seqs []int64) error) error
}

// TablePart says which transactions of a table to read, and in what portions.
type TablePart struct {
	From, To int // row groups in which the transactions begin
	// Txns and Ops bound the transactions and operations of a batch; a single transaction may have more operations.
	Txns, Ops int
	// Header is a history whose Meta and Initial apply to all batches; nil: those of the file.
	Header *history.History
}

// TableWriter writes a Parquet file, batch by batch.
type TableWriter interface {
	Add(h *history.History) error
	Close() error
}

var columns Parquet

// RegisterParquet sets the functions that read and write Parquet files. An init function calls it.
func RegisterParquet(p Parquet) {
	columns = p
	parquetTable.Write = func(w io.Writer, h *history.History, _ bool) error { return p.Write(w, h) }
}

var errParquet = errors.New("this program is built without Parquet; expected another format, or the full isovet")

// OpenTable opens a Parquet file in memory.
func OpenTable(data []byte, name string) (Table, error) {
	if columns.Open == nil {
		return nil, &history.InputError{File: name, Off: -1, Msg: errParquet.Error()}
	}
	return columns.Open(data, name)
}

// NewTable begins a Parquet file with the header's Meta and Initial.
func NewTable(w io.Writer, header *history.History) (TableWriter, error) {
	if columns.NewWriter == nil {
		return nil, errParquet
	}
	return columns.NewWriter(w, header)
}

func readParquet(ctx context.Context, in *Input, o Options) (*history.History, error) {
	if columns.Read == nil {
		return nil, &history.InputError{File: in.Name, Off: -1, Msg: errParquet.Error()}
	}
	if data, ok := in.Mapped(); ok {
		return columns.Read(ctx, data, in.Name, o.Workers, in.release)
	}
	data, err := in.Bytes()
	if err != nil {
		return nil, err
	}
	return columns.Read(ctx, data, in.Name, o.Workers, nil)
}
