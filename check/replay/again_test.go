package replay

import (
	"context"
	"math/rand/v2"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph/order"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
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
					if !is[f] {
						t.Fatalf("%s: %v fails only where it is replayed in part", l, f)
					}
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
	if histtest.Whole() && (less < 100 || more == 0) {
		t.Errorf("%d replays in part, %d given up: want many, and some", less, more)
	}
}

func set(failed []failure) map[failure]bool {
	s := make(map[failure]bool, len(failed))
	for _, f := range failed {
		s[f] = true
	}
	return s
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
				a, err := Run(context.Background(), v, Options{Level: l, NoSerial: true, NoSaturation: true})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			want, got := run(16, 1<<30), run(1, 1)
			if got.Status != want.Status {
				t.Fatalf("%s: %s, by whole replays %s", l, got.Status, want.Status)
			}
			again += got.Stats.Again
			answers[got.Status]++
		}
	})
	if histtest.Whole() && (again < 20 || answers[solver.Sat] == 0 || answers[solver.Unsat] == 0) {
		t.Errorf("%d rounds replayed what moved; answers %v", again, answers)
	}
}
