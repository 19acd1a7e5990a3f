package check_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"isovet/check/minitxn"
	"isovet/check/prepass"
	"isovet/datasets/hard"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestMinitxnDefinitions: Definitions 8 and 9 of [MTC], and what they leave out.
func TestMinitxnDefinitions(t *testing.T) {
	for _, c := range []struct {
		h, outside string
		suits      bool
	}{
		{"init=0: s1: r(x,0) | s2: r(x,0) w(x,1) | s3: r(x,1) r(y,0) w(y,1) w(x,2)", "", true},
		{"init=0: s1: r(x,0) w(x,1) w(x,2) r(x,2)", "", true},
		{"init=0: s1: r(x,0) r(y,0) r(z,0)", "", true},
		{"init=0: s1: w(x,1) r(x,1)", "transaction 1 writes \"x\" without reading it first", false},
		{"init=0: s1: r(y,0) w(x,1)", "transaction 1 writes \"x\" without reading it first", false},
		{"init=0: s1: r(x,0) w(x,1) | s2: r(x,1) w(x,0) | s3: r(x,0)", "was written more than once (Definition 9)",
			true},
		{"init=0: s1: w(x,1)! | s2: r(x,0)", "", true},
		{"s1: a(x,1)", "the history has list operations", false},
	} {
		h := notation.MustParse(c.h)
		must.Equal(t, minitxn.Suits(h), c.suits, "%s: suits", c.h)
		v := prepass.Run(h)
		if got := minitxn.Outside(v); got != c.outside && (c.outside == "" || !strings.Contains(got, c.outside)) {
			t.Errorf("%s: outside: %q; want %q", c.h, got, c.outside)
		}
	}
}

// TestMinitxnExample1: Figure 3 of [MTC], the pattern DIVERGENCE, violates serializability and snapshot isolation
// (Examples 1 and 3).
func TestMinitxnExample1(t *testing.T) {
	v := prepass.Run(notation.MustParse("init=0: s1: r(x,0) w(x,1) | s2: r(x,1) w(x,2) | s3: r(x,1) w(x,3)"))
	a := minitxn.Check(v, level.SessionSerializable, 0)
	must.Be(t, !a.Holds && len(a.Anomaly.Cycle) == 2, "serializability: %+v; want the cycle T2 RW T3 RW T2", a)
	a = minitxn.Check(v, level.SessionSnapshotIsolation, 0)
	must.Be(t, !a.Holds && len(a.Anomaly.Cycles) == 2, "snapshot isolation: %+v; want two cases", a)
}

// TestMinitxnExample2: Figure 4 of [MTC]: three read-and-writes that are linearizable, and three that are not because
// the second ended before the first began.
func TestMinitxnExample2(t *testing.T) {
	for _, c := range []struct {
		h  string
		ok bool
	}{
		{"init=0: s1: r(x,0) w(x,1) @[1,4] | s2: r(x,1) w(x,2) @[2,6] | s3: r(x,2) w(x,3) @[5,7]", true},
		{"init=0: s1: r(x,0) w(x,1) @[4,6] | s2: r(x,1) w(x,2) @[1,3] | s3: r(x,2) w(x,3) @[5,7]", false},
	} {
		h := notation.MustParse(c.h)
		if _, ok := minitxn.Chains(h, 0); ok != c.ok {
			t.Errorf("%s: linearizable %v", c.h, ok)
		}
		must.Equal(t, minitxn.Check(prepass.Run(h), level.Linearizable, 0).Holds, c.ok, "%s: by the graph", c.h)
		for _, reg := range minitxn.Registers(prepass.Run(h), 0) {
			if _, ok, err := minitxn.Search(&reg, minitxn.SearchOptions{}); ok != c.ok || err != nil {
				t.Errorf("%s: the search says %v, %v", c.h, ok, err)
			}
		}
	}
}

// permutations is linearizability by definition: every order of every subset that has all that must take part.
func permutations(reg *minitxn.Register) bool {
	n := len(reg.Ops)
	var try func(done uint, cur uint32) bool
	try = func(done uint, cur uint32) bool {
		all := true
		for i := range reg.Ops {
			all = all && (done>>i&1 != 0 || reg.Ops[i].Maybe)
		}
		if all {
			return true
		}
	next:
		for i := range n {
			op := &reg.Ops[i]
			if done>>i&1 != 0 || op.Need != history.None && op.Need != cur {
				continue
			}
			for j := range n { // nobody who ended before it began may come after it
				if done>>j&1 == 0 && !reg.Ops[j].Maybe && reg.Ops[j].Until < op.From {
					continue next
				}
			}
			after := cur
			if op.Sets != history.None {
				after = op.Sets
			}
			if try(done|1<<i, after) {
				return true
			}
		}
		return false
	}
	return try(0, reg.Initial)
}

// randomRegister has up to nine operations of few values.
func randomRegister(seed uint64) *minitxn.Register {
	rng := rand.New(rand.NewPCG(seed, 5))
	reg := &minitxn.Register{Initial: 0}
	now, cur := int64(0), uint32(0)
	for i := range 1 + rng.IntN(9) {
		now += rng.Int64N(4)
		op := minitxn.Op{Txn: uint32(i), From: now - rng.Int64N(8), Until: now + rng.Int64N(4), Need: history.None,
			Sets: history.None}
		v := uint32(rng.IntN(4))
		if rng.IntN(5) > 0 {
			v = cur
		}
		switch rng.IntN(3) {
		case 0:
			op.Need = v
		case 1:
			op.Sets = uint32(rng.IntN(4))
			cur = op.Sets
		default:
			op.Need, op.Sets = v, uint32(rng.IntN(4))
			cur = op.Sets
		}
		if rng.IntN(5) == 0 {
			op.Maybe, op.Until = true, 1<<62
		}
		reg.Ops = append(reg.Ops, op)
	}
	slices.SortStableFunc(reg.Ops, func(a, b minitxn.Op) int { return int(a.From - b.From) })
	return reg
}

// ordered reports whether the operations stand in the order in which they began, as a register has them.
func ordered(reg *minitxn.Register) bool {
	for i, op := range reg.Ops {
		if op.Until < op.From || i > 0 && op.From < reg.Ops[i-1].From {
			return false
		}
	}
	return true
}

// TestMinitxnSearch: the search finds an order exactly if one of all orders will do, whether it looks ahead or not; and
// a register fails from its first failure on, not before. Where a version is scarce, there is no order.
func TestMinitxnSearch(t *testing.T) {
	found, failed, scarce := 0, 0, 0
	n := histtest.Long[uint64](20_000, 30_000)
	randtest.Values(t, n, randomRegister, func(t testing.TB, seed uint64, reg *minitxn.Register) {
		if !ordered(reg) {
			return
		}
		want := permutations(reg)
		txns, ok, err := minitxn.Search(reg, minitxn.SearchOptions{})
		must.Hold(t, err == nil && ok == want, "seed %d: %v, %v; want %v\n%+v", seed, ok, err, want, reg.Ops)
		restore := bounds.Set("minitxn.patience", 1)
		_, ok, err = minitxn.Search(reg, minitxn.SearchOptions{})
		restore()
		must.Hold(t, err == nil && ok == want,
			"seed %d, looking ahead: %v, %v; want %v\n%+v", seed, ok, err, want, reg.Ops)
		if core := minitxn.Scarce(reg, minitxn.SearchOptions{}); len(core) > 0 {
			if scarce++; want {
				t.Fatalf("seed %d: %v are no reason\n%+v", seed, core, reg.Ops)
			}
		}
		if ok {
			found++
			must.Hold(t, len(txns) <= len(reg.Ops), "seed %d: %v", seed, txns)
			return
		}
		failed++
		last, err := minitxn.FirstFailure(reg, minitxn.SearchOptions{})
		must.Hold(t, err == nil && !permutations(reg.Prefix(last.Until)) && permutations(reg.Prefix(last.Until-1)),
			"seed %d: first failure %+v, %v\n%+v", seed, last, err, reg.Ops)
	})
	histtest.Mix(t, found < 4000 || failed < 4000 || scarce < 2000,
		"%d have an order, %d have none, of %d a version is scarce", found, failed, scarce)
}

// TestMinitxnSearchEnds: a search that is stopped or out of memory says so.
func TestMinitxnSearchEnds(t *testing.T) {
	reg := &minitxn.Register{Initial: 0}
	for i := range uint32(26) { // all at once, and a read of what is not there
		reg.Ops = append(reg.Ops, minitxn.Op{Txn: i, From: 0, Until: 100, Need: history.None, Sets: i%13 + 1})
	}
	reg.Ops = append(reg.Ops, minitxn.Op{Txn: 99, From: 200, Until: 300, Need: 77, Sets: history.None})
	stop := minitxn.SearchOptions{Stop: func() bool { return true }}
	if _, _, err := minitxn.Search(reg, stop); err != minitxn.ErrStopped {
		t.Errorf("stopped: %v", err)
	}
	if _, _, err := minitxn.Search(reg, minitxn.SearchOptions{MaxStates: 100}); err != minitxn.ErrBudget {
		t.Errorf("out of memory: %v", err)
	}
}

// TestMinitxnChainsAgainstGraph: the chains say yes exactly if the graph does, where both apply.
func TestMinitxnChainsAgainstGraph(t *testing.T) {
	yes, no := 0, 0
	histtest.Each(t, uint64(10_000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Mini: true, Single: true, Txns: 12, Keys: 3, Sessions: 6,
			Unknown: seed%2 == 0, Aborted: seed%3 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || minitxn.Outside(v) != "" {
			return
		}
		_, ok := minitxn.Chains(h, 0)
		if want := minitxn.Check(v, level.Linearizable, 0).Holds; ok != want {
			t.Fatalf("seed %d: chains say %v, the graph %v\n%s", seed, ok, want, notation.Format(h))
		}
		if ok {
			yes++
		} else {
			no++
		}
	})
	histtest.Mix(t, yes < 1000 || no < 1000, "%d yes, %d no", yes, no)
}

// zoned reports whether each version of a register has one writer, and each read is of one.
func zoned(reg *minitxn.Register) bool {
	wrote := map[uint32]bool{reg.Initial: true}
	for _, op := range reg.Ops {
		if op.Sets != history.None && wrote[op.Sets] || op.Maybe {
			return false
		}
		if op.Sets != history.None {
			wrote[op.Sets] = true
		}
	}
	for _, op := range reg.Ops {
		if op.Need != history.None && !wrote[op.Need] || op.Need == op.Sets {
			return false
		}
	}
	return ordered(reg)
}

// TestMinitxnZones: on registers whose versions have one writer each, zones find an order exactly if one of all orders
// will do, and the order keeps real time and explains every read.
func TestMinitxnZones(t *testing.T) {
	found, failed := 0, 0
	randtest.Values(t, 60_000, func(seed uint64) *minitxn.Register {
		reg := randomRegister(seed)
		wrote := map[uint32]bool{0: true}
		for i := range reg.Ops {
			op := &reg.Ops[i]
			op.Maybe = false
			if op.Sets == history.None {
				continue
			}
			if wrote[op.Sets] { // another value, which some later reads may name
				op.Sets = uint32(i) + 4
			}
			wrote[op.Sets] = true
		}
		for i := range reg.Ops {
			op := &reg.Ops[i]
			if rng := rand.New(rand.NewPCG(seed, uint64(i))); op.Need != history.None && rng.IntN(2) == 0 {
				op.Need = reg.Ops[rng.IntN(i+1)].Sets
			}
		}
		return reg
	}, func(t testing.TB, seed uint64, reg *minitxn.Register) {
		if !zoned(reg) {
			return
		}
		want := permutations(reg)
		order, ok, _ := minitxn.Zones(reg)
		must.Hold(t, ok == want, "seed %d: %v; want %v\n%+v", seed, ok, want, reg.Ops)
		if !ok {
			failed++
			return
		}
		found++
		cur, late := reg.Initial, int64(-1<<63)
		must.Same(t, len(order), len(reg.Ops), "seed %d", seed)
		for _, x := range order {
			op := reg.Ops[slices.IndexFunc(reg.Ops, func(o minitxn.Op) bool { return o.Txn == x })]
			if op.Need != history.None && op.Need != cur || op.Until < late {
				t.Fatalf("seed %d: %v is no order of\n%+v", seed, order, reg.Ops)
			}
			late = max(late, op.From)
			if op.Sets != history.None {
				cur = op.Sets
			}
		}
	})
	histtest.Mix(t, found < 2000 || failed < 2000, "%d have an order, %d have none", found, failed)
}

// TestMinitxnLargeTransactions: transactions of hundreds of operations are looked up by key, small ones one by one,
// with the same answer.
func TestMinitxnLargeTransactions(t *testing.T) {
	const n = 300
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	end := func(id int64) {
		b.EndTxn(history.TxnHead{ID: id, Session: id, Start: history.NoTime, End: history.NoTime,
			Commit: history.NoTime, StartTS: history.NoTime, CommitTS: history.NoTime})
	}
	for v := range int64(3) {
		for k := range n {
			b.Read(key(k), history.IntValue(v))
			b.Write(key(k), history.IntValue(v+1))
		}
		end(v)
	}
	b.Read(key(n-1), history.IntValue(3)) // a small one after a large one
	b.Write(key(n-1), history.IntValue(4))
	end(3)
	h := must.Get(b.Build())(t)
	v := prepass.Run(h)
	if why := minitxn.Outside(v); why != "" || !minitxn.Suits(h) {
		t.Fatalf("suits %t, outside: %s", minitxn.Suits(h), why)
	}
	if a := minitxn.Check(v, level.Serializable, 0); !a.Holds || !slices.Equal(a.Order, []uint32{0, 1, 2, 3}) {
		t.Errorf("holds %t, order %v", a.Holds, a.Order)
	}
	// A write of a key that the large transaction reads only later is blind.
	b = history.NewBuilder()
	b.Initial = history.IntValue(0)
	for k := range n {
		b.Read(key(k), history.IntValue(0))
	}
	b.Write(key(n), history.IntValue(1))
	end(0)
	b.Read(key(n), history.IntValue(1))
	end(1)
	h = must.Get(b.Build())(t)
	must.Be(t, !minitxn.Suits(h) && minitxn.Outside(prepass.Run(h)) != "",
		"a blind write in a large transaction is not noticed")
}

// TestMinitxnSearchBesideALongWrite: a write that takes as long as all others together is a choice at each of them;
// what is remembered of each is what is under way, not what was done.
func TestMinitxnSearchBesideALongWrite(t *testing.T) {
	const n = 20_000
	reg := &minitxn.Register{Initial: history.None, Ops: []minitxn.Op{{From: 0, Until: 10 * n, Need: history.None,
		Sets: 9}}}
	for i := range int64(n) {
		op := minitxn.Op{Txn: uint32(1 + i), From: 10*i + 1, Until: 10*i + 5, Need: history.None,
			Sets: uint32(i / 2 % 3)}
		if i%2 == 1 {
			op.Need, op.Sets = op.Sets, history.None
		}
		reg.Ops = append(reg.Ops, op)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	order, ok, err := minitxn.Search(reg, minitxn.SearchOptions{})
	runtime.ReadMemStats(&after)
	must.Hold(t, ok && err == nil && len(order) == n+1, "%d operations, %t, %v", len(order), ok, err)
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > 2000 {
		t.Errorf("%d bytes an operation", got)
	}
}

// TestMinitxnSearchGrows: the states that a search remembers grow with the register, also where 80 clients meet at it.
func TestMinitxnSearchGrows(t *testing.T) {
	in := must.Get(hard.Lookup("busy-register"))(t)
	for _, n := range histtest.Long([]int{400, 1000}, []int{400, 2000, 10_000}) {
		randtest.Seeds(t, 8, func(t testing.TB, seed uint64) {
			h := must.Get(in.Build(t.Context(), n, seed))(t)
			reg := &minitxn.Registers(prepass.Run(h), 0)[0]
			order, ok, err := minitxn.Search(reg, minitxn.SearchOptions{MaxStates: 20_000 + 10*n})
			must.Be(t, ok && err == nil && len(order) == n, "%d operations, seed %d: %t, %v", n, seed, ok, err)
		})
	}
}
