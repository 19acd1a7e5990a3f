package replay

import (
	"context"
	"errors"
	"maps"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// Refute returns cycles that prove that a small view violates the level, or none if it does not. Read as clauses "not
// all assumptions of this cycle hold", they contradict the history. The assumptions are orders of writers, writers of
// ambiguous reads, versions that predicate operations saw, and open transactions that count. It makes every choice of
// the polygraph at once, unless there are predicates, so it is for the few transactions of an explanation. Cost:
// quadratic in transactions for real time and in a key's writes, and the solver's.
func Refute(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([][]evidence.Edge, error) {
	e := &engine{v: v, h: v.H, o: Options{Level: l, Skew: skew}, si: l.Snapshot(), sessions: l.Sessions()}
	e.number()
	e.rdOff, e.rd = v.Readers(e.txn)
	if m, err := newMatcher(v); err != nil {
		return nil, err
	} else if m != nil {
		e.preds = newPredReads(e, m)
	}
	x := &refuter{engine: e, why: make(map[[2]int32]evidence.Edge)}
	x.knownEdges()
	n := int32(len(e.txn))
	if e.si {
		n *= 2
	}
	e.total = int(n)
	if c := x.knownCycle(); c != nil {
		return [][]evidence.Edge{c}, nil
	}
	e.log.read = none
	e.s = solver.New(solver.Options{Proof: &e.log})
	e.top = e.s.NewVar()
	e.s.AddClause(solver.Pos(e.top))
	e.pair = make(map[[2]uint32]solver.Var)
	e.extra = make(map[[3]uint32]bool)
	e.openOutcomes()
	e.ord = order.New(e.total)
	if e.preds != nil {
		return x.asNeeded(ctx)
	}
	x.everything()
	ord := order.New(e.total)
	for _, k := range x.edges {
		ord.AddEdge(k[0], k[1], -1)
	}
	e.pk = acyclic.NewPK(e.s, ord, nil, acyclic.PKOptions{})
	if c := e.pk.Add(e.guards...); c != nil {
		e.lemma(c)
	}
	switch e.s.Solve(ctx) {
	case solver.Sat:
		return nil, nil
	case solver.Unknown:
		return nil, stopCause(ctx)
	}
	return x.proof(ctx)
}

// proof returns the cycles of the refutation.
func (x *refuter) proof(ctx context.Context) (out [][]evidence.Edge, err error) {
	core, _, status := x.core(ctx)
	switch status {
	case solver.Sat:
		return nil, errors.New("replay: the refutation's lemmas do not contradict each other")
	case solver.Unknown:
		return nil, stopCause(ctx)
	}
	return slice.Map(core, x.cycleOf), nil
}

// stopCause says why a solver without a budget gave no answer.
func stopCause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return ErrNoRoom
}

// asNeeded is the rest of Refute for views with predicate operations. All their choices would be too many, so it makes
// those of reads that fail in a replay, round by round.
func (x *refuter) asNeeded(ctx context.Context) ([][]evidence.Edge, error) {
	e := x.engine
	for _, k := range x.edges {
		e.ord.AddEdge(k[0], k[1], -1)
	}
	e.pk = acyclic.NewPK(e.s, e.ord, nil, acyclic.PKOptions{})
	var failed []failure
	for {
		failed = e.preds.replay(e.ord.Topological(), e.counted, failed[:0])
		if len(failed) == 0 {
			return nil, nil
		}
		before := e.learned()
		for _, f := range failed {
			if f.read != none && f.read >= uint32(len(e.v.RW)) {
				e.selectAll(f.read, e.reader(f.read), f.found)
			} else {
				e.constrain(f)
			}
		}
		if e.learned() == before {
			return nil, errStuck
		}
		if c := e.pk.Add(e.guards...); c != nil {
			e.lemma(c)
		}
		e.guards = e.guards[:0]
		switch e.s.Solve(ctx) {
		case solver.Unknown:
			return nil, stopCause(ctx)
		case solver.Unsat:
			x.reasons(e.pk.Guards())
			return x.proof(ctx)
		}
	}
}

type refuter struct {
	*engine
	edges [][2]int32
	why   map[[2]int32]evidence.Edge // known edge → its reason
	says  []evidence.Edge            // guard → its reason
}

func (x *refuter) add(u, v int32, w evidence.Edge) {
	k := [2]int32{u, v}
	if _, ok := x.why[k]; !ok {
		x.why[k] = w
		x.edges = append(x.edges, k)
	}
}

func edge(from, to uint32, dep evidence.Dep) evidence.Edge {
	return evidence.Edge{From: from, To: to, Dep: dep, Key: none, Ver: none, Writer: none}
}

// onWrite returns an edge about write w: for WR and RW w was read, for WW To installs it.
func (x *refuter) onWrite(from, to uint32, dep evidence.Dep, w uint32) evidence.Edge {
	e := edge(from, to, dep)
	e.Key, e.Ver = x.v.WKey[w], x.v.WVer[w]
	if dep == evidence.RW {
		e.Writer = x.v.WTxn[w]
	}
	return e
}

// onPredicate returns an edge of a predicate operation's read of one key.
func (x *refuter) onPredicate(from, to uint32, b about) evidence.Edge {
	k := x.preds.asked[b.read-uint32(len(x.v.RW))]
	e := edge(from, to, evidence.PWR)
	e.Key, e.Ver, e.Op = k.key, x.v.WVer[b.a], x.preds.op[k.q]
	if b.a != b.b {
		e.Dep, e.Writer = evidence.PRW, x.v.WTxn[b.a]
	}
	return e
}

// inner marks the edge from begin to commit of one transaction. Cycles in evidence do not show it.
const inner = evidence.Dep(255)

// knownEdges collects the edges that need no assumption. If an edge has several reasons, the first one stays.
func (x *refuter) knownEdges() {
	e, v := x.engine, x.v
	for i, t := range e.txn {
		if e.si {
			x.add(2*int32(i), 2*int32(i)+1, evidence.Edge{From: t, To: t, Dep: inner})
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != none && !v.Initial(w) {
				x.add(e.commit(e.writer(w)), e.begin(int32(i)), x.onWrite(v.WTxn[w], t, evidence.WR, w))
			}
		}
	}
	for _, w := range x.laterWrites() {
		for _, r := range e.readersOf(v.WKey[w]) { // readers of the key's initial version
			if u := e.writer(w); u != r && !e.open[r] {
				x.add(e.begin(r), e.commit(u), x.onWrite(e.txn[r], e.txn[u], evidence.RW, v.WKey[w]))
			}
		}
	}
	x.fixed(func(u, v int32, dep evidence.Dep, a, b uint32) { x.add(u, v, edge(a, b, dep)) })
}

// fixed calls f for each graph edge of session order and real time, with its kind and its transactions.
func (e *engine) fixed(f func(u, v int32, dep evidence.Dep, a, b uint32)) {
	e.inSessions(func(last, i int32) { f(e.commit(last), e.begin(i), evidence.SO, e.txn[last], e.txn[i]) })
	if e.o.Level.RealTime() {
		for i, a := range e.txn {
			_, end := e.h.Window(a, e.o.Skew)
			for j, b := range e.txn {
				if start, _ := e.h.Window(b, e.o.Skew); end < start {
					f(e.commit(int32(i)), e.begin(int32(j)), evidence.RT, a, b)
				}
			}
		}
	}
}

// laterWrites returns all writes except the initial ones.
func (e *engine) laterWrites() []uint32 {
	var out []uint32
	for _, t := range e.txn {
		for w := e.v.WOff[t]; w < e.v.WOff[t+1]; w++ {
			out = append(out, w)
		}
	}
	return out
}

// byKey groups writes by their keys.
func (e *engine) byKey(ws []uint32) map[uint32][]uint32 {
	by := make(map[uint32][]uint32)
	for _, w := range ws {
		by[e.v.WKey[w]] = append(by[e.v.WKey[w]], w)
	}
	return by
}

// everything makes all choices: each pair of writes of a key, every reader, every selection.
func (x *refuter) everything() {
	e, v := x.engine, x.v
	ws := x.laterWrites()
	byKey := e.byKey(ws)
	for _, w := range ws {
		for _, c := range byKey[v.WKey[w]] {
			if c > w && e.writer(c) != e.writer(w) {
				e.before(w, c)
			}
		}
	}
	for i, t := range e.txn {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			a := v.RW[r]
			for _, c := range byKey[e.v.RKey[r]] {
				switch {
				case a == none:
					e.selectAll(r, int32(i), c)
				case v.Initial(a) && !e.open[i]:
					// The edge is known.
				case c != a:
					e.readSaw(solver.Pos(e.top), r, int32(i), a, c)
				}
			}
		}
	}
	x.reasons(e.guards)
}

// reasons sets says, the reasons of guards.
func (x *refuter) reasons(guards []acyclic.Guard) {
	e, v := x.engine, x.v
	x.says = make([]evidence.Edge, len(e.about))
	for g, b := range e.about {
		f, to := guards[g].From, guards[g].To
		if e.si {
			f, to = f>>1, to>>1
		}
		from, into := e.txn[f], e.txn[to]
		switch {
		case b.read != none && b.read >= uint32(len(v.RW)):
			x.says[g] = x.onPredicate(from, into, b)
		case b.a == b.b:
			x.says[g] = x.onWrite(from, into, evidence.WR, b.a)
		case v.WTxn[b.a] == from: // from wrote a itself, so it is no reader of a
			x.says[g] = x.onWrite(from, into, evidence.WW, b.b)
		default:
			x.says[g] = x.onWrite(from, into, evidence.RW, b.a)
		}
	}
}

// selectAll is like ambiguous, but adds the constraint for every candidate.
func (e *engine) selectAll(r uint32, i int32, c uint32) {
	if _, ok := e.sel[r]; !ok {
		e.ambiguous(r, i, e.keyOf(r))
	}
	s := e.sel[r]
	for j, w := range s.cand {
		if w != c {
			e.readSaw(solver.Pos(s.first+solver.Var(j)), r, i, w, c)
		}
	}
}

func (x *refuter) knownCycle() []evidence.Edge {
	g := graph.BuildFunc(x.total, func(emit func(u, v int32)) {
		for _, k := range x.edges {
			emit(k[0], k[1])
		}
	})
	if _, acyclic := graph.Topological(g); acyclic {
		return nil
	}
	var best []evidence.Edge
	for _, k := range x.edges {
		if c := x.path(k[1], k[0], nil); c != nil || k[0] == k[1] {
			c = x.trim(append([]evidence.Edge{x.why[k]}, c...))
			if best == nil || len(c) < len(best) {
				best = c
			}
		}
	}
	return best
}

// cycleOf returns a shortest cycle of known edges and guards whose literals a lemma negates.
func (x *refuter) cycleOf(lemma []solver.Lit) []evidence.Edge {
	on := slice.Set(slice.Map(lemma, solver.Lit.Not))
	use := slice.Places[int32](x.pk.Guards(), func(g acyclic.Guard) bool { return on[g.Lit] })
	var best []evidence.Edge
	for _, i := range use {
		g := x.pk.Guards()[i]
		if c := x.path(g.To, g.From, use); c != nil {
			c = x.trim(append([]evidence.Edge{x.says[i]}, c...))
			if best == nil || len(c) < len(best) {
				best = c
			}
		}
	}
	if best == nil {
		panic("replay: a theory lemma has no cycle")
	}
	return best
}

func (x *refuter) trim(c []evidence.Edge) []evidence.Edge {
	return slices.DeleteFunc(c, func(e evidence.Edge) bool { return e.Dep == inner })
}

// path returns the reasons along a shortest path from u to v, or nil if there is none.
func (x *refuter) path(u, v int32, use []int32) (path []evidence.Edge) {
	says := make(map[[2]int32]evidence.Edge)
	for _, i := range slices.Backward(use) { // the first of several stays
		g := x.pk.Guards()[i]
		says[[2]int32{g.From, g.To}] = x.says[i]
	}
	maps.Copy(says, x.why)
	nodes := graph.ShortestPath(graph.BuildFunc(x.total, func(emit func(u, v int32)) {
		for _, k := range x.edges {
			emit(k[0], k[1])
		}
		for _, i := range use {
			emit(x.pk.Guards()[i].From, x.pk.Guards()[i].To)
		}
	}), u, v)
	for i := 1; i < len(nodes); i++ {
		path = append(path, says[[2]int32{nodes[i-1], nodes[i]}])
	}
	return path
}
