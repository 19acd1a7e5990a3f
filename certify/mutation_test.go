package certify_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isovet/certify"
	"isovet/history/format"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestMutants tries to have false certificates accepted: certificates of every kind are taken from the checkers on
// small random histories or made up, and changed as structures, as text, or by changing the history; whatever isovet
// verify accepts then must be true by brute force, and nothing may panic. ISOVET_MUTANTS is how many are tried, -seed
// the first seed, -histories how many seeds at most: each seed is a history, and says the same again.
func TestMutants(t *testing.T) {
	most, err := strconv.ParseUint(os.Getenv("ISOVET_MUTANTS"), 10, 64)
	if err != nil {
		most = 6000
	}
	first, seeds := randtest.Range(math.MaxInt64)
	var next, tried, failed atomic.Uint64
	next.Store(first)
	var mu sync.Mutex
	total := map[string]int{}
	said := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for tried.Load() < most && failed.Load() < 10 {
				seed := next.Add(1) - 1
				if seed-first >= seeds {
					break
				}
				f := forgery{seed: seed, rng: rand.New(rand.NewPCG(seed, 0xdead)), count: map[string]int{}}
				if why := f.run(); why != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s\n%s", seed, why, randtest.Repeat(t, seed))
				}
				tried.Add(uint64(f.tried))
				mu.Lock()
				for k, n := range f.count {
					total[k] += n
				}
				if time.Since(said) > time.Minute {
					said = time.Now()
					fmt.Printf("seeds %d to about %d: %d mutants\n", first, seed, tried.Load())
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(total)) {
		lines = append(lines, fmt.Sprintf("%s %d", k, total[k]))
	}
	t.Logf("seeds %d to %d: %d mutants: %s", first, next.Load()-1, tried.Load(), strings.Join(lines, ", "))
	for _, k := range []string{"accepted valid", "accepted violation", "refused valid", "refused violation"} {
		must.Be(t, !randtest.Whole() || total[k] != 0, "no mutant was %s", k)
	}
}

// Certificates in testdata/forged are false, and were once accepted, or made the certifier panic; their names say why.
// Each is refused.
func TestForged(t *testing.T) {
	certs, err := filepath.Glob("testdata/forged/*.cert")
	if err != nil || len(certs) == 0 {
		t.Fatal(certs, err)
	}
	for _, cert := range certs {
		h, err := format.Read(context.Background(), strings.TrimSuffix(cert, ".cert")+".jsonl", format.Options{})
		must.OK(t, err)
		f := must.Get(os.Open(cert))(t)
		r, err := certify.Verify(f, h, certify.Options{})
		f.Close()
		var cannot *certify.Unsupported
		must.Be(t, r != nil && err != nil && !errors.As(err, &cannot), "%s: %v", cert, err)
	}
}
