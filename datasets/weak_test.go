package datasets

import (
	"testing"

	"isovet/history"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// satisfies decides a judged level by definition: the oracle for the serializable and snapshot families, every commit
// order for the others.
func satisfies(t *testing.T, h *history.History, l level.Level) bool {
	t.Helper()
	if !l.Serial() && !l.Snapshot() {
		return weak(h, l)
	}
	r := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true, MaxTxns: 16}))(t)
	switch r.Verdict.String() {
	case "valid":
		return true
	case "violation":
		return false
	}
	t.Fatalf("%s at %s: %s (%s)", h.Meta.Name, l, r.Verdict, r.Reason)
	return false
}

// weak decides read committed, read atomic and causal by their axioms (Biswas and Enea, doi:10.1145/3360591, Fig. 2):
// some total order of the committed transactions, initial one first, extends session order and reads-from, and for
// every read of x by t3 from t1, every other writer t2 of x with the level's premise comes before t1. The premise for a
// read α of t3: t3 has read from t2 before α (RC); t2 is t3's predecessor in session order or t3 reads from it (RA); t2
// is a causal predecessor (CC). Values must be unique.
func weak(h *history.History, l level.Level) bool {
	type read struct {
		from, key int
		before    []int // writers that the transaction has read from earlier
	}
	type txn struct {
		t     uint32
		reads []read
		write map[int]bool
	}
	const init = 0
	txns := []txn{{t: history.None, write: map[int]bool{}}}
	at := map[uint32]int{}
	writer := map[uint32]int{} // version → the transaction that installed it
	for k := range h.NumKeys() {
		txns[init].write[k] = true
		if v := h.InitVer[k]; v != history.None {
			writer[v] = init
		}
	}
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		x := txn{t: t, write: map[int]bool{}}
		last := map[uint32]uint32{}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Write {
				last[h.OpKey(op)] = h.Ops.Ver[op]
				x.write[int(h.OpKey(op))] = true
			}
		}
		for _, v := range last {
			writer[v] = len(txns)
		}
		at[t] = len(txns)
		txns = append(txns, x)
	}
	n := len(txns)
	before := make([][]bool, n) // session order and reads-from
	for i := range before {
		before[i] = make([]bool, n)
		if i > 0 {
			before[init][i] = true
		}
	}
	for i := 1; i < n; i++ {
		x := &txns[i]
		own := map[uint32]uint32{}
		var seen []int
		lo, hi := h.TxnOps(x.t)
		for op := lo; op < hi; op++ {
			k, v := h.OpKey(op), h.Ops.Ver[op]
			if h.Ops.Kind[op] == history.Write {
				own[k] = v
				continue
			}
			if o, ok := own[k]; ok {
				if o != v {
					return false
				}
				continue
			}
			w, ok := writer[v]
			if !ok || w == i {
				return false
			}
			x.reads = append(x.reads, read{w, int(k), append([]int(nil), seen...)})
			seen = append(seen, w)
			before[w][i] = true
		}
	}
	for s := range h.NumSessions() {
		var in []int
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if i, ok := at[t]; ok {
				in = append(in, i)
			}
		}
		for a := range in {
			for b := a + 1; b < len(in); b++ {
				before[in[a]][in[b]] = true
			}
		}
	}
	cause := make([][]bool, n)
	for i := range cause {
		cause[i] = append([]bool(nil), before[i]...)
	}
	for k := range n {
		for i := range n {
			for j := range n {
				cause[i][j] = cause[i][j] || cause[i][k] && cause[k][j]
			}
		}
	}
	// must[a][b]: a comes before b in the order sought.
	must := make([][]bool, n)
	for i := range must {
		must[i] = append([]bool(nil), before[i]...)
	}
	for t3 := 1; t3 < n; t3++ {
		for _, r := range txns[t3].reads {
			for t2 := range n {
				if t2 == r.from || t2 == t3 || !txns[t2].write[r.key] {
					continue
				}
				premise := false
				switch l {
				case level.ReadCommitted:
					for _, b := range r.before {
						premise = premise || b == t2
					}
				case level.ReadAtomic:
					premise = before[t2][t3]
				case level.Causal:
					premise = cause[t2][t3]
				}
				if premise {
					must[t2][r.from] = true
				}
			}
		}
	}
	// Premises do not depend on the order, so an order exists iff must has no cycle.
	for k := range n {
		for i := range n {
			for j := range n {
				must[i][j] = must[i][j] || must[i][k] && must[k][j]
			}
		}
	}
	for i := range n {
		if must[i][i] {
			return false
		}
	}
	return true
}
