package certify

import (
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// chainWith are n transactions, three sessions by turns: number i writes x = i and a key of its own. A reader in a
// session of its own sees number seen's key and x = old.
func chainWith(t *testing.T, n, seen, old int64) (*history.History, []uint32) {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	x, own := b.Key(history.IntValue(-1)), func(i int64) uint32 { return b.Key(history.IntValue(i)) }
	var order []uint32
	end := func(id, session int64) {
		b.EndTxn(history.TxnHead{ID: id, Session: session, Start: history.NoTime, End: history.NoTime,
			Commit: history.NoTime, StartTS: history.NoTime, CommitTS: history.NoTime})
		order = append(order, uint32(len(order)))
	}
	for i := int64(1); i <= n; i++ {
		b.Write(x, history.IntValue(i))
		b.Write(own(i), history.IntValue(1))
		end(i, i%3)
	}
	b.Read(own(seen), history.IntValue(1))
	b.Read(x, history.IntValue(old))
	end(n+1, 7)
	b.Read(x, history.IntValue(n))
	end(n+2, 7)
	h := must.Get(b.Build())(t)
	return h, order
}

// TestCausalManyWriters: an order in which many writers of a key are between the version read and the reader is refused
// exactly if one of them is visible: the sessions 0, 1 and 2 write by turns.
func TestCausalManyWriters(t *testing.T) {
	for seen := range int64(60) {
		for old := range int64(60) {
			if (old-seen)*(old-seen) > 4 && (old+7*seen)%5 > 0 && !histtest.Long(false, true) {
				continue // next to the diagonal is where the answer changes
			}
			h, order := chainWith(t, 200, seen+1, old+1)
			r := &evidence.Result{Level: level.Causal, Checker: "test", H: h, Verdict: evidence.Holds, Order: order}
			err := Check(r, Options{})
			// Visible are number seen and those before it in its session.
			broken := seen > old
			if broken != (err != nil) || broken && !strings.Contains(err.Error(), "must see") {
				t.Fatalf("saw number %d, read x = %d: %v", seen+1, old+1, err)
			}
		}
	}
}

// TestSightsTwin: an order with predicate operations is judged alike by the keys of which a predicate is true now, and
// those that invisible transactions wrote, as by all that it is ever true of; and by what is remembered of each past as
// by a walk over it.
func TestSightsTwin(t *testing.T) {
	var b both
	histtest.Each(t, 6000, func(seed uint64) *history.History {
		h := random.Tiny(seed, random.Options{Txns: 3 + int(seed%4), Keys: 3, Predicates: true, Unknown: true,
			Duplicates: seed%2 == 0, Deletes: true})
		if !h.HasPredicates() {
			return nil
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		if h.NumOps() == 0 || h.NumKeys() == 0 {
			return // cut down to nothing
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		order := twinOrder(rng, h)
		l := []level.Level{level.Causal, level.ReadAtomic}[rng.IntN(2)]
		r := &evidence.Result{Verdict: evidence.Holds, Level: l, H: h, Order: order}
		for range rng.IntN(4) {
			op := uint32(rng.IntN(h.NumOps()))
			if k := uint32(rng.IntN(h.NumKeys())); h.Ops.Kind[op].Predicate() {
				r.Sources = append(r.Sources, evidence.Source{Op: op, Key: k, Writer: uint32(rng.IntN(h.NumTxns()))})
			}
		}
		few := Check(r, Options{})
		for _, set := range []func() func(){func() func() { return SetFewUnseen(-1) }, WalkPasts} {
			undo := set()
			all := Check(r, Options{})
			undo()
			if few != nil && all != nil { // for one key or another
				few = all
			}
			b.compare(t, "sights", seed, few, all)
		}
	})
	b.enough(t, "sights")
}
