package watch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"isovet/internal/histtest"
)

// serialStream writes transactions of 15 operations on 1,000 keys, one after the other by the database's timestamps, as
// the papers' default workload has them, in the order of their commits.
func serialStream(w io.Writer, txns int) error {
	rng := rand.New(rand.NewPCG(2, 2))
	vals := make([]int64, 1000)
	b := []byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	for i := range int64(txns) {
		b = fmt.Appendf(b, `{"id":%d,"session":%d,"seq":%d,"start_ts":%d,"commit_ts":%d,"ops":[`, i, i%50, i/50, 2*i+1,
			2*i+2)
		for k := range int64(15) {
			key := rng.IntN(len(vals))
			kind := 'r'
			if k%2 == 1 {
				kind = 'w'
				vals[key] = i*15 + k + 1
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

// TestRate says how long the way from a pipe to the verdict takes, ISOVET_LONG=1 for a million transactions, and that
// nothing is found in what is right.
func TestRate(t *testing.T) {
	txns := histtest.Long(20_000, 1_000_000)
	r, w := io.Pipe()
	made := 0.0
	go func() {
		begin := processSeconds()
		if err := serialStream(io.Discard, txns); err != nil {
			t.Error(err)
		}
		made = processSeconds() - begin
		w.CloseWithError(serialStream(w, txns))
	}()
	var m Metrics
	begin := processSeconds()
	err := Run(t.Context(), Config{Dir: t.TempDir(), Judge: aionOf(si, 10_000), Metrics: &m,
		Open: func(_ context.Context, after Places) (Source, error) { return Pipe(r, after.Last()), nil }})
	s := m.Get()
	if err != nil || s.Txns != int64(txns) || s.Late > 0 || len(s.Violations) > 0 || s.Bad > 0 {
		t.Fatalf("%v, %+v", err, s)
	}
	t.Logf("%d transactions: %.1f µs of processor each", txns, (processSeconds()-begin-2*made)*1e6/float64(txns))
}
