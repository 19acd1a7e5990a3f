package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/internal/slice"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// fewReaders is the number of a version's readers up to which a new choice orders all of them. The readers of more
// popular versions are added one by one, when their reads fail, so that no cost is quadratic in the readers.
var fewReaders = 8

// saturateAfter is the number of conflicts after which all choices are made at once, plus one for each ten
// transactions. BlindW of 100,000 transactions takes 2,400 conflicts without times, and 5,200 with random ones.
var saturateAfter = 500

// denseConflicts bounds the conflicts of the search among all choices, plus four times the conflicts before it.
const denseConflicts = 20000

// selection has the literals of an ambiguous read: first+j says that it saw candidate j.
type selection struct {
	first solver.Var
	cand  []uint32
}

// errStuck reports a fault of isovet: a round in which a read failed and no new constraint was made.
var errStuck = errors.New("replay: a read fails although the order obeys its constraint")

// ErrNoRoom says that a refutation was found whose proof is larger than a solver can hold.
var ErrNoRoom = errors.New("no order explains the history, but the proof of that is too large for a solver")

// lemmaLog keeps the theory's clauses, from which a refutation follows.
type lemmaLog struct {
	lits []solver.Lit
	off  []int32
	// inputs are the clauses of selections and outcomes. There are none without ambiguous reads.
	inputs []input
	// read is the ambiguous read whose selection is being added, or none.
	read uint32
	// ours says that the clause being added is from the theory.
	ours bool
}

// input is a clause. If it is the selection of a read, one of its possible writers, it has that read.
type input struct {
	lits []solver.Lit
	read uint32
}

// lemma adds a clause of the theory that is known before any search.
func (e *engine) lemma(c []solver.Lit) {
	e.log.Lemma(c)
	e.log.ours = true
	e.s.AddClause(c...)
	e.log.ours = false
}

func (l *lemmaLog) Lemma(c []solver.Lit) {
	l.lits = append(l.lits, c...)
	l.off = append(l.off, int32(len(l.lits)))
}
func (l *lemmaLog) Input(c []solver.Lit) {
	if !l.ours {
		l.inputs = append(l.inputs, input{slices.Clone(c), l.read})
	}
}
func (*lemmaLog) Learn([]solver.Lit)  {}
func (*lemmaLog) Delete([]solver.Lit) {}

// run is the loop. ready waits for the parts that are built in parallel with the first order.
//
// It ends, unless ctx ends first: each round either answers or makes a new constraint, and there are finitely many.
// Choices are pairs of writes; guards are (choice, reader, writer) or (read, write, later write); selections are reads;
// and those of predicate operations are (read, write).
//
// It is never stuck. An order that the solver accepts obeys the guards of all true literals, and of open choices in the
// direction that the order has. Suppose read r of a failed and found c, and its constraint existed. If the order has a
// before c, it also has r before c. If it has c before a, then r finds a or another write, whose constraint is then
// new. For a write with another one installed in between (read = none), the choice was open or against the order.
//
// No bound affects this. The bounds of saturation and of the search after it only decide whether that search answers
// first, and which facts it leaves (see escalate, which runs once). After a spent budget of conflicts the solver
// continues. A spent budget of memory ends the loop without an answer.
func (e *engine) run(ctx context.Context, ready func()) (Answer, error) {
	if e.si && e.preds != nil && e.guess == nil {
		e.preds.whenBegun()
	}
	cycle := e.firstOrder()
	ready()
	if cycle != nil {
		return Answer{Status: solver.Unsat, Seed: e.seedOfNodes(cycle)}, nil
	}
	if e.lost != nil {
		return Answer{Status: solver.Unsat, Seed: e.lost}, nil
	}
	e.log.read = none
	budget := e.o.SaturateAfter
	if e.o.AllAtOnce {
		budget = 1
	}
	if budget <= 0 {
		budget = int64(saturateAfter + len(e.txn)/10)
	}
	if e.o.NoSaturation || e.guess != nil {
		budget = 0
	}
	if e.o.GiveUpAfter > 0 {
		budget = e.o.GiveUpAfter
	}
	e.s = solver.New(solver.Options{Proof: &e.log, ConflictBudget: budget, MaxArena: e.o.bounds.arena})
	e.top = e.s.NewVar()
	e.s.AddClause(solver.Pos(e.top))
	e.pair = make(map[[2]uint32]solver.Var)
	e.extra = make(map[[3]uint32]bool)
	e.pk = acyclic.NewPK(e.s, e.ord, nil, acyclic.PKOptions{Phases: e.settling != nil})
	e.openOutcomes()
	var failed []failure
	last := 0 // failures of the round before
	for {
		e.stats.Rounds++
		solver.Spend(ctx, int64(e.total+len(e.v.RW)))
		order, err := e.round(&failed)
		if err != nil {
			return Answer{}, err
		}
		e.stats.Failed += len(failed)
		if len(failed) == 0 {
			return Answer{Status: solver.Sat, Order: e.answer(order)}, nil
		}
		if ctx.Err() != nil {
			return Answer{}, nil
		}
		several := func(f failure) bool { return f.w == none } // possible writers
		if e.later && slice.Count(failed, several) > failedLater {
			return Answer{}, errLater
		}
		if e.o.SerialFirst || e.stats.Rounds > 1 && len(failed) > max(last/2, len(e.txn)/8) { // no progress
			if a, found, err := e.serially(ctx); found || err != nil {
				return a, err
			}
		}
		last = len(failed)
		before := e.learned()
		for _, f := range failed {
			e.constrain(f)
		}
		if e.preds != nil && len(e.preds.mismatch) > 0 {
			return Answer{Status: solver.Unsat, Mismatch: e.preds.mismatch}, nil
		}
		if e.learned() == before {
			return Answer{}, errStuck
		}
		if c := e.pk.Add(e.guards...); c != nil {
			e.lemma(c)
		}
		e.guards = e.guards[:0]
		status := e.s.Solve(ctx)
		if e.o.GiveUpAfter > 0 && status != solver.Unsat && e.s.Stats().Conflicts >= budget {
			return Answer{GaveUp: ctx.Err() == nil}, nil
		}
		if budget > 0 && !e.saturated && status != solver.Unsat && ctx.Err() == nil && e.s.Stats().Conflicts >= budget {
			if e.later {
				return Answer{}, errLater
			}
			e.saturated = true
			if a, found, err := e.serially(ctx); found || err != nil {
				return a, err
			}
			if a, done, err := e.escalate(ctx, denseConflicts+4*budget); done {
				return a, err
			}
		}
		for status == solver.Unknown && ctx.Err() == nil && !e.s.Exhausted() {
			status = e.s.Solve(ctx)
		}
		switch status {
		case solver.Unknown:
			return Answer{}, nil
		case solver.Unsat:
			if !e.needSeed {
				return Answer{Status: solver.Unsat}, nil
			}
			if e.settling != nil {
				seed, err := e.settling.seedOfLemmas(ctx, e)
				return Answer{Status: solver.Unsat, Seed: seed}, err
			}
			seed, err := e.seedOfLemmas(ctx)
			return Answer{Status: solver.Unsat, Seed: seed}, err
		}
	}
}

// count adds the counts of a finished solver to the stats.
func (e *engine) count(s *solver.Solver) {
	st := s.Stats()
	e.stats.Decisions += st.Decisions
	e.stats.Conflicts += st.Conflicts
	e.stats.Propagations += st.Propagations
	e.stats.Restarts += st.Restarts
}

// learned returns a number that grows with every constraint.
func (e *engine) learned() int {
	n := len(e.about) + len(e.sel)
	if e.preds != nil {
		n += len(e.preds.made)
	}
	return n
}

// openOutcomes makes a literal "counts" for each open outcome. Its first value is false.
func (e *engine) openOutcomes() {
	if len(e.v.Open) == 0 {
		return
	}
	e.counts = make([]solver.Var, len(e.txn))
	for i := range e.txn {
		if e.open[i] {
			e.counts[i] = e.s.NewVar()
			e.s.SetPhase(e.counts[i], false)
		}
	}
}

func (e *engine) counted(i int32) bool { return e.s.Value(e.counts[i]) }

// answer turns an order of graph nodes into one of transactions or events.
func (e *engine) answer(order []int32) []uint32 {
	n := int32(len(e.txn))
	if e.si {
		n *= 2
	}
	out := make([]uint32, 0, n)
	for _, x := range order {
		if x >= n {
			continue
		}
		i := x
		if e.si {
			i >>= 1
		}
		if e.open[i] && !e.counted(i) {
			continue
		}
		if e.si {
			out = append(out, e.txn[i]<<1|uint32(x&1))
		} else {
			out = append(out, e.txn[i])
		}
	}
	return out
}

// guard adds a guard: while l holds, graph node u is before v.
func (e *engine) guard(l solver.Lit, u, v int32, a, b uint32) {
	e.guards = append(e.guards, acyclic.Guard{Lit: l, From: u, To: v})
	e.about = append(e.about, about{a, b, none})
}

// before returns the literal "write a's version is before write b's", and makes its choice if it is new. Both writes
// are of one key and by different transactions, and neither is initial.
func (e *engine) before(a, b uint32) solver.Lit {
	k := [2]uint32{min(a, b), max(a, b)}
	x, ok := e.pair[k]
	if !ok {
		x = e.s.NewVar()
		e.pair[k] = x
		e.side(solver.Pos(x), k[0], k[1])
		e.side(solver.Neg(x), k[1], k[0])
		e.s.SetPhase(x, e.ord.Less(e.commit(e.writer(k[0])), e.commit(e.writer(k[1]))))
	}
	if a < b {
		return solver.Pos(x)
	}
	return solver.Neg(x)
}

// side makes the guards of "a before b": the edge between the writers, and those from a's readers, if they are few.
func (e *engine) side(l solver.Lit, a, b uint32) {
	u, v := e.writer(a), e.writer(b)
	e.guard(l, e.commit(u), e.begin(v), a, b)
	rd := e.readersOf(a)
	if len(rd) > fewReaders {
		return
	}
	for _, r := range rd {
		if r != v && !e.open[r] {
			e.guard(l, e.begin(r), e.commit(v), a, b)
		}
	}
}

// once makes the guard of a single reader, unless it exists.
func (e *engine) once(l solver.Lit, r, v int32, a, b uint32) {
	k := [3]uint32{uint32(l), uint32(r), uint32(v)}
	if r == v || e.extra[k] {
		return
	}
	if rd := e.readersOf(a); !e.v.Initial(a) && len(rd) <= fewReaders && !e.open[r] && slices.Contains(rd, r) {
		return // side made it
	}
	e.extra[k] = true
	e.guard(l, e.begin(r), e.commit(v), a, b)
}

func (e *engine) constrain(f failure) {
	if f.read == none {
		e.before(f.found, f.w)
		return
	}
	if f.read >= uint32(len(e.v.RW)) {
		e.preds.constrain(f)
		return
	}
	i := e.reader(f.read)
	if f.w == none {
		e.ambiguous(f.read, i, f.found)
		return
	}
	e.readSaw(solver.Pos(e.top), f.read, i, f.w, f.found)
}

// reader returns the node of a read, one of the view's or a predicate operation's.
func (e *engine) reader(r uint32) int32 {
	if n := uint32(len(e.v.RW)); r >= n {
		return e.preds.asked[r-n].i
	}
	return e.node[e.v.Reader(r)]
}

func (e *engine) keyOf(r uint32) uint32 {
	if n := uint32(len(e.v.RW)); r >= n {
		return e.preds.asked[r-n].key
	}
	return e.v.RKey[r]
}

// candidates returns the writes that a read with several possible writers may have seen.
func (e *engine) candidates(r uint32) []uint32 {
	if n := uint32(len(e.v.RW)); r >= n {
		return e.preds.bases(e.preds.asked[r-n])
	}
	at, _ := slices.BinarySearch(e.v.Amb, r)
	return e.v.Cand[e.v.CandOff[at]:e.v.CandOff[at+1]]
}

// readSaw makes the constraint "if cond, read r of transaction node i saw write a, so the later write c is before a or
// after r". For a read with one possible writer cond is always true.
func (e *engine) readSaw(cond solver.Lit, r uint32, i int32, a, c uint32) {
	v := e.writer(c)
	if v < 0 || v == i {
		return // the initial version, found before a's commit: the edge from a's writer is what failed
	}
	// These are the conditions of the reader's edge, besides "a before c".
	var conds []solver.Lit
	if cond != solver.Pos(e.top) {
		conds = append(conds, cond)
	}
	if e.open[i] {
		conds = append(conds, solver.Pos(e.counts[i]))
	}
	if !e.v.Initial(a) {
		x := e.before(a, c)
		if len(conds) == 0 {
			e.once(x, i, v, a, c)
			return
		}
		conds = append(conds, x)
	}
	if len(conds) == 0 {
		e.once(solver.Pos(e.top), i, v, a, c)
		return
	}
	k := [3]uint32{r, a, c}
	if _, ok := e.via[k]; ok {
		return
	}
	slice.MakeMap(&e.via)
	y := e.s.NewVar()
	e.s.SetPhase(y, e.settling != nil)
	e.via[k] = y
	e.s.AddClause(append([]solver.Lit{solver.Pos(y)}, slice.Map(conds, solver.Lit.Not)...)...)
	e.guard(solver.Pos(y), e.begin(i), e.commit(v), a, c)
	e.about[len(e.about)-1].read = r
}

// ambiguous makes the selection of a read that found a wrong value. If there is one already, it adds that found is not
// between the selected write and the read.
func (e *engine) ambiguous(r uint32, i int32, found uint32) {
	slice.MakeMap(&e.sel)
	sel, ok := e.sel[r]
	if !ok {
		sel.cand = e.likely(e.candidates(r), i)
		sel.first = e.s.NewVars(len(sel.cand))
		e.sel[r] = sel
		some := make([]solver.Lit, 0, len(sel.cand)+1)
		if e.open[i] {
			some = append(some, solver.Neg(e.counts[i]))
		}
		for j, w := range sel.cand {
			l := solver.Pos(sel.first + solver.Var(j))
			e.s.SetPhase(l.Var(), e.settling != nil && j == 0)
			some = append(some, l)
			if u := e.writer(w); u >= 0 {
				e.guard(l, e.commit(u), e.begin(i), w, w)
				e.about[len(e.about)-1].read = r
				if e.open[u] {
					e.s.AddClause(l.Not(), solver.Pos(e.counts[u]))
				}
			}
		}
		e.log.read = r
		e.s.AddClause(some...)
		e.log.read = none
	}
	for j, w := range sel.cand {
		if l := solver.Pos(sel.first + solver.Var(j)); !ok || e.s.Value(l.Var()) {
			e.readSaw(l, r, i, w, found)
		}
	}
}
