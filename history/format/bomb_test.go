package format_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"isovet/history"
	"isovet/history/format"
)

func gzipped(t *testing.T, name string, parts ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBombs: what is small and grows without end as it is decompressed is refused, whatever it grows to.
func TestBombs(t *testing.T) {
	for name, c := range map[string]struct{ begin, more string }{
		"blanks":  {"", " "},
		"lines":   {"", "\n"},
		"value":   {`{"id":1,"ops":[["w","x","`, "a"},
		"nesting": {`{:type :ok, :value `, "["},
	} {
		more := bytes.Repeat([]byte(c.more), 1<<20)
		parts := [][]byte{[]byte(c.begin)}
		for range 100 {
			parts = append(parts, more)
		}
		_, err := format.Read(context.Background(), gzipped(t, "h.gz", parts...), format.Options{})
		if in, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(in.Msg, "grows more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBlankLinesBefore: any number of blank lines may stand before a history, and lines are counted from the first of
// them.
func TestBlankLinesBefore(t *testing.T) {
	for _, blank := range []string{strings.Repeat("\n", 300), strings.Repeat(" \t\r\n", 50_000),
		strings.Repeat(strings.Repeat(" ", 299)+"\n", 1000)} {
		good, bad := []byte(blank+`{"id":1,"ops":[["w","x",1]]}`+"\n"), []byte(blank+`{"id":1,"ops":[["w","x"`+"\n")
		plain := filepath.Join(t.TempDir(), "h")
		for _, path := range []string{plain, gzipped(t, "h.gz", good)} {
			if path == plain {
				if err := os.WriteFile(path, good, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if h, err := format.Read(context.Background(), path, format.Options{}); err != nil || h.NumTxns() != 1 {
				t.Errorf("%d blank bytes, %s: %v", len(blank), filepath.Base(path), err)
			}
		}
		_, err := format.Read(context.Background(), gzipped(t, "h.gz", bad), format.Options{})
		if in, ok := errors.AsType[*history.InputError](err); !ok || in.Line != strings.Count(blank, "\n")+1 {
			t.Errorf("%d blank bytes: %v", len(blank), err)
		}
	}
}
