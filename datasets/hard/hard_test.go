package hard

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// versionOrders decides serializability of a history in which every key has at most two writers and no initial version
// is read, by trying all version orders and looking for a cycle (Adya).
func versionOrders(h *history.History) bool {
	n := h.NumTxns()
	type edge struct{ a, b int }
	var known []edge
	writers := make([][]int, h.NumKeys())
	versions := make([][]uint32, h.NumKeys())
	readers := map[uint32][]int{}
	for t := range uint32(n) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			if k := h.VerKey[v]; h.Ops.Kind[op] == history.Write {
				writers[k] = append(writers[k], int(t))
				versions[k] = append(versions[k], v)
			} else {
				readers[v] = append(readers[v], int(t))
			}
		}
	}
	var open []int
	for k, w := range writers {
		for i, t := range w {
			for _, r := range readers[versions[k][i]] {
				known = append(known, edge{t, r})
			}
		}
		if len(w) == 2 {
			open = append(open, k)
		}
	}
	adj := make([][]int, n)
	color := make([]uint8, n)
	var cyclic func(int) bool
	cyclic = func(a int) bool {
		color[a] = 1
		for _, b := range adj[a] {
			if color[b] == 1 || color[b] == 0 && cyclic(b) {
				return true
			}
		}
		color[a] = 2
		return false
	}
	for bits := range 1 << len(open) {
		for i := range adj {
			adj[i] = adj[i][:0]
		}
		for _, e := range known {
			adj[e.a] = append(adj[e.a], e.b)
		}
		for i, k := range open {
			first := bits >> i & 1
			a, b := writers[k][first], writers[k][1-first]
			adj[a] = append(adj[a], b)
			for _, r := range readers[versions[k][first]] {
				if r != b {
					adj[r] = append(adj[r], b)
				}
			}
		}
		clear(color)
		ok := true
		for a := 0; a < n && ok; a++ {
			ok = color[a] != 0 || !cyclic(a)
		}
		if ok {
			return true
		}
	}
	return false
}

func satisfiable(f Formula) bool {
	for bits := range 1 << f.Vars {
		all := true
		for _, c := range f.Clauses {
			any := false
			for _, l := range c {
				v := max(l, -l)
				any = any || (bits>>(v-1)&1 == 1) == (l > 0)
			}
			all = all && any
		}
		if all {
			return true
		}
	}
	return false
}

// TestFromFormula: serializable iff satisfiable, for random formulas with clauses of one to three literals.
func TestFromFormula(t *testing.T) {
	var yes, no int
	randtest.Seeds(t, 400, func(t testing.TB, seed uint64) {
		f := smallFormula(rand.New(rand.NewPCG(seed, 99)), 3, 11)
		h := must.Get(FromFormula(f, seed))(t)
		want := satisfiable(f)
		must.Equal(t, versionOrders(h), want, "seed %d: %v: the history is serializable", seed, f)
		if want {
			yes++
		} else {
			no++
		}
	})
	if randtest.Whole() && (yes < 50 || no < 50) {
		t.Errorf("%d satisfiable, %d not: one answer is hardly tested", yes, no)
	}
}

func TestRandomFormula(t *testing.T) {
	for seed := range uint64(50) {
		f := RandomFormula(seed, 8, 40, true)
		must.Hold(t, satisfiable(f), "seed %d: the hidden assignment satisfies nothing", seed)
		if len(f.Clauses) != 40 || len(f.Clauses[0]) != 3 {
			t.Fatalf("%d clauses of %d", len(f.Clauses), len(f.Clauses[0]))
		}
	}
	for n := 1; n < 4; n++ {
		if satisfiable(pigeonhole(n)) {
			t.Errorf("%d pigeons fit in %d holes", n+1, n)
		}
	}
}

// TestInstances builds each at a small size; those with a verdict by construction and few enough transactions are
// judged.
func TestInstances(t *testing.T) {
	for _, in := range Instances() {
		size := min(in.size, 2000)
		in.spec.Keys = min(in.spec.Keys, histtest.Long(20_000, 1<<30))
		if in.formula != nil {
			size = 2
		}
		if in.Name == "thousand-operations" {
			size = 40
		}
		h, err := in.Build(context.Background(), size, 1)
		must.OK(t, err, "%s", in.Name)
		if in.formula != nil {
			if f := in.formula(size, 1); (in.Valid || in.Violates) && satisfiable(f) != in.Valid {
				t.Errorf("%s: the formula's answer is not the declared one", in.Name)
			}
			continue
		}
		if n := h.NumTxns(); n < size {
			t.Errorf("%s: %d transactions", in.Name, n)
		}
		if in.Valid {
			// The same run with database timestamps: its commit order is a serial order. Without a run, the order of
			// the transactions is.
			if in.build == nil {
				spec := in.spec
				spec.Txns, spec.Seed, spec.DBTimes = size, 1, true
				if h, err = datasets.Generate(context.Background(), spec); err != nil {
					t.Fatalf("%s: %v", in.Name, err)
				}
			}
			r := &evidence.Result{Verdict: evidence.Holds, Level: in.Level, H: h, Order: committed(h)}
			must.OK(t, certify.Check(r, certify.Options{}), "%s", in.Name)
		}
	}
}

// committed returns the committed transactions by commit timestamp.
func committed(h *history.History) []uint32 {
	var out []uint32
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.Txns.Status[t] == history.Committed {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b uint32) int { return cmp.Compare(h.CommitTS(a), h.CommitTS(b)) })
	return out
}

// TestTxns: the number of transactions is known before they are made.
func TestTxns(t *testing.T) {
	for _, in := range Instances() {
		if in.formula == nil {
			continue
		}
		for _, size := range []int{0, 3, 5, 8} {
			h := must.Get(in.Build(t.Context(), size, 1))(t)
			if n, unit := in.Txns(size); n != float64(h.NumTxns()) || unit == "" {
				t.Errorf("%s of size %d: %.0f transactions of %q; it has %d", in.Name, size, n, unit, h.NumTxns())
			}
		}
	}
}
