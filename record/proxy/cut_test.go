package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestDirect: what is written in parts, because the other side is slow, arrives whole, and then its end.
func TestDirect(t *testing.T) {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	a, sent := newDirect(must.Get(net.Dial("tcp", ln.Addr().String()))(t)), bytes.Repeat([]byte("isovet"), 3<<20)
	go func() { _, _ = a.Write(sent); _ = a.(interface{ CloseWrite() error }).CloseWrite() }()
	must.Equal(t, bytes.Equal(must.Get(io.ReadAll(newDirect(must.Get(ln.Accept())(t))))(t), sent), true, "bytes")
}

// TestSilent: a server that says nothing does not keep the proxy from ending; an incomplete message holds nothing up.
func TestSilent(t *testing.T) {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	p := New(Options{Network: "tcp", Server: ln.Addr().String(), ServerTLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	must.Equal(t, p.Reach(ctx) != nil, true, "an error")
	l := &link{r: bufio.NewReader(strings.NewReader("Z\x00\x00\x00\x05ID\x00\x00\x00\x07ab"))}
	for _, whole := range []bool{false, true, false} { // nothing has come, all of Z, a part of D
		must.Equal(t, l.whole(), whole, "whole")
		_, _ = l.r.Discard(map[bool]int{true: 6}[whole])
		_, _ = l.r.Peek(1)
	}
}

// TestCut: what is left of bodies without their first columns, and of one that is a byte short; the counts of tags.
func TestCut(t *testing.T) {
	row, columns := "\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x02bc", "\x00\x01n\x00"+fmt.Sprintf("%018d", 7)
	cut := func(text string, hidden int) string {
		rest, values := cutRow([]byte(text), hidden, 0)
		return fmt.Sprintf("%q %v", rest, values)
	}
	for i, c := range [][2]string{
		{cut(row, 1), `"\x00\x01\x00\x00\x00\x02bc" [a]`},
		{cut(row, 2), `"\x00\x00" [a bc]`},
		{cut(row, 3), `"" []`},
		{cut(row[:len(row)-1], 2), `"" []`},
		{fmt.Sprintf("%q", cutColumns([]byte(columns), 1)), `"\x00\x00"`},
		{fmt.Sprintf("%q", cutColumns([]byte(columns), 2)), `""`},
		{fmt.Sprintf("%q", cutColumns([]byte(columns[:10]), 1)), `""`},
		{fmt.Sprint(tagOf([]byte("INSERT 0 15\x00"))), "INSERT15"},
		{fmt.Sprint(tagOf([]byte("BEGIN\x00"))), "BEGIN-1"},
		{failureOf([]byte("VPANIC\x00C53100\x00Mfull\x00\x00")).Error(), "full (XX000)"}, // it may have committed
	} {
		must.Equal(t, c[0], c[1], "%d", i)
	}
}
