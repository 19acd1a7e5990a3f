package freeze

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"unsafe"
)

const magic = "isovet-freeze 1\n"

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
)

// trailer is the size of the file's end, after the values: the length of all before it, and its checksum.
const trailer = 12

// Save writes the values that pointers refer to to a new file, which it does not sync. Errors: a value that cannot be
// written (see the package comment); errors about the file, which stays as it is.
func Save(path string, values ...any) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := &writer{f: f, buf: make([]byte, 0, chunk), enc: map[reflect.Type]*encoder{}}
	w.text(magic)
	for _, v := range values {
		if err = w.value(v); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	w.flush()
	end := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(w.n)), w.sum)
	if w.err == nil {
		_, w.err = f.Write(end)
	}
	return errors.Join(w.err, f.Close())
}

// chunk is the size of a write.
const chunk = 1 << 16

type writer struct {
	f   *os.File
	buf []byte
	n   int64
	sum uint32
	err error
	enc map[reflect.Type]*encoder
	ids map[pointer]uint64
}

type pointer struct {
	t reflect.Type
	p unsafe.Pointer
}

type encoder struct {
	write func(w *writer, p unsafe.Pointer)
}

func (w *writer) flush() {
	w.out(w.buf)
	w.buf = w.buf[:0]
}

func (w *writer) out(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	w.sum = crc32.Update(w.sum, castagnoli, b)
	w.n += int64(len(b))
	_, w.err = w.f.Write(b)
}

// room makes space for n more bytes in the buffer.
func (w *writer) room(n int) {
	if len(w.buf)+n > cap(w.buf) {
		w.flush()
	}
}

func (w *writer) bytes(b []byte) {
	for len(b) > 0 {
		if len(w.buf) == 0 && len(b) >= chunk {
			w.out(b)
			return
		}
		w.room(1)
		n := min(len(b), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, b[:n]...)
		b = b[n:]
	}
}

func (w *writer) text(s string) { w.bytes(unsafe.Slice(unsafe.StringData(s), len(s))) }

func (w *writer) length(n int) {
	w.room(binary.MaxVarintLen64)
	w.buf = binary.AppendUvarint(w.buf, uint64(n))
}

func (w *writer) value(v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return fmt.Errorf("freeze: a %v; expected a pointer", t)
	}
	s, err := newSchema(t.Elem())
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	text, err := json.Marshal(s.nodes)
	if err != nil {
		return err
	}
	w.length(len(text))
	w.bytes(text)
	p := reflect.ValueOf(v).UnsafePointer()
	w.ids = map[pointer]uint64{{t.Elem(), p}: 1}
	w.encoder(t.Elem()).write(w, p)
	return nil
}

func (w *writer) encoder(t reflect.Type) *encoder {
	if e := w.enc[t]; e != nil {
		return e
	}
	e := &encoder{}
	w.enc[t] = e
	e.write = w.compile(t)
	return e
}

func (w *writer) compile(t reflect.Type) func(w *writer, p unsafe.Pointer) {
	switch k := t.Kind(); k {
	case reflect.String:
		return func(w *writer, p unsafe.Pointer) {
			s := *(*string)(p)
			w.length(len(s))
			w.text(s)
		}
	case reflect.Array:
		e, n, size := w.encoder(t.Elem()), t.Len(), t.Elem().Size()
		return func(w *writer, p unsafe.Pointer) {
			for i := range n {
				e.write(w, unsafe.Add(p, uintptr(i)*size))
			}
		}
	case reflect.Slice:
		return w.slice(t)
	case reflect.Pointer:
		e := w.encoder(t.Elem())
		return func(w *writer, p unsafe.Pointer) {
			to := *(*unsafe.Pointer)(p)
			if to == nil {
				w.length(0)
				return
			}
			id, known := w.ids[pointer{t.Elem(), to}]
			if !known {
				id = uint64(len(w.ids)) + 1
				w.ids[pointer{t.Elem(), to}] = id
			}
			w.length(int(id))
			if !known {
				e.write(w, to)
			}
		}
	case reflect.Map:
		return w.mapping(t)
	case reflect.Struct:
		return w.fields(t)
	default:
		n := width(k)
		return func(w *writer, p unsafe.Pointer) {
			w.room(8)
			w.buf = binary.LittleEndian.AppendUint64(w.buf, load(k, p))[:len(w.buf)+n]
		}
	}
}

func (w *writer) mapping(t reflect.Type) func(w *writer, p unsafe.Pointer) {
	k, e := w.encoder(t.Key()), w.encoder(t.Elem())
	return func(w *writer, p unsafe.Pointer) {
		m := reflect.NewAt(t, p).Elem()
		if m.IsNil() {
			w.length(0)
			return
		}
		w.length(m.Len() + 1)
		key, elem := reflect.New(t.Key()), reflect.New(t.Elem())
		for it := m.MapRange(); it.Next(); {
			key.Elem().SetIterKey(it)
			elem.Elem().SetIterValue(it)
			k.write(w, key.UnsafePointer())
			e.write(w, elem.UnsafePointer())
		}
	}
}

func (w *writer) fields(t reflect.Type) func(w *writer, p unsafe.Pointer) {
	type part struct {
		off uintptr
		e   *encoder
	}
	var parts []part
	for _, f := range taken(t) {
		parts = append(parts, part{f.Offset, w.encoder(f.Type)})
	}
	return func(w *writer, p unsafe.Pointer) {
		for _, f := range parts {
			f.e.write(w, unsafe.Add(p, f.off))
		}
	}
}

// load returns the bits of a scalar; only the lowest, of its width, count.
func load(k reflect.Kind, p unsafe.Pointer) uint64 {
	switch {
	case k == reflect.Int: // on some machines narrower than its width in the file
		return uint64(*(*int)(p))
	case k == reflect.Uint:
		return uint64(*(*uint)(p))
	case width(k) == 1:
		return uint64(*(*uint8)(p))
	case width(k) == 2:
		return uint64(*(*uint16)(p))
	case width(k) == 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

func (w *writer) slice(t reflect.Type) func(w *writer, p unsafe.Pointer) {
	e, size, as := w.encoder(t.Elem()), t.Elem().Size(), runs(t.Elem())
	return func(w *writer, p unsafe.Pointer) {
		s := (*sliceHeader)(p)
		if s.data == nil {
			w.length(0)
			return
		}
		w.length(s.len + 1)
		w.length(s.cap)
		switch {
		case len(as) == 1 && as[0].size == size:
			w.bytes(unsafe.Slice((*byte)(s.data), uintptr(s.len)*size))
		case as != nil:
			for i := range s.len {
				for _, r := range as {
					w.bytes(unsafe.Slice((*byte)(unsafe.Add(s.data, uintptr(i)*size+r.off)), r.size))
				}
			}
		default:
			for i := range s.len {
				e.write(w, unsafe.Add(s.data, uintptr(i)*size))
			}
		}
	}
}
