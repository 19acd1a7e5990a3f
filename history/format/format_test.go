package format

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"isovet/history"
	"isovet/history/format/logline"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

const sampleDoc = `{"format":"isovet-history","version":1,"name":"sample"}
{"id":1,"session":1,"seq":0,"ops":[["w","x",1]]}
{"id":2,"session":2,"seq":0,"status":"aborted","start":1,"end":2,"ops":[["r","x",1]]}
`

func write(t *testing.T, name string, data []byte) string {
	path := filepath.Join(t.TempDir(), name)
	must.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

func gz(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	must.OK(t, w.Close())
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	w := must.Get(zstd.NewWriter(nil))(t)
	return w.EncodeAll(data, nil)
}

// Plain or compressed, whatever the name: the same history.
func TestReadByContent(t *testing.T) {
	var want *history.History
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"plain.jsonl", []byte(sampleDoc)},
		{"no-ending", []byte(sampleDoc)},
		{"wrong.gz", []byte(sampleDoc)},
		{"a.jsonl.gz", gz(t, []byte(sampleDoc))},
		{"wrong.zst", gz(t, []byte(sampleDoc))},
		{"wrong.edn", zst(t, []byte(sampleDoc))},
		{"mark.jsonl", []byte("\xef\xbb\xbf" + sampleDoc)},
		{"mark.zst", zst(t, []byte("\xef\xbb\xbf"+sampleDoc))},
		{"several-members.gz", append(gz(t, []byte(sampleDoc[:70])), gz(t, []byte(sampleDoc[70:]))...)},
	} {
		path := write(t, c.name, c.data)
		for _, o := range []Options{{}, {Format: "auto", Workers: 1}, {Format: "isovet-history", Workers: 3}} {
			h, err := Read(t.Context(), path, o)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if want == nil {
				want = h
			}
			if d := diff.Histories(want, h); d != "" || h.NumTxns() != 2 {
				t.Errorf("%s: %s", c.name, d)
			}
			must.Equal(t, h.File, path, "%s: the history's file", c.name)
		}
	}
}

func TestStandardInput(t *testing.T) {
	for name, data := range map[string][]byte{"plain": []byte(sampleDoc), "gzip": gz(t, []byte(sampleDoc)),
		"zstd": zst(t, []byte(sampleDoc))} {
		f := must.Get(os.Open(write(t, "in", data)))(t)
		old := os.Stdin
		os.Stdin = f
		h, err := Read(t.Context(), "-", Options{})
		os.Stdin = old
		f.Close()
		must.Be(t, err == nil && h.NumTxns() == 2, "%s: %v", name, err)
	}
}

func TestReadErrors(t *testing.T) {
	var list, files []string
	for _, f := range All() {
		list = append(list, f.Name)
		if !f.Dir {
			files = append(files, f.Name)
		}
	}
	names := strings.Join(list, ", ")
	short := gz(t, []byte(strings.Repeat(sampleDoc[56:], 5000)))
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "FILE:1: the file is empty; expected a history"},
		{"blank", []byte(" \n\n"), "FILE:1: the file is empty; expected a history"},
		{"text", []byte("hello"), `FILE:1: unknown format: found "hello"; expected ` + strings.Join(files, ", ")},
		{"other-json", []byte(`{"type":"drama"}`), `FILE:1: field "ops": missing; expected an array of operations`},
		{"broken", []byte("{\"ops\":[]}\n{\"ops\":"),
			`FILE:2: field "ops": malformed JSON at byte 8 of the line: found the end of the line; expected a value`},
		{"short.gz", short[:len(short)/2], "unexpected EOF"},
		{"short.zst", zst(t, []byte(sampleDoc))[:20], "unexpected EOF"},
		{"bad.gz", []byte("\x1f\x8bxxxxxxxxxx"), "looks like gzip, but: "},
		{"header-only.gz", []byte("\x1f\x8b"), "looks like gzip, but: "},
	} {
		path := write(t, c.name, c.data)
		_, err := Read(t.Context(), path, Options{})
		if _, ok := errors.AsType[*history.InputError](err); !ok {
			t.Errorf("%s: %v; want an input error", c.name, err)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), path, "FILE"); got != c.want && (strings.HasPrefix(c.want, "FILE") ||
			!strings.Contains(got, c.want)) {
			t.Errorf("%s: got %s; want %s", c.name, got, c.want)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "cannot open: no such file or directory",
		dir: "an empty folder; expected a file, a folder with the parts of one history, Jepsen's folder with " +
			"history.edn, or a " +
			"folder in cobra or viper or isovet-watch",
	} {
		if _, err := Read(t.Context(), path, Options{}); err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v; want %s", path, err, want)
		}
	}
	if _, err := Read(t.Context(), dir, Options{Format: "isovet-history"}); err == nil || !strings.Contains(err.Error(),
		"is a folder") {
		t.Errorf("a folder read as a file: %v", err)
	}
	if _, err := Read(t.Context(), "x", Options{Format: "nonesuch"}); err == nil ||
		err.Error() != `unknown format "nonesuch"; expected one of auto, `+names {
		t.Errorf("unknown format: %v", err)
	}
	if _, err := Read(t.Context(), "x", Options{Workers: -1}); err == nil {
		t.Error("-1 workers: no error")
	}
}

// What is written under any ending is read again, and nothing else is left in the folder.
func TestWrite(t *testing.T) {
	h := must.Get(Read(t.Context(), write(t, "in", []byte(sampleDoc)), Options{}))(t)
	dir := t.TempDir()
	for name, magic := range map[string]string{"a.jsonl": "{\"format", "a": "{\"format", "a.jsonl.gz": "\x1f\x8b",
		"a.jsonl.zst": "\x28\xb5\x2f\xfd"} {
		path := filepath.Join(dir, name)
		for range 2 { // the second time over the first
			must.OK(t, Write(path, h, "", false))
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, []byte(magic)) {
			t.Errorf("%s: begins with %q, %v", name, data[:4], err)
		}
		g, err := Read(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := diff.Histories(h, g); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	left, err := os.ReadDir(dir)
	must.Equal(t, err == nil && len(left) == 4, true, "%d files in the folder, %v; want 4", len(left), err)
	if err := Write(filepath.Join(dir, "none", "x"), h, "", false); err == nil {
		t.Error("written to a folder that is not there")
	}
	if err := Write(filepath.Join(dir, "x"), h, "nonesuch", false); err == nil {
		t.Error("written in an unknown format")
	}
}

// The list is in order: names are unique, everything is filled in.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Name == "" || f.About == "" || f.Tool == "" || f.Detect == nil || f.Read == nil || seen[f.Name] {
			t.Errorf("format %+v is incomplete or not unique", f)
		}
		seen[f.Name] = true
		if g, ok := ByName(f.Name); !ok || g.Name != f.Name {
			t.Errorf("%s is not found by its name", f.Name)
		}
	}
	must.Equal(t, (Times | Lists).String(), "times, lists", "features")
}

// TestWatchedStream: a folder of watch is read whose stream begins in the midst of sessions, has gaps there, and says
// some transactions again; it once was bad input. One whose transaction has another's id is bad input.
func TestWatchedStream(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/stream-from-the-midst-with-lines-twice.jsonl"))(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	folder := func(lines ...string) string {
		dir := t.TempDir()
		var log []byte
		for i, line := range lines {
			log = logline.Append(log, int64(i)+1, "", line)
		}
		must.OK(t, os.WriteFile(filepath.Join(dir, "segment-00000001.log"), log, 0o600))
		return dir
	}
	h := must.Get(Read(t.Context(), folder(lines...), Options{}))(t)
	ids := slice.Map(h.SessTxn, func(x uint32) int64 { return h.Txns.ID[x] })
	must.Equal(t, fmt.Sprint(ids), "[70 72 73 71]", "in sessions")
	must.Be(t, h.Meta.Name == "from the midst" && string(h.Texts.Text(uint32(h.Initial.N))) == "zero",
		"%+v, at first %v", h.Meta, h.Initial)
	must.Equal(t, h.Notes[0].Count, 2, "repeated transactions")
	_, err := Read(t.Context(), folder(append(lines, `{"id":71,"session":2,"seq":4,"ops":[["r","x",3]]}`)...), Options{})
	if err == nil || !strings.Contains(err.Error(), "id 71 occurs twice, first in line 3") {
		t.Error(err)
	}
	first := `{"id":7,"init":true,"ops":[["w","x",3]]}`
	h = must.Get(Read(t.Context(), folder(first, first), Options{}))(t)
	must.Equal(t, h.Notes[0].Count, 1, "repeated initial transactions")
}
