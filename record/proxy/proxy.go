// Package proxy runs between programs and a PostgreSQL server, and records their transactions without their noticing.
// It passes on messages that are not about statements. Package sqlstmt parses the statements, and makes the server
// return the versions of rows too; the proxy removes these columns from the answers.
//
// Experimental: this package may still change.
//
// Source: PostgreSQL's documentation, "Frontend/Backend Protocol", version 3.
//
// proxy.go accepts connections; startup.go begins a session; session.go has the state of a session, client.go and
// server.go its two directions; wire.go has the protocol's messages; conn_linux.go reads and writes.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"isovet/internal/safego"
	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// Options are the options of a proxy.
type Options struct {
	Network, Server string      // where PostgreSQL listens, as net.Dial takes it
	ServerTLS       *tls.Config // nil: the server is spoken to in the clear
	TLSOptional     bool        // a server without TLS is spoken to in the clear
	ClientTLS       *tls.Config // nil: clients are told that there is no TLS
	Log             *sqlstmt.Log
	// Stall is the share of statements that are delayed, by at most StallFor. Delays make races more likely.
	Stall    float64
	StallFor time.Duration
	// OnError is called with errors of connections that the proxy could not serve, and with faults of the recording.
	OnError func(error)
}

// Proxy serves clients.
type Proxy struct {
	o      Options
	stop   atomic.Bool
	faults atomic.Int64
	wg     safego.Group
	mu     sync.Mutex
	open   map[net.Conn]struct{}
}

// New returns a proxy.
func New(o Options) *Proxy { return &Proxy{o: o, open: map[net.Conn]struct{}{}} }

// Faults counts sessions that were not recorded to their end because of a fault of the recording.
func (p *Proxy) Faults() int64 { return p.faults.Load() }

func (p *Proxy) stopping() bool { return p.stop.Load() }

// Serve serves the clients of a listener until the context ends. It then closes their connections.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	end := context.AfterFunc(ctx, func() {
		p.stop.Store(true)
		_ = ln.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.open {
			_ = c.Close()
		}
	})
	defer end()
	defer p.wg.Wait()
	p.wg.Go(func() { // so that no statement waits for the parser's start
		_, _ = sqltext.Parse("SELECT 1")
		debug.FreeOSMemory() // what it needed no longer
	})
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) || p.o.OnError == nil {
				return err
			}
			p.o.OnError(err) // too many files are open, perhaps, and others will be closed
			time.Sleep(100 * time.Millisecond)
			continue
		}
		p.wg.Go(func() {
			if err := p.serve(ctx, c); err != nil && p.o.OnError != nil && !p.stopping() {
				p.o.OnError(err)
			}
		})
	}
}

// Reach returns an error if the server cannot be reached.
func (p *Proxy) Reach(ctx context.Context) error {
	l, err := p.dial(ctx)
	if err != nil {
		return err
	}
	return l.Close()
}

// keep registers a connection to be closed when the proxy stops. The returned function closes it.
func (p *Proxy) keep(c net.Conn) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = struct{}{}
	if p.stopping() {
		_ = c.Close()
	}
	return func() {
		_ = c.Close()
		p.mu.Lock()
		delete(p.open, c)
		p.mu.Unlock()
	}
}

func (p *Proxy) serve(ctx context.Context, c net.Conn) error {
	defer p.keep(c)()
	client := newLink(c)
	first, err := p.greet(ctx, client)
	if err != nil || first == nil {
		return notEnd(err)
	}
	server, err := p.dial(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("proxy: %w", err), refuse(client, err))
	}
	defer p.keep(server.Conn)()
	if _, err := server.Write(first); err != nil {
		return err
	}
	s := &session{p: p, client: client, server: server, records: p.records(first),
		prepared: map[string]*prepared{}, portals: map[string]*portal{}}
	s.changed.L = &s.mu
	return s.run()
}

// refuse tells a client that the server cannot be reached.
func refuse(client *link, err error) error {
	body := "SFATAL\x00VFATAL\x00C08001\x00Misovet proxy: " + err.Error() + "\x00\x00"
	return errors.Join(client.send('E', []byte(body)), client.w.Flush())
}

func (p *Proxy) fault(v any) {
	p.faults.Add(1)
	if p.o.OnError != nil {
		p.o.OnError(fmt.Errorf("the recorder failed; the session goes on unrecorded: %v\n%s", v, debug.Stack()))
	}
}
