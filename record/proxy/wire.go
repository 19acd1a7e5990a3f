package proxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"isovet/internal/sqlstmt"
)

// link is one connection with messages of PostgreSQL's protocol. Each has a type, a length and a body.
type link struct {
	net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
	body []byte // of the message read last; the next one overwrites it
}

func newLink(c net.Conn) *link {
	c = newDirect(c)
	return &link{Conn: c, r: bufio.NewReaderSize(c, 1<<16), w: bufio.NewWriterSize(c, 1<<16)}
}

// maxBody is the longest body that the protocol allows.
const maxBody = 1 << 30

var errLength = errors.New("a message of the protocol has an impossible length")

// head reads a message's type and the length of its body.
func (l *link) head() (kind byte, n int, err error) {
	h, err := l.r.Peek(5)
	if err != nil {
		return 0, 0, err
	}
	kind, n = h[0], int(int32(binary.BigEndian.Uint32(h[1:])))-4
	if n < 0 || n > maxBody {
		return 0, 0, fmt.Errorf("%w: %d bytes of type %q", errLength, n, kind)
	}
	_, err = l.r.Discard(5)
	return kind, n, err
}

// whole reports whether a whole message has arrived, so that what came before it need not be sent at once.
func (l *link) whole() bool {
	h, _ := l.r.Peek(min(5, l.r.Buffered()))
	return len(h) == 5 && int64(l.r.Buffered()) > int64(binary.BigEndian.Uint32(h[1:]))
}

func (l *link) read(n int) ([]byte, error) {
	const piece = 1 << 20 // a length is believed as far as bytes arrive
	if cap(l.body) > piece && n <= piece {
		l.body = nil
	}
	l.body = l.body[:0]
	for len(l.body) < n {
		from := len(l.body)
		m := min(n-from, max(piece, from))
		l.body = append(l.body, make([]byte, m)...)
		if _, err := io.ReadFull(l.r, l.body[from:]); err != nil {
			return nil, err
		}
	}
	return l.body, nil
}

func (l *link) send(kind byte, body []byte) error {
	if err := l.begin(kind, len(body)); err != nil {
		return err
	}
	_, err := l.w.Write(body)
	return err
}

func (l *link) begin(kind byte, n int) error {
	_, err := l.w.Write(binary.BigEndian.AppendUint32(append(l.w.AvailableBuffer(), kind), uint32(n+4)))
	return err
}

// pass copies a message of any length whose head has been read.
func (l *link) pass(to *link, kind byte, n int) error {
	if err := to.begin(kind, n); err != nil {
		return err
	}
	if n <= l.r.Buffered() {
		body, _ := l.r.Peek(n)
		_, err := to.w.Write(body)
		_, _ = l.r.Discard(n)
		return err
	}
	_, err := io.CopyN(to.w, l.r, int64(n))
	return err
}

// cutter splits a body. If the body is too short, it sets bad and returns only empty parts.
type cutter struct {
	rest []byte
	bad  bool
}

func (c *cutter) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.bad, c.rest = true, nil
		return nil
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cutter) int16() int {
	if b := c.take(2); b != nil {
		return int(int16(binary.BigEndian.Uint16(b)))
	}
	return 0
}

func (c *cutter) int32() int {
	if b := c.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (c *cutter) text() string {
	if i := bytes.IndexByte(c.rest, 0); i >= 0 {
		return string(c.take(i + 1)[:i])
	}
	c.bad, c.rest = true, nil
	return ""
}

// value reads a length, which is −1 for null, and so many bytes.
func (c *cutter) value() (v []byte, null bool) {
	n := c.int32()
	if n == -1 {
		return nil, true
	}
	return c.take(n), false
}

// hidden counts the columns that sqlstmt has added at the beginning of a RowDescription.
func hidden(body []byte) (n int) {
	c := cutter{rest: body}
	for c.int16(); bytes.HasPrefix(c.rest, []byte(sqlstmt.HiddenName)); n++ {
		c.take(bytes.IndexByte(c.rest, 0) + 19)
	}
	return n
}

// cutColumns removes the first columns of a RowDescription. It returns nil if the message is damaged.
func cutColumns(body []byte, hidden int) []byte {
	c := cutter{rest: body}
	n := c.int16()
	for range hidden {
		c.take(bytes.IndexByte(c.rest, 0) + 19)
	}
	if c.bad || n < hidden {
		return nil
	}
	return withCount(body, c.rest, n-hidden)
}

// withCount returns the rest of a body after a number of columns.
func withCount(body, rest []byte, n int) []byte {
	// What is cut off is longer than the number, which stands in its place.
	at := len(body) - len(rest) - 2
	binary.BigEndian.PutUint16(body[at:], uint16(n))
	return body[at:]
}

// cutRow removes the first columns of a DataRow and also returns their values, which have a format. It returns nil if
// the row is damaged.
func cutRow(body []byte, hidden int, format int16) (row []byte, values []any) {
	c := cutter{rest: body}
	n := c.int16()
	values = make([]any, hidden)
	for i := range values {
		if v, null := c.value(); !null {
			values[i] = sqlstmt.Hidden(v, format)
		}
	}
	if c.bad || n < hidden {
		return nil, nil
	}
	return withCount(body, c.rest, n-hidden), values
}
