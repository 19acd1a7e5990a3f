package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// readLevels reads which of n rows have a value, and returns their number.
func (c *cursor) readLevels(src []byte, n int) (values int, err error) {
	if n == 0 {
		return 0, nil
	}
	size, err := runs(src, 1, n)
	if err != nil {
		return 0, fmt.Errorf("levels: %w", err)
	}
	// Usually all rows have a value, or none has.
	if head, k := binary.Uvarint(src); head == uint64(n)<<1 {
		if src[k]&1 == 1 {
			return n, nil
		}
		c.none = true
		return 0, nil
	}
	c.levels, err = (&rle.Encoding{BitWidth: 1}).DecodeLevels(c.levels[:0], src[:size])
	if err != nil {
		return 0, fmt.Errorf("levels: %w", err)
	}
	if len(c.levels) < n {
		return 0, fmt.Errorf("levels of %d rows; expected %d", len(c.levels), n)
	}
	c.levels = c.levels[:n]
	for _, p := range c.levels {
		values += int(p & 1)
	}
	switch values {
	case 0:
		c.none = true
	case n:
	default:
		c.present = c.levels
	}
	return values, nil
}

// readValues decodes the page's values into vals and puts each into its row.
func (c *cursor) readValues(enc format.Encoding, src []byte, n, values int) error {
	c.left -= int64(n)
	c.n, c.at = n, 0
	c.values, c.numbered = values, enc == oldDictionary || enc == format.RLEDictionary
	if values == 0 || c.c.form == fNull {
		c.none = true
		return nil
	}
	// pandas writes a column without values as floating-point numbers that are NaN.
	if c.c.wrong != "" && c.c.form != fFloat {
		return c.useless(0)
	}
	c.vals = slices.Grow(c.vals[:0], n)
	var err error
	switch {
	case c.numbered:
		err = c.fromDictionary(src, values)
	case c.c.form == fText && c.document():
		if c.data, c.offsets, err = texts(c.data, c.offsets, enc, src, values); err == nil {
			for i := range values {
				c.vals = append(c.vals, int64(i))
			}
		}
	case c.c.form == fText:
		if c.data, c.offsets, err = texts(c.data, c.offsets, enc, src, values); err == nil {
			err = c.codes(values)
		}
	default:
		c.vals, err = c.integers(c.vals, enc, src, values)
	}
	if err != nil {
		return err
	}
	if c.c.wrong != "" {
		if i := slices.IndexFunc(c.vals, func(v int64) bool { return v != missing }); i >= 0 {
			return c.useless(i)
		}
		c.none = true
		return nil
	}
	c.spread()
	if c.c.form == fFloat {
		c.dropMissing()
	}
	return nil
}

// spread puts each of the page's values into its row.
func (c *cursor) spread() {
	if c.present == nil {
		return
	}
	// From the end, so that no value is overwritten before it moves.
	c.vals = c.vals[:c.n]
	i := c.values
	for row := c.n - 1; row >= 0; row-- {
		if c.present[row] != 0 {
			i--
			c.vals[row] = c.vals[i]
		}
	}
}

// useless returns an error about the page's i-th value: it cannot be used.
func (c *cursor) useless(i int) error {
	return &badRow{i, c.c.wrong + "; expected " + table[c.c.id].role.expected()}
}

// dropMissing drops values that are NaN: their rows have no value.
func (c *cursor) dropMissing() {
	for row, v := range c.vals {
		if v != missing {
			continue
		}
		if c.present == nil {
			c.levels = slices.Repeat([]byte{1}, len(c.vals))
			c.present = c.levels
		}
		c.present[row] = 0
	}
}

// oldDictionary is the old number of the dictionary encoding. Some programs still write it.
const oldDictionary format.Encoding = 2

// document reports whether the column's texts stay texts, without numbers.
func (c *cursor) document() bool { return c.code == nil }

// text returns the text of a document column's value.
func (c *cursor) text(v int64) []byte { return c.data[c.offsets[v]:c.offsets[v+1]] }

// codes replaces the page's texts by their numbers.
func (c *cursor) codes(values int) error {
	for i := range values {
		v, err := c.code(c.data[c.offsets[i]:c.offsets[i+1]])
		if err != nil {
			return &badRow{i, err.Error()}
		}
		c.vals = append(c.vals, v)
	}
	return nil
}

// readDictionary reads the dictionary of a row group's column.
func (c *cursor) readDictionary(head *format.PageHeader, body []byte) error {
	h := &head.DictionaryPageHeader
	if !h.Valid || h.V.NumValues < 0 {
		return errors.New("a dictionary without its header")
	}
	if c.c.wrong != "" && c.c.form != fFloat || c.c.form == fNull {
		return nil // no value is used
	}
	n := int(h.V.NumValues)
	if int64(n) > int64(head.UncompressedPageSize) { // only booleans take less, and they have no dictionary
		return fmt.Errorf("a dictionary of %d values in %d bytes", n, head.UncompressedPageSize)
	}
	if err := c.hold(int64(head.UncompressedPageSize) + 9*int64(n)); err != nil {
		return err
	}
	body, err := c.decompress(body, int(head.UncompressedPageSize))
	if err != nil {
		return err
	}
	d := &c.dict
	d.read = true
	if c.c.form != fText {
		d.vals, err = c.integers(d.vals[:0], format.Plain, body, n)
		if bad, ok := errors.AsType[*badRow](err); ok {
			return errors.New(bad.msg) // it has no row yet
		}
		return err
	}
	if d.data, d.offsets, err = texts(d.data, d.offsets, format.Plain, body, n); err != nil {
		return err
	}
	d.vals = slices.Grow(d.vals[:0], n)[:n]
	for i := range d.vals {
		d.vals[i] = -1
	}
	return nil
}

// fromDictionary reads a page's dictionary numbers and replaces them by their values.
func (c *cursor) fromDictionary(src []byte, values int) error {
	if !c.dict.read {
		return errors.New("indices of a dictionary; expected that dictionary before them")
	}
	if len(src) == 0 {
		return io.ErrUnexpectedEOF
	}
	width := src[0]
	src = src[1:]
	if width > 32 {
		return fmt.Errorf("numbers of %d bits", width)
	}
	if width == 0 {
		c.ints = slices.Grow(c.ints[:0], values)[:values]
		clear(c.ints)
	} else {
		size, err := runs(src, uint(width), values)
		if err != nil {
			return err
		}
		if c.ints, err = (&rle.Encoding{BitWidth: int(width)}).DecodeInt32(c.ints[:0], src[:size]); err != nil {
			return err
		}
		if len(c.ints) < values {
			return fmt.Errorf("%d values; expected %d", len(c.ints), values)
		}
	}
	return c.numbers(values)
}

// numbers replaces the dictionary numbers in ints by their values.
func (c *cursor) numbers(values int) error {
	d := &c.dict
	text := c.c.form == fText
	for i, k := range c.ints[:values] {
		if uint32(k) >= uint32(len(d.vals)) {
			return fmt.Errorf("number %d of a dictionary of %d", uint32(k), len(d.vals))
		}
		v := d.vals[k]
		if text && v < 0 && !c.document() {
			var err error
			if v, err = c.code(d.data[d.offsets[k]:d.offsets[k+1]]); err != nil {
				return &badRow{i, err.Error()}
			}
			d.vals[k] = v
		}
		c.vals = append(c.vals, v)
	}
	if text && c.document() {
		// The texts are copied, since the dictionary serves all pages.
		c.data, c.offsets = append(c.data[:0], d.data...), append(c.offsets[:0], d.offsets...)
		for i, k := range c.ints[:values] {
			c.vals[i] = int64(k)
		}
	}
	return nil
}

// texts decodes n texts: text i is data[offsets[i]:offsets[i+1]]. It reuses data and offsets.
func texts(data []byte, offsets []uint32, enc format.Encoding, src []byte, n int) ([]byte, []uint32, error) {
	var err error
	data, offsets = data[:0], offsets[:0]
	switch enc {
	case format.Plain:
		offsets = append(offsets, 0)
		for range n {
			if len(src) < 4 {
				return data, offsets, io.ErrUnexpectedEOF
			}
			size := binary.LittleEndian.Uint32(src)
			if src = src[4:]; uint64(size) > uint64(len(src)) {
				return data, offsets, io.ErrUnexpectedEOF
			}
			data = append(data, src[:size]...)
			offsets = append(offsets, uint32(len(data)))
			src = src[size:]
		}
		return data, offsets, nil
	case format.DeltaLengthByteArray:
		_, err = deltas(src, n)
	case format.DeltaByteArray:
		err = frontCoded(src, n)
	default:
		err = unsupported(enc)
	}
	if err == nil {
		data, offsets, err = parquetgo.LookupEncoding(enc).DecodeByteArray(data, src, offsets)
	}
	if err == nil && len(offsets) != n+1 {
		err = fmt.Errorf("%d texts; expected %d", len(offsets)-1, n)
	}
	return data, offsets, err
}

func unsupported(enc format.Encoding) error {
	return fmt.Errorf("isovet does not know the encoding %v", enc)
}

// integers decodes n values other than texts as integers.
func (c *cursor) integers(dst []int64, enc format.Encoding, src []byte, n int) ([]int64, error) {
	var err error
	if c.c.physical == format.Boolean {
		return c.booleans(dst, enc, src, n)
	}
	width, fixed := c.c.width, c.c.physical == format.FixedLenByteArray
	switch {
	case c.c.physical == format.ByteArray || fixed && enc == format.DeltaByteArray: // decimals
		c.data, c.offsets, err = texts(c.data, c.offsets, enc, src, n)
		if fixed && err == nil && len(c.data) != n*width {
			err = fmt.Errorf("%d bytes; expected %d values of %d", len(c.data), n, width)
		}
	case enc == format.Plain:
		if len(src)/width < n {
			return dst, fmt.Errorf("%d bytes; expected %d values of %d", len(src), n, width)
		}
		switch {
		case fixed || c.c.form == fInt96:
			c.data = append(c.data[:0], src[:n*width]...)
		case width == 8:
			for i := range n {
				dst = append(dst, int64(binary.LittleEndian.Uint64(src[8*i:])))
			}
		default:
			for i := range n {
				dst = append(dst, int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
			}
		}
	case fixed && enc == format.ByteStreamSplit:
		if err = c.packed(enc, src, n); err == nil {
			c.data, err = parquetgo.LookupEncoding(enc).DecodeFixedLenByteArray(c.data, src, width)
		}
	case width == 8 && c.numeric(enc):
		if err = c.packed(enc, src, n); err == nil {
			dst, err = parquetgo.LookupEncoding(enc).DecodeInt64(dst, src)
		}
	case width == 4 && c.numeric(enc):
		if err = c.packed(enc, src, n); err == nil {
			if c.ints, err = parquetgo.LookupEncoding(enc).DecodeInt32(c.ints[:0], src); err == nil {
				for _, v := range c.ints {
					dst = append(dst, int64(v))
				}
			}
		}
	default:
		err = unsupported(enc)
	}
	if err != nil {
		return dst, err
	}
	if c.c.form == fInt96 || c.c.form == fDecimal {
		return c.fromBytes(dst, n)
	}
	if len(dst) < n {
		return dst, fmt.Errorf("%d values; expected %d", len(dst), n)
	}
	return dst[:n], c.convert(dst[:n])
}

// numeric reports whether an encoding stores numbers.
func (c *cursor) numeric(enc format.Encoding) bool {
	return enc == format.ByteStreamSplit || enc == format.DeltaBinaryPacked && (c.c.physical == format.Int32 ||
		c.c.physical == format.Int64)
}

// packed checks that src begins with n numbers.
func (c *cursor) packed(enc format.Encoding, src []byte, n int) error {
	if enc == format.DeltaBinaryPacked {
		_, err := deltas(src, n)
		return err
	}
	if len(src) != n*c.c.width {
		return fmt.Errorf("%d bytes; expected %d values of %d", len(src), n, c.c.width)
	}
	return nil
}

func (c *cursor) booleans(dst []int64, enc format.Encoding, src []byte, n int) ([]int64, error) {
	switch enc {
	case format.Plain:
		if len(src) < (n+7)/8 {
			return dst, io.ErrUnexpectedEOF
		}
		for i := range n {
			dst = append(dst, int64(src[i/8]>>(i%8)&1))
		}
		return dst, nil
	case format.RLE:
		if len(src) < 4 {
			return dst, io.ErrUnexpectedEOF
		}
		if size := binary.LittleEndian.Uint32(src); uint64(size) <= uint64(len(src)-4) {
			src = src[4 : 4+size]
		} else {
			return dst, io.ErrUnexpectedEOF
		}
		size, err := runs(src, 1, n)
		if err != nil {
			return dst, err
		}
		bits, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, src[:size])
		if err != nil || len(bits) < n {
			return dst, errors.Join(err, fmt.Errorf("%d values; expected %d", len(bits), n))
		}
		for _, b := range bits[:n] {
			dst = append(dst, int64(b&1))
		}
		return dst, nil
	}
	return dst, unsupported(enc)
}

// convert converts the bits of other kinds of numbers to integers, and timestamps to nanoseconds.
func (c *cursor) convert(vals []int64) error {
	r := table[c.c.id].role
	switch c.c.form {
	case fUnsigned:
		for i, v := range vals {
			if c.c.width == 4 {
				vals[i] = int64(uint32(v))
			} else if v < 0 {
				return &badRow{i, fmt.Sprintf("the number %d is too large; expected at most %d", uint64(v),
					int64(math.MaxInt64))}
			}
		}
	case fTimestamp:
		scale := c.c.scale
		if r != clock || scale == 1 {
			return nil
		}
		for i, v := range vals {
			if v > math.MaxInt64/scale || v < math.MinInt64/scale {
				return &badRow{i, fmt.Sprintf("the time %d is too far away; expected one in the years 1678 to 2262", v)}
			}
			vals[i] = v * scale
		}
	case fFloat:
		for i, v := range vals {
			f := math.Float64frombits(uint64(v))
			if c.c.width == 4 {
				f = float64(math.Float32frombits(uint32(v)))
			}
			switch {
			case f != f:
				vals[i] = missing
			case f != math.Trunc(f) || math.Abs(f) > 1<<53:
				return &badRow{i, "the number " + strconv.FormatFloat(f, 'g', -1, 64) +
					"; expected a whole one, of at most 2^53 where it is floating-point"}
			default:
				vals[i] = int64(f)
			}
		}
	}
	return nil
}

// missing stands for a NaN, which pandas writes for a missing value.
const missing = math.MinInt64 + 1

// fromBytes converts n values of several bytes in data to integers: old timestamps, and decimals.
func (c *cursor) fromBytes(dst []int64, n int) ([]int64, error) {
	for i := range n {
		var b []byte
		if c.c.physical == format.ByteArray {
			b = c.data[c.offsets[i]:c.offsets[i+1]]
		} else {
			b = c.data[i*c.c.width : (i+1)*c.c.width]
		}
		if c.c.form == fInt96 {
			// Nanoseconds of the day, and the day as astronomers count them: 1970 began with day 2,440,588.
			const day = 86_400_000_000_000
			nanos := binary.LittleEndian.Uint64(b)
			days := int64(binary.LittleEndian.Uint32(b[8:])) - 2_440_588
			if days < -106_000 || days > 106_000 || nanos > day {
				return dst, &badRow{i, "a time that is too far away; expected one in the years 1680 to 2260"}
			}
			dst = append(dst, days*day+int64(nanos))
			continue
		}
		v := int64(0)
		if len(b) > 0 && b[0]&0x80 != 0 {
			v = -1
		}
		for _, x := range b {
			if v>>55 != 0 && v>>55 != -1 {
				return dst, &badRow{i, "a decimal that is too large; expected one of 64 bits"}
			}
			v = v<<8 | int64(x)
		}
		dst = append(dst, v)
	}
	return dst, nil
}
