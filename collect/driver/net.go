package driver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// dialer makes connections each of whose requests must be answered in time, and can cut them all. It takes the place of
// a context for each request, which would cost the libraries a goroutine each.
type dialer struct {
	timeout time.Duration
	mu      sync.Mutex
	open    map[*conn]struct{}
	off     map[string]bool // addresses that are cut off
	quick   bool            // answers are acknowledged at once
}

func newDialer(timeout time.Duration) *dialer {
	return &dialer{timeout: timeout, open: map[*conn]struct{}{}, off: map[string]bool{}}
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	off := d.off[addr]
	d.mu.Unlock()
	if off {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errPartition}
	}
	n := net.Dialer{Timeout: d.timeout}
	c, err := n.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	x := &conn{c, d, addr}
	d.mu.Lock()
	d.open[x] = struct{}{}
	d.mu.Unlock()
	return x, nil
}

// cut closes all connections.
func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		_ = c.Conn.Close() // it may be closed already
	}
	clear(d.open)
}

var errPartition = errors.New("cut off by the fault")

// partition cuts an address off, or heals it.
func (d *dialer) partition(addr string, off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off[addr] = off
	for c := range d.open {
		if off && c.addr == addr {
			_ = c.Conn.Close() // it may be closed already
			delete(d.open, c)
		}
	}
}

type conn struct {
	net.Conn
	d    *dialer
	addr string
}

// Write sends a request; its answer must be there before the time is up.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.Conn.SetDeadline(time.Now().Add(c.d.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if c.d.quick {
		quickAck(c.Conn)
	}
	return n, err
}

func (c *conn) Read(b []byte) (int, error) {
	if c.d.quick {
		quickAck(c.Conn)
	}
	return c.Conn.Read(b)
}

func (c *conn) Close() error {
	c.d.mu.Lock()
	delete(c.d.open, c)
	c.d.mu.Unlock()
	return c.Conn.Close()
}

// lost reports whether an error says that a connection is gone, or that no answer came in time.
func lost(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err,
		net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err,
		syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// until tries something again until it succeeds or the time is up.
func until(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
