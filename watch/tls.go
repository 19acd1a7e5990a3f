package watch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLSFiles are the PEM files of one end of a connection. Each may be "".
type TLSFiles struct {
	Cert, Key string // this end's certificate, and its key
	CA        string // the authority of the other end's certificates
}

// Any reports whether any file is set.
func (f TLSFiles) Any() bool { return f != TLSFiles{} }

func (f TLSFiles) check() error {
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("a certificate and its key belong together; expected both files, or neither")
	}
	return nil
}

func (f TLSFiles) pool() (*x509.CertPool, error) {
	if f.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it; expected PEM", f.CA)
	}
	return p, nil
}

// Server returns the configuration of a server. With a CA, clients must have a certificate from it. Changed
// certificate files are read again without a restart.
func (f TLSFiles) Server() (*tls.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.Cert == "" {
		return nil, errors.New("a server needs a certificate and its key")
	}
	pool, err := f.pool()
	if err != nil {
		return nil, err
	}
	p := &pair{files: f}
	if _, err := p.get(); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate,
		error) {
		return p.get()
	}}
	if pool != nil {
		c.ClientCAs, c.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Client returns the configuration of a client. Without a CA it trusts the system's authorities.
func (f TLSFiles) Client() (*tls.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	pool, err := f.pool()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	if f.Cert != "" {
		p := &pair{files: f}
		if _, err := p.get(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p.get() }
	}
	return c, nil
}

// pair is a certificate and its key, from files.
type pair struct {
	files TLSFiles
	mu    sync.Mutex
	at    [2]time.Time
	have  *tls.Certificate
}

// get reads the files if they have changed. While certificate and key do not match, it returns the earlier pair.
func (p *pair) get() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var at [2]time.Time
	for i, path := range []string{p.files.Cert, p.files.Key} {
		st, err := os.Stat(path)
		if err != nil {
			if p.have != nil {
				return p.have, nil
			}
			return nil, err
		}
		at[i] = st.ModTime()
	}
	if p.have != nil && at == p.at {
		return p.have, nil
	}
	c, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key)
	switch {
	case err == nil:
		p.have, p.at = &c, at
	case p.have == nil:
		return nil, fmt.Errorf("%s, %s: %w", p.files.Cert, p.files.Key, err)
	}
	return p.have, nil
}
