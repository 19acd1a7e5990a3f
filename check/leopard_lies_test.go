package check

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/level"
)

// mistold is a history with its times changed for the worse: coarse clocks, sessions that overlap themselves, missing
// times of operations and commits. Its clocks are off by no more than skew more.
func mistold(h *history.History, seed uint64) (told *history.History, skew int64) {
	r := rand.New(rand.NewPCG(seed, 0x1e0))
	g := *h
	g.Txns.Start, g.Txns.Commit, g.Txns.End = slices.Clone(h.Txns.Start), slices.Clone(h.Txns.Commit),
		slices.Clone(h.Txns.End)
	g.Ops.Start, g.Ops.End = slices.Clone(h.Ops.Start), slices.Clone(h.Ops.End)
	coarse := func(by int64, cols ...[]int64) {
		for _, c := range cols {
			for i := range c {
				if c[i] != history.NoTime {
					c[i] -= ((c[i] % by) + by) % by
				}
			}
		}
	}
	switch r.IntN(5) {
	case 0: // equal timestamps, intervals that touch or have no length
		by := int64(1) << r.IntN(20)
		skew = by
		coarse(by, g.Txns.Start, g.Txns.Commit, g.Txns.End, g.Ops.Start, g.Ops.End)
	case 1: // longer than they were: sessions overlap themselves
		for i := range g.Txns.End {
			if g.Txns.End[i] != history.NoTime && r.IntN(3) == 0 {
				g.Txns.End[i] += r.Int64N(400_000)
			}
			if g.Txns.Start[i] != history.NoTime && r.IntN(3) == 0 {
				g.Txns.Start[i] -= r.Int64N(400_000)
			}
		}
	case 2: // some operations without times
		for i := range g.Ops.Start {
			switch r.IntN(8) {
			case 0:
				g.Ops.Start[i] = history.NoTime
			case 1:
				g.Ops.End[i] = history.NoTime
			}
		}
	case 3:
		g.Ops.Start, g.Ops.End = nil, nil
	case 4:
		g.Txns.Commit = nil
	}
	return &g, skew
}

// TestLeopardNeverCriesWolf: correct runs of the store, however they are told: no violation under the store's own
// profile. What widens intervals, or hides times, takes information away and makes none.
func TestLeopardNeverCriesWolf(t *testing.T) {
	runs := 0
	// No history is cut down here: with an operation less, a run is no longer a correct one.
	names := []string{"blindw", "smallbank", "ycsb", "list-append", "blindw-pred", "rmw", "mix", "booking", "tpcc",
		"claim", "contended", "longfork", "mini", "rubis", "ctwitter"}
	randtest.Seeds(t, histtest.Long[uint64](20, 4000), func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0xc1))
		isos := datasets.Isolations()
		spec := datasets.Spec{Workload: names[seed%uint64(len(names))], Txns: 80 + r.IntN(250), Sessions: 2 +
			r.IntN(24), Isolation: isos[r.IntN(len(isos))], Seed: seed,
			AbortRate: .1 * float64(r.IntN(3)), UnknownRate: .04 * float64(r.IntN(3)), Skew: int64(r.IntN(3)) * 60_000,
			Times: datasets.Times(r.IntN(2)), LongTxn: r.IntN(5) == 0, FenceEvery: r.IntN(3) * 4}
		h, err := datasets.Generate(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation)
		if err != nil {
			t.Fatal(err)
		}
		worse, more := mistold(h, seed)
		for i, g := range []*history.History{h, worse} {
			skew := spec.Skew + int64(i)*more
			rep, err := mechanism.Verify(context.Background(), g, mechanism.Options{Profile: *p, Skew: skew})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if rep.Total() > 0 {
				t.Fatalf("seed %d, %+v: false alarm: %s", seed, spec, mechanism.Describe(g, rep, skew)[0])
			}
			runs++
		}
	})
	t.Log(runs, "runs")
}

// TestLeopardNeverLies: under whatever profile, on tiny histories of every kind and on broken runs of the store, told
// badly too: where leopard says violation, so does replay at that level (or the checker of the weak levels), and where
// it says valid, too.
func TestLeopardNeverLies(t *testing.T) {
	levels := append(slices.Clip(run.OrderLevels), level.ReadCommitted)
	profiles := mechanism.Profiles()
	verdicts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](400, 40000), func(seed uint64) (h *history.History) {
		r := rand.New(rand.NewPCG(seed, 0x11e))
		switch seed % 4 {
		case 0, 1:
			o := every(seed / 4)
			o.Predicates, o.Lists, o.NoTimes = r.IntN(4) == 0, r.IntN(5) == 0, false
			o.Txns, o.Keys, o.Sessions = 3+r.IntN(5), 1+r.IntN(3), 1+r.IntN(4)
			if o.Lists {
				o.Predicates, o.Duplicates, o.Deletes = false, false, false
			}
			h = random.Tiny(seed, o)
		case 2:
			h = random.Medium(seed, random.Options{Txns: 40, Aborted: r.IntN(2) == 0, Unknown: r.IntN(3) == 0})
		default:
			spec := datasets.Spec{Workload: []string{"mix", "blindw", "smallbank", "rmw", "booking"}[r.IntN(5)],
				Txns: 60, Keys: 20, Sessions: 6, Seed: seed, AbortRate: .1, UnknownRate: .03}
			isos := datasets.Isolations()
			spec.Isolation = isos[r.IntN(len(isos))]
			if r.IntN(2) == 0 {
				b := datasets.Breaks()
				spec.Break = b[r.IntN(len(b))]
			} else {
				f := datasets.FaultNames()
				spec.Fault = f[r.IntN(len(f))]
			}
			var err error
			if h, err = datasets.Generate(context.Background(), spec); err != nil {
				return nil // the workload cannot have the fault
			}
		}
		if r.IntN(2) == 0 {
			h, _ = mistold(h, seed)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		r := rand.New(rand.NewPCG(seed, 0x11f))
		p := profiles[r.IntN(len(profiles))]
		l := levels[r.IntN(len(levels))]
		skew := int64(r.IntN(2)) * 3
		got, err := Run(context.Background(), leopard{}, h, Options{Level: l, Profile: &p,
			MechanismsOnly: r.IntN(2) == 0, ClockSkew: skew})
		if err != nil {
			t.Fatalf("seed %d, %s, %s: %v", seed, l, p.Name(), err)
		}
		verdicts[got.Verdict.String()]++
		if got.Verdict == evidence.Unknown {
			return
		}
		var c Checker = run.Replay{}
		if l == level.ReadCommitted {
			c = weakly{}
		} else if a, ok := Auto(h, l); ok && h.HasLists() {
			c = a
		}
		want, err := Run(context.Background(), c, h, Options{Level: l, ClockSkew: skew})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, l, err)
		}
		if want.Verdict != got.Verdict && want.Verdict != evidence.Unknown {
			t.Fatalf("seed %d, %s under %s: leopard %s, %s %s (%s)", seed, l, p.Name(), got.Verdict, c.Info().Name,
				want.Verdict, want.Reason)
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts["violation"] < 100 || verdicts["valid"] < 50 || verdicts["unknown"] < 50) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}
