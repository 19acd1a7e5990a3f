package check

import (
	"context"
	"slices"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestLattice: every anomaly of the catalogue at every level, the strongest that hold and the weakest that fail;
// verdicts follow the implications of package level.
func TestLattice(t *testing.T) {
	for _, a := range datasets.Anomalies() {
		l := must.Get(RunLattice(t.Context(), a.History(), Options{}, nil))(t)
		at := map[level.Level]evidence.Verdict{}
		for _, r := range l.Results {
			at[r.Level] = r.Verdict
			if !slices.Contains(datasets.Judged(), r.Level) {
				continue
			}
			want := evidence.Holds
			if slices.Contains(a.Violates, r.Level) {
				want = evidence.Violated
			}
			must.Equal(t, r.Verdict, want, "%s, %s (%s)", a.Name, r.Level, r.Reason)
		}
		must.Equal(t, at[level.RepeatableRead], at[level.Serializable], "%s: without predicates", a.Name)
		for m, v := range at {
			for n, w := range at {
				if m.Implies(n) && v == evidence.Holds && w == evidence.Violated {
					t.Errorf("%s: %s holds and %s, which it implies, does not", a.Name, m, n)
				}
			}
			holding := v == evidence.Holds && !slices.ContainsFunc(level.All(),
				func(s level.Level) bool { return s != m && s.Implies(m) && at[s] == evidence.Holds })
			failing := v == evidence.Violated && !slices.ContainsFunc(level.All(),
				func(s level.Level) bool { return s != m && m.Implies(s) && at[s] == evidence.Violated })
			if holding != slices.Contains(l.Holding, m) || failing != slices.Contains(l.Failing, m) {
				t.Errorf("%s: strongest that hold %v, weakest that fail %v; wrong about %s", a.Name, l.Holding,
					l.Failing, m)
			}
		}
	}
	l := must.Get(RunLattice(t.Context(), mustAnomaly(t, "long-fork"), Options{}, nil))(t)
	if !slices.Equal(l.Holding, []level.Level{level.Causal}) || !slices.Equal(l.Failing,
		[]level.Level{level.SnapshotIsolation, level.RepeatableRead}) {
		t.Errorf("long fork: %v hold, %v fail", l.Holding, l.Failing)
	}
}

func mustAnomaly(t *testing.T, name string) *history.History {
	t.Helper()
	for _, a := range datasets.Anomalies() {
		if a.Name == name {
			return a.History()
		}
	}
	t.Fatalf("the catalogue lacks %s", name)
	return nil
}

// TestLatticeShares: a level that is not decided in time does not take the time of those that are. A lock that is taken
// and released by turns, but for some times, has no order, and since its two values have many writers the serializable
// levels are hard.
func TestLatticeShares(t *testing.T) {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	lock := b.Key(history.IntValue(1))
	for i := range int64(200) {
		from := i % 2
		if i%10 == 9 {
			from = 0
		}
		b.Read(lock, history.IntValue(from))
		b.Write(lock, history.IntValue(1-from))
		head := history.NewTxnHead()
		head.ID, head.Session, head.Start, head.End = i, i, i, i+4
		b.EndTxn(head)
	}
	h := must.Get(b.Build())(t)
	at := map[level.Level]*evidence.Result{}
	for limit := 60 * time.Millisecond; limit < 5*time.Minute; limit *= 4 { // a busy machine has little time
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		l, err := RunLattice(ctx, h, Options{}, nil)
		cancel()
		must.OK(t, err)
		for i, r := range l.Results {
			must.Equal(t, r.Level, level.All()[i], "the level of result %d", i)
			at[r.Level] = r
		}
		if at[level.Linearizable].Verdict != evidence.Unknown {
			break
		}
	}
	if r := at[level.Serializable]; r.Verdict != evidence.Unknown {
		t.Errorf("serializable is decided (%s, %s): the history is too easy to show anything", r.Verdict, r.Reason)
	}
	must.Equal(t, at[level.Linearizable].Verdict, evidence.Violated, "linearizable (%s)", at[level.Linearizable].Reason)
}
