package solver

import (
	"fmt"

	"isovet/internal/slice"
)

// CheckIntegrity panics if the data structures contradict each other.
//
// Cost: linear in everything.
func (s *Solver) CheckIntegrity() {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			panic("solver: " + fmt.Sprintf(format, args...))
		}
	}
	assigned := 0
	for v := range s.vars {
		p := Pos(Var(v))
		check(s.vals[p] == -s.vals[p^1], "variable %d has two values", v)
		if s.vals[p] != 0 {
			assigned++
		} else if !s.dormant[v] {
			check(s.heap.pos[v] >= 0, "open variable %d is not in the heap", v)
		}
		check(s.seen[v] == 0, "variable %d is marked outside analysis", v)
	}
	check(assigned == len(s.trail), "%d variables have values, %d literals are on the trail", assigned, len(s.trail))
	level := 0
	for i, l := range s.trail {
		for level < len(s.trailLim) && int(s.trailLim[level]) <= i {
			level++
		}
		d := s.vars[l>>1]
		check(s.vals[l] > 0, "trail literal %v is not true", l)
		check(int(d.level) == level, "trail literal %v has level %d, not %d", l, d.level, level)
		if d.reason&reasonTag == reasonClause {
			found := false
			for _, q := range s.arena.lits(d.reason >> reasonShift) {
				found = found || q == l
				check(q == l || s.vals[q] < 0, "reason of %v has literal %v that is not false", l, q)
			}
			check(found, "reason of %v does not contain it", l)
		}
	}
	for i, v := range s.heap.order {
		check(s.heap.pos[v] == int32(i), "heap position of %d is wrong", v)
		up := s.heap.order[max(0, (i-1)/2)]
		check(s.heap.activity[up] >= s.heap.activity[v], "heap order is broken at %d", i)
	}
	watched := map[clauseRef]int{}
	for p, list := range s.watches {
		for _, w := range list {
			c := s.arena.lits(w.ref)
			check(c[0] == Lit(p)^1 || c[1] == Lit(p)^1, "clause %v is in the wrong watch list %d", c, p)
			watched[w.ref]++
		}
	}
	for _, refs := range [2][]clauseRef{s.clauses, s.learned} {
		for _, ref := range refs {
			check(watched[ref] == 2, "clause %v has %d watches", s.arena.lits(ref), watched[ref])
			delete(watched, ref)
		}
	}
	check(len(watched) == 0, "%d clauses are watched but not listed", len(watched))
	for p, list := range s.bins {
		for _, q := range list {
			back := slice.Count(s.bins[q^1], func(r Lit) bool { return r == Lit(p)^1 })
			check(back > 0, "binary clause (%v %v) is listed once", Lit(p)^1, q)
		}
	}
}
