package check

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check/run"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestWeakAgainstBruteForce holds the checker of the weak levels against the axioms over all sequences; Run certifies
// each answer.
func TestWeakAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](4000, 200000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History {
		switch seed % 3 {
		case 0:
			return random.Lagging(seed, random.Options{Txns: 6}, seed%2 == 0)
		case 1:
			return random.Tiny(seed, random.Options{
				Txns: 6, Keys: 3, Aborted: seed%4 == 0, Unknown: seed%5 > 2, NoTimes: seed%8 == 1,
			})
		}
		return random.Few(seed)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range weak.Levels() {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			got := answer(t, weakly{}, h, Options{Level: l})
			agree(t, got, want.Verdict)
			kind := ""
			if got.Verdict == evidence.Violated && len(got.Anomalies[0].Cycle) > 0 {
				kind = " by a cycle"
			}
			verdicts[l.String()+" "+got.Verdict.String()+kind]++
		}
	})
	t.Log(verdicts)
	for _, l := range weak.Levels() {
		for _, v := range []string{" valid", " violation", " violation by a cycle"} {
			histtest.Mix(t, verdicts[l.String()+v] < int(n)/40,
				"the mix is lopsided: %d times %s%s", verdicts[l.String()+v], l, v)
		}
	}
}

// TestWeakAmbiguous holds the weak levels against the axioms where values are written more than once, deleted, or left
// initial, and outcomes are unknown.
func TestWeakAmbiguous(t *testing.T) {
	verdicts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](6_000, 60_000), func(seed uint64) *history.History {
		var h *history.History
		switch seed % 4 {
		case 0:
			h = random.Tiny(seed, random.Options{Txns: 5, Keys: 2, Duplicates: true, Deletes: true,
				Unknown: seed%8 == 0, Aborted: true})
		default:
			h = oracletest.Random(seed, oracletest.Shape{Txns: 6, Keys: 2 + int(seed%2), Sessions: 4, Ops: 4,
				Duplicates: true, Torn: true, Deletes: seed%3 == 0,
				Lists: seed%16 == 1, Init: seed%5 == 0, Aborted: seed%7 == 0, Unknown: seed%5 < 2})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range weak.Levels() {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			got := answer(t, weakly{}, h, Options{Level: l})
			if got.Verdict == evidence.Unknown && (h.HasLists() || want.Verdict == evidence.Violated &&
				l == level.ReadCommitted) {
				verdicts[l.String()+" unknown: "+got.Reason[:20]]++
				continue
			}
			agree(t, got, want.Verdict)
			verdicts[l.String()+" "+got.Verdict.String()]++
			if len(got.Sources) > 0 {
				if verdicts["by choice"]++; seed%16 == 0 {
					chosen(t, got)
				}
			}
			if got.Verdict == evidence.Violated && len(got.Anomalies[0].Cycles) > 0 {
				verdicts["by cases"]++
			}
		}
	})
	histtest.Mix(t, verdicts["by choice"] < 1000 || verdicts["by cases"] < 100, "the mix is lopsided: %v", verdicts)
}

// chosen: the writers of reads survive their certificate, and the order proves nothing without them.
func chosen(t testing.TB, r *evidence.Result) {
	t.Helper()
	var file bytes.Buffer
	must.OK(t, evidence.WriteCertificate(&file, r))
	back := must.Get(evidence.ReadCertificate(&file, r.H))(t)
	if err := certify.Check(back, certify.Options{}); err != nil || !slices.Equal(back.Sources, r.Sources) {
		t.Fatalf("writers %v come back as %v: %v", r.Sources, back.Sources, err)
	}
	for i, s := range back.Sources {
		back.Sources[i].Writer = r.H.TxnOf(s.Op) // nobody reads from itself
		if certify.Check(back, certify.Options{}) == nil {
			t.Fatalf("certified though read %d names its own transaction as writer", s.Op)
		}
		back.Sources[i] = s
	}
}

// TestWeakImplied: where choices of writers are refuted one after the other, what holds at session snapshot isolation
// still gets its verdict, with that level's order.
func TestWeakImplied(t *testing.T) {
	implied := 0
	for seed := uint64(0); seed < 15 && implied < 2; seed++ {
		h := random.Medium(seed, random.Options{Txns: 800, Keys: 80, Sessions: 8, Duplicates: true, Deletes: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		strong, err := Run(ctx, run.Replay{}, h, Options{Level: level.SessionSnapshotIsolation})
		cancel()
		must.OK(t, err)
		if strong.Verdict != evidence.Holds {
			continue
		}
		for _, l := range weak.Levels() {
			r := answer(t, weakly{}, h, Options{Level: l})
			agree(t, r, evidence.Holds)
			if r.Note != "" {
				implied++
			}
		}
	}
	must.Be(t, implied != 0, "no history needed its stronger level")
}

// weakLists makes a tiny history of lists, with registers beside them in most, of one kind or another by the seed.
func weakLists(seed uint64) *history.History {
	switch seed % 8 {
	case 0:
		return tinyList(seed / 8)
	case 1:
		return random.Lagging(seed, random.Options{Txns: 6, Lists: true}, seed%2 == 0)
	}
	if seed%4 == 3 {
		return oracletest.Random(seed, oracletest.Shape{Txns: 8, Keys: 3, Sessions: 8, Ops: 3, Lists: true, Torn: true})
	}
	return oracletest.Random(seed, oracletest.Shape{Txns: 6, Keys: 3, Sessions: 4, Ops: 4, Lists: true, Torn: true,
		Init: seed%3 == 0, Aborted: seed%7 == 0, Unknown: seed%5 == 0})
}

// TestWeakLists holds the weak levels of lists against the axioms over all sequences. What satisfies session snapshot
// isolation satisfies them too.
func TestWeakLists(t *testing.T) {
	verdicts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](6_000, 60_000), func(seed uint64) *history.History {
		return weakLists(seed)
	}, func(t testing.TB, seed uint64, h *history.History) {
		strong := must.Get(oracle.Check(h, oracle.Options{Level: level.SessionSnapshotIsolation, VerdictOnly: true}))(t)
		for _, l := range weak.Levels() {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			if strong.Verdict == evidence.Holds && want.Verdict != evidence.Holds {
				t.Fatalf("seed %d: %s by brute force, %s at session snapshot isolation\n%s", seed, want.Verdict,
					strong.Verdict, notation.Format(h))
			}
			got := answer(t, weakly{}, h, Options{Level: l})
			agree(t, got, want.Verdict)
			verdicts[l.String()+" "+got.Verdict.String()]++
			if h.HasLists() && got.Verdict == evidence.Violated {
				verdicts[string(got.Anomalies[0].Kind.Base())]++
			}
		}
	})
	t.Log(verdicts)
	for _, k := range []level.Anomaly{level.IncompatibleOrder, level.FracturedRead, level.NonMonotonicRead,
		level.SessionGuarantee, level.CausalityViolation,
		level.G1a, level.G1b, level.G1c, level.G0, level.FutureRead, level.NotMyOwnWrite, level.DuplicateElement} {
		histtest.Mix(t, verdicts[string(k)] < 10, "the mix is lopsided: %d times %s", verdicts[string(k)], k)
	}
}

// TestWeakMedium: on histories of hundreds of transactions what holds at a level holds at the weaker ones, every answer
// is certified, and a stronger checker's "valid" is kept.
func TestWeakMedium(t *testing.T) {
	kinds := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](80, 3000), func(seed uint64) *history.History {
		o := random.Options{Txns: 200, Keys: 12, Sessions: 6, Unknown: seed%3 == 0}
		o.Lists = seed%5 == 0
		h := random.Medium(seed, o)
		if seed%2 == 0 && !o.Lists {
			h = random.Lagging(seed, o, seed%4 == 0)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		weaker := evidence.Unknown
		for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal,
			level.SessionSnapshotIsolation} {
			c := Checker(weakly{})
			if l == level.SessionSnapshotIsolation {
				c = run.Replay{}
			}
			r := answer(t, c, h, Options{Level: l})
			if weaker == evidence.Violated && r.Verdict != evidence.Violated {
				t.Fatalf("seed %d: %s is %s, the level below is violated", seed, l, r.Verdict)
			}
			weaker = r.Verdict
			kinds[l.String()+" "+r.Verdict.String()]++
		}
	})
	t.Log(kinds)
}

// TestWeakCorpus: every file of the corpus without predicates gets a verdict at the three levels, certified; a level
// below one that holds holds, and so does of lists one that session snapshot isolation implies.
func TestWeakCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir, rows := corpus(t)
	verdicts := map[string]int{}
	for _, row := range rows {
		h, err := format.Read(t.Context(), filepath.Join(dir, row[0]), format.Options{})
		if err != nil || h.HasPredicates() {
			continue // what cannot be read is TestForeignCorpus's concern
		}
		stronger := evidence.Unknown
		if h.HasLists() {
			strong := answer(t, elle{}, h, Options{Level: level.SessionSnapshotIsolation})
			stronger = strong.Verdict
		}
		for _, l := range []level.Level{level.Causal, level.ReadAtomic, level.ReadCommitted} {
			r, err := Run(t.Context(), weakly{}, h, Options{Level: l})
			switch {
			case err != nil:
				t.Errorf("%s, %s: %v", row[0], l, err)
				continue
			case r.Verdict == evidence.Unknown:
				t.Errorf("%s, %s: %s", row[0], l, r.Reason)
			case stronger == evidence.Holds && r.Verdict != stronger:
				t.Errorf("%s: %s at %s, though a stronger level holds", row[0], r.Verdict, l)
			}
			stronger = r.Verdict
			verdicts[l.String()+" "+r.Verdict.String()]++
			if len(r.Sources) > 0 || len(r.Anomalies) > 0 && len(r.Anomalies[0].Cycles) > 1 {
				verdicts["by choice of writers"]++
			}
			if r.Stats.CheckMS > 300 {
				t.Logf("%s, %s: %s in %.0f ms", row[0], l, r.Verdict, r.Stats.CheckMS)
			}
		}
	}
	t.Log(verdicts)
	must.Be(t, verdicts["causal valid"] >= 10 && verdicts["read-committed violation"] >= 10,
		"too few lists in the corpus")
}

// TestWeakOwnValue: a read of a value that its transaction and others wrote has an order, and its sources are named.
func TestWeakOwnValue(t *testing.T) {
	h := notation.MustParse(`init=0: s2: w(0,2) | s2: r(0,2) w(0,2) r(0,2) | s1: w(0,3)!`)
	for _, l := range []level.Level{level.Causal, level.ReadAtomic, level.ReadCommitted} {
		agree(t, answer(t, weakly{}, h, Options{Level: l}), evidence.Holds)
	}
}
