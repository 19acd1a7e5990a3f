// Package unsat is a SAT solver that proves a set of clauses unsatisfiable. Only those that judge answers (packages
// certify and certify/elaborate) use it; the checkers that give answers have solvers of their own.
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

// Not returns the negation of l.
func (l Lit) Not() Lit { return l ^ 1 }

// ErrGaveUp is returned by a search that reached its limit of conflicts. Whether the clauses are satisfiable stays
// open.
var ErrGaveUp = errors.New("gave up")

// ErrStopped is returned by a search whose stop function returned true.
var ErrStopped = errors.New("stopped")

const (
	restartAfter  = 100  // conflicts before a restart, times a number of Luby's series
	learntAtFirst = 4000 // the learnt clauses kept at first
	learntMore    = 500  // how many more are kept after each time that some were forgotten
	noClause      = -1
)

// Search is a SAT solver that holds clauses and finds out whether an assignment satisfies all of them.
//
// It is conflict-driven clause learning, as plain as it can be. Variables are guessed one by one. Two literals of each
// clause are watched, so that the clause is looked at only when one of them becomes false; if a clause has only one
// literal left, that literal is assigned. When a clause becomes false, it is resolved with the clauses that forced its
// literals until one literal of the last guess's level is left (the first unique implication point, Marques-Silva and
// Sakallah 1999). The result follows from the other clauses; it is learnt, and forces a literal at an earlier level.
// The clauses are unsatisfiable if one is false without any guess. Every learnt clause is a resolvent, so forgetting
// clauses, guessing in another order or restarting can cost time but cannot change the answer.
//
// A proof names, for each learnt clause, the clauses that it follows from by unit propagation, in order (Goldberg and
// Novikov 2003; hints as in LRAT, Cruz-Filipe et al. 2017).
//
// Invariant after propagate found no conflict: of the first two literals of each clause, which are the watched ones,
// either none is false or one is true.
type Search struct {
	Refuted bool // the last clause is the empty one

	log     bool      // record the hints of learnt clauses
	clauses [][]Lit   // by number, given and learnt; nil: forgotten
	hints   [][]int32 // with log: clause → the clauses it follows from, if learnt
	learnt  []quality // the learnt clauses that may be forgotten
	keep    int       // how many learnt clauses to keep
	watch   [][]int32 // literal → clauses that watch it

	value  []bool  // literal → it is true
	reason []int32 // variable → the clause that forced it, or noClause
	level  []int32 // variable → how many guesses preceded it
	place  []int32 // variable → place in the trail
	unit   []int32 // variable assigned before any guess → its unit clause
	saved  []Lit   // variable → the value that it had last
	trail  []Lit   // the true literals, in the order assigned
	head   int     // first literal of the trail that is not yet propagated
	units  int     // the trail before this has unit clauses (settle)
	marks  []int   // guess → length of the trail before it

	// A list of the variables by their last part in a conflict, the newest first. The next guess is searched from
	// guessed on: all newer variables have values.
	older, newer    []int32
	newest, guessed int32
	since           []uint64 // variable → when it was made the newest
	moves           uint64

	seen []bool // scratch, by variable
}

// quality is a learnt clause with the number of levels that its literals came from: few levels make a good clause.
type quality struct{ clause, levels int32 }

// New returns a search without clauses. With log set it records a proof, and so keeps the text of every clause.
func New(log bool) *Search {
	return &Search{log: log, keep: learntAtFirst, newest: noClause, guessed: noClause}
}

// Add takes back all guesses, adds a clause and returns its number, in one numbering with the learnt clauses. Once the
// search is Refuted, Add adds nothing and returns -1.
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

// Len returns the number of clauses, given and learnt.
func (s *Search) Len() int { return len(s.clauses) }

// Clause returns the clause of a number.
func (s *Search) Clause(i int) []Lit { return s.clauses[i] }

// Hints returns the numbers of the clauses that a learnt clause follows from; they are recorded only with log.
func (s *Search) Hints(i int) []int32 { return s.hints[i] }

// Trail returns the true literals in the order in which they became true.
func (s *Search) Trail() []Lit { return s.trail }

// True reports whether a literal is true. A literal whose variable is in no clause is not.
func (s *Search) True(l Lit) bool { return int(l) < len(s.value) && s.value[l] }

// grow makes room for so many variables.
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

// attach watches a new clause, or assigns the one literal it has left. There must be no guesses.
func (s *Search) attach(id int32) {
	c := s.clauses[id]
	for i := 1; i < len(c); i++ {
		if c[i] == c[i-1].Not() { // true, whatever holds
			return
		}
	}
	n := 0 // literals that are not false come first
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

// look makes the clause watch its first two literals.
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

// Run searches until the clauses are refuted (Refuted) or an assignment satisfies them all (open is true). It counts
// conflicts down in left and returns [ErrGaveUp] when none is left; it asks stop, if not nil, at each restart.
//
// Cost: linear in the clauses where unit propagation alone refutes them, which is the usual case; exponential at worst.
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

// luby returns the i-th number, from 1, of the series 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair and Zuckerman
// 1993).
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

// propagate assigns the literals that clauses force, until a clause is false (found) or nothing is left to assign.
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

// rewatch makes a clause watch, in place of its second literal, another that is not false, if there is one.
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

// learn adds the clause derived from a conflict, undoes the guesses after the level of its second literal, and assigns
// the first literal, which the clause then forces.
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

// resolve resolves a false clause with the reasons of its last level's literals, the latest first, until one such
// literal is left. The clause returned has that literal first, and second the one of the highest level among the
// others.
func (s *Search) resolve(id int32) []Lit {
	now := int32(len(s.marks))
	out := []Lit{0}
	var touched []int32
	// open counts the literals of the last level in the resolvent; the trail from at on has been treated.
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
	// Drop each literal whose reason has only literals that are in the clause too: resolution removes it.
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
	// Keep their order among themselves: without, random 3-SAT of 200 variables takes twenty times as long.
	slices.SortFunc(touched, func(a, b int32) int { return cmp.Compare(s.since[a], s.since[b]) })
	for _, v := range touched {
		s.seen[v] = false
		s.unlink(v)
		s.front(v)
	}
	return out
}

// reasons returns the clauses that a learnt clause follows from: for each literal met on the way that is not in it, the
// reason that forced it or, if no guess preceded it, its unit clause, all in the order of the trail.
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

// settle gives each literal that was assigned without any guess a unit clause of its own.
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

// unitsOf returns the hints by which a clause yields the literal but: the unit clauses against its others, then itself.
func (s *Search) unitsOf(id int32, but Lit) []int32 {
	var hints []int32
	for _, m := range s.clauses[id] {
		if m != but {
			hints = append(hints, s.unit[m/2])
		}
	}
	return append(hints, id)
}

// refute records that a clause is false without any guess, which ends the search.
func (s *Search) refute(id int32) {
	s.Refuted = true
	if s.log {
		s.settle()
		s.put(nil, s.unitsOf(id, Lit(len(s.value))))
	}
}

// Undo takes back all guesses and all that followed from them.
func (s *Search) Undo() { s.undo(0) }

// undo takes back all guesses except the first n.
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

// guess assigns, of the variables without a value, the one last part of a conflict, with its last value; false: none is
// left.
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

// front makes v the newest variable in the list.
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

// forget drops the worse half of the learnt clauses if there are too many. There must be no guesses, for a guess's
// consequences could have a dropped clause as their reason.
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
