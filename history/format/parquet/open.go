package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"isovet/history"
	"isovet/internal/slice"
)

// magic begins and ends every file.
const magic = "PAR1"

// Is reports whether content that begins with head is in this format.
func Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte(magic)) || bytes.HasPrefix(head, []byte("PARE"))
}

// File is a file's content with its description.
type File struct {
	name    string
	data    []byte
	meta    format.FileMetaData
	columns [numColumns]*column // nil: the file has none
	unknown []string            // the names of columns that are not ours
	row     []int64             // number of each row group's first row, and the end of the last group
}

func (f *File) errAt(off int64, field, msg string, args ...any) *history.InputError {
	return &history.InputError{File: f.name, Off: off, Field: field, Msg: fmt.Sprintf(msg, args...)}
}

// Open reads the description of a file. data is its whole content and must not change while the File is in use. name is
// for messages. Errors are *history.InputError. Cost: linear in the description's size.
func Open(data []byte, name string) (*File, error) {
	f := &File{name: name, data: data}
	size := int64(len(data))
	if !Is(data) {
		return nil, f.errAt(0, "", "does not begin as a Parquet file does; expected the bytes %q", magic)
	}
	if string(data[:4]) == "PARE" {
		return nil, f.errAt(0, "", "an encrypted Parquet file; expected a plain one")
	}
	if size < 12 || string(data[size-4:]) != magic {
		return nil, f.errAt(size, "", "truncated: the file does not end as a Parquet file does; expected the bytes %q",
			magic)
	}
	length := int64(binary.LittleEndian.Uint32(data[size-8:]))
	if length > size-12 {
		return nil, f.errAt(size-8, "", "a description of %d bytes; expected at most %d", length, size-12)
	}
	at := size - 8 - length
	n, err := measure(data[at : size-8])
	if err == nil {
		err = f.protect(func() error {
			return thrift.Unmarshal(&thrift.CompactProtocol{}, data[at:at+int64(n)], &f.meta)
		})
	}
	if err != nil {
		return nil, f.errAt(at, "", "the file's description cannot be read: %v", err)
	}
	if err := f.schema(); err != nil {
		return nil, err
	}
	return f, f.groups(at)
}

// protect turns a panic of the library, which unexpected bytes cause, into an error.
func (f *File) protect(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); fault {
				panic(r) // of a mapped file, whose pages are gone: see Read
			}
			err = fmt.Errorf("%v", r)
		}
	}()
	return do()
}

// schema finds the columns.
func (f *File) schema() error {
	elements := f.meta.Schema
	if len(elements) == 0 {
		return f.errAt(-1, "", "the file's description has no columns")
	}
	leaf := 0
	i := 1
	for i < len(elements) {
		e := &elements[i]
		begin, first := i, leaf
		// A column may be a tree of others, which follow it.
		for open := int64(1); open > 0 && i < len(elements); i++ {
			children := max(0, int64(elements[i].NumChildren.V))
			if children == 0 {
				leaf++
			}
			open += children - 1
		}
		id := idOf(e.Name)
		if id < 0 {
			f.unknown = append(f.unknown, e.Name)
			continue
		}
		c, err := columnOf(&elements[begin], id, first)
		if err != nil {
			return f.errAt(-1, e.Name, "%v", err)
		}
		if f.columns[id] != nil {
			return f.errAt(-1, e.Name, "the file has two columns of this name; expected one")
		}
		f.columns[id] = c
	}
	for _, id := range []int{cTxn, cKind} {
		if f.columns[id] == nil {
			return f.errAt(-1, table[id].name, "no such column; expected it, and those of an operation: key, value "+
				"(the file has %s)", names(elements))
		}
	}
	return nil
}

// names lists a file's columns.
func names(elements []format.SchemaElement) string {
	const most = 30
	var all []string
	for i := range elements[1:] {
		if i == most {
			all = append(all, "…")
			break
		}
		all = append(all, strings.ToValidUTF8(elements[i+1].Name, "\ufffd"))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// groups checks the row groups, whose pages end where the description begins.
func (f *File) groups(end int64) error {
	total := int64(0)
	f.row = []int64{0}
	leaves := slice.Count(f.meta.Schema[1:], func(e format.SchemaElement) bool { return e.NumChildren.V <= 0 })
	for g := range f.meta.RowGroups {
		group := &f.meta.RowGroups[g]
		if len(group.Columns) != leaves {
			return f.errAt(-1, "", "row group %d has %d columns; expected %d", g, len(group.Columns), leaves)
		}
		if group.NumRows < 0 || group.NumRows > 1<<40 {
			return f.errAt(-1, "", "row group %d has %d rows; expected no negative or huge number", g, group.NumRows)
		}
		total += group.NumRows
		f.row = append(f.row, total)
		for _, c := range f.columns {
			if c == nil {
				continue
			}
			m := &group.Columns[c.leaf]
			switch from, size := chunk(&m.MetaData); {
			case m.FilePath != "":
				return f.errAt(-1, c.name, "row group %d stands in another file, %.60q; expected all in one", g,
					m.FilePath)
			case len(m.EncryptedColumnMetadata) > 0:
				return f.errAt(-1, c.name, "the column is encrypted; expected a plain one")
			case m.MetaData.Type != c.physical:
				return f.errAt(-1, c.name, "row group %d is of type %v; expected %v", g, m.MetaData.Type, c.physical)
			case group.NumRows > 0 && (from < int64(len(magic)) || size < 0 || size > end-from):
				return f.errAt(-1, c.name, "row group %d has %d bytes at byte %d; expected them within the file", g,
					size, from)
			}
		}
	}
	// A history keeps some bytes for each row, however few the file has for it.
	const least = 17
	if total > growth(int64(len(f.data)))/least {
		return f.errAt(-1, "", "%d rows in %d bytes; expected fewer", total, len(f.data))
	}
	return nil
}

// chunk returns the place of a row group's column in the file.
func chunk(m *format.ColumnMetaData) (from, size int64) {
	from = m.DataPageOffset
	// Without a dictionary some writers write 0, or a wrong place behind the data.
	if d := m.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	return from, m.TotalCompressedSize
}

// lookup returns an entry of the file's key-value metadata.
func (f *File) lookup(key string) (string, bool) {
	i := slices.IndexFunc(f.meta.KeyValueMetadata, func(kv format.KeyValue) bool { return kv.Key == key })
	if i < 0 {
		return "", false
	}
	return f.meta.KeyValueMetadata[i].Value, true
}

// Header returns a history without transactions that has the file's Meta and Initial.
func (f *File) Header() (*history.History, error) {
	r, err := f.newReader()
	if err != nil {
		return nil, err
	}
	return r.b.Build()
}

// GroupBytes returns the number of bytes of a row group's columns in the file.
func (f *File) GroupBytes(g int) int64 { return int64(len(f.span(g))) }

// NumRows returns the number of rows.
func (f *File) NumRows() int64 { return f.row[len(f.row)-1] }

// NumGroups returns the number of row groups.
func (f *File) NumGroups() int { return len(f.row) - 1 }

// header reads the key-value metadata.
func (r *reader) header() error {
	m := &r.b.Meta
	for _, kv := range []struct {
		key string
		to  *string
	}{{"name", &m.Name}, {"db", &m.DB}, {"isolation", &m.Isolation}, {"workload", &m.Workload}, {"note", &m.Note}} {
		if *kv.to, _ = r.f.lookup(prefix + kv.key); !utf8.ValidString(*kv.to) {
			return r.f.errAt(-1, prefix+kv.key, "%.40q is not valid UTF-8", *kv.to)
		}
	}
	wrong := func(key, format string, args ...any) error { return r.f.errAt(-1, prefix+key, format, args...) }
	if v, ok := r.f.lookup(prefix + "version"); ok && v != "1" {
		return wrong("version", "unknown version %.40q; expected 1", v)
	}
	switch v, _ := r.f.lookup(prefix + "model"); v {
	case "list":
		m.Lists = true
	case "", "register":
	default:
		return wrong("model", "unknown model %.40q; expected register or list", v)
	}
	if v, ok := r.f.lookup(prefix + "initial"); ok {
		value, _, list, err := r.parts.Value(prefix+"initial", []byte(v))
		if err != nil {
			return r.located(err, 0)
		}
		if list {
			return wrong("initial", "an array; expected null, an integer, a string, a boolean or a row (an object)")
		}
		r.b.Initial = value
	}
	return nil
}

// prefix begins the keys of isovet's metadata.
const prefix = "isovet."
