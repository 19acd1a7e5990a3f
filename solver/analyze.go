package solver

// analysis is the working memory of conflict analysis. Between conflicts, seen is all zero, cleanup empty and marked
// all false.
type analysis struct {
	seen        []uint8
	cleanup     []Lit
	marked      []bool
	stamps      []uint32 // level → stamp
	stamp       uint32
	learnt      []Lit
	minStack    []minimizeFrame
	binConflict [2]Lit
	binReason   [2]Lit
	conflictRef clauseRef
}

// learn resolves the false clause c, at least one of whose literals is of the current level, back to the first unique
// implication point, jumps back, adds the learned clause and propagates its first literal. The current level must not
// be 0.
func (s *Solver) learn(c []Lit) {
	out := append(s.learnt[:0], 0) // room for the asserting literal
	level := int32(len(s.trailLim))
	open := 0
	idx := len(s.trail)
	ref := s.conflictRef
	p := LitUndef
	for {
		if ref != 0 && s.arena.has(ref, flagLearned) {
			s.useClause(ref)
		}
		for _, q := range c {
			if q == p {
				continue
			}
			v := q >> 1
			if s.seen[v] != 0 || s.vars[v].level == 0 {
				continue
			}
			s.seen[v] = seenYes
			s.cleanup = append(s.cleanup, q)
			s.bump(Var(v))
			if s.vars[v].level >= level {
				open++
			} else {
				out = append(out, q)
			}
		}
		for {
			idx--
			if s.seen[s.trail[idx]>>1] != 0 {
				break
			}
		}
		p = s.trail[idx]
		open--
		if open == 0 {
			break
		}
		c, ref = s.reasonLits(p)
	}
	out[0] = p ^ 1
	if !s.opts.NoMinimize {
		out = s.minimize(out)
	}
	glue := s.glueOf(out)
	if !s.opts.NoMinimize && !s.opts.NoBinaryMinimize && glue <= 6 && len(out) <= 30 {
		out = s.minimizeBinary(out)
	}
	for _, q := range s.cleanup {
		s.seen[q>>1] = 0
	}
	s.cleanup = s.cleanup[:0]
	// Later bumps are larger, so that all variables become less active: by default activity falls by a factor of 0.95
	// per conflict. Conflicts of random 3-SAT and pigeonhole 8 with 0.95: 142,852 and 22,130; with 0.80: 234,012 and
	// 34,700; with 0.99: 139,466 and 19,762 (BenchmarkTechniques).
	s.inc /= s.opts.VarDecay

	// The second watch must be of the level we jump to.
	back := int32(0)
	if len(out) > 1 {
		at := 1
		for k := 2; k < len(out); k++ {
			if s.vars[out[k]>>1].level > s.vars[out[at]>>1].level {
				at = k
			}
		}
		out[1], out[at] = out[at], out[1]
		back = s.vars[out[1]>>1].level
	}
	s.learnt = out
	if s.opts.Proof != nil {
		s.opts.Proof.Learn(out)
	}
	s.backtrack(int(back))
	s.noteGlue(glue)
	switch len(out) {
	case 1:
		s.assign(out[0], reasonNone)
	case 2:
		s.watchBinary(out[0], out[1])
		s.assign(out[0], uint32(out[1])<<reasonShift|reasonBinary)
	default:
		ref := s.alloc(out, flagLearned, glue)
		if ref == 0 {
			return
		}
		s.arena.setGlueUsed(ref, glue, usedAfter(glue))
		s.learned = append(s.learned, ref)
		s.watchClause(ref)
		s.assign(out[0], ref<<reasonShift|reasonClause)
	}
}

const (
	seenYes       = 1 // in the clause, or resolved away
	seenRemovable = 2 // implied by other literals of the clause
	seenPoison    = 3 // known not to be
)

// reasonLits returns the clause that forced the true literal p, with p in it, and its reference if it is in the arena.
func (s *Solver) reasonLits(p Lit) ([]Lit, clauseRef) {
	r := s.vars[p>>1].reason
	if r&reasonTag == reasonTheory {
		s.explain(p)
		r = s.vars[p>>1].reason
		if r&reasonTag == reasonTheory {
			return s.explained, 0
		}
	}
	switch r & reasonTag {
	case reasonBinary:
		s.binReason = [2]Lit{p, Lit(r >> reasonShift)}
		return s.binReason[:], 0
	case reasonClause:
		ref := r >> reasonShift
		return s.arena.lits(ref), ref
	}
	return nil, 0
}

// useClause records that a learned clause was used, and lowers its glue if that has become smaller.
func (s *Solver) useClause(ref clauseRef) {
	glue := s.arena.glue(ref)
	if glue > 2 {
		if g := s.glueOf(s.arena.lits(ref)); g < glue {
			glue = g
		}
	}
	s.arena.setGlueUsed(ref, glue, usedAfter(glue))
}

// usedAfter returns how many reductions a clause of this glue survives after it was used.
func usedAfter(glue int) int {
	if glue <= 6 {
		return 2
	}
	return 1
}

// glueOf returns the number of different decision levels among lits.
func (s *Solver) glueOf(lits []Lit) int {
	s.stamp++
	n := 0
	for _, l := range lits {
		lv := s.vars[l>>1].level
		if s.stamps[lv] != s.stamp {
			s.stamps[lv] = s.stamp
			n++
		}
	}
	return n
}

// minimize removes the literals that the others imply. Without it random 3-SAT takes 192,308 conflicts in place of
// 142,852, and pigeonhole 8 takes 24,356 in place of 22,130 (BenchmarkTechniques).
//
// Source: N. Sörensson, A. Biere, Minimizing learned clauses, SAT 2009, with MiniSat's early abort on levels that the
// clause does not have.
func (s *Solver) minimize(c []Lit) []Lit {
	s.stamp++
	for _, l := range c[1:] {
		s.stamps[s.vars[l>>1].level] = s.stamp
	}
	kept := c[:1]
	for _, l := range c[1:] {
		if s.vars[l>>1].reason == reasonNone || !s.implied(l) {
			kept = append(kept, l)
		}
	}
	return kept
}

// implied reports whether the false literal l follows, through reasons, from seen literals only. It marks the variables
// it visits, so that all calls for one clause together take linear time.
func (s *Solver) implied(l Lit) bool {
	type frame = minimizeFrame
	stack := append(s.minStack[:0], frame{p: l ^ 1})
	ok := true
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		c, _ := s.reasonLits(f.p)
		pushed := false
		for f.next < len(c) {
			q := c[f.next]
			f.next++
			if q == f.p {
				continue
			}
			v := q >> 1
			d := s.vars[v]
			if d.level == 0 || s.seen[v] == seenYes || s.seen[v] == seenRemovable {
				continue
			}
			if d.reason == reasonNone || s.seen[v] == seenPoison || s.stamps[d.level] != s.stamp {
				ok = false
				break
			}
			stack = append(stack, frame{p: q ^ 1})
			pushed = true
			break
		}
		if !ok {
			break
		}
		if pushed {
			continue
		}
		v := f.p >> 1
		if s.seen[v] == 0 {
			s.seen[v] = seenRemovable
			s.cleanup = append(s.cleanup, f.p)
		}
		stack = stack[:len(stack)-1]
	}
	if !ok {
		// Everything on the stack depends on the literal that failed.
		for _, f := range stack {
			if v := f.p >> 1; s.seen[v] == 0 {
				s.seen[v] = seenPoison
				s.cleanup = append(s.cleanup, f.p)
			}
		}
	}
	s.minStack = stack[:0]
	return ok
}

type minimizeFrame struct {
	p    Lit // a true literal whose reason is being walked
	next int
}

// minimizeBinary removes the literals q for which (¬out[0] → ¬q) is not needed because of a binary clause (out[0] ∨
// ¬q). Without it random 3-SAT takes 152,230 conflicts in place of 142,852; pigeonhole 8 takes 16,228 in place of
// 22,130, so it does not help everywhere (BenchmarkTechniques).
//
// Source: G. Audemard, L. Simon, Glucose 2.
func (s *Solver) minimizeBinary(c []Lit) []Lit {
	if len(c) <= 2 {
		return c
	}
	for _, l := range c[1:] {
		s.marked[l] = true
	}
	removed := 0
	// bins[¬c0] holds the literals that follow when c0 is false.
	for _, q := range s.bins[c[0]^1] {
		if s.marked[q^1] && s.vals[q] > 0 {
			s.marked[q^1] = false
			removed++
		}
	}
	kept := c[:1]
	for _, l := range c[1:] {
		if s.marked[l] {
			s.marked[l] = false
			kept = append(kept, l)
		}
	}
	return kept
}

// analyzeFinal finds the assumptions that together make the assumption a false.
func (s *Solver) analyzeFinal(a Lit) {
	s.failed = append(s.failed[:0], a)
	if s.vars[a>>1].level > 0 {
		s.seen[a>>1] = seenYes
		for i := len(s.trail) - 1; i >= int(s.trailLim[0]); i-- {
			p := s.trail[i]
			if s.seen[p>>1] == 0 {
				continue
			}
			s.seen[p>>1] = 0
			c, _ := s.reasonLits(p)
			if c == nil {
				s.failed = append(s.failed, p)
				continue
			}
			for _, q := range c {
				if q != p && s.vars[q>>1].level > 0 {
					s.seen[q>>1] = seenYes
				}
			}
		}
	}
	if s.opts.Proof != nil {
		s.learnt = s.learnt[:0]
		for _, l := range s.failed {
			s.learnt = append(s.learnt, l^1)
		}
		s.opts.Proof.Learn(s.learnt)
	}
}
