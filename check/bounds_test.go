package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// setBound sets a bound for the time of a test.
func setBound[T int | int64](b *T, to T) (restore func()) {
	old := *b
	*b = to
	return func() { *b = old }
}

// lowBounds are this package's bounds, each as low as it can be. None may lead to a fault or a wrong answer.
var lowBounds = map[string]func() (restore func()){
	"":            func() func() { return func() {} },
	"fewPairs":    crowd,
	"maxPairs":    func() func() { a, b := crowd(), setBound(&maxPairs, 1); return func() { a(); b() } },
	"narrowWords": func() func() { a, b := crowd(), setBound(&narrowWords, 1); return func() { a(); b() } },
	"fewLeft":     func() func() { a, b := crowd(), setBound(&fewLeft, 1); return func() { a(); b() } },
	"maxClosure":  func() func() { return setBound(&maxClosure, 1) },
	"maxBased":    func() func() { return setBound(&maxBased, 1) },
	"maxPruned":   func() func() { return setBound(&maxPruned, 1) },
	"noCuts": func() func() {
		a, b := setBound(&firstCuts, 0), setBound(&moreCuts, 0)
		return func() { a(); b() }
	},
	"maxRelaxed": func() func() { return setBound(&maxRelaxed, 1) },
	"fewVersions": func() func() {
		a, b := setBound(&fewVersions, 1), setBound(&manyVersions, 1)
		return func() { a(); b() }
	},
	"maxTrial": func() func() { return setBound(&maxTrial, 1) },
	"maxTried": func() func() { return setBound(&maxTried, 1) },
	"fewChoices": func() func() {
		a, b := setBound(&fewChoices, 1), setBound(&fewWork,
			1)
		return func() { a(); b() }
	},
	"maxCases":      func() func() { return setBound(&maxCases, 1) },
	"caseWork":      func() func() { return setBound(&caseWork, 1) },
	"fewConflicts":  func() func() { return setBound(&fewConflicts, 1) },
	"maxExplained":  func() func() { return setBound(&maxExplained, 1) },
	"maxCandidates": func() func() { return setBound(&maxCandidates, 1) },
	"maxStamped":    func() func() { return setBound(&maxStamped, 1) },
	"maxInduced":    func() func() { return setBound(&maxInduced, 1) },
	"maxFrontiers":  func() func() { return setBound(&maxFrontiers, 1) },
	"maxEager":      func() func() { return setBound(&maxEager, 1) },
	"maxResolved":   func() func() { return setBound(&maxResolved, 1) },
	"resolvedWork":  func() func() { return setBound(&resolvedWork, 1) },
	"maxOpen":       func() func() { return setBound(&maxOpen, 1) },
	"maxPicks":      func() func() { return setBound(&maxPicks, 1) },
	"all": func() func() {
		var undo []func()
		for _, name := range bounds.Names() {
			undo = append(undo, bounds.Set(name, 1))
		}
		return func() {
			for _, f := range undo {
				f()
			}
		}
	},
}

// low sets a bound of this package, or of one that it uses, to 1.
func low(name string) (restore func()) {
	if set := lowBounds[name]; set != nil {
		return set()
	}
	return bounds.Set(name, 1)
}

// crowd has the choices of a pair of writes or more not all be listed.
func crowd() func() {
	a, b := setBound(&fewPairs, 1), setBound(&fewTimed, 1)
	return func() { a(); b() }
}

// TestBoundsAtOne sets each bound to 1 and asks every checker at every level that it has: no fault, and the verdict of
// brute force or none.
func TestBoundsAtOne(t *testing.T) {
	names := append(slices.Sorted(maps.Keys(lowBounds)), bounds.Names()...)
	decided, open := map[string]int{}, map[string]int{}
	histtest.Each(t, histtest.Long[uint64](4, 4000), func(seed uint64) *history.History {
		var h *history.History
		switch seed % 4 {
		case 0, 1:
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 2, Ops: 3, Unknown: seed&8 != 0,
				Duplicates: seed&16 != 0, Deletes: seed&32 != 0})
		case 2:
			h = random.Tiny(seed, random.Options{Txns: 5, Keys: 3, Ops: 3, Predicates: true, NoTimes: seed&8 != 0})
		default:
			h = oracletest.Random(seed, oracletest.Shape{Txns: 6, Keys: 2, Sessions: 3, Ops: 3, Lists: true, Init: true,
				Duplicates: seed&8 != 0})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range level.All() {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				continue // too large, or not of the level's kind
			}
			for _, c := range All() {
				if i := c.Info(); !slices.Contains(i.Levels, l) {
					continue
				}
				for _, name := range names {
					restore := low(name)
					r, err := Run(context.Background(), c, h, Options{Level: l})
					restore()
					what := fmt.Sprintf("seed %d, %s at %s, bound %s", seed, c.Info().Name, l, name)
					if err != nil {
						t.Fatalf("%s: %v\n%s", what, err, notation.Format(h))
					}
					if r.Verdict == evidence.Unknown {
						if r.Reason == "" {
							t.Fatalf("%s: unknown, and no reason\n%s", what, notation.Format(h))
						}
						open[name]++
						continue
					}
					if want.Verdict != evidence.Unknown && !r.Timestamps && r.Verdict != want.Verdict {
						t.Fatalf("%s: %s, brute force %s\n%s", what, r.Verdict, want.Verdict, notation.Format(h))
					}
					decided[name]++
				}
			}
		}
	})
	t.Log("decided:", decided, "open:", open)
	for name, n := range decided {
		if histtest.Whole() && n < 100 {
			t.Errorf("bound %s: %d decided only", name, n)
		}
	}
}
