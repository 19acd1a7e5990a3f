// Package dial makes connections whose requests must be answered in time, and cuts them for faults.
//
// Experimental: this package may still change.
package dial

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

// Dialer makes connections whose requests must be answered in time, and can close them all. A context for each request
// would do the same, but cost the libraries a goroutine each.
type Dialer struct {
	timeout time.Duration
	mu      sync.Mutex
	open    map[*conn]struct{}
	off     map[string]bool // addresses cut off
	Quick   bool            // answers are acknowledged at once
}

func New(timeout time.Duration) *Dialer {
	return &Dialer{timeout: timeout, open: map[*conn]struct{}{}, off: map[string]bool{}}
}

func (d *Dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
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

// Cut closes all connections.
func (d *Dialer) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		_ = c.Conn.Close() // it may be closed already
	}
	clear(d.open)
}

var errPartition = errors.New("cut off by the fault")

// Partition cuts an address off from clients, or connects it again.
func (d *Dialer) Partition(addr string, off bool) {
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
	d    *Dialer
	addr string
}

// Write sends a request. Its answer must arrive in time.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.Conn.SetDeadline(time.Now().Add(c.d.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if c.d.Quick {
		quickAck(c.Conn)
	}
	return n, err
}

func (c *conn) Read(b []byte) (int, error) {
	if c.d.Quick {
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

// Lost reports whether an error means that a connection is lost or no answer came in time.
func Lost(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err,
		net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err,
		syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Until calls try until it succeeds or the time is up.
func Until(ctx context.Context, limit time.Duration, try func() error) error {
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
