package freeze

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"reflect"
	"slices"
	"unsafe"
)

// ErrDamaged says that a file was damaged or is of another kind. Nothing has been read from it.
var ErrDamaged = errors.New("damaged")

type thawed interface{ Thawed() }

var thawedType = reflect.TypeFor[thawed]()

// Load reads a file of Save into the values that the pointers refer to. Errors: *fs.PathError; one that wraps
// ErrDamaged, which leaves all values unchanged; a change of types that the package does not allow, which leaves
// values in any state.
func Load(path string, values ...any) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := checked(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := &reader{in: bufio.NewReaderSize(io.LimitReader(f, size), chunk), left: size}
	defer func() {
		if v := recover(); v != nil {
			bad, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("%s: %w", path, bad.err)
		}
	}()
	if string(r.bytes(len(magic))) != magic {
		return fmt.Errorf("%s: of another kind; expected %q at its beginning: %w", path, magic[:len(magic)-1],
			ErrDamaged)
	}
	for _, v := range values {
		r.value(v)
	}
	return nil
}

// checked verifies the checksum of a file, and returns the length of the content.
func checked(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := st.Size() - trailer
	if size < int64(len(magic)) {
		return 0, fmt.Errorf("%d bytes are too few: %w", st.Size(), ErrDamaged)
	}
	sum := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{io.LimitReader(f, size)}, make([]byte, chunk)); err != nil {
		return 0, err
	}
	var end [trailer]byte
	if _, err := io.ReadFull(f, end[:]); err != nil {
		return 0, err
	}
	if n := int64(binary.LittleEndian.Uint64(end[:])); n != size || binary.LittleEndian.Uint32(end[8:]) != sum.Sum32() {
		return 0, fmt.Errorf("the checksum differs: %w", ErrDamaged)
	}
	_, err = f.Seek(0, io.SeekStart)
	return size, err
}

// failure is a panic value of the reader.
type failure struct{ err error }

type reader struct {
	in    *bufio.Reader
	left  int64
	buf   []byte
	nodes []node
	same  bool // the type is as it was
	dec   map[pair]*decoder
	ptrs  []unsafe.Pointer // by number; 0 is nil
}

// pair is a type in the file and the program's type for it, or nil.
type pair struct {
	n int
	t reflect.Type
}

type decoder struct {
	read func(r *reader, p unsafe.Pointer)
}

func (r *reader) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (r *reader) into(b []byte) {
	if _, err := io.ReadFull(r.in, b); err != nil {
		panic(failure{err})
	}
	r.left -= int64(len(b))
}

// bytes returns the next n bytes, which are valid until the next call.
func (r *reader) bytes(n int) []byte {
	if int64(n) > r.left {
		r.fail("%d bytes where %d are left", n, r.left)
	}
	r.buf = slices.Grow(r.buf[:0], n)[:n]
	r.into(r.buf)
	return r.buf
}

func (r *reader) length() int {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		panic(failure{err})
	}
	return int(n)
}

func (r *reader) value(v any) {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		r.fail("into a %v; expected a pointer", t)
	}
	text := slices.Clone(r.bytes(r.length()))
	s, err := newSchema(t.Elem())
	if err != nil {
		panic(failure{err})
	}
	mine, err := json.Marshal(s.nodes)
	r.nodes = nil
	if err = errors.Join(err, json.Unmarshal(text, &r.nodes)); err != nil {
		panic(failure{err})
	}
	r.same, r.dec = string(mine) == string(text), map[pair]*decoder{}
	p := reflect.ValueOf(v).UnsafePointer()
	r.ptrs = []unsafe.Pointer{nil, p}
	r.decoder(0, t.Elem()).read(r, p)
}

func (r *reader) decoder(n int, t reflect.Type) *decoder {
	if d := r.dec[pair{n, t}]; d != nil {
		return d
	}
	if n < 0 || n >= len(r.nodes) {
		r.fail("type %d of %d", n, len(r.nodes))
	}
	d := &decoder{}
	r.dec[pair{n, t}] = d
	if t == nil {
		d.read = r.skip(n)
	} else {
		d.read = r.compile(n, t)
	}
	return d
}

func (r *reader) compile(n int, t reflect.Type) func(r *reader, p unsafe.Pointer) {
	x, k := r.nodes[n], t.Kind()
	was := kinds[x.Kind]
	if scalar(k) && scalar(was) && family(k) == family(was) && width(k) >= width(was) {
		size := width(was)
		return func(r *reader, p unsafe.Pointer) {
			var b [8]byte
			r.into(b[:size])
			store(k, p, extend(was, binary.LittleEndian.Uint64(b[:])))
		}
	}
	if k != was || k == reflect.Array && t.Len() != x.Len {
		r.fail("the file has a %v; this isovet expects a %v", x.Kind, t)
	}
	switch k {
	case reflect.String:
		return func(r *reader, p unsafe.Pointer) { *(*string)(p) = string(r.bytes(r.length())) }
	case reflect.Array:
		d, size := r.decoder(x.Elem, t.Elem()), t.Elem().Size()
		return func(r *reader, p unsafe.Pointer) {
			for i := range x.Len {
				d.read(r, unsafe.Add(p, uintptr(i)*size))
			}
		}
	case reflect.Slice:
		return r.slice(x, t)
	case reflect.Pointer:
		d := r.decoder(x.Elem, t.Elem())
		return func(r *reader, p unsafe.Pointer) {
			at := (*unsafe.Pointer)(p)
			id := r.length()
			switch {
			case id < len(r.ptrs):
				*at = r.ptrs[id]
			case id > len(r.ptrs):
				r.fail("pointer %d of %d", id, len(r.ptrs))
			default:
				if *at == nil {
					*at = reflect.New(t.Elem()).UnsafePointer()
				}
				r.ptrs = append(r.ptrs, *at)
				d.read(r, *at)
			}
		}
	case reflect.Map:
		dk, de := r.decoder(x.Key, t.Key()), r.decoder(x.Elem, t.Elem())
		return func(r *reader, p unsafe.Pointer) {
			m := reflect.NewAt(t, p).Elem()
			n := r.length()
			if n == 0 {
				m.SetZero()
				return
			}
			m.Set(reflect.MakeMapWithSize(t, min(n-1, 1<<20)))
			for range n - 1 {
				key, elem := reflect.New(t.Key()), reflect.New(t.Elem())
				dk.read(r, key.UnsafePointer())
				de.read(r, elem.UnsafePointer())
				m.SetMapIndex(key.Elem(), elem.Elem())
			}
		}
	}
	return r.fields(x, t)
}

func (r *reader) fields(x node, t reflect.Type) func(r *reader, p unsafe.Pointer) {
	type part struct {
		off uintptr
		d   *decoder
	}
	of := map[string]reflect.StructField{}
	for _, f := range taken(t) {
		of[f.Name] = f
	}
	var parts []part
	for _, f := range x.Fields {
		if mine, ok := of[f.Name]; ok {
			parts = append(parts, part{mine.Offset, r.decoder(f.Type, mine.Type)})
		} else {
			parts = append(parts, part{0, r.decoder(f.Type, nil)})
		}
	}
	thaws := reflect.PointerTo(t).Implements(thawedType)
	return func(r *reader, p unsafe.Pointer) {
		for _, f := range parts {
			f.d.read(r, unsafe.Add(p, f.off))
		}
		if thaws {
			reflect.NewAt(t, p).Interface().(thawed).Thawed()
		}
	}
}

// extend sign-extends an integer that was narrower in the file.
func extend(k reflect.Kind, x uint64) uint64 {
	if family(k) != 'i' {
		return x
	}
	by := 64 - 8*width(k)
	return uint64(int64(x<<by) >> by)
}

func store(k reflect.Kind, p unsafe.Pointer, x uint64) {
	switch {
	case k == reflect.Int || k == reflect.Uint:
		*(*uint)(p) = uint(x)
	case k == reflect.Bool:
		*(*bool)(p) = x != 0
	case width(k) == 1:
		*(*uint8)(p) = uint8(x)
	case width(k) == 2:
		*(*uint16)(p) = uint16(x)
	case width(k) == 4:
		*(*uint32)(p) = uint32(x)
	default:
		*(*uint64)(p) = x
	}
}

func (r *reader) slice(x node, t reflect.Type) func(r *reader, p unsafe.Pointer) {
	d, size := r.decoder(x.Elem, t.Elem()), t.Elem().Size()
	var as []run
	if r.same {
		as = runs(t.Elem())
	}
	return func(r *reader, p unsafe.Pointer) {
		s := reflect.NewAt(t, p).Elem()
		n := r.length() - 1
		if n < 0 {
			s.SetZero()
			return
		}
		most := r.length()
		if n > most || int64(n) > r.left && size > 0 {
			r.fail("a slice of %d with room for %d, where %d bytes are left", n, most, r.left)
		}
		s.Set(reflect.MakeSlice(t, n, most))
		data := (*sliceHeader)(p).data
		switch {
		case n == 0:
		case len(as) == 1 && as[0].size == size:
			r.into(unsafe.Slice((*byte)(data), uintptr(n)*size))
		case as != nil:
			for i := range n {
				for _, a := range as {
					r.into(unsafe.Slice((*byte)(unsafe.Add(data, uintptr(i)*size+a.off)), a.size))
				}
			}
		default:
			for i := range n {
				d.read(r, unsafe.Add(data, uintptr(i)*size))
			}
		}
	}
}

// skip skips a value that the program has no field for.
func (r *reader) skip(n int) func(r *reader, p unsafe.Pointer) {
	x := r.nodes[n]
	k, ok := kinds[x.Kind]
	switch {
	case !ok:
		r.fail("a value of kind %q", x.Kind)
	case scalar(k):
		return func(r *reader, _ unsafe.Pointer) { r.bytes(width(k)) }
	case k == reflect.String:
		return func(r *reader, _ unsafe.Pointer) { r.bytes(r.length()) }
	case k == reflect.Struct:
		var ds []*decoder
		for _, f := range x.Fields {
			ds = append(ds, r.decoder(f.Type, nil))
		}
		return func(r *reader, _ unsafe.Pointer) {
			for _, d := range ds {
				d.read(r, nil)
			}
		}
	}
	elem := r.decoder(x.Elem, nil)
	many := func(r *reader, n int) {
		for range n {
			elem.read(r, nil)
		}
	}
	switch k {
	case reflect.Array:
		return func(r *reader, _ unsafe.Pointer) { many(r, x.Len) }
	case reflect.Slice:
		return func(r *reader, _ unsafe.Pointer) {
			if n := r.length(); n > 0 {
				r.length()
				many(r, n-1)
			}
		}
	case reflect.Map:
		key := r.decoder(x.Key, nil)
		return func(r *reader, _ unsafe.Pointer) {
			for range max(r.length(), 1) - 1 {
				key.read(r, nil)
				elem.read(r, nil)
			}
		}
	case reflect.Pointer:
		return func(r *reader, _ unsafe.Pointer) {
			if id := r.length(); id == len(r.ptrs) {
				r.ptrs = append(r.ptrs, nil) // whoever else points there gets nothing
				elem.read(r, nil)
			}
		}
	}
	r.fail("a value of kind %q", x.Kind)
	return nil
}
