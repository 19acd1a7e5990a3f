package watch

import (
	"bytes"
	"context"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIncidents: those of a watch have every violation once, each by kind and key; a restart from a checkpoint has the
// same.
func TestIncidents(t *testing.T) {
	_, lines := arrivals(t, 1, 1500)
	for _, cut := range []int{len(lines), 700} {
		dir := t.TempDir()
		var all Incidents
		for _, end := range []int{cut, len(lines)} {
			var m Metrics
			err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 400), Metrics: &m, Incidents: &all,
				Checkpoint: 1 << 60, Open: func(_ context.Context, after Places) (Source, error) {
					return Pipe(bytes.NewReader(join(lines[after.Last()+1:end])), after.Last()), nil
				}})
			must.OK(t, err)
			count, found := map[string]int64{}, int64(0)
			for _, x := range all.List() {
				count[x.Class] += x.Count
				found += x.Count
				if len(x.Lines) != min(int(x.Count), incidentLines) || x.LastN < x.FirstN || x.Keys > x.Count {
					t.Errorf("%+v", x)
				}
			}
			for class, n := range m.Get().Violations {
				must.Equal(t, count[class], n, "%s: violations in incidents, and by the metrics", class)
			}
			if n := int64(len(all.List())); n < 4 || n > found/4 {
				t.Errorf("%d incidents of %d violations", n, found)
			}
		}
	}
}

// TestDistinct counts.
func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 1000, 3000, 20_000, histtest.Long(60_000, 1_000_000)} {
		var d distinct
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		var hashes []uint64
		for range n {
			hashes = append(hashes, rng.Uint64())
		}
		for _, h := range slices.Concat(hashes, hashes[:n/2]) {
			d.add(h)
		}
		got := d.count()
		off := float64(got)/float64(max(n, 1)) - 1
		if n <= 256 && got != int64(n) || n > 256 && (off > 0.12 || off < -0.12) {
			t.Errorf("%d different ones are counted as %d", n, got)
		}
	}
}

// TestKeyOrder: numbers before others, by their value.
func TestKeyOrder(t *testing.T) {
	keys := []string{`-3`, `2`, `10`, `"10"`, `"a"`, `"b"`, `[1]`}
	for i := range keys {
		for j := range keys {
			must.Equal(t, lessKey(keys[i], keys[j]), i < j, "%v, %v", keys[i], keys[j])
		}
	}
}
