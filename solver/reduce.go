package solver

import "slices"

// reducer says when to delete learned clauses: after 1,000 conflicts, then each time after 30 conflicts more than the
// time before. A later and faster growing schedule was dropped: with the present one, pigeonhole 9 took 2.6 s where it
// had taken 7.5 s, and random 3-SAT 26 % less time. Conflicts with other schedules (BenchmarkTechniques, as at
// restarter; default 142,852 and 22,130): never reducing 132,600 and 16,992; from 2,000 on by 300 154,356 and 19,041;
// from 300 on by 30 164,308 and 30,793.
type reducer struct {
	next  int64 // conflict count
	step  int64
	facts int // facts of level 0 when clauses were last simplified
}

// maxLooseReasons bounds the stored explanations that are no longer reasons and wait for the next reduction.
const maxLooseReasons = 1 << 14

func (r *reducer) due(s *Solver) bool {
	return s.stats.Conflicts >= r.next || len(s.reasons) >= 2*maxLooseReasons
}

// reduce deletes the less promising half of the learned clauses: those of high glue, then the long ones. It keeps
// reasons, clauses of glue at most 2, and those used since the last time (twice, if their glue is at most 6). It also
// deletes clauses that are true at level 0, and explanations that are no longer reasons.
func (s *Solver) reduce() {
	s.sweepReasons()
	facts := len(s.trail)
	if len(s.trailLim) > 0 {
		facts = int(s.trailLim[0])
	}
	if facts > s.reducer.facts && !s.opts.NoSimplify {
		s.reducer.facts = facts
		s.dropSatisfied(s.clauses)
		s.clauses = dropGarbage(s.arena, s.clauses)
		s.dropSatisfied(s.learned)
		s.learned = dropGarbage(s.arena, s.learned)
		s.openScan = 0
	}
	if s.stats.Conflicts >= s.reducer.next {
		s.reducer.step += int64(s.opts.ReduceGrowth)
		s.reducer.next = s.stats.Conflicts + s.reducer.step
		if !s.opts.NoReduce {
			s.dropUseless()
		}
	}
	s.collect()
}

func (s *Solver) dropSatisfied(refs []clauseRef) {
	for _, c := range refs {
		for _, l := range s.arena.lits(c) {
			if s.vals[l] > 0 && s.vars[l>>1].level == 0 {
				s.markGarbage(c)
				break
			}
		}
	}
}

func dropGarbage(a arena, refs []clauseRef) []clauseRef {
	return slices.DeleteFunc(refs, func(c clauseRef) bool { return a.has(c, flagGarbage) })
}

func (s *Solver) dropUseless() {
	keys := make([]uint64, 0, len(s.learned))
	for i, c := range s.learned {
		glue := s.arena.glue(c)
		if glue <= 2 || s.locked(c) {
			continue
		}
		if used := s.arena.used(c); used > 0 {
			s.arena.setGlueUsed(c, glue, used-1)
			continue
		}
		size := min(s.arena.size(c), 1<<16-1)
		keys = append(keys, uint64(min(glue, 1<<16-1))<<48|uint64(size)<<32|uint64(i))
	}
	slices.Sort(keys)
	for _, k := range keys[len(keys)/2:] {
		s.markGarbage(s.learned[uint32(k)])
	}
}

// locked reports whether c is the reason of a literal; that literal is one of the watched ones.
func (s *Solver) locked(c clauseRef) bool {
	r := c<<reasonShift | reasonClause
	l := s.arena.lits(c)
	return s.vals[l[0]] > 0 && s.vars[l[0]>>1].reason == r || s.vals[l[1]] > 0 && s.vars[l[1]>>1].reason == r
}
