package check_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var levels = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}

// part is the history of some transactions, without the reads that saw what others wrote.
func part(h *history.History, keep []uint32) *history.History {
	wrote := make(map[uint32]bool)
	for _, t := range keep {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Write {
				wrote[h.Ops.Ver[op]] = true
			}
		}
	}
	return history.Restrict(h, keep, func(op uint32) bool {
		v := h.Ops.Ver[op]
		return h.Ops.Kind[op] == history.Write || wrote[v] || h.InitVer[h.VerKey[v]] == v
	}).H
}

// members are an anomaly's transactions in the order of the file, which is each session's order in these histories.
func members(h *history.History, a *evidence.Anomaly) (out []uint32) {
	for _, c := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
		for _, e := range c {
			out = append(out, e.From)
			if e.Writer != history.None && e.Writer != h.Init {
				out = append(out, e.Writer)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func violates(t testing.TB, h *history.History, l level.Level) bool {
	t.Helper()
	r, err := oracle.Check(h, oracle.Options{Level: l, MaxTxns: 14, VerdictOnly: true})
	if err != nil || r.Verdict == evidence.Unknown {
		t.Fatalf("%v, %v\n%s", r, err, notation.Format(h))
	}
	return r.Verdict == evidence.Violated
}

// checkProof checks that an anomaly is a proof, and one from which nothing can be left out.
func checkProof(t testing.TB, h *history.History, l level.Level, a evidence.Anomaly) {
	t.Helper()
	least := a.Cycles
	if a.Complete(h, l, 0); len(a.Cycles) > len(least) { // a divergence shows more than is needed
		a.Cycles, a.Txns = least, nil
		a.Complete(h, l, 0)
	}
	l = l.Needs(a.Kind) // of what needs no real time, or no sessions, nothing can be left out at the level without
	proves := func(a evidence.Anomaly) error {
		a.Kind = a.Named(h, l, 0)
		return certify.Check(&evidence.Result{Verdict: evidence.Violated, Level: l, H: h,
			Anomalies: []evidence.Anomaly{a}}, certify.Options{})
	}
	if err := proves(a); err != nil {
		t.Fatalf("%s: %v\n%+v\n%s", l, err, a, notation.Format(h))
	}
	if cycles := a.Cycles; len(cycles) > 1 {
		for i := range cycles {
			less := a
			less.Cycles = slices.Concat(cycles[:i], cycles[i+1:])
			if proves(less) == nil {
				t.Fatalf("%s: cycle %d is not needed\n%+v\n%s", l, i, a, notation.Format(h))
			}
		}
	}
	keep := members(h, &a)
	if !violates(t, part(h, keep), l) {
		t.Fatalf("%s: the proof's transactions do not violate it\n%+v\n%s", l, a, notation.Format(h))
	}
	for i := range keep {
		if rest := slices.Concat(keep[:i], keep[i+1:]); len(rest) > 0 && violates(t, part(h, rest), l) {
			t.Fatalf("%s: transaction %d is not needed\n%+v\n%s", l, h.Txns.ID[keep[i]], a, notation.Format(h))
		}
	}
}

// TestExplainMinimal: an explanation is a certified proof; without any one of its cycles it is none, and without any
// one of its transactions the rest satisfies the level, by brute force.
func TestExplainMinimal(t *testing.T) {
	proofs, multi := 0, 0
	histtest.Each(t, uint64(3000), func(seed uint64) *history.History {
		o := random.Options{Txns: 8, Keys: 3}
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := random.Options{Txns: 8, Keys: 3}
		if seed%20 == 0 {
			o.Txns = 40
			h = random.Medium(seed, o)
		}
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || v.Ambiguous() {
			return
		}
		var all []uint32
		for x, c := range v.Counts {
			if c {
				all = append(all, uint32(x))
			}
		}
		for _, l := range levels {
			a, err := explain.Violation(context.Background(), v, l, 0, all, explain.Item, nil)
			if errors.Is(err, explain.ErrHolds) {
				if len(all) <= 8 && violates(t, h, l) {
					t.Fatalf("seed %d, %s: said to hold\n%s", seed, l, notation.Format(h))
				}
				continue
			}
			must.OK(t, err, "seed %d", seed)
			proofs++
			if len(a.Cycles) > 0 {
				multi++
			}
			checkProof(t, h, l, a)
		}
	})
	histtest.Mix(t, proofs < 500 || multi < 20, "%d proofs, %d of several cycles only", proofs, multi)
}

// TestExplainCatalogue: the explanations of the catalogue's anomalies.
func TestExplainCatalogue(t *testing.T) {
	for _, a := range datasets.Anomalies() {
		h := a.History()
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || !slices.Contains(a.Violates, level.Serializable) {
			continue
		}
		var all []uint32
		for x := range uint32(h.NumTxns()) {
			all = append(all, x)
		}
		got := must.Get(explain.Violation(t.Context(), v, level.Serializable, 0, all, explain.Item, nil))(t)
		cases := 0
		if a.Name == "no-unit-reasoning" { // four cases, none of them more of an anomaly than the others
			cases = 4
		}
		if len(got.Cycles) != cases && cases == 4 || (len(got.Cycle) == 0) != (cases > 0) {
			t.Errorf("%s: one cycle of %d edges and %d more", a.Name, len(got.Cycle), len(got.Cycles))
		}
		checkProof(t, h, level.Serializable, got)
	}
}

// TestExplainStopped: an explanation that is stopped says so.
func TestExplainStopped(t *testing.T) {
	for _, a := range datasets.Anomalies() {
		if a.Name != "no-unit-reasoning" {
			continue
		}
		v := prepass.Run(a.History())
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := explain.Violation(ctx, v, level.Serializable, 0, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
			explain.Item, nil); err == nil || errors.Is(err, explain.ErrHolds) {
			t.Errorf("%v; want that it was stopped", err)
		}
		return
	}
	t.Fatal("the catalogue lacks the fixture")
}
