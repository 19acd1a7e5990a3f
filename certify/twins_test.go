package certify

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/level"
)

// twinOrder is an order of all that may take part, near that of the file, which is near that of the execution.
func twinOrder(rng *rand.Rand, h *history.History) (order []uint32) {
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && (h.Txns.Status[t] == history.Committed || h.Txns.Status[t] == history.Unknown &&
			rng.IntN(2) == 0) {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return int(h.Start(a) - h.Start(b)) })
	for range rng.IntN(4) {
		if n := len(order); n > 1 {
			i := rng.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
	}
	return order
}

// twinEvents has some of an order's transactions overlap.
func twinEvents(rng *rand.Rand, order []uint32) (events []uint32) {
	for _, t := range order {
		events = append(events, t<<1, t<<1|1)
	}
	for range rng.IntN(6) {
		if n := len(events); n > 1 {
			i := rng.IntN(n - 1)
			if events[i]>>1 != events[i+1]>>1 {
				events[i], events[i+1] = events[i+1], events[i]
			}
		}
	}
	return events
}

// both counts how often twins accept and refuse, and demands that they agree.
type both struct{ accepted, refused int }

func (b *both) compare(t testing.TB, what string, seed uint64, fast, plain error) {
	t.Helper()
	if fmt.Sprint(fast) != fmt.Sprint(plain) {
		t.Fatalf("%s, seed %d: %v; its plain twin: %v", what, seed, fast, plain)
	}
	if plain == nil {
		b.accepted++
	} else {
		b.refused++
	}
}

func (b *both) enough(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d accepted, %d refused", what, b.accepted, b.refused)
	if randtest.Whole() && min(b.accepted, b.refused) < 50 {
		t.Errorf("%s: too few of one kind", what)
	}
}

// TestFlatTwin: the replay on one array says what the plain replay of registers, lists and predicates says.
func TestFlatTwin(t *testing.T) {
	var s, e both
	histtest.Each(t, 4000, func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 2 + int(seed%4), Aborted: true, Unknown: true, Duplicates: true,
			Deletes: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 1))
		order := twinOrder(rng, h)
		s.compare(t, "a serial order", seed, flatSerial(h, order), replaySerial(h, order, Options{}))
		events := twinEvents(rng, order)
		begin, _, err := eventPlaces(h, events)
		if err != nil {
			t.Fatal(err)
		}
		e.compare(t, "an order of events", seed, flatSnapshot(h, events, begin),
			replaySnapshot(h, events, begin, Options{}))
	})
	s.enough(t, "serial orders")
	e.enough(t, "orders of events")
}

// newest names for each read whose version several may have installed the newest writer before it in the order, by
// definition; reads of own writes are left out.
func newest(h *history.History, order []uint32) (out []evidence.Source) {
	last := func(t, k, before uint32) uint32 { // the version of k that t wrote last before an operation
		ver := uint32(history.None)
		for op, _ := h.TxnOps(t); op < before; op++ {
			if h.Ops.Kind[op] == history.Write && h.OpKey(op) == k {
				ver = h.Ops.Ver[op]
			}
		}
		return ver
	}
	for i, t := range order {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			k := h.OpKey(op)
			if h.Ops.Kind[op] != history.Read || last(t, k, op) != history.None {
				continue
			}
			from := uint32(history.None)
			for _, u := range order[:i] {
				if _, end := h.TxnOps(u); last(u, k, end) == h.Ops.Ver[op] {
					from = u
				}
			}
			out = append(out, evidence.Source{Op: op, Key: k, Writer: from})
		}
	}
	return out
}

// TestFlatCommitTwin: a commit order replayed on one array is one exactly if it is by the axioms, of versions that
// several installed the newest being read; where it may give up it never says more.
func TestFlatCommitTwin(t *testing.T) {
	for _, l := range []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal} {
		var b both
		histtest.Each(t, 6000, func(seed uint64) *history.History {
			return random.Tiny(seed, random.Options{Txns: 2 + int(seed%7), Keys: 1 + int(seed/7%4), Aborted: true,
				Unknown: true, Duplicates: seed%2 == 0, Deletes: true})
		}, func(t testing.TB, seed uint64, h *history.History) {
			rng := rand.New(rand.NewPCG(seed, 5))
			order := twinOrder(rng, h)
			pos, err := places(h, order)
			if err != nil || serialSessions(h, pos) != nil {
				return
			}
			plain := plainCommitOrder(&evidence.Result{H: h, Level: l, Order: order, Sources: newest(h, order)}, pos,
				Options{})
			if fast := flatCommitOrder(h, l, order); l != level.Causal || fast {
				var said error
				if !fast {
					said = errors.New("refused")
				}
				if plain != nil { // for whatever reason
					plain = errors.New("refused")
				}
				b.compare(t, l.String(), seed, said, plain)
			}
		})
		if l != level.Causal { // where it does not refuse
			b.enough(t, l.String())
		} else if randtest.Whole() && b.accepted < 100 {
			t.Errorf("causal: accepted only %d", b.accepted)
		}
	}
}

// TestRangesTwin: predicates looked up by ranges of integers say what all rows looked at one by one do.
func TestRangesTwin(t *testing.T) {
	var b both
	histtest.Each(t, 4000, func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 4, Predicates: true, Unknown: true, Duplicates: true,
			Deletes: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 2))
		if !h.HasPredicates() {
			return
		}
		order := twinOrder(rng, h)
		run := func(plain bool) error {
			s, err := newTables(h, among(h, order, 0), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if plain {
				s.ranges = nil
			}
			for _, u := range order {
				if s.run(u) != nil {
					return fmt.Errorf("refused at %d", u) // which row is found first differs
				}
			}
			return nil
		}
		b.compare(t, "ranges", seed, run(false), run(true))
	})
	b.enough(t, "ranges")
}

// plainCausal is causal with the past of every transaction written out: all that is before it by sessions and reads.
func (x *commitOrder) plainCausal() error {
	before := x.sessionPredecessors()
	past := make([]map[uint32]bool, len(x.order)+1)
	past[0] = map[uint32]bool{}
	for p := uint32(1); int(p) <= len(x.order); p++ {
		past[p] = map[uint32]bool{}
		direct := []uint32{before[p]}
		for _, r := range x.readsOf(p) {
			direct = append(direct, r.from)
		}
		for _, u := range direct {
			past[p][u] = true
			for w := range past[u] {
				past[p][w] = true
			}
		}
		for _, r := range x.readsOf(p) {
			for w := range past[p] {
				if w > r.from && slices.Contains(x.wrote(w), r.key) {
					return x.broken(p, r.key, w)
				}
			}
		}
	}
	return nil
}

// TestCausalTwin: clocks, and the writers of a key by sessions, say what the pasts written out do.
func TestCausalTwin(t *testing.T) {
	var b both
	for _, few := range []int{1, 16} {
		old := fewWriters
		fewWriters = few
		histtest.Each(t, 4000, func(seed uint64) *history.History {
			return random.Tiny(seed, random.Options{Txns: 4 + int(seed%5), Keys: 1 + int(seed/5%3), Unknown: true,
				Lists: seed%3 == 0})
		}, func(t testing.TB, seed uint64, h *history.History) {
			rng := rand.New(rand.NewPCG(seed, 4))
			order := twinOrder(rng, h)
			pos, err := places(h, order)
			if err != nil || serialSessions(h, pos) != nil {
				return
			}
			x := newCommitOrder(&evidence.Result{H: h, Level: level.Causal, Order: order}, pos)
			if x.resolve() != nil {
				return
			}
			fast, plain := x.causal(Options{}), x.plainCausal()
			if fast != nil && plain != nil { // which of several is found first differs
				plain = fast
			}
			b.compare(t, "causal", seed, fast, plain)
		})
		fewWriters = old
	}
	b.enough(t, "causal")
}
