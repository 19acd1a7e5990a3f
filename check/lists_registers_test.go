package check_test

import (
	"fmt"
	"slices"
	"testing"

	"isovet/check/lists"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

func tiny(seed uint64) *history.History {
	if seed%2 == 0 {
		return oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 2, Sessions: 4, Ops: 4, Lists: true, Init: true,
			Aborted: true, Unknown: seed%4 == 0})
	}
	return random.Tiny(seed, random.Options{Lists: true, Aborted: true, Unknown: seed%3 == 0})
}

// TestListsRegisters: the history told with registers satisfies a level if and only if the one with lists does.
func TestListsRegisters(t *testing.T) {
	told := 0
	histtest.Each(t, uint64(4000), func(seed uint64) *history.History { return tiny(seed) }, func(t testing.TB,
		seed uint64, h *history.History) {
		v := lists.Read(h)
		if len(v.Anomalies) > 0 || v.Ambiguous != "" {
			return
		}
		told++
		g := v.Registers()
		must.Hold(t, !g.H.HasLists(), "seed %d: lists are left", seed)
		for _, l := range six {
			a := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			b := must.Get(oracle.Check(g.H, oracle.Options{Level: l, VerdictOnly: true}))(t)
			if a.Verdict != b.Verdict {
				t.Fatalf("seed %d, %s: %s, and told with registers %s\n%s\n%s", seed, l, a.Verdict, b.Verdict,
					notation.Format(h), notation.Format(g.H))
			}
		}
	})
	histtest.Mix(t, told < 1500, "only %d histories could be told", told)
}

// naive finds, by definition, who counts and the longest list that each key's reads by those show, or that no order
// explains the reads: they are no prefixes of each other, or not made of whole transactions' appends.
func naive(h *history.History) (counts map[uint32]bool, longest map[uint32][]uint32, bad bool) {
	type txnKey struct{ t, k uint32 }
	appends := map[txnKey][]uint32{}
	whose := map[uint32]uint32{}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Append && h.Txns.Status[t] != history.Aborted {
				v := h.Ops.Ver[op]
				whose[v] = t
				appends[txnKey{t, h.VerKey[v]}] = append(appends[txnKey{t, h.VerKey[v]}], v)
			}
		}
	}
	counts = map[uint32]bool{}
	for t := range uint32(h.NumTxns()) {
		counts[t] = t != h.Init && h.Txns.Status[t] == history.Committed
	}
	longest = map[uint32][]uint32{}
	for range h.NumTxns() {
		for t := range uint32(h.NumTxns()) {
			if !counts[t] {
				continue
			}
			lo, hi := h.TxnOps(t)
			var own []uint32
			wrote := map[uint32]bool{}
			before := map[uint32][]uint32{}
			for op := lo; op < hi; op++ {
				k := h.OpKey(op)
				switch h.Ops.Kind[op] {
				case history.Write:
					wrote[k] = true
				case history.Read:
					if w, ok := sole(h, h.Ops.Ver[op]); ok && w != h.Init && !wrote[k] {
						counts[w] = true
					}
				case history.Append:
					own = append(own, h.Ops.Ver[op])
				case history.ReadList:
					i := h.Ops.Ver[op]
					list := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
					mine := slice.Filter(own, func(e uint32) bool { return h.VerKey[e] == k })
					n := len(list) - len(mine)
					if n < 0 || !slices.Equal(list[n:], mine) {
						return nil, nil, true
					}
					list = list[:n]
					if b, ok := before[k]; ok && !slices.Equal(b, list) {
						return nil, nil, true
					}
					before[k] = list
					m := min(len(list), len(longest[k]))
					if !slices.Equal(list[:m], longest[k][:m]) {
						return nil, nil, true
					}
					if len(list) > m {
						longest[k] = list
					}
					// Whole transactions' appends, Init's first, none of the reader's own, none twice.
					rest := list
					if h.Init != history.None {
						if a := appends[txnKey{h.Init, k}]; len(rest) < len(a) || !slices.Equal(rest[:len(a)], a) {
							return nil, nil, true
						} else {
							rest = rest[len(a):]
						}
					}
					seen := map[uint32]bool{t: true}
					for len(rest) > 0 {
						w, ok := whose[rest[0]]
						a := appends[txnKey{w, k}]
						if !ok || w == h.Init || seen[w] || len(rest) < len(a) || !slices.Equal(rest[:len(a)], a) {
							return nil, nil, true
						}
						seen[w] = true
						counts[w] = true
						rest = rest[len(a):]
					}
				}
			}
		}
	}
	return counts, longest, false
}

// sole is who wrote a version, if only one transaction can have, and did not overwrite it.
func sole(h *history.History, ver uint32) (w uint32, ok bool) {
	if h.InitVer[h.VerKey[ver]] == ver {
		return 0, false
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] != history.Write || h.Ops.Ver[op] != ver || h.Txns.Status[t] == history.Aborted {
				continue
			}
			later := op + 1
			for ; later < hi && (h.Ops.Kind[later] != history.Write || h.OpKey(later) != h.VerKey[ver]); later++ {
			}
			if later < hi {
				continue
			}
			if ok && w != t {
				return 0, false
			}
			w, ok = t, true
		}
	}
	return w, ok
}

// TestListsRead holds Read against naive: who counts, the chains, and whether something is wrong with the reads.
func TestListsRead(t *testing.T) {
	wrong, right := 0, 0
	histtest.Each(t, uint64(6000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Lists: true, Aborted: true, Unknown: seed%3 == 0, Ops: 5})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := lists.Read(h)
		counts, longest, bad := naive(h)
		single := slices.ContainsFunc(v.Anomalies, func(a evidence.Anomaly) bool {
			return len(a.Ops) > 0 || a.Kind == level.IncompatibleOrder
		})
		if bad != single {
			t.Fatalf("seed %d: anomalies %v; by definition %v\n%s", seed, v.Anomalies, bad, notation.Format(h))
		}
		if bad {
			wrong++
			return
		}
		right++
		for x, c := range v.Counts {
			if c != counts[uint32(x)] {
				t.Fatalf("seed %d: transaction %d counts: %v\n%s", seed, x, c, notation.Format(h))
			}
		}
		for k := range uint32(h.NumKeys()) {
			var chain, want []uint32
			for _, w := range v.Chain[v.KOff[k]:v.KOff[k+1]] {
				chain = append(chain, v.WVer[w])
			}
			for i, e := range longest[k] { // the last of each transaction's
				if t := writer(h, e); t != h.Init && (i+1 == len(longest[k]) || writer(h, longest[k][i+1]) != t) {
					want = append(want, e)
				}
			}
			if !slices.Equal(chain, want) {
				t.Fatalf("seed %d: chain of key %d is %v; want %v\n%s", seed, k, chain, want, notation.Format(h))
			}
		}
	})
	histtest.Mix(t, min(wrong, right) < 1000, "%d with anomalies, %d without", wrong, right)
}

func writer(h *history.History, e uint32) uint32 {
	for op, k := range h.Ops.Kind {
		if t := h.TxnOf(uint32(op)); k == history.Append && h.Ops.Ver[op] == e && h.Txns.Status[t] != history.Aborted {
			return t
		}
	}
	return history.None
}

// Example reads the order of two appends off a third transaction's read.
func Example_listsRead() {
	v := lists.Read(notation.MustParse("s1: a(x,1) | s2: a(x,2) | s3: r(x,[2,1])"))
	for _, w := range v.Chain {
		fmt.Println(v.H.Txns.ID[v.WTxn[w]], v.H.ValueString(v.WVer[w]))
	}
	order, _ := lists.NewGraph(v, level.Serializable, 0).Order()
	fmt.Println(order)
	// Output:
	// 2 2
	// 1 1
	// [1 0 2]
}
