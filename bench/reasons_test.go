package bench

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/check"
	"isovet/closure"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestReasons: what is claimed to be behind a reason is there: the reason itself, and the test that is named.
func TestReasons(t *testing.T) {
	files := must.Get(filepath.Glob("*_test.go"))(t)
	var tests strings.Builder
	for _, f := range files {
		b := must.Get(os.ReadFile(f))(t)
		tests.Write(b)
	}
	for figure, says := range claimsTable() {
		for _, s := range says {
			if s.Why == "" && (s.shown != nil || s.test != "") {
				t.Errorf("%s: %q has no reason", figure, s.Says)
			}
			if s.test != "" && !strings.Contains(tests.String(), "\nfunc "+s.test+"(t *testing.T)") {
				t.Errorf("%s, %q: there is no %s", figure, s.Says, s.test)
			}
		}
	}
}

// TestReasonRefuted: a reason that the rows do not bear out is claimed to be none, one without rows to be a conjecture.
func TestReasonRefuted(t *testing.T) {
	s := Saying{Says: "it is large", Sense: AtLeast, Number: 10, Why: "it is small",
		Find:  func(*Report) Found { return Found{Value: 5} },
		shown: shown("it", valueAt("m", "g", "s"), AtMost, 5, "mm")}
	for _, c := range []struct {
		at          float64
		why, tested string
	}{{5, "it is small (it: 5 mm at g)", byRows},
		{6, "not known; these rows do not bear out that it is small (it: 6 mm at g)", refuted},
		{0, "a conjecture: it is small", ""}} {
		r := &Report{Scale: "default"}
		if c.at > 0 {
			r.Add(decided("m", "g", "s", c.at))
		}
		if got := s.judge(r); got.Holds != Fails || got.Why != c.why || got.Tested != c.tested {
			t.Errorf("%+v", got)
		}
	}
	s.shown, s.test = nil, "TestX"
	if got := s.judge(&Report{}); got.Why != "it is small (TestX)" || got.Tested != "TestX" {
		t.Errorf("%+v", got)
	}
}

func checked1(t *testing.T, name string, h *history.History) *evidence.Result {
	t.Helper()
	c := must.Get(check.ByName(name))(t)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: level.SessionSerializable, IgnorePredicates: true})
	must.OK(t, err)
	return r
}

func made(t *testing.T, spec datasets.Spec) *history.History {
	t.Helper()
	return must.Get(datasets.Generate(t.Context(), spec))(t)
}

// TestSingleReadsFirst: of the synthesized anomalies some are found by looking at single reads alone, which Cobra and
// BE begin with here, and not in the paper.
func TestSingleReadsFirst(t *testing.T) {
	for _, name := range []string{"cobra", "be"} {
		single := 0
		for _, a := range datasets.SynthesizedAnomalies() {
			r := checked1(t, name, a.History())
			if r.Verdict == evidence.Violated && len(r.Anomalies) > 0 && len(r.Anomalies[0].Ops) > 0 {
				single++
			}
		}
		must.Be(t, single >= 3, "%s finds %d of them by single reads", name, single)
	}
}

// TestBEWithoutChoices: on TPC-C BE takes one step for each transaction, and undoes none.
func TestBEWithoutChoices(t *testing.T) {
	h := made(t, datasets.Spec{Workload: "tpcc", Txns: 500, Seed: 1})
	r := checked1(t, "be", h)
	if n := int64(h.NumTxns()); r.Verdict != evidence.Holds || r.Stats.Decisions > n+1 {
		t.Errorf("%v after %d steps for %d transactions", r.Verdict, r.Stats.Decisions, n)
	}
}

// TestCobraOnMiniTransactions: in mini-transactions each write follows a read of its object, and Cobra has nothing to
// decide, however few the objects.
func TestCobraOnMiniTransactions(t *testing.T) {
	for _, keys := range []int{3, 30, 300} {
		h := made(t, datasets.Spec{Workload: "mini", Txns: 300, Keys: keys, Seed: 1, Times: datasets.TxnTimes})
		if r := checked1(t, "cobra", h); r.Verdict != evidence.Holds || r.Stats.Left != 0 {
			t.Errorf("%d objects: %v, %d constraints left", keys, r.Verdict, r.Stats.Left)
		}
	}
}

// TestLeftBySessions: Vbox leaves no constraint of what one session wrote, and the more the more sessions there are,
// each of two transactions that overlap.
func TestLeftBySessions(t *testing.T) {
	last := 0
	for _, sessions := range []int{1, 4, 24} {
		h := made(t, datasets.Spec{Workload: "blindw", Variant: "WH",
			Txns: histtest.Long(3000, 10_000), Sessions: sessions, Seed: 1})
		left := checked1(t, "vbox", h).Stats.Left
		if sessions == 1 && left != 0 || sessions > 1 && left < 3*max(last, 10) {
			t.Errorf("%d sessions: %d constraints left, %d with fewer", sessions, left, last)
		}
		last = left
	}
}

// TestValuesDiffer: in TPC-C and SmallBank no two writes of a key have one value here, where the paper's repeat.
func TestValuesDiffer(t *testing.T) {
	for _, w := range []string{"tpcc", "smallbank"} {
		h := made(t, datasets.Spec{Workload: w, Txns: 500, Seed: 1, NoAborted: true})
		writes, seen := 0, map[uint32]bool{}
		for op := range h.Ops.Ver {
			if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Write {
				if writes++; seen[v] {
					t.Fatalf("%s: a value is written twice", w)
				}
				seen[v] = true
			}
		}
		must.Be(t, writes >= 500, "%s: %d writes", w, writes)
	}
}

// TestReadShares: the runs of Figures 6 and 7 of CHRONOS by share of reads differ in how many operations write.
func TestReadShares(t *testing.T) {
	last := 0
	for _, variant := range []string{"read-heavy", "zipf", "write-heavy"} {
		spec := tableI(500)
		spec.Variant, spec.Seed = variant, 1
		h, writes := made(t, spec), 0
		for _, k := range h.Ops.Kind {
			if k == history.Write {
				writes++
			}
		}
		must.Be(t, writes >= last*3/2, "%s: %d writes after %d", variant, writes, last)
		last = writes
	}
}

// TestTwoAtATime: with two runs at a time, not six, as much of what is wrong as Figure 20 claims is right within 10 ms,
// where a batch arrives at once.
func TestTwoAtATime(t *testing.T) {
	r := must.Get(LoadReport("results/aion/online-rectified.json"))(t)
	if p := r.Find("rectified", "0.01", "a batch at once"); p == nil || p.Value < 95 {
		t.Errorf("%+v", p)
	}
}

// TestWritersBatches: batches follow the order of the commits, so that what a transaction reads was sent with its own
// batch or before: nothing is put right by the next batch.
func TestWritersBatches(t *testing.T) {
	spec := tableI(2000)
	spec.Seed = 1
	h := made(t, spec)
	l := Lab{Seed: 1, tell: func(string) {}}
	s, err := l.arrive(t.Context(), spec, paperRate, 0, 0) // in the order of their commits
	must.OK(t, err)
	const batch = 50
	in := map[uint32]int{}
	for i, txn := range s.order {
		in[txn] = i / batch
	}
	writer, reads := map[uint32]uint32{}, 0
	for _, txn := range s.order {
		lo, hi := h.TxnOps(txn)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			if h.Ops.Kind[op] == history.Write {
				writer[v] = txn
			}
		}
	}
	for _, txn := range s.order {
		lo, hi := h.TxnOps(txn)
		for op := lo; op < hi; op++ {
			if w, ok := writer[h.Ops.Ver[op]]; ok && h.Ops.Kind[op] == history.Read {
				if reads++; in[w] > in[txn] {
					t.Fatalf("transaction %d reads what comes with batch %d, in batch %d", txn, in[w], in[txn])
				}
			}
		}
	}
	must.Be(t, reads >= 1000, "%d reads", reads)
}

// TestWarshallByWords: Warshall's algorithm as it is here, on words, finds what three plain loops over a matrix of
// bytes find. BenchmarkWarshall says how much longer those take: more than fifty times.
func TestWarshallByWords(t *testing.T) {
	plain, in := warshall(t, 200)
	m := byWords(t, in)
	byBytes(plain, 200)
	for i, reaches := range plain {
		if u, v := int32(i/200), int32(i%200); u != v && m.Reaches(u, v) != (reaches == 1) {
			t.Fatalf("%d to %d: by words %v", u, v, m.Reaches(u, v))
		}
	}
}

func BenchmarkWarshall(b *testing.B) {
	plain, in := warshall(b, 1000)
	b.Run("words", func(b *testing.B) {
		for b.Loop() {
			byWords(b, in)
		}
	})
	b.Run("bytes", func(b *testing.B) {
		for b.Loop() {
			byBytes(plain, 1000)
		}
	})
}

// warshall makes a graph of n nodes with four edges from each but the last, as a matrix of bytes too.
func warshall(t testing.TB, n int) ([]byte, closure.Input) {
	t.Helper()
	plain := make([]byte, n*n)
	edges := func(emit func(u, v int32)) {
		rng := rand.New(rand.NewPCG(1, 1)) // it is called more than once
		for u := range int32(n - 1) {
			for range 4 {
				emit(u, u+1+rng.Int32N(int32(n)-1-u))
			}
		}
	}
	edges(func(u, v int32) { plain[int(u)*n+int(v)] = 1 })
	return plain, closure.Input{N: n, Known: graph.BuildFunc(n, edges)}
}

func byWords(t testing.TB, in closure.Input) *closure.Matrix {
	t.Helper()
	m, _, err := closure.Warshall(in, closure.Options{})
	must.OK(t, err)
	return m
}

func byBytes(plain []byte, n int) {
	for k := range n {
		for u := range n {
			for v := range n {
				plain[u*n+v] |= plain[u*n+k] & plain[k*n+v]
			}
		}
	}
}
