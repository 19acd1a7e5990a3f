package check

import (
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check/minitxn"
	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// namedRandom makes a random history, of registers or, for some seeds, of lists.
func namedRandom(seed uint64) *history.History {
	switch seed % 7 {
	case 6:
		return weakLists(seed / 7)
	case 0:
		return random.Few(seed)
	case 1:
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Sessions: 3})
	case 2:
		return random.Lagging(seed, random.Options{Txns: 6, Sessions: 3}, seed%4 == 0)
	case 3:
		return tinyMini(seed)
	case 4:
		return oracletest.Random(seed, oracletest.Shape{Txns: 6, Keys: 2, Sessions: 3, Ops: 3, Duplicates: seed%12 == 4,
			Aborted: true, Unknown: seed%24 == 4})
	}
	return tinyList(seed)
}

// tinyMini makes a history of transactions that each read and mostly overwrite one or two keys, on old states now and
// then.
func tinyMini(seed uint64) *history.History {
	return random.Tiny(seed, random.Options{Txns: 5, Keys: 2, Sessions: 3, Ops: 2})
}

// TestNamesByTheLattice: on random histories, the kind that a checker reports at a level is one that the level forbids,
// and every other level that forbids it is violated too, by brute force: so the name says what is wrong, and no more
// than the evidence shows.
func TestNamesByTheLattice(t *testing.T) {
	n := histtest.Long[uint64](165, 60_000)
	kinds := map[level.Anomaly]int{}
	histtest.Each(t, n, func(seed uint64) *history.History { return namedRandom(seed) }, func(t testing.TB, seed uint64,
		h *history.History) {
		verdicts := map[level.Level]evidence.Verdict{}
		verdict := func(l level.Level) evidence.Verdict {
			if v, ok := verdicts[l]; ok {
				return v
			}
			v := evidence.Unknown
			r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err == nil {
				v = r.Verdict
			}
			verdicts[l] = v
			return v
		}
		for _, l := range datasets.Judged() {
			for i, c := range All() {
				in := c.Info()
				if in.Timestamps || in.Name == "porcupine" || !slices.Contains(in.Levels, l) || in.Name == "elle" &&
					!h.HasLists() {
					continue
				}
				if len(in.Solvers) > 0 && (seed+uint64(i))%4 != 0 {
					continue
				}
				got := answer(t, c, h, Options{Level: l})
				for _, a := range got.Anomalies {
					kinds[a.Kind]++
					if !l.Forbids(a.Kind) && !l.ForbidsSome(a.Kind) {
						t.Fatalf("seed %d, %s: %s reports %s, which it allows\n%s\n%s", seed, l, in.Name, a.Kind,
							a.Text, notation.Format(h))
					}
					for _, m := range level.All() {
						if m.Forbids(a.Kind) && verdict(m) == evidence.Holds {
							t.Fatalf("seed %d, %s: %s reports %s, which %s forbids, and that holds\n%s\n%s", seed, l,
								in.Name, a.Kind, m, a.Text, notation.Format(h))
						}
					}
				}
			}
		}
	})
	t.Log(kinds)
	for _, k := range level.Anomalies() {
		if k != level.PredicateMismatch && k != level.G2 && k != level.NonLinearizable && kinds[k] == 0 {
			t.Logf("no %s among them", k)
		}
	}
}

// TestNameIsProved: a proof by cycles under any other name than that of what they show is refused, unless it shows that
// at a level that asks for fewer orders.
func TestNameIsProved(t *testing.T) {
	var kinds []level.Anomaly
	for _, k := range level.Anomalies() {
		kinds = append(kinds, k, k+"-session", k+"-realtime")
	}
	proofs := 0
	histtest.Each(t, histtest.Long[uint64](137, 10_000), namedRandom, func(t testing.TB, seed uint64,
		h *history.History) {
		for _, l := range datasets.Judged() {
			c, ok := Auto(h, l)
			if !ok {
				continue
			}
			got := answer(t, c, h, Options{Level: l})
			for _, a := range got.Anomalies {
				if len(a.Cycle)+len(a.Cycles) == 0 {
					continue
				}
				proofs++
				right := a.Kind
				for _, k := range kinds {
					// An incompatible order is a G0. If a reader of unknown outcome or of a value written twice shows
					// an order, the namer may give the session or time as its reason.
					if k == right || k == level.G0 && right == level.IncompatibleOrder ||
						k == level.IncompatibleOrder && right == level.G0 ||
						k.Base() == right && k == a.Named(h, l, 0) {
						continue
					}
					a.Kind = k
					r := *got
					r.Anomalies = []evidence.Anomaly{a}
					if certify.Check(&r, certify.Options{}) != nil {
						continue
					}
					weaker := func(m level.Level) bool {
						r.Level = m
						return a.Named(r.H, m, 0) == k && certify.Check(&r, certify.Options{}) == nil
					}
					if !slices.ContainsFunc(l.Relaxed(), weaker) {
						t.Fatalf("seed %d, %s: a proof of %s passes for one of %s\n%+v\n%s", seed, l, right, k, a,
							notation.Format(h))
					}
				}
			}
		}
	})
	histtest.Mix(t, proofs < 100, "%d proofs only", proofs)
}

// TestCatalogueNames: the anomalies of errata §5.1 and the others of the catalogue, of registers and told with lists:
// every checker of a level with each of its solvers (in the gate the first), brute force among them, gives the verdict
// of the table, or says that it cannot, and the name. Most are histories of mini-transactions, which mtc decides
// without falling back.
func TestCatalogueNames(t *testing.T) {
	named := map[string]int{}
	lists, mini := 0, 0
	for _, a := range datasets.Anomalies() {
		forms := map[string]*history.History{"registers": a.History()}
		if text, ok := asLists(a.Text); ok {
			lists++
			forms["lists"] = oracletest.Parse(text)
		}
		for form, h := range forms {
			v := prepass.Run(h)
			fits := form == "registers" && (len(v.Anomalies) > 0 || minitxn.Outside(v) == "")
			if fits {
				mini++
			}
			for _, l := range datasets.Judged() {
				want := evidence.Holds
				if slices.Contains(a.Violates, l) {
					want = evidence.Violated
				}
				for _, c := range append(All(), bruteForce{}) {
					in := c.Info()
					// leopard needs to know the database
					if in.Timestamps || in.Name == "leopard" || !slices.Contains(in.Levels, l) || form == "registers" &&
						in.Name == "elle" {
						continue
					}
					if in.Name == "oracle" && h.NumTxns() > 8 {
						continue // it does not list the orders of more
					}
					solvers := []string{""}
					if len(in.Solvers) > 0 && form == "registers" {
						solvers = in.Solvers[:histtest.Long(1, len(in.Solvers))]
					}
					for _, s := range solvers {
						r := answer(t, c, h, Options{Level: l, Solver: s})
						if r.Verdict == evidence.Unknown && in.Partial {
							continue
						}
						if r.Verdict != want || in.Name == "mtc" && fits && strings.Contains(r.Note, "replay") {
							t.Errorf("%s of %s, %s: %s:%s says %s (%s%s); want %s", a.Name, form, l, in.Name, s,
								r.Verdict, r.Reason, r.Note, want)
							continue
						}
						if want == evidence.Violated {
							named[in.Name+" "+form]++
							// which is lost updates and fractured reads too
							if got := r.Anomalies[0].Kind; got != a.Kind && a.Name != "dirty-write" {
								t.Errorf("%s of %s, %s: %s:%s says %s; want %s\n%s", a.Name, form, l, in.Name, s, got,
									a.Kind, r.Anomalies[0].Text)
							}
						}
					}
				}
			}
		}
	}
	if t.Log(named); lists < 18 || mini < 20 {
		t.Errorf("only %d anomalies could be told with lists, %d are of mini-transactions", lists, mini)
	}
}
