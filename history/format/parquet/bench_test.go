package parquet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"isovet/datasets"
	"isovet/internal/room"
	"isovet/internal/test/must"
)

// BenchmarkRead reads a file, and decodes it alone: BlindW, transactions of eight operations. A metric besides bytes is
// transactions a second of processor time.
func BenchmarkRead(b *testing.B) {
	for _, times := range []datasets.Times{datasets.NoTimes, datasets.TxnTimes} {
		h, err := datasets.Generate(b.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: 250_000, Ops: 8,
			Times: times})
		must.OK(b, err)
		var buf bytes.Buffer
		must.OK(b, Write(&buf, h))
		data := buf.Bytes()
		for _, workers := range []int{0, 1, 2} {
			b.Run(fmt.Sprintf("times=%v/workers=%d", times, workers), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				cpu := room.CPU()
				for b.Loop() {
					if workers == 0 { // the columns alone
						must.OK(b, columnsOf(data))
						continue
					}
					h, err := Read(context.Background(), data, "b", workers, nil)
					must.OK(b, err)
					if h.NumTxns() < 250_000 {
						b.Fatal(h.NumTxns())
					}
				}
				b.ReportMetric(250_000*float64(b.N)/(room.CPU()-cpu).Seconds(), "txns/cpu-s")
			})
		}
	}
}

// columnsOf decodes every page.
func columnsOf(data []byte) error {
	f, err := Open(data, "b")
	if err != nil {
		return err
	}
	r, err := f.newReader()
	if err != nil {
		return err
	}
	for _, c := range r.cur {
		for g := range f.NumGroups() {
			c.enter(g)
			for c.left > 0 {
				if err := c.next(); err != nil {
					return err
				}
				c.at = c.n
			}
		}
	}
	return nil
}

// BenchmarkWrite writes the same history.
func BenchmarkWrite(b *testing.B) {
	h, err := datasets.Generate(b.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: 100_000, Ops: 8,
		Times: datasets.TxnTimes})
	must.OK(b, err)
	cpu := room.CPU()
	for b.Loop() {
		must.OK(b, Write(io.Discard, h))
	}
	b.ReportMetric(float64(h.NumTxns())*float64(b.N)/(room.CPU()-cpu).Seconds(), "txns/cpu-s")
}
