package watch

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/internal/histtest"
)

// newKeys writes transactions each of which has a key of its own, and one in eight of which reads one of before. tell
// is called now and then with how many have been written.
func newKeys(w io.Writer, txns int64, tell func(n int64)) error {
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
			tell(i + 1)
		}
	}
	return nil
}

// onDisk is what the files of a folder take; those that have two names count once.
func onDisk(dir string) (bytes int64) {
	seen := map[string]bool{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() { // files go while we look
			return nil
		}
		if st, err := e.Info(); err == nil && !seen[e.Name()] {
			seen[e.Name()] = filepath.Ext(path) == ".sst"
			bytes += st.Size()
		}
		return nil
	})
	return bytes
}

// TestNewKeys: a key more in each transaction, ISOVET_LONG=1 for 50 million, or as many as ISOVET_TXNS says: what
// judges keep in memory does not grow, and what is right is found to be. What of keys lies on disk grows with them, the
// log does not.
func TestNewKeys(t *testing.T) {
	txns := int64(histtest.Long(60_000, 50_000_000))
	if n, err := strconv.ParseInt(os.Getenv("ISOVET_TXNS"), 10, 64); err == nil {
		txns = n
	}
	bounds := Bounds{Memory: 16 << 20}
	if txns >= 1_000_000 {
		bounds.Memory = 256 << 20
	}
	p, err := mechanism.LookupProfile("postgresql:repeatable-read")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aion", "leopard"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			bounds.Dir = filepath.Join(dir, "keys")
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
			before := memory()
			var m Metrics
			next := txns / 10
			began, cpu := time.Now(), processSeconds()
			tell := func(n int64) {
				if s := m.Get(); n >= next {
					next += txns / 10
					t.Logf("%d transactions, %.0f s, %.0f s of processor, %d MB more in memory, %d keys on disk, "+
						"%d MB on disk, %d MB of them of keys; a checkpoint's pause %v", n, time.Since(began).Seconds(),
						processSeconds()-cpu, (memory()-before)>>20, count(s, "spilled_keys"), onDisk(dir)>>20,
						onDisk(bounds.Dir)>>20, s.CheckpointPause)
				}
			}
			r, w := io.Pipe()
			go func() { w.CloseWithError(newKeys(w, txns, tell)) }()
			err = Run(t.Context(), Config{Dir: dir, Judge: judge, Metrics: &m, Checkpoint: 20 * time.Second,
				Keep: Keep{Bytes: 1 << 30},
				Open: func(_ context.Context, after Places) (Source, error) { return Pipe(r, after.Last()), nil }})
			s := m.Get()
			if err != nil || s.Txns != txns || len(s.Violations) > 0 || s.Bad > 0 || s.Late > 0 {
				t.Fatalf("%v, %+v", err, s)
			}
			grown := int64(memory()) - int64(before)
			if spilled := count(s, "spilled_keys"); spilled < txns/2 {
				t.Errorf("%d keys on disk of %d", spilled, txns)
			}
			if most := bounds.Memory + bounds.Memory/4 + 64<<20; grown > most {
				t.Errorf("%d bytes more in memory; expected at most %d", grown, most)
			}
			t.Logf("%d MB more in memory, %d keys on disk, %.1f s of processor", grown>>20, count(s, "spilled_keys"),
				processSeconds()-cpu)
		})
	}
}
