package histtest_test

import (
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/predicates"
)

// look is an operation's read of a key: of a version, or if that is None, by what its predicate says.
type look struct {
	t, op, k, ver uint32
	missed        bool
}

// looks are the reads of a transaction from others, each operation's by itself; false if it contradicts its own writes.
func looks(h *history.History, truths *predicates.Truths, t uint32) (out []look, ok bool) {
	own := map[uint32]uint32{}
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			if w, mine := own[h.OpKey(op)]; mine && w != v {
				return nil, false
			} else if !mine {
				out = append(out, look{t, op, h.OpKey(op), v, false})
			}
		case history.Write:
			own[h.OpKey(op)] = v
		case history.PredRead, history.PredWrite:
			p := &h.Preds
			for k := range uint32(h.NumKeys()) {
				saw, missed, made := uint32(history.None), true, uint32(history.None)
				for r := p.Off[v]; r < p.Off[v+1]; r++ {
					if p.Old[r] != history.None && h.VerKey[p.Old[r]] == k || p.New[r] != history.None &&
						h.VerKey[p.New[r]] == k {
						saw, made, missed = p.Old[r], p.New[r], false
					}
				}
				l := look{t, op, k, saw, missed}
				if w, mine := own[k]; mine && !l.fits(h, truths, w) {
					return nil, false
				} else if !mine {
					out = append(out, l)
				}
				if made != history.None {
					own[k] = made
				}
			}
		}
	}
	return out, true
}

func (l look) fits(h *history.History, truths *predicates.Truths, ver uint32) bool {
	if h.Ops.Kind[l.op] == history.Read {
		return ver == l.ver
	}
	truth := truths.Of(h.Ops.Ver[l.op], l.k, ver)
	if l.missed {
		return truth != predicates.True
	}
	return truth != predicates.False && (l.ver == history.None || l.ver == ver)
}

// final is the version of k that t leaves, None if it writes none.
func final(h *history.History, t, k uint32) uint32 {
	last := uint32(history.None)
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Write:
			if h.VerKey[v] == k {
				last = v
			}
		case history.PredWrite:
			for _, w := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				if h.VerKey[w] == k {
					last = w
				}
			}
		}
	}
	return last
}

// literally is the definition of the weak levels with predicates on committed transactions: some order and some writer
// of each operation's read of each key.
func literally(h *history.History, truths *predicates.Truths, l level.Level) bool {
	var all []look
	var txns []uint32
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || h.Txns.Status[t] != history.Committed {
			continue
		}
		txns = append(txns, t)
		ls, ok := looks(h, truths, t)
		if !ok {
			return false
		}
		all = append(all, ls...)
	}
	place := map[uint32]int{history.None: -1}
	from := make([]uint32, len(all))
	session := func(a, b uint32) bool { return h.Txns.Sess[a] == h.Txns.Sess[b] && place[a] < place[b] }
	axiom := func() bool {
		past := map[[2]uint32]bool{} // of a transaction: another
		for _, t := range txns {     // all that is visible to those before is known
			for _, u := range txns {
				if session(u, t) {
					past[[2]uint32{t, u}] = true
				}
			}
			for i, r := range all {
				if r.t == t && from[i] != history.None {
					past[[2]uint32{t, from[i]}] = true
				}
			}
			for _, u := range txns {
				for _, w := range txns {
					if l == level.Causal && past[[2]uint32{t, u}] && past[[2]uint32{u, w}] {
						past[[2]uint32{t, w}] = true
					}
				}
			}
		}
		for i, r := range all {
			for _, u := range txns {
				if past[[2]uint32{r.t, u}] && u != from[i] && final(h, u, r.k) != history.None &&
					place[u] > place[from[i]] {
					return false
				}
			}
		}
		return true
	}
	var choose func(i int) bool
	choose = func(i int) bool {
		if i == len(all) {
			return axiom()
		}
		r := all[i]
		for _, u := range append([]uint32{history.None}, txns...) {
			ver := h.InitVer[r.k]
			if u != history.None {
				ver = final(h, u, r.k)
			}
			if u == r.t || place[u] > place[r.t] || u != history.None && ver == history.None || !r.fits(h, truths,
				ver) {
				continue
			}
			if from[i] = u; choose(i + 1) {
				return true
			}
		}
		return false
	}
	var permute func(n int) bool
	permute = func(n int) bool {
		if n == len(txns) {
			for i, t := range txns {
				place[t] = i
			}
			for s := range h.NumSessions() {
				in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
				for i := range in {
					for _, b := range in[i+1:] {
						p, had := place[in[i]]
						q, has := place[b]
						if had && has && p > q {
							return false
						}
					}
				}
			}
			return choose(0)
		}
		for i := n; i < len(txns); i++ {
			txns[n], txns[i] = txns[i], txns[n]
			if permute(n + 1) {
				return true
			}
			txns[n], txns[i] = txns[i], txns[n]
		}
		return false
	}
	return permute(0)
}

// TestOracleWeakPredicatesLiterally: at read-atomic and causal the oracle, which has a transaction read a key from one
// writer and asks the axiom of parts, says what the definition does, word by word.
func TestOracleWeakPredicatesLiterally(t *testing.T) {
	verdicts := map[bool]int{}
	histtest.Each(t, histtest.Long[uint64](825, 30_000), func(seed uint64) *history.History {
		h := random.Tiny(seed, random.Options{Predicates: true, Txns: 3, Keys: 2, Ops: 2, Deletes: seed%2 == 0,
			Duplicates: seed%3 == 0})
		if !h.HasPredicates() {
			return nil
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, s := range h.Txns.Status {
			if s == history.Unknown {
				return
			}
		}
		truths := must.Get(predicates.NewTruths(h))(t)
		for _, l := range []level.Level{level.ReadAtomic, level.Causal} {
			want := literally(h, truths, l)
			r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil || (r.Verdict == evidence.Holds) != want {
				t.Fatalf("seed %d, %s: %v, %v; literally %v\n%s", seed, l, r.Verdict, err, want, notation.Format(h))
			}
			verdicts[want]++
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && min(verdicts[true], verdicts[false]) < 200 {
		t.Error("the mix is lopsided")
	}
}
