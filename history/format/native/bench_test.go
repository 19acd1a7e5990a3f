package native

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/room"
	"isovet/internal/test/must"
)

func generated(b *testing.B, txns int, times datasets.Times) *history.History {
	h, err := datasets.Generate(b.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: txns, Ops: 8,
		Times: times})
	must.OK(b, err)
	return h
}

// BenchmarkRead loads a file that is in the system's cache: mapping, checksums and all checks.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name  string
		txns  int
		times datasets.Times
	}{
		{"txns=100k/times=txn", 100_000, datasets.TxnTimes},
		{"txns=1M/times=none", 1_000_000, datasets.NoTimes},
		{"txns=1M/times=txn", 1_000_000, datasets.TxnTimes},
		{"txns=1M/times=all", 1_000_000, datasets.AllTimes},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "h.ivh")
			var buf bytes.Buffer
			h := generated(b, c.txns, c.times)
			must.OK(b, Write(&buf, h))
			want, size := h.NumOps(), int64(buf.Len())
			must.OK(b, os.WriteFile(path, buf.Bytes(), 0o600))
			h, buf = nil, bytes.Buffer{}
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					b.SetBytes(size)
					b.ReportAllocs()
					cpu := room.CPU()
					for b.Loop() {
						h := must.Get(ReadFile(context.Background(), path, workers))(b)
						if h.NumOps() != want {
							b.Fatal(h.NumOps())
						}
					}
					b.ReportMetric(float64((room.CPU()-cpu).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

// BenchmarkWrite writes to nowhere: checks, checksums and a pass over the columns.
func BenchmarkWrite(b *testing.B) {
	h := generated(b, 100_000, datasets.TxnTimes)
	var n counter
	for b.Loop() {
		n = 0
		must.OK(b, Write(&n, h))
	}
	b.SetBytes(int64(n))
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
