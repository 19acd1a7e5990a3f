package spill

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"isovet/check/spill/plan"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// clustered are places of bursts: few distinct times, and some far from all others.
func clustered(r *rand.Rand, n int) []plan.Pos {
	at := make([]plan.Pos, n)
	for i := range at {
		at[i] = plan.Pos{T: int64(i * 10 / n), N: uint64(i)}
		switch {
		case r.IntN(3) == 0:
			at[i].T = int64(i)
		case r.IntN(n) < 5:
			at[i].T = 1 << (40 + r.IntN(20))
		}
	}
	return at
}

// Counting by places is the naive twin: by one sample a transaction they are the same, by fewer nearly.
func TestDensity(t *testing.T) {
	for seed := range histtest.Long[uint64](33, 3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 1 + r.IntN(3000)
		at := clustered(r, n)
		d := &density{every: 1 + int(seed%4)*7}
		for _, p := range at {
			d.add(p)
		}
		d.sort()
		slices.SortFunc(at, plan.Pos.Compare)
		before := func(p plan.Pos) int {
			i, _ := slices.BinarySearchFunc(at, p, plan.Pos.Compare)
			return i
		}
		for range 50 {
			i, j := r.IntN(n), r.IntN(n)
			s := plan.Span{From: at[min(i, j)], To: at[max(i, j)]}
			want := before(s.To) - before(s.From)
			got := d.count(s)
			slack := 0.0
			if d.every > 1 { // of those that stand in the order of their places, and of the others
				slack = float64(2*d.every) + 6*math.Sqrt(float64(n*d.every))
			}
			if math.Abs(got-float64(want)) > slack {
				t.Fatalf("seed %d: %d of %d transactions, every %d-th: %.0f in the span", seed, want, n, d.every, got)
			}
			by := r.IntN(100)
			g := d.grow(s, float64(by))
			must.Hold(t, g.From.Less(s.From) && s.To.Less(g.To), "seed %d: %v does not grow: %v", seed, s, g)
			if d.every == 1 {
				by = max(by, 1)
				if lo, hi := before(g.From), before(g.To); lo != max(0, before(s.From)-by) ||
					hi != min(n, before(s.To)+1+by) {
					t.Fatalf("seed %d: by %d: from %d to %d of %d, is from %d to %d", seed, by, before(s.From),
						before(s.To), n, lo, hi)
				}
			}
		}
	}
}

// coarse gives a history's clients a clock that ticks only every so often, and one transaction an end far behind.
func coarse(h *history.History, tick int64) {
	far := h.NumTxns() / 2
	for t := range h.NumTxns() {
		u := uint32(t)
		if u == h.Init || h.End(u) == history.NoTime || h.Start(u) == history.NoTime {
			continue
		}
		h.Txns.Start[t] = h.Start(u) / tick
		h.Txns.End[t] = h.End(u) / tick
		if len(h.Txns.Commit) > 0 {
			h.Txns.Commit[t] = history.NoTime
		}
		if t == far {
			h.Txns.End[t] = 1e15
		}
	}
}

// Windows are as large as they may be, however unevenly the transactions stand in time.
func TestWindowsOfBursts(t *testing.T) {
	n := histtest.Long(1200, 20_000)
	most := n * 3 / 100
	for seed := range histtest.Long[uint64](1, 8) {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: n, Keys: 1000, Seed: seed,
			Isolation: "snapshot-isolation", Times: datasets.TxnTimes}))(t)
		last := int64(0)
		for u := range h.NumTxns() {
			last = max(last, h.End(uint32(u)))
		}
		coarse(h, max(last/50, 1))
		for _, l := range []level.Level{level.SnapshotIsolation, level.StrictSerializable} {
			r := rand.New(rand.NewPCG(seed, 3))
			a := must.Get(Check(t.Context(), cut(h, r), Options{Dir: filepath.Join(t.TempDir(), "spill"),
				Level: l, MaxWindow: most}))(t)
			t.Logf("seed %d, %s: %s, %d open, %+v", seed, l, a.Verdict, len(a.Open), a.Stats)
			must.Be(t, a.Stats.Largest <= most+most/4 && a.Stats.Largest != 0,
				"seed %d, %s: a window of %d transactions, %d may be", seed, l, a.Stats.Largest, most)
			if a.Verdict == evidence.Unknown && len(a.Open) == 0 {
				t.Errorf("seed %d, %s: unknown, and no stretch is named: %s", seed, l, a.Reason)
			}
		}
	}
}
