package elaborate

import (
	"errors"

	"isovet/certify/kernel"
	"isovet/certify/unsat"
)

// search derives the empty clause from the steps' clauses. Steps may be added during the search.
type search struct {
	*unsat.Search
	steps  map[int]kernel.Step // by clause; learnt clauses have none
	atoms  []kernel.Atom       // by variable
	number map[kernel.Atom]uint32
}

func newSearch() *search {
	return &search{Search: unsat.New(true), steps: map[int]kernel.Step{}, number: map[kernel.Atom]uint32{}}
}

func (s *search) lit(l kernel.Lit) unsat.Lit {
	v, ok := s.number[l.Atom]
	if !ok {
		v = uint32(len(s.atoms))
		s.number[l.Atom] = v
		s.atoms = append(s.atoms, l.Atom)
	}
	if l.Not {
		return unsat.Lit(2*v + 1)
	}
	return unsat.Lit(2 * v)
}

func (s *search) isTrue(a kernel.Atom) bool {
	v, ok := s.number[a]
	return ok && s.True(unsat.Lit(2*v))
}

func (s *search) add(step kernel.Step, clause kernel.Clause) {
	if s.Refuted {
		return
	}
	ls := make([]unsat.Lit, 0, len(clause))
	for _, l := range clause {
		ls = append(ls, s.lit(l))
	}
	s.steps[s.Add(ls)] = step
}

// run searches until it derives the empty clause, or until an assignment satisfies all clauses: then open is true.
func (s *search) run(left *int, stopped func() bool) (open bool, err error) {
	open, err = s.Run(left, stopped)
	if errors.Is(err, unsat.ErrGaveUp) {
		err = &Unsupported{"proofs longer than the search's bound"}
	}
	return open, err
}

// refuteBy searches for the empty clause. more adds steps that exclude the assignment at hand, and reports whether it
// found any; without them the scene has an order as far as it shows, and the answer is false.
func (s *search) refuteBy(left *int, stopped func() bool, more func() (bool, error)) (bool, error) {
	for ; !s.Refuted; *left-- {
		if stopped() {
			return false, ErrStopped
		}
		open, err := s.run(left, stopped)
		if err != nil || s.Refuted || !open {
			return err == nil && s.Refuted, err
		}
		if some, err := more(); err != nil || !some {
			return false, err
		}
	}
	return true, nil
}

// proof returns the steps that the empty clause, the last one, depends on.
func (s *search) proof() []kernel.Step {
	used := make([]bool, s.Len())
	used[len(used)-1] = true
	for i := len(used) - 1; i >= 0; i-- {
		if used[i] {
			for _, h := range s.Hints(i) {
				used[h] = true
			}
		}
	}
	renamed := make([]int, len(used))
	var out []kernel.Step
	for i := range used {
		if !used[i] {
			continue
		}
		step, given := s.steps[i]
		if !given {
			step = kernel.Step{Kind: kernel.RUP, Clause: kernel.Clause{}}
			for _, l := range s.Clause(i) {
				step.Clause = append(step.Clause, kernel.Lit{Atom: s.atoms[l/2], Not: l&1 == 1})
			}
			for _, h := range s.Hints(i) {
				step.Hints = append(step.Hints, renamed[h])
			}
		}
		out = append(out, step)
		renamed[i] = len(out)
	}
	return out
}
