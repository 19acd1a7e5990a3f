package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"isovet/certify/large"
	"isovet/check/spill"
	"isovet/contrib/beam/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/split"
	"isovet/internal/test/histtest/forge"
	"isovet/internal/test/histtest/random"
)

// source is a set's history in one pass.
func source(set *split.Set) *large.Source {
	return &large.Source{Name: set.Name, Txns: set.Txns, Each: func(ctx context.Context,
		f func(*history.History, int64) error) error {
		return set.Each(ctx, func(b *split.Batch) error { return f(b.H, b.First) })
	}}
}

// certified is a random history, and a certificate of what a check out of core said of it; nil: there is none.
func certified(t *testing.T, seed uint64) (*history.History, *split.Set, []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	o := spill.Options{Level: spill.Levels()[r.IntN(len(spill.Levels()))], Parts: 2,
		Dir: filepath.Join(t.TempDir(), "local")}
	h := random.Tiny(seed, random.Options{Txns: 2 + int(seed%30), Keys: 1 + int(seed/9%4), Aborted: seed&4 != 0,
		Unknown: seed&8 != 0})
	if seed%5 == 4 {
		o.Checker = "chronos"
		h = random.Stamped(seed, random.StampedOptions{Txns: 2 + int(seed%30), Unknown: seed&8 != 0})
	}
	set := parts(t, seed, h)
	in, err := spill.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	a, err := spill.Check(context.Background(), in, o)
	if err != nil || a.Verdict == evidence.Unknown {
		return h, set, nil
	}
	var cert bytes.Buffer
	if err := a.WriteCertificate(&cert, "h"); err != nil {
		return h, set, nil
	}
	return h, set, cert.Bytes()
}

// TestVerify: on Prism certificates prove what they prove in one pass over the history, and forged ones are refused
// with the same words.
func TestVerify(t *testing.T) {
	n, each := uint64(12), 3
	if os.Getenv("ISOVET_LONG") != "" {
		n, each = 1000, 8
	}
	ctx := context.Background()
	r := &run.Runner{Name: "prism", Stderr: os.Stderr}
	defer r.Close()
	counts := map[string]int{}
	var before []byte
	for seed := range n {
		h, set, cert := certified(t, seed)
		if cert == nil {
			continue
		}
		rnd := rand.New(rand.NewPCG(seed, 7))
		for i := range 1 + each {
			what, text := "the certificate", cert
			if i > 0 {
				what, text = forge.Large(rnd, cert, before, h)
			}
			o := large.Options{Dir: filepath.Join(t.TempDir(), "local"), Memory: 1 << 14}
			want, werr := large.Verify(ctx, bytes.NewReader(text), source(set), o)
			e := &Engine{Runner: r, Dir: filepath.Join(t.TempDir(), "beam"), Grouped: i == 1}
			o.Backend = &Verifier{Engine: e, Set: set}
			got, gerr := large.Verify(ctx, bytes.NewReader(text), source(set), o)
			if w, g := fmt.Sprint(want, werr), fmt.Sprint(got, gerr); w != g {
				t.Fatalf("seed %d, %s: on Prism %s; in one pass %s\n%s", seed, what, g, w, text)
			}
			switch {
			case i == 0 && (werr != nil || want.Refuted != nil):
				t.Fatalf("seed %d: the certificate is refused: %v, %v\n%s", seed, want, werr, text)
			case werr != nil:
				counts["cannot be read"]++
			case want.Refuted != nil:
				counts["refuted: "+what]++
			default:
				counts[fmt.Sprint("proves ", want.Verdict)]++
			}
			if err := e.Clean(ctx); err != nil {
				t.Fatal(err)
			}
		}
		before = cert
	}
	t.Log(counts)
	if counts["proves valid"] == 0 || counts["proves violation"] == 0 || counts["refuted: the order moved"] == 0 {
		t.Error("some kind of certificate is missing")
	}
}
