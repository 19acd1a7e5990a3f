package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"isovet/history"
	"isovet/internal/test/must"
)

// row is a row by its columns; one that is not there is null. A value is an int64, a string or a bool.
type row map[string]any

// rowsOf is the table of a history, made as docs/formats.md has it and without care for speed: the naive twin of
// Write.
func rowsOf(h *history.History) []row {
	var rows []row
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		if lo == hi {
			rows = append(rows, headOf(h, t))
		}
		for op := lo; op < hi; op++ {
			x := headOf(h, t)
			x["op"] = int64(op - lo)
			for name, v := range map[string]int64{"op_start": h.OpStart(op), "op_end": h.OpEnd(op)} {
				if v != history.NoTime {
					x[name] = v
				}
			}
			v := h.Ops.Ver[op]
			x["kind"] = h.Ops.Kind[op].String()
			switch h.Ops.Kind[op] {
			case history.PredRead, history.PredWrite:
				x["predicate"] = string(h.Texts.Text(h.Preds.Pred[v]))
				x["rows"] = string(h.AppendRows(nil, v, h.Ops.Kind[op] == history.PredWrite))
			case history.ReadList:
				list := "["
				for i, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
					if i > 0 {
						list += ", "
					}
					list += h.ValueString(e)
				}
				x["value_json"] = list + "]"
				keyOf(h, x, h.Lists.Key[v])
			default:
				keyOf(h, x, h.VerKey[v])
				switch val := h.VerValue(v); val.Kind {
				case history.Int:
					x["value"] = val.N
				case history.String:
					x["value_text"] = string(h.Texts.Text(uint32(val.N)))
				case history.Bool, history.Row:
					x["value_json"] = h.ValueString(v)
				}
			}
			rows = append(rows, x)
		}
	}
	return rows
}

func keyOf(h *history.History, x row, k uint32) {
	if v := h.Keys[k]; v.Kind == history.Int {
		x["key"] = v.N
	} else {
		x["key_text"] = string(h.Texts.Text(uint32(v.N)))
	}
}

func headOf(h *history.History, t uint32) row {
	x := row{"txn": h.Txns.ID[t]}
	if s := h.Txns.Status[t]; s != history.Committed {
		x["status"] = s.String()
	}
	if t == h.Init {
		x["init"] = true
	} else if s := h.Txns.Sess[t]; h.SessName[s] != history.NoTime {
		x["session"] = h.SessName[s]
		for i, other := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if other == t {
				x["seq"] = int64(i)
				break
			}
			if i > 100 { // of the large test, whose order is the file's
				break
			}
		}
	}
	for name, v := range map[string]int64{"start": h.Start(t), "commit": h.Commit(t), "end": h.End(t),
		"start_ts": h.StartTS(t), "commit_ts": h.CommitTS(t)} {
		if v != history.NoTime {
			x[name] = v
		}
	}
	for name, col := range map[string][]uint32{"node": h.Txns.Node, "name": h.Txns.Name} {
		if col != nil && col[t] != history.None {
			x[name] = string(h.Texts.Text(col[t]))
		}
	}
	return x
}

// shape says how another program writes a table.
type shape struct {
	group   int    // rows of a row group
	any     bool   // columns of any type that will do; else of the plainest
	initial string // what registers hold at first, as JSON
	lists   bool   // keys that are only read as null are lists
}

// foreign writes a table as another program might: row groups that end anywhere, columns in the order of the alphabet,
// those without any value left out or of a type that they could not have, others beside them.
func foreign(t testing.TB, r *rand.Rand, rows []row, s shape) []byte {
	group := parquetgo.Group{}
	seqs := true
	for _, x := range rows {
		if _, ok := x["session"]; ok && x["seq"] == nil {
			seqs = false // cut short above
		}
	}
	var names []string
	for _, c := range table {
		names = append(names, c.name)
	}
	for _, name := range names {
		if name == "seq" && !seqs {
			continue
		}
		if n := nodeOf(r, name, rows, s.any); n != nil {
			group[name] = n
		}
	}
	if s.any {
		group["extra"] = parquetgo.Optional(parquetgo.Leaf(parquetgo.FloatType))
		group["more"] = parquetgo.Optional(parquetgo.Group{"a": parquetgo.Int(32),
			"b": parquetgo.Group{"c": parquetgo.String()}})
	}
	schema := parquetgo.NewSchema("table", group)
	codecs := []compress.Codec{&parquetgo.Uncompressed, &parquetgo.Snappy, &parquetgo.Gzip, &parquetgo.Zstd,
		&parquetgo.Lz4Raw, &parquetgo.Brotli}
	var out bytes.Buffer
	w := parquetgo.NewWriter(&out, schema, parquetgo.Compression(codecs[r.IntN(len(codecs))]),
		parquetgo.DataPageVersion(1+r.IntN(2)), parquetgo.PageBufferSize(64<<r.IntN(12)),
		parquetgo.KeyValueMetadata("pandas", "{}"))
	if s.initial != "" {
		w.SetKeyValueMetadata("isovet.initial", s.initial)
	}
	if s.lists {
		w.SetKeyValueMetadata("isovet.model", "list")
	}
	nan := r.IntN(2) == 0
	var leaves [][]string
	leaves = append(leaves, schema.Columns()...)
	for i, x := range rows {
		if i > 0 && i%s.group == 0 {
			must.OK(t, w.Flush())
		}
		var values parquetgo.Row
		for col, path := range leaves {
			leaf, _ := schema.Lookup(path...)
			v, ok := x[path[0]]
			switch {
			case ok:
				level := 0
				if leaf.MaxDefinitionLevel > 0 {
					level = 1
				}
				values = append(values, valueOf(t, leaf.Node.Type(), v).Level(0, level, col))
			case path[0] == "status" && leaf.MaxDefinitionLevel == 0:
				values = append(values, parquetgo.ByteArrayValue([]byte("committed")).Level(0, 0, col))
			case path[0] == "init" && leaf.MaxDefinitionLevel == 0:
				values = append(values, parquetgo.BooleanValue(false).Level(0, 0, col))
			case leaf.Node.Type().Kind() == parquetgo.Double && leaf.MaxDefinitionLevel > 0 && nan:
				values = append(values, parquetgo.DoubleValue(math.NaN()).Level(0, 1, col))
			default:
				values = append(values, parquetgo.NullValue().Level(0, 0, col))
			}
		}
		must.Get(w.WriteRows([]parquetgo.Row{values}))(t)
	}
	must.OK(t, w.Close())
	return out.Bytes()
}

// nodeOf chooses a column's type; nil: there is none.
func nodeOf(r *rand.Rand, name string, rows []row, anyType bool) parquetgo.Node {
	var ints []int64
	texts, bools, all := 0, 0, len(rows) > 0
	for _, x := range rows {
		switch v := x[name].(type) {
		case int64:
			ints = append(ints, v)
		case string:
			texts++
		case bool:
			bools++
		default:
			all = false
		}
	}
	one := func(nodes ...parquetgo.Node) parquetgo.Node {
		n := nodes[0]
		if anyType {
			n = nodes[r.IntN(len(nodes))]
		}
		if !all || r.IntN(2) == 0 {
			n = parquetgo.Optional(n)
		}
		return n
	}
	as := parquetgo.Encoded
	switch {
	case name == "init" && (bools > 0 || r.IntN(2) == 0):
		return one(parquetgo.Leaf(parquetgo.BooleanType), as(parquetgo.Leaf(parquetgo.BooleanType), &parquetgo.RLE))
	case texts > 0:
		var nodes []parquetgo.Node
		for _, n := range []parquetgo.Node{parquetgo.String(), parquetgo.Leaf(parquetgo.ByteArrayType),
			parquetgo.Enum(), parquetgo.JSON()} {
			for _, e := range []encoding.Encoding{&parquetgo.Plain, &parquetgo.RLEDictionary,
				&parquetgo.DeltaLengthByteArray, &parquetgo.DeltaByteArray} {
				nodes = append(nodes, as(n, e))
			}
		}
		return one(nodes...)
	case len(ints) > 0:
		return one(intNodes(table[idOf(name)].role, ints)...)
	}
	if name != "txn" && name != "kind" && (!anyType || r.IntN(2) == 0) {
		return nil
	}
	// Programs make any type of a column that is empty.
	nodes := []parquetgo.Node{parquetgo.Int(32), parquetgo.String(), parquetgo.Leaf(parquetgo.DoubleType),
		parquetgo.Leaf(parquetgo.BooleanType)}
	if name == "txn" || name == "kind" {
		nodes = nodes[:2]
	}
	return parquetgo.Optional(nodes[r.IntN(len(nodes))])
}

// intNodes are the types that can hold all of some integers.
func intNodes(of role, ints []int64) []parquetgo.Node {
	lo, hi, sum := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for _, v := range ints {
		lo, hi = min(lo, v), max(hi, v)
		if v%1000 != 0 {
			sum |= 1
		}
		if v%1_000_000 != 0 {
			sum |= 2
		}
	}
	var nodes []parquetgo.Node
	add := func(n parquetgo.Node, encodings ...encoding.Encoding) {
		for _, e := range append(encodings, &parquetgo.Plain, &parquetgo.RLEDictionary) {
			nodes = append(nodes, parquetgo.Encoded(n, e))
		}
	}
	add(parquetgo.Leaf(parquetgo.Int64Type), &parquetgo.DeltaBinaryPacked)
	add(parquetgo.Decimal(0, 18, parquetgo.Int64Type))
	add(parquetgo.Decimal(0, 38, parquetgo.FixedLenByteArrayType(16)), &parquetgo.DeltaByteArray,
		&parquetgo.ByteStreamSplit)
	if lo >= 0 {
		add(parquetgo.Uint(64), &parquetgo.DeltaBinaryPacked)
	}
	if lo >= math.MinInt32 && hi <= math.MaxInt32 {
		add(parquetgo.Int(32), &parquetgo.DeltaBinaryPacked)
	}
	if lo >= 0 && hi <= math.MaxUint32 {
		add(parquetgo.Uint(32))
	}
	if lo >= -1<<53 && hi <= 1<<53 {
		add(parquetgo.Leaf(parquetgo.DoubleType), &parquetgo.ByteStreamSplit)
	}
	if lo >= -1<<24 && hi <= 1<<24 {
		add(parquetgo.Leaf(parquetgo.FloatType), &parquetgo.ByteStreamSplit)
	}
	if of == clock {
		add(parquetgo.Timestamp(parquetgo.Nanosecond), &parquetgo.DeltaBinaryPacked)
		if sum&1 == 0 {
			add(parquetgo.Timestamp(parquetgo.Microsecond), &parquetgo.DeltaBinaryPacked)
		}
		if sum&2 == 0 {
			add(parquetgo.Timestamp(parquetgo.Millisecond), &parquetgo.DeltaBinaryPacked)
		}
		if lo >= 0 && hi < 1<<60 {
			add(parquetgo.Leaf(parquetgo.Int96Type))
		}
	}
	return nodes
}

// valueOf is a value of a column's type.
func valueOf(t testing.TB, typ parquetgo.Type, v any) parquetgo.Value {
	switch v := v.(type) {
	case bool:
		return parquetgo.BooleanValue(v)
	case string:
		return parquetgo.ByteArrayValue([]byte(v))
	case int64:
		if l := typ.LogicalType(); l != nil {
			if stamp, ok := l.Value.(*format.TimestampType); ok {
				v /= int64(stamp.Unit.Value.Duration())
			}
		}
		switch typ.Kind() {
		case parquetgo.Int32:
			return parquetgo.Int32Value(int32(v))
		case parquetgo.Float:
			return parquetgo.FloatValue(float32(v))
		case parquetgo.Double:
			return parquetgo.DoubleValue(float64(v))
		case parquetgo.Int96:
			const day = 86_400_000_000_000
			return parquetgo.Int96Value(deprecated.Int96{uint32(v % day), uint32(v % day >> 32),
				uint32(v/day + 2_440_588)})
		case parquetgo.FixedLenByteArray:
			b := make([]byte, 16)
			for i := range 8 {
				b[i] = byte(v >> 63)
				b[8+i] = byte(v >> (56 - 8*i))
			}
			return parquetgo.FixedLenByteArrayValue(b)
		}
		return parquetgo.Int64Value(v)
	}
	t.Fatal(fmt.Errorf("a value %v", v))
	return parquetgo.Value{}
}
