package watch

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// trusting is a client that trusts one certificate, with connections of its own.
func trusting(cert []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: pool}}}
}
