// Package unsat looks for the empty clause: the search that those who judge answers have, and none of those who give
// them.
//
// Experimental: this package may still change.
package unsat

import (
	"cmp"
	"errors"
	"slices"
)

// A Lit is a literal: variable v (from 0) is 2v, its negation 2v+1.
type Lit uint32

// Not returns the negation.
func (l Lit) Not() Lit { return l ^ 1 }

// ErrGaveUp says that a search took more conflicts than it may. It says nothing of the clauses.
var ErrGaveUp = errors.New("gave up")

// ErrStopped says that a search was told to stop.
var ErrStopped = errors.New("stopped")

const (
	restartAfter  = 100  // conflicts, times a number of Luby's series
	learntAtFirst = 4000 // learnt clauses kept before any is forgotten
	learntMore    = 500  // and so many more each time that some are
	noClause      = -1
)

// Search finds out whether no assignment satisfies all clauses.
//
// It is the usual search and as plain as it can be. Assignments are guessed one by one; two literals of each clause are
// watched, so that a clause is looked at only when one of them becomes false, and what a clause with one literal left
// forces is assigned. When a clause is false, the clauses that forced its literals are resolved with it until one
// literal of the last guess's level is left (the first unique implication point, Marques-Silva and Sakallah 1999): that
// clause follows from the others, is learnt, and forces something earlier. The clauses are unsatisfiable once one is
// false without any guess. Every clause learnt is a resolvent, so what is forgotten, guessed first, or restarted can
// cost time and never the answer.
//
// A proof has for each clause learnt those that it follows from by unit propagation, in their order (Goldberg and
// Novikov 2003; hints as in LRAT, Cruz-Filipe et al. 2017).
//
// Invariant, when propagate has found no conflict: of a clause's first two literals, which are watched, none is false,
// or one is true.
type Search struct {
	Refuted bool // the last clause is the empty one

	log     bool      // hints are wanted
	clauses [][]Lit   // by number, given and learnt; nil: forgotten
	hints   [][]int32 // with log, of those learnt
	learnt  []quality // those that may be forgotten
	keep    int       // how many there may be
	watch   [][]int32 // literal → clauses that watch it

	value  []bool  // literal → it is true
	reason []int32 // variable → the clause that forced it, or noClause
	level  []int32 // variable → how many guesses preceded it
	place  []int32 // variable → place in the trail
	unit   []int32 // variable → the clause that says its value, which no guess preceded
	saved  []Lit   // variable → the value that it had last
	trail  []Lit   // what is true, in order
	head   int     // first literal of the trail that is not yet propagated
	units  int     // first of the trail without guesses that has no clause of its own
	marks  []int   // guess → length of the trail before it

	// The variables in order of their last part in a conflict, the newest first; guessed is where to look for the next
	// guess: all newer ones have values.
	older, newer    []int32
	newest, guessed int32
	since           []uint64 // variable → when it was made the newest
	moves           uint64

	seen []bool // scratch, by variable
}

// quality is a learnt clause, and of how many levels its literals were: few is good.
type quality struct{ clause, levels int32 }

// New returns a search without clauses. With log it has a proof in the end, and forgets no clause's text.
func New(log bool) *Search {
	return &Search{log: log, keep: learntAtFirst, newest: noClause, guessed: noClause}
}

// Add adds a clause and returns its number; between these are those of clauses learnt. Guesses are taken back. Once
// there is the empty clause nothing is added, and -1 returned.
func (s *Search) Add(clause []Lit) int {
	if s.Refuted {
		return noClause
	}
	s.Undo()
	c := slices.Clone(clause)
	slices.Sort(c)
	c = slices.Compact(c)
	if len(c) > 0 {
		s.grow(int(c[len(c)-1]/2) + 1)
	}
	id := s.put(c, nil)
	s.attach(id)
	return int(id)
}

// Len is how many clauses there are, given and learnt.
func (s *Search) Len() int { return len(s.clauses) }

// Clause is a clause by its number.
func (s *Search) Clause(i int) []Lit { return s.clauses[i] }

// Hints are the numbers of those that a learnt clause follows from, with log.
func (s *Search) Hints(i int) []int32 { return s.hints[i] }

// Trail is what is true, in the order in which it became so.
func (s *Search) Trail() []Lit { return s.trail }

// True reports whether a literal is true; one that no clause has is not.
func (s *Search) True(l Lit) bool { return int(l) < len(s.value) && s.value[l] }

// grow makes variables.
func (s *Search) grow(vars int) {
	for v := int32(len(s.level)); int(v) < vars; v++ {
		s.watch = append(s.watch, nil, nil)
		s.value = append(s.value, false, false)
		s.level, s.reason = append(s.level, 0), append(s.reason, noClause)
		s.place, s.unit = append(s.place, 0), append(s.unit, noClause)
		s.saved, s.seen = append(s.saved, Lit(2*v+1)), append(s.seen, false)
		s.older, s.newer = append(s.older, noClause), append(s.newer, noClause)
		s.since = append(s.since, 0)
		s.front(v)
	}
	s.guessed = s.newest
}

func (s *Search) put(c []Lit, hints []int32) int32 {
	s.clauses = append(s.clauses, c)
	if s.log {
		s.hints = append(s.hints, hints)
	}
	return int32(len(s.clauses) - 1)
}

// attach has a clause watched, or what is left of it forced. No guess stands.
func (s *Search) attach(id int32) {
	c := s.clauses[id]
	for i := 1; i < len(c); i++ {
		if c[i] == c[i-1].Not() { // true, whatever holds
			return
		}
	}
	n := 0 // what is not false comes first
	for i, l := range c {
		if !s.value[l.Not()] {
			c[n], c[i] = c[i], c[n]
			n++
		}
	}
	switch {
	case len(c) == 0:
		s.Refuted = true
	case n == 0:
		s.refute(id)
	case n > 1:
		s.look(id)
	case !s.value[c[0]]:
		s.assign(c[0], id)
	}
}

// look has a clause watched by its first two literals.
func (s *Search) look(id int32) {
	for _, l := range s.clauses[id][:2] {
		s.watch[l] = append(s.watch[l], id)
	}
}

func (s *Search) assign(l Lit, reason int32) {
	v := l / 2
	s.value[l], s.reason[v], s.level[v], s.place[v] = true, reason, int32(len(s.marks)), int32(len(s.trail))
	s.trail = append(s.trail, l)
}

// Run searches until the empty clause is there or, open, an assignment satisfies all clauses. left counts down
// conflicts: at none [ErrGaveUp]. stop, if not nil, is asked now and then.
//
// Cost: linear in the clauses where unit propagation refutes them, which is the rule; exponential at worst.
func (s *Search) Run(left *int, stop func() bool) (open bool, err error) {
	if *left <= 0 && !s.Refuted {
		return false, ErrGaveUp
	}
	for round := 1; !s.Refuted; round++ {
		for end := *left - restartAfter*luby(round); *left > end; {
			conflict, found := s.propagate()
			switch {
			case found && len(s.marks) == 0:
				s.refute(conflict)
				return false, nil
			case found && *left <= 0:
				return false, ErrGaveUp
			case found:
				*left--
				s.learn(conflict)
			case !s.guess():
				return true, nil
			}
		}
		if stop != nil && stop() {
			return false, ErrStopped
		}
		s.Undo()
		s.forget()
	}
	return false, nil
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

// propagate assigns what clauses force, until a clause is false or nothing is left to do.
func (s *Search) propagate() (conflict int32, found bool) {
	for ; s.head < len(s.trail); s.head++ {
		gone := s.trail[s.head].Not()
		watching := s.watch[gone]
		still := watching[:0]
		for i, id := range watching {
			c := s.clauses[id]
			if c[0] == gone {
				c[0], c[1] = c[1], c[0]
			}
			if !s.value[c[0]] && s.rewatch(id, c) {
				continue
			}
			still = append(still, id)
			switch {
			case s.value[c[0]]:
			case s.value[c[0].Not()]:
				s.watch[gone] = append(still, watching[i+1:]...)
				return id, true
			default:
				s.assign(c[0], id)
			}
		}
		s.watch[gone] = still
	}
	return 0, false
}

// rewatch has a clause watch a literal that is not false instead of its second, if there is another.
func (s *Search) rewatch(id int32, c []Lit) bool {
	for k := 2; k < len(c); k++ {
		if !s.value[c[k].Not()] {
			c[1], c[k] = c[k], c[1]
			s.watch[c[1]] = append(s.watch[c[1]], id)
			return true
		}
	}
	return false
}

// learn adds the clause that a conflict shows, and assigns what it forces once the guesses after its second literal are
// undone.
func (s *Search) learn(conflict int32) {
	c := s.resolve(conflict)
	var hints []int32
	if s.log {
		hints = s.reasons(c, conflict)
	}
	if len(c) == 1 {
		s.undo(0)
		s.assign(c[0], s.put(c, hints))
		return
	}
	levels := make(map[int32]bool, len(c))
	for _, l := range c {
		levels[s.level[l/2]] = true
	}
	s.undo(int(s.level[c[1]/2]))
	id := s.put(c, hints)
	s.look(id)
	s.learnt = append(s.learnt, quality{id, int32(len(levels))})
	s.assign(c[0], id)
}

// resolve resolves a false clause with the reasons of its literals of the last level, the latest first, until one such
// literal is left. It comes first in the clause returned; the one of the highest level among the others second.
func (s *Search) resolve(id int32) []Lit {
	now := int32(len(s.marks))
	out := []Lit{0}
	var touched []int32
	// literals of the last level that are in the resolvent; those of the trail from at on are done
	open, at := 0, len(s.trail)
	for {
		for _, m := range s.clauses[id] {
			v := int32(m / 2)
			if s.seen[v] || s.level[v] == 0 {
				continue // it is there already, or is what the clause forced; or it is false for good
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
		id = s.reason[s.trail[at]/2]
	}
	// A literal whose reason has only literals that are there resolves away.
	rest := slices.DeleteFunc(out[1:], func(m Lit) bool {
		r := s.reason[m/2]
		return r != noClause && !slices.ContainsFunc(s.clauses[r], func(n Lit) bool {
			return !s.seen[n/2] && s.level[n/2] > 0
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

// reasons are the clauses that a learnt one follows from: what is not in it is forced by its reason, or said without
// guesses, in the order of the trail.
func (s *Search) reasons(out []Lit, conflict int32) []int32 {
	s.settle()
	var forced []int32 // variables
	for _, l := range out {
		s.seen[l/2] = true
	}
	look := func(id int32) {
		for _, m := range s.clauses[id] {
			if v := int32(m / 2); !s.seen[v] {
				s.seen[v] = true
				forced = append(forced, v)
			}
		}
	}
	look(conflict)
	for i := 0; i < len(forced); i++ {
		if v := forced[i]; s.level[v] > 0 {
			look(s.reason[v])
		}
	}
	slices.SortFunc(forced, func(a, b int32) int { return cmp.Compare(s.place[a], s.place[b]) })
	hints := make([]int32, 0, len(forced)+1)
	for _, v := range forced {
		s.seen[v] = false
		if s.level[v] > 0 {
			hints = append(hints, s.reason[v])
		} else {
			hints = append(hints, s.unit[v])
		}
	}
	for _, l := range out {
		s.seen[l/2] = false
	}
	return append(hints, conflict)
}

// settle gives what no guess preceded clauses of its own.
func (s *Search) settle() {
	end := len(s.trail)
	if len(s.marks) > 0 {
		end = s.marks[0]
	}
	for ; s.units < end; s.units++ {
		l := s.trail[s.units]
		id := s.reason[l/2]
		if len(s.clauses[id]) > 1 {
			id = s.put([]Lit{l}, s.unitsOf(id, l))
		}
		s.unit[l/2] = id
	}
}

// unitsOf are the clauses by which a clause is false but for a literal, and the clause.
func (s *Search) unitsOf(id int32, but Lit) []int32 {
	var hints []int32
	for _, m := range s.clauses[id] {
		if m != but {
			hints = append(hints, s.unit[m/2])
		}
	}
	return append(hints, id)
}

// refute ends it: a clause is false without any guess.
func (s *Search) refute(id int32) {
	s.Refuted = true
	if s.log {
		s.settle()
		s.put(nil, s.unitsOf(id, Lit(len(s.value))))
	}
}

// Undo takes back all guesses, and what followed from them.
func (s *Search) Undo() { s.undo(0) }

// undo takes back all guesses but the first n.
func (s *Search) undo(n int) {
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

// guess guesses the variable without value that had a part in the latest conflict, as it was; false if all have one.
func (s *Search) guess() bool {
	for s.guessed != noClause && (s.value[2*s.guessed] || s.value[2*s.guessed+1]) {
		s.guessed = s.older[s.guessed]
	}
	if s.guessed == noClause {
		return false
	}
	s.marks = append(s.marks, len(s.trail))
	s.assign(s.saved[s.guessed], noClause)
	return true
}

// front makes v the newest variable.
func (s *Search) front(v int32) {
	s.older[v], s.newer[v] = s.newest, noClause
	if s.newest != noClause {
		s.newer[s.newest] = v
	}
	s.newest = v
	s.moves++
	s.since[v] = s.moves
}

func (s *Search) unlink(v int32) {
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
func (s *Search) forget() {
	n := len(s.learnt)
	if n <= s.keep {
		return
	}
	s.keep += learntMore
	slices.SortFunc(s.learnt, func(a, b quality) int {
		return cmp.Or(cmp.Compare(a.levels, b.levels), cmp.Compare(b.clause, a.clause))
	})
	gone := make([]bool, len(s.clauses))
	for _, q := range s.learnt[n/2:] {
		if gone[q.clause] = true; !s.log {
			s.clauses[q.clause] = nil
		}
	}
	s.learnt = s.learnt[:n/2]
	for l, ids := range s.watch {
		s.watch[l] = slices.DeleteFunc(ids, func(id int32) bool { return gone[id] })
	}
}
