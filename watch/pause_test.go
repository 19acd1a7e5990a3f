package watch

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/internal/test/histtest"
)

// BenchmarkPause says how long a checkpoint stops the judge, ISOVET_LONG=1 with a million keys in memory, and that what
// it wrote is read back.
func BenchmarkPause(t *testing.B) {
	keys := int64(histtest.Long(20_000, 1_000_000))
	p, err := mechanism.LookupProfile("postgresql:repeatable-read")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aion", "leopard"} {
		t.Run(name, func(t *testing.B) {
			begin := func() (j Judge) {
				if name == "aion" {
					j, err = NewAion(AionOptions{Options: si, Lateness: 1000, Gate: GateOptions{Once: true}})
				} else {
					j, err = NewLeopard(LeopardOptions{Profile: p, Lateness: int64(time.Millisecond),
						Gate: GateOptions{Once: true}})
				}
				if err != nil {
					t.Fatal(err)
				}
				j.Begin(nil)
				return j
			}
			judge := begin()
			r, w := io.Pipe()
			go func() { w.CloseWithError(newKeys(w, keys, func(int64) {})) }()
			src := Pipe(r, -1)
			for n := int64(0); ; {
				lines, err := src.Next(t.Context(), batchLines)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				var texts [][]byte
				for _, l := range lines {
					texts = append(texts, l.Text)
				}
				if err := judge.Take(NewBatch(n, texts), func(_ int64, err error) { t.Error(err) }); err != nil {
					t.Fatal(err)
				}
				n += int64(len(lines))
			}
			dir := filepath.Join(t.TempDir())
			begun, cpu := time.Now(), processSeconds()
			err := judge.Checkpoint(dir)
			took, busy := time.Since(begun), processSeconds()-cpu
			var s, back Snapshot
			judge.Stats(&s)
			again := begin()
			if err == nil {
				err = again.Restore(dir)
			}
			again.Stats(&back)
			if err != nil || s.Keys < int(keys) || back.Keys != s.Keys {
				t.Fatalf("%v: %d keys, %d of them read back; expected %d", err, s.Keys, back.Keys, keys)
			}
			t.Logf("%d keys: %v, %.0f ms of processor, %d MB", s.Keys, took, busy*1e3, onDisk(dir)>>20)
		})
	}
}
