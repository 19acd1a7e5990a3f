package format

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// corpus returns the folder of real histories: ISOVET_CORPUS, or ../shared/corpus beside the module.
func corpus(t *testing.T) string {
	dir := os.Getenv("ISOVET_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "MANIFEST.tsv")); err != nil {
		t.Skipf("SKIPPED, NOTHING TESTED: no corpus of real histories at %s (set ISOVET_CORPUS)", dir)
	}
	return dir
}

// TestCorpus reads every history in the project's format: as many committed transactions, the initial one apart, as the
// manifest says, and the same again from what is written.
func TestCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir := corpus(t)
	f := must.Get(os.Open(filepath.Join(dir, "MANIFEST.tsv")))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	r.FieldsPerRecord = -1
	rows := must.Get(r.ReadAll())(t)
	read := 0
	for _, row := range rows[1:] {
		if row[1] != "isovet-history" {
			continue
		}
		read++
		h, err := Read(t.Context(), filepath.Join(dir, row[0]), Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		committed := 0
		for x, s := range h.Txns.Status {
			if s == history.Committed && uint32(x) != h.Init && (h.Meta.Workload != "lwt" || writes(h, uint32(x))) {
				committed++
			}
		}
		must.Equal(t, strconv.Itoa(committed), row[2], "%s: committed transactions", row[0])
		for _, f := range []Format{isovet, parquetTable} {
			if f.Name == "parquet" && read%4 > 0 && os.Getenv("ISOVET_LONG") == "" {
				continue
			}
			var buf bytes.Buffer
			must.OK(t, f.Write(&buf, h, false))
			out := filepath.Join(t.TempDir(), "out")
			must.OK(t, os.WriteFile(out, buf.Bytes(), 0o644))
			g, err := Read(t.Context(), out, Options{})
			if err != nil {
				t.Errorf("%s: %s, written and read: %v", row[0], f.Name, err)
			} else if d := diff.Histories(h, g); d != "" {
				t.Errorf("%s: %s, written and read: %s", row[0], f.Name, d)
			}
		}
	}
	files := must.Get(filepath.Glob(filepath.Join(dir, "databases", "*.jsonl.zst")))(t)
	must.Be(t, read >= len(files) && read != 0, "read %d histories; there are %d files", read, len(files))
	t.Logf("%d histories", read)
}

// writes reports whether a transaction writes: of lightweight transactions the manifest counts the successful ones.
func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	for _, k := range h.Ops.Kind[lo:hi] {
		if k == history.Write {
			return true
		}
	}
	return false
}

// No file is recognised by its name: all of the corpus that is in other formats must not be taken for ours by its first
// line.
func TestCorpusDetect(t *testing.T) {
	dir := corpus(t)
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "databases"+string(filepath.Separator)) || n > 500 {
			return err
		}
		n++
		in, err := Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		head, err := in.Head()
		if err != nil {
			return nil // not a readable file; Read says so
		}
		if c := detectJSONL(head, ""); c >= Likely {
			t.Errorf("%s: taken for the project's own format (%d)", path, c)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
