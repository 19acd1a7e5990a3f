package isovettest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/report"
)

// failed fails the test with the explanation, and writes the artifacts.
func failed(ctx context.Context, t testing.TB, r *evidence.Result, o Options) {
	t.Helper()
	small, why := smallest(ctx, r, o)
	dir, err := folder(t)
	if err == nil {
		err = write(dir, small, r)
	}
	var text bytes.Buffer
	name := "small.jsonl"
	if err2 := report.Text(&text, name, small, report.TextOptions{}); err2 != nil {
		err = errors.Join(err, err2)
	}
	where := fmt.Sprintf("in %s: small.jsonl, small.cert (isovet verify small.cert small.jsonl), small.html, "+
		"whole.jsonl", dir)
	if err != nil {
		where = fmt.Sprintf("the artifacts could not be written: %v", err)
	}
	t.Errorf("isovettest: %d transactions violate %s; so do %d of them%s:\n%s%s%s", r.H.NumTxns(), r.Label(),
		small.H.NumTxns(), why, text.Bytes(), where, seed(o))
}

// folder returns the folder for artifacts, which is not removed after the test.
func folder(t testing.TB) (string, error) {
	name := strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, c) {
			return '_'
		}
		return c
	}, t.Name())
	if dir := os.Getenv("ISOVET_ARTIFACTS"); dir != "" {
		err := os.MkdirAll(dir, 0o755)
		at := filepath.Join(dir, name)
		for n := 2; err == nil; n++ { // go test -count, or another run
			if err = os.Mkdir(at, 0o755); !errors.Is(err, fs.ErrExist) {
				return at, err
			}
			at, err = fmt.Sprint(filepath.Join(dir, name), "-", n), nil
		}
		return at, err
	}
	// Without -artifacts, ArtifactDir is a folder that is removed with the test.
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		if x, ok := t.(interface{ ArtifactDir() string }); ok {
			return x.ArtifactDir(), nil
		}
	}
	if len(name) > 60 {
		name = name[:60]
	}
	return os.MkdirTemp("", "isovet-"+name+"-")
}

func write(dir string, small, whole *evidence.Result) error {
	var all error
	for name, to := range map[string]func(io.Writer) error{
		"small.jsonl": func(w io.Writer) error { return jsonl.Write(w, small.H) },
		"small.cert":  func(w io.Writer) error { return evidence.WriteCertificate(w, small) },
		"small.html":  func(w io.Writer) error { return report.HTML(w, "small.jsonl", small) },
		"whole.jsonl": func(w io.Writer) error { return jsonl.Write(w, whole.H) },
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(to(f), f.Close())
		}
		all = errors.Join(all, err)
	}
	return all
}
