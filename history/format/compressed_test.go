package format_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"isovet/history"
	"isovet/history/format"
	"isovet/internal/bounds"
	"isovet/internal/test/must"
)

// Made by Python's bz2 and lzma: two transactions; the same with a dictionary of 1 GiB asked for; and 300 MiB of ends
// of lines.
const (
	smallBzip2 = "QlpoOTFBWSZTWWQJHP4AABtbgAAQEAQwEAAKBCDYyiAAUKaZGJiYgVVPSZA" +
		"ekxNL4yllp2uhMyXqihZRV8wsZRpG2ln4u5IpwoSD" +
		"IEjn8A=="
	smallXZ = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4AA5ACddAD2IiSaBk1Ox5jXPdu7" +
		"3z/KzlJbS209AQb6Ssx0z34GxqsX/C2woAAAA0v2v" +
		"K2UomEEAAUM6X3DePR+2830BAAAAAARZWg=="
	spanXZ = "/Td6WFoAAATm1rRGAgAhASQAAABeH8f54AA5ACddAD2IiSaBk1Ox5jXPdu7" +
		"3z/KzlJbS209AQb6Ssx0z34GxqsX/C2woAAAA0v2v" +
		"K2UomEEAAUM6X3DePR+2830BAAAAAARZWg=="
	bombBzip2 = "QlpoOTFBWSZTWStxu3EBX45AAIAQAAggADCATUZCoCWpCoCXMUFZJlNZK3G" +
		"7cQFfjkAAgBAACCAAMIBNRkKgJakKgJcxQVkmU1kr" +
		"cbtxAV+OQACAEAAIIAAwgE1GQqAlqQqAlzFBWSZTWStxu3EBX45AAIAQAAggADCATUZCoCWpCoCXMUFZJlNZK3G7cQFfjkAAgBAA" +
		"CCAAMIBNRkKgJakKgJcxQVkmU1krcbtxAV+OQACAEAAIIAAwgE1GQqAlqQqAlzFBWSZTWVwdXFUBLBJABIAQAAEACCAAMMwFKaYi" +
		"BSNiRApHi7kinChIfPuMw4A="
)

const twoTxns = `{"id":1,"ops":[["w","x",1]]}
{"id":2,"ops":[["r","x",1]]}
`

func unbase64(t *testing.T, text string) []byte {
	t.Helper()
	return must.Get(base64.StdEncoding.DecodeString(text))(t)
}

// squeezed compresses by way of a writer.
func squeezed(t *testing.T, open func(w io.Writer) (io.WriteCloser, error), parts ...[]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := must.Get(open(&buf))(t)
	for _, p := range parts {
		must.Get(z.Write(p))(t)
	}
	must.OK(t, z.Close())
	return buf.Bytes()
}

// zipped makes an archive of files, name and content by turns.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		must.OK(t, err)
	}
	must.OK(t, z.Close())
	return buf.Bytes()
}

func toGzip(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
func toZstd(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }
func toXZ(w io.Writer) (io.WriteCloser, error)   { return xz.NewWriter(w) }

// readBytes reads what a file has, by its content alone.
func readBytes(t *testing.T, data []byte) (*history.History, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h")
	must.OK(t, os.WriteFile(path, data, 0o600))
	return format.Read(context.Background(), path, format.Options{})
}

// TestCompressed: every compression is recognised by its content, and a truncated file is an error.
func TestCompressed(t *testing.T) {
	two := []byte(twoTxns)
	for name, data := range map[string][]byte{
		"gzip": squeezed(t, toGzip, two), "zstd": squeezed(t, toZstd, two), "xz": squeezed(t, toXZ, two),
		"bzip2": unbase64(t, smallBzip2), "xz of liblzma": unbase64(t, smallXZ),
		"zip": zipped(t, "h.jsonl", twoTxns),
		"zip of gzip": zipped(t, "a/", "", "a/h.gz", string(squeezed(t, toGzip, two)),
			"__MACOSX/a/h", "x", "a/.b", "y"),
		"zip of Jepsen": zipped(t, "20260101/results.edn", "{:valid? true}", "20260101/history.edn",
			"{:type :ok, :f :write, :value 1}\n{:type :ok, :f :read, :value 1}\n"),
	} {
		h, err := readBytes(t, data)
		must.Equal(t, err == nil && h.NumTxns() == 2, true, "%s: %v", name, err)
		for _, n := range []int{12, len(data) / 2, len(data) - 1} {
			if _, err := readBytes(t, data[:n]); err == nil {
				t.Errorf("%s: %d bytes of %d are read without an error", name, n, len(data))
			} else if _, ok := errors.AsType[*history.InputError](err); !ok {
				t.Errorf("%s: %v is no input error", name, err)
			}
		}
	}
}

// TestCompressedBad: what is too much or too many is refused, with what to do about it.
func TestCompressedBad(t *testing.T) {
	defer bounds.Set("format.free-growth", 8<<20)()
	lines := bytes.Repeat([]byte("\n"), 1<<20)
	var parts [][]byte
	for range 10 {
		parts = append(parts, lines)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"bomb of bzip2":    {unbase64(t, bombBzip2), "it decompresses to more than"},
		"bomb of zip":      {zipped(t, "h", strings.Repeat("\n", 10<<20)), "it decompresses to more than"},
		"large dictionary": {unbase64(t, spanXZ), "a dictionary of 1024 MiB"},
		"bomb in zip":      {zipped(t, "h", string(squeezed(t, toGzip, parts...))), "it decompresses to more than"},
		"two files":        {zipped(t, "a", twoTxns, "b", twoTxns), "found 2 files in the archive, such as a and b"},
		"two runs":         {zipped(t, "a/history.edn", "", "b/history.edn", ""), "found 2 files history.edn"},
		"no file":          {zipped(t, "a/", "", "a/.b", ""), "found no file"},
		"zip in zip":       {zipped(t, "a.zip", string(zipped(t, "a", twoTxns))), "an archive in the archive"},
		"many files": {append([]byte("PK\x03\x04"), bytes.Repeat([]byte("PK\x01\x02"), 100_001)...),
			"found 100001 files"},
		"text": {[]byte("BZh is how this begins\n"), "unknown format"},
	} {
		_, err := readBytes(t, c.data)
		if in, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(in.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// TestZipStream: an archive may come as a stream, which is held in memory, but not a large one.
func TestZipStream(t *testing.T) {
	defer bounds.Set("format.archive", 1<<20)()
	old := os.Stdin
	defer func() { os.Stdin = old }()
	read := func(size int64, data []byte) error {
		path := filepath.Join(t.TempDir(), "h")
		must.OK(t, os.WriteFile(path, data, 0o600))
		must.OK(t, os.Truncate(path, max(size, int64(len(data)))))
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		os.Stdin = f
		_, err := format.Read(context.Background(), "-", format.Options{})
		return err
	}
	archive := zipped(t, "h.jsonl", twoTxns)
	must.OK(t, read(0, archive))
	if err := read(1<<20+1, archive); err == nil || !strings.Contains(err.Error(), "more than 1 MiB in a stream") {
		t.Errorf("a large archive: %v", err)
	}
}

// TestStore: the folder of all runs stands for its last.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "test", "20260101")
	must.OK(t, os.MkdirAll(run, 0o700))
	text := []byte("{:type :ok, :f :write, :value 1}\n{:type :ok, :f :read, :value 1}\n")
	must.OK(t, os.WriteFile(filepath.Join(run, "history.edn.xz"), squeezed(t, toXZ, text), 0o600))
	if err := os.Symlink(filepath.Join("test", "20260101"), filepath.Join(dir, "latest")); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, path := range []string{dir, filepath.Join(dir, "latest"), run} {
		h, err := format.Read(context.Background(), path, format.Options{})
		must.Equal(t, err == nil && h.NumTxns() == 2, true, "%s: %v", path, err)
	}
}

func gzipped(t *testing.T, name string, parts ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f := must.Get(os.Create(path))(t)
	z := gzip.NewWriter(f)
	for _, p := range parts {
		must.Get(z.Write(p))(t)
	}
	must.OK(t, errors.Join(z.Close(), f.Close()))
	return path
}

// TestBombs: what is small and grows without end as it is decompressed is refused, whatever it grows to.
func TestBombs(t *testing.T) {
	defer bounds.Set("format.free-growth", 8<<20)()
	for name, c := range map[string]struct{ begin, more string }{
		"blanks":  {"", " "},
		"lines":   {"", "\n"},
		"value":   {`{"id":1,"ops":[["w","x","`, "a"},
		"nesting": {`{:type :ok, :value `, "["},
	} {
		more := bytes.Repeat([]byte(c.more), 1<<20)
		parts := [][]byte{[]byte(c.begin)}
		for range 12 {
			parts = append(parts, more)
		}
		_, err := format.Read(context.Background(), gzipped(t, "h.gz", parts...), format.Options{})
		if in, ok := errors.AsType[*history.InputError](err); !ok ||
			!strings.Contains(in.Msg, "it decompresses to more than") {
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
				must.OK(t, os.WriteFile(path, good, 0o600))
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
