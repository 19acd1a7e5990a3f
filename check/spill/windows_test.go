package spill

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/check/spill/plan"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	_ "isovet/internal/test/memdir"
	"isovet/internal/test/must"
	"isovet/level"
)

// A window that meets earlier ones takes these in and grows a little, however close together they stand: where a
// database commits in an order that differs a little from that of its clients' ends, all through, they cover half of
// it.
func TestWindowsGrowOnce(t *testing.T) {
	const n = 30_000
	at := func(i int) plan.Pos { return plan.Pos{T: int64(i), N: uint64(i)} }
	e := &engine{density: newDensity(n)}
	for i := range n {
		e.density.add(at(i))
	}
	e.density.sort()
	var first []plan.Span
	for i := 0; i < n; i += 60 {
		first = append(first, plan.Span{From: at(i), To: at(i + 30)})
	}
	must.Same(t, len(e.windows(first)), n/60, "windows that do not meet")
	for round := range 5 {
		ws := e.windows([]plan.Span{{From: at(15_010), To: at(15_012)}})
		must.Same(t, len(ws), 1, "round %d: windows of one stretch", round)
		had, most := e.count(ws[0].span), float64(30+round*120+4*few<<round)
		must.Be(t, had >= 30 && had <= most,
			"round %d: the window has %.0f transactions; expected 30 to %.0f", round, had, most)
	}
}

// Answers that come to clients late, one by up to 25 transactions more than another, leave a history valid, and tell
// the order of its transactions only nearly: reads contradict the order all through, and there is no moment at which no
// transaction is open. Windows join to stretches that are too large to be solved at once.
func TestLateAnswers(t *testing.T) {
	for seed := range histtest.Long[uint64](1, 4) {
		h := lateAnswers(t, seed, 25)
		r := rand.New(rand.NewPCG(seed, 4))
		levels := Levels()
		if !histtest.Long(false, true) {
			levels = levels[2:3] // in real time
		}
		for _, l := range levels {
			a := must.Get(Check(t.Context(), cut(h, r), Options{Dir: filepath.Join(t.TempDir(), "spill"),
				Level: l, MaxWindow: 3000}))(t)
			t.Logf("seed %d, %s: %s %s, %+v", seed, l, a.Verdict, a.Reason, a.Stats)
			must.Be(t, a.Verdict == evidence.Holds && a.Stats.Misfits >= 150,
				"seed %d, %s: %s: %s", seed, l, a.Verdict, a.Reason)
		}
	}
}

// Slices come to an end however small a window may be: nothing is decided wrongly for that.
func TestSmallSlices(t *testing.T) {
	h := lateAnswers(t, 2, 100)
	r := rand.New(rand.NewPCG(2, 4))
	for _, window := range histtest.Long([]int{7}, []int{1, 7, 60}) {
		a := must.Get(Check(t.Context(), cut(h, r), Options{Dir: filepath.Join(t.TempDir(), "spill"),
			Level: Levels()[2], MaxWindow: window}))(t)
		must.Be(t, a.Verdict != evidence.Violated,
			"windows of %d: a violation of a history that has none: %s", window, a.Reason)
	}
}

// lateAnswers is a history of 15,000 transactions whose answers come late, by up to so many transactions.
func lateAnswers(t *testing.T, seed uint64, by int64) *history.History {
	t.Helper()
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: 5_000, Keys: 2000, Seed: seed,
		Times: datasets.TxnTimes}))(t)
	last := int64(0)
	for u := range uint32(h.NumTxns()) {
		if h.End(u) != history.NoTime {
			last = max(last, h.End(u))
		}
	}
	r := rand.New(rand.NewPCG(seed, 4))
	by = max(by*last/int64(h.NumTxns()), 1)
	for u := range uint32(h.NumTxns()) {
		if u != h.Init && h.End(u) != history.NoTime {
			h.Txns.End[u] += r.Int64N(by)
		}
	}
	return h
}

// A stretch that was refuted is done with: a read far behind it, which only an order of that stretch could explain,
// must not have it grow, be read and be refuted again until it is too large.
func TestRefutedStretchesStay(t *testing.T) {
	for seed := range histtest.Long[uint64](1, 4) {
		const faults = 12
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: histtest.Long(5000, 12_000), Keys: 1200,
			Seed: seed, Fault: "write-skew,lost-update", Faults: faults, Times: datasets.TxnTimes}))(t)
		r := rand.New(rand.NewPCG(seed, 3))
		a := must.Get(Check(t.Context(), cut(h, r), Options{Dir: filepath.Join(t.TempDir(), "spill"),
			Level: level.Serializable, MaxWindow: 400}))(t)
		if a.Verdict != evidence.Violated || len(a.Found) != faults || len(a.Open) > 0 || a.Stats.Rounds > 4 {
			t.Errorf("seed %d: %s, %d found, %d stretches left open, %d rounds; expected violation, %d found, none "+
				"left open, few rounds", seed, a.Verdict, len(a.Found), len(a.Open), a.Stats.Rounds, faults)
		}
	}
}
