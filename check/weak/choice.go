package weak

import (
	"context"
	"fmt"
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/plural"
	"isovet/level"
	"isovet/solver"
)

var (
	// maxChoices bounds how many choices of writers are tried one after the other, if Options.Choices is 0.
	maxChoices = 20_000
	// maxConflicts bounds the lemmas that one refuted choice yields.
	maxConflicts = 64
	// maxPicks bounds the possible writers of all reads that a solver picks from: each takes some 400 bytes.
	maxPicks = 1 << 21
)

// choice decides a view in which some reads have several possible writers, or in which transactions of unknown outcome
// may or may not count. A solver picks one writer for each such read. It first tries the latest one that precedes the
// reader by client times or by places in the file. The view then has one writer for each read, and the checker decides
// it. If the checker refutes it, the picks that its anomaly rests on become a clause: a lemma, which excludes all of
// them together. This repeats until the level holds for a pick, or no pick is left; the lemmas are then a proof by
// cases.
type choice struct {
	ctx   context.Context
	v     *prepass.View
	level level.Level
	o     Options

	s      *solver.Solver
	lit    []solver.Lit // place in v.Cand → "that is the writer"; LitUndef where it is the only one
	counts []solver.Lit // transaction → "it counts"; LitUndef where that is no question
	base   [][]solver.Lit
	ambAt  []int32 // read → 1 + its place in v.Amb
	picked []uint32
	fixed  prepass.View // the view under the pick at hand

	lemmas []lemma
	told   map[string]bool
}

// lemma is a clause that excludes some picks together, with the anomaly that proves it.
type lemma struct {
	lits    []solver.Lit
	anomaly evidence.Anomaly
}

// choose decides the level for a view with open choices. The checker that it returns is that of the last pick.
func choose(ctx context.Context, v *prepass.View, l level.Level, o Options) (sum Answer, c *checker) {
	sum = Choose(ctx, v, l, o, func(fixed *prepass.View, ambAt []int32) (Answer, []evidence.Anomaly) {
		c = newChecker(ctx, fixed, l, o)
		c.ambAt = ambAt
		a := c.run()
		solver.Spend(ctx, int64(a.Rounds+4+len(c.found))*int64(len(v.RW)+c.n))
		return a, c.found
	})
	return sum, c
}

// Choose decides a level, also a mixed one, for a view with open choices. decide answers for the view under one pick,
// with anomalies if it violates the level. ambAt gives each read 1 + its place in v.Amb, or 0.
func Choose(ctx context.Context, v *prepass.View, l level.Level, o Options,
	decide func(fixed *prepass.View, ambAt []int32) (Answer, []evidence.Anomaly)) (sum Answer) {
	if len(v.Cand) > maxPicks {
		return Answer{Status: GaveUp, Reason: fmt.Sprintf("%s %s, too many for a solver to pick from",
			plural.Phrase(len(v.Amb), "read has", "reads have"), plural.Of(len(v.Cand), "possible writer"))}
	}
	x := &choice{ctx: ctx, v: v, level: l, o: o, told: make(map[string]bool)}
	x.encode()
	rounds := o.Choices
	if rounds <= 0 {
		rounds = maxChoices
	}
	for range rounds {
		switch x.s.Solve(ctx) {
		case solver.Unknown:
			return Answer{Status: Stopped}
		case solver.Unsat:
			sum.Status = Violated
			sum.Anomaly, sum.Twice = x.proof()
			return sum
		}
		x.pick()
		a, found := decide(&x.fixed, x.ambAt)
		sum.Edges, sum.Demanded, sum.Choices = a.Edges, a.Demanded, sum.Choices+1
		sum.Rounds += a.Rounds
		switch a.Status {
		case Stopped:
			return a
		case Holds:
			sum.Status, sum.Order, sum.Sources = Holds, a.Order, x.sources()
			return sum
		}
		for _, an := range found {
			x.learn(an)
		}
	}
	sum.Status = GaveUp
	sum.Reason = fmt.Sprintf("the search refuted %s of the writers of %s, and others are left",
		plural.Of(sum.Choices, "choice"), plural.Of(len(v.Amb), "read"))
	return sum
}

// encode creates the solver's variables and says that each read of a counting transaction has a counting writer.
func (x *choice) encode() {
	v, h := x.v, x.v.H
	x.s = solver.New(solver.Options{})
	x.lit = slices.Repeat([]solver.Lit{solver.LitUndef}, len(v.Cand))
	x.counts = slices.Repeat([]solver.Lit{solver.LitUndef}, h.NumTxns())
	for _, t := range v.Open {
		x.counts[t] = solver.Pos(x.s.NewVar())
	}
	x.ambAt = make([]int32, len(v.RW))
	x.picked = make([]uint32, len(v.Amb))
	hint := newChecker(x.ctx, v, x.level, x.o).hint()
	begin := hint
	if x.o.Guess != nil {
		begin = x.o.Guess.Begin
	}
	for i, r := range v.Amb {
		x.ambAt[r] = int32(i) + 1
		t := v.Reader(r)
		var some []solver.Lit
		if x.counts[t] != solver.LitUndef {
			some = append(some, x.counts[t].Not())
		}
		lo, hi := v.CandOff[i], v.CandOff[i+1]
		best := x.favourite(hint, begin[t], v.Cand[lo:hi])
		for j := lo; j < hi; j++ {
			given := some[:0:0]
			if x.counts[t] != solver.LitUndef {
				given = append(given, x.counts[t].Not())
			}
			if hi-lo > 1 {
				va := x.s.NewVar()
				x.s.SetPhase(va, int(j-lo) == best)
				x.lit[j] = solver.Pos(va)
				some = append(some, x.lit[j])
				given = append(given, x.lit[j].Not())
			}
			if u := v.WTxn[v.Cand[j]]; u != none && x.counts[u] != solver.LitUndef {
				x.clause(append(given, x.counts[u]))
			}
		}
		if hi-lo != 1 {
			x.clause(some)
		}
	}
	x.fixed = *v
	x.fixed.Amb, x.fixed.Open = nil, nil
	x.fixed.RW = slices.Clone(v.RW)
	x.fixed.Counts = slices.Clone(v.Counts)
}

func (x *choice) clause(c []solver.Lit) {
	x.base = append(x.base, c)
	x.s.AddClause(c...)
}

// favourite returns the index of the writer to try first: by the hint, the latest one before the reader began. If none
// is before it, that is the first writer.
func (x *choice) favourite(hint []int64, begin int64, writers []uint32) int {
	best, latest := 0, int64(math.MinInt64)
	for i, w := range writers {
		at := latest + 1 // the initial version, if nothing better came yet
		if u := x.v.WTxn[w]; u != none {
			if at = hint[u]; at >= begin {
				continue
			}
		} else if i > 0 {
			continue // it comes first
		}
		if at > latest {
			best, latest = i, at
		}
	}
	return best
}

// pick sets fixed to the view that the solver's model picks. The reads decide which unknown outcomes count.
func (x *choice) pick() {
	v, f := x.v, &x.fixed
	for i := range v.Amb {
		x.picked[i] = v.CandOff[i]
		for j := v.CandOff[i]; j < v.CandOff[i+1]; j++ {
			if x.lit[j] != solver.LitUndef && x.s.Value(x.lit[j].Var()) {
				x.picked[i] = j
				break
			}
		}
	}
	copy(f.Counts, v.Counts)
	f.NumCounts = v.NumCounts
	var work []uint32
	read := func(t, r uint32) {
		if f.RW[r] = v.RW[r]; x.ambAt[r] > 0 {
			f.RW[r] = v.Cand[x.picked[x.ambAt[r]-1]]
		}
		if u := v.WTxn[f.RW[r]]; u != none && !f.Counts[u] {
			f.Counts[u] = true
			f.NumCounts++
			work = append(work, u)
		}
	}
	for _, t := range v.Open {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			f.RW[r] = none
		}
	}
	for _, r := range v.Amb {
		if t := v.Reader(r); v.Counts[t] {
			read(t, r)
		}
	}
	for len(work) > 0 {
		t := work[len(work)-1]
		work = work[:len(work)-1]
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			read(t, r)
		}
	}
}

// sources returns the picked writer of each read of a counting transaction.
func (x *choice) sources() (out []evidence.Source) {
	v := x.v
	for i, r := range v.Amb {
		if x.fixed.RW[r] != none {
			out = append(out, evidence.Source{Op: v.ROp(r), Key: v.RKey[r], Writer: v.WTxn[v.Cand[x.picked[i]]]})
		}
	}
	return out
}

// learn adds a clause that excludes the picks that an anomaly rests on.
func (x *choice) learn(a evidence.Anomaly) {
	v := x.v
	var lits []solver.Lit
	txn := func(t uint32) {
		if t != none && x.counts[t] != solver.LitUndef {
			lits = append(lits, x.counts[t].Not())
		}
	}
	// A transaction at read-committed may read a version from two writers, so the clause names both reads.
	from := func(t, ver, writer uint32) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if i := x.ambAt[r] - 1; i >= 0 && v.RVer(r) == ver && v.WTxn[v.Cand[x.picked[i]]] == writer &&
				x.lit[x.picked[i]] != solver.LitUndef {
				lits = append(lits, x.lit[x.picked[i]].Not())
			}
		}
	}
	note := func(t, key uint32) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if v.IsImplied(r) && v.RKey[r] == key {
				if l := x.lit[x.picked[x.ambAt[r]-1]]; l != solver.LitUndef {
					lits = append(lits, l.Not())
				}
			}
		}
	}
	for _, e := range a.Edges() {
		txn(e.From)
		txn(e.To)
		switch e.Dep {
		case evidence.PWR:
			note(e.To, e.Key)
		case evidence.PRW:
			txn(e.Writer)
			note(e.From, e.Key)
		case evidence.WR:
			from(e.To, e.Ver, e.From)
		case evidence.RW:
			txn(e.Writer)
			from(e.From, e.Ver, e.Writer)
		}
	}
	slices.Sort(lits)
	lits = slices.Compact(lits)
	if key := fmt.Sprint(lits); !x.told[key] {
		x.told[key] = true
		x.lemmas = append(x.lemmas, lemma{lits, a})
		x.s.AddClause(lits...)
	}
}

// proof returns the lemmas that together exclude every pick. twice reports that one of them has a transaction that
// reads a version twice, perhaps from two writers: its edges do not say which read they mean.
func (x *choice) proof() (a evidence.Anomaly, twice bool) {
	core := x.core()
	if len(core) == 0 {
		if a, ok := x.unseen(); ok {
			return a, false
		}
	}
	if len(core) == 1 {
		a = core[0].anomaly
	} else {
		for _, l := range core {
			if len(l.anomaly.Cycle) > 0 {
				a.Cycles = append(a.Cycles, l.anomaly.Cycle)
			}
			a.Cycles = append(a.Cycles, l.anomaly.Cycles...)
		}
	}
	if x.level != level.ReadCommitted && !x.level.IsMixed() {
		return a, false // a transaction that reads a key twice reads from one writer
	}
	for _, e := range a.Edges() {
		twice = twice || e.Dep == evidence.WR && x.again(e.To, e.Ver) || e.Dep == evidence.RW && x.again(e.From, e.Ver)
	}
	return a, twice
}

// again reports whether t has several reads of version ver whose writers were picked.
func (x *choice) again(t, ver uint32) bool {
	n := 0
	for r := x.v.ROff[t]; r < x.v.ROff[t+1]; r++ {
		if x.v.RVer(r) == ver && x.ambAt[r] > 0 {
			n++
		}
	}
	return n > 1
}

// core returns lemmas that suffice for the proof. It asks a solver which lemmas it used, and repeats that with only
// those until their number stays the same.
func (x *choice) core() []lemma {
	core := x.lemmas
	for {
		s := solver.New(solver.Options{})
		s.NewVars(x.s.NumVars())
		for _, c := range x.base {
			s.AddClause(c...)
		}
		use := make(map[solver.Lit]int, len(core))
		var all []solver.Lit
		for i, l := range core {
			u := solver.Pos(s.NewVar())
			use[u] = i
			all = append(all, u)
			s.AddClause(append(slices.Clone(l.lits), u.Not())...)
		}
		if s.Solve(x.ctx, all...) != solver.Unsat {
			return core // the context ended
		}
		var less []lemma
		for _, u := range s.Failed() {
			i, ok := use[u]
			if !ok {
				i = use[u.Not()]
			}
			less = append(less, core[i])
		}
		if len(less) >= len(core) {
			return core
		}
		core = less
	}
}

// cycles finds cycles of g and explains them. It finds one, or if writers were picked, one more through each picked
// read and each demanded order, up to a bound: each excludes other picks.
func (c *checker) cycles(g *graph.CSR) {
	c.found = append(c.found, c.explained(graph.ShortCycle(g, searchWork)))
	if c.ambAt == nil {
		return
	}
	comp, _ := graph.Components(g)
	s := graph.NewSearcher(g.N())
	left := min(maxConflicts, 1+searchWork/(1+g.M()))
	through := func(u, v int32) {
		if u < 0 || comp[u] != comp[v] || left == 0 {
			return
		}
		left--
		c.found = append(c.found, c.explained(s.ShortestPath(g, v, u)))
	}
	for r, i := range c.ambAt {
		if i > 0 && c.src[r] >= 0 {
			through(c.src[r], int32(c.v.Reader(uint32(r))))
		}
	}
	for _, d := range c.demands {
		through(d.from, d.to)
	}
}
