package certify

import (
	"errors"
	"fmt"
)

// A Lit is a literal: variable v (from 0) is 2v, its negation 2v+1.
type Lit uint32

// ErrGaveUp says that a proof by cases is too large for the search that checks it. It says nothing of the proof being right.
var ErrGaveUp = errors.New("gave up")

// Not returns the negation.
func (l Lit) Not() Lit { return l ^ 1 }

// defaultDecisions bounds a search where no other bound is given.
const defaultDecisions = 1 << 20

// Unsatisfiable reports whether no assignment satisfies all clauses: Davis–Putnam–Logemann–Loveland with unit propagation by
// counting, no learning, nothing recursive. An open clause with the fewest literals left is split on; a search of more than
// maxDecisions (0: a million) decisions is given up with an error.
// Cost: linear in the clauses where unit propagation refutes them, which is the rule; exponential at worst.
func Unsatisfiable(clauses [][]Lit, maxDecisions int) (bool, error) {
	if maxDecisions == 0 {
		maxDecisions = defaultDecisions
	}
	p := newSearch(clauses)
	if p.conflict {
		return true, nil
	}
	for decisions := 0; ; {
		if p.propagate() {
			l, open := p.choose()
			if !open {
				return false, nil
			}
			if decisions++; decisions > maxDecisions {
				return false, fmt.Errorf("%w on a proof by %d cases after %d decisions", ErrGaveUp, len(clauses), maxDecisions)
			}
			p.marks = append(p.marks, mark{len(p.trail), l, false})
			p.assign(l)
			continue
		}
		// Undo up to the last decision of which the other side is untried, and take that.
		for {
			if len(p.marks) == 0 {
				return true, nil
			}
			m := &p.marks[len(p.marks)-1]
			p.undo(m.trail)
			if !m.flipped {
				m.flipped = true
				p.assign(m.lit.Not())
				break
			}
			p.marks = p.marks[:len(p.marks)-1]
		}
	}
}

// search is the state of Unsatisfiable.
// Invariant: True[c] and False[c] count the literals of clause c that are true and false, for the assigned literals before
// head in the trail.
type search struct {
	clauses  [][]Lit
	occurs   [][]uint32 // literal → clauses that have it
	value    []bool     // literal → it is true
	nTrue    []int32
	nFalse   []int32
	trail    []Lit
	head     int // first literal of the trail that is not yet counted
	marks    []mark
	conflict bool // an empty clause, or contradicting unit clauses
}

type mark struct {
	trail   int // length of the trail before the decision
	lit     Lit
	flipped bool
}

func newSearch(clauses [][]Lit) *search {
	p := &search{clauses: clauses, nTrue: make([]int32, len(clauses)), nFalse: make([]int32, len(clauses))}
	n := Lit(0)
	for _, c := range clauses {
		for _, l := range c {
			n = max(n, l|1)
		}
	}
	p.occurs = make([][]uint32, n+1)
	p.value = make([]bool, n+1)
	for i, c := range clauses {
		for _, l := range c {
			p.occurs[l] = append(p.occurs[l], uint32(i))
		}
		switch len(c) {
		case 0:
			p.conflict = true
		case 1:
			if p.value[c[0].Not()] {
				p.conflict = true
			} else if !p.value[c[0]] {
				p.assign(c[0])
			}
		}
	}
	return p
}

func (p *search) assign(l Lit) {
	p.value[l] = true
	p.trail = append(p.trail, l)
}

// propagate counts the new literals and assigns what they force; false: a clause has become false.
func (p *search) propagate() bool {
	for p.head < len(p.trail) {
		l := p.trail[p.head]
		p.head++
		for _, c := range p.occurs[l] {
			p.nTrue[c]++
		}
		ok := true
		for _, c := range p.occurs[l.Not()] {
			p.nFalse[c]++
			if p.nTrue[c] > 0 || int(p.nFalse[c]) < len(p.clauses[c])-1 {
				continue
			}
			// One literal is left at most. It may be assigned already, further on in the trail.
			forced, satisfied := Lit(0), false
			found := false
			for _, m := range p.clauses[c] {
				satisfied = satisfied || p.value[m]
				if !p.value[m.Not()] {
					forced, found = m, true
				}
			}
			switch {
			case satisfied:
			case !found:
				ok = false
			default:
				p.assign(forced)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (p *search) undo(n int) {
	for i := len(p.trail) - 1; i >= n; i-- {
		l := p.trail[i]
		p.value[l] = false
		if i < p.head {
			for _, c := range p.occurs[l] {
				p.nTrue[c]--
			}
			for _, c := range p.occurs[l.Not()] {
				p.nFalse[c]--
			}
		}
	}
	p.trail = p.trail[:n]
	p.head = min(p.head, n)
}

// choose returns the literal to decide: of a shortest open clause that which occurs most.
func (p *search) choose() (l Lit, open bool) {
	best := -1
	left := int32(0)
	for c := range p.clauses {
		if n := int32(len(p.clauses[c])) - p.nFalse[c]; p.nTrue[c] == 0 && (best < 0 || n < left) {
			if best, left = c, n; n == 2 {
				break
			}
		}
	}
	if best < 0 {
		return 0, false
	}
	for _, m := range p.clauses[best] {
		if !p.value[m.Not()] && (!open || len(p.occurs[m]) > len(p.occurs[l])) {
			l, open = m, true
		}
	}
	return l, true
}
