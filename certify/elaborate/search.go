package elaborate

import (
	"cmp"
	"slices"

	"isovet/certify/kernel"
)

// A lit is a literal: variable v is 2v, its negation 2v+1.
type lit uint32

func (l lit) not() lit { return l ^ 1 }

const noClause = -1

// search looks for the empty clause among steps and what follows from them, by the usual search with learning (Marques-
// Silva and Sakallah 1999; certify/sat.go says how it goes), in which clauses come later too. Clause i is that of step
// i, and what is learnt is a step by unit propagation, with the clauses that it takes in their order (Goldberg and
// Novikov 2003; hints as in LRAT, Cruz-Filipe et al. 2017).
//
// Invariant, when propagate has found no conflict: of a clause's first two literals, which are watched, none is false,
// or one is true.
type search struct {
	steps   []kernel.Step
	clauses [][]lit
	atoms   []kernel.Atom
	number  map[kernel.Atom]uint32
	watch   [][]int32 // literal → clauses that watch it
	value   []bool    // literal → it is true
	level   []int32   // variable → how many guesses preceded it
	reason  []int32   // variable → the clause that forced it
	place   []int32   // variable → place in the trail
	unit    []int32   // variable → the clause that says its value, which no guess preceded
	trail   []lit
	head    int // first of the trail that is not yet propagated
	units   int // first of the trail without guesses that has no clause of its own
	marks   []int

	// Variables in the order of their last part in a conflict, the newest first; all newer than guessed have values.
	older, newer    []int32
	newest, guessed int32
	since           []uint64
	moves           uint64
	saved           []lit

	seen    []bool
	refuted bool // the last step is the empty clause
}

func newSearch() *search {
	return &search{number: map[kernel.Atom]uint32{}, newest: noClause, guessed: noClause}
}

func (s *search) lit(l kernel.Lit) lit {
	v, ok := s.number[l.Atom]
	if !ok {
		v = uint32(len(s.atoms))
		s.number[l.Atom] = v
		s.atoms = append(s.atoms, l.Atom)
		s.watch = append(s.watch, nil, nil)
		s.value = append(s.value, false, false)
		s.level, s.reason = append(s.level, 0), append(s.reason, noClause)
		s.place, s.unit = append(s.place, 0), append(s.unit, noClause)
		s.saved, s.seen = append(s.saved, lit(2*v+1)), append(s.seen, false)
		s.older, s.newer = append(s.older, noClause), append(s.newer, noClause)
		s.since = append(s.since, 0)
		s.front(int32(v))
		s.guessed = s.newest
	}
	if l.Not {
		return lit(2*v + 1)
	}
	return lit(2 * v)
}

// isTrue reports whether an atom is true now.
func (s *search) isTrue(a kernel.Atom) bool {
	v, ok := s.number[a]
	return ok && s.value[2*v]
}

// add adds a step and its clause. No guess may stand.
func (s *search) add(step kernel.Step, clause kernel.Clause) {
	if s.refuted {
		return
	}
	ls := make([]lit, 0, len(clause))
	for _, l := range clause {
		ls = append(ls, s.lit(l))
	}
	slices.Sort(ls)
	ls = slices.Compact(ls)
	s.put(step, ls)
	s.attach(int32(len(s.clauses) - 1))
}

func (s *search) put(step kernel.Step, ls []lit) {
	s.steps, s.clauses = append(s.steps, step), append(s.clauses, ls)
}

// attach has a clause watched, or what is left of it forced.
func (s *search) attach(c int32) {
	ls := s.clauses[c]
	for i := 1; i < len(ls); i++ {
		if ls[i] == ls[i-1].not() { // true, whatever holds
			return
		}
	}
	if len(ls) == 0 {
		s.refuted = true
		return
	}
	// what is not false comes first
	n := 0
	for i, l := range ls {
		if !s.value[l.not()] {
			ls[n], ls[i] = ls[i], ls[n]
			n++
		}
	}
	switch {
	case n == 0:
		s.refute(c)
	case n == 1 && !s.value[ls[0]]:
		s.assign(ls[0], c)
	case n == 1:
	default:
		s.watch[ls[0]] = append(s.watch[ls[0]], c)
		s.watch[ls[1]] = append(s.watch[ls[1]], c)
	}
}

func (s *search) assign(l lit, reason int32) {
	v := l / 2
	s.value[l], s.reason[v], s.level[v], s.place[v] = true, reason, int32(len(s.marks)), int32(len(s.trail))
	s.trail = append(s.trail, l)
}

// settle gives what no guess preceded clauses of its own.
func (s *search) settle() {
	end := len(s.trail)
	if len(s.marks) > 0 {
		end = s.marks[0]
	}
	for ; s.units < end; s.units++ {
		l := s.trail[s.units]
		c := s.reason[l/2]
		if len(s.clauses[c]) > 1 {
			hints := []int{}
			for _, m := range s.clauses[c] {
				if m != l {
					hints = append(hints, int(s.unit[m/2])+1)
				}
			}
			s.put(s.rup([]lit{l}, append(hints, int(c)+1)), []lit{l})
			c = int32(len(s.clauses) - 1)
		}
		s.unit[l/2] = c
	}
}

func (s *search) rup(ls []lit, hints []int) kernel.Step {
	cl := make(kernel.Clause, 0, len(ls))
	for _, l := range ls {
		cl = append(cl, kernel.Lit{Atom: s.atoms[l/2], Not: l&1 == 1})
	}
	return kernel.Step{Kind: kernel.RUP, Clause: cl, Hints: hints}
}

// refute ends it: clause c is false without any guess.
func (s *search) refute(c int32) {
	s.settle()
	var hints []int
	for _, l := range s.clauses[c] {
		hints = append(hints, int(s.unit[l/2])+1)
	}
	s.put(s.rup(nil, append(hints, int(c)+1)), nil)
	s.refuted = true
}

func (s *search) propagate() (conflict int32, found bool) {
	for ; s.head < len(s.trail); s.head++ {
		gone := s.trail[s.head].not()
		watching := s.watch[gone]
		still := watching[:0]
		for i, c := range watching {
			ls := s.clauses[c]
			if ls[0] == gone {
				ls[0], ls[1] = ls[1], ls[0]
			}
			if !s.value[ls[0]] && s.rewatch(c, ls) {
				continue
			}
			still = append(still, c)
			switch {
			case s.value[ls[0]]:
			case s.value[ls[0].not()]:
				s.watch[gone] = append(still, watching[i+1:]...)
				return c, true
			default:
				s.assign(ls[0], c)
			}
		}
		s.watch[gone] = still
	}
	return 0, false
}

// rewatch has a clause watch a literal that is not false instead of its second.
func (s *search) rewatch(c int32, ls []lit) bool {
	for k := 2; k < len(ls); k++ {
		if !s.value[ls[k].not()] {
			ls[1], ls[k] = ls[k], ls[1]
			s.watch[ls[1]] = append(s.watch[ls[1]], c)
			return true
		}
	}
	return false
}

// learn resolves a false clause with the reasons of its literals of the last level until one is left, adds the clause
// with the steps that it follows from, and assigns what it forces.
func (s *search) learn(conflict int32) {
	now := int32(len(s.marks))
	out := []lit{0}
	var touched []int32
	open, at, c := 0, len(s.trail), conflict
	for {
		for _, m := range s.clauses[c] {
			v := int32(m / 2)
			if s.seen[v] || s.level[v] == 0 {
				continue
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
			out[0] = s.trail[at].not()
			break
		}
		c = s.reason[s.trail[at]/2]
	}
	for i := 2; i < len(out); i++ {
		if s.level[out[i]/2] > s.level[out[1]/2] {
			out[1], out[i] = out[i], out[1]
		}
	}
	for _, v := range touched {
		s.seen[v] = false
	}
	hints := s.hints(out, conflict)
	slices.SortFunc(touched, func(a, b int32) int { return cmp.Compare(s.since[a], s.since[b]) })
	for _, v := range touched {
		s.unlink(v)
		s.front(v)
	}
	step := s.rup(out, hints)
	back := 0
	if len(out) > 1 {
		back = int(s.level[out[1]/2])
	}
	s.undo(back)
	s.put(step, out)
	id := int32(len(s.clauses) - 1)
	if len(out) > 1 {
		s.watch[out[0]] = append(s.watch[out[0]], id)
		s.watch[out[1]] = append(s.watch[out[1]], id)
	}
	s.assign(out[0], id)
}

// hints are the steps by which the clause follows: what is not in it is forced by its reason, or said without guesses,
// in the order of the trail.
func (s *search) hints(out []lit, conflict int32) []int {
	s.settle()
	var forced []int32 // variables
	for _, l := range out {
		s.seen[l/2] = true
	}
	look := func(c int32) {
		for _, m := range s.clauses[c] {
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
	hints := make([]int, 0, len(forced)+1)
	for _, v := range forced {
		s.seen[v] = false
		c := s.unit[v]
		if s.level[v] > 0 {
			c = s.reason[v]
		}
		hints = append(hints, int(c)+1)
	}
	for _, l := range out {
		s.seen[l/2] = false
	}
	return append(hints, int(conflict)+1)
}

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

// next guesses one literal; false if all have values.
func (s *search) next() bool {
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

const restartAfter = 100 // conflicts, and half as many more each time

// run searches until the empty clause is there or, with true, an assignment satisfies all clauses; left counts down
// conflicts.
func (s *search) run(left *int, stopped func() bool) (open bool, err error) {
	pause := restartAfter
	for !s.refuted {
		for end := max(*left-pause, 0); *left >= end; {
			conflict, found := s.propagate()
			switch {
			case found && len(s.marks) == 0:
				s.refute(conflict)
				return false, nil
			case found:
				*left--
				s.learn(conflict)
			case !s.next():
				return true, nil
			}
		}
		if *left <= 0 {
			return false, &Unsupported{"how to prove it in so few steps"}
		}
		if stopped() {
			return false, ErrStopped
		}
		pause += pause / 2
		s.undo(0)
	}
	return false, nil
}

// proof is what the empty clause rests on.
func (s *search) proof() []kernel.Step {
	used := make([]bool, len(s.steps))
	used[len(used)-1] = true
	for i := len(s.steps) - 1; i >= 0; i-- {
		if used[i] {
			for _, h := range s.steps[i].Hints {
				used[h-1] = true
			}
		}
	}
	renamed := make([]int, len(s.steps))
	var out []kernel.Step
	for i, step := range s.steps {
		if !used[i] {
			continue
		}
		hints := step.Hints
		step.Hints = make([]int, len(hints))
		for j, h := range hints {
			step.Hints[j] = renamed[h-1]
		}
		out = append(out, step)
		renamed[i] = len(out)
	}
	return out
}
