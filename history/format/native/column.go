package native

import (
	"encoding/binary"
	"unsafe"

	"isovet/history"
)

// element is the type of a column's elements.
type element interface {
	uint32 | int64 | byte | history.Status | history.OpKind | history.ValueKind | history.Value
}

// column is a column of a history and the section that holds it.
type column struct {
	id    uint32
	name  string
	width int
	// bytes returns the column in the file's form. It is a view if memory has the same form, and nil if there is no
	// such column.
	bytes func() []byte
	// set makes the column from bytes of a file: a view of them, if view is set.
	set func(b []byte, view bool)
}

// columns lists the columns of h in the order of their sections. x has the texts and the meta data.
func columns(h *history.History, x *rest) []column {
	return []column{
		col(1, "meta", &x.meta),
		col(2, "texts.off", &x.textOff),
		col(3, "texts.bytes", &x.arena),
		col(4, "keys", &h.Keys),
		col(5, "keys.init", &h.InitVer),
		col(6, "versions.key", &h.VerKey),
		col(7, "versions.kind", &h.VerKind),
		col(8, "versions.n", &h.VerN),
		col(9, "sessions.name", &h.SessName),
		col(10, "sessions.off", &h.SessOff),
		col(11, "sessions.txn", &h.SessTxn),
		col(12, "txns.id", &h.Txns.ID),
		col(13, "txns.line", &h.Txns.Line),
		col(14, "txns.session", &h.Txns.Sess),
		col(15, "txns.status", &h.Txns.Status),
		col(16, "txns.off", &h.Txns.OpOff),
		col(17, "txns.start", &h.Txns.Start),
		col(18, "txns.commit", &h.Txns.Commit),
		col(19, "txns.end", &h.Txns.End),
		col(20, "txns.start_ts", &h.Txns.StartTS),
		col(21, "txns.commit_ts", &h.Txns.CommitTS),
		col(22, "txns.node", &h.Txns.Node),
		col(23, "txns.name", &h.Txns.Name),
		col(24, "ops.kind", &h.Ops.Kind),
		col(25, "ops.version", &h.Ops.Ver),
		col(26, "ops.start", &h.Ops.Start),
		col(27, "ops.end", &h.Ops.End),
		col(28, "lists.key", &h.Lists.Key),
		col(29, "lists.off", &h.Lists.Off),
		col(30, "lists.elem", &h.Lists.Elem),
		col(31, "predicates.text", &h.Preds.Pred),
		col(32, "predicates.off", &h.Preds.Off),
		col(33, "predicates.old", &h.Preds.Old),
		col(34, "predicates.new", &h.Preds.New),
		col(shapesID, "texts.shapes", &x.shapes),
		col(levelsID, "txns.level", &h.Txns.Level),
	}
}

// rest has the parts of a History that are not stored as columns.
type rest struct {
	meta    []byte
	arena   []byte
	textOff []uint32
	shapes  []uint32 // nil: of version 1
}

// The sections that versions 2 and 3 have beside those of version 1.
const (
	shapesID = 35
	levelsID = 36
)

func (x *rest) texts() *history.Texts {
	if x.shapes == nil {
		return history.NewTexts(x.arena, x.textOff)
	}
	return history.NewPackedTexts(x.arena, x.textOff, x.shapes)
}

// version returns the version of the layout that the history needs.
func (x *rest) version(h *history.History) uint32 {
	switch {
	case h.Txns.Level != nil:
		return 3
	case x.shapes != nil:
		return 2
	}
	return 1
}

func restOf(h *history.History) *rest {
	x := new(rest)
	for _, s := range metaFields(&h.Meta) {
		x.meta = binary.LittleEndian.AppendUint32(x.meta, uint32(len(*s)))
		x.meta = append(x.meta, *s...)
	}
	x.arena, x.textOff, x.shapes = h.Texts.Layout()
	return x
}

func metaFields(m *history.Meta) []*string {
	return []*string{&m.Name, &m.DB, &m.Isolation, &m.Workload, &m.Note}
}

// parseMeta parses the meta data and returns the number of valid bytes: all of them if the section is right.
func parseMeta(b []byte, m *history.Meta) int {
	i := 0
	for _, s := range metaFields(m) {
		if len(b)-i < 4 {
			return i
		}
		n := binary.LittleEndian.Uint32(b[i:])
		if uint64(n) > uint64(len(b)-i-4) {
			return i
		}
		i += 4
		*s = string(b[i : i+int(n)])
		i += int(n)
	}
	return i
}

// inPlace says that columns have the same form in memory as in a file: this machine is little endian, and a Value is an
// integer, a byte and seven unused bytes.
var inPlace = binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && unsafe.Sizeof(history.Value{}) == 16 &&
	unsafe.Offsetof(history.Value{}.N) == 0 && unsafe.Offsetof(history.Value{}.Kind) == 8

// col makes a column. Inlining it would only enlarge the program.
//
//go:noinline
func col[T element](id uint32, name string, p *[]T) column {
	var zero T
	width := int(unsafe.Sizeof(zero))
	_, value := any(zero).(history.Value)
	if value {
		width = 16
	}
	return column{id: id, name: name, width: width,
		bytes: func() []byte {
			switch {
			case *p == nil:
				return nil
			case !inPlace || value: // a Value's unused bytes may have any content
				return encode(*p, width)
			}
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(*p))), len(*p)*width)
		},
		set: func(b []byte, view bool) {
			n := len(b) / width
			switch {
			case n == 0:
				*p = []T{}
			case view:
				*p = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
			default:
				*p = decode[T](b, width)
			}
		},
	}
}

func encode[T element](col []T, width int) []byte {
	dst := make([]byte, 0, len(col)*width)
	le := binary.LittleEndian
	for _, e := range col {
		switch e := any(e).(type) {
		case uint32:
			dst = le.AppendUint32(dst, e)
		case int64:
			dst = le.AppendUint64(dst, uint64(e))
		case history.Value:
			dst = le.AppendUint64(dst, uint64(e.N))
			dst = le.AppendUint64(dst, uint64(e.Kind))
		case byte:
			dst = append(dst, e)
		case history.Status:
			dst = append(dst, byte(e))
		case history.OpKind:
			dst = append(dst, byte(e))
		case history.ValueKind:
			dst = append(dst, byte(e))
		}
	}
	return dst
}

func decode[T element](b []byte, width int) []T {
	col := make([]T, len(b)/width)
	le := binary.LittleEndian
	for i := range col {
		e := b[i*width:]
		switch p := any(&col[i]).(type) {
		case *uint32:
			*p = le.Uint32(e)
		case *int64:
			*p = int64(le.Uint64(e))
		case *history.Value:
			*p = history.Value{N: int64(le.Uint64(e)), Kind: history.ValueKind(e[8])}
		case *byte:
			*p = e[0]
		case *history.Status:
			*p = history.Status(e[0])
		case *history.OpKind:
			*p = history.OpKind(e[0])
		case *history.ValueKind:
			*p = history.ValueKind(e[0])
		}
	}
	return col
}
