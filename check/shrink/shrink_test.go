package shrink

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

var kinds = []random.Options{
	{}, {Txns: 6, Keys: 3, Sessions: 4}, {Duplicates: true, Deletes: true}, {Aborted: true, Unknown: true},
	{Predicates: true}, {Predicates: true, Deletes: true, Aborted: true}, {Lists: true},
	{Lists: true, Duplicates: true, Aborted: true, Unknown: true}, {Predicates: true, Duplicates: true, Unknown: true},
	{NoTimes: true, Txns: 6}, {Duplicates: true, Aborted: true, Unknown: true, Txns: 6},
}

func some(seed uint64) *history.History { return random.Tiny(seed, kinds[seed%uint64(len(kinds))]) }

func judge(t testing.TB, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	c, why := check.Choose(check.AutoName, "", h, l)
	if c == nil {
		return &evidence.Result{Reason: why}
	}
	return must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
}

// TestCutsKeepValid: whatever is taken away of a valid history, with what must go with it, what is left is valid. So a
// violation of a part is one of the whole.
func TestCutsKeepValid(t *testing.T) {
	valid, parts := 0, 0
	levels := level.All()
	histtest.Each(t, histtest.Long[uint64](2_000, 200_000), some, func(t testing.TB, seed uint64, h *history.History) {
		l := levels[seed/uint64(len(kinds))%uint64(len(levels))]
		if judge(t, h, l).Verdict != evidence.Holds {
			return
		}
		valid++
		w := must.Get(newWhole(h, l, 0))(t)
		rng := rand.New(rand.NewPCG(seed, 7))
		for range 4 {
			s := w.all()
			for range 1 + rng.IntN(3) {
				cutSome(w, s, rng)
			}
			w.settle(s)
			if w.size(s).Txns == 0 {
				continue
			}
			p := must.Get(w.build(s, naming{}))(t)
			parts++
			if r := judge(t, p.h, l); r.Verdict == evidence.Violated {
				t.Fatalf("%v: valid, but of its part it says\n%s\n%s", l, r.Anomalies[0].Text, text(t, p.h))
			}
		}
	})
	histtest.Mix(t, valid < 500 || parts < 1000, "only %d histories were valid, with %d parts", valid, parts)
}

// cutSome takes away something by chance, as the search does.
func cutSome(w *whole, s *state, rng *rand.Rand) {
	h := w.h
	switch rng.IntN(4) {
	case 0:
		lo, hi := h.TxnOps(uint32(rng.IntN(h.NumTxns())))
		for op := lo; op < hi; op++ {
			w.take(s, op)
		}
	case 1:
		if n := h.NumOps(); n > 0 {
			w.take(s, uint32(rng.IntN(n)))
		}
	case 2:
		if n := len(h.Lists.Elem); n > 0 {
			w.takeElement(s, h.Lists.Elem[rng.IntN(n)])
		}
	default:
		if n := len(s.matched); n > 0 {
			j := rng.IntN(n)
			if s.matched[j] {
				s.matched[j] = false
			}
		}
	}
}

func text(t testing.TB, h *history.History) string {
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	return b.String()
}

// TestShrinkRandom: what becomes of a random history that violates a level violates it, is the same in each run, can be
// written and read, and no transaction of it can go alone.
func TestShrinkRandom(t *testing.T) {
	levels := level.All()
	shrunk := map[level.Level]int{}
	histtest.Each(t, histtest.Long[uint64](200, 40_000), func(seed uint64) *history.History {
		if seed%3 == 0 {
			easy := []int{0, 1, 3, 6, 9} // parts of the others may take the checker longer than they get
			o := kinds[easy[seed/3%uint64(len(easy))]]
			o.Txns, o.Keys, o.Sessions = 60, 12, 5
			return random.Medium(seed, o)
		}
		return some(seed)
	}, func(t testing.TB, seed uint64, h *history.History) {
		l, o := levels[seed/uint64(len(kinds))%uint64(len(levels))], Options{Names: Names(seed / 5 % 3)}
		if judge(t, h, l).Verdict != evidence.Violated {
			if _, err := History(t.Context(), h, l, Options{}); !isNone(err) {
				t.Fatalf("%v: no violation, but %v", l, err)
			}
			return
		}
		r := must.Get(History(t.Context(), h, l, o))(t)
		shrunk[l]++
		small := text(t, r.H)
		again := must.Get(History(t.Context(), h, l, o))(t)
		must.Same(t, text(t, again.H), small, "the second of two runs")
		g := must.Get(histtest.Read([]byte(small)))(t)
		if v := judge(t, g, l).Verdict; v != evidence.Violated || r.Answer.Verdict != v {
			t.Fatalf("%v: what is left is %v:\n%s", l, v, small)
		}
		minimal(t, g, l)
	})
	for _, l := range levels {
		histtest.Mix(t, shrunk[l] == 0, "no history was shrunk at %v", l)
	}
}

func isNone(err error) bool {
	_, ok := errors.AsType[*NoViolation](err)
	return ok
}

// minimal demands that no transaction can go alone.
func minimal(t testing.TB, h *history.History, l level.Level) {
	t.Helper()
	w := must.Get(newWhole(h, l, 0))(t)
	for x := range uint32(h.NumTxns()) {
		s := w.all()
		lo, hi := h.TxnOps(x)
		for op := lo; op < hi; op++ {
			w.take(s, op)
		}
		w.settle(s)
		p := must.Get(w.build(s, naming{}))(t)
		if judge(t, p.h, l).Verdict == evidence.Violated {
			t.Fatalf("%v: T%d can go of\n%s", l, h.Txns.ID[x], text(t, h))
		}
	}
}

// TestStamped: a violation of database timestamps stays one of timestamps.
func TestStamped(t *testing.T) {
	found := 0
	histtest.Each(t, 300, func(seed uint64) *history.History {
		return random.Stamped(seed, random.StampedOptions{Aborted: seed%2 == 0, Lists: seed%3 == 0,
			Predicates: seed%3 == 1, Duplicates: seed%5 == 0})
	}, func(t testing.TB, _ uint64, h *history.History) {
		c, why := check.Choose("chronos", "", h, level.SnapshotIsolation)
		if c == nil {
			t.Fatal(why)
		}
		o := check.Options{Level: level.SnapshotIsolation}
		whole := must.Get(check.Run(t.Context(), c, h, o))(t)
		r, err := History(t.Context(), h, level.SnapshotIsolation, Options{Checker: "chronos"})
		if whole.Verdict != evidence.Violated {
			if !isNone(err) {
				t.Fatal(err)
			}
			return
		}
		must.OK(t, err)
		found++
		if again, err := check.Run(t.Context(), c, r.H, o); err != nil || again.Verdict != evidence.Violated {
			t.Fatalf("%v, %v", again, err)
		}
		if r.To.Txns > 4 {
			t.Fatalf("%d transactions:\n%s", r.To.Txns, text(t, r.H))
		}
	})
	histtest.Mix(t, found < 50, "%d violations", found)
}

// TestEnds: what was found when the context ended is the result, and it violates the level.
func TestEnds(t *testing.T) {
	var whole *history.History
	for seed := uint64(0); whole == nil; seed++ {
		h := random.Medium(seed, random.Options{Txns: 200, Keys: 30})
		if judge(t, h, level.Serializable).Verdict == evidence.Violated {
			whole = h
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := History(gone, whole, level.Serializable, Options{}); err == nil {
		t.Errorf("ended before it began: %v", r.To)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	r := must.Get(History(ctx, whole, level.Serializable, Options{Smaller: func(*Result) {
		if seen++; seen == 2 {
			cancel()
		}
	}}))(t)
	must.Be(t, r.Ended != nil && seen == 2 && r.To.Txns < r.From.Txns,
		"ended: %v, after %d steps: %v of %v", r.Ended, seen, r.To, r.From)
	must.Equal(t, judge(t, r.H, level.Serializable).Verdict, evidence.Violated, "%s", text(t, r.H))
}

// TestKinds: the anomaly that was asked for stays, where another would have been left without asking; one that the
// whole does not show is reported not to be there.
func TestKinds(t *testing.T) {
	kept, lost := 0, 0
	shows := func(r *evidence.Result, k level.Anomaly) bool {
		return slices.ContainsFunc(r.Anomalies, func(a evidence.Anomaly) bool { return a.Kind == k })
	}
	histtest.Each(t, histtest.Long[uint64](137, 20_000), some, func(t testing.TB, _ uint64, h *history.History) {
		first := judge(t, h, level.Serializable)
		if first.Verdict != evidence.Violated {
			return
		}
		_, err := History(t.Context(), h, level.Serializable, Options{First: first, Kinds: []level.Anomaly{"no such"}})
		if _, ok := errors.AsType[*NoViolation](err); !ok {
			t.Fatalf("a kind that is not there: %v", err)
		}
		other := must.Get(History(t.Context(), h, level.Serializable, Options{First: first}))(t)
		for _, a := range first.Anomalies {
			r := must.Get(History(t.Context(), h, level.Serializable, Options{First: first,
				Kinds: []level.Anomaly{a.Kind}}))(t)
			if !shows(r.Answer, a.Kind) || !shows(judge(t, r.H, level.Serializable), a.Kind) {
				t.Fatalf("%s went:\n%s", a.Kind, text(t, r.H))
			}
			kept++
			if !shows(other.Answer, a.Kind) {
				lost++
			}
		}
	})
	histtest.Mix(t, kept < 100 || lost == 0, "%d kinds were kept, %d of them would have gone", kept, lost)
}

// TestPredicateWriters: where what a predicate saw was written by another's predicate write, that stays as a plain
// write, and a few steps come down to few transactions.
func TestPredicateWriters(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw-pred",
		Isolation: "read-uncommitted", Txns: 100, Seed: 5}))(t)
	r := must.Get(History(t.Context(), h, level.SnapshotIsolation, Options{}))(t)
	if r.To.Txns > 4 || r.Tried > 150 {
		t.Errorf("%v after %d histories:\n%s", r.To, r.Tried, text(t, r.H))
	}
	for x := range uint32(r.H.NumTxns()) {
		if lo, hi := r.H.TxnOps(x); hi == lo {
			t.Errorf("T%d does nothing:\n%s", r.H.Txns.ID[x], text(t, r.H))
		}
	}
}
