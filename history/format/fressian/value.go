package fressian

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// Codes of Fressian's, org.fressian.impl.Codes.
const (
	codeCached    = 0x80 // to 0x9f
	codeStructs   = 0xa0 // to 0xaf
	codeArrays    = 0xb0 // to 0xb5
	codeMap       = 0xc0
	codeSet       = 0xc1
	codeUUID      = 0xc3
	codeRegex     = 0xc4
	codeURI       = 0xc5
	codeBigInt    = 0xc6
	codeBigDec    = 0xc7
	codeInst      = 0xc8
	codeSymbol    = 0xc9
	codeKeyword   = 0xca
	codeCacheAt   = 0xcc
	codePutCache  = 0xcd
	codeFooter    = 0xcf
	codeBytes     = 0xd0 // to 0xd7, by length
	codeBytesPart = 0xd8
	codeBytesLong = 0xd9
	codeText      = 0xda // to 0xe1, by length
	codeTextPart  = 0xe2
	codeTextLong  = 0xe3
	codeList      = 0xe4 // to 0xeb, by length
	codeListLong  = 0xec
	codeClosed    = 0xed
	codeOpen      = 0xee
	codeStruct    = 0xef
	codeStructAt  = 0xf0
	codeTrue      = 0xf5
	codeFalse     = 0xf6
	codeNil       = 0xf7
	codeInt       = 0xf8
	codeFloat     = 0xf9
	codeDouble    = 0xfa
	codeZero      = 0xfb
	codeOne       = 0xfc
	codeEnd       = 0xfd
	codeReset     = 0xfe
	codeMinusOne  = 0xff
)

// deep bounds the nesting of values, as in package edn.
const deep = 1 << 9

// decoder reads values and writes them as EDN.
type decoder struct {
	data    []byte
	pos     int
	out     []byte
	most    int // bound on the length of out
	depth   int
	lines   bool     // each element of the outermost sequences is a line
	cache   [][]byte // texts; nil: the value is not complete yet
	structs []structType
}

type structType struct {
	tag    string
	fields int
}

var errCut = errors.New("found the end of the block; expected more of a value")

func (d *decoder) byte() (byte, error) {
	if d.pos >= len(d.data) {
		return 0, errCut
	}
	d.pos++
	return d.data[d.pos-1], nil
}

func (d *decoder) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(d.data)-d.pos) {
		return nil, fmt.Errorf("found a length of %d; expected at most %d", n, len(d.data)-d.pos)
	}
	d.pos += int(n)
	return d.data[d.pos-int(n) : d.pos], nil
}

// integer reads an integer that begins with byte c. is reports whether c begins one.
func (d *decoder) integer(c byte) (n int64, is bool, err error) {
	more := 0 // bytes, after the high part
	switch {
	case c < 0x40:
		return int64(c), true, nil
	case c == codeMinusOne:
		return -1, true, nil
	case c < 0x60:
		n, more = int64(c)-0x50, 1
	case c < 0x70:
		n, more = int64(c)-0x68, 2
	case c < 0x74:
		n, more = int64(c)-0x72, 3
	case c < 0x78:
		n, more = int64(c)-0x76, 4
	case c < 0x7c:
		n, more = int64(c)-0x7a, 5
	case c < 0x80:
		n, more = int64(c)-0x7e, 6
	case c == codeInt:
		more = 8
	default:
		return 0, false, nil
	}
	b, err := d.take(int64(more))
	for _, x := range b {
		n = n<<8 | int64(x)
	}
	return n, true, err
}

func (d *decoder) length() (int64, error) {
	c, err := d.byte()
	if err != nil {
		return 0, err
	}
	n, is, err := d.integer(c)
	if err == nil && (!is || n < 0) {
		err = fmt.Errorf("found the byte %#02x, %d; expected a length", c, n)
	}
	return n, err
}

// value appends the next value's text.
func (d *decoder) value() error {
	if d.depth++; d.depth > deep {
		return fmt.Errorf("nested deeper than %d; expected a history", deep)
	}
	defer func() { d.depth-- }()
	c, err := d.byte()
	for ; err == nil && c == codeReset; c, err = d.byte() {
		d.cache, d.structs = nil, nil
	}
	if err != nil {
		return err
	}
	if err := d.coded(c); err != nil {
		return err
	}
	if len(d.out) > d.most {
		return fmt.Errorf("found references that repeat the file's content more than 64 times; expected a history")
	}
	return nil
}

// coded appends the text of the value that begins with byte c.
func (d *decoder) coded(c byte) error {
	if n, is, err := d.integer(c); is {
		d.out = strconv.AppendInt(d.out, n, 10)
		return err
	}
	switch {
	case c < codeStructs:
		return d.cached(int64(c - codeCached))
	case c < codeArrays:
		return d.structure(int64(c - codeStructs))
	case c <= codeArrays+5:
		n, err := d.length()
		if err != nil {
			return err
		}
		return d.sequence('[', ']', n, false)
	case codeList <= c && c <= codeOpen:
		d.pos--
		return d.list()
	case codeText <= c && c <= codeTextLong:
		text, err := d.text(c)
		d.out = appendString(d.out, text)
		return err
	case codeBytes <= c && c <= codeBytesLong:
		raw, err := d.bytes(c)
		d.out = appendString(append(d.out, "#bytes "...), []byte(hex.EncodeToString(raw)))
		return err
	}
	switch c {
	case codeNil:
		d.out = append(d.out, "nil"...)
	case codeTrue, codeFalse:
		d.out = strconv.AppendBool(d.out, c == codeTrue)
	case codeZero:
		d.out = append(d.out, "0.0"...)
	case codeOne:
		d.out = append(d.out, "1.0"...)
	case codeFloat, codeDouble:
		return d.float(c)
	case codeMap, codeSet:
		return d.mapOrSet(c == codeSet)
	case codeKeyword, codeSymbol:
		return d.name(c == codeKeyword)
	case codePutCache:
		return d.putCache()
	case codeCacheAt:
		n, err := d.length()
		if err != nil {
			return err
		}
		return d.cached(n)
	case codeStruct:
		return d.newStruct()
	case codeStructAt:
		n, err := d.length()
		if err != nil {
			return err
		}
		return d.structure(n)
	default:
		return d.scalar(c)
	}
	return nil
}

// scalar appends the text of a value that is made of other values, such as a date.
func (d *decoder) scalar(c byte) error {
	switch c {
	case codeInst:
		b, err := d.byte()
		if err != nil {
			return err
		}
		ms, is, err := d.integer(b)
		if err != nil || !is {
			return errors.Join(err, errors.New("found a time that is no integer; expected milliseconds"))
		}
		d.out = appendString(append(d.out, "#inst "...), []byte(time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)))
	case codeRegex, codeURI:
		return d.value()
	case codeUUID:
		raw, err := d.rawBytes()
		if err != nil {
			return err
		}
		d.out = appendString(append(d.out, "#uuid "...), []byte(hex.EncodeToString(raw)))
	case codeBigInt, codeBigDec:
		raw, err := d.rawBytes()
		if err != nil {
			return err
		}
		if len(raw) > 1<<10 { // making its text takes quadratic time
			return fmt.Errorf("found an integer of %d bytes; expected at most 1024", len(raw))
		}
		n := new(big.Int).SetBytes(raw)
		if len(raw) > 0 && raw[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
		if d.out = n.Append(d.out, 10); c == codeBigInt {
			d.out = append(d.out, 'N')
			return nil
		}
		scale, err := d.byte()
		if err != nil {
			return err
		}
		s, is, err := d.integer(scale)
		if err != nil || !is {
			return errors.Join(err, errors.New("found a scale that is no integer; expected one"))
		}
		d.out = append(strconv.AppendInt(append(d.out, 'E'), -s, 10), 'M')
	default:
		return fmt.Errorf("found the byte %#02x; expected a value", c)
	}
	return nil
}

func (d *decoder) float(c byte) error {
	size, bits := int64(4), 32
	if c == codeDouble {
		size, bits = 8, 64
	}
	b, err := d.take(size)
	if err != nil {
		return err
	}
	var x float64
	if size == 4 {
		x = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	} else {
		x = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	switch {
	case math.IsNaN(x):
		d.out = append(d.out, "##NaN"...)
	case math.IsInf(x, 1):
		d.out = append(d.out, "##Inf"...)
	case math.IsInf(x, -1):
		d.out = append(d.out, "##-Inf"...)
	default:
		from := len(d.out)
		if d.out = strconv.AppendFloat(d.out, x, 'g', -1, bits); !bytes.ContainsAny(d.out[from:], ".e") {
			d.out = append(d.out, ".0"...)
		}
	}
	return nil
}

// putCache appends the next value's text, and puts it into the cache.
func (d *decoder) putCache() error {
	i := len(d.cache)
	d.cache = append(d.cache, nil)
	from := len(d.out)
	if err := d.value(); err != nil {
		return err
	}
	if i < len(d.cache) { // else the value has reset the cache
		d.cache[i] = bytes.Clone(d.out[from:])
	}
	return nil
}

// cached appends the text at place i of the cache.
func (d *decoder) cached(i int64) error {
	if i >= int64(len(d.cache)) || d.cache[i] == nil {
		return fmt.Errorf("found a reference to value %d of %d in the cache; expected an existing one", i, len(d.cache))
	}
	d.out = append(d.out, d.cache[i]...)
	return nil
}

// list appends a list, whose length comes first.
func (d *decoder) list() error {
	n, open, err := d.listLength()
	if err != nil {
		return err
	}
	return d.sequence('[', ']', n, open)
}

// mapOrSet appends a map or set: the list of its keys and values, or elements.
func (d *decoder) mapOrSet(set bool) error {
	n, open, err := d.listLength()
	switch {
	case err != nil:
		return err
	case set:
		d.out = append(d.out, '#')
	case !open && n%2 != 0:
		return fmt.Errorf("found a map of %d keys and values; expected pairs", n)
	}
	return d.sequence('{', '}', n, open)
}

// listLength reads the beginning of a list: its length, or that it is open.
func (d *decoder) listLength() (n int64, open bool, err error) {
	c, err := d.byte()
	switch {
	case err != nil:
		return 0, false, err
	case codeList <= c && c < codeListLong:
		return int64(c - codeList), false, nil
	case c == codeListLong:
		n, err = d.length()
		return n, false, err
	case c == codeClosed, c == codeOpen:
		return 0, true, nil
	}
	return 0, false, fmt.Errorf("found the byte %#02x; expected a list", c)
}

// sequence appends n values in brackets, or, with open, the values up to the end of the list.
func (d *decoder) sequence(begin, end byte, n int64, open bool) error {
	between := byte(' ')
	if d.lines && d.depth < 3 && begin == '[' {
		between = '\n'
	}
	d.out = append(d.out, begin)
	for i := int64(0); i < n || open; i++ {
		if open {
			if d.pos == len(d.data) && d.depth == 1 { // the end of the file ends it too
				break
			}
			if d.pos < len(d.data) && d.data[d.pos] == codeEnd {
				d.pos++
				break
			}
		}
		if err := d.value(); err != nil {
			return err
		}
		d.out = append(d.out, between)
	}
	d.out = append(d.out, end)
	return nil
}

// footer reads the footer that may follow a value.
func (d *decoder) footer() error {
	if d.pos < len(d.data) && d.data[d.pos] == codeFooter {
		d.pos = min(len(d.data), d.pos+12)
	}
	if d.pos < len(d.data) {
		return fmt.Errorf("found %d bytes behind the value; expected its end", len(d.data)-d.pos)
	}
	return nil
}
