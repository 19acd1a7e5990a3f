package certify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/history/format"
)

// Certificates in testdata/forged are false, and were once accepted, or made the certifier panic; their names say why.
// Each is refused.
func TestForged(t *testing.T) {
	certs, err := filepath.Glob("testdata/forged/*.cert")
	if err != nil || len(certs) == 0 {
		t.Fatal(certs, err)
	}
	for _, cert := range certs {
		h, err := format.Read(context.Background(), strings.TrimSuffix(cert, ".cert")+".jsonl", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(cert)
		if err != nil {
			t.Fatal(err)
		}
		r, err := certify.Verify(f, h, certify.Options{})
		f.Close()
		var cannot *certify.Unsupported
		if r == nil || err == nil || errors.As(err, &cannot) {
			t.Errorf("%s: %v", cert, err)
		}
	}
}
