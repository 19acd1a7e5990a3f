package spill

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"isovet/certify/large"
	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	forging "isovet/internal/test/histtest/forge"
	"isovet/internal/test/histtest/random"
)

// TestForged: of certificates that were changed, in any way, none proves what is not so.
func TestForged(t *testing.T) {
	counts := map[string]int{}
	var before []byte // another history's certificate
	histtest.Each(t, histtest.Long[uint64](16, 20000), func(seed uint64) *history.History {
		if seed%4 == 3 {
			return random.Stamped(seed, random.StampedOptions{Txns: 2 + int(seed%12), Ties: seed&16 != 0,
				Deletes: seed&32 != 0, Aborted: seed&64 != 0, Unknown: seed&128 != 0, Serial: seed%3 == 0})
		}
		return random.Tiny(seed, random.Options{Txns: 2 + int(seed%20), Keys: 1 + int(seed/9%4),
			Duplicates: seed&16 != 0, Deletes: seed&32 != 0, Aborted: seed&64 != 0, Unknown: seed&128 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if !inOrder(h) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 17))
		o := Options{Dir: filepath.Join(t.(interface{ TempDir() string }).TempDir(), "spill"), Parts: 1 + r.IntN(3)}
		o.Level = Levels()[r.IntN(len(Levels()))]
		if seed%4 == 3 {
			o.Level, o.Checker = timestamp.Levels()[r.IntN(len(timestamp.Levels()))], "chronos"
		}
		a, err := Check(context.Background(), cut(h, r), o)
		if err != nil || a.Verdict == evidence.Unknown {
			return
		}
		var cert bytes.Buffer
		if err := a.WriteCertificate(&cert, "test"); err != nil {
			return
		}
		for range 10 {
			what, text := forging.Large(r, cert.Bytes(), before, h)
			got, err := verifyWith(t, string(text), h, r)
			switch {
			case err != nil:
				counts[what+": cannot be read"]++
				continue
			case got.Refuted != nil:
				counts[what+": refuted"]++
				continue
			}
			counts[what+": proves"]++
			if why := truth(h, got, text); why != "" {
				t.Fatalf("seed %d, %s: %s\n%s", seed, what, why, text)
			}
		}
		before = cert.Bytes()
	})
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Log(k, counts[k])
	}
}

// truth is what a proved verdict contradicts; "": nothing.
func truth(h *history.History, got *large.Result, cert []byte) string {
	name := "replay"
	if got.Timestamps {
		name = "chronos"
	}
	c, _ := check.ByName(name)
	l := got.Level
	if !slices.Contains(c.Info().Levels, l) {
		return ""
	}
	want, err := check.Run(context.Background(), c, h, check.Options{Level: l,
		ReadOnlyAtStart: bytes.Contains(cert, []byte(`"read_only_at"`))})
	if err != nil || want.Verdict == evidence.Unknown || want.Verdict == got.Verdict {
		return ""
	}
	return fmt.Sprintf("it proves %s at %s, which is %s", got.Verdict, evidence.Label(l, got.Timestamps), want.Verdict)
}
