package native_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// Files of every name that package format gives this format to, and back to JSON lines.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "smallbank", Txns: 2000, AbortRate: 0.1,
		UnknownRate: 0.1}))(t)
	first := filepath.Join(dir, "first.jsonl")
	must.OK(t, format.Write(first, h, "", false))
	want := must.Get(os.ReadFile(first))(t)
	last := first
	for _, name := range []string{"a.ivh", "b.ivh.zst", "c.ivh.gz", "d.jsonl", "e.ivh", "f.jsonl"} {
		g := must.Get(format.Read(t.Context(), last, format.Options{}))(t)
		diff.Same(t, h, g, "%s", last)
		last = filepath.Join(dir, name)
		must.OK(t, format.Write(last, g, "", false), "%s", name)
	}
	got := must.Get(os.ReadFile(last))(t)
	must.Be(t, bytes.Equal(got, want), "JSON lines after all conversions are not those before")
}

// A history outlives the Input that it was read from, and so does a file that was removed or replaced by another.
func TestOutlivesInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.ivh")
	h := random.Medium(1, random.Options{})
	must.OK(t, format.Write(path, h, "", false))
	g := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
	must.OK(t, format.Write(path, random.Medium(2, random.Options{}), "", false))
	diff.Same(t, h, g, "after its file is replaced")
}

// What is wrong with a compressed file is an error about the input, too.
func TestCorruptCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.ivh.zst")
	h := random.Medium(1, random.Options{})
	must.OK(t, format.Write(path, h, "", false))
	data := must.Get(os.ReadFile(path))(t)
	for i := 0; i < len(data); i += randtest.Long(17, 5) {
		for _, b := range [][]byte{data[:i], append(append(bytes.Clone(data[:i]), data[i]^0x10), data[i+1:]...)} {
			must.OK(t, os.WriteFile(path, b, 0o600))
			g, err := format.Read(t.Context(), path, format.Options{})
			if err != nil {
				must.Hold(t, strings.Contains(err.Error(), "h.ivh.zst"), "byte %d: %v", i, err)
				continue
			}
			diff.Same(t, h, g, "byte %d: another history", i)
		}
	}
}
