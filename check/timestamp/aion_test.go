package timestamp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestAionIsChronos: the final verdicts are those of Chronos, whatever the order of arrival and wherever the watermark
// advances.
func TestAionIsChronos(t *testing.T) {
	for _, c := range stamped {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			flips, wrong := int64(0), 0
			histtest.Each(t, histtest.Long[uint64](1250, 2500), func(seed uint64) *history.History {
				return random.Stamped(seed, c.o)
			},
				func(t testing.TB, seed uint64, h *history.History) {
					rng := rand.New(rand.NewPCG(seed, 0xa10))
					for _, o := range allOptions() {
						want := must.Get(Chronos(t.Context(), h, o))(t)
						order := make([]uint32, h.NumTxns())
						for i, p := range rng.Perm(len(order)) {
							order[i] = uint32(p)
						}
						often := rng.IntN(3)
						some := func(int) bool { return rng.IntN(3) <= often }
						got := must.Get(aionOver(t.Context(), h, o, order, some))(t)
						if !slices.Equal(got.Violations, want.Violations) {
							t.Fatalf("seed %d, %v, arrival %v: Aion finds\n%s\nChronos\n%s", seed, o, order,
								describe(h, got.Violations), describe(h, want.Violations))
						}
						must.Hold(t, slices.Equal(got.Order, want.Order), "seed %d, %v: orders differ", seed, o)
						flips += got.Online.Flips
						wrong += len(got.Violations)
						must.Hold(t, got.Online.Late <= 0, "seed %d: late", seed)
					}
				})
			must.Be(t, flips >= 100 && wrong >= 1000, "%d flips, %d violations: too few to say anything", flips, wrong)
		})
	}
}

// TestAionLong: histories long enough for versions and readers to be dropped.
func TestAionLong(t *testing.T) {
	for seed := range histtest.Long[uint64](2, 6) {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "gt", Txns: 3000, Sessions: 20,
			Keys: 30, Isolation: []string{"snapshot-isolation", "read-committed"}[seed%2], DBTimes: true,
			Times: datasets.NoTimes, NoAborted: true, Seed: seed}))(t)
		for _, o := range allOptions() {
			want := must.Get(Chronos(t.Context(), h, o))(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			got := must.Get(aionOver(t.Context(), h, o, displaced(h, 50, rng), func(int) bool { return true }))(t)
			if !slices.Equal(got.Violations, want.Violations) {
				t.Fatalf("seed %d, %v: %d violations, Chronos has %d", seed, o, len(got.Violations),
					len(want.Violations))
			}
			must.Be(t, got.Online.MaxWindow <= 1500, "seed %d: the window grew to %d", seed, got.Online.MaxWindow)
		}
	}
}

// displaced is an order of arrival: by commit, each displaced by a normal distribution.
func displaced(h *history.History, sigma float64, rng *rand.Rand) []uint32 {
	type at struct {
		t   uint32
		pos float64
	}
	var by []at
	for t := range uint32(h.NumTxns()) {
		by = append(by, at{t, 0})
	}
	slices.SortStableFunc(by, func(a, b at) int { return int(h.CommitTS(a.t) - h.CommitTS(b.t)) })
	for i := range by {
		by[i].pos = float64(i) + sigma*rng.NormFloat64()
	}
	slices.SortStableFunc(by, func(a, b at) int {
		if a.pos < b.pos {
			return -1
		}
		return 1
	})
	out := make([]uint32, len(by))
	for i := range by {
		out[i] = by[i].t
	}
	return out
}

// TestAionLate: a transaction below the watermark is claimed to be late, is installed, and is not judged.
func TestAionLate(t *testing.T) {
	a := must.Get(NewAion(Options{Level: level.SessionSnapshotIsolation}))(t)
	add := func(id, start, commit int64, ops ...ArrivalOp) {
		a.Add(&Arrival{ID: id, Session: NoSession, Start: start, Commit: commit, Ops: ops})
	}
	r, w := history.Read, history.Write
	add(1, 1, 2, ArrivalOp{1, 0, w})
	add(2, 10, 11, ArrivalOp{1, 0, r})
	a.Advance(12)
	if got := a.Take(); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	add(3, 3, 4, ArrivalOp{2, 0, w}, ArrivalOp{7, 1, r}) // it shows that 2 was wrong
	add(4, 13, 14, ArrivalOp{2, 0, r})
	a.Close()
	got := slices.Clone(a.Take())
	must.Be(t, len(got) == 1 && got[0].Axiom == LATE && got[0].Txn == 3 && a.Stats().Late == 1, "%+v", got)
}

// TestAionErrata: C10 (one flag a read), C11, C16 (a pair once), C17 (the base version stays).
func TestAionErrata(t *testing.T) {
	r, w := history.Read, history.Write
	type txn struct {
		id, start, commit int64
		ops               []ArrivalOp
	}
	for _, c := range []struct {
		name string
		txns []txn
		gc   int64 // after the first
		want []Axiom
	}{
		{"C10", []txn{{1, 4, 5, []ArrivalOp{{0, 1, r}, {1, 0, r}}}, {0, 2, 3, []ArrivalOp{{1, 0, w}, {1, 1, w}}}}, 0,
			[]Axiom{EXT}},
		{"C16", []txn{{1, 1, 6, []ArrivalOp{{1, 0, w}}}, {2, 4, 5, []ArrivalOp{{2, 0, w}}},
			{3, 2, 3, []ArrivalOp{{3, 1, w}}}}, 0, []Axiom{NOCONFLICT}},
		{"C17", []txn{{1, 1, 2, []ArrivalOp{{1, 0, w}}}, {2, 4, 5, []ArrivalOp{{1, 0, r}}}}, 3, nil},
	} {
		a := must.Get(NewAion(Options{Level: level.SnapshotIsolation}))(t)
		for i, x := range c.txns {
			a.Add(&Arrival{ID: x.id, Session: NoSession, Start: x.start, Commit: x.commit, Ops: x.ops})
			if i == 0 && c.gc > 0 {
				a.Advance(c.gc)
			}
		}
		a.Close()
		got := slice.Map(a.Take(), func(f Final) Axiom { return f.Axiom })
		must.Be(t, slices.Equal(got, c.want), "%s: %v; expected %v", c.name, got, c.want)
	}
}
