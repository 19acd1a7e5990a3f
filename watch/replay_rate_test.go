package watch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/level"
)

// clientStream writes transactions of 8 operations on 10,000 keys, half of them of reads and half of writes, as 24
// clients see them: each commits at a moment of its own, in turn, and learns of that a while later, so that the order
// of the ends is not that of the commits.
func clientStream(w io.Writer, txns int, slow int64) error {
	const clients, apart = 24, 1000
	rng := rand.New(rand.NewPCG(3, 3))
	vals := make([]int64, 10_000)
	free := [clients]int64{} // since when
	b := []byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	for i := range int64(txns) {
		at := (i + clients) * apart
		c := int(i % clients)
		start := max(free[c]+1, at-rng.Int64N(clients*apart/2))
		end := at + 1 + rng.Int64N(slow)
		free[c] = end
		b = fmt.Appendf(b, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[`, i, c, min(start, at), end)
		write := rng.IntN(2) == 0
		for k := range int64(8) {
			key := rng.IntN(len(vals))
			kind := 'r'
			if write {
				kind = 'w'
				vals[key] = i*8 + k + 1
			}
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `["%c",%d,%d]`, kind, key, vals[key])
		}
		b = append(b, "]}\n"...)
		if len(b) > 1<<16 || i == int64(txns)-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// BenchmarkReplayRate says how long the way from a pipe to the verdict takes where the order of the ends is that of the
// commits and where it is not, and what memory it takes; ISOVET_LONG=1 for ten million transactions. Nothing is found
// in what is right.
func BenchmarkReplayRate(t *testing.B) {
	for _, slow := range []int64{1000, 12_000} {
		txns := histtest.Long(20_000, 10_000_000)
		r, w := io.Pipe()
		made := 0.0
		go func() {
			begin := processSeconds()
			if err := clientStream(io.Discard, txns, slow); err != nil {
				t.Error(err)
			}
			made = processSeconds() - begin
			w.CloseWithError(clientStream(w, txns, slow))
		}()
		var m Metrics
		judge, err := NewReplay(ReplayOptions{Level: level.StrictSerializable, Lateness: 50_000_000,
			Attach: AttachAuto})
		if err != nil {
			t.Fatal(err)
		}
		begin := processSeconds()
		most := uint64(0)
		err = Run(t.Context(), Config{Dir: t.TempDir(), Judge: judge, Metrics: &m, Keep: Keep{Bytes: 1 << 20},
			Open: func(_ context.Context, after Places) (Source, error) { return Pipe(r, after.Last()), nil }})
		s := m.Get()
		if err != nil || s.Txns != int64(txns) || s.Late > 0 || len(s.Violations) > 0 || s.Bad > 0 {
			t.Fatalf("%v, %+v", err, s)
		}
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		most = max(most, mem.Sys)
		t.Logf("%d transactions, told of up to %d ns later: %.2f µs of processor each, %d MB, %+v", txns, slow,
			(processSeconds()-begin-2*made)*1e6/float64(txns), most>>20, s.More[:3])
	}
}
