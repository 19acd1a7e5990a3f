package format

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"isovet/internal/room"
	"isovet/internal/test/must"
)

// open writes a file and opens it.
func open(tb testing.TB, f *shapeFile) (in *Input, size int64) {
	tb.Helper()
	path, size, err := f.write(tb.TempDir())
	must.OK(tb, err)
	if in, err = Open(path); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close() })
	return in, size
}

// BenchmarkRead reads files of every format, 10 to 180 MB, on one core, and prints a table of how many megabytes of
// the file a second of the processor's time reads: garbage collection, the join and everything else included.
func BenchmarkRead(b *testing.B) {
	var table bytes.Buffer
	for _, r := range shapeFiles(100_000) {
		f, ok := ByName(r.Format)
		if !ok {
			b.Fatal(r.Format)
		}
		b.Run(r.Name, func(b *testing.B) {
			in, size := open(b, &r)
			runtime.GC()
			b.SetBytes(int64(size))
			best, ops := 0.0, 0
			for b.Loop() {
				cpu := room.CPU()
				h := must.Get(f.Read(b.Context(), in, Options{Workers: 1}))(b)
				ops = h.NumOps()
				best = max(best, float64(size)/1e6/(room.CPU()-cpu).Seconds())
			}
			b.ReportMetric(best, "MB/cpu-s")
			fmt.Fprintf(&table, "| %-38s | %4.0f | %9.1f | %4.0f |\n", r.Name, float64(size)/1e6,
				float64(size)/float64(ops), best)
		})
	}
	fmt.Printf("| %-38s | %4s | %9s | %4s |\n|%s|\n%s", "format", "MB", "B per op.", "MB/s", strings.Repeat("-", 66),
		table.Bytes())
}

// TestRates: the files that are measured are those of their formats, and hold what they should.
func TestRates(t *testing.T) {
	for _, r := range shapeFiles(300) {
		in, size := open(t, &r)
		f, err := Detect(in)
		if err != nil || f.Name != r.Format {
			t.Errorf("%s: detected %s: %v", r.Name, f.Name, err)
			continue
		}
		h, err := f.Read(t.Context(), in, Options{Workers: 1})
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		t.Logf("%s: %d bytes, %d transactions, %d operations, notes %v", r.Name, size, h.NumTxns(), h.NumOps(), h.Notes)
	}
}
