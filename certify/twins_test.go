package certify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
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
	must.Same(t, fmt.Sprint(fast), fmt.Sprint(plain), "%s, seed %d, beside its plain twin", what, seed)
	if plain == nil {
		b.accepted++
	} else {
		b.refused++
	}
}

func (b *both) enough(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d accepted, %d refused", what, b.accepted, b.refused)
	must.Be(t, !randtest.Whole() || min(b.accepted, b.refused) >= 50, "%s: too few of one kind", what)
}

// TestTinyRowsTwin is TestRowsTwin on tiny histories with deletes and repeated values.
func TestTinyRowsTwin(t *testing.T) {
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
		b.compare(t, "rows", seed, refusedAt(t, h, order, false), plainRefusedAt(t, h, order, false))
	})
	b.enough(t, "rows")
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
			if err != nil || keepsSessions(h, pos, pos, asksAlways) != nil {
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

// TestFinals: a write is final by a table of its transaction's keys where it is by the operations behind it.
func TestFinals(t *testing.T) {
	seen := map[bool]int{}
	for seed := range uint64(500) {
		h := random.Tiny(seed, random.Options{Txns: 4, Keys: 2, Duplicates: true, Predicates: seed%2 == 0})
		f := finals{h: h}
		for u := range uint32(h.NumTxns()) {
			lo, hi := h.TxnOps(u)
			for op := lo; op < hi; op++ {
				for v := range writesOf(h, op) {
					k := h.VerKey[v]
					last, _ := finalWrite(h, u, k)
					is := last == op
					if seen[is]++; f.is(u, k, op) != is {
						t.Fatalf("seed %d, transaction %d, operation %d, key %d: %v, want %v", seed, u, op, k, !is, is)
					}
				}
			}
		}
	}
	must.Be(t, seen[true] >= 100 && seen[false] >= 100, "%v", seen)
}
