package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// Codes that a client's first message may have in place of a version.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// greet reads a client's messages up to the one that begins a session, and returns this one. It returns nil if the
// client wanted to cancel a query, which greet has passed on.
func (p *Proxy) greet(ctx context.Context, client *link) ([]byte, error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(client.r, head[:]); err != nil {
			return nil, err
		}
		n, code := int(binary.BigEndian.Uint32(head[:])), binary.BigEndian.Uint32(head[4:])
		if n < 8 || n > 10000 { // PostgreSQL's own bound
			return nil, errLength
		}
		rest, err := client.read(n - 8)
		if err != nil {
			return nil, err
		}
		first := append(bytes.Clone(head[:]), rest...)
		switch code {
		case codeTLS, codeGSS:
			if err := p.secure(client, code == codeTLS); err != nil {
				return nil, err
			}
		case codeCancel:
			return nil, p.cancel(ctx, first)
		default:
			return first, nil
		}
	}
}

// secure answers a client that asks for TLS or for GSSAPI encryption.
func (p *Proxy) secure(client *link, wantsTLS bool) error {
	answer := "N"
	if wantsTLS && p.o.ClientTLS != nil {
		answer = "S"
	}
	if client.r.Buffered() > 0 { // else what came in the clear would be taken for what came encrypted
		return errors.New("a client sent more before its connection was encrypted")
	}
	if _, err := client.Write([]byte(answer)); err != nil {
		return err
	}
	if answer == "S" {
		*client = *newLink(tls.Server(client.Conn, p.o.ClientTLS))
	}
	return nil
}

func (p *Proxy) dial(ctx context.Context) (*link, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, p.o.Network, p.o.Server)
	if err != nil {
		return nil, err
	}
	if p.o.ServerTLS == nil {
		return newLink(c), nil
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // a server may accept, and never answer
	switch has, err := p.askTLS(c); {
	case err != nil:
		return nil, errors.Join(err, c.Close())
	case has:
		return newLink(tls.Client(c, p.o.ServerTLS)), nil
	case p.o.TLSOptional:
		return newLink(c), nil
	}
	return nil, errors.Join(fmt.Errorf("the server %s does not offer TLS; use sslmode=disable", p.o.Server), c.Close())
}

// askTLS asks the server for TLS and returns its answer.
func (p *Proxy) askTLS(c net.Conn) (bool, error) {
	q := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), codeTLS)
	if _, err := c.Write(q); err != nil {
		return false, err
	}
	var answer [1]byte
	_, err := io.ReadFull(c, answer[:])
	return answer[0] == 'S', err
}

// cancel passes on a cancel request. The client has the server's own key for it.
func (p *Proxy) cancel(ctx context.Context, request []byte) error {
	server, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	defer server.Close()
	if _, err := server.Write(request); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, server.r) // the server closes when it has done so
	return err
}

// records reports whether a session can be recorded. A session for replication has other messages, and may run SQL.
func (p *Proxy) records(startup []byte) bool {
	c := cutter{rest: startup[8:]}
	for p.o.Log != nil && !c.bad && len(c.rest) > 1 {
		name, value := c.text(), c.text()
		if name == "replication" && value != "false" && value != "off" && value != "0" {
			if !slices.Contains([]string{"true", "on", "yes", "1"}, value) {
				p.o.Log.Miss("a session for logical replication", "isovet does not see its statements", true)
			}
			return false
		}
	}
	return p.o.Log != nil
}

// withoutBinding removes SCRAM with channel binding from the methods that a server offers, because client and server
// have different TLS connections here.
func withoutBinding(body []byte) []byte {
	const plus = "SCRAM-SHA-256-PLUS\x00"
	if len(body) < 4 || binary.BigEndian.Uint32(body) != 10 {
		return body
	}
	return bytes.Replace(body, []byte(plus), nil, 1)
}
