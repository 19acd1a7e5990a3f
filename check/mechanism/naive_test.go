package mechanism

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

type naiveVersion struct {
	c, d int64
	val  uint64
}

func (r *drawn) versions() [][]naiveVersion {
	out := make([][]naiveVersion, r.Keys)
	for k := range out {
		out[k] = []naiveVersion{{-Forever, -Forever, 0}}
	}
	for _, t := range r.Txns {
		if t.Kind == Abort {
			continue
		}
		for _, op := range t.Ops {
			if op.Kind == Write {
				out[op.Key] = append(out[op.Key], naiveVersion{t.C, t.D, op.Val})
			}
		}
	}
	return out
}

// at reports whether version i can be the newest at moment s: it may have been installed, and none that was surely
// installed later was surely there ([Leopard] §V-A, the five categories).
func at(vers []naiveVersion, i int, s int64) bool {
	v := vers[i]
	if v.c > s {
		return false
	}
	for _, w := range vers {
		if v.d < w.c && w.d < s {
			return false
		}
	}
	return true
}

// explained reports whether some moment of [a, b] explains all the reads.
func explained(vers [][]naiveVersion, reads []Trace, a, b int64) bool {
	for s := a; s <= b; s++ {
		all := true
		for _, op := range reads {
			some := false
			for i, v := range vers[op.Key] {
				some = some || v.val == op.Val && at(vers[op.Key], i, s)
			}
			all = all && some
		}
		if all {
			return true
		}
	}
	return false
}

// missed calls f for each committed transaction that surely wrote after what a read of transaction id saw, and the
// read.
func (r *drawn) missed(id int, f func(w int, read Trace)) {
	for _, op := range r.Txns[id].Ops {
		if op.Kind != Read {
			continue
		}
		d, known := int64(-Forever), op.Val == 0
		for _, x := range r.Txns {
			for _, o := range x.Ops {
				if o.Kind == Write && o.Key == op.Key && o.Val == op.Val {
					d, known = x.D, x.Kind == Commit
				}
			}
		}
		for w, x := range r.Txns {
			for _, o := range x.Ops {
				if known && w != id && x.Kind == Commit && o.Kind == Write && o.Key == op.Key && d < x.C {
					f(w, op)
				}
			}
		}
	}
}

// fractured reports whether a transaction saw some of what another wrote, and missed some.
func (r *drawn) fractured(id int) (found bool) {
	r.missed(id, func(w int, _ Trace) {
		for _, op := range r.Txns[id].Ops {
			for _, o := range r.Txns[w].Ops {
				found = found || op.Kind == Read && o.Kind == Write && o.Key == op.Key && o.Val == op.Val
			}
		}
	})
	return found
}

func TestConsistentReadIsTheDefinition(t *testing.T) {
	bad, good, broken := 0, 0, 0
	randtest.Values(t, 4*seeds(), func(seed uint64) *drawn {
		return draw(seed, 2+int(seed%4), 30, 3)
	}, func(t testing.TB, seed uint64, r *drawn) {
		vers := r.versions()
		for _, p := range []Profile{
			{Reads: TransactionReads, Snapshot: AtFirstStatement}, {Reads: TransactionReads, Snapshot: AtBegin},
			{Reads: StatementReads},
		} {
			rep := r.run(Options{Profile: p})
			flagged := map[uint64]bool{}
			for _, x := range rep.Violations {
				flagged[x.Txns[0]] = true
			}
			for id, x := range r.Txns {
				if x.Kind != Commit || len(x.Ops) == 0 {
					continue
				}
				reads := slice.Filter(x.Ops, func(op Trace) bool { return op.Kind == Read })
				want := false
				switch {
				case p.Reads == StatementReads:
					for _, op := range reads {
						want = want || !explained(vers, []Trace{op}, op.Bef, op.Aft)
					}
				case p.Snapshot == AtBegin:
					want = !explained(vers, reads, x.Start, x.Ops[0].Aft)
				default:
					want = !explained(vers, reads, x.Ops[0].Bef, x.Ops[0].Aft)
				}
				if !want && p.Reads == TransactionReads && r.fractured(id) {
					want = true
					broken++
				}
				if want {
					bad++
				} else {
					good++
				}
				if flagged[uint64(id)] != want {
					t.Fatalf("seed %d, %s %s: transaction %d: violation %v, by definition %v", seed, p.Reads,
						p.Snapshot, id, flagged[uint64(id)], want)
				}
			}
		}
	})
	randtest.Mix(t, broken < 20, "only %d fractured reads that no interval shows", broken)
	randtest.Mix(t, bad < 500 || good < 500,
		"%d violations and %d correct transactions: one of the two is hardly tested", bad, good)
}

// locksOf are the lock requests of a transaction: writes but the last of one that did not commit, and reads.
func (x *drawnTxn) locksOf(shared bool) (ops []Trace, rel int64) {
	last := -1
	for i, op := range x.Ops {
		if op.Kind == Write {
			last = i
		}
	}
	rel = x.C
	if x.Kind != Commit {
		rel = x.Start
		if n := len(x.Ops); n > 0 {
			rel = x.Ops[n-1].Bef
		}
	}
	for i, op := range x.Ops {
		if op.Kind == Write && (x.Kind == Commit || i != last) || op.Kind == Read && shared {
			ops = append(ops, op)
		}
	}
	return ops, rel
}

func TestMutualExclusionIsTheDefinition(t *testing.T) {
	total := 0
	randtest.Values(t, seeds(), func(seed uint64) *drawn {
		return draw(seed, 2+int(seed%5), 40, 3)
	}, func(t testing.TB, seed uint64, r *drawn) {
		for _, shared := range []bool{false, true} {
			want := 0
			for i := range r.Txns {
				for j := range i {
					a, relA := r.Txns[i].locksOf(shared)
					b, relB := r.Txns[j].locksOf(shared)
					for _, x := range a {
						for _, y := range b {
							// a before b needs that a can have released when b acquires.
							if x.Key == y.Key && (x.Kind == Write || y.Kind == Write) && relA >= y.Aft &&
								relB >= x.Aft {
								want++
							}
						}
					}
				}
			}
			rep := r.run(Options{Profile: Profile{Reads: NoReads, WriteLocks: true, ReadLocks: shared}})
			must.Hold(t, rep.Found[MutualExclusion] == want && rep.Total() == want,
				"seed %d, shared %v: %v violations, by definition %d", seed, shared, rep.Found, want)
			total += want
		}
	})
	randtest.Mix(t, total < 300, "only %d violations", total)
}

func TestFirstUpdaterWinsIsTheDefinition(t *testing.T) {
	total, byReads := 0, 0
	randtest.Values(t, seeds(), func(seed uint64) *drawn {
		return draw(seed, 2+int(seed%5), 40, 3)
	}, func(t testing.TB, seed uint64, r *drawn) {
		want := 0
		for i, x := range r.Txns {
			for _, y := range r.Txns[:i] {
				if x.Kind != Commit || y.Kind != Commit {
					continue
				}
				for _, a := range x.Ops {
					for _, b := range y.Ops {
						if a.Kind == Write && b.Kind == Write && a.Key == b.Key && x.C >= y.Ops[0].Aft &&
							y.C >= x.Ops[0].Aft {
							want++
						}
					}
				}
			}
		}
		rep := r.run(Options{Profile: Profile{Reads: TransactionReads, Snapshot: AtFirstStatement,
			FirstUpdaterWins: true}})
		got := 0
		shown := map[uint64]bool{} // lost an update of another, as a read shows
		for _, v := range rep.Violations {
			switch {
			case v.Mechanism == FirstUpdaterWins && len(v.Ops) == 2:
				got++
			case v.Mechanism == FirstUpdaterWins:
				shown[v.Txns[1]] = true
			case v.Mechanism == ConsistentRead:
				shown[v.Txns[0]] = true // its reads show something else, perhaps in place of that
			}
		}
		must.Equal(t, got, want, "seed %d: %v; violations", seed, rep.Found)
		total += want
		for id, x := range r.Txns {
			if x.Kind != Commit || shown[uint64(id)] {
				continue
			}
			r.missed(id, func(w int, read Trace) {
				y := &r.Txns[w]
				for _, a := range x.Ops {
					for _, b := range y.Ops {
						// Its commit is not before the other's snapshot, and the other's not before its own, as the
						// read says.
						if a.Kind == Write && b.Kind == Write && a.Key == b.Key && x.C >= y.Ops[0].Aft {
							if y.C < x.Ops[0].Aft {
								t.Fatalf("seed %d: transaction %d missed what %d wrote, and both wrote key %d", seed,
									id, w, a.Key)
							}
						}
					}
				}
			})
		}
		for _, v := range rep.Violations {
			if v.Mechanism == FirstUpdaterWins && len(v.Ops) == 3 {
				byReads++
			}
		}
	})
	randtest.Mix(t, total < 300 || byReads < 20, "only %d violations, and %d that only a read shows", total, byReads)
}

// TestCertifierIsTheDefinition: a cycle is reported iff the deduced dependencies have one; and each one reported is
// one.
func TestCertifierIsTheDefinition(t *testing.T) {
	cyclic, acyclic := 0, 0
	randtest.Values(t, 4*seeds(), func(seed uint64) *drawn {
		return draw(seed, 2+int(seed%3), 12, 3)
	}, func(t testing.TB, seed uint64, r *drawn) {
		rep := r.run(Options{Profile: Profile{Reads: StatementReads, WriteLocks: true, Certifier: CycleCheck},
			KeepEdges: true})
		next := map[uint64][]uint64{}
		has := map[Dependency]bool{}
		for _, e := range rep.Edges {
			next[e.From] = append(next[e.From], e.To)
			has[e] = true
		}
		state := map[uint64]int{}
		var visit func(u uint64) bool
		visit = func(u uint64) bool {
			state[u] = 1
			for _, v := range next[u] {
				if state[v] == 1 || state[v] == 0 && visit(v) {
					return true
				}
			}
			state[u] = 2
			return false
		}
		want := false
		for _, e := range rep.Edges {
			want = want || state[e.From] == 0 && visit(e.From)
		}
		must.Equal(t, rep.Found[SerializationCertifier] > 0, want, "seed %d: a cycle", seed)
		if want {
			cyclic++
		} else {
			acyclic++
		}
		for _, x := range rep.Violations {
			for i, e := range x.Cycle {
				must.Hold(t, has[e] && x.Cycle[(i+1)%len(x.Cycle)].From == e.To,
					"seed %d: %v is no cycle of deduced dependencies", seed, x.Cycle)
			}
		}
	})
	randtest.Mix(t, cyclic < 50 || acyclic < 50,
		"%d cyclic, %d acyclic: one of the two is hardly tested", cyclic, acyclic)
}

// TestPruningLosesNothingHere: with pruning at every transaction the same is found as without, but for cycles through
// transactions that violations entered late (errata L11), of which there may be fewer.
func TestPruningLosesNothingHere(t *testing.T) {
	randtest.Seeds(t, seeds()/5, func(t testing.TB, seed uint64) {
		r := draw(seed, 4, 300, 4)
		p := Profile{Reads: TransactionReads, Snapshot: AtFirstStatement, WriteLocks: true, ReadLocks: true,
			FirstUpdaterWins: true, Certifier: CycleCheck}
		all := r.run(Options{Profile: p, NoPrune: true, MaxViolations: 1 << 20})
		v := NewVerifier(r.Clients, Options{Profile: p, MaxViolations: 1 << 20})
		left := r.streams()
		merge(len(left), func(i int, after int64) ([]Trace, int64) {
			b := left[i]
			left[i] = nil
			if len(b) == 0 {
				return nil, Forever
			}
			return b, after
		}, func(i int, b []Trace) {
			for j := range b {
				v.due = 0
				v.Dispatch(i, b[j:j+1])
			}
		})
		pruned := v.Close()
		for m := range all.Found {
			if m := Mechanism(m); all.Found[m] != pruned.Found[m] && !(m == SerializationCertifier &&
				pruned.Found[m] < all.Found[m]) {
				t.Fatalf("seed %d: %v with pruning, %v without", seed, pruned.Found, all.Found)
			}
		}
		if seed > 20 && pruned.PeakTxns >= all.PeakTxns {
			t.Fatalf("seed %d: pruning kept %d transactions of %d", seed, pruned.PeakTxns, all.PeakTxns)
		}
	})
}

// TestStaleReadIsADependency: where no consistent read is promised, a read of what is overwritten, the initial value
// among it, is followed by who overwrote it.
func TestStaleReadIsADependency(t *testing.T) {
	at := func(kind Kind, moment int64, val uint64) Trace {
		return Trace{Bef: moment, Aft: moment + 1, Kind: kind, Val: val}
	}
	write := drawnTxn{Client: 0, Start: 1, C: 20, D: 21, Kind: Commit, Ops: []Trace{at(Write, 10, 5)}}
	again := drawnTxn{Client: 0, Start: 25, C: 40, D: 41, Kind: Commit, Ops: []Trace{at(Write, 30, 6)}}
	for _, stale := range []uint64{0, 5} {
		read := drawnTxn{Client: 1, Start: 50, C: 70, D: 71, Kind: Commit, Ops: []Trace{at(Read, 60, stale)}}
		r := &drawn{Clients: 2, Keys: 1, Txns: []drawnTxn{write, again, read}}
		p := Profile{Reads: NoReads, WriteLocks: true, Certifier: CycleCheck}
		rep := r.run(Options{Profile: p, KeepEdges: true})
		must.Be(t, slices.ContainsFunc(rep.Edges, func(e Dependency) bool { return e.Dep == evidence.RW }),
			"a read of %d is followed by nobody: %v", stale, rep.Edges)
	}
}

// TestCertifierIsReachability: the certifier refuses just those random edges that would close a cycle, and its order
// goes along all others.
func TestCertifierIsReachability(t *testing.T) {
	for seed := range uint64(300) {
		const n = 12
		r := rand.New(rand.NewPCG(seed, 7))
		var g certifier
		var reach [n][n]bool
		var edges [][2]uint64
		g.init(true)
		for s := range uint64(n) {
			g.add(s, s, 0, 0, 0, 0)
		}
		for range 40 {
			u, v := uint64(r.IntN(n)), uint64(r.IntN(n))
			if u == v {
				continue
			}
			if got := g.insert(u, v, 0, 0, 0) != nil; got != reach[v][u] {
				t.Fatalf("seed %d: %d→%d closes a cycle: %v", seed, u, v, got)
			}
			if reach[v][u] {
				continue
			}
			edges = append(edges, [2]uint64{u, v})
			for a := range n {
				for b := range n {
					if (a == int(u) || reach[a][u]) && (b == int(v) || reach[v][b]) {
						reach[a][b] = true
					}
				}
			}
			for _, e := range edges {
				if g.at(e[0]).ord >= g.at(e[1]).ord {
					t.Fatalf("seed %d: %d→%d goes against the order", seed, e[0], e[1])
				}
			}
		}
	}
}
