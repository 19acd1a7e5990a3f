package parquet

import (
	"fmt"
	"io"
	"unicode/utf8"

	parquetgo "github.com/parquet-go/parquet-go"

	"isovet/history"
)

// layout is the schema of the files that Write makes: the columns in their order, each with its encoding. Numbers that
// are mostly near the ones before them are written as differences.
type layout struct {
	Txn       int64  `parquet:"txn,delta"`
	Session   int64  `parquet:"session,optional,delta"`
	Seq       int64  `parquet:"seq,optional,delta"`
	Status    string `parquet:"status,dict"`
	Init      bool   `parquet:"init"`
	Start     int64  `parquet:"start,optional,delta"`
	Commit    int64  `parquet:"commit,optional,delta"`
	End       int64  `parquet:"end,optional,delta"`
	StartTS   int64  `parquet:"start_ts,optional,delta"`
	CommitTS  int64  `parquet:"commit_ts,optional,delta"`
	Node      string `parquet:"node,optional,dict"`
	Name      string `parquet:"name,optional,dict"`
	Op        int32  `parquet:"op,delta"`
	Kind      string `parquet:"kind,optional,dict"`
	Key       int64  `parquet:"key,optional,delta"`
	KeyText   string `parquet:"key_text,optional,dict"`
	Value     int64  `parquet:"value,optional,delta"`
	ValueText string `parquet:"value_text,optional"`
	ValueJSON string `parquet:"value_json,optional"`
	Predicate string `parquet:"predicate,optional,dict"`
	Rows      string `parquet:"rows,optional"`
	OpStart   int64  `parquet:"op_start,optional,delta"`
	OpEnd     int64  `parquet:"op_end,optional,delta"`
}

// groupRows is the number of rows of a row group, or a few more: it ends with a transaction. DuckDB reads row groups of
// this size at once, and a machine with many cores has work for all. Tests set fewer.
var groupRows = 122_880

const (
	// batchRows is the number of rows that are passed to the library at once.
	batchRows = 4096
	// maxDictionary bounds the size of a dictionary: a row group's column with more different texts is written
	// without one.
	maxDictionary = 1 << 20
)

// Write writes a history. Read returns the same history from it (package internal/test/histtest/diff finds no
// difference). A text that is not UTF-8 is an error: Parquet's texts are. Cost: a few hundred nanoseconds a row;
// memory: a row group.
func Write(w io.Writer, h *history.History) error {
	e, err := NewWriter(w, h)
	if err != nil {
		return err
	}
	e.places(h)
	if err := e.Add(h); err != nil {
		return err
	}
	return e.Close()
}

// Writer writes a history that comes in batches, in the order of the file. Sessions' transactions must come in their
// order.
type Writer struct {
	h       *history.History // the present batch
	out     *parquetgo.GenericWriter[layout]
	columns []*parquetgo.ColumnWriter
	buf     [numColumns][]parquetgo.Value // rows not yet handed on
	rows    int                           // of the row group
	seq     []uint32                      // of each transaction in its session; nil: as in the file
	arena   []byte                        // the texts made for these rows
	err     error
}

// NewWriter begins a file. header is a history whose Meta and Initial hold for all batches.
func NewWriter(w io.Writer, h *history.History) (*Writer, error) {
	options := []parquetgo.WriterOption{
		parquetgo.SchemaOf(layout{}), parquetgo.Compression(&parquetgo.Zstd), parquetgo.DataPageVersion(1),
		parquetgo.DictionaryMaxBytes(maxDictionary), parquetgo.CreatedBy("isovet", "1", ""),
	}
	add := func(key, value string) { options = append(options, parquetgo.KeyValueMetadata(prefix+key, value)) }
	add("version", "1")
	for _, kv := range []struct{ key, value string }{{"name", h.Meta.Name}, {"db", h.Meta.DB},
		{"isolation", h.Meta.Isolation}, {"workload", h.Meta.Workload}, {"note", h.Meta.Note}} {
		if kv.value != "" {
			add(kv.key, kv.value)
		}
	}
	if h.Initial.Kind != history.Null {
		add("initial", string(h.Texts.AppendValue(nil, h.Initial)))
	}
	if h.Meta.Lists {
		add("model", "list")
	}
	e := &Writer{out: parquetgo.NewGenericWriter[layout](w, options...)}
	e.columns = e.out.ColumnWriters()
	if len(e.columns) != numColumns {
		return nil, fmt.Errorf("%d columns; expected %d", len(e.columns), numColumns)
	}
	return e, nil
}

// Add writes the transactions of a history, in its order.
func (e *Writer) Add(h *history.History) error {
	e.h = h
	for t := range uint32(h.NumTxns()) {
		if err := e.txn(t); err != nil {
			return err
		}
	}
	return e.flush() // rows refer to texts of h
}

// Close ends the file.
func (e *Writer) Close() error { return e.out.Close() }

// places fills seq where some session's order is not the file's.
func (e *Writer) places(h *history.History) {
	ordered := true
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i := 1; i < len(in); i++ {
			ordered = ordered && in[i-1] < in[i]
		}
	}
	if ordered {
		return
	}
	e.seq = h.SessionPlaces()
}

// flush hands the rows on.
func (e *Writer) flush() error {
	if e.err != nil {
		return e.err
	}
	if len(e.buf[0]) == 0 {
		return nil // parquet-go takes the address before an empty slice, which the race detector's checks refuse
	}
	for id, c := range e.columns {
		if _, err := c.WriteRowValues(e.buf[id]); err != nil {
			return err
		}
		e.buf[id] = e.buf[id][:0]
	}
	e.arena = e.arena[:0]
	return nil
}

// add adds a value to an optional column.
func (e *Writer) add(id int, v parquetgo.Value) { e.buf[id] = append(e.buf[id], v.Level(0, 1, id)) }

func (e *Writer) null(id int) { e.buf[id] = append(e.buf[id], nulls[id]) }

// nulls lists the empty value of each column.
var nulls = func() (all [numColumns]parquetgo.Value) {
	for id := range all {
		all[id] = parquetgo.NullValue().Level(0, 0, id)
	}
	return all
}()

// time adds an integer, or no value for NoTime.
func (e *Writer) time(id int, v int64) {
	if v == history.NoTime {
		e.null(id)
		return
	}
	e.add(id, parquetgo.Int64Value(v))
}

func (e *Writer) text(id int, s []byte) {
	if !utf8.Valid(s) && e.err == nil {
		e.err = fmt.Errorf("the text %.40q is not UTF-8, as texts in Parquet are", s)
	}
	e.add(id, parquetgo.ByteArrayValue(s))
}

// made adds a text that appended writes to the arena.
func (e *Writer) made(id int, appended func(dst []byte) []byte) {
	from := len(e.arena)
	e.arena = appended(e.arena)
	e.text(id, e.arena[from:len(e.arena):len(e.arena)])
}

// named adds a transaction's text of column col.
func (e *Writer) named(id int, col []uint32, t uint32) {
	if col == nil || col[t] == history.None {
		e.null(id)
		return
	}
	e.text(id, e.h.Texts.Text(col[t]))
}

// txn adds a transaction's rows: one for each operation, or a single one without operation.
func (e *Writer) txn(t uint32) error {
	lo, hi := e.h.TxnOps(t)
	if n := int(max(1, hi-lo)); e.rows > 0 && e.rows+n > groupRows {
		if err := e.flush(); err != nil {
			return err
		}
		if err := e.out.Flush(); err != nil {
			return err
		}
		e.rows = 0
	}
	if lo == hi {
		e.row(t, 0)
		e.none(cKind)
	}
	for op := lo; op < hi; op++ {
		e.row(t, op-lo)
		e.op(op)
		if len(e.buf[0]) >= batchRows {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return e.err
}

// row adds the transaction's columns and the operation's index.
func (e *Writer) row(t, op uint32) {
	h := e.h
	e.rows++
	e.buf[cTxn] = append(e.buf[cTxn], parquetgo.Int64Value(h.Txns.ID[t]).Level(0, 0, cTxn))
	if name := h.SessName[h.Txns.Sess[t]]; name == history.NoTime || t == h.Init {
		e.null(cSession)
		e.null(cSeq)
	} else {
		e.add(cSession, parquetgo.Int64Value(name))
		if e.seq == nil {
			e.null(cSeq)
		} else {
			e.add(cSeq, parquetgo.Int64Value(int64(e.seq[t])))
		}
	}
	e.buf[cStatus] = append(e.buf[cStatus], parquetgo.ByteArrayValue(statuses[h.Txns.Status[t]]).Level(0, 0, cStatus))
	e.buf[cInit] = append(e.buf[cInit], parquetgo.BooleanValue(t == h.Init).Level(0, 0, cInit))
	e.time(cStart, h.Start(t))
	e.time(cCommit, h.Commit(t))
	e.time(cEnd, h.End(t))
	e.time(cStartTS, h.StartTS(t))
	e.time(cCommitTS, h.CommitTS(t))
	e.named(cNode, h.Txns.Node, t)
	e.named(cName, h.Txns.Name, t)
	e.buf[cOp] = append(e.buf[cOp], parquetgo.Int32Value(int32(op)).Level(0, 0, cOp))
}

var (
	statuses = [...][]byte{[]byte("committed"), []byte("aborted"), []byte("unknown")}
	kinds    = [...][]byte{history.Read: []byte("r"), history.Write: []byte("w"), history.Append: []byte("a"),
		history.ReadList: []byte("r"), history.PredRead: []byte("pr"), history.PredWrite: []byte("pw")}
)

// none adds empty values to the columns of an operation, from id on.
func (e *Writer) none(id int) {
	for ; id < numColumns; id++ {
		e.null(id)
	}
}

func (e *Writer) op(op uint32) {
	h := e.h
	v := h.Ops.Ver[op]
	kind := h.Ops.Kind[op]
	e.add(cKind, parquetgo.ByteArrayValue(kinds[kind]))
	switch kind {
	case history.PredRead, history.PredWrite:
		for id := cKey; id < cPredicate; id++ {
			e.null(id)
		}
		e.text(cPredicate, h.Texts.Text(h.Preds.Pred[v]))
		e.made(cRows, func(dst []byte) []byte { return h.AppendRows(dst, v, kind == history.PredWrite) })
	case history.ReadList:
		e.key(h.Lists.Key[v])
		e.null(cValue)
		e.null(cValueText)
		e.made(cValueJSON, func(dst []byte) []byte { return h.AppendList(dst, v) })
		e.null(cPredicate)
		e.null(cRows)
	default:
		e.key(h.VerKey[v])
		e.value(h.VerValue(v))
		e.null(cPredicate)
		e.null(cRows)
	}
	e.time(cOpStart, h.OpStart(op))
	e.time(cOpEnd, h.OpEnd(op))
}

func (e *Writer) key(k uint32) {
	if v := e.h.Keys[k]; v.Kind == history.Int {
		e.add(cKey, parquetgo.Int64Value(v.N))
		e.null(cKeyText)
	} else {
		e.null(cKey)
		e.text(cKeyText, e.h.Texts.Text(uint32(v.N)))
	}
}

func (e *Writer) value(v history.Value) {
	at := -1
	switch v.Kind {
	case history.Int:
		at = cValue
		e.add(at, parquetgo.Int64Value(v.N))
	case history.String:
		at = cValueText
		e.text(at, e.h.Texts.Text(uint32(v.N)))
	case history.Bool, history.Row:
		at = cValueJSON
		e.made(at, func(dst []byte) []byte { return e.h.Texts.AppendValue(dst, v) })
	}
	for id := cValue; id <= cValueJSON; id++ {
		if id != at {
			e.null(id)
		}
	}
}
