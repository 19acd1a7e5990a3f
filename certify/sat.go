package certify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Lit is a literal: variable v (from 0) is 2v, its negation 2v+1.
type Lit uint32

// ErrGaveUp says that a proof by cases is too large for the search that checks it. It says nothing of the proof being
// right.
var ErrGaveUp = errors.New("gave up")

// ErrStopped says that Options.Stop ended the search.
var ErrStopped = errors.New("stopped")

// Not returns the negation.
func (l Lit) Not() Lit { return l ^ 1 }

// defaultConflicts bounds a search where no other bound is given.
var defaultConflicts = 1_000_000

const (
	restartAfter  = 100  // conflicts, times a number of Luby's series
	learntAtFirst = 4000 // learnt clauses kept before any is forgotten
	learntMore    = 500  // and so many more each time that some are
)

// Unsatisfiable reports whether no assignment satisfies all clauses. A search of more than o.MaxConflicts conflicts is
// given up with ErrGaveUp, one that o.Stop ends with ErrStopped.
//
// The search is the usual one and as plain as it can be. Assignments are guessed one by one; two literals of each
// clause are watched, so that a clause is looked at only when one of them becomes false, and what a clause with one
// literal left forces is assigned. When a clause is false, the clauses that forced its literals are resolved with it
// until one literal of the last guess's level is left (the first unique implication point, Marques-Silva and Sakallah
// 1999): that clause follows from the others, is learnt, and forces something earlier. The clauses are unsatisfiable
// once one is false without any guess. Every clause learnt is a resolvent, so what is forgotten, guessed first, or
// restarted can cost time and never the answer.
//
// Cost: linear in the clauses where unit propagation refutes them, which is the rule; exponential at worst.
func Unsatisfiable(clauses [][]Lit, o Options) (bool, error) {
	limit := o.MaxConflicts
	if limit == 0 {
		limit = defaultConflicts
	}
	s := newSearch(clauses)
	conflicts := 0
	for round := 1; !s.refuted; round++ {
		for end := conflicts + restartAfter*luby(round); conflicts < end; {
			conflict, found := s.propagate()
			if !found {
				l, open := s.choose()
				if !open {
					return false, nil
				}
				s.marks = append(s.marks, len(s.trail))
				s.assign(l, noClause)
				continue
			}
			if len(s.marks) == 0 {
				return true, nil
			}
			if conflicts++; conflicts > limit {
				return false, fmt.Errorf("%w on a proof by %d clauses after %d conflicts", ErrGaveUp, len(clauses),
					limit)
			}
			s.learn(s.resolve(conflict))
		}
		if o.Stop != nil && o.Stop() {
			return false, ErrStopped
		}
		s.undo(0)
		s.forget()
	}
	return true, nil
}

// luby is the i-th number, from 1, of the series 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair and Zuckerman 1993).
func luby(i int) int {
	k := 1
	for 1<<k-1 < i {
		k++
	}
	if i == 1<<k-1 {
		return 1 << (k - 1)
	}
	return luby(i - (1<<(k-1) - 1))
}

const noClause = -1

// search is the state of Unsatisfiable. Invariant, when propagate has found no conflict: of a clause's first two
// literals, which are watched, none is false, or one is true.
type search struct {
	clauses [][]Lit // those given, and from given on those learnt
	given   int
	spread  []int     // of each learnt clause: how many levels its literals were of. Few is good
	watch   [][]int32 // literal → clauses that watch it
	keep    int       // how many learnt clauses there may be

	value  []bool  // literal → it is true
	reason []int32 // variable → the clause that forced it, or noClause
	level  []int32 // variable → how many guesses preceded it
	saved  []Lit   // variable → the value that it had last
	trail  []Lit   // what is true, in order
	head   int     // first literal of the trail that is not yet propagated
	marks  []int   // guess → length of the trail before it

	// The variables in order of their last part in a conflict, the newest first; guessed is where to look for the next
	// guess: all newer ones have values.
	older, newer    []int32
	newest, guessed int32
	since           []uint64 // variable → when it was made the newest
	moves           uint64

	seen    []bool // scratch of resolve, by variable
	refuted bool   // an empty clause, or contradicting unit clauses
}

func newSearch(clauses [][]Lit) *search {
	lits := Lit(0)
	for _, c := range clauses {
		for _, l := range c {
			lits = max(lits, (l|1)+1)
		}
	}
	vars := lits / 2
	s := &search{watch: make([][]int32, lits), value: make([]bool, lits), keep: learntAtFirst,
		reason: make([]int32, vars), level: make([]int32, vars), saved: make([]Lit, vars), seen: make([]bool, vars),
		older: make([]int32, vars), newer: make([]int32, vars), newest: noClause, since: make([]uint64, vars)}
	for v := range vars {
		s.saved[v] = 2*v + 1
		s.front(int32(v))
	}
	s.guessed = s.newest
	for _, c := range clauses {
		c = slices.Clone(c)
		slices.Sort(c)
		c = slices.Compact(c)
		tautology := false
		for i := 1; i < len(c); i++ {
			tautology = tautology || c[i] == c[i-1].Not()
		}
		switch {
		case tautology:
		case len(c) == 0 || len(c) == 1 && s.value[c[0].Not()]:
			s.refuted = true
		case len(c) > 1:
			s.add(c)
		case !s.value[c[0]]:
			s.assign(c[0], noClause)
		}
	}
	s.given = len(s.clauses)
	return s
}

// add watches a clause of two literals or more.
func (s *search) add(c []Lit) int32 {
	i := int32(len(s.clauses))
	s.clauses = append(s.clauses, c)
	s.watch[c[0]] = append(s.watch[c[0]], i)
	s.watch[c[1]] = append(s.watch[c[1]], i)
	return i
}

func (s *search) assign(l Lit, reason int32) {
	s.value[l] = true
	s.reason[l/2], s.level[l/2] = reason, int32(len(s.marks))
	s.trail = append(s.trail, l)
}

// propagate assigns what clauses force, until a clause is false or nothing is left to do.
func (s *search) propagate() (conflict int32, found bool) {
	for ; s.head < len(s.trail); s.head++ {
		gone := s.trail[s.head].Not()
		watching := s.watch[gone]
		still := watching[:0]
		for i, c := range watching {
			lits := s.clauses[c]
			if lits[0] == gone {
				lits[0], lits[1] = lits[1], lits[0]
			}
			if s.value[lits[0]] || !s.rewatch(c, lits) {
				still = append(still, c)
			} else {
				continue
			}
			switch {
			case s.value[lits[0]]:
			case s.value[lits[0].Not()]:
				s.watch[gone] = append(still, watching[i+1:]...)
				return c, true
			default:
				s.assign(lits[0], c)
			}
		}
		s.watch[gone] = still
	}
	return 0, false
}

// rewatch has clause c watch a literal that is not false instead of its second, if there is another.
func (s *search) rewatch(c int32, lits []Lit) bool {
	for k := 2; k < len(lits); k++ {
		if !s.value[lits[k].Not()] {
			lits[1], lits[k] = lits[k], lits[1]
			s.watch[lits[1]] = append(s.watch[lits[1]], c)
			return true
		}
	}
	return false
}

// resolve resolves a false clause with the reasons of its literals of the last level, the latest first, until one such
// literal is left. It comes first in the clause returned; the one of the highest level among the others second.
func (s *search) resolve(c int32) []Lit {
	now := int32(len(s.marks))
	out := []Lit{0}
	var touched []int32
	// literals of the last level that are in the resolvent; those of the trail from at on are done
	open, at := 0, len(s.trail)
	for {
		for _, m := range s.clauses[c] {
			v := int32(m / 2)
			if s.seen[v] || s.level[v] == 0 {
				continue // it is there already, or is what c forced; or it is false for good
			}
			s.seen[v] = true
			touched = append(touched, v)
			if s.level[v] == now {
				open++
			} else {
				out = append(out, m)
			}
		}
		for at--; !s.seen[s.trail[at]/2]; at-- {
		}
		if open--; open == 0 {
			out[0] = s.trail[at].Not()
			break
		}
		c = s.reason[s.trail[at]/2]
	}
	// A literal whose reason has only literals that are there resolves away.
	rest := slices.DeleteFunc(out[1:], func(m Lit) bool {
		r := s.reason[m/2]
		return r != noClause && !slices.ContainsFunc(s.clauses[r], func(n Lit) bool {
			return !s.seen[n/2] &&
				s.level[n/2] > 0
		})
	})
	out = out[:1+len(rest)]
	for i := 2; i < len(out); i++ {
		if s.level[out[i]/2] > s.level[out[1]/2] {
			out[1], out[i] = out[i], out[1]
		}
	}
	// They keep their order among themselves; without, random 3-SAT of 200 variables takes twenty times as long.
	slices.SortFunc(touched, func(a, b int32) int { return cmp.Compare(s.since[a], s.since[b]) })
	for _, v := range touched {
		s.seen[v] = false
		s.unlink(v)
		s.front(v)
	}
	return out
}

// learn adds a clause that resolve made, and assigns what it forces once the guesses after its second literal are
// undone.
func (s *search) learn(c []Lit) {
	levels := make(map[int32]bool, len(c))
	for _, l := range c {
		levels[s.level[l/2]] = true
	}
	if len(c) == 1 {
		s.undo(0)
		s.assign(c[0], noClause)
		return
	}
	s.undo(int(s.level[c[1]/2]))
	s.assign(c[0], s.add(c))
	s.spread = append(s.spread, len(levels))
}

// undo takes back all guesses but the first n, and what followed from them.
func (s *search) undo(n int) {
	if n < len(s.marks) {
		to := s.marks[n]
		for _, l := range s.trail[to:] {
			s.value[l] = false
			s.saved[l/2] = l
		}
		s.trail, s.marks = s.trail[:to], s.marks[:n]
		s.head = min(s.head, to)
	}
	s.guessed = s.newest
}

// choose returns the literal to guess: the variable without value that had a part in the latest conflict, as it was.
func (s *search) choose() (l Lit, open bool) {
	for s.guessed != noClause && (s.value[2*s.guessed] || s.value[2*s.guessed+1]) {
		s.guessed = s.older[s.guessed]
	}
	if s.guessed == noClause {
		return 0, false
	}
	return s.saved[s.guessed], true
}

// front makes v the newest variable.
func (s *search) front(v int32) {
	s.older[v], s.newer[v] = s.newest, noClause
	if s.newest != noClause {
		s.newer[s.newest] = v
	}
	s.newest = v
	s.moves++
	s.since[v] = s.moves
}

func (s *search) unlink(v int32) {
	if o := s.older[v]; o != noClause {
		s.newer[o] = s.newer[v]
	}
	if n := s.newer[v]; n != noClause {
		s.older[n] = s.older[v]
	} else {
		s.newest = s.older[v]
	}
}

// forget drops the worse half of the learnt clauses if there are too many. No guess may stand: reasons are not looked
// at then.
func (s *search) forget() {
	n := len(s.spread)
	if n <= s.keep {
		return
	}
	s.keep += learntMore
	by := make([]int, n)
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.spread[a], s.spread[b]), cmp.Compare(b,
			a))
	})
	by = by[:n/2]
	slices.Sort(by)
	clauses := s.clauses
	s.clauses = s.clauses[:s.given:s.given]
	for l := range s.watch {
		s.watch[l] = s.watch[l][:0]
	}
	for i, c := range s.clauses {
		s.watch[c[0]] = append(s.watch[c[0]], int32(i))
		s.watch[c[1]] = append(s.watch[c[1]], int32(i))
	}
	spread := make([]int, len(by))
	for i, b := range by {
		spread[i] = s.spread[b]
		s.add(clauses[s.given+b])
	}
	s.spread = spread
}
