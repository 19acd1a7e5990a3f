package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/datasets/store"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

func profileOf(t *testing.T, name string) *mechanism.Profile {
	t.Helper()
	return must.Get(mechanism.LookupProfile(name))(t)
}

func leopardOn(t *testing.T, h *history.History, o Options) *evidence.Result {
	t.Helper()
	return answer(t, leopard{}, h, o)
}

// TestLeopardAgreesWithReplay: where leopard comes to a verdict it is replay's, on correct runs and with faults
// planted; Run certifies each. With the mechanisms alone it never says that a level holds.
func TestLeopardAgreesWithReplay(t *testing.T) {
	decided := 0
	for _, iso := range []string{"serializable", "serializable-snapshot", "snapshot-isolation", "read-committed"} {
		for i, fault := range []string{"", "lost-update", "write-skew", "read-skew", "long-fork", "aborted-read"} {
			if _, err := datasets.LookupFault(fault); fault != "" && err != nil {
				continue
			}
			h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "mix", Txns: 120,
				Isolation: iso, Seed: uint64(i), Fault: fault}))(t)
			for _, l := range []level.Level{level.Serializable, level.StrictSerializable,
				level.StrictSnapshotIsolation} {
				want := answer(t, run.Replay{}, h, Options{Level: l})
				got := leopardOn(t, h, Options{Level: l})
				must.Hold(t, got.Mechanisms != nil, "%s %s at %s: no section on the mechanisms", iso, fault, l)
				n := got.Mechanisms.Total()
				if got.Verdict != want.Verdict && !(got.Verdict == evidence.Unknown && n > 0) {
					t.Errorf("%s %s at %s: leopard %s (%d under the profile), replay %s", iso, fault, l, got.Verdict, n,
						want.Verdict)
				}
				if got.Verdict != evidence.Unknown {
					decided++
				}
				only := leopardOn(t, h, Options{Level: l, MechanismsOnly: true})
				if only.Verdict == evidence.Holds || only.Verdict == evidence.Violated &&
					want.Verdict != evidence.Violated {
					t.Errorf("%s %s at %s: leopard alone says %s, replay %s", iso, fault, l, only.Verdict, want.Verdict)
				}
			}
		}
	}
	must.Be(t, decided >= 40, "only %d verdicts", decided)
}

// TestLeopardThreeClasses: what the history proves, what fails under the profile alone, and nothing found, are three
// answers.
func TestLeopardThreeClasses(t *testing.T) {
	for _, c := range []struct {
		name, history, profile string
		only                   bool
		want                   evidence.Verdict
		mechanism, kind        string
		proved                 bool
	}{
		{"both hold the lock, and a serial order explains it", "init=0: s1: w(x,1,2,3) @[1,20,21] | s2: w(x,2,4,5) " +
			"@[1,22,23]", "store:serializable", false, evidence.Unknown, "mutual-exclusion", "two-holders", false},
		{"a snapshot of two moments: the first missed what had been overwritten", "init=0: s1: w(x,1,2,3) " +
			"w(y,1,4,5) @[1,6,7] | s2: r(x,0,10,11) r(y,1,12,13) @[9,14,15]", "store:snapshot", false,
			evidence.Violated, "consistent-read", "overwritten", true},
		{"a lost update", "init=0: s1: r(x,0,2,3) w(x,1,10,11) @[1,12,13] | s2: r(x,0,4,5) w(x,2,20,21) @[1,22,23]",
			"store:snapshot", false, evidence.Violated, "first-updater-wins", "lost-update", true},
		{"half of what a transaction wrote, whose commit overlaps", "init=0: s1: w(x,1,2,3) w(y,1,4,5) @[1,6,20] | " +
			"s2: r(x,1,8,9) r(y,0,10,11) @[7,12,13]", "store:snapshot", false, evidence.Violated, "consistent-read",
			"fractured", true},
		{"a lost update that only a read shows, though an order explains it", "init=0: s1: w(x,1,2,3) w(y,1,4,5) " +
			"@[1,6,20] | s2: r(y,0,8,9) w(x,2,10,11) @[7,30,31]", "store:snapshot", false, evidence.Unknown,
			"first-updater-wins", "lost-update", false},
		{"the same without first updater wins", "init=0: s1: w(x,1,2,3) w(y,1,4,5) @[1,6,20] | s2: r(y,0,8,9) " +
			"w(x,2,10,11) @[7,30,31]", "store:repeatable-read", true, evidence.Unknown, "", "", false},
		{"write skew under a certifier", "init=0: s1: r(x,0,2,3) w(y,1,10,11) @[1,12,13] | s2: r(y,0,4,5) " +
			"w(x,2,14,15) @[1,16,17]", "store:serializable-snapshot", false, evidence.Violated,
			"serialization-certifier", "cycle", true},
		{"nothing", "init=0: s1: w(x,1,2,3) @[1,6,7] | s2: r(x,1,10,11) @[9,14,15]", "store:snapshot", false,
			evidence.Holds, "", "", false},
		{"nothing, and no order is looked for", "init=0: s1: w(x,1,2,3) @[1,6,7] | s2: r(x,1,10,11) @[9,14,15]",
			"store:snapshot", true, evidence.Unknown, "", "", false},
	} {
		h := must.Get(notation.Parse(c.history))(t)
		r := leopardOn(t, h, Options{Level: level.SessionSerializable, Profile: profileOf(t, c.profile),
			MechanismsOnly: c.only})
		must.Equal(t, r.Verdict, c.want, "%s (%s)", c.name, r.Reason)
		if c.mechanism == "" {
			must.Equal(t, r.Mechanisms.Total(), 0, "%s: violations of mechanisms", c.name)
			if c.only && !strings.Contains(r.Reason, "Leopard found no violation") {
				t.Errorf("%s: reason %q", c.name, r.Reason)
			}
			continue
		}
		found, proved := false, false
		for _, v := range r.Mechanisms.Violations {
			found = found || v.Mechanism == c.mechanism && v.Kind == c.kind
			proved = proved || v.Proved
			must.Be(t, v.Assumes != "" && v.Text != "", "%s: a violation without words: %+v", c.name, v)
		}
		if !found || proved != c.proved {
			t.Errorf("%s: %+v, expected %s %s, proved %v", c.name, r.Mechanisms.Violations, c.mechanism, c.kind,
				c.proved)
		}
	}
}

// TestLeopardOnLists: whoever decides lists settles the level.
func TestLeopardOnLists(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "list-append", Txns: 200,
		Isolation: "snapshot-isolation"}))(t)
	for _, l := range []level.Level{level.SessionSnapshotIsolation, level.SessionSerializable} {
		c, ok := Auto(h, l)
		must.Hold(t, ok, "nobody decides lists at %s", l)
		want := answer(t, c, h, Options{Level: l})
		got := leopardOn(t, h, Options{Level: l})
		if got.Verdict != want.Verdict || got.Mechanisms == nil || got.Mechanisms.Total() != 0 {
			t.Errorf("%s: leopard %s (%s), %s %s", l, got.Verdict, got.Reason, c.Info().Name, want.Verdict)
		}
	}
}

// TestLeopardRefuses: without a profile, without times, at a level that it does not know.
func TestLeopardRefuses(t *testing.T) {
	h := must.Get(notation.Parse("init=0: s1: w(x,1) | s2: r(x,1)"))(t)
	for want, o := range map[string]Options{
		"needs a profile":    {},
		"needs client times": {Profile: profileOf(t, "store:snapshot")},
		"does not decide":    {Level: level.Linearizable},
	} {
		if r := leopardOn(t, h, o); r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, want) {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	}
}

// brokenRun is a run of the store in which one part failed once, and who found it.
type brokenRun struct{ planted, leopard, named, replay int }

// named says which mechanisms may be blamed for a broken part: the part's own, and what it leads to.
var blamed = map[string][]mechanism.Mechanism{
	"version":       {mechanism.ConsistentRead},
	"lock":          {mechanism.MutualExclusion},
	"first-updater": {mechanism.FirstUpdaterWins},
	"certifier":     {mechanism.SerializationCertifier},
	"own-write":     {mechanism.ConsistentRead},
}

// TestLeopardFindsBrokenParts plants one failure of each mechanism at each level that has it, and compares what the
// mechanisms find with what replay finds at the level: leopard must find each kind at each level, by the right
// mechanism.
func TestLeopardFindsBrokenParts(t *testing.T) {
	seeds := histtest.Long[uint64](10, 100)
	var table strings.Builder
	for _, iso := range datasets.Isolations() {
		level := must.Get(store.ParseIsolation(iso))(t)
		for _, part := range datasets.Breaks() {
			b := must.Get(store.ParseBreak(part))(t)
			if !level.Has(b) {
				continue
			}
			var n brokenRun
			randtest.Seeds(t, uint64(seeds), func(t testing.TB, seed uint64) {
				planted := must.Get(datasets.Run(t.Context(), datasets.Spec{Workload: "mix", Txns: 400,
					Keys: 60, Isolation: iso, Seed: seed, Break: part}))(t)
				if len(planted.Planted) == 0 {
					return // it never came to that
				}
				n.planted++
				h := planted.History
				p := must.Get(mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation))(t)
				rep := must.Get(mechanism.Verify(t.Context(), h, mechanism.Options{Profile: *p}))(t)
				if rep.Total() > 0 {
					n.leopard++
				}
				found := false
				for _, v := range rep.Violations {
					for _, m := range blamed[part] {
						found = found || v.Mechanism == m
					}
				}
				if found {
					n.named++
				}
				r := answer(t, run.Replay{}, h, Options{Level: p.Level})
				if r.Verdict == evidence.Violated {
					n.replay++
				}
			})
			fmt.Fprintf(&table, "%-22s %-14s planted %3d, found by leopard %3d, by the right mechanism %3d, by "+
				"replay %3d\n", iso, part, n.planted, n.leopard, n.named, n.replay)
			if n.planted == 0 || n.named == 0 {
				t.Errorf("%s, %s: planted %d times, found %d times by the right mechanism", iso, part, n.planted,
					n.named)
			}
		}
	}
	t.Logf("\n%s", table.String())
}

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
		h := must.Get(datasets.Generate(t.Context(), spec))(t)
		p := must.Get(mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation))(t)
		worse, more := mistold(h, seed)
		for i, g := range []*history.History{h, worse} {
			skew := spec.Skew + int64(i)*more
			rep := must.Get(mechanism.Verify(t.Context(), g, mechanism.Options{Profile: *p, Skew: skew}))(t)
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
		got := answer(t, leopard{}, h, Options{Level: l, Profile: &p, MechanismsOnly: r.IntN(2) == 0, ClockSkew: skew})
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
		want := answer(t, c, h, Options{Level: l, ClockSkew: skew})
		if want.Verdict != got.Verdict && want.Verdict != evidence.Unknown {
			t.Fatalf("seed %d, %s under %s: leopard %s, %s %s (%s)", seed, l, p.Name(), got.Verdict, c.Info().Name,
				want.Verdict, want.Reason)
		}
	})
	histtest.Mix(t, verdicts["violation"] < 100 || verdicts["valid"] < 50 || verdicts["unknown"] < 50,
		"the mix is lopsided: %v", verdicts)
}
