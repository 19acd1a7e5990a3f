package check

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check/run"
	"isovet/datasets"
	family "isovet/datasets/hard"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// someHistory is a small history with some of what histories can have.
func someHistory(seed uint64) *history.History {
	return random.Tiny(seed, random.Options{Aborted: seed%2 == 0, Unknown: seed%3 == 0, Deletes: seed%5 == 0,
		Duplicates: seed%4 == 0, NoTimes: seed%7 == 0, Lists: seed%5 == 1, Predicates: seed%5 == 2})
}

// TestImplied: an answer at one level is certified at each level that it decides, and is the answer there.
func TestImplied(t *testing.T) {
	carried := map[evidence.Verdict]int{}
	histtest.Each(t, uint64(150), func(seed uint64) *history.History { return someHistory(seed) }, func(t testing.TB,
		seed uint64, h *history.History) {
		if h.NumKeys() == 0 {
			return
		}
		direct := map[level.Level]*evidence.Result{}
		for _, l := range level.All() {
			if c, ok := Auto(h, l); ok {
				r := answer(t, c, h, Options{Level: l})
				direct[l] = r
			}
		}
		for from, r := range direct {
			for to, want := range direct {
				if from == to {
					continue
				}
				s := implied(t.Context(), r, to, Options{})
				if s == nil {
					continue
				}
				carried[s.Verdict]++
				must.Hold(t, s.Level == to && s.Implied && s.ImpliedBy == from,
					"seed %d: from %s to %s the answer is of %s, by %s", seed, from, to, s.Level, s.ImpliedBy)
				if want.Verdict != evidence.Unknown && s.Verdict != want.Verdict {
					t.Errorf("seed %d: %s is %s by %s, %s by itself", seed, to, s.Verdict, from, want.Verdict)
				}
				must.OK(t, certify.Check(s, certify.Options{}), "seed %d: from %s to %s", seed, from, to)
			}
			if r.Verdict == evidence.Holds && r.Level == level.SessionSerializable && !h.HasLists() &&
				!h.HasPredicates() {
				for _, to := range []level.Level{level.Serializable, level.SnapshotIsolation,
					level.SessionSnapshotIsolation, level.Causal, level.ReadAtomic, level.ReadCommitted} {
					must.Be(t, implied(t.Context(), r, to, Options{}) != nil,
						"seed %d: an order for session-serializable is none for %s", seed, to)
				}
			}
		}
	})
	histtest.Mix(t, carried[evidence.Holds] < 100 || carried[evidence.Violated] < 100,
		"carried over: %v; the histories are too much alike to show anything", carried)
}

// TestDecide: whoever answers first, the verdict is that of the level by itself.
func TestDecide(t *testing.T) {
	defer func(was func(*history.History) time.Duration) { run.Patience = was }(run.Patience)
	run.Patience = func(*history.History) time.Duration { return 0 }
	histtest.Each(t, uint64(40), func(seed uint64) *history.History { return someHistory(seed) }, func(t testing.TB,
		seed uint64, h *history.History) {
		if h.NumKeys() == 0 {
			return
		}
		for _, l := range level.All() {
			c, ok := Auto(h, l)
			if !ok {
				continue
			}
			want := answer(t, c, h, Options{Level: l})
			got := must.Get(Decide(t.Context(), c, h, Options{Level: l}))(t)
			if want.Verdict != evidence.Unknown && got.Verdict != want.Verdict || got.Level != l {
				t.Errorf("seed %d, %s: %s by others' help, %s alone", seed, l, got.Verdict, want.Verdict)
			}
		}
	})
}

// TestDecideHard: a lock that nobody timed but strict serializability knows is hard where real time does not count.
func TestDecideHard(t *testing.T) {
	defer func(was func(*history.History) time.Duration) { run.Patience = was }(run.Patience)
	run.Patience = func(*history.History) time.Duration { return 0 }
	h := strictLock(t, 300)
	c, _ := Auto(h, level.Serializable)
	r, err := Decide(t.Context(), c, h, Options{Level: level.Serializable})
	must.Hold(t, err == nil && r.Verdict == evidence.Holds, "%v (%s), %v", r.Verdict, r.Reason, err)
	must.Be(t, !r.Implied || r.ImpliedBy.Implies(level.Serializable), "implied by %s", r.ImpliedBy)
}

// TestDecideAtOnce: where the checker of a level gives up, a level that implies it may decide, as with --level all.
func TestDecideAtOnce(t *testing.T) {
	runtime.GC() // other levels are tried only while there is room for them
	h := notation.MustParse("s1: a(x,1) a(y,2) | s2: a(x,1) | s3: r(x,[1,1]) r(y,[2])")
	for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal} {
		c, _ := Auto(h, l)
		r := must.Get(Decide(t.Context(), c, h, Options{Level: l}))(t)
		must.Be(t, r.Verdict == evidence.Holds && r.Implied, "%s: %s (%s)", l, r.Verdict, r.Reason)
	}
}

// strictLock is a lock that is taken and released by turns, one transaction after the other in time.
func strictLock(t *testing.T, n int64) *history.History {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	lock := b.Key(history.IntValue(1))
	for i := range n {
		b.Read(lock, history.IntValue(i%2))
		b.Write(lock, history.IntValue(1-i%2))
		b.EndTxn(history.TxnHead{ID: i, Session: i, Start: 2 * i, End: 2*i + 1, Commit: history.NoTime,
			StartTS: history.NoTime, CommitTS: history.NoTime})
	}
	return must.Get(b.Build())(t)
}

// TestManyWriters: where each read has many possible writers the search for an order ends by itself, and the answer
// says why.
func TestManyWriters(t *testing.T) {
	in := must.Get(family.Lookup("duplicates"))(t)
	sizes := map[level.Level]int{level.SessionSnapshotIsolation: histtest.Long(300, 2000)}
	if histtest.Long(0, 1) == 1 {
		sizes[level.ReadCommitted], sizes[level.Causal] = 1000, 250
	}
	for l, txns := range sizes {
		h := must.Get(in.Build(t.Context(), txns, 1))(t)
		c, _ := Auto(h, l)
		r, err := Decide(t.Context(), c, h, Options{Level: l})
		if err != nil || r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, "writes could have installed") {
			t.Errorf("%s: %v, %v: %s", l, err, r.Verdict, r.Reason)
		}
	}
}

// TestSessionsCut: where one session went back in time, the others still tell the order: it is found by replay, and
// quickly, though nothing else would tell it.
func TestSessionsCut(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "contended",
		Txns: histtest.Long(1500, 3000), Seed: 1, Fault: "session-guarantee", Times: datasets.NoTimes}))(t)
	for l, want := range map[level.Level]evidence.Verdict{
		level.SessionSerializable: evidence.Violated, level.SessionSnapshotIsolation: evidence.Violated,
		level.Serializable: evidence.Holds, level.SnapshotIsolation: evidence.Holds,
	} {
		r := answer(t, run.Replay{}, h, Options{Level: l})
		if r.Verdict != want || r.DecidedBy != "" || r.Stats.Conflicts > 10000 {
			t.Errorf("%s: %s (%s) by %q after %d conflicts; want %s by replay", l, r.Verdict, r.Reason, r.DecidedBy,
				r.Stats.Conflicts, want)
		}
	}
}
