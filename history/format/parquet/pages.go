package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// cursor goes through the rows of a column, page by page.
type cursor struct {
	f     *File
	c     *column
	code  func(text []byte) (int64, error) // returns the number of a text; nil: its index in the page
	group int
	codec format.CompressionCodec
	off   int64 // of the next page
	end   int64 // of the row group's column
	left  int64 // rows of the row group in pages behind the current one
	open  *int64

	// The current page: rows at to n of vals. A row whose entry in present is 0 has no value. If present is empty,
	// all rows have a value, or none has.
	row     int64 // in the file, of the page's first one
	at, n   int
	vals    []int64
	present []byte
	none    bool
	// The number of its values, and whether they are numbers of the dictionary, in ints.
	values   int
	numbered bool

	held    int64 // the page's share of open
	data    []byte
	offsets []uint32 // of a document's texts in data
	dict    dictionary
	buffers
}

// buffers are the memory for decompressing and decoding a page.
type buffers struct {
	page   []byte // decompressed
	ints   []int32
	levels []byte
	gzip   *gzip.Reader
	brotli *brotli.Reader
}

// dictionary has the values of a row group's column by their numbers.
type dictionary struct {
	read    bool
	vals    []int64 // integers, or the numbers of texts by code; -1: none yet
	data    []byte
	offsets []uint32
}

func (f *File) cursor(id int, open *int64) *cursor {
	return &cursor{f: f, c: f.columns[id], group: -1, open: open}
}

func (c *cursor) wrongAt(off int64, format string, args ...any) error {
	return c.f.errAt(off, c.c.name, format, args...)
}

// enter begins a row group.
func (c *cursor) enter(group int) {
	m := &c.f.meta.RowGroups[group].Columns[c.c.leaf].MetaData
	c.group, c.codec = group, m.Codec
	from, size := chunk(m)
	c.off, c.end = from, from+size
	c.left = c.f.row[group+1] - c.f.row[group]
	c.row, c.at, c.n = c.f.row[group], 0, 0
	c.dict.read = false
}

// next reads the next page with rows, if the current one has no more.
func (c *cursor) next() error {
	for c.at == c.n {
		c.row += int64(c.n)
		c.at, c.n = 0, 0
		if c.left == 0 {
			return c.wrongAt(c.off, "no rows are left in the row group; expected as many as in the other columns")
		}
		if c.off >= c.end {
			return c.wrongAt(c.off, "%d rows of row group %d are missing", c.left, c.group)
		}
		if err := c.readPage(); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads the page at off, of whatever kind.
func (c *cursor) readPage() error {
	at := c.off
	n, err := measure(c.f.data[at:c.end])
	if err != nil {
		return c.wrongAt(at, "the page's header cannot be read: %v", err)
	}
	head := new(format.PageHeader)
	if err := c.f.protect(func() error {
		return thrift.Unmarshal(&thrift.CompactProtocol{}, c.f.data[at:at+int64(n)], head)
	}); err != nil {
		return c.wrongAt(at, "the page's header cannot be read: %v", err)
	}
	from := at + int64(n)
	size, full := int64(head.CompressedPageSize), int64(head.UncompressedPageSize)
	switch {
	case size < 0 || size > c.end-from:
		return c.wrongAt(at, "a page of %d bytes; expected at most %d", size, c.end-from)
	case full < 0 || full > growth(size):
		return c.wrongAt(at, "a page of %d bytes that decompresses to %d; expected fewer", size, full)
	}
	body := c.f.data[from : from+size]
	c.off = from + size
	if head.CRC != 0 && crc32.ChecksumIEEE(body) != uint32(head.CRC) {
		return c.wrongAt(at, "corrupt: the checksum of the page is wrong")
	}
	err = c.f.protect(func() error {
		switch head.Type {
		case format.DictionaryPage:
			return c.readDictionary(head, body)
		case format.DataPage:
			return c.readV1(head, body)
		case format.DataPageV2:
			return c.readV2(head, body)
		}
		return nil // an index
	})
	if bad, ok := errors.AsType[*badRow](err); ok {
		e := c.f.errAt(-1, c.c.name, "%s", bad.msg)
		e.Line = int(c.row) + c.rowOf(bad.value) + 1
		return e
	}
	if err != nil {
		return c.wrongAt(at, "the page cannot be decoded: %v", err)
	}
	return nil
}

// badRow is an error about the i-th value of a page; absent values do not count.
type badRow struct {
	value int
	msg   string
}

func (b *badRow) Error() string { return b.msg }

// rowOf returns the row of the page that has its i-th value.
func (c *cursor) rowOf(i int) int {
	if c.present == nil {
		return i
	}
	for row, p := range c.present {
		if i -= int(p); p != 0 && i < 0 {
			return row
		}
	}
	return 0
}

// hold notes the memory of the page, and returns an error if it is too much together with the other columns' pages.
func (c *cursor) hold(size int64) error {
	*c.open += size - c.held
	c.held = size
	if *c.open > maxOpen {
		return fmt.Errorf("pages of more than %d MiB; expected smaller ones, or smaller row groups", maxOpen>>20)
	}
	return nil
}

// rows checks the number of rows of a page.
func (c *cursor) rows(n int32) error {
	if n < 0 || int64(n) > c.left {
		return fmt.Errorf("%d rows; expected at most %d", n, c.left)
	}
	return nil
}

// begin checks the number of a page's values and their memory before it is allocated.
func (c *cursor) begin(values int32, head *format.PageHeader) (n int, err error) {
	if err := c.rows(values); err != nil {
		return 0, err
	}
	return int(values), c.hold(int64(head.UncompressedPageSize) + 9*int64(values))
}

func (c *cursor) readV1(head *format.PageHeader, body []byte) error {
	h := &head.DataPageHeader
	if !h.Valid {
		return errors.New("a page without its header")
	}
	n, err := c.begin(h.V.NumValues, head)
	if err != nil {
		return err
	}
	body, err = c.decompress(body, int(head.UncompressedPageSize))
	if err != nil {
		return err
	}
	values := n
	c.present, c.none = nil, false
	if c.c.optional {
		if h.V.DefinitionLevelEncoding != format.RLE {
			return fmt.Errorf("levels in the encoding %v; expected RLE", h.V.DefinitionLevelEncoding)
		}
		if len(body) < 4 {
			return io.ErrUnexpectedEOF
		}
		size := binary.LittleEndian.Uint32(body)
		if uint64(size) > uint64(len(body)-4) {
			return fmt.Errorf("levels of %d bytes; expected at most %d", size, len(body)-4)
		}
		if values, err = c.readLevels(body[4:4+size], n); err != nil {
			return err
		}
		body = body[4+size:]
	}
	return c.readValues(h.V.Encoding, body, n, values)
}

func (c *cursor) readV2(head *format.PageHeader, body []byte) error {
	h := &head.DataPageHeaderV2
	if !h.Valid {
		return errors.New("a page without its header")
	}
	n, err := c.begin(h.V.NumValues, head)
	if err != nil {
		return err
	}
	repeated, levels := int64(h.V.RepetitionLevelsByteLength), int64(h.V.DefinitionLevelsByteLength)
	if repeated < 0 || levels < 0 || repeated+levels > int64(min(len(body), int(head.UncompressedPageSize))) {
		return fmt.Errorf("levels of %d bytes; expected at most %d", repeated+levels, len(body))
	}
	def, rest := body[repeated:repeated+levels], body[repeated+levels:]
	if !h.V.IsCompressed.Valid || h.V.IsCompressed.V {
		var err error
		if rest, err = c.decompress(rest, int(int64(head.UncompressedPageSize)-repeated-levels)); err != nil {
			return err
		}
	}
	values := n
	c.present, c.none = nil, false
	if c.c.optional {
		var err error
		if values, err = c.readLevels(def, n); err != nil {
			return err
		}
	}
	return c.readValues(h.V.Encoding, rest, n, values)
}

// unzstd returns a decoder of zstd. All columns share it, since each decoder has large tables.
var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxOpen),
		zstd.WithDecodeAllCapLimit(true))
})

// decompress returns a page's decompressed body of size bytes. It is valid until the next call.
func (c *cursor) decompress(body []byte, size int) ([]byte, error) {
	if c.codec == format.Uncompressed {
		if len(body) != size {
			return nil, fmt.Errorf("%d bytes; expected %d", len(body), size)
		}
		return body, nil
	}
	if size == 0 {
		return nil, nil
	}
	// The decoders of packed numbers read some bytes beyond the end.
	const beyond = 64
	c.page = slices.Grow(c.page[:0], size+beyond)
	dst := c.page[:size:size]
	var err error
	n := 0
	switch c.codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(body); err == nil && n == size {
			_, err = snappy.Decode(dst, body)
		}
	case format.Zstd:
		var d *zstd.Decoder
		if d, err = unzstd(); err == nil {
			var out []byte
			out, err = d.DecodeAll(body, dst[:0])
			n = len(out)
		}
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(body, dst)
	case format.Gzip:
		if c.gzip == nil {
			c.gzip = new(gzip.Reader)
		}
		if err = c.gzip.Reset(bytes.NewReader(body)); err == nil {
			n, err = readFull(c.gzip, dst)
		}
	case format.Brotli:
		if c.brotli == nil {
			c.brotli = brotli.NewReader(nil)
		}
		if err = c.brotli.Reset(bytes.NewReader(body)); err == nil {
			n, err = readFull(c.brotli, dst)
		}
	default:
		return nil, fmt.Errorf("compressed by %v; expected SNAPPY, ZSTD, GZIP, LZ4_RAW, BROTLI or nothing", c.codec)
	}
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes; expected %d", n, size)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing (%v): %w", c.codec, err)
	}
	return c.page[:size], nil
}

// readFull fills dst and checks that r ends there.
func readFull(r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return n, err
	}
	var one [1]byte
	switch k, err := io.ReadFull(r, one[:]); {
	case k > 0:
		return n + 1, nil
	case err != io.EOF:
		return n, err
	}
	return n, nil
}
