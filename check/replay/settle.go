package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/solver"
)

// settleChained and settleSingle bound the closure of settling, in bytes, with sessions and without. Without session
// order each transaction is a chain of its own, and the closure costs as much as a full matrix.
var settleChained, settleSingle = 1 << 27, 1 << 24

// settling has findings that need no trial: edges that every order obeys, and candidates that an ambiguous read cannot
// have seen. Both follow from reachability (closure.Sessions) and extend it, until nothing more follows.
type settling struct {
	e     *engine // with the view before settling
	reach *closure.Sessions
	base  *graph.CSR // the known edges
	found []finding
	none  int32 // 1 + an ambiguous read without candidates

	rw     []uint32 // View.RW with the settled reads
	gone   []int32  // candidate → 1 + the finding that dropped it
	left   []int32  // ambiguous read → candidates left
	reader []int32  // ambiguous read → its transaction node
	by     keyWriters

	next  []finding // of this round
	steps int64     // steps since the last call of done
	done  func(steps int64) (stop bool)
	ended bool    // done told it to stop
	last  []int32 // of an ambiguous read, by group of writers: the last one that reaches it, or -1
}

// why is the rule behind a finding.
type why uint8

const (
	// isBefore: b reaches the read of a's version, so b is before a.
	isBefore why = iota
	// isAfter: a reaches b, so the read of a's version is before b; or a is initial.
	isAfter
	// overwrites: a also writes the key and began before b's commit, so a is before b (snapshot levels).
	overwrites
	// saw: a is the only candidate left.
	saw
	// afterAny: b reaches all candidates left, so it reaches the read.
	afterAny
	// beforeAny: all candidates left reach b, so the read is before b.
	beforeAny
	// notLater: the read reaches its candidate.
	notLater
	// notOld: b also writes the key, is after the candidate and reaches the read.
	notOld
)

// finding is an edge that every order obeys or, with From < 0, a candidate cand that a read cannot have seen. It
// follows from known edges, the edges among the first mark findings, and the candidates dropped before it.
type finding struct {
	graph.Edge
	rule why
	mark int32
	read uint32 // none: of no read
	cand int32  // place in View.Cand
	a, b int32  // transaction nodes; -1: the initial version, or none
}

// keyWriters lists the writers of each key, chain by chain, without those of unknown outcome.
type keyWriters struct {
	group []int32 // key → its groups, one for each chain with writers
	chain []int32 // group → its chain
	off   []int32 // group → where its writers begin
	node  []int32 // writer → its transaction node
	place []int32 // writer → the place of its begin in the chain
}

// first returns the first writer of a group whose begin has this place or a later one.
func (k *keyWriters) first(group, place int32) int32 {
	lo, hi := k.off[group], k.off[group+1]
	for lo < hi {
		if m := int32(uint32(lo+hi) / 2); k.place[m] < place {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// settle finds all that follows. ok is false if it finds a contradiction. s is nil, with ok, if settling was stopped or
// the known edges have a cycle.
//
// Source: the pruning rules of Cobra and PolySI; VeriStrong's for candidates. Cost: each round examines every read that
// something new reaches, and every version that reaches something new: the writers of its key, or a search among those
// of each session if they are many. The closure's cost is added. settle calls done with the number of steps; done says
// when to stop.
func (e *engine) settle(done func(steps int64) bool) (s *settling, ok bool) {
	total := int32(e.events())
	chains := e.chains()
	s = &settling{e: e, done: done, base: graph.BuildFunc(int(total), func(emit func(u, v int32)) { e.known(emit) })}
	var err error
	if s.reach, ok, err = closure.NewSessions(s.base, chains); err != nil {
		return nil, true
	} else if !ok {
		return nil, true // a cycle of known edges: the first order finds it
	}
	v := e.v
	s.rw = slices.Clone(v.RW)
	s.gone = make([]int32, len(v.Cand))
	s.left = make([]int32, len(v.Amb))
	s.reader = make([]int32, len(v.Amb))
	for j, q := range v.Amb {
		s.left[j] = int32(v.CandOff[j+1] - v.CandOff[j])
		s.reader[j] = e.node[e.v.Reader(q)]
	}
	s.writers(chains)
	for all := true; ; all = false {
		s.steps += int64(len(v.RW))
		s.next = s.next[:0]
		if s.look(all); s.stops() {
			return nil, true
		}
		if s.none > 0 {
			return s, false
		}
		if len(s.next) == 0 {
			return s, true
		}
		s.reach.Rest()
		if !s.add(int(total)) {
			return s, false
		}
	}
}

// edges calls emit for each known and each found edge.
func (s *settling) edges(emit func(u, v int32)) {
	for u := range int32(s.base.N()) {
		for _, v := range s.base.Succ(u) {
			emit(u, v)
		}
	}
	for _, f := range s.found {
		if f.From >= 0 {
			emit(f.From, f.To)
		}
	}
}

// stops reports whether to stop, by asking done.
func (s *settling) stops() bool {
	s.ended = s.ended || s.done(s.steps)
	s.steps = 0
	return s.ended
}

// These say whether and when to settle.
const (
	settleNever = iota
	settleFirst
	settleLater // once the loop has shown that it is needed
)

// failedLater is the number of failed reads with several possible writers, in an order by times, from which on the loop
// stops and settles first.
const failedLater = 50

// errLater ends a loop that has to begin again after settling.
var errLater = errors.New("replay: settling comes first")

// whenToSettle returns when to settle. If many reads have several possible writers and there are no times, many reads
// fail in the first order, so settling comes first. Otherwise it is not worth its cost unless the loop shows that.
func (e *engine) whenToSettle() int {
	v, most := e.v, settleSingle
	if e.sessions {
		most = settleChained
	}
	if e.o.NoSettling || len(v.Amb) == 0 || e.h.HasPredicates() || e.o.Level.RealTime() ||
		closure.SessionsSize(e.events(), e.countChains()) > int64(most) {
		return settleNever
	}
	if !e.o.SettleFirst && (e.timed() || len(v.Amb) < len(v.RW)/64) {
		return settleLater
	}
	return settleFirst
}

// events returns the number of graph nodes of transactions.
func (e *engine) events() int {
	if e.si {
		return 2 * len(e.txn)
	}
	return len(e.txn)
}

// chains returns the sessions as chains of graph nodes. A transaction without a session edge is a chain of its own.
func (e *engine) chains() (chains [][]int32) {
	h := e.h
	nodes := func(to []int32, i int32) []int32 {
		if e.si {
			return append(to, 2*i, 2*i+1)
		}
		return append(to, i)
	}
	for s := range h.NumSessions() {
		var in []int32
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			switch i := e.node[t]; {
			case i < 0:
			case h.Txns.Status[t] == history.Unknown || !e.sessions:
				chains = append(chains, nodes(nil, i))
			default:
				if e.o.Cut[t] && in != nil {
					chains, in = append(chains, in), nil
				}
				in = nodes(in, i)
			}
		}
		if in != nil {
			chains = append(chains, in)
		}
	}
	return chains
}

func (e *engine) countChains() (n int) {
	if !e.sessions {
		return len(e.txn)
	}
	open := slice.Count(e.txn, func(t uint32) bool { return e.h.Txns.Status[t] == history.Unknown })
	return open + e.h.NumSessions() + len(e.o.Cut)
}

func (s *settling) writers(chains [][]int32) {
	e, v := s.e, s.e.v
	nk := e.h.NumKeys()
	sort := graph.NewGroups[int32](nk)
	each := func(f func(chain, i int32, place int, k uint32)) {
		for c, in := range chains {
			for p, x := range in {
				i := e.nodeOf(x)
				if e.si && x&1 != 0 || e.open[i] {
					continue
				}
				for w := v.WOff[e.txn[i]]; w < v.WOff[e.txn[i]+1]; w++ {
					f(int32(c), i, p, v.WKey[w])
				}
			}
		}
	}
	each(func(_, _ int32, _ int, k uint32) { sort.Count(int32(k)) })
	n := int32(sort.Sum())
	by := &s.by
	by.node, by.place = make([]int32, n), make([]int32, n)
	in := make([]int32, n)
	each(func(c, i int32, p int, k uint32) {
		at := sort.Place(int32(k))
		by.node[at], by.place[at], in[at] = i, int32(p), c
	})
	off := sort.Off()
	by.group = make([]int32, nk+1)
	for k := range nk {
		for at := off[k]; at < off[k+1]; at++ {
			if at == off[k] || in[at] != in[at-1] {
				by.chain, by.off = append(by.chain, in[at]), append(by.off, at)
			}
		}
		by.group[k+1] = int32(len(by.chain))
	}
	by.off = append(by.off, n)
}

// add adds the findings of a round. It returns false if they close a cycle; then the last finding closes it or, if
// findings were added at once, one of the last.
func (s *settling) add(total int) bool {
	if len(s.next) > total/16 {
		mark := int32(len(s.found))
		for i := range s.next {
			s.next[i].mark = mark
		}
		s.found = append(s.found, s.next...)
		return s.reach.Rebuild(graph.BuildFunc(total, s.edges))
	}
	mark := int32(len(s.found))
	for _, f := range s.next {
		changed, cycle := s.reach.AddEdge(f.From, f.To)
		f.mark = mark
		if changed || cycle || f.rule == saw {
			s.found = append(s.found, f)
		}
		if cycle {
			return false
		}
	}
	return true
}

// view returns the engine's view, with the settled reads.
func (s *settling) view() *prepass.View {
	v := *s.e.v
	v.RW = s.rw
	v.Amb, v.Cand, v.CandOff = nil, nil, []uint32{0}
	for j, q := range s.e.v.Amb {
		if s.rw[q] != none {
			continue
		}
		for c := s.e.v.CandOff[j]; c < s.e.v.CandOff[j+1]; c++ {
			if s.gone[c] == 0 {
				v.Cand = append(v.Cand, s.e.v.Cand[c])
			}
		}
		v.Amb, v.CandOff = append(v.Amb, q), append(v.CandOff, uint32(len(v.Cand)))
	}
	return &v
}

// takes makes the engine use the findings: reads with fewer candidates, more known edges, and a first order that may be
// close to a valid one.
func (e *engine) takes(s *settling) {
	e.settling = s
	e.stats.Settled = len(e.v.Amb)
	e.v = s.view()
	e.stats.Settled -= len(e.v.Amb)
	e.stats.Facts = len(s.found)
	e.rdOff, e.rd = e.v.Readers(e.txn)
	for _, f := range s.found {
		if f.From >= 0 {
			e.facts = append(e.facts, f.Edge)
		}
	}
	e.guess = make([]int64, s.base.N())
	for x := range e.guess {
		e.guess[x] = s.reach.Middle(int32(x))
	}
}

// runSettled settles, and runs the loop with the findings.
func (e *engine) runSettled(ctx context.Context) (a Answer, err error) {
	x := *e // takes changes it, and findings refer to the view before
	s, ok := x.settle(func(steps int64) bool {
		solver.Spend(ctx, steps)
		return ctx.Err() != nil
	})
	switch {
	case ctx.Err() != nil:
		return Answer{}, nil
	case s == nil:
	case ok:
		e.takes(s)
	default:
		a.Status, e.stats.Contradiction = solver.Unsat, true
		if e.needSeed {
			a.Seed, err = s.seed()
		}
		return a, err
	}
	return e.run(ctx, func() {})
}
