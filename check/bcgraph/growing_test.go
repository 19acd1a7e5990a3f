package bcgraph_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check/bcgraph"
	"isovet/check/oracle"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/histtest"
	"isovet/internal/histtest/random"
	"isovet/level"
)

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

// arrivals are a history's transactions in an order that keeps sessions, and what keys hold at first.
func arrivals(h *history.History, r *rand.Rand) (txns []bcgraph.Txn, initial func(uint32) uint64) {
	all, initial := bcgraph.Txns(h, 0)
	byID := make(map[uint32]bcgraph.Txn, len(all))
	left := make([][]uint32, h.NumSessions())
	for _, t := range all {
		byID[t.ID] = t
	}
	for s := range left {
		left[s] = h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
	}
	for {
		var open []int
		for s, ts := range left {
			if len(ts) > 0 {
				open = append(open, s)
			}
		}
		if len(open) == 0 {
			return txns, initial
		}
		s := open[r.IntN(len(open))]
		if t, ok := byID[left[s][0]]; ok {
			txns = append(txns, t)
		}
		left[s] = left[s][1:]
	}
}

// inPart tells an answer in the numbers of a part of the history that arrivals is of.
type inPart struct {
	*history.Part
	txn, key, ver map[uint32]uint32
}

func newInPart(p *history.Part) inPart {
	back := func(of []uint32) map[uint32]uint32 {
		m := map[uint32]uint32{history.None: history.None}
		for i, x := range of {
			m[x] = uint32(i)
		}
		return m
	}
	return inPart{p, back(p.Txn), back(p.Key), back(p.Ver)}
}

func (p inPart) cycle(cycle []bcgraph.Edge) (out []evidence.Edge) {
	for _, e := range cycle {
		x := evidence.Edge{From: p.txn[e.From], To: p.txn[e.To], Dep: e.Dep, Key: history.None, Ver: history.None,
			Writer: p.txn[e.Writer]}
		if e.Dep == evidence.WR || e.Dep == evidence.WW || e.Dep == evidence.RW {
			x.Key, x.Ver = p.key[e.Key], p.ver[uint32(e.Val-1)]
		}
		out = append(out, x)
	}
	return out
}

func (p inPart) order(l level.Level, order []uint32) (out []uint32) {
	for _, e := range order {
		if l.Snapshot() {
			out = append(out, p.txn[e>>1]<<1|e&1)
		} else {
			out = append(out, p.txn[e])
		}
	}
	return out
}

// After every transaction each level's answer is that of brute force on what came so far; orders and cycles are
// certified. What brute force decides and the graph does not is counted: orders of versions are guessed.
func TestGrowingAgainstBruteForce(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](1500, 30_000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 5, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
			NoTimes: seed%8 == 1})
	}, func(t testing.TB, seed uint64, h *history.History) {
		r := rand.New(rand.NewPCG(seed, 77))
		txns, initial := arrivals(h, r)
		g := bcgraph.NewGrowing(initial)
		var keep []uint32
		violated := map[level.Level]bool{}
		for i := range txns {
			keep = append(keep, txns[i].ID)
			for _, l := range g.Add(&txns[i]) {
				if violated[l] {
					t.Fatalf("seed %d: %s is violated twice", seed, l)
				}
				violated[l] = true
			}
			part := newInPart(history.Restrict(h, slices.Sorted(slices.Values(keep)), nil))
			for _, l := range six {
				answers(t, seed, g, part, l, violated[l], seen)
			}
		}
	})
	t.Log(seen)
	for _, l := range six {
		few := min(seen[l.String()+" valid"], seen[l.String()+" violation"]) < seen[l.String()+" unknown"]
		if histtest.Whole() && (few || seen["cycles"] < 100 || seen["forcing"] == 0) {
			t.Errorf("%s: the mix is lopsided: %v", l, seen)
		}
	}
}

func answers(t testing.TB, seed uint64, g *bcgraph.Growing, part inPart, l level.Level, violated bool,
	seen map[string]int) {
	got, why := g.Answer(l)
	want, err := oracle.Check(part.H, oracle.Options{Level: l})
	if err != nil {
		t.Fatal(err)
	}
	if violated != (got == evidence.Violated) && !strings.HasSuffix(why, "written before") {
		t.Fatalf("seed %d, %s: told of as violated: %v, asked: %s (%s)", seed, l, violated, got, why)
	}
	seen[l.String()+" "+got.String()]++
	if got == evidence.Unknown {
		if g.Waits() > 0 && want.Verdict != evidence.Violated && why[0] >= '0' && why[0] <= '9' {
			t.Fatalf("seed %d, %s: thin-air reads, and brute force says %s", seed, l, want.Verdict)
		}
		seen["unknown "+why[:12]]++
		return
	}
	if got != want.Verdict {
		v, _ := g.Violation(l)
		t.Fatalf("seed %d, %s: %s %+v, brute force %s", seed, l, got, v, want.Verdict)
	}
	r := &evidence.Result{Level: l, Verdict: got, Checker: "bc", H: part.H}
	if got == evidence.Holds {
		r.Order = part.order(l, g.Order(l))
	} else if v, _ := g.Violation(l); v.Cycle != nil {
		a := evidence.Anomaly{Cycle: part.cycle(v.Cycle)}
		for _, f := range v.Forcing {
			a.Cycles = append(a.Cycles, part.cycle(f))
			seen["forcing"]++
		}
		r.Anomalies = []evidence.Anomaly{a}
		evidence.CompleteAll(r.Anomalies, part.H, l, 0)
		seen["cycles"]++
	} else {
		seen[string(v.Kind)]++
		return
	}
	if g.Waits() > 0 && got == evidence.Violated { // who wrote what an edge is of may not have come
		return
	}
	if err := certify.Check(r, certify.Options{}); err != nil {
		t.Fatalf("seed %d, %s: %v\n%+v", seed, l, err, r)
	}
}
