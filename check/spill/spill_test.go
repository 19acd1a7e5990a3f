package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/certify/large"
	"isovet/check"
	"isovet/check/spill/plan"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	forging "isovet/internal/test/histtest/forge"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// cut gives a history as pieces of few transactions.
func cut(h *history.History, r *rand.Rand) *Input {
	in := &Input{Name: "test", Txns: int64(h.NumTxns()), Initial: h.Own(h.Initial)}
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
				if err := f(sliced(h, lo, min(lo+size, hi)), uint64(lo)); err != nil {
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

// sliced is some transactions as a history of their own.
func sliced(h *history.History, lo, hi int) *history.History {
	b := history.NewBuilder()
	b.Initial = h.Own(h.Initial).In(b)
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
		if l := h.LevelName(t); l != "" {
			head.Level = b.Text([]byte(l))
		}
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

// compare checks a history by a checker out of core, in pieces, with few partitions, and in memory: never another
// verdict, and one where the history is no larger than a window.
func compare(t testing.TB, seed uint64, h *history.History, checker string, window int, counts map[string]int) {
	c := must.Get(check.ByName(checker))(t)
	r := rand.New(rand.NewPCG(seed, 11))
	for _, l := range LevelsOf(checker) {
		want := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
		got := must.Get(Check(t.Context(), cut(h, r), Options{Level: l, Parts: 1 + r.IntN(7), Checker: checker,
			Dir: filepath.Join(t.TempDir(), "spill"), MaxWindow: window}))(t)
		counts[fmt.Sprintf("%s, %s", want.Verdict, got.Verdict)]++
		switch {
		case got.Verdict == want.Verdict || want.Verdict == evidence.Unknown:
			counts[decided]++
		case got.Verdict != evidence.Unknown || window == 0: // all of it is less than a window may have
			t.Fatalf("seed %d, %s: out of core %s (%s), in memory %s", seed, l, got.Verdict, got.Reason, want.Verdict)
		default:
			counts[open]++
		}
		if got.Verdict != evidence.Unknown {
			verify(t, seed, h, got, r, counts)
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
		t.Fatalf("seed %d, %s, %s: the certificate fails: %v, %v\n%s", seed, a.Level, a.Verdict, err, got, cert.Bytes())
	}
	counts["certified "+a.Verdict.String()]++
	if a.Verdict != evidence.Holds || a.Stamps.On || a.By != a.Level {
		return
	}
	text := cert.String()
	for _, l := range Levels() { // what it proves at other levels
		other := strings.Replace(text, `"`+a.Level.String()+`"`, `"`+l.String()+`"`, 1)
		got := must.Get(verifyWith(t, other, h, r))(t)
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
	o := large.Options{Dir: filepath.Join(t.TempDir(), "verify"), Memory: 1 << 16}
	return large.Verify(context.Background(), strings.NewReader(cert), s, o)
}

// TestAgainstMemory: what is checked out of core has the verdict that a check in memory has.
func TestAgainstMemory(t *testing.T) {
	odds := func(seed uint64) random.Options {
		return random.Options{Txns: 2 + int(seed%9), Keys: 1 + int(seed/9%4), Duplicates: seed&1 != 0,
			Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0}
	}
	tiny := func(seed uint64) *history.History { return random.Tiny(seed, odds(seed)) }
	medium := func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 40 + int(seed%80), Aborted: seed&4 != 0, Unknown: seed&8 != 0})
	}
	small := []int{0, 0, 4, 8}
	for _, c := range []struct {
		name, checker string
		short, long   uint64
		open          int // so many of a hundred may be left open
		windows       []int
		prepare       func(seed uint64)
		make          func(seed uint64) *history.History
	}{
		{"Tiny", byOrder, 12, 30000, 2, small, nil, tiny},
		// without times, with some missing, and other things that few have
		{"Odd", byOrder, 10, 10000, 2, small, nil, func(seed uint64) *history.History {
			o := odds(seed)
			if o.NoTimes = seed%3 == 0; o.NoTimes {
				return random.Tiny(seed, o)
			}
			return random.Odd(seed, o)
		}},
		// of which windows are a part, and readers far behind what they saw
		{"Medium", byOrder, 3, 2000, 10, []int{0, 0, 20, 60}, func(seed uint64) {
			farWindow = []int{1, 8, 256}[seed%3]
		}, medium},
		// more reads out of order than may be held at once: the order is mended by parts
		{"Parts", byOrder, 2, 1000, 30, []int{0, 60, 90, 0}, func(seed uint64) {
			fewMisfits = []int{3, 6, 12}[seed%3]
		}, medium},
		{"Weak", byWeak, 25, 10000, 20, small, nil, func(seed uint64) *history.History {
			if seed%3 == 0 {
				return tiny(seed)
			}
			return random.Lagging(seed, odds(seed), seed&16 != 0)
		}},
		{"Linear", byKey, 30, 20000, 5, small, nil, func(seed uint64) *history.History {
			o := odds(seed)
			o.Txns, o.Single, o.Mini = 2+int(seed%12), true, seed&16 != 0
			return random.Tiny(seed, o)
		}},
		{"Mini", byMini, 10, 5000, 5, small, nil, func(seed uint64) *history.History {
			o := odds(seed)
			o.Duplicates, o.Deletes, o.Mini = false, false, true
			return random.Tiny(seed, o)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func(was int) { farWindow, fewMisfits = was, 0 }(farWindow)
			counts := map[string]int{}
			histtest.Each(t, histtest.Long(c.short, c.long), c.make, func(t testing.TB, seed uint64,
				h *history.History) {
				if c.prepare != nil {
					c.prepare(seed)
				}
				if inOrder(h) {
					compare(t, seed, h, c.checker, c.windows[seed%4], counts)
				}
			})
			histtest.Mix(t, counts[open]*100 > c.open*counts[decided], "at most %d in 100 may be left open: %v", c.open,
				counts)
		})
	}
}

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
		o := Options{Dir: filepath.Join(t.TempDir(), "spill"), Parts: 1 + r.IntN(3)}
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
	t.Log(counts)
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

// Two checks in one folder would read one another's files. The second one is refused, and leaves those of the first.
func TestOneCheckAFolder(t *testing.T) {
	h := random.Medium(1, random.Options{})
	dir := filepath.Join(t.TempDir(), "spill")
	o := Options{Dir: dir, Level: level.Serializable}
	in := cut(h, rand.New(rand.NewPCG(1, 1)))
	each, inner := in.Pieces[0].Each, error(nil)
	in.Pieces[0].Each = func(ctx context.Context, f func(*history.History, uint64) error) error {
		if inner == nil {
			_, inner = Check(ctx, cut(h, rand.New(rand.NewPCG(1, 1))), o)
		}
		return each(ctx, f)
	}
	if a, err := Check(context.Background(), in, o); err != nil || a.Reason != "" {
		t.Errorf("the first one: %v, %v", a, err)
	}
	must.Be(t, inner != nil && strings.Contains(inner.Error(), "another running check"),
		"the second one: %v; expected a refusal", inner)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is left")
	}
	file := filepath.Join(t.TempDir(), "file")
	must.OK(t, os.WriteFile(file, []byte("mine"), 0o644))
	if _, err := Check(context.Background(), cut(h, rand.New(rand.NewPCG(1, 1))), Options{Dir: file}); err == nil {
		t.Error("a file in place of a folder: no error")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file in place of a folder: %v", err)
	}
}

// TestOwnLevels: what transactions name is another question than the one that is judged out of core, unless that was
// asked for.
func TestOwnLevels(t *testing.T) {
	h := must.Get(jsonl.Read([]byte(`{"session":1,"start":1,"end":2,"level":"rc","ops":[["w","x",1]]}`+
		"\n"+`{"session":2,"start":3,"end":4,"ops":[["r","x",1]]}`), "h.jsonl"))(t)
	for _, c := range []struct {
		level level.Level
		asked bool
		want  evidence.Verdict
	}{{level.Serializable, false, evidence.Unknown}, {level.Serializable, true, evidence.Holds},
		{level.ReadCommitted, false, evidence.Holds}} {
		a, err := Check(t.Context(), cut(h, rand.New(rand.NewPCG(1, 1))),
			Options{Dir: filepath.Join(t.TempDir(), "spill"), Level: c.level, Asked: c.asked})
		must.OK(t, err)
		must.Equal(t, a.Verdict, c.want, "%s, asked for: %v (%s)", c.level, c.asked, a.Reason)
	}
}

// inPlaces is a history of increments, each a transaction, which stand in the file in some order.
func inPlaces(t *testing.T, order []int) *history.History {
	b := history.NewBuilder()
	b.Initial = history.IntValue(-1)
	const keys = 40
	for _, i := range order {
		k := b.Key(history.IntValue(int64(i % keys)))
		before := int64(-1)
		if i >= keys {
			before = int64(i - keys)
		}
		b.Read(k, history.IntValue(before))
		b.Write(k, history.IntValue(int64(i)))
		head := history.NewTxnHead()
		head.Start, head.End = int64(i), int64(i)+3
		b.EndTxn(head)
	}
	return must.Get(b.Build())(t)
}

// Where few partitions turn out to be too few, as the transactions stand in the files in no order of time, there are
// more.
func TestTooFewPartitions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	order := make([]int, 4000)
	for i := range order {
		order[i] = i
	}
	o := Options{Dir: filepath.Join(t.TempDir(), "spill"), Level: level.Serializable, Workers: 2, Memory: 1 << 15}
	for _, ordered := range []bool{true, false} {
		if !ordered {
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		h := inPlaces(t, order)
		in := cut(h, r)
		in.Bytes = int64(h.NumOps()) * 18
		most := must.Get(Check(t.Context(), in, o))(t)
		in.Keys = int64(h.NumKeys())
		a := must.Get(Check(t.Context(), in, o))(t)
		if few := a.Stats.Parts < most.Stats.Parts; few != ordered || a.Verdict != evidence.Holds ||
			most.Verdict != evidence.Holds {
			t.Errorf("in order: %t: %d partitions of %d, %s (%s) and %s (%s); expected fewer only in order, and valid",
				ordered, a.Stats.Parts, most.Stats.Parts, a.Verdict, a.Reason, most.Verdict, most.Reason)
		}
	}
}
