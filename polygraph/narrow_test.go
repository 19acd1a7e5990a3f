package polygraph

import (
	"context"
	"fmt"
	"testing"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver/acyclic"
)

// narrowed runs Narrow to its end; refuted: a cycle or a conflict. The graph is that of its end.
func narrowed(t testing.TB, p *Polygraph) (reach *acyclic.Reach, refuted bool) {
	t.Helper()
	last := -1
	for {
		g := p.FullGraph(nil)
		order, ok := graph.Topological(g)
		if !ok {
			return nil, true
		}
		reach := acyclic.NewReach(g, order, 1<<20, nil)
		edges, left, conflict, err := p.Narrow(context.Background(), reach, 1<<20)
		must.OK(t, err)
		if conflict != nil {
			must.Same(t, len(p.ConflictCycles(conflict)), 2, "cycles of a conflict")
			return nil, true
		}
		if edges == 0 {
			must.Same(t, left, len(p.Choices), "pairs left")
			return reach, false
		}
		must.Hold(t, len(p.Known) != last, "a round says that it added edges, and there are no more")
		last = len(p.Known)
	}
}

// TestNarrowIsPruning: Narrow settles what listing all choices and pruning them settles, finds a conflict where that
// does, and leaves the same choices open, but for pairs of writes that nobody read; with rounds cut short too.
func TestNarrowIsPruning(t *testing.T) {
	n := histtest.Long[uint64](330, 100000)
	old := maxNarrow
	defer func() { maxNarrow = old }()
	refutedRuns, openRuns := 0, 0
	histtest.Each(t, n, func(seed uint64) *history.History {
		o := random.Options{Txns: 5 + int(seed%40), Keys: 3, Sessions: 4, NoTimes: seed&1 != 0}
		h := random.Medium(seed, o)
		if seed%4 < 2 {
			h = random.Tiny(seed, random.Options{Txns: 9, Keys: 2, Sessions: 4, NoTimes: seed&1 != 0})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		maxNarrow = []int{1, old}[seed/4%2]
		for _, l := range []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
			level.SnapshotIsolation} {
			_, missing := MissingTime(h)
			if l.RealTime() && missing {
				continue
			}
			o := Options{RealTime: l.RealTime()}
			what := fmt.Sprintf("seed %d, %s", seed, l)
			p := New(v, l, o)
			if o.RealTime {
				p.Overlapping()
			} else {
				p.AllPairs()
			}
			var full closure.Index
			refuted := false
			for !refuted {
				reach, cycle, err := closure.New(closure.KindWarshall, closure.Input{N: p.N, Start: p.Start, End: p.End,
					Known: p.Graph(false)}, closure.Options{})
				must.OK(t, err)
				if refuted = cycle != nil; refuted {
					break
				}
				settled, conflict := p.PruneRound(reach)
				refuted = conflict != nil
				if full = reach; settled == 0 {
					break
				}
			}
			o.Most = 1
			q := New(v, l, o)
			if !q.Crowded {
				continue
			}
			reach, no := narrowed(t, q)
			if no != refuted {
				t.Fatalf("%s: refuted %v, by pruning all choices %v\n%s", what, no, refuted, notation.Format(h))
			}
			if no {
				refutedRuns++
				continue
			}
			for a := range int32(q.N) {
				for b := range int32(q.N) {
					if x := reach.Reaches(a, b); x != full.Reaches(a, b) {
						t.Fatalf("%s: %d reaches %d: %v, by pruning all choices %v\n%s", what, a, b, x, !x,
							notation.Format(h))
					}
				}
			}
			open := map[[2]uint32]bool{}
			for _, c := range q.Choices {
				open[[2]uint32{min(c.A, c.B), max(c.A, c.B)}] = true
			}
			for _, c := range p.Choices {
				k := [2]uint32{min(c.A, c.B), max(c.A, c.B)}
				if plain := !q.Split && len(q.Readers(c.A))+len(q.Readers(c.B)) == 0; open[k] == plain {
					t.Fatalf("%s: the choice of writes %v: listed %v, unread %v\n%s", what, k, open[k], plain,
						notation.Format(h))
				}
				delete(open, k)
			}
			if len(open) > 0 {
				t.Fatalf("%s: choices %v that pruning settles\n%s", what, open, notation.Format(h))
			}
			if len(q.Choices) > 0 {
				openRuns++
			}
		}
	})
	t.Log(refutedRuns, openRuns)
	if histtest.Whole() && (refutedRuns < 50 || openRuns < 50) {
		t.Errorf("lopsided: %d refuted, %d with open choices", refutedRuns, openRuns)
	}
}
