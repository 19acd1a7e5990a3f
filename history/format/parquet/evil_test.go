package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// file makes a file of rows of the plainest types.
func file(t testing.TB, rows ...row) []byte {
	return foreign(t, rand.New(rand.NewPCG(3, 3)), rows, shape{group: 1000})
}

// TestErrors: a row that no transaction can have is refused with its number, its column, and what was expected.
func TestErrors(t *testing.T) {
	op := func(more ...any) row {
		x := row{"txn": int64(1), "kind": "r", "key": int64(1)}
		for i := 0; i < len(more); i += 2 {
			x[more[i].(string)] = more[i+1]
			if more[i+1] == nil {
				delete(x, more[i].(string))
			}
		}
		return x
	}
	for _, c := range []struct {
		rows  []row
		line  int
		field string
		says  string
	}{
		{[]row{op(), op("kind", "x")}, 2, "kind", `unknown operation "x"`},
		{[]row{op("status", "ok")}, 1, "status", `expected "committed"`},
		{[]row{op(), op("txn", nil)}, 2, "txn", "missing"},
		{[]row{op(), op("key", nil)}, 2, "key", "missing; expected a key"},
		{[]row{op("key_text", "a")}, 1, "key_text", "given beside key"},
		{[]row{op("value", int64(1), "value_text", "a")}, 1, "value_text", "given beside value"},
		{[]row{op("value", int64(1), "value_json", "true")}, 1, "value_json", "given beside value"},
		{[]row{op("value_json", "[1,")}, 1, "value_json[1]", "malformed JSON at byte 4"},
		{[]row{op("value_json", "[1, {}]")}, 1, "value_json[1]", "an object"},
		{[]row{op("value_json", "1.5")}, 1, "value_json", "1.5"},
		{[]row{op("value_json", "true false")}, 1, "value_json", "the end"},
		{[]row{op("kind", "w", "value_json", "[1]")}, 1, "value_json", "an array"},
		{[]row{op("kind", "a", "value_json", "{}")}, 1, "value_json", "an element"},
		{[]row{op("predicate", "{}")}, 1, "predicate", "expected none"},
		{[]row{op("kind", "pr")}, 1, "key", "expected predicate and rows alone"},
		{[]row{op("kind", "pr", "key", nil)}, 1, "predicate", "missing"},
		{[]row{op("kind", "pr", "key", nil, "predicate", "{}")}, 1, "rows", "missing"},
		{[]row{op("kind", "pr", "key", nil, "predicate", "{]", "rows", "[]")}, 1, "predicate", "malformed"},
		{[]row{op("kind", "pr", "key", nil, "predicate", "{}", "rows", "[[1,2],[3]]")}, 1, "rows[1]", "elements"},
		{[]row{op("kind", "pr", "key", nil, "predicate", "{}", "rows", "[[1,2],[3,[]]]")}, 1, "rows[1][1]", "an array"},
		{[]row{op("kind", "pr", "key", nil, "predicate", "{}", "rows", "[],1,2")}, 1, "rows", "the end"},
		{[]row{op("kind", nil)}, 1, "kind", "missing, while key is given"},
		{[]row{op(), op("kind", nil, "key", nil)}, 2, "kind", "the only one"},
		{[]row{op("kind", nil, "key", nil), op()}, 2, "kind", "behind a row without one"},
		{[]row{op("op", int64(0)), op("op", int64(2))}, 2, "op", "operation 2 of transaction 1; expected 1"},
		{[]row{op("op", int64(0)), op("op", int64(0))}, 2, "op", "in the order of op"},
		{[]row{op("session", int64(1)), op("session", int64(2))}, 2, "session", "differs from the row before"},
		{[]row{op("session", int64(1)), op()}, 2, "session", "differs from the row before"},
		{[]row{op("node", "a"), op("txn", int64(2)), op("txn", int64(2), "node", "a")}, 3, "node", "the row before"},
		{[]row{op(), op("txn", int64(2)), op()}, 3, "txn", "occurs twice, first in row 1"},
		{[]row{op("start", int64(5), "end", int64(4))}, 1, "end", "before its start"},
		{[]row{op("start", int64(history.NoTime))}, 1, "start", "out of range"},
		{[]row{op("op_start", int64(5), "op_end", int64(4))}, 1, "op_end", "before its start"},
		{[]row{op("seq", int64(1), "session", int64(1))}, 1, "seq", "gap in session 1"},
		{[]row{op("key", nil, "key_text", "\xff")}, 1, "key_text", "UTF-8"},
		{[]row{op("init", true)}, 1, "ops", "the initial transaction"},
	} {
		for _, workers := range []int{1, 2} {
			_, err := read(file(t, c.rows...), workers)
			e := inputError(t, c.says, err)
			if e.Line != c.line || e.Field != c.field || !strings.Contains(e.Msg, c.says) || e.File != "h.parquet" {
				t.Errorf("%v\n%v; expected row %d, column %s, %q", c.rows, err, c.line, c.field, c.says)
			}
		}
	}
}

// columnFile is a file with one odd column beside those that must be.
func columnFile(t testing.TB, name string, n parquetgo.Node, values ...parquetgo.Value) []byte {
	group := parquetgo.Group{"txn": parquetgo.Int(64), "kind": parquetgo.String(), "key": parquetgo.Int(64)}
	group[name] = n
	schema := parquetgo.NewSchema("t", group)
	var out bytes.Buffer
	w := parquetgo.NewWriter(&out, schema)
	for i, v := range values {
		var x parquetgo.Row
		for col, path := range schema.Columns() {
			switch path[0] {
			case name:
				level := 0
				if n.Optional() && !v.IsNull() {
					level = 1
				}
				x = append(x, v.Level(0, level, col))
			case "kind":
				x = append(x, parquetgo.ByteArrayValue([]byte("r")).Level(0, 0, col))
			default:
				x = append(x, parquetgo.Int64Value(int64(i)).Level(0, 0, col))
			}
		}
		must.Get(w.WriteRows([]parquetgo.Row{x}))(t)
	}
	must.OK(t, w.Close())
	return out.Bytes()
}

// TestColumns: a column of a type that cannot be what it should is refused once it has a value, with that row.
func TestColumns(t *testing.T) {
	null := parquetgo.NullValue()
	optional := parquetgo.Optional
	for _, c := range []struct {
		name   string
		n      parquetgo.Node
		values []parquetgo.Value
		line   int // 0: of no row; -1: none is wrong
		says   string
	}{
		{"session", optional(parquetgo.String()), []parquetgo.Value{null, parquetgo.ByteArrayValue([]byte("a"))}, 2,
			"texts; expected integers"},
		{"session", optional(parquetgo.String()), []parquetgo.Value{null, null}, -1, ""},
		{"session", parquetgo.Leaf(parquetgo.BooleanType), []parquetgo.Value{parquetgo.BooleanValue(true)}, 1,
			"booleans; expected integers"},
		{"start", parquetgo.String(), []parquetgo.Value{parquetgo.ByteArrayValue([]byte("2026-01-01"))}, 1,
			"texts; expected integers or timestamps"},
		{"start", parquetgo.Timestamp(parquetgo.Millisecond), []parquetgo.Value{parquetgo.Int64Value(1 << 62)}, 1,
			"too far away"},
		{"start", parquetgo.Leaf(parquetgo.Int96Type),
			[]parquetgo.Value{parquetgo.Int96Value(deprecated.Int96{0, 0, 1})}, 1, "too far away"},
		{"value", parquetgo.Leaf(parquetgo.DoubleType), []parquetgo.Value{parquetgo.DoubleValue(1),
			parquetgo.DoubleValue(1.5)}, 2, "1.5; expected a whole one"},
		{"value", parquetgo.Leaf(parquetgo.DoubleType), []parquetgo.Value{parquetgo.DoubleValue(1e300)}, 1, "1e+300"},
		{"value", parquetgo.Uint(64), []parquetgo.Value{parquetgo.Int64Value(-1)}, 1,
			"18446744073709551615 is too large"},
		{"value", parquetgo.Decimal(2, 18, parquetgo.Int64Type), []parquetgo.Value{parquetgo.Int64Value(1)}, 1,
			"decimal fractions of 2 digits"},
		{"value", parquetgo.Decimal(0, 38, parquetgo.FixedLenByteArrayType(16)),
			[]parquetgo.Value{parquetgo.FixedLenByteArrayValue([]byte("\x01234567890abcde"))}, 1, "64 bits"},
		{"value", parquetgo.UUID(), []parquetgo.Value{parquetgo.FixedLenByteArrayValue(make([]byte, 16))}, 1, "UUIDs"},
		{"value", parquetgo.Leaf(parquetgo.BooleanType), []parquetgo.Value{parquetgo.BooleanValue(true)}, -1, ""},
		{"value", parquetgo.List(parquetgo.Int(64)), nil, 0,
			"lists or structures; expected integers, texts or booleans"},
		{"value", parquetgo.Repeated(parquetgo.Int(64)), nil, 0, "lists; expected"},
		{"init", parquetgo.Int(32), []parquetgo.Value{parquetgo.Int32Value(1)}, 1, "integers; expected booleans"},
	} {
		_, err := read(columnFile(t, c.name, c.n, c.values...), 1)
		if c.line < 0 {
			must.Be(t, err == nil, "%s %v: %v", c.name, c.n, err)
			continue
		}
		e := inputError(t, c.says, err)
		must.Be(t, e.Line == c.line && e.Field == c.name && strings.Contains(e.Msg, c.says),
			"%s %v: %v; expected row %d, %q", c.name, c.n, err, c.line, c.says)
	}
	for name, says := range map[string]string{"txn": "no such column", "kind": "no such column"} {
		group := parquetgo.Group{"txn": parquetgo.Int(64), "kind": parquetgo.String(), "key": parquetgo.Int(64)}
		delete(group, name)
		var out bytes.Buffer
		must.OK(t, parquetgo.NewWriter(&out, parquetgo.NewSchema("t", group)).Close())
		_, err := read(out.Bytes(), 1)
		if e := inputError(t, name, err); e.Field != name || !strings.Contains(e.Msg, says) {
			t.Error(err)
		}
	}
}

// TestUnknownColumns: columns that are not ours are named in a note.
func TestUnknownColumns(t *testing.T) {
	h := must.Get(read(columnFile(t, "city", parquetgo.String(), parquetgo.ByteArrayValue([]byte("Ulm"))), 1))(t)
	if len(h.Notes) != 1 || h.Notes[0].Kind != history.NoteIgnored || !strings.HasSuffix(h.Notes[0].Text, ": city") {
		t.Errorf("%+v", h.Notes)
	}
}

// samples are small files of every kind.
func samples(t testing.TB) [][]byte {
	var all [][]byte
	for seed := range uint64(12) {
		h := random.Anything(seed, false)
		all = append(all, written(t, "h", h))
		all = append(all, foreign(t, rand.New(rand.NewPCG(seed, 9)), rowsOf(h), shape{group: 7, any: true}))
	}
	return all
}

// TestDamaged: a file that is cut off anywhere is refused, and one with other bytes anywhere is read or refused: no
// panic, and no more memory than a file of its size may take.
func TestDamaged(t *testing.T) {
	files := samples(t)
	for i, data := range files {
		for n := range len(data) {
			if n > 300 && n%17 > 0 && n < len(data)-300 {
				continue
			}
			if _, err := read(data[:n], 1); err == nil {
				t.Fatalf("file %d is read without its last %d bytes", i, len(data)-n)
			} else {
				inputError(t, fmt.Sprintf("file %d, %d bytes", i, n), err)
			}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tried := uint64(0)
	randtest.Seeds(t, randtest.Long[uint64](1200, 300_000), func(t testing.TB, seed uint64) {
		tried++
		r := rand.New(rand.NewPCG(seed, 17))
		data := bytes.Clone(files[r.IntN(len(files))])
		for range 1 + r.IntN(3) {
			i := r.IntN(len(data))
			if r.IntN(2) == 0 { // the description is what is believed most
				i = len(data) - 1 - r.IntN(min(len(data), 3000))
			}
			data[i] = []byte{0, 0xff, 0x7f, 0x80, byte(r.Uint32()), data[i] ^ 1<<r.IntN(8)}[r.IntN(6)]
		}
		if _, err := read(data, 1+int(seed%2)); err != nil {
			inputError(t, fmt.Sprintf("seed %d", seed), err)
		}
	})
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / max(1, tried); each > 64<<20 {
		t.Errorf("%d bytes allocated for each damaged file", each)
	}
}

// raw builds a file of one row group by hand: each column's pages as bytes, with what is reported of them.
type raw struct {
	rows    int64
	columns []rawColumn
}

type rawColumn struct {
	name  string
	typ   format.Type
	codec format.CompressionCodec
	pages []byte
}

func (x raw) bytes(t testing.TB) []byte {
	out := []byte(magic)
	meta := format.FileMetaData{Version: 1, NumRows: x.rows, Schema: []format.SchemaElement{{Name: "t",
		NumChildren: thrift.New(int32(len(x.columns)))}}}
	group := format.RowGroup{NumRows: x.rows}
	for _, c := range x.columns {
		meta.Schema = append(meta.Schema, format.SchemaElement{Name: c.name, Type: thrift.New(c.typ),
			RepetitionType: thrift.New(format.Required)})
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{Type: c.typ,
			PathInSchema: []string{c.name}, Codec: c.codec, NumValues: x.rows, DataPageOffset: int64(len(out)),
			TotalCompressedSize: int64(len(c.pages))}})
		out = append(out, c.pages...)
	}
	meta.RowGroups = append(meta.RowGroups, group)
	b := must.Get(thrift.Marshal(new(thrift.CompactProtocol), &meta))(t)
	out = append(out, b...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	return append(out, magic...)
}

// page is a data page: what its head says, and its body.
func page(t testing.TB, values int32, enc format.Encoding, size int, body []byte) []byte {
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(size),
		CompressedPageSize: int32(len(body)), DataPageHeader: thrift.New(format.DataPageHeader{NumValues: values,
			Encoding: enc, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}
	b := must.Get(thrift.Marshal(new(thrift.CompactProtocol), &h))(t)
	return append(b, body...)
}

// TestForged: sizes that are not true are found before memory is taken for them.
func TestForged(t *testing.T) {
	const many = 3_000_000
	plain := func(n int) []byte { return make([]byte, n) }
	kind := rawColumn{name: "kind", typ: format.ByteArray,
		pages: page(t, 1, format.Plain, 5, []byte("\x01\x00\x00\x00r"))}
	txn := func(rows int64, codec format.CompressionCodec, pages ...[]byte) []byte {
		columns := []rawColumn{kind, {"txn", format.Int64, codec, bytes.Join(pages, nil)}}
		if rows == 2 {
			columns = append(columns, rawColumn{"key", format.Int64, 0, page(t, 2, format.Plain, 16, plain(16))})
		}
		return raw{rows, columns}.bytes(t)
	}
	uvarints := func(all ...uint64) []byte {
		var b []byte
		for _, v := range all {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	z := must.Get(zstd.NewWriter(nil))(t)
	bomb := z.EncodeAll(plain(20<<20), nil)
	z.Close()
	footer := func(b []byte) []byte {
		out := append([]byte(magic), b...)
		return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), magic...)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"good, but for the key": {
			txn(1, 0, page(t, 1, format.Plain, 8, plain(8))), "missing; expected a key"},
		"rows": {
			txn(1<<39, 0, page(t, 1, format.Plain, 8, plain(8))), "expected fewer"},
		"values of a page": {
			txn(1, 0, page(t, 1<<30, format.Plain, 8, plain(8))), "expected at most 1"},
		"too few values": {
			txn(2, 0, page(t, 1, format.Plain, 8, plain(8))), "1 rows of row group 0 are missing"},
		"no bytes of values": {
			txn(many, 0, page(t, many, format.Plain, 8, plain(8))), "expected 3000000 values"},
		"a page's size": {
			txn(1, 0, page(t, 1, format.Plain, 1<<30, plain(8))), "decompresses to 1073741824"},
		"a page that is longer than it says": {
			txn(1, format.Zstd, page(t, 1, format.Plain, 8, bomb)), "decompressing"},
		"differences": {
			txn(1, 0, page(t, 1, format.DeltaBinaryPacked, 10, append(uvarints(128, 4, 1<<31, 0),
				plain(1)...))), "2147483648 values"},
		"a dictionary that is not there": {
			txn(1, 0, page(t, 1, format.RLEDictionary, 3, plain(3))), "expected that dictionary"},
		"a list": {
			footer([]byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0}), "cannot be read"},
		"many structures": {
			footer(append([]byte{0x49, 0xfc, 0x80, 0x80, 0x80, 0x04}, plain(9<<20)...)),
			"cannot be read"},
		"nesting": {
			footer(bytes.Repeat([]byte{0x1c}, 1<<20)), "cannot be read"},
		"a description longer than the file": {append(binary.LittleEndian.AppendUint32([]byte("PAR1PAR1"), 1<<31),
			magic...), "expected at most"},
		"an encrypted file": {[]byte("PARE0000PARE"), "encrypted"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(c.data, 1)
		runtime.ReadMemStats(&after)
		if e := inputError(t, name, err); !strings.Contains(e.Msg, c.says) {
			t.Errorf("%s: %v; expected %q", name, err, c.says)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
	}
}

// FuzzRead: whatever the bytes, there is no panic, and what is read is a history that is the same again once written.
func FuzzRead(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := read(data, 1)
		if err != nil {
			inputError(t, "fuzzed", err)
			return
		}
		must.Get(read(written(t, "fuzzed", h), 1))(t)
	})
}
