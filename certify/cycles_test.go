package certify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// proves is the naive twin of the check of cycles, for histories in which every read has one possible writer and no
// outcome is unknown: it goes through all orders of the pairs of writers.
func proves(h *history.History, l level.Level, cycles [][]evidence.Edge) bool {
	n := uint32(h.NumTxns())
	first := func(t, k uint32) (read, last uint32) { // the version t read of others, and the one it installs
		read, last = history.None, history.None
		if t >= n {
			return
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.OpKey(op) != k {
				continue
			}
			if h.Ops.Kind[op] == history.Write {
				last = h.Ops.Ver[op]
			} else if last == history.None {
				read = h.Ops.Ver[op]
			}
		}
		return
	}
	writer := func(v uint32) uint32 { // of a version, None for the initial one
		for t := range n {
			if _, last := first(t, h.VerKey[v]); last == v {
				return t
			}
		}
		return history.None
	}
	// session or real time
	ordered := func(a, b uint32, dep evidence.Dep) bool {
		if dep == evidence.RT {
			return l.RealTime() && h.End(a) < h.Start(b)
		}
		s := h.SessTxn[h.SessOff[h.Txns.Sess[a]]:h.SessOff[h.Txns.Sess[a]+1]]
		return l.Sessions() && a != b && h.Txns.Sess[a] == h.Txns.Sess[b] && slices.Index(s, a) < slices.Index(s, b)
	}
	type pair struct{ a, b uint32 }
	var needs [][]pair
	for _, c := range cycles {
		var need []pair
		for i, e := range c {
			next := c[(i+1)%len(c)]
			if e.To != next.From || e.From == e.To || e.From >= n || e.To >= n {
				return false
			}
			overlaps := func(e evidence.Edge) bool { // of two writers of a key one commits before the other begins
				if e.Dep != evidence.RW || int(e.From) >= h.NumTxns() {
					return e.Dep == evidence.RW
				}
				_, wrote := first(e.From, e.Key)
				return wrote == history.None
			}
			if l.Snapshot() && overlaps(e) && overlaps(next) {
				return false
			}
			if e.Dep == evidence.SO || e.Dep == evidence.RT {
				if !ordered(e.From, e.To, e.Dep) {
					return false
				}
				continue
			}
			if int(e.Key) >= h.NumKeys() || int(e.Ver) >= h.NumVersions() || h.VerKey[e.Ver] != e.Key {
				return false
			}
			readFrom, lastFrom := first(e.From, e.Key)
			readTo, lastTo := first(e.To, e.Key)
			switch e.Dep {
			case evidence.WR:
				if readTo != e.Ver || lastFrom != e.Ver || h.InitVer[e.Key] == e.Ver {
					return false
				}
			case evidence.WW:
				if lastTo != e.Ver || lastFrom == history.None {
					return false
				}
				need = append(need, pair{e.From, e.To})
			case evidence.RW:
				if readFrom != e.Ver || lastTo == history.None || writer(e.Ver) != e.Writer || e.Writer == e.To ||
					e.Writer == e.From {
					return false
				}
				if e.Writer != history.None {
					need = append(need, pair{e.Writer, e.To})
				}
			default:
				return false
			}
		}
		if len(c) == 0 {
			return false
		}
		needs = append(needs, need)
	}
	var open []pair
	fixed := map[pair]bool{}
	for _, need := range needs {
		for _, p := range need {
			a, b := min(p.a, p.b), max(p.a, p.b)
			if slices.Contains(open, pair{a, b}) || fixed[pair{a, b}] || fixed[pair{b, a}] {
				continue
			}
			before := func(a, b uint32) bool {
				for k := range uint32(h.NumKeys()) {
					read, _ := first(b, k)
					if _, last := first(a, k); last != history.None && last == read {
						return true
					}
				}
				return ordered(a, b, evidence.SO) || ordered(a, b, evidence.RT)
			}
			switch ab, ba := before(a, b), before(b, a); {
			case ab == ba:
				open = append(open, pair{a, b})
			case ab:
				fixed[pair{a, b}] = true
			default:
				fixed[pair{b, a}] = true
			}
		}
	}
	for world := range 1 << len(open) {
		refuted := false
		for _, need := range needs {
			all := true
			for _, p := range need {
				if i := slices.Index(open, pair{p.a, p.b}); i >= 0 {
					all = all && world>>i&1 == 0
				} else if i := slices.Index(open, pair{p.b, p.a}); i >= 0 {
					all = all && world>>i&1 == 1
				} else {
					all = all && fixed[p]
				}
			}
			refuted = refuted || all
		}
		if !refuted {
			return false
		}
	}
	return true
}

// Cycles, right and mutilated, are accepted exactly if they prove a violation.
func TestCycles(t *testing.T) {
	accepted, refused, several := 0, 0, 0
	histtest.Each(t, histtest.Long[uint64](12_000, 360_000), func(seed uint64) *history.History {
		return oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 1 + int(seed%3), Sessions: 4, Ops: 5})
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l := six[rng.IntN(len(six))]
		r := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
		if r.Verdict != evidence.Violated || len(r.Anomalies[0].Ops) > 0 {
			return
		}
		right := r.Anomalies[0]
		if len(right.Cycles) > 0 {
			several++
		}
		for i := range 20 {
			a := evidence.Anomaly{Kind: right.Kind, Cycle: slices.Clone(right.Cycle)}
			for _, c := range right.Cycles {
				a.Cycles = append(a.Cycles, slices.Clone(c))
			}
			if i > 0 {
				mutate(rng, h, &a)
			}
			cycles := slices.Clone(a.Cycles)
			if len(a.Cycle) > 0 {
				cycles = append(cycles, a.Cycle)
			}
			for _, c := range cycles {
				for _, e := range c {
					who := []uint32{e.From, e.To}
					if e.Dep == evidence.RW && e.Writer != h.Init {
						who = append(who, e.Writer)
					}
					for _, u := range who {
						if !slices.Contains(a.Txns, u) && int(u) < h.NumTxns() {
							a.Txns = append(a.Txns, u)
						}
					}
				}
			}
			want := len(cycles) > 0 && proves(h, l, cycles)
			if rng.IntN(2) == 0 {
				a.Kind = ""
			}
			r.Anomalies = []evidence.Anomaly{a}
			names, err := certify.Names(r, certify.Options{})
			if want && err == nil {
				if a.Kind = a.Named(h, l, 0); names[0] != a.Kind {
					t.Fatalf("seed %d, %s: named %s, expected %s: %+v\n%s", seed, l, names[0], a.Kind, a,
						oracletest.String(h))
				}
				r.Anomalies[0].Kind = ""
				if err := certify.Check(r, certify.Options{}); err != nil {
					t.Fatalf("seed %d, %s: %+v: %v\n%s", seed, l, a, err, oracletest.String(h))
				}
				r.Anomalies[0].Kind = a.Kind
				err = certify.Check(r, certify.Options{})
			}
			if (err == nil) != want {
				t.Fatalf("seed %d, %s: %+v\nproves: %v, certify: %v\n%s", seed, l, a, want, err, oracletest.String(h))
			}
			if want {
				accepted++
			} else {
				refused++
			}
		}
	})
	t.Logf("%d accepted, %d refused, %d proofs by cases", accepted, refused, several)
	if histtest.Whole() && (accepted < 1000 || refused < 3000 || several < 50) {
		t.Error("too few of one kind")
	}
}

// mutate changes one thing in the cycles.
func mutate(rng *rand.Rand, h *history.History, a *evidence.Anomaly) {
	all := [][]evidence.Edge{a.Cycle}
	all = append(all, a.Cycles...)
	all = slices.DeleteFunc(all, func(c []evidence.Edge) bool { return len(c) == 0 })
	c := all[rng.IntN(len(all))]
	e := &c[rng.IntN(len(c))]
	txn := uint32(rng.IntN(h.NumTxns() + 1))
	switch rng.IntN(9) {
	case 0:
		e.From = txn
	case 1:
		e.To = txn
	case 2:
		e.Key = uint32(rng.IntN(h.NumKeys() + 1))
	case 3:
		e.Ver = uint32(rng.IntN(h.NumVersions() + 1))
	case 4:
		e.Writer = txn
		if rng.IntN(2) == 0 {
			e.Writer = history.None
		}
	case 5:
		e.Dep = evidence.Dep(rng.IntN(int(evidence.RW) + 1))
	case 6: // leave out an edge
		if len(a.Cycle) > 0 {
			i := rng.IntN(len(a.Cycle))
			a.Cycle = slices.Delete(a.Cycle, i, i+1)
		}
	case 7: // leave out a cycle
		if n := len(a.Cycles); n > 0 {
			i := rng.IntN(n)
			a.Cycles = slices.Delete(a.Cycles, i, i+1)
		} else {
			a.Cycle = nil
		}
	case 8: // turn an edge of one cycle into another's
		d := all[rng.IntN(len(all))]
		*e = d[rng.IntN(len(d))]
	}
}

// Nothing proves a violation of a history that has none: anomalies made up at random are refused on histories that
// hold, of every shape. Of those that do not hold, the proof by definition is accepted.
func TestNoProofAgainstValid(t *testing.T) {
	kinds := []level.Anomaly{level.ThinAirRead, level.G1a, level.G1b, level.FutureRead, level.NotMyOwnWrite,
		level.NotMyLastWrite, level.NonRepeatableRead}
	histtest.Each(t, histtest.Long[uint64](1000, 40_000), func(seed uint64) *history.History {
		return oracletest.Random(seed, shapes[seed%uint64(len(shapes))])
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l := six[rng.IntN(len(six))]
		r := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
		if r.Verdict != evidence.Holds {
			must.OK(t, certify.Check(r, certify.Options{}), "seed %d, %s", seed, l)
			return
		}
		r.Verdict, r.Order = evidence.Violated, nil
		arcs := likely(h)
		for range 30 {
			var a evidence.Anomaly
			if rng.IntN(3) == 0 {
				a.Kind = kinds[rng.IntN(len(kinds))]
				for range 1 + rng.IntN(2) {
					a.Ops = append(a.Ops, uint32(rng.IntN(h.NumOps())))
				}
			} else {
				for range 1 + rng.IntN(3) {
					if c := walk(rng, arcs); c != nil {
						a.Cycles = append(a.Cycles, c)
					}
				}
			}
			a.Complete(h, r.Level, 0)
			r.Anomalies = []evidence.Anomaly{a}
			if err := certify.Check(r, certify.Options{}); err == nil {
				t.Fatalf("seed %d, %s: %+v\nis accepted against\n%s", seed, l, a, oracletest.String(h))
			}
		}
	})
}

// likely lists edges that may hold in some order of the versions.
func likely(h *history.History) []evidence.Edge {
	var out []evidence.Edge
	n := uint32(h.NumTxns())
	none := history.None
	for a := range n {
		for b := range n {
			if a == b {
				continue
			}
			out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.SO, Key: none, Ver: none, Writer: none},
				evidence.Edge{From: a, To: b, Dep: evidence.RT, Key: none, Ver: none, Writer: none})
			lo, hi := h.TxnOps(a)
			for op := lo; op < hi; op++ {
				lo, hi := h.TxnOps(b)
				for other := lo; other < hi; other++ {
					k := h.OpKey(op)
					if h.OpKey(other) != k {
						continue
					}
					last := func(op uint32) uint32 {
						v := h.Ops.Ver[op]
						if h.Ops.Kind[op] != history.ReadList {
							return v
						}
						if l := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]; len(l) > 0 {
							return l[len(l)-1]
						}
						return none
					}
					writes := func(op uint32) bool {
						return h.Ops.Kind[op] == history.Write || h.Ops.Kind[op] == history.Append
					}
					switch {
					case writes(op) && writes(other):
						out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.WW, Key: k, Ver: last(other),
							Writer: none})
					case writes(op):
						out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.WR, Key: k, Ver: last(op),
							Writer: none})
					case writes(other):
						out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.RW, Key: k, Ver: last(op),
							Writer: none})
						for w := range n {
							out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.RW, Key: k, Ver: last(op),
								Writer: w})
						}
					}
				}
			}
		}
	}
	return out
}

// walk finds a closed walk.
func walk(rng *rand.Rand, arcs []evidence.Edge) []evidence.Edge {
	if len(arcs) == 0 {
		return nil
	}
	c := []evidence.Edge{arcs[rng.IntN(len(arcs))]}
	for range 200 {
		e := arcs[rng.IntN(len(arcs))]
		if e.From != c[len(c)-1].To {
			continue
		}
		if c = append(c, e); e.To == c[0].From {
			return c
		}
		if len(c) == 5 {
			c = c[:1]
		}
	}
	return nil
}

// The fixture that no unit reasoning solves: whichever of a and b come first, two pairs of readers disagree, so four
// cycles, one for each of the four ways to order two pairs of writers, prove it and no three do.
func TestProofByCases(t *testing.T) {
	h := oracletest.Parse(`
T1: w(x,1) w(p5,1) w(p7,1)
T2: w(x,2) w(p1,1) w(p3,1)
T3: r(x,1) r(p2,1)
T4: r(x,1) r(p6,1)
T5: r(x,2) r(p4,1)
T6: r(x,2) r(p8,1)
T7: w(y,1) w(p6,1) w(p8,1)
T8: w(y,2) w(p2,1) w(p4,1)
T9: r(y,1) r(p1,1)
T10: r(y,1) r(p5,1)
T11: r(y,2) r(p3,1)
T12: r(y,2) r(p7,1)`)
	for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
		r := must.Get(oracle.Check(h, oracle.Options{Level: l, MaxTxns: 12}))(t)
		must.Same(t, r.Verdict, evidence.Violated, "%s", l)
		a := r.Anomalies[0]
		must.Be(t, a.Kind == level.NoOrder && len(a.Cycles) == 4 && len(a.Cycle) == 0, "%s: %s", l, a.Text)
		must.OK(t, certify.Check(r, certify.Options{}))
		for i := range 4 {
			b := a
			b.Cycles = slices.Delete(slices.Clone(a.Cycles), i, i+1)
			b.Txns = nil
			b.Complete(h, r.Level, 0)
			r.Anomalies = []evidence.Anomaly{b}
			if err := certify.Check(r, certify.Options{}); err == nil {
				t.Errorf("the proof is accepted without case %d", i+1)
			}
		}
	}
	// One of the two that may have written x = 1 contradicts itself, and the other one comes later in the session.
	h = oracletest.Parse("T1 s1: r(x,1)\nT2 s1: w(x,1) w(d,1)\nT3 UNKNOWN: w(d,1) r(d,0) w(x,1)")
	none, x := history.None, h.Ops.Ver[0]
	a := evidence.Anomaly{Cycle: []evidence.Edge{{From: 1, To: 0, Dep: evidence.WR, Key: h.VerKey[x], Ver: x,
		Writer: none}, {From: 0, To: 1, Dep: evidence.SO, Key: none, Ver: none, Writer: none}}}
	a.Complete(h, level.SessionSerializable, 0)
	must.OK(t, certify.Check(&evidence.Result{H: h, Level: level.SessionSerializable, Verdict: evidence.Violated,
		Anomalies: []evidence.Anomaly{a}}, certify.Options{}))
}
