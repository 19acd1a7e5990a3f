package fressian

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"

	"isovet/history"
	"isovet/history/format/edn"
)

const (
	magic      = "JEPSEN"
	fileHeader = 18 // magic, version, offset of the index
	header     = 28 // of a block: length, checksum, type, zeros
)

// Types of blocks.
const (
	indexBlock  = 1
	valueBlock  = 2
	partialMap  = 3 // the number of the rest's block, and a map
	streamBlock = 4 // values until it ends
	vectorBlock = 5 // how many elements, and the blocks that have them
)

// Is reports whether a file begins as a test.jepsen.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// IsValue reports whether a file begins as a test.fressian: a map, whose first key is a keyword.
func IsValue(head []byte) bool {
	if len(head) < 4 || head[0] != codeMap {
		return false
	}
	d := decoder{data: head, pos: 1, most: 1 << 16}
	if n, open, err := d.listLength(); err != nil || n < 2 && !open {
		return false
	}
	return d.value() == nil && len(d.out) > 1 && d.out[0] == ':'
}

// EDN returns the history of a test.jepsen or a test.fressian as EDN: a map of the test's keys. The first key is
// :history, with an operation a line. Errors are *history.InputError with the byte. Cost: linear in the file and in the
// text.
func EDN(data []byte, file string) ([]byte, error) {
	f, history, rest, err := open(data, file)
	if err != nil {
		return nil, err
	}
	if id, is := blockRef(history); is {
		if history, err = f.text(id, 0); err != nil {
			return nil, err
		}
	}
	return f.whole(history, rest), nil
}

// Test is EDN without the operations: :history is empty.
func Test(data []byte, file string) ([]byte, error) {
	f, _, rest, err := open(data, file)
	if err != nil {
		return nil, err
	}
	return f.whole([]byte("[]"), rest), nil
}

// open reads the map of a test: its history, or the number of the history's block, and the rest.
func open(data []byte, file string) (f *blocks, history, rest []byte, err error) {
	f = &blocks{data: data, file: file, used: map[int32]bool{}, most: 64*len(data) + 1<<20}
	var root []byte
	switch {
	case !Is(data):
		root, err = f.one(data, 0)
	case len(data) < fileHeader:
		err = f.wrong(int64(len(data)), "found the end of the file; expected its version and the place of its index")
	case binary.BigEndian.Uint32(data[6:]) > 1:
		err = f.wrong(6, "found version %d of the format; expected 0 or 1", binary.BigEndian.Uint32(data[6:]))
	default:
		var id int32
		if id, err = f.readIndex(); err == nil {
			root, err = f.text(id, 0)
		}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	history, rest, err = f.parts(root)
	return f, history, rest, err
}

// blocks is a file that is being read.
type blocks struct {
	data  []byte
	file  string
	index map[int32]int64
	used  map[int32]bool // blocks read so far: no block is part of two values
	most  int            // bytes of text that may still be made
}

func (f *blocks) wrong(at int64, format string, args ...any) error {
	return &history.InputError{File: f.file, Off: at, Msg: fmt.Sprintf(format, args...)}
}

// block checks the block at an offset. It returns the block's type, its content and the offset of the content.
func (f *blocks) block(at int64) (typ uint16, data []byte, from int64, err error) {
	if at < fileHeader || at > int64(len(f.data))-header {
		return 0, nil, 0, f.wrong(max(at, 0), "found an offset where no block can begin; the file has %d bytes; "+
			"expected the offset of a block", len(f.data))
	}
	head := f.data[at : at+header]
	n := binary.BigEndian.Uint64(head)
	if n < header || n > uint64(int64(len(f.data))-at) {
		return 0, nil, 0, f.wrong(at, "found a block of %d bytes; expected %d to %d", n, header, int64(len(f.data))-at)
	}
	data = f.data[at+header : at+int64(n)]
	sum := crc32.NewIEEE()
	sum.Write(data)
	sum.Write(head[:8])
	sum.Write(make([]byte, 4)) // the checksum itself counts as zero
	sum.Write(head[12:])
	if want := binary.BigEndian.Uint32(head[8:]); sum.Sum32() != want {
		return 0, nil, 0, f.wrong(at+8, "found the checksum %08x over the block's bytes; expected %08x: the file is "+
			"damaged", sum.Sum32(), want)
	}
	return binary.BigEndian.Uint16(head[12:]), data, at + header, nil
}

// readIndex reads the index of blocks, and returns the root's number.
func (f *blocks) readIndex() (root int32, err error) {
	at := int64(binary.BigEndian.Uint64(f.data[10:]))
	if at == 0 {
		return 0, f.wrong(10, "the file has no index yet; expected one of a run that has written its test")
	}
	typ, data, from, err := f.block(at)
	if err != nil {
		return 0, err
	}
	if typ != indexBlock || len(data) < 4 || (len(data)-4)%12 != 0 {
		return 0, f.wrong(at, "found a block of type %d with %d bytes; expected an index", typ, len(data))
	}
	f.index = make(map[int32]int64, len(data)/12)
	for d := data[4:]; len(d) > 0; d = d[12:] {
		f.index[int32(binary.BigEndian.Uint32(d))] = int64(binary.BigEndian.Uint64(d[4:]))
	}
	if root = int32(binary.BigEndian.Uint32(data)); root == 0 {
		return 0, f.wrong(from, "the index names no root; expected the block of the test")
	}
	return root, nil
}

// deepBlocks bounds the chain of blocks that refer to one another.
const deepBlocks = 16

// text returns the value of a block as EDN, each element of a vector on its own line.
func (f *blocks) text(id int32, depth int) ([]byte, error) {
	at, ok := f.index[id]
	switch {
	case !ok:
		return nil, f.wrong(10, "the index has no block %d; expected all that are named", id)
	case f.used[id] || depth > deepBlocks:
		return nil, f.wrong(at, "block %d is named again; expected each block to be part of one value", id)
	}
	f.used[id] = true
	typ, data, from, err := f.block(at)
	if err != nil {
		return nil, err
	}
	switch {
	case typ == valueBlock:
		return f.one(data, from)
	case typ == streamBlock:
		return f.stream(data, from)
	case typ == vectorBlock && len(data) >= 8 && (len(data)-8)%12 == 0:
		return f.vector(data, at, depth)
	case typ == partialMap && len(data) >= 4:
		rest := int32(binary.BigEndian.Uint32(data))
		first, err := f.one(data[4:], from+4)
		if err != nil || rest == 0 {
			return first, err
		}
		more, err := f.text(rest, depth+1)
		if err != nil {
			return nil, err
		}
		if !isMap(first) || !isMap(more) {
			return nil, f.wrong(from, "found a part of a map that is not a map; expected maps")
		}
		return append(append(first[:len(first)-1], ' '), more[1:]...), nil
	}
	return nil, f.wrong(at+12, "found a block of type %d with %d bytes; expected a value, a map, a stream or a vector",
		typ, len(data))
}

func isMap(text []byte) bool { return len(text) > 1 && text[0] == '{' }

// one decodes bytes that hold one value.
func (f *blocks) one(data []byte, from int64) ([]byte, error) {
	d := decoder{data: data, most: f.most, lines: true}
	if err := d.value(); err != nil {
		return nil, f.wrong(from+int64(d.pos), "%v", err)
	}
	f.most -= len(d.out)
	if err := d.footer(); err != nil {
		return nil, f.wrong(from+int64(d.pos), "%v", err)
	}
	return d.out, nil
}

// stream decodes bytes that hold several values, as a vector.
func (f *blocks) stream(data []byte, from int64) ([]byte, error) {
	d := decoder{data: data, most: f.most, out: []byte{'['}}
	for d.pos < len(d.data) {
		if err := d.value(); err != nil {
			return nil, f.wrong(from+int64(d.pos), "%v", err)
		}
		d.out = append(d.out, '\n')
	}
	f.most -= len(d.out)
	return append(d.out, ']'), nil
}

// vector decodes a vector whose elements are in other blocks.
func (f *blocks) vector(data []byte, at int64, depth int) ([]byte, error) {
	all := []byte{'['}
	want, n := int64(binary.BigEndian.Uint64(data)), int64(0)
	for d := data[8:]; len(d) > 0; d = d[12:] {
		if first := int64(binary.BigEndian.Uint64(d)); first != n {
			return nil, f.wrong(at, "found a part of the vector that begins at element %d; expected element %d", first,
				n)
		}
		part, err := f.text(int32(binary.BigEndian.Uint32(d[8:])), depth+1)
		if err != nil {
			return nil, err
		}
		if len(part) < 2 || part[0] != '[' {
			return nil, f.wrong(at, "found a part of the vector that is not a vector; expected vectors")
		}
		n += int64(bytes.Count(part, []byte{'\n'}))
		all = append(all, part[1:len(part)-1]...)
	}
	if n != want {
		return nil, f.wrong(at, "found %d elements in the vector's parts; expected %d", n, want)
	}
	return append(all, ']'), nil
}

// parts splits a test's map into the history and the rest.
func (f *blocks) parts(root []byte) (ops, rest []byte, err error) {
	s := edn.Scanner{Data: root}
	if t, err := s.Next(); err != nil || !t.OpensMap() {
		return nil, nil, f.wrong(0, "found %v; expected the map of a test", t)
	}
	for {
		key, err := s.Next()
		if err != nil {
			return nil, nil, f.wrong(0, "the test's map cannot be read: %v", err)
		}
		if key.Kind == edn.Close {
			return nil, nil, f.wrong(0, "found a test without :history; expected one")
		}
		is := key.Kind == edn.Word && key.Is("history")
		if err := s.SkipRest(key); err != nil {
			return nil, nil, f.wrong(0, "the test's map cannot be read: %v", err)
		}
		from := s.Pos()
		if err := s.Skip(); err != nil {
			return nil, nil, f.wrong(0, "the test's map cannot be read: %v", err)
		}
		if is {
			rest = append(append([]byte{}, root[1:key.Pos]...), root[s.Pos():]...)
			return bytes.TrimSpace(root[from:s.Pos()]), rest, nil
		}
	}
}

// whole returns a test's map with its history first.
func (f *blocks) whole(ops, rest []byte) []byte {
	if string(ops) == "nil" { // while the run goes on
		ops = []byte("[]")
	}
	out := make([]byte, 0, len(ops)+len(rest)+16)
	out = append(append(out, "{:history "...), ops...)
	return append(append(out, '\n'), rest...)
}

func blockRef(text []byte) (id int32, is bool) {
	number, is := bytes.CutPrefix(text, []byte("#block-ref "))
	if !is {
		return 0, false
	}
	n, err := strconv.ParseInt(string(number), 10, 32)
	return int32(n), err == nil
}
