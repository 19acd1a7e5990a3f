package watch

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/internal/histtest"
)

// newKeys writes transactions each of which has a key of its own, and one in eight of which reads one of before.
func newKeys(w io.Writer, txns int64) error {
	b := []byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	for i := range txns {
		at := 1_750_000_000_000_000_000 + 2000*i
		b = fmt.Appendf(b, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"start":%d,"commit":%d,"end":%d,`, i, i%50,
			2*i+10, 2*i+11, at, at+500, at+1000)
		b = fmt.Appendf(b, `"ops":[["w",%d,%d]`, 1000+i, i+1)
		if i%8 == 7 {
			old := int64(scramble(uint64(i)) % uint64(i))
			b = fmt.Appendf(b, `,["r",%d,%d]`, 1000+old, old+1)
		}
		b = append(b, "]}\n"...)
		if len(b) > 1<<16 || i == txns-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// TestNewKeys: a key more in each transaction, ISOVET_LONG=1 for 50 million: what judges keep does not grow, and what
// is right is found to be.
func TestNewKeys(t *testing.T) {
	txns := int64(histtest.Long(60_000, 50_000_000))
	bounds := Bounds{Memory: 16 << 20}
	if txns > 1_000_000 {
		bounds.Memory = 256 << 20
	}
	p, err := mechanism.LookupProfile("postgresql:repeatable-read")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aion", "leopard"} {
		bounds.Dir = filepath.Join(t.TempDir(), "keys")
		var judge Judge
		if name == "aion" {
			judge, err = NewAion(AionOptions{Options: si, Lateness: 1000, Gate: GateOptions{Once: true},
				Bounds: bounds})
		} else {
			judge, err = NewLeopard(LeopardOptions{Profile: p, Lateness: int64(time.Millisecond),
				Gate: GateOptions{Once: true}, Bounds: bounds})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe()
		go func() { w.CloseWithError(newKeys(w, txns)) }()
		var m Metrics
		before := memory()
		err = Run(t.Context(), Config{Dir: t.TempDir(), Judge: judge, Metrics: &m,
			Open: func(_ context.Context, after Places) (Source, error) { return Pipe(r, after.Last()), nil }})
		s := m.Get()
		if err != nil || s.Txns != txns || len(s.Violations) > 0 || s.Bad > 0 || s.Late > 0 {
			t.Fatalf("%s: %v, %+v", name, err, s)
		}
		grown := int64(memory()) - int64(before)
		if spilled := count(s, "spilled_keys"); spilled < txns/2 {
			t.Errorf("%s: %d keys on disk of %d", name, spilled, txns)
		}
		if most := bounds.Memory + bounds.Memory/4 + 64<<20; grown > most {
			t.Errorf("%s: %d bytes more in memory; expected at most %d", name, grown, most)
		}
		t.Logf("%s: %d MB more in memory, %d keys on disk", name, grown>>20, count(s, "spilled_keys"))
	}
}
