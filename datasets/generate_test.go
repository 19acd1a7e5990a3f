package datasets

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/datasets/workload"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestForSQL: what the store in memory has not, it refuses.
func TestForSQL(t *testing.T) {
	n := 0
	for _, w := range workload.All() {
		for _, v := range w.Variants {
			if !v.SQL {
				continue
			}
			n++
			_, err := Run(t.Context(), Spec{Workload: w.Name, Variant: v.Name, Txns: 10})
			if err == nil || !strings.Contains(err.Error(), "expected another variant") {
				t.Errorf("%s %s: error %v; expected one that says what to take", w.Name, v.Name, err)
			}
		}
	}
	if n == 0 {
		t.Error("no variant is for SQL databases alone")
	}
}

// specs are runs that differ in everything that the store does differently.
func specs() []Spec {
	var out []Spec
	for _, w := range workload.All() {
		for _, v := range w.Variants {
			if v.SQL {
				continue // TestForSQL
			}
			s := Spec{Workload: w.Name, Variant: v.Name, Txns: 600, DBTimes: true}
			switch { // predicates are evaluated on every key
			case s.Workload == "blindw-pred":
				s.Txns, s.Keys, s.Ops = 100, 120, 3
			case s.Workload == "ycsb" && v.Name == "E":
				s.Txns, s.Keys = 200, 150
			case s.Workload == "booking":
				s.Txns, s.Keys = 400, 8
			case s.Workload == "tpcc":
				s.Txns, s.Keys = 150, 300
			}
			out = append(out, s)
		}
	}
	return append(out, Spec{Workload: "mix", Txns: 1500, Keys: 20, Ops: 4, DBTimes: true},
		Spec{Workload: "mix", Txns: 800, Keys: 20, Ops: 4, DBTimes: true, AbortRate: 0.1, UnknownRate: 0.1},
		Spec{Workload: "rmw", Txns: 800, Keys: 5, Sessions: 50, DBTimes: true},
		Spec{Workload: "rmw", Variant: "locking", Txns: 800, Keys: 5, Sessions: 50, DBTimes: true},
		Spec{Workload: "contended", Txns: 800, Keys: 8, Sessions: 100, DBTimes: true},
		Spec{Workload: "mix", Txns: 400, Keys: 40, LongTxn: true, DBTimes: true},
		Spec{Workload: "blindw", Txns: 3, Sessions: 40, DBTimes: true},
	)
}

func generate(t *testing.T, s Spec) *history.History {
	t.Helper()
	h, err := Generate(context.Background(), s)
	must.OK(t, err, "%+v", s)
	return h
}

func TestDeterminism(t *testing.T) {
	dump := func(s Spec) []byte {
		var b bytes.Buffer
		must.OK(t, jsonl.Write(&b, generate(t, s)))
		return b.Bytes()
	}
	for i, s := range specs() {
		if i%4 > 0 && !histtest.Long(false, true) {
			continue
		}
		s.Isolation = Isolations()[i/4%len(Isolations())]
		s.Seed = uint64(i)
		s.Skew = int64(i%3) * 1000
		s.Hint = Hint(i % 3)
		s.Times = Times(i / 4 % 3)
		a := dump(s)
		must.Be(t, bytes.Equal(a, dump(s)), "%+v: two runs differ", s)
		s.Seed++
		must.Be(t, !bytes.Equal(a, dump(s)), "%+v: two seeds give the same", s)
	}
}

// TestOverlap: nearly all sessions have a transaction under way at any time.
func TestOverlap(t *testing.T) {
	h := generate(t, Spec{Txns: 5000})
	var busy, from, to int64
	from = h.Start(1)
	for x := range uint32(h.NumTxns()) {
		if x != h.Init {
			busy += h.End(x) - h.Start(x)
			to = max(to, h.End(x))
		}
	}
	if mean := float64(busy) / float64(to-from); mean < 20 || mean > 24 {
		t.Errorf("%.1f transactions under way on average; expected nearly 24", mean)
	}
}

func TestOptions(t *testing.T) {
	h := generate(t, Spec{Workload: "mix", Txns: 2000, AbortRate: 0.1, UnknownRate: 0.05, Times: NoTimes})
	var n [3]int
	for x := range uint32(h.NumTxns()) {
		if x != h.Init {
			n[h.Txns.Status[x]]++
		}
	}
	if n[history.Committed] != 2000 || n[history.Aborted] < 150 || n[history.Unknown] < 50 || n[history.Unknown] > 200 {
		t.Errorf("statuses %v", n)
	}
	if h.Txns.Start != nil || h.Ops.Start != nil || h.Txns.StartTS != nil {
		t.Error("there are times")
	}
	if !slices.IsSorted(h.Txns.Sess[1:]) {
		t.Error("without times the file's order must not tell the order of commits")
	}
	h = generate(t, Spec{Workload: "mix", Txns: 500, NoAborted: true, Isolation: "si"})
	if slices.Contains(h.Txns.Status, history.Aborted) {
		t.Error("there are aborted transactions")
	}
	h = generate(t, Spec{Txns: 500, LongTxn: true})
	long := 0
	for x := range uint32(h.NumTxns()) {
		if x != h.Init && h.End(x)-h.Start(x) > h.End(uint32(h.NumTxns())-1)*9/10 {
			long++
		}
	}
	must.Equal(t, long, 1, "transactions over the whole run")
	h = generate(t, Spec{Txns: 500, Hint: ReversedTimes, DBTimes: true})
	if order := committed(h); h.Start(order[0]) < h.Start(order[len(order)-1]) {
		t.Error("times are not reversed")
	}
}

func TestCancel(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Generate(ctx, Spec{Txns: 1 << 30}); err == nil {
		t.Error("an ended context is no error")
	}
}

// TestFences: a session's committed transactions have a fence after each so many others, and each fence reads what the
// one before it wrote.
func TestFences(t *testing.T) {
	const every = 7
	h, err := Generate(context.Background(), Spec{Workload: "smallbank", Txns: 1000, Sessions: 5, FenceEvery: every,
		Isolation: "serializable-snapshot"})
	must.OK(t, err)
	key := uint32(slices.IndexFunc(h.Keys, func(k history.Value) bool {
		return k.Kind == history.String && string(h.Texts.Text(uint32(k.N))) == "epoch/0"
	}))
	fences := 0
	read := make(map[uint32]bool)
	for s := range h.NumSessions() {
		since := 0
		for _, x := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if h.Txns.Status[x] != history.Committed || x == h.Init {
				continue
			}
			lo, hi := h.TxnOps(x)
			if h.OpKey(lo) != key {
				since++
				must.Hold(t, since <= every, "session %d: %d transactions without a fence", s, since)
				continue
			}
			if hi-lo != 2 || h.Ops.Kind[lo] != history.Read || h.Ops.Kind[lo+1] != history.Write ||
				h.OpKey(lo+1) != key {
				t.Fatalf("transaction %d is no fence", h.Txns.ID[x])
			}
			if read[h.Ops.Ver[lo]] {
				t.Errorf("transaction %d: another fence has replaced what it read", h.Txns.ID[x])
			}
			read[h.Ops.Ver[lo]] = true
			fences++
			since = 0
		}
	}
	must.Be(t, fences >= 100, "%d fences", fences)
	if _, err := Generate(context.Background(), Spec{FenceEvery: -1}); err == nil {
		t.Error("a negative number is taken")
	}
}

// TestValues: the variants with few values have about as many that were written more than once as they are made to
// have; what a number of values cannot go with is refused.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		spec   Spec
		lo, hi int
	}{
		{Spec{Workload: "mix", Variant: "blind"}, 1200, 1700},
		{Spec{Workload: "mix", Variant: "blind-heavy"}, 2300, 3100},
		{Spec{Workload: "mix", Variant: "duplicates"}, 6700, 8700},
		{Spec{Workload: "mix", Variant: "duplicates", Values: 1}, 3100, 3600},
		{Spec{Workload: "mix", Variant: "uniform"}, 0, 0},
	} {
		c.spec.Times, c.spec.Sessions, c.spec.NoAborted, c.spec.Seed = NoTimes, 25, true, 7
		h := generate(t, c.spec)
		times := make([]int, h.NumVersions())
		twice := 0
		for op, k := range h.Ops.Kind {
			if k == history.Write {
				if times[h.Ops.Ver[op]]++; times[h.Ops.Ver[op]] == 2 {
					twice++
				}
			}
		}
		if twice < c.lo || twice > c.hi {
			t.Errorf("%s with %d values: %d values were written more than once; want %d to %d", c.spec.Variant,
				c.spec.Values, twice, c.lo, c.hi)
		}
	}
	for _, s := range []Spec{
		{Workload: "blindw-pred", Values: 3},
		{Workload: "list-append", Values: 3},
		{Workload: "mix", Values: -1},
		{Workload: "mix", Values: 3, Fault: "lost-update"},
	} {
		if _, err := Generate(context.Background(), s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
