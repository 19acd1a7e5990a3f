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
)

// Files of every name that package format gives this format to, and back to JSON lines.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "smallbank", Txns: 2000, AbortRate: 0.1,
		UnknownRate: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, "first.jsonl")
	if err := format.Write(first, h, "", false); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	last := first
	for _, name := range []string{"a.ivh", "b.ivh.zst", "c.ivh.gz", "d.jsonl", "e.ivh", "f.jsonl"} {
		g, err := format.Read(t.Context(), last, format.Options{})
		if err != nil {
			t.Fatalf("%s: %v", last, err)
		}
		if d := diff.Histories(h, g); d != "" {
			t.Fatalf("%s: %s", last, d)
		}
		last = filepath.Join(dir, name)
		if err := format.Write(last, g, "", false); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	got, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("JSON lines after all conversions are not those before")
	}
}

// A history outlives the Input that it was read from, and so does a file that was removed or replaced by another.
func TestOutlivesInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.ivh")
	h := random.Medium(1, random.Options{})
	if err := format.Write(path, h, "", false); err != nil {
		t.Fatal(err)
	}
	g, err := format.Read(t.Context(), path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Write(path, random.Medium(2, random.Options{}), "", false); err != nil {
		t.Fatal(err)
	}
	if d := diff.Histories(h, g); d != "" {
		t.Error(d)
	}
}

// What is wrong with a compressed file is an error about the input, too.
func TestCorruptCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.ivh.zst")
	h := random.Medium(1, random.Options{})
	if err := format.Write(path, h, "", false); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += 5 {
		for _, b := range [][]byte{data[:i], append(append(bytes.Clone(data[:i]), data[i]^0x10), data[i+1:]...)} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			g, err := format.Read(t.Context(), path, format.Options{})
			if err != nil {
				if !strings.Contains(err.Error(), "h.ivh.zst") {
					t.Fatalf("byte %d: %v", i, err)
				}
				continue
			}
			if d := diff.Histories(h, g); d != "" {
				t.Fatalf("byte %d: another history: %s", i, d)
			}
		}
	}
}
