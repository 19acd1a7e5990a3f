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
	"isovet/level"
)

// TestMinimize: a minimizer finds something exactly where a refutation is found; what it finds violates the level by
// itself and nothing of it can be spared. Where values are unique and outcomes known, a part's reads are those of what
// it has.
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
			if len(keep) == 0 && len(proof) > 0 && contrary(h, l) {
				continue // session order and real time have a cycle
			}
			if (len(keep) > 0) != (len(proof) > 0) {
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
			violates := func(without int) bool {
				in := map[uint32]bool{}
				for i, u := range keep {
					in[u] = i != without
				}
				var txns []uint32
				for _, u := range h.SessTxn {
					if in[u] {
						txns = append(txns, u)
					}
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
				part := history.Restrict(h, txns, func(op uint32) bool {
					return h.Ops.Kind[op] != history.Read ||
						!gone[h.Ops.Ver[op]]
				})
				proof := must.Get(replay.Refute(t.Context(), prepass.Run(part.H), l, 0))(t)
				return len(proof) > 0
			}
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

// contrary reports whether a session has a transaction that ended before an earlier one began.
func contrary(h *history.History, l level.Level) bool {
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, a := range in {
			for _, b := range in[i+1:] {
				if l.RealTime() && h.End(b) != history.NoTime && h.End(b) < h.Start(a) {
					return true
				}
			}
		}
	}
	return false
}
