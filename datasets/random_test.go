package datasets

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"isovet/check/oracle"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/level"
)

// TestTinyMix: at each of the six levels and with every option, neither verdict is rare.
func TestTinyMix(t *testing.T) {
	for _, c := range []struct {
		name string
		o    RandomOptions
	}{
		{"plain", RandomOptions{}},
		{"duplicates", RandomOptions{Duplicates: true}},
		{"deletes", RandomOptions{Deletes: true}},
		{"aborted", RandomOptions{Aborted: true}},
		{"unknown", RandomOptions{Unknown: true}},
		{"all", RandomOptions{Duplicates: true, Deletes: true, Aborted: true, Unknown: true, Keys: 3}},
		{"predicates", RandomOptions{Predicates: true}},
		{"predicates, deletes", RandomOptions{Predicates: true, Deletes: true, Keys: 3}},
		{"predicates, all", RandomOptions{Predicates: true, Duplicates: true, Deletes: true, Aborted: true, Unknown: true, Keys: 3}},
	} {
		for _, l := range Judged()[:6] {
			const n = 150
			valid := 0
			for seed := range uint64(n) {
				r, err := oracle.Check(Tiny(seed, c.o), oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				switch r.Verdict.String() {
				case "valid":
					valid++
				case "unknown":
					t.Fatalf("seed %d at %s: %s", seed, l, r.Reason)
				}
			}
			t.Logf("%s at %s: %d %% valid", c.name, l, 100*valid/n)
			if valid < n/4 || valid > n*3/4 {
				t.Errorf("%s at %s: %d of %d valid", c.name, l, valid, n)
			}
		}
	}
}

// TestTinyTies: zero-length, touching and tied intervals occur.
func TestTinyTies(t *testing.T) {
	var zero, touch, tie int
	for seed := range uint64(500) {
		h := Tiny(seed, RandomOptions{})
		for a := range uint32(h.NumTxns()) {
			if a == h.Init {
				continue
			}
			if h.Start(a) == h.End(a) {
				zero++
			}
			for b := range a {
				if b == h.Init {
					continue
				}
				if h.End(b) == h.Start(a) {
					touch++
				}
				if h.Start(a) == h.Start(b) {
					tie++
				}
			}
		}
	}
	if zero < 20 || touch < 20 || tie < 20 {
		t.Errorf("zero length %d, touching %d, tied %d", zero, touch, tie)
	}
}

func TestRandomDeterminism(t *testing.T) {
	dump := func(h *history.History) string {
		var b bytes.Buffer
		if err := jsonl.Write(&b, h); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		o := RandomOptions{Deletes: true, Unknown: true}
		a := dump(Medium(seed, o))
		if a != dump(Medium(seed, o)) {
			t.Fatalf("seed %d: two histories differ", seed)
		}
		seen[a] = true
	}
	if len(seen) < 195 {
		t.Errorf("%d different histories of 200", len(seen))
	}
}

// versionOrders decides serializability of a history in which every key has at most two writers and no initial version is
// read, by trying all version orders and looking for a cycle (Adya).
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
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 99))
		f := Formula{Vars: 1 + rng.IntN(3)}
		for lits := 0; ; {
			var c []int
			for _, v := range rng.Perm(f.Vars)[:1+rng.IntN(f.Vars)] {
				c = append(c, (v+1)*(1-2*rng.IntN(2)))
			}
			if lits += len(c); lits > 11 {
				break
			}
			f.Clauses = append(f.Clauses, c)
		}
		h, err := FromFormula(f, seed)
		if err != nil {
			t.Fatal(err)
		}
		want := satisfiable(f)
		if got := versionOrders(h); got != want {
			t.Fatalf("seed %d: %v is satisfiable: %v, history serializable: %v", seed, f, want, got)
		}
		if want {
			yes++
		} else {
			no++
		}
	}
	if yes < 50 || no < 50 {
		t.Errorf("%d satisfiable, %d not: one answer is hardly tested", yes, no)
	}
}

func TestRandomFormula(t *testing.T) {
	for seed := range uint64(50) {
		f := RandomFormula(seed, 8, 40, true)
		if !satisfiable(f) {
			t.Fatalf("seed %d: the hidden assignment satisfies nothing", seed)
		}
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

// TestHardInstances builds each at a small size; those with a verdict by construction and few enough transactions are judged.
func TestHardInstances(t *testing.T) {
	for _, in := range HardInstances() {
		size := min(in.size, 2000)
		if in.formula != nil {
			size = 2
		}
		if in.Name == "thousand-operations" {
			size = 40
		}
		h, err := in.Build(context.Background(), size, 1)
		if err != nil {
			t.Fatalf("%s: %v", in.Name, err)
		}
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
			// The same run with database timestamps: its commit order is a serial order.
			spec := in.spec
			spec.Txns, spec.Seed, spec.DBTimes = size, 1, true
			h := generate(t, spec)
			if err := replaySerial(h, committed(h)); err != nil {
				t.Errorf("%s: %v", in.Name, err)
			}
			if in.Level == level.StrictSerializable {
				if err := checkRealTime(h, committed(h)); err != nil {
					t.Errorf("%s: %v", in.Name, err)
				}
			}
		}
	}
}

// TestRunsAreValid: before a record is changed, serial runs are strictly serializable, and runs with snapshots satisfy strict
// snapshot isolation.
func TestRunsAreValid(t *testing.T) {
	skewed := 0
	for seed := range uint64(1500) {
		o := RandomOptions{Keys: 3, Duplicates: seed%2 == 0, Deletes: seed%3 == 0, Aborted: seed%5 == 0, Unknown: seed%7 == 0, Predicates: seed%11 < 5}
		g := newRandomRun(seed, o.or(6, 2, 3, 4))
		l := level.StrictSerializable
		if seed%4 < 2 {
			g.snapshots()
			l = level.StrictSnapshotIsolation
		} else {
			g.serial()
		}
		h := g.build()
		if !satisfies(t, h, l) {
			t.Fatalf("seed %d: the run violates %s", seed, l)
		}
		if l.Snapshot() && !satisfies(t, h, level.Serializable) {
			skewed++
		}
	}
	if skewed < 30 {
		t.Errorf("%d of 750 runs with snapshots are not serializable; expected more", skewed)
	}
}
