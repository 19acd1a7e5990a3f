package replay_test

import (
	"testing"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// TestMinimize: a minimizer finds something exactly where a refutation is found. With the session order and real time
// of all transactions, the operations of those found violate the level, and none of those found can be spared. Where
// values are unique and outcomes known, a part's reads are those of what it has.
func TestMinimize(t *testing.T) {
	found, least := 0, 0
	histtest.Each(t, histtest.Long[uint64](1650, 60000), func(seed uint64) *history.History {
		o := mix(seed)
		o.Txns, o.Keys, o.Sessions = 7, 3, 4
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := mix(seed)
		o.Txns, o.Keys, o.Sessions = 7, 3, 4
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range levels {
			proof := must.Get(replay.Refute(t.Context(), v, l, 0))(t)
			keep := must.Get(replay.Minimize(t.Context(), v, l, 0))(t)
			violates := func(without int) bool { // the others of keep do; the rest stay without operations
				in := map[uint32]bool{}
				for i, u := range keep {
					in[u] = i != without
				}
				gone := map[uint32]bool{} // versions whose writer is left out
				for u := range uint32(h.NumTxns()) {
					lo, hi := h.TxnOps(u)
					for op := lo; op < hi; op++ {
						if h.Ops.Kind[op] == history.Write && !in[u] && u != h.Init {
							gone[h.Ops.Ver[op]] = true
						}
					}
				}
				part := history.Restrict(h, h.SessTxn, func(op uint32) bool {
					return in[h.TxnOf(op)] && (h.Ops.Kind[op] != history.Read || !gone[h.Ops.Ver[op]])
				})
				return len(must.Get(replay.Refute(t.Context(), prepass.Run(part.H), l, 0))(t)) > 0
			}
			// session order and real time may have a cycle: then nothing is found
			if (len(keep) > 0) != (len(proof) > 0) && (len(keep) > 0 || !violates(-1)) {
				t.Fatalf("seed %d, %s: %v found, and %v refutes\n%s", seed, l, keep, proof, notation.Format(h))
			}
			if len(keep) == 0 {
				continue
			}
			found++
			if o.Duplicates || o.Deletes || o.Unknown {
				continue
			}
			least++
			if !violates(-1) {
				t.Fatalf("seed %d, %s: %v violate nothing\n%s", seed, l, keep, notation.Format(h))
			}
			for i := range keep {
				if violates(i) {
					t.Fatalf("seed %d, %s: of %v, %d can be spared\n%s", seed, l, keep, keep[i], notation.Format(h))
				}
			}
		}
	})
	histtest.Mix(t, found < 500 || least < 50, "only %d found, %d of them compared", found, least)
}
