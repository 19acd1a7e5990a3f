package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"isovet/certify/large"
	"isovet/check"
	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// cut gives a history as pieces of few transactions.
func cut(h *history.History, r *rand.Rand) *Input {
	in := &Input{Name: "test", Txns: int64(h.NumTxns()), Initial: plan.ValueOf(h, h.Initial)}
	n := h.NumTxns()
	for lo := 0; lo < n || lo == 0; {
		hi := min(n, lo+1+r.IntN(max(n/2, 1)))
		if r.IntN(3) == 0 {
			hi = n
		}
		p := Piece{First: int64(lo), Txns: int64(hi - lo)}
		from := lo
		size := 1 + r.IntN(5)
		p.Each = func(ctx context.Context, f func(*history.History, uint64) error) error {
			for lo := from; lo < hi; lo += size {
				if err := f(slice(h, lo, min(lo+size, hi)), uint64(lo)); err != nil {
					return err
				}
			}
			return nil
		}
		in.Pieces = append(in.Pieces, p)
		lo = hi
		if n == 0 {
			break
		}
	}
	return in
}

// slice is some transactions as a history of their own.
func slice(h *history.History, lo, hi int) *history.History {
	b := history.NewBuilder()
	b.Initial = plan.ValueOf(h, h.Initial).In(b)
	for t := uint32(lo); t < uint32(hi); t++ {
		x := plan.TxnOf(h, t, 0)
		for _, op := range x.Ops {
			k, v := b.Key(op.Key.In(b)), op.Value.In(b)
			if op.Kind == history.Read {
				b.Read(k, v)
			} else {
				b.Write(k, v)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID, head.Status, head.Init = x.ID, true, x.Status, x.Init
		head.Start, head.Commit, head.End = x.Start, x.Commit, x.End
		head.StartTS, head.CommitTS = x.StartTS, x.CommitTS
		head.Session, head.HasSess = x.Session, x.Session != history.NoTime
		b.EndTxn(head)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// inOrder reports whether sessions' transactions stand in the file in their order.
func inOrder(h *history.History) bool {
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i := 1; i < len(in); i++ {
			if in[i] < in[i-1] {
				return false
			}
		}
	}
	return true
}

// What is counted of histories larger than windows may be.
const decided, open = "decided", "open"

// fewOpen demands that not many histories were left open that are decided in memory: those of which windows can only
// have a part.
func fewOpen(t *testing.T, counts map[string]int, percent int) {
	t.Helper()
	for k, n := range counts {
		t.Log(k, n)
	}
	if histtest.Whole() && counts[open]*100 > percent*counts[decided] {
		t.Errorf("%d are left open, %d decided; at most %d in 100 expected", counts[open], counts[decided], percent)
	}
}

// compare checks a history out of core, in pieces, with few partitions, and as a whole.
func compare(t testing.TB, seed uint64, h *history.History, window int, counts map[string]int) {
	c, _ := check.ByName("replay")
	r := rand.New(rand.NewPCG(seed, 11))
	for _, l := range Levels() {
		want, err := check.Run(context.Background(), c, h, check.Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.(interface{ TempDir() string }).TempDir(), "spill")
		got, err := Check(context.Background(), cut(h, r), Options{Dir: dir, Level: l, Parts: 1 + r.IntN(7),
			MaxWindow: window})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, l, err)
		}
		key := fmt.Sprintf("%s, %s", want.Verdict, got.Verdict)
		counts[key]++
		switch {
		case want.Verdict == evidence.Unknown:
		case got.Verdict != evidence.Unknown:
			counts[decided]++
		case window == 0: // all of it is less than a window may have
			t.Fatalf("seed %d, %s: unknown (%s), in memory %s", seed, l, got.Reason, want.Verdict)
		default:
			counts[open]++
		}
		if got.Verdict != evidence.Unknown {
			verify(t, seed, h, got, r, counts)
		}
		if want.Verdict != got.Verdict && want.Verdict != evidence.Unknown && got.Verdict != evidence.Unknown {
			t.Fatalf("seed %d, %s: out of core %s, in memory %s", seed, l, got.Verdict, want.Verdict)
		}
	}
}

// verify checks an answer's certificate, and that of an order no other level is taken to be proved at which the history
// does not hold.
func verify(t testing.TB, seed uint64, h *history.History, a *Answer, r *rand.Rand, counts map[string]int) {
	var cert bytes.Buffer
	if err := a.WriteCertificate(&cert, "test"); errors.Is(err, ErrNoCertificate) {
		counts["no certificate"]++
		return
	} else if err != nil {
		t.Fatal(err)
	}
	got, err := verifyWith(t, cert.String(), h, r)
	if err != nil || got.Refuted != nil {
		t.Fatalf("seed %d, %s, %s: the certificate fails: %v, %v\n%s", seed, a.Level, a.Verdict, err, got,
			cert.Bytes())
	}
	counts["certified "+a.Verdict.String()]++
	if a.Verdict != evidence.Holds || a.Stamps.On || a.By != a.Level {
		return
	}
	text := cert.String()
	for _, l := range Levels() { // what it proves at other levels
		other := strings.Replace(text, `"`+a.Level.String()+`"`, `"`+l.String()+`"`, 1)
		got, err := verifyWith(t, other, h, r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Refuted != nil {
			counts["refuted at another level"]++
			continue
		}
		c, _ := check.ByName("replay")
		want, err := check.Run(context.Background(), c, h, check.Options{Level: l})
		if err != nil || want.Verdict != evidence.Holds {
			t.Fatalf("seed %d: a certificate of %s proves %s, at which the history is %v\n%s", seed, a.Level, l, want,
				text)
		}
	}
}

// verifyWith verifies a certificate's text against the history in pieces.
func verifyWith(t testing.TB, cert string, h *history.History, r *rand.Rand) (*large.Result, error) {
	in := cut(h, r)
	s := &large.Source{Name: "test", Txns: in.Txns, Each: func(ctx context.Context, f func(*history.History,
		int64) error) error {
		for _, p := range in.Pieces {
			err := p.Each(ctx, func(h *history.History, first uint64) error { return f(h, int64(first)) })
			if err != nil {
				return err
			}
		}
		return nil
	}}
	o := large.Options{Dir: filepath.Join(t.(interface{ TempDir() string }).TempDir(), "verify"), Memory: 1 << 16}
	return large.Verify(context.Background(), strings.NewReader(cert), s, o)
}

func TestTiny(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](12, 30000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 2 + int(seed%9), Keys: 1 + int(seed/9%4), Duplicates: seed&1 != 0,
			Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compare(t, seed, h, []int{0, 0, 4, 8}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 2)
}

// TestOdd has histories without times, with some missing, and other things that few have.
func TestOdd(t *testing.T) {
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](10, 10000), func(seed uint64) *history.History {
		o := random.Options{Txns: 2 + int(seed%9), Keys: 1 + int(seed/9%4), Duplicates: seed&1 != 0,
			Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0, NoTimes: seed%3 == 0}
		if seed%3 == 0 {
			return random.Tiny(seed, o)
		}
		return random.Odd(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		if inOrder(h) {
			compare(t, seed, h, []int{0, 0, 4, 8}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 2)
}

// TestMedium has larger histories, of which windows are a part, and readers far behind what they saw.
func TestMedium(t *testing.T) {
	old := farWindow
	defer func() { farWindow = old }()
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](3, 2000), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 40 + int(seed%80), Aborted: seed&4 != 0, Unknown: seed&8 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if farWindow = []int{1, 8, 256}[seed%3]; inOrder(h) {
			compare(t, seed, h, []int{0, 0, 20, 60}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 10)
}

// TestParts has more reads out of order than may be held at once: the order is mended by parts.
func TestParts(t *testing.T) {
	defer func() { fewMisfits = 0 }()
	counts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](2, 1000), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 40 + int(seed%80), Aborted: seed&4 != 0, Unknown: seed&8 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		if fewMisfits = []int{3, 6, 12}[seed%3]; inOrder(h) {
			compare(t, seed, h, []int{0, 60, 90, 0}[seed%4], counts)
		}
	})
	fewOpen(t, counts, 30)
}
