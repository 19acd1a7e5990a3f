package format

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestProgress: how much of a file was read only grows, up to nearly all of it: plain, compressed, on several cores.
func TestProgress(t *testing.T) {
	var text, packed bytes.Buffer
	for i := 0; text.Len() < randtest.Long(17, 20)<<20; i++ {
		fmt.Fprintf(&text, `{"id":%d,"session":%d,"ops":[["w","k%d",%d]],"name":"%x"}`+"\n", i, i%8, i%1000, i,
			[4]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()})
	}
	z := must.Get(gzip.NewWriterLevel(&packed, gzip.BestSpeed))(t)
	if _, err := z.Write(text.Bytes()); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"h.jsonl": text.Bytes(), "h.jsonl.gz": packed.Bytes()} {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, data, 0o644))
		for _, workers := range []int{1, 4} {
			if name != "h.jsonl" && workers > 1 && !randtest.Long(false, true) {
				continue // one unpacks and counts, however many parse
			}
			last, calls := int64(0), 0
			must.Get(Read(t.Context(), path, Options{Workers: workers, Progress: func(done, total int64) {
				must.Be(t, done > last && done <= total && total == int64(len(data)),
					"%s: %d of %d after %d; the file has %d", name, done, total, last, len(data))
				last = done
				calls++
			}}))(t)
			must.Be(t, last >= int64(len(data))/2 && calls >= 3,
				"%s, %d workers: %d calls, the last with %d of %d", name, workers, calls, last, len(data))
		}
	}
}
