package watch

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/internal/test/histtest"
)

// TestLeopardsApart: processes of which each reads the lines in an order of its own find what spans keys, too, with
// histories and certificates that hold, by transactions' ids; of a database that is right they find nothing. Those that
// are late in some processes alone are said, and accuse nobody.
func TestLeopardsApart(t *testing.T) {
	profile, err := mechanism.LookupProfile("postgresql:serializable")
	if err != nil {
		t.Fatal(err)
	}
	cycles, certified, partial := 0, 0, 0
	for seed := range uint64(histtest.Long(6, 300)) {
		rng := rand.New(rand.NewPCG(seed, 43))
		wrong, late := seed%2 == 0, seed%3 == 2
		lines := serial(rng, 250, false)
		if wrong {
			lines = tangled(rng, 250)
		}
		o := LeopardOptions{Profile: profile, Lateness: 9000}
		if late {
			o.Lateness = 1200
		}
		var dirs []string
		for part := range 3 {
			own := append([][]byte{lines[0]}, apartLines(rng, lines[1:], 15)...)
			o.Folder, o.Shard, o.Of = t.TempDir(), part, 3
			j := leopardOf(t, o).(*leopard)
			watchLines(t, o.Folder, j, own, 2*time.Millisecond)
			closeLeopard(t, j)
			dirs = append(dirs, o.Folder)
		}
		into := filepath.Join(t.TempDir(), "merged")
		m, err := MergeInto(dirs, into)
		if err != nil || !late && m.Unspanned != "" {
			t.Fatalf("seed %d: %v %q", seed, err, m.Unspanned)
		}
		if strings.Contains(m.Unspanned, "not judged by all") {
			partial++
		}
		for _, l := range m.lines {
			if l.Kind == mechanism.Cycle {
				cycles++
			}
			if l.Mechanism != "" && !wrong {
				t.Errorf("seed %d: %s", seed, l.text)
			}
		}
		if wrong {
			_, c := proofsOf(t, into, readIncidentsOf(t, into), "", check.Options{})
			certified += c
		}
	}
	said := fmt.Sprintf("%d cycles, %d certified, %d streams with some that are late in some processes alone", cycles,
		certified, partial)
	if cycles < 50 || certified < 1 || partial < 1 {
		t.Error(said)
	}
	t.Log(said)
}

// apartLines moves lines by so many places at most.
func apartLines(rng *rand.Rand, lines [][]byte, most int) [][]byte {
	at, order, out := make([]int, len(lines)), make([]int, len(lines)), make([][]byte, len(lines))
	for i := range lines {
		at[i], order[i] = i+rng.IntN(most), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return at[a] - at[b] })
	for i, n := range order {
		out[i] = lines[n]
	}
	return out
}
