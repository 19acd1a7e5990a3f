package replay

import (
	"context"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver"
)

// TestAgainAgainstReplay: after a few nodes moved, the accesses replayed again fail exactly as in a replay of the whole
// new order, and every other failure of that is one of the old order. Orders are random, so many fail.
func TestAgainAgainstReplay(t *testing.T) {
	less, more := 0, 0
	histtest.Each(t, histtest.Long[uint64](55, 5000), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Aborted: seed&1 != 0, Deletes: seed&2 != 0, NoTimes: true,
			Keys: 2 + int(seed%9)})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if v.Ambiguous() || len(v.Anomalies) > 0 {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
			e := &engine{v: v, h: h, o: Options{Level: l}, si: l.Snapshot()}
			e.number()
			e.rdOff, e.rd = v.Readers(e.txn)
			n := len(e.txn)
			if e.si {
				n *= 2
			}
			nodes := make([]int32, n)
			for x := range nodes {
				nodes[x] = int32(x)
			}
			rng.Shuffle(n, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			ord := order.FromTopological(n, nodes)
			if e.si { // each begins before it commits
				for i := range e.txn {
					ord.AddEdge(int32(2*i), int32(2*i+1), -1)
				}
			}
			before := e.replay(ord.Topological(), nil, nil)
			a := e.newAgain(ord.Topological())
			for range 5 {
				seen := make(map[int32]bool)
				var moved []int32
				mark := ord.Mark()
				for range 1 + rng.IntN(3) {
					ord.AddEdge(int32(rng.IntN(n)), int32(rng.IntN(n)), -1)
					for _, x := range ord.Moved() {
						if !seen[x] {
							seen[x] = true
							moved = append(moved, x)
						}
					}
				}
				ord.Undo(mark)
				whole := e.replay(ord.Topological(), nil, nil)
				part, ok := a.replay(moved, ord.Pos, nil)
				if !ok {
					more++
					before, a = whole, e.newAgain(ord.Topological())
					continue
				}
				less++
				was, is, said := set(before), set(whole), set(part)
				for f := range said {
					must.Hold(t, is[f], "%s: %v fails only where it is replayed in part", l, f)
				}
				for f := range is {
					if !said[f] && !was[f] {
						t.Fatalf("%s: %v fails, and did not before, and nothing of it was replayed", l, f)
					}
				}
				before = whole
			}
		}
	})
	histtest.Mix(t, less < 100 || more == 0, "%d replays in part, %d given up: want many, and some", less, more)
}

func set(failed []failure) map[failure]bool {
	return slice.Set(failed)
}

// TestAgainKeepsVerdicts: rounds that replay what moved give the verdict that whole replays give, and orders that hold.
func TestAgainKeepsVerdicts(t *testing.T) {
	defer func(a, b int) { fewMoved, laterRounds = a, b }(fewMoved, laterRounds)
	again, answers := 0, map[solver.Status]int{}
	histtest.Each(t, histtest.Long[uint64](110, 6000), func(seed uint64) *history.History {
		o := random.Options{Aborted: seed&1 != 0, Deletes: seed&2 != 0, NoTimes: seed&12 != 0}
		if seed%3 != 0 {
			o.Keys, o.Sessions = 30, 20
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, _ uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation} {
			run := func(moved, rounds int) Answer {
				fewMoved, laterRounds = moved, rounds
				a := must.Get(Run(t.Context(), v, Options{Level: l, NoSerial: true, NoSaturation: true}))(t)
				return a
			}
			want, got := run(16, 1<<30), run(1, 1)
			must.Same(t, got.Status, want.Status, "%s", l)
			again += got.Stats.Again
			answers[got.Status]++
		}
	})
	histtest.Mix(t, again < 20 || answers[solver.Sat] == 0 || answers[solver.Unsat] == 0,
		"%d rounds replayed what moved; answers %v", again, answers)
}

// TestAskedTogether: an order that several cores replay, each a run of it, fails where it does on one core, in the same
// order; so all that follows is the same too.
func TestAskedTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	defer func(n int) { askedTogether = n }(askedTogether)
	failed := 0
	make := func(seed uint64) *history.History {
		o := random.Options{Predicates: true, Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0,
			Unknown: seed&8 != 0}
		o.Txns, o.Keys = 14, 5
		return random.Medium(seed, o)
	}
	histtest.Each(t, histtest.Long[uint64](110, 4000), make, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation} {
			var answers [2]Answer
			for i, n := range []int{1 << 30, 1} {
				var err error
				askedTogether = n
				if answers[i], err = Run(context.Background(), v, Options{Level: l}); err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
				}
			}
			failed += answers[0].Stats.Failed
			if !reflect.DeepEqual(answers[0], answers[1]) {
				t.Fatalf("seed %d, %s: on several cores %+v; want %+v\n%s", seed, l, answers[1], answers[0],
					notation.Format(h))
			}
		}
	})
	histtest.Mix(t, failed < 100, "%d reads failed in all", failed)
}

// TestHintOfUnknownOutcomes: nobody saw the ends of transactions of unknown outcome, and yet the first order has them
// near to where they took effect, so that what others read from them is seldom against it.
func TestHintOfUnknownOutcomes(t *testing.T) {
	for i, l := range []level.Level{level.SessionSerializable, level.StrictSerializable,
		level.SessionSnapshotIsolation, level.StrictSnapshotIsolation} {
		for j, rate := range []float64{0.02, 0.3} {
			for _, stamped := range histtest.Long([]bool{(i+j)%2 > 0}, []bool{false, true}) {
				h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw",
					Txns: 3000, UnknownRate: rate, Seed: uint64(2*i + j), DBTimes: stamped}))(t)
				v := prepass.Run(h)
				a, err := Run(context.Background(), v, Options{Level: l})
				must.Hold(t, err == nil && a.Status == solver.Sat, "%s, rate %v: %v %v", l, rate, a.Status, err)
				lost := 0
				for u, counts := range v.Counts {
					if counts && h.Txns.Status[u] == history.Unknown {
						lost++
					}
				}
				must.Hold(t, lost >= 5, "%s, rate %v: %d transactions of unknown outcome count", l, rate, lost)
				if !l.Snapshot() && a.Stats.Backward > lost/2 {
					t.Errorf("%s, rate %v: %d known edges of %d are against the first order, with %d outcomes unknown",
						l, rate, a.Stats.Backward, a.Stats.KnownEdges, lost)
				}
			}
		}
	}
}
