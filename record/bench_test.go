package record_test

import (
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"

	"isovet/internal/test/must"
	"isovet/record"
)

// BenchmarkRecord measures transactions of eight operations, begin and commit included, by the operation: what a
// program pays for being recorded. Bound: 300 ns.
func BenchmarkRecord(b *testing.B) {
	const ops = 8
	for name, to := range map[string]func(b *testing.B, o record.Options) *record.Recorder{
		"memory": func(_ *testing.B, o record.Options) *record.Recorder { return record.New(o) },
		"writer": func(_ *testing.B, o record.Options) *record.Recorder { return record.To(io.Discard, o) },
		"file": func(b *testing.B, o record.Options) *record.Recorder {
			r := must.Get(record.Create(filepath.Join(b.TempDir(), "h"), o))(b)
			return r
		},
	} {
		for times, o := range map[string]record.Options{"no": {}, "yes": {OpTimes: true}} {
			b.Run("to="+name+"/optimes="+times, func(b *testing.B) {
				rec := to(b, o)
				var ids atomic.Int64
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					s, n := rec.Session(), ids.Add(1)<<32
					var x *record.Txn
					i := 0
					for ; pb.Next(); i++ {
						if i%ops == 0 {
							x = s.Begin("b")
						}
						n++
						if i%2 == 0 {
							_ = x.Read("key", n)
						} else {
							_ = x.Write(int(n)&1023, n)
						}
						if i%ops == ops-1 {
							_ = x.Commit(ok)
						}
					}
					if i%ops != 0 {
						_ = x.Commit(ok)
					}
				})
				b.StopTimer()
				must.OK(b, rec.Close())
				if got := rec.Stats(); got.Ops != int64(b.N) {
					b.Fatalf("%d operations recorded of %d", got.Ops, b.N)
				}
			})
		}
	}
}
