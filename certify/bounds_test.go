package certify_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"isovet/certify"
	"isovet/internal/test/histtest/randtest"
)

// TestBoundsOfOne: with each bound at one, and with all of them, a certificate is judged as ever, or given up.
func TestBoundsOfOne(t *testing.T) {
	judged, gaveUp := 0, 0
	randtest.Seeds(t, 600, func(t testing.TB, seed uint64) {
		f := forgery{seed: seed, rng: rand.New(rand.NewPCG(seed, 0xb0)), s: randomScene(seed), count: map[string]int{}}
		if n := f.s.h.NumTxns(); n == 0 || n > maxOracle+1 {
			return
		}
		genuine := f.genuine()
		for i := range 6 * len(genuine) {
			r := genuine[i%len(genuine)]
			if i >= len(genuine) {
				r = f.changed(r, genuine)
			}
			o := certify.Options{ClockSkew: f.s.skew}
			want := certify.Check(r, o)
			for _, b := range [][3]int{{1, 16, 1 << 20}, {1 << 11, 1, 1 << 20}, {1 << 11, 16, 1}, {1, 1, 1}} {
				undo := certify.SetBounds(b[0], b[1], b[2])
				got := certify.Check(r, o)
				undo()
				var cannot *certify.Unsupported
				switch {
				case errors.Is(got, certify.ErrGaveUp), errors.As(got, &cannot) && !errors.As(want, &cannot):
					gaveUp++
				case (got == nil) != (want == nil):
					t.Fatalf("seed %d, bounds %v: %v; with the usual ones %v\n%s", seed, b, got, want, f.about())
				default:
					judged++
				}
			}
		}
	})
	undo := certify.SetBounds(1, 1, 1)
	if unsat, err := certify.Unsatisfiable(pigeons(5), certify.Options{}); unsat || !errors.Is(err, certify.ErrGaveUp) {
		t.Errorf("pigeons: %v, %v", unsat, err)
	}
	undo()
	t.Logf("%d judged, %d given up", judged, gaveUp)
	if randtest.Whole() && (judged < 1000 || gaveUp == 0) {
		t.Errorf("%d judged, %d given up", judged, gaveUp)
	}
}
