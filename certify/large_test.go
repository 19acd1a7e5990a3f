package certify_test

import (
	"testing"

	"isovet/certify/large"
	"isovet/internal/test/must"
)

func TestLargeIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"format":"isovet-certificate","version":2,"level":"serializable"`: true,
		`{ "version": 2, "level": "si", "format": "isovet-certificate" }`:   true,
		"{\n  \"format\": \"isovet-certificate\",\n  \"version\": 2\n}":     true,
		`{"format":"isovet-certificate","version":1,"level":"si"}`:          false,
		`{"format":"isovet-certificate","version":22,"level":"si"}`:         false,
		`{"format":"isovet-history","version":2}`:                           false,
		`{"format":"isovet-certificate","vers`:                              false,
		`["isovet-certificate","version":2,`:                                false,
		"":                                                                  false,
	} {
		must.Equal(t, large.Is([]byte(text)), want, "%s", text)
	}
}
