package timestamp

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

var stamped = []struct {
	name string
	o    random.StampedOptions
}{
	{"unique", random.StampedOptions{}},
	{"ties", random.StampedOptions{Ties: true}},
	{"serial", random.StampedOptions{Serial: true, Ties: true}},
	{"all registers", random.StampedOptions{Ties: true, Duplicates: true, Deletes: true, Aborted: true, Unknown: true}},
	{"lists", random.StampedOptions{Ties: true, Lists: true, Aborted: true, Unknown: true}},
	{"predicates", random.StampedOptions{Predicates: true, Deletes: true, Duplicates: true, Aborted: true}},
	{"everything", random.StampedOptions{Ties: true, Predicates: true, Lists: true, Deletes: true, Aborted: true,
		Unknown: true, Txns: 9, Ops: 6}},
}

func allOptions() []Options {
	var out []Options
	for _, l := range Levels() {
		out = append(out, Options{Level: l})
		if l.Serial() {
			out = append(out, Options{Level: l, ReadOnlyAtStart: true})
		}
	}
	return out
}

// plain drops what the twin does not say: of lists, how they differ.
func plain(h *history.History, vs []Violation) []Violation {
	vs = slices.Clone(vs)
	for i := range vs {
		if v := &vs[i]; v.Op != history.None && h.Ops.Kind[v.Op] == history.ReadList {
			v.Kind = NoKind
		}
	}
	slices.SortFunc(vs, compare)
	return slices.Compact(vs)
}

func describe(h *history.History, vs []Violation) string {
	s := ""
	for _, v := range vs {
		s += fmt.Sprintf("  %v %v txn %d other %d key %d op %d got %d want %d\n", v.Axiom, v.Kind, v.Txn,
			int32(v.Other), int32(v.Key), int32(v.Op), int32(v.Got), int32(v.Want))
	}
	return s
}

// TestChronosIsNaive: the exact violation sets of Definitions 4 to 6, evaluated directly.
func TestChronosIsNaive(t *testing.T) {
	n := histtest.Long[uint64](1200, 2500)
	for _, c := range stamped {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			valid, found := 0, map[Axiom]int{}
			kinds := map[Kind]int{}
			histtest.Each(t, n, func(seed uint64) *history.History { return random.Stamped(seed, c.o) },
				func(t testing.TB, seed uint64, h *history.History) {
					for _, o := range allOptions() {
						r := must.Get(Chronos(t.Context(), h, o))(t)
						want := plain(h, naive(h, o))
						if got := plain(h, r.Violations); !slices.Equal(got, want) {
							t.Fatalf("seed %d, %v: Chronos finds\n%s\nthe definitions\n%s", seed, o, describe(h, got),
								describe(h, want))
						}
						if len(want) == 0 {
							valid++
						}
						for _, v := range r.Violations {
							found[v.Axiom]++
							kinds[v.Kind]++
						}
					}
				})
			t.Logf("%d histories: %d valid, %v, %v", n*uint64(len(allOptions())), valid, found, kinds)
			if valid < int(n)/3 || found[SESSION] == 0 || found[INT] == 0 || found[EXT] == 0 || found[NOCONFLICT] == 0 {
				t.Errorf("the sample is one-sided: %d valid, violations %v", valid, found)
			}
		})
	}
}

// TestChronosAfter: After is called after each so many transactions, and changes nothing.
func TestChronosAfter(t *testing.T) {
	for seed := range uint64(50) {
		h := random.Stamped(seed, random.StampedOptions{Ties: true})
		for _, o := range allOptions() {
			plain := must.Get(Chronos(t.Context(), h, o))(t)
			for every := 1; every <= h.NumTxns()+1; every++ {
				called := 0
				o.Every, o.After = every, func() { called++ }
				r := must.Get(Chronos(t.Context(), h, o))(t)
				moments := len(r.Order)
				if !o.Level.Serial() {
					moments /= 2
				}
				if want := max(moments-1, 0) / every; called < want || called > want+1 {
					t.Fatalf("seed %d, %s, every %d of %d: called %d times", seed, o.Level, every, moments, called)
				}
				must.Hold(t, slices.Equal(r.Violations, plain.Violations),
					"seed %d, %s: other violations", seed, o.Level)
			}
		}
	}
}

// TestChronosBackwards: errata C5. A transaction that commits before it starts is reported, and disturbs no other.
func TestChronosBackwards(t *testing.T) {
	h := stampedHistory(t, [][2]int64{{3, 5}, {6, 7}, {8, 9}}, func(b *history.Builder,
		i int) {
		b.Write(b.Key(history.IntValue(0)), history.IntValue(int64(i+1)))
	})
	h.Txns.StartTS[0], h.Txns.CommitTS[0] = 5, 3
	r := must.Get(Chronos(t.Context(), h, Options{Level: level.SessionSnapshotIsolation}))(t)
	if len(r.Violations) != 1 || r.Violations[0].Axiom != TIMESTAMPS || r.Violations[0].Txn != 0 {
		t.Errorf("violations:\n%s", describe(h, r.Violations))
	}
}

// stampedHistory makes a history of one transaction a session with the given timestamps.
func stampedHistory(t *testing.T, ts [][2]int64, ops func(b *history.Builder, i int)) *history.History {
	t.Helper()
	b := history.NewBuilder()
	for i, x := range ts {
		ops(b, i)
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(i), true
		head.StartTS, head.CommitTS = x[0], x[1]
		b.EndTxn(head)
	}
	return must.Get(b.Build())(t)
}

// TestChronosMalformed: errata C3. Writers that tie, or take no time, are no history of such a database; a missing
// timestamp decides nothing.
func TestChronosMalformed(t *testing.T) {
	write := func(b *history.Builder, i int) { b.Write(b.Key(history.IntValue(int64(i))), history.IntValue(1)) }
	si := Options{Level: level.SnapshotIsolation}
	for _, c := range []struct {
		name string
		ts   [][2]int64
		want string
	}{
		{"tie", [][2]int64{{1, 5}, {2, 5}},
			`field "commit_ts": transactions 0 and 1 both write and commit at 5; expected different timestamps`},
		{"no time", [][2]int64{{5, 5}}, `field "commit_ts": transaction 0 writes, but commits at its start, 5; ` +
			`expected a later commit timestamp`},
		{"no commit", [][2]int64{{5, history.NoTime}}, "transaction 0 has no commit_ts; every committed " +
			"transaction needs its timestamps"},
		{"no start", [][2]int64{{history.NoTime, 4}}, "transaction 0 has no start_ts; every committed " +
			"transaction needs its timestamps"},
	} {
		if _, err := Chronos(t.Context(), stampedHistory(t, c.ts, write), si); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v; expected %s", c.name, err, c.want)
		}
	}
	if _, err := Chronos(t.Context(), stampedHistory(t, [][2]int64{{history.NoTime, 4}}, write),
		Options{}); err != nil {
		t.Errorf("serializability needs no start: %v", err)
	}
	if _, err := Chronos(t.Context(), stampedHistory(t, nil, write), Options{Level: level.ReadCommitted}); err == nil {
		t.Error("read committed is decided")
	}
}

// TestEmmeAgrees: the same verdict as Chronos, and of INT, EXT and SESSION the same violations; conflicts are listed
// between neighbours in the version order only.
func TestEmmeAgrees(t *testing.T) {
	decided, valid := 0, 0
	for _, so := range []random.StampedOptions{{}, {Ties: true, Aborted: true, Unknown: true},
		{Ties: true, Serial: true, Deletes: true}, {Duplicates: true, Keys: 1, Ties: true, Unknown: true},
		{Duplicates: true, Deletes: true, Serial: true, Aborted: true},
		{Predicates: true, Deletes: true, Duplicates: true, Aborted: true, Ties: true}} {
		stamped := func(seed uint64) *history.History { return random.Stamped(seed, so) }
		histtest.Each(t, histtest.Long[uint64](1500, 2500), stamped,
			func(t testing.TB, seed uint64, h *history.History) {
				for _, o := range allOptions() {
					want := must.Get(Chronos(t.Context(), h, o))(t)
					got := must.Get(Emme(t.Context(), h, o))(t)
					decided++
					if len(want.Violations) == 0 {
						valid++
					}
					rest := func(vs []Violation) []Violation {
						return slices.DeleteFunc(slices.Clone(vs),
							func(v Violation) bool { return v.Axiom == NOCONFLICT })
					}
					for _, v := range got.Violations {
						if !slices.Contains(want.Violations, v) && v.Axiom != NOCONFLICT {
							t.Fatalf("seed %d, %v: Emme finds\n%s\nChronos\n%s", seed, o, describe(h, got.Violations),
								describe(h, want.Violations))
						}
					}
					g, w := rest(got.Violations), rest(want.Violations)
					conflicts := len(g) < len(got.Violations)
					if conflicts != (len(w) < len(want.Violations)) || !slices.Equal(g, w) ||
						!slices.Equal(got.Order, want.Order) {
						t.Fatalf("seed %d, %v: Emme finds\n%s\nChronos\n%s", seed, o, describe(h, got.Violations),
							describe(h, want.Violations))
					}
				}
			})
	}
	histtest.Mix(t, decided < 20_000 || valid < 3000, "%d decided, %d valid", decided, valid)
}

// TestEmmeRefuses: what it does not read.
func TestEmmeRefuses(t *testing.T) {
	h := stampedHistory(t, [][2]int64{{1, 2}}, func(b *history.Builder, i int) {
		b.Append(b.Key(history.IntValue(0)), history.IntValue(7))
	})
	_, err := Emme(t.Context(), h, Options{})
	var cannot *Unsupported
	if !errors.As(err, &cannot) || err.Error() != "emme checks registers, and the history has lists" {
		t.Error(err)
	}
}
