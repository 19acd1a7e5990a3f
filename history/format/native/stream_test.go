package native

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// A file that is sliced, and written again slice by slice, is the same history; so is what a file of one slice says.
func TestSlicesAndWriter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.ivh")
	several := 0
	histories(t, randtest.Long[uint64](60, 300), func(t testing.TB, name string, h *history.History) {
		must.OK(t, os.WriteFile(path, written(t, name, h), 0o600))
		f := must.Get(Open(path))(t)
		defer f.Close()
		must.OK(t, f.Verify(t.Context(), 1), "%s", name)
		switch ordered, err := f.Ordered(); {
		case err != nil:
			t.Fatal(err)
		case !ordered:
			return
		}
		n := uint32(f.History().NumTxns())
		s := f.Slicer()
		whole := must.Get(s.Slice(0, n))(t)
		diff.Same(t, h, whole, "%s: one slice", name)
		rnd := rand.New(rand.NewPCG(uint64(n), 7))
		w := NewWriter(dir, h)
		defer w.Close()
		for lo := uint32(0); lo < n; {
			hi := min(n, lo+uint32(1+rnd.IntN(6)))
			b := must.Get(s.Slice(lo, hi))(t)
			must.OK(t, w.Add(b), "%s", name)
			if lo > 0 {
				several++
			}
			lo = hi
		}
		var out bytes.Buffer
		must.OK(t, w.Finish(&out), "%s", name)
		got := must.Get(Read(t.Context(), out.Bytes(), "h", 1))(t)
		diff.Same(t, h, got, "%s: written in slices", name)
	})
	must.Be(t, several != 0, "no history had several slices")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	must.Be(t, err == nil && len(left) == 0, "left behind: %v, %v", left, err)
}
