package certify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"isovet/certify/unsat"
	"isovet/history"
	"isovet/level"
)

// A Lit is a literal: variable v (from 0) is 2v, its negation 2v+1.
type Lit = unsat.Lit

// ErrGaveUp says that a proof by cases is too large for the search that checks it. The proof may be right.
var ErrGaveUp = unsat.ErrGaveUp

// ErrStopped says that Options.Stop ended the search.
var ErrStopped = unsat.ErrStopped

// defaultConflicts bounds a search if MaxConflicts is 0.
var defaultConflicts = 1_000_000

// Unsatisfiable reports whether no assignment satisfies all clauses. It returns ErrGaveUp after o.MaxConflicts
// conflicts, and ErrStopped if o.Stop ends the search. Cost: that of [unsat.Search.Run].
func Unsatisfiable(clauses [][]Lit, o Options) (bool, error) {
	limit := cmp.Or(o.MaxConflicts, defaultConflicts)
	s := unsat.New(false)
	for _, c := range clauses {
		s.Add(c)
	}
	left := limit
	_, err := s.Run(&left, o.Stop)
	if errors.Is(err, ErrGaveUp) {
		err = fmt.Errorf("%w: the kernel searched the proof's %d clauses, and stopped after %d conflicts", ErrGaveUp,
			len(clauses), limit)
	}
	return s.Refuted, err
}

// proof turns the proof of one anomaly into clauses: see the package comment.
type proof struct {
	x       *index
	h       *history.History
	level   level.Level
	skew    int64
	clauses [][]Lit
	vars    Lit
	pairs   map[[2]uint32]Lit // two writers of a common key, lower index first → "the first is before the second"
	ordered [][2]uint32       // the keys of pairs, in the order of their creation
	sources map[source]Lit    // for ambiguous reads
	closed  map[[2]uint32]bool
	bases   map[base]Lit       // for what predicate operations missed
	open    map[[2]uint32]bool // predicate operation and key: the clauses are made
	count   map[uint32]Lit     // transactions of unknown outcome → "it counts"
	lists   map[uint32]*doubledProof
	queue   []uint32 // transactions that inclusion still has to visit
}

// source names the literal "reader saw the version ver as writer installed it".
type source struct{ reader, ver, writer uint32 }

func newProof(x *index, l level.Level, skew int64) *proof {
	return &proof{x: x, h: x.h, level: l, skew: skew, pairs: make(map[[2]uint32]Lit), sources: make(map[source]Lit),
		closed: make(map[[2]uint32]bool), count: make(map[uint32]Lit), bases: make(map[base]Lit),
		open: make(map[[2]uint32]bool), lists: make(map[uint32]*doubledProof)}
}

// at is the level that transaction t must satisfy.
func (p *proof) at(t uint32) level.Level { return levelOf(p.h, p.level, t) }

// levelOf is the level that transaction t of h must satisfy, if the history is checked at l.
func levelOf(h *history.History, l level.Level, t uint32) level.Level {
	if !l.IsMixed() {
		return l
	}
	return l.Of(h.LevelName(t))
}

func (p *proof) newVar() Lit {
	p.vars++
	return (p.vars - 1) << 1
}

func (p *proof) clause(ls []Lit) { p.clauses = append(p.clauses, ls) }

// not returns the clause "not all of ls".
func (p *proof) not(ls []Lit) []Lit {
	out := make([]Lit, len(ls))
	for i, l := range ls {
		out[i] = l.Not()
	}
	return out
}

// counts appends the assumption that t counts as committed. A committed transaction needs none.
func (p *proof) counts(ls []Lit, t uint32) []Lit {
	if p.h.Txns.Status[t] != history.Unknown {
		return ls
	}
	l, ok := p.count[t]
	if !ok {
		l = p.newVar()
		p.count[t] = l
		p.queue = append(p.queue, t)
	}
	return append(ls, l)
}

// before appends the assumption that a's versions come before b's.
func (p *proof) before(ls []Lit, a, b uint32) []Lit {
	flip := Lit(0)
	if a > b {
		a, b, flip = b, a, 1
	}
	l, ok := p.pairs[[2]uint32{a, b}]
	if !ok {
		l = p.newVar()
		p.pairs[[2]uint32{a, b}] = l
		p.ordered = append(p.ordered, [2]uint32{a, b})
	}
	return append(ls, l^flip)
}

// from appends the assumption that reader saw version v as writer installed it. If there is no other possible writer,
// it appends nothing.
func (p *proof) from(ls []Lit, reader, v, writer uint32) ([]Lit, error) {
	if writer == p.h.Init {
		writer = initial
	}
	c := p.candidates(reader, v)
	if !slices.Contains(c, writer) {
		if writer == initial {
			return nil, fmt.Errorf("%s is not the initial value of key %s", p.h.ValueString(v),
				p.h.KeyString(p.h.VerKey[v]))
		}
		return nil, fmt.Errorf("%s did not install %s = %s", name(p.h, writer), p.h.KeyString(p.h.VerKey[v]),
			p.h.ValueString(v))
	}
	p.source(reader, v, c)
	if len(c) == 1 {
		return ls, nil
	}
	if p.at(reader) == level.ReadCommitted && readings(p.h, reader, v) > 1 {
		return nil, &Unsupported{fmt.Sprintf("the writers of two reads at read-committed: %s reads %s twice, and "+
			"each read may have its own writer", name(p.h, reader), p.h.ValueString(v))}
	}
	return append(ls, p.sources[source{reader, v, writer}]), nil
}

// source adds the clauses of a read of v by reader, once: one of the candidates is its writer, and that one counts if
// the reader does.
func (p *proof) source(reader, v uint32, candidates []uint32) {
	if p.closed[[2]uint32{reader, v}] {
		return
	}
	p.closed[[2]uint32{reader, v}] = true
	p.oneOf(reader, candidates, func(w uint32, l Lit) { p.sources[source{reader, v, w}] = l }, notHidden)
}

// oneOf adds the clauses that t saw a version of one of the candidates, which counts if t does and is not hidden. If
// there are several, named gets the literal of each.
func (p *proof) oneOf(t uint32, candidates []uint32, named func(w uint32, l Lit), hidden func(w uint32) bool) {
	some := p.not(p.counts(nil, t))
	for _, w := range candidates {
		var is []Lit
		if len(candidates) > 1 {
			l := p.newVar()
			named(w, l)
			some = append(some, l)
			is = append(is, l)
		}
		if hidden(w) {
			p.clause(append(p.not(p.counts(nil, t)), p.not(is)...))
		}
		if w != initial {
			for _, c := range p.counts(nil, w) {
				p.clause(append(p.not(p.counts(is, t)), c))
			}
		}
	}
	if len(candidates) != 1 {
		p.clause(some) // without candidates: t does not count
	}
}

func notHidden(uint32) bool { return false }

// settle adds the orders of pairs of writers that follow from session order, real time, or a read of one writer by the
// other. If there are reasons for both orders of a pair, and some need no assumption, only those without one count; if
// none does, all count. If both orders have a reason without assumptions, reads take precedence over sessions, and
// sessions over real time. So a proof that needs fewer orders also holds at this level. If both reasons are of one
// sort, they are a cycle of their own, which the evidence must show.
func (p *proof) settle() {
	for _, pair := range p.ordered {
		l, a, b := p.pairs[pair], pair[0], pair[1]
		ab, ba := p.settles(a, b), p.settles(b, a)
		if first, then := unconditional(ab), unconditional(ba); len(ab) > 0 && len(ba) > 0 && (first || then) {
			if first && then { // then a proof without real time, or without sessions, may need the clause
				first, then = unconditional(p.readSettles(a, b, nil)), unconditional(p.readSettles(b, a, nil))
				if !first && !then {
					first = p.at(b).Sessions() && p.x.sessionBefore(a, b)
					then = p.at(a).Sessions() && p.x.sessionBefore(b, a)
				}
			}
			switch {
			case first && !then:
				p.clause([]Lit{l})
			case then && !first:
				p.clause([]Lit{l.Not()})
			}
			continue
		}
		for _, needs := range ab {
			p.clause(append(p.not(needs), l))
		}
		for _, needs := range ba {
			p.clause(append(p.not(needs), l.Not()))
		}
	}
}

// unconditional reports whether one of the reasons needs no assumption.
func unconditional(reasons [][]Lit) bool {
	return slices.ContainsFunc(reasons, func(r []Lit) bool { return len(r) == 0 })
}

// settles returns the reasons in the history why a is before b. Each is a list of the assumptions that it needs.
func (p *proof) settles(a, b uint32) (reasons [][]Lit) {
	if at := p.at(b); at.Sessions() && p.x.sessionBefore(a, b) || at.RealTime() && p.timeBefore(a, b) {
		reasons = append(reasons, p.counts(nil, b))
	}
	return p.readSettles(a, b, reasons)
}

// readSettles adds the reasons that follow from b's reads of a's versions.
func (p *proof) readSettles(a, b uint32, reasons [][]Lit) [][]Lit {
	tried := make(map[uint32]bool) // doubled lists
	readsOf(p.h, b, func(v uint32) {
		c := p.candidates(b, v)
		if !contains(c, a) {
			return
		}
		if key := p.h.VerKey[v]; len(p.x.writes[v]) > 0 && p.h.Ops.Kind[p.x.writes[v][0].op] == history.Append &&
			!weak(p.level) && p.x.isDoubled(key) {
			if d, err := p.doubled(key); err == nil && !tried[key] {
				tried[key] = true
				if n, err := p.seen(d, b, key); err == nil {
					if l, never := p.in(d, a, n); !never {
						reasons = append(reasons, append(p.counts(nil, b), l))
					}
				}
			}
			return
		}
		p.source(b, v, c)
		needs := p.counts(nil, b)
		if len(c) > 1 {
			needs = append(needs, p.sources[source{b, v, a}])
		}
		reasons = append(reasons, needs)
	})
	return reasons
}

// contradictsItself reports whether t reads something other than its own last write, or (if its level forbids
// non-repeatable reads) its own earlier read. Then it cannot have committed.
func (p *proof) contradictsItself(t uint32) bool {
	h, repeats := p.h, p.at(t).Forbids(level.NonRepeatableRead)
	saw := make(map[uint32]uint32) // key → the version that the transaction must see from now on
	lo, hi := h.TxnOps(t)
	if p.x.truths != nil && repeats {
		readsOf(h, t, func(v uint32) { // a later read may contradict what a predicate shows of a key
			if _, ok := saw[h.VerKey[v]]; !ok {
				saw[h.VerKey[v]] = v
			}
		})
	}
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			if p.x.contradicts(op, saw, repeats) {
				return true
			}
		case history.Read:
			if w, ok := saw[h.VerKey[v]]; ok && w != v {
				return true
			}
			if repeats {
				saw[h.VerKey[v]] = v
			}
		case history.Write:
			saw[h.VerKey[v]] = v
		}
	}
	return false
}

// inclusion adds clauses for the transactions of unknown outcome in the proof: a transaction that contradicts itself
// does not count, and a transaction that counts has writers for its reads. It also adds the clauses of the reads of
// their writes.
func (p *proof) inclusion() {
	last := finals{h: p.h}
	for len(p.queue) > 0 {
		u := p.queue[0]
		p.queue = p.queue[1:]
		if p.contradictsItself(u) {
			p.clause(p.not(p.counts(nil, u)))
		}
		readsOf(p.h, u, func(v uint32) { p.source(u, v, p.candidates(u, v)) })
		for op := range p.h.EachOp(u) {
			k := p.h.Ops.Kind[op]
			wrote(p.h, op, func(v uint32) {
				if k != history.Append && !last.is(u, p.h.VerKey[v], op) {
					return
				}
				for _, r := range p.x.readers[v] {
					if r == u || p.h.Txns.Status[r] == history.Aborted || k != history.Append && !reads(p.h, r, v) {
						continue
					}
					p.source(r, v, p.candidates(r, v))
				}
			})
		}
		if p.x.truths != nil {
			p.forced(u)
		}
	}
}
