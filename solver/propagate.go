package solver

// watch is an entry of a literal's watch list: a clause and a blocker, which is another literal of it. While the
// blocker is true the clause need not be looked at.
type watch struct {
	ref     clauseRef
	blocker Lit
}

// A reason says why a literal is true; the tag in its low bits says which kind it is:
//
//	none      a decision, an assumption, or a fact of level 0
//	clause    arena reference
//	binary    the other, false, literal of a binary clause
//	theory    ask Theory.Explain
const (
	reasonNone   uint32 = 0
	reasonClause uint32 = 1
	reasonBinary uint32 = 2
	reasonTheory uint32 = 3
	reasonTag    uint32 = 3
	reasonShift         = 2
)

type varData struct {
	level  int32
	reason uint32
}

// assign makes the open literal l true at the current level.
func (s *Solver) assign(l Lit, reason uint32) {
	s.vals[l] = 1
	s.vals[l^1] = -1
	level := int32(len(s.trailLim))
	if level == 0 {
		reason = reasonNone // facts need no reason, and so lock no clause
	}
	s.vars[l>>1] = varData{level, reason}
	s.trail = append(s.trail, l)
}

// propagate assigns what the clauses imply until nothing more follows. It returns a clause all of whose literals are
// false, or nil. If that clause is in the arena, s.conflictRef is its reference, otherwise 0.
//
// Cost: the watch lists of the literals that became true.
func (s *Solver) propagate() []Lit {
	vals := s.vals
	mem := s.arena
	start := s.qhead
	for s.qhead < len(s.trail) {
		p := s.trail[s.qhead]
		s.qhead++
		notP := p ^ 1
		for _, q := range s.bins[p] {
			v := vals[q]
			if v > 0 {
				continue
			}
			if v < 0 {
				s.stats.Propagations += int64(s.qhead - start)
				s.binConflict = [2]Lit{q, notP}
				s.conflictRef = 0
				return s.binConflict[:]
			}
			s.assign(q, uint32(notP)<<reasonShift|reasonBinary)
		}
		ws := s.watches[p]
		j := 0
	nextWatch:
		for i := 0; i < len(ws); i++ {
			w := ws[i]
			if vals[w.blocker] > 0 {
				ws[j] = w
				j++
				continue
			}
			base := w.ref + headerLen
			n := uint32(mem[w.ref] >> flagBits)
			lits := mem[base : base+n]
			if len(lits) < 3 {
				panic("solver: short clause in the arena")
			}
			other := lits[0] ^ lits[1] ^ notP
			v := vals[other]
			if v > 0 {
				ws[j] = watch{w.ref, other}
				j++
				continue
			}
			for k := 2; k < len(lits); k++ {
				q := lits[k]
				if vals[q] >= 0 {
					lits[0] = other
					lits[1] = q
					lits[k] = notP
					s.watches[q^1] = append(s.watches[q^1], watch{w.ref, other})
					continue nextWatch
				}
			}
			ws[j] = w
			j++
			if v < 0 {
				for i++; i < len(ws); i++ {
					ws[j] = ws[i]
					j++
				}
				s.watches[p] = ws[:j]
				s.stats.Propagations += int64(s.qhead - start)
				s.conflictRef = w.ref
				return lits
			}
			s.assign(other, w.ref<<reasonShift|reasonClause)
		}
		s.watches[p] = ws[:j]
	}
	s.stats.Propagations += int64(s.qhead - start)
	return nil
}

// watchClause puts c into the lists of its first two literals.
func (s *Solver) watchClause(c clauseRef) {
	l := s.arena.lits(c)
	s.watches[l[0]^1] = append(s.watches[l[0]^1], watch{c, l[1]})
	s.watches[l[1]^1] = append(s.watches[l[1]^1], watch{c, l[0]})
}

func (s *Solver) watchBinary(a, b Lit) {
	s.bins[a^1] = append(s.bins[a^1], b)
	s.bins[b^1] = append(s.bins[b^1], a)
}
